//! Figures as inline SVG, drawn by `plotters` with its SVG backend alone.
//!
//! Colours are placeholders that become classes and variables of the page, so that one drawing serves
//! light and dark. The only text in a drawing is numbers and axis names of ours.

use crate::baselines::Name;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Write as _;

/// One line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// Style of the line: its class is `s` and this number.
    pub style: usize,
    /// Points by rising x; one with a y that is NaN is left out.
    pub points: Vec<(f64, f64)>,
}

const SIZE: (u32, u32) = (560, 340);
const TEXT: RGBColor = RGBColor(1, 2, 3);
const GRID: RGBColor = RGBColor(2, 3, 4);

/// Styles of lines for outside methods; the next one begins again.
const OUTSIDE_STYLES: usize = 6;

/// Style of the line of a method among those of a comparison.
pub fn style(methods: &[Name], method: Name) -> usize {
    Name::ALL.iter().position(|m| *m == method).unwrap_or_else(|| {
        let mut outside = methods.iter().filter(|m| matches!(m, Name::Outside(_)));
        Name::ALL.len() + outside.position(|m| *m == method).unwrap_or(0) % OUTSIDE_STYLES
    })
}

fn placeholder(style: usize) -> RGBColor {
    RGBColor(3, 4, style as u8)
}

/// A line chart as an SVG element, with `title` as its accessible name, and its legend.
pub fn lines(title: &str, x_name: &str, y_name: &str, series: &[Series]) -> String {
    let finite = || series.iter().flat_map(|s| &s.points).filter(|p| p.1.is_finite());
    let bounds = |of: fn(&(f64, f64)) -> f64| {
        finite().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
    };
    let ((x0, x1), (y0, y1)) = (bounds(|p| p.0), bounds(|p| p.1));
    if !x0.is_finite() {
        return format!("<p class=note>{}: nothing to show.</p>", super::escape::html(title));
    }
    let y = if y0 >= 0.0 { 0.0..(y1 * 1.05).max(0.05) } else { y0.max(-1.0)..y1.max(0.05) };
    let mut svg = String::new();
    draw(&mut svg, x0..x1.max(x0 + 0.01), y, (x_name, y_name), series)
        .expect("drawing into a string fails for no figure");
    let start = format!("<svg role=img aria-label=\"{}\" ", super::escape::html(title));
    let mut out = svg.replacen("<svg ", &start, 1);
    // What is left of the file form of SVG.
    if let Some(from) = out.find("<svg") {
        out.drain(..from);
    }
    for style in 0..32 {
        let colour = placeholder(style);
        let hex = format!("stroke=\"#{:02X}{:02X}{:02X}\"", colour.0, colour.1, colour.2);
        out = out.replace(&hex, &format!("class=\"s{style}\""));
    }
    out = out.replace("\"#010203\"", "\"currentColor\"").replace("stroke=\"#020304\"", "class=grid");
    let mut legend = String::from("<ul class=legend>");
    for line in series {
        let _ = write!(
            legend,
            "<li><svg width=30 height=10 viewBox=\"0 0 30 10\" aria-hidden=true><path class=s{} d=\"M0 5H30\" fill=none stroke-width=2.5 /></svg>{}</li>",
            line.style,
            super::escape::html(&line.name)
        );
    }
    format!("{out}{legend}</ul>")
}

/// A number of an axis without zeros behind it.
fn number(x: &f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(
    svg: &mut String,
    x: std::ops::Range<f64>,
    y: std::ops::Range<f64>,
    names: (&str, &str),
    series: &[Series],
) -> Drawn {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(8)
        .margin_right(16)
        .x_label_area_size(52)
        .y_label_area_size(68)
        .build_cartesian_2d(x, y)?;
    let font = ("sans-serif", 15).into_font().color(&TEXT);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_labels(6)
        .x_label_formatter(&number)
        .y_labels(6)
        .x_desc(names.0)
        .y_desc(names.1)
        .x_label_style(font.clone().pos(Pos::new(HPos::Center, VPos::Top)))
        .y_label_style(font.clone())
        .axis_desc_style(font)
        .draw()?;
    for line in series {
        let style = placeholder(line.style).stroke_width(2);
        let points = line.points.iter().copied().filter(|p| p.1.is_finite());
        chart.draw_series(LineSeries::new(points, style))?;
    }
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::name::Label;

    #[test]
    fn a_chart_is_one_svg_element_without_colours_of_its_own() {
        let line = |style, y| Series { name: format!("<{style}>"), style, points: vec![(0.0, y), (0.1, 1.0)] };
        let chart = lines("a \"title\"", "fpr_max", "rate", &[line(0, 0.5), line(11, f64::NAN)]);
        assert!(chart.starts_with("<svg role=img aria-label=\"a &quot;title&quot;\" "), "{chart}");
        assert_eq!(chart.matches("</svg>").count(), 3);
        assert!(chart.contains("class=\"s0\"") && chart.contains("class=\"s11\""));
        assert!(!chart.contains("#0") && !chart.contains("<?xml") && chart.contains("&lt;11&gt;"), "{chart}");
        assert_eq!([0.0, 0.02, 0.1, 150.0].map(|x| number(&x)), ["0", "0.02", "0.1", "150"]);
        assert!(lines("t", "x", "y", &[]).contains("nothing to show"));
    }

    #[test]
    fn the_page_has_a_style_for_each_method() {
        let outside: Vec<Name> =
            ["a", "b", "c", "d", "e", "f", "g"].into_iter().filter_map(Label::new).map(Name::Outside).collect();
        let methods = [&Name::ALL[..], &outside].concat();
        let styles: Vec<usize> = methods.iter().map(|&method| style(&methods, method)).collect();
        let last = Name::ALL.len() + OUTSIDE_STYLES;
        assert_eq!(styles, (0..last).chain([Name::ALL.len()]).collect::<Vec<_>>());
        let css = include_str!("style.css");
        assert!((0..last).all(|style| css.contains(&format!(".s{style}{{"))) && last <= 32);
    }
}
