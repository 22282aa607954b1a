//! Learned rules, on a terminal.

use std::io;
use std::path::Path;

use undust::dataflow::Learned;
use undust::dataflow::summary::{Figures, Summary};
use undust::model::Count;
use undust::model::shown::Page;
use undust::rules::explain::{pattern_text, rule_text};
use undust::rules::types::Evidence;

use crate::learn_error::LearnError;
use crate::messages::show;

/// Sites that the report shows.
const SHOWN_SITES: usize = 20;
/// Rules of a site that the report shows.
const SHOWN_RULES: usize = 12;

/// Writes the learned rules for people to standard output, after `text`; the result is already in the folder `out`.
pub fn report(mut text: Page, learned: &Learned, summary: &Summary, out: &Path) -> Result<(), LearnError> {
    let mut order: Vec<_> = learned.sites.iter().zip(summary.sites.values()).collect();
    order.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.urls));
    for (site, figures) in order.iter().take(SHOWN_SITES) {
        line(&mut text, &site.rules.site, figures);
        for rule in site.rules.rules.iter().take(SHOWN_RULES) {
            let _ = writeln!(text, "    {}", rule_text(rule));
        }
        match site.rules.rules.len() {
            more if more > SHOWN_RULES => drop(writeln!(text, "    and {} rules more", more - SHOWN_RULES)),
            _ => {}
        }
        if let Some(count) = site.learned.counts.get(&Count::Kept) {
            let _ = writeln!(text, "    rules of --previous that these records alone do not show: {count}");
        }
        if let Some(refused) = site.learned.counts.get(&Count::MoveTooManyUrls) {
            let of = |count| site.learned.counts.get(&count).copied().unwrap_or(0);
            let (merge, moved) = (of(Count::WouldMerge), of(Count::WouldMove));
            let _ = writeln!(
                text,
                "    new rules not taken: {refused}; all new rules would merge {merge} URLs more and move {moved} of --previous \
                 (see moved_permille)"
            );
        }
        let gone = site.withdrawn.iter().map(|of| (&of.rule, of.reason, "withdrawn"));
        let changed = site.narrowed.iter().map(|of| (&of.before, of.reason, "narrowed"));
        for (rule, reason, how) in gone.chain(changed).take(SHOWN_RULES) {
            let (Evidence { good, bad, .. }, words) = (&rule.evidence, reason.words());
            let _ = writeln!(text, "    {how}: {}  ({words}: {good} good, {bad} bad)", pattern_text(rule));
        }
    }
    if order.len() > SHOWN_SITES {
        let _ = writeln!(text, "and {} sites more: see summary.json", order.len() - SHOWN_SITES);
    }
    line(&mut text, &format!("all {} sites", order.len()), &summary.total);
    match show(&text) {
        // The reader closed the pipe, as `head` does: the result is in the folder.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let text = format!("cannot write to standard output: {error}; the result was written to {}", out.display());
            Err(LearnError::Failed(text.into()))
        }
        _ => Ok(()),
    }
}

fn line(text: &mut Page, name: &str, figures: &Figures) {
    let _ = writeln!(
        text,
        "{name}: {} URLs, {} clusters, {} canonical, compression {:.3}, fpr {:.4}, {} rules{}",
        figures.urls,
        figures.clusters,
        figures.canonical,
        figures.compression_ppm as f64 / 1e6,
        figures.fpr_ppm as f64 / 1e6,
        figures.rules,
        [
            (figures.provisional.map_or(0, |of| of.rules), "provisional beside them"),
            (figures.withdrawn, "withdrawn"),
            (figures.narrowed, "narrowed"),
            (figures.drift, "wrong merges by drift of labels")
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(" ({count} {what})"))
        .collect::<String>(),
    );
}
