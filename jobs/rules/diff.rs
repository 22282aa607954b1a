//! `undust rules diff`: differences between two rule files.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use undust::io::rules::RuleFile;
use undust::model::shown::Page;
use undust::rules::diff::{Groups, SiteDiff, UrlChanges, diff};
use undust::rules::explain::{evidence_text, pattern_text, rule_text};
use undust::rules::{Rule, RuleSet, Scratch};

use crate::failure::Failure;
use crate::messages::json_lines;

/// What changes for URLs from OLD to NEW: with --urls the canonical URLs of a list, then the rules
/// gained, lost and changed.
///
/// Churn is the share of URLs with another canonical URL among those whose group of duplicates (URLs of
/// the list with one canonical URL) is the same set under both; URLs whose group changed are counted
/// apart.
///
/// A rule is known by its id. Two rules of one scope that do something else to the same keys are one
/// that changed. Rules of which only the counts changed are not shown without --all. What is disabled
/// beside OLD or NEW counts as not there.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Folder or rule file.
    old: PathBuf,
    /// Folder or rule file.
    new: PathBuf,
    /// One URL a line (plain, gzip or zstd); `-` is standard input.
    #[arg(long, value_name = "FILE")]
    urls: Option<PathBuf>,
    /// Shows rules of which only the counts changed, too.
    #[arg(long)]
    all: bool,
    /// Writes everything as one JSON object (docs/rules.md).
    #[arg(long, conflicts_with = "all")]
    json: bool,
    /// Takes the folder of a run that failed or is still going (it holds no _SUCCESS).
    #[arg(long)]
    allow_partial: bool,
}

/// Output of `--json`.
#[derive(Serialize)]
struct Differences {
    #[serde(skip_serializing_if = "Option::is_none")]
    urls: Option<UrlChanges>,
    sites: Vec<SiteDiff>,
    totals: Totals,
}

/// Sums over the sites.
#[derive(Default, Serialize)]
struct Totals {
    gained: usize,
    lost: usize,
    changed: usize,
    counted: usize,
}

/// Runs the job.
pub fn run(args: DiffArgs) -> Result<(), Failure> {
    let open = |path| {
        let mut file = RuleFile::open(path, args.allow_partial)?;
        file.overrides.apply(&mut file.sites);
        Ok::<_, Failure>(file)
    };
    let (old, new) = (open(&args.old)?, open(&args.new)?);
    let sites = diff(&old.sites, &new.sites);
    let mut totals = Totals::default();
    for site in &sites {
        totals.gained += site.gained.len();
        totals.lost += site.lost.len();
        totals.changed += site.changed.len();
        totals.counted += site.counted.len();
    }
    let urls = match &args.urls {
        Some(path) => Some(urls(&RuleSet::new(old.sites), &RuleSet::new(new.sites), path)?),
        None => None,
    };
    let differences = Differences { urls, sites, totals };
    match args.json {
        true => json_lines(&[differences]).map_err(Failure::stdout),
        false => super::output::print(&text(&differences, args.all)),
    }
}

fn urls(old: &RuleSet, new: &RuleSet, path: &std::path::Path) -> Result<UrlChanges, Failure> {
    let mut changes = UrlChanges::default();
    let mut scratch = [Scratch::default(), Scratch::default()];
    super::output::each_url(path, |url| {
        changes.add(old, new, url, &mut scratch);
        Ok(())
    })?;
    changes.count();
    Ok(changes)
}

fn text(Differences { urls, sites, totals }: &Differences, all: bool) -> Page {
    let mut text = Page::default();
    if let Some(changes) = urls {
        let _ = writeln!(text, "{} of {} URLs get another canonical URL", changes.changed, changes.urls);
        for [url, before, after] in &changes.examples {
            let _ = writeln!(text, "  {url}");
            let _ = writeln!(text, "    was {before}");
            let _ = writeln!(text, "    is  {after}");
        }
        let Groups { same_group, moved, regrouped, churn } = &changes.groups;
        let churn = churn.map_or_else(|| "none".to_owned(), |churn| format!("{:.2} %", 100.0 * churn));
        let _ = writeln!(
            text,
            "churn {churn}: {moved} of {same_group} URLs whose group of duplicates is the same; \
             the groups of {regrouped} URLs changed"
        );
    }
    let differ = sites.iter().filter(|site| site.changes_urls()).count();
    let Totals { gained, lost, changed, counted } = totals;
    let _ = writeln!(text, "{differ} sites differ: {gained} rules gained, {lost} lost, {changed} changed");
    for site in sites.iter().filter(|site| all || site.changes_urls()) {
        site_text(&mut text, site, all);
    }
    if *counted > 0 && !all {
        let _ = writeln!(text, "{counted} rules changed in their counts alone (--all shows them)");
    }
    text
}

fn site_text(text: &mut Page, site: &SiteDiff, all: bool) {
    let order = if site.reordered { ", in another order" } else { "" };
    let tokens = if site.retokenized { ", URLs cut otherwise" } else { "" };
    let same = site.same + site.counted.len();
    let _ = writeln!(text, "{}: {same} rules the same{order}{tokens}", site.site);
    let mut line = |mark: &str, rule: &Rule| {
        let _ = writeln!(text, "  {mark} {} {}", rule.id, rule_text(rule));
    };
    site.gained.iter().for_each(|rule| line("gained ", rule));
    site.lost.iter().for_each(|rule| line("lost   ", rule));
    for (before, after) in &site.changed {
        let _ = writeln!(text, "  changed {} {}", after.id, pattern_text(after));
        let _ = writeln!(text, "          was {} {}", before.id, pattern_text(before));
        let _ = writeln!(text, "          {} -> {}", evidence_text(&before.evidence), evidence_text(&after.evidence));
    }
    for (name, [gained, lost]) in &site.pages {
        let _ = writeln!(text, "  {name}: {gained} gained, {lost} lost");
    }
    for (before, after) in site.counted.iter().filter(|_| all) {
        let _ = writeln!(text, "  counts  {} {}", after.id, pattern_text(after));
        let _ = writeln!(text, "          {} -> {}", evidence_text(&before.evidence), evidence_text(&after.evidence));
    }
}
