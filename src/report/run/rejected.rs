//! Refused rules of a site with reasons, and missing evidence.

use super::OneSite;
use crate::dataflow::summary::{Changed, Gone, Summary};
use crate::report::escape::html as escaped;
use crate::report::text::{brief, count, many};
use crate::site::profile::{Effect, KeyProfile};
use std::fmt::Write as _;

/// Rules that are shown.
const SHOWN: usize = 20;
/// Keys of which evidence is missing that are shown, those of most URLs.
const SHOWN_KEYS: usize = 8;
/// URLs that a key must have, so that it is worth asking for more of them.
const LEAST: u64 = 10;

/// Refused rules, where there are some.
pub(super) fn refused(out: &mut String, summary: &Summary, site: &OneSite<'_>, at: usize) {
    section(out, &format!("refused-{at}"), "Refused, and why", &rejected(summary, site));
}

/// Missing evidence, where some is.
pub(super) fn wanting(out: &mut String, site: &OneSite<'_>, at: usize) {
    section(out, &format!("missing-{at}"), "What evidence is missing", &missing(site));
}

fn section(out: &mut String, id: &str, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<details id={id}><summary>{title}<span class=count>{}</span></summary><ul class=pairs>",
        lines.len()
    );
    lines.iter().for_each(|line| _ = write!(out, "<li>{line}</li>"));
    out.push_str("</ul></details>");
}

fn rejected(summary: &Summary, site: &OneSite<'_>) -> Vec<String> {
    let withdrawn = summary.withdrawn.get(site.name).map_or(&[][..], Vec::as_slice);
    let narrowed = summary.narrowed.get(site.name).map_or(&[][..], Vec::as_slice);
    let mut lines: Vec<String> = withdrawn.iter().map(|gone| format!("Withdrawn: {}", of(gone))).collect();
    lines.extend(narrowed.iter().map(|Changed { before, rule, .. }| {
        format!("Narrowed: {}. It became <code>{}</code>", of(before), code(rule))
    }));
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if more > 0 {
        lines.push(format!("{} more in <code>summary.json</code>.", many(more as u64, "rule")));
    }
    let figures = site.figures;
    if figures.forgotten > 0 {
        let what =
            many(figures.forgotten, "look-up or exception").replace("look-up or exceptions", "look-ups or exceptions");
        lines.push(format!(
            "{what} went: they led URLs to the page of another cluster, or to one that only a changed rule wrote."
        ));
    }
    if figures.without_lookups > 0 {
        lines.push("All look-ups went: they led URLs to wrong pages.".to_owned());
    }
    if figures.fell_back > 0 {
        lines.push("All rules went: the site still merged too many wrong pairs after the last pass.".to_owned());
    }
    lines
}

fn of(gone: &Gone) -> String {
    let Gone { rule, reason, good, bad, .. } = gone;
    format!("<code>{}</code>: {} ({} right, {} wrong)", code(rule), reason.words(), count(*good), count(*bad))
}

fn code(text: &str) -> String {
    escaped(&brief(text))
}

fn missing(site: &OneSite<'_>) -> Vec<String> {
    let figures = site.figures;
    let mut lines = Vec::new();
    let left = figures.canonical.saturating_sub(figures.clusters);
    if left > 0 && figures.labelled == figures.urls {
        lines.push(format!(
            "{} still go to pages that another canonical URL shows: no rule was proven for them.",
            many(left, "fetch")
        ));
    }
    if figures.labelled < figures.urls {
        lines.push(format!(
            "{} of {} have no label: they are evidence neither for a rule nor against one.",
            count(figures.urls - figures.labelled),
            many(figures.urls, "URL")
        ));
    }
    if figures.conflicts > 0 {
        lines.push(format!("{} came with several labels.", many(figures.conflicts, "URL")));
    }
    if figures.drift > 0 {
        lines.push(format!(
            "{} are taken for drift of the labels: one page got several labels. Label them alike.",
            many(figures.drift, "wrong merge")
        ));
    }
    let keys = site.profile.map_or(&[][..], |profile| profile.keys.as_slice());
    let unknown = keys.iter().filter(|key| key.does == Effect::Unknown && key.urls >= LEAST);
    lines.extend(unknown.take(SHOWN_KEYS).map(wanted));
    lines
}

/// URLs to fetch so that the effect of a key becomes known.
fn wanted(key: &KeyProfile) -> String {
    let KeyProfile { key: name, urls, same, other, same_together, other_together, .. } = key;
    let seen = match (same + same_together, other + other_together) {
        (0, 0) => "no two URLs differ in it alone".to_owned(),
        (same, other) => format!("{same} of {} left the page the same", many(same + other, "change")),
    };
    format!(
        "<code>{}</code>, on {}: {seen}. Fetch some of these URLs with another value and without it.",
        code(name),
        many(*urls, "URL")
    )
}
