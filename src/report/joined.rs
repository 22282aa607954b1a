//! Several comparisons on one page: what they have in common.

use super::figures::{RECALL, micro, seeds, summaries};
use super::page::{Part, TITLE};
use super::table::{Table, share};
use super::{costs, tables};
use crate::baselines::Name;
use crate::baselines::results::Protocol;
use std::fmt::Write as _;

/// Name of a part: its place and protocol.
pub(super) fn name(parts: &[Part<'_>], at: usize) -> String {
    let protocol = match parts[at].comparison.protocol {
        Protocol::Www10 => "WWW 2010",
        Protocol::Sigir2017 => "SIGIR 2017",
    };
    format!("{}. {protocol}", at + 1)
}

/// Heading and links.
pub(super) fn head(out: &mut String, parts: &[Part<'_>]) {
    let _ = write!(
        out,
        "<header><h1>{TITLE}</h1><p class=lead>{} comparisons on one page, each with a heading of its own.</p><nav>\
         <a href=\"#all\">All methods</a>",
        parts.len()
    );
    for at in 0..parts.len() {
        let (part, name) = (at + 1, name(parts, at));
        let _ = write!(
            out,
            "<a href=\"#{part}-part\">{name}</a><a href=\"#{part}-tables\">Tables</a><a href=\"#{part}-sites-detail\">Sites</a>"
        );
    }
    out.push_str("</nav></header>");
}

/// A row a method, four columns a part: saved share, recall, seconds to learn, microseconds a URL.
pub(super) fn table(parts: &[Part<'_>]) -> Table {
    let mut methods: Vec<Name> = Vec::new();
    for method in parts.iter().flat_map(|part| &part.comparison.methods) {
        if !methods.contains(method) {
            methods.push(*method);
        }
    }
    let figures = ["saved", "recall", "s to learn", "µs a URL"];
    let head: Vec<String> =
        (0..parts.len()).flat_map(|at| figures.map(|figure| format!("{}: {figure}", name(parts, at)))).collect();
    let head: Vec<&str> = std::iter::once("method").chain(head.iter().map(String::as_str)).collect();
    let note = "All sites of a comparison together, at its headline rate; mean ± standard deviation where there are several \
                training samples. A star: recall under 0.995, so the method is not ranked. '-': took no part, or not known. A \
                number of sites: the costs are those of these sites alone.";
    let mut table = Table::new("all", "All methods under all protocols, and what they cost", note, &head);
    for method in methods {
        let cells = parts.iter().flat_map(|part| cells(part, method));
        table.row(std::iter::once(method.to_string()).chain(cells));
    }
    table
}

fn cells(Part { comparison, times }: &Part<'_>, method: Name) -> [String; 4] {
    let none = || "-".to_owned();
    if !comparison.methods.contains(&method) {
        return [none(), none(), none(), none()];
    }
    let (all, seeds) = (summaries(comparison, method, comparison.headline), seeds(comparison));
    let (saved, recall) = (micro(&all, |r| r.saved_share), micro(&all, |r| r.rec).mean);
    let star = if recall < RECALL { "*" } else { "" };
    let saved = tables::with_spread(saved, seeds) + star;
    let [learn, apply] = times.map_or([none(), none()], |times| costs::of_method(comparison, times, method));
    [saved, share(recall), learn, apply]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::results::{Comparison, Fit, Run, Site, Time, Times};
    use crate::evaluate::Pages;

    /// Two pages of two URLs each; the method joins the first pair, or everything.
    fn comparison(protocol: Protocol, method: Name, canonical: [&str; 4]) -> Comparison {
        let mut pages = Pages::default();
        for (at, canonical) in canonical.iter().enumerate() {
            pages.push(format!("{at}").as_bytes(), canonical.as_bytes(), Some(if at < 2 { b"a" } else { b"b" }));
        }
        let fits = vec![Fit { counts: pages.counts(), ..Fit::default() }];
        let figures = crate::baselines::Figures::default();
        let run = Run { method, seed: 0, figures, fits, detection: None, missing: None };
        let site = Site { site: "s".to_owned(), urls: 4, trained: vec![1], runs: vec![run], ..Site::default() };
        let (methods, seeds) = (vec![method], vec![1]);
        Comparison { protocol, methods, fpr_max: vec![0.01], seeds, sites: vec![site], ..Comparison::default() }
    }

    #[test]
    fn each_method_has_a_row_and_each_part_its_columns() {
        let first = comparison(Protocol::Www10, Name::Undust, ["x", "x", "2", "3"]);
        let second = comparison(Protocol::Sigir2017, Name::DropQuery, ["x", "x", "x", "x"]);
        let time = |method, learn| Time {
            site: "s".to_owned(),
            method,
            seed: 0,
            trained: 0,
            learn,
            select: 0.0,
            apply: 0.000_02,
            urls: 4,
        };
        let times = Times { times: vec![time(Name::Undust, 1.5)] };
        let parts = [Part { comparison: &first, times: Some(&times) }, Part { comparison: &second, times: None }];
        let table = table(&parts);
        assert_eq!(table.head[1], "1. WWW 2010: saved");
        assert_eq!(table.head[8], "2. SIGIR 2017: µs a URL");
        let rows: Vec<String> = table.rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, ["undust 0.5000 1.0000 1.50 5.00 - - - -", "drop-query - - - - 1.0000* 0.5000 - -"]);
        let page = super::super::page::html(&parts);
        for id in ["id=1-part", "id=2-part", "id=1-tables", "id=\"1-methods\"", "id=\"2-methods\"", "id=\"1-cost\""] {
            assert!(page.contains(id), "{id}");
        }
        assert!(!page.contains("id=\"2-cost\"") && !page.contains("id=tables"));
        // One part keeps its anchors.
        let alone = super::super::page::html(&parts[..1]);
        assert!(alone.contains("id=tables") && alone.contains("id=\"cost\"") && !alone.contains("1-part"));
    }
}
