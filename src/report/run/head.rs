//! The top of the pages: what the rules save and merge wrongly on URLs that took no part, and the
//! records in numbers.

use super::{OneSite, PER_PAGE, Run, name, saved};
use crate::dataflow::held_out::{HeldOut, HeldOutFigures};
use crate::dataflow::summary::{Figures, Summary};
use crate::report::escape::html as escaped;
use crate::report::table::Table;
use crate::report::text::{count, many, percent};
use std::fmt::Write as _;

/// Title and first line.
pub(super) fn whole(out: &mut String, run: Run<'_>, sites: usize) {
    let Run { summary: Summary { total, .. }, header, .. } = run;
    out.push_str("<header><h1>What was learned</h1>");
    let _ = write!(out, "<p class=headline>{}</p>", headline(total));
    let _ = write!(
        out,
        "<p class=lead>{}, {}{}, {}. ",
        many(sites as u64, "site"),
        many(total.urls, "URL"),
        match total.labelled {
            0 => " without labels".to_owned(),
            _ => format!(" of {}", many(total.clusters, "page")),
        },
        rules(total),
    );
    let (saved, share) = (many(saved(total), "fetch"), whole_percent(total.compression_ppm));
    let _ = match total.labelled {
        0 => write!(out, "The rules save {saved}, {share} of all. No label says whether they merge rightly."),
        _ => write!(
            out,
            "On these records themselves the rules save {saved}, {share} of all; of the URLs that they merge, {} are \
             wrong ({}).",
            count(total.bad),
            whole_percent(wrong_ppm(total)),
        ),
    };
    match &header.learned {
        Some(dates) if dates.from == dates.to => _ = write!(out, " Data of {}.", escaped(&dates.from)),
        Some(dates) => _ = write!(out, " Data of {} to {}.", escaped(&dates.from), escaped(&dates.to)),
        None => out.push_str(" The date of the data was not given (<code>learn --data-date</code>)."),
    }
    out.push_str("</p></header>");
}

/// Number of rules, provisional ones apart.
pub(super) fn rules(figures: &Figures) -> String {
    let provisional = figures.provisional.as_ref().map_or(0, |of| of.rules);
    match (figures.rules, provisional) {
        (rules, 0) => many(rules, "rule"),
        (0, provisional) => many(provisional, "provisional rule"),
        (rules, provisional) => format!("{}, {}", many(rules, "rule"), many(provisional, "provisional rule")),
    }
}

/// A percentage as HTML that no line end divides.
pub(super) fn whole_percent(ppm: u64) -> String {
    format!("<span class=whole>{}</span>", percent(ppm))
}

/// Labelled URLs on the page of another cluster, of those that share a page, in millionths, rounded up.
fn wrong_ppm(figures: &Figures) -> u64 {
    let all = (figures.good + figures.bad).max(1);
    (u128::from(figures.bad) * 1_000_000).div_ceil(u128::from(all)) as u64
}

/// Fetches saved and pages wrongly merged on URLs that took no part, in a sentence.
pub(super) fn headline(figures: &Figures) -> String {
    let why = match &figures.held_out {
        Some(HeldOut::Figures(figures)) => return measured(figures),
        _ if figures.labelled == 0 => ": no record has a label.",
        Some(HeldOut::None(_)) => ": it was not cross-fitted.",
        None => " (<code>--no-held-out</code>).",
    };
    format!("Not measured on URLs that took no part in learning{why}")
}

fn measured(figures: &HeldOutFigures) -> String {
    let HeldOutFigures { wrong_share, wrong_upper, clusters, rows, .. } = figures;
    let saved = |share: Option<u64>, margin: Option<u64>| match share.zip(margin) {
        Some((share, margin)) => {
            format!("<span class=whole><b>{}</b> (± {})</span>", percent(share), percent(margin))
        }
        None => "<b>nothing</b> (there are no duplicates)".to_owned(),
    };
    format!(
        "On URLs that took no part in learning, the rules save {} of the fetches that duplicates cost, {} on pages never \
         met, and merge <b>{}</b> of the URLs wrongly (at most {}). Counted on {} of {}, bounds of {}.",
        saved(figures.saved_by_url, figures.saved_by_url_margin),
        saved(figures.saved_by_cluster, figures.saved_by_cluster_margin),
        whole_percent(*wrong_share),
        whole_percent(*wrong_upper),
        many(*rows, "URL"),
        many(*clusters, "page"),
        "<span class=whole>95 %</span>",
    )
}

/// Rejected lines and counts of the stages, closed.
pub(super) fn details(out: &mut String, run: Run<'_>) {
    let Summary { rejects, stages, .. } = run.summary;
    if !rejects.is_empty() {
        let all: u64 = rejects.values().sum();
        let _ = write!(out, "<details><summary>{} rejected: no evidence</summary>", many(all, "line"));
        let note = "A sample with file and line is in rejects.jsonl.";
        let mut table = Table::new("rejects", "", note, &["reason", "lines"]);
        rejects.iter().for_each(|(reason, lines)| table.row([reason.clone(), count(*lines)]));
        let _ = write!(out, "{}</details>", table.html());
    }
    out.push_str("<details><summary>Counts of the stages</summary>");
    let mut table = Table::new("stages", "", "", &["stage", "count"]);
    stages.iter().for_each(|(stage, number)| table.row([stage.clone(), count(*number)]));
    let _ = write!(out, "{}</details>", table.html());
}

/// Title of a page of many.
pub(super) fn part(out: &mut String, number: usize, pages: usize) {
    let _ = write!(out, "<header><h1>What was learned, page {number} of {pages}</h1>");
    out.push_str("<nav>");
    links(out, number, pages);
    out.push_str("</nav></header>");
}

/// Links of a page of many to the others.
pub(super) fn links(out: &mut String, number: usize, pages: usize) {
    let _ = write!(out, "<a href=\"{}\">All sites</a>", super::PAGE);
    if number > 1 {
        let _ = write!(out, "<a href=\"{}\">Previous</a>", name(number - 1));
    }
    if number < pages {
        let _ = write!(out, "<a href=\"{}\">Next</a>", name(number + 1));
    }
}

/// Places of the sites of a page.
pub(super) fn range(from: usize, sites: usize) -> String {
    format!("Sites {} to {}", count(from as u64 + 1), count((from + sites) as u64))
}

/// All sites with a link to their place in the other pages.
pub(super) fn list(out: &mut String, sites: &[OneSite<'_>]) {
    out.push_str("<h2 id=sites>Sites by what they save</h2>");
    for (number, page) in (1..).zip(sites.chunks(PER_PAGE)) {
        let from = (number - 1) * PER_PAGE;
        let saved: u64 = page.iter().map(OneSite::saved).sum();
        let _ = write!(
            out,
            "<h3><a href=\"{}\">{}</a><span class=count>{} saved</span></h3><details><summary>Names</summary><ul \
             class=\"pairs names\">",
            name(number),
            range(from, page.len()),
            many(saved, "fetch")
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
