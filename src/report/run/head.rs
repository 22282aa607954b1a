//! The top of the pages: what the rules save and merge wrongly on URLs that took no part, and the
//! records in numbers.

use super::words::{count, many, percent};
use super::{OneSite, PER_PAGE, Run, name, saved};
use crate::dataflow::held_out::{HeldOut, HeldOutFigures};
use crate::dataflow::summary::{Figures, Summary};
use crate::report::escape::html as escaped;
use crate::report::table::Table;
use std::fmt::Write as _;

/// Title and first line.
pub(super) fn whole(out: &mut String, run: Run<'_>, sites: usize) {
    let Run { summary: Summary { total, .. }, header, .. } = run;
    out.push_str("<header><h1>What was learned</h1>");
    let _ = write!(out, "<p class=headline>{}</p>", headline(total.held_out.as_ref()));
    let _ = write!(
        out,
        "<p class=lead>{}, {} of {} pages, {}. On these records themselves the rules save {} fetches, {} of all; of the \
         URLs on one page {} are wrong ({}).",
        many(sites as u64, "site"),
        many(total.urls, "URL"),
        count(total.clusters),
        many(total.rules, "rule"),
        count(saved(total)),
        percent(total.compression_ppm),
        count(total.bad),
        percent(wrong_ppm(total)),
    );
    if let Some(dates) = &header.learned {
        let _ = write!(out, " Data of {} to {}.", escaped(&dates.from), escaped(&dates.to));
    }
    out.push_str("</p></header>");
}

/// Labelled URLs on the page of another cluster, of those that share a page, in millionths, rounded up.
fn wrong_ppm(figures: &Figures) -> u64 {
    let all = (figures.good + figures.bad).max(1);
    (u128::from(figures.bad) * 1_000_000).div_ceil(u128::from(all)) as u64
}

/// Fetches saved and pages wrongly merged on URLs that took no part, in a sentence.
pub(super) fn headline(held_out: Option<&HeldOut>) -> String {
    let figures = match held_out {
        Some(HeldOut::Figures(figures)) => figures,
        Some(HeldOut::None(_)) => return "Not measured on URLs that took no part: it was not cross-fitted.".to_owned(),
        None => return "Not measured on URLs that took no part (<code>--no-held-out</code>).".to_owned(),
    };
    let HeldOutFigures { wrong_share, wrong_upper, clusters, rows, .. } = figures;
    let saved = |share: Option<u64>, margin: Option<u64>| match share.zip(margin) {
        Some((share, margin)) => format!("<b>{}</b> (± {})", percent(share), percent(margin)),
        None => "<b>nothing</b> (there are no duplicates)".to_owned(),
    };
    format!(
        "On URLs that took no part in learning the rules save {} of the fetches that duplicates cost, {} on pages never \
         met, and merge <b>{}</b> of the URLs wrongly (at most {}). Counted on {} of {} pages, bounds of 95 %.",
        saved(figures.saved_by_url, figures.saved_by_url_margin),
        saved(figures.saved_by_cluster, figures.saved_by_cluster_margin),
        percent(*wrong_share),
        percent(*wrong_upper),
        many(*rows, "URL"),
        count(*clusters),
    )
}

/// Rejected lines and counts of the stages, closed.
pub(super) fn details(out: &mut String, run: Run<'_>) {
    let Summary { rejects, stages, .. } = run.summary;
    if !rejects.is_empty() {
        let all: u64 = rejects.values().sum();
        let _ = write!(out, "<details><summary>{} rejected: no evidence</summary>", many(all, "line"));
        let note = "A sample with file and line is in rejects.jsonl.";
        let mut table = Table::new("rejects", "Rejected lines", note, &["reason", "lines"]);
        rejects.iter().for_each(|(reason, lines)| table.row([reason.clone(), count(*lines)]));
        let _ = write!(out, "{}</details>", table.html());
    }
    out.push_str("<details><summary>Counts of the stages</summary>");
    let mut table = Table::new("stages", "Counts of the stages", "", &["stage", "count"]);
    stages.iter().for_each(|(stage, number)| table.row([stage.clone(), count(*number)]));
    let _ = write!(out, "{}</details>", table.html());
}

/// Title of a page of many.
pub(super) fn part(out: &mut String, number: usize, pages: usize, from: usize, sites: usize) {
    let _ = write!(
        out,
        "<header><h1>What was learned, page {number} of {pages}</h1><p class=lead>Sites {} to {} by what they save.</p>\
         <nav><a href=\"{}\">All sites</a>",
        from + 1,
        from + sites,
        super::PAGE
    );
    if number > 1 {
        let _ = write!(out, "<a href=\"{}\">Before</a>", name(number - 1));
    }
    if number < pages {
        let _ = write!(out, "<a href=\"{}\">Next</a>", name(number + 1));
    }
    out.push_str("</nav></header>");
}

/// All sites with a link to their place in the other pages.
pub(super) fn list(out: &mut String, sites: &[OneSite<'_>]) {
    out.push_str("<h2 id=sites>Sites by what they save</h2>");
    for (number, page) in (1..).zip(sites.chunks(PER_PAGE)) {
        let from = (number - 1) * PER_PAGE;
        let saved: u64 = page.iter().map(OneSite::saved).sum();
        let _ = write!(
            out,
            "<details><summary><a href=\"{}\">Sites {} to {}</a><span class=count>{} fetches saved</span></summary><ul \
             class=pairs>",
            name(number),
            from + 1,
            from + page.len(),
            count(saved)
        );
        for (at, site) in (from..).zip(page) {
            let _ = write!(
                out,
                "<li><a class=url href=\"{}#s{at}\">{}</a><span class=count>{}</span></li>",
                name(number),
                super::site::title(site.name),
                count(site.saved())
            );
        }
        out.push_str("</ul></details>");
    }
}
