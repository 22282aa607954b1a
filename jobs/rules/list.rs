//! `undust rules list`: sites and their rules, with their savings.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use undust::dataflow::summary::Summary;
use undust::io::rules::RuleFile;
use undust::model::shown::Page;
use undust::rules::explain::rule_text;
use undust::rules::overrides::{LOOK_UPS, WHOLE_SITE};
use undust::rules::saved::SavedUrls;
use undust::rules::{Rule, SiteRules};

use crate::failure::Failure;
use crate::messages::json_lines;
use crate::rules_dir::RulesDir;

/// Sites and their rules, those that save the most fetches first.
///
/// Saved are the URLs less the canonical URLs, each URL counted once, however many rules move it.
/// Without --urls this is what `learn` counted on its records, as summary.json beside the rules says;
/// where something of a site is disabled, that is no longer so, and no number is shown. With --urls it
/// is counted on that list with the rules that are not disabled, and for each rule what would be saved
/// less if it were disabled: rules overlap, so these numbers need not add up. Memory: the URLs of the
/// list.
#[derive(Args, Debug)]
pub struct ListArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// Counts on these URLs, one a line (plain, gzip or zstd); `-` is standard input.
    #[arg(long, value_name = "FILE")]
    urls: Option<PathBuf>,
    /// Shows so many sites; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    sites: usize,
    /// Shows so many rules a site; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 12)]
    per_site: usize,
    /// How they are shown.
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// Output format of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Text for people.
    #[default]
    Text,
    /// One rule a line.
    Jsonl,
}

/// A line of `rules list --output jsonl`.
#[derive(Serialize)]
struct Listed<'a> {
    site: &'a str,
    /// Its place in the firing order of the site, from 1.
    order: usize,
    /// Reason why it is disabled.
    disabled: Option<&'a str>,
    /// With --urls: loss of savings without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    saves: Option<i64>,
    #[serde(flatten)]
    rule: &'a Rule,
}

/// Runs the job.
pub fn run(args: ListArgs) -> Result<(), Failure> {
    let file = args.rules.read()?;
    let mut counted = args.urls.as_ref().map(|_| SavedUrls::new(&file.sites, &file.overrides));
    if let (Some(path), Some(counted)) = (&args.urls, &mut counted) {
        super::output::each_url(path, |url| {
            counted.add(url);
            Ok(())
        })?;
    }
    let known = learned(&args, &file);
    let mut sites: Vec<(usize, Option<u64>)> = (0..file.sites.len())
        .map(|at| (at, counted.as_mut().map_or_else(|| known(&file.sites[at]), |counted| Some(counted.site(at).saved))))
        .collect();
    // Where the number is unknown, the rule that moves most URLs replaces it.
    let most = |site: &SiteRules| site.rules.iter().map(|rule| rule.evidence.good).max().unwrap_or(0);
    sites.sort_by_key(|&(at, saved)| Reverse(saved.unwrap_or_else(|| most(&file.sites[at]))));
    let shown = if args.sites == 0 { sites.len() } else { args.sites.min(sites.len()) };
    let (mut text, mut lines) = (Page::default(), Vec::new());
    for &(at, saved) in &sites[..shown] {
        let site = &file.sites[at];
        let saves = |rule: &Rule| counted.as_mut().map(|counted| counted.without(at, &rule.id));
        let saves: Vec<Option<i64>> = site.rules.iter().map(saves).collect();
        let mut rules: Vec<usize> = (0..site.rules.len()).collect();
        rules.sort_by_key(|&rule| Reverse((saves[rule], site.rules[rule].evidence.good)));
        let most = if args.per_site == 0 { rules.len() } else { args.per_site.min(rules.len()) };
        if args.output == Output::Text {
            site_line(&mut text, &file, site, saved);
        }
        for &order in &rules[..most] {
            let (rule, saves) = (&site.rules[order], saves[order]);
            let disabled = file.overrides.reason(&site.site, &rule.id);
            match args.output {
                Output::Text => {
                    let count = saves.map_or(String::new(), |saves| format!("saves {saves}: "));
                    let mark = disabled.map_or(String::new(), |reason| format!("  DISABLED: {reason}"));
                    let _ = writeln!(text, "  {} {count}{}{mark}", rule.id, rule_text(rule));
                }
                Output::Jsonl => {
                    lines.push(Listed { site: &site.site, order: order + 1, disabled, saves, rule });
                }
            }
        }
        if most < rules.len() && args.output == Output::Text {
            let _ = writeln!(text, "  and {} rules more (--per-site 0 shows all)", rules.len() - most);
        }
    }
    if shown < sites.len() && args.output == Output::Text {
        let _ = writeln!(text, "and {} sites more (--sites 0 shows all)", sites.len() - shown);
    }
    match args.output {
        Output::Text => super::output::print(&text),
        Output::Jsonl => json_lines(&lines).map_err(Failure::stdout),
    }
}

/// Savings that `learn` counted for a site, where nothing of it is disabled.
fn learned<'f>(args: &ListArgs, file: &'f RuleFile) -> impl Fn(&SiteRules) -> Option<u64> + use<'f> {
    let path = args.rules.path();
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let text = fs::read(folder.join("summary.json")).ok();
    let summary: Option<Summary> = text.and_then(|text| serde_json::from_slice(&text).ok());
    let overrides = &file.overrides;
    move |site| {
        let figures = summary.as_ref()?.sites.get(&site.site)?;
        let disabled = overrides.iter().any(|entry| entry.site == site.site);
        (!disabled).then(|| figures.urls.saturating_sub(figures.canonical))
    }
}

fn site_line(page: &mut Page, file: &RuleFile, site: &SiteRules, saved: Option<u64>) {
    let mut text = String::new();
    let origins = site.origins.len();
    let noun = if origins == 1 { "origin" } else { "origins" };
    let saved = saved.map_or(String::new(), |saved| format!("{saved} saved, "));
    let _ = write!(text, "{}: {saved}{} rules, {origins} {noun}", site.site, site.rules.len());
    let aliases = site.aliases.len();
    let ranges: usize = site.local.iter().map(|local| local.pages.len()).sum();
    if aliases + ranges > 0 {
        let _ = write!(text, ", {aliases} look-ups, {ranges} value ranges");
    }
    if let Some(reason) = file.overrides.reason(&site.site, WHOLE_SITE) {
        let _ = write!(text, ", DISABLED: {reason}");
    } else if let Some(reason) = file.overrides.reason(&site.site, LOOK_UPS) {
        let _ = write!(text, ", look-ups DISABLED: {reason}");
    }
    let _ = writeln!(page, "{text}");
}
