//! `undust rules diff`: what changed from one rule file to another.

use std::path::PathBuf;

use clap::Args;
use undust::io::blocks::LineBlocks;
use undust::io::rules::RuleFile;
use undust::model::shown::Page;
use undust::rules::diff::{UrlChanges, diff};
use undust::rules::explain::{evidence_text, pattern_text, rule_text};
use undust::rules::{Rule, Scratch};

use crate::failure::Failure;

/// Rules gained, lost and changed from OLD to NEW, the sites with most saved fetches at stake first.
///
/// A rule is known by its id. Two rules of one scope that do something else to the same keys are one that changed. With
/// --urls, also for how many URLs the canonical URL changes; what is disabled beside OLD and NEW does not act there.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Folder or rule file.
    old: PathBuf,
    /// Folder or rule file.
    new: PathBuf,
    /// One URL a line (plain, gzip or zstd); `-` is standard input.
    #[arg(long, value_name = "FILE")]
    urls: Option<PathBuf>,
    /// Takes the folder of a run that failed or is still going (it holds no _SUCCESS).
    #[arg(long)]
    allow_partial: bool,
}

/// Runs the job.
pub fn run(args: DiffArgs) -> Result<(), Failure> {
    let old = RuleFile::open(&args.old, args.allow_partial)?;
    let new = RuleFile::open(&args.new, args.allow_partial)?;
    let mut text = Page::default();
    let (mut gained, mut lost, mut changed) = (0, 0, 0);
    let sites = diff(&old.sites, &new.sites);
    for site in &sites {
        gained += site.gained.len();
        lost += site.lost.len();
        changed += site.changed.len();
        let order = if site.reordered { ", in another order" } else { "" };
        let _ = writeln!(text, "{}: {:+} saved, {} rules the same{order}", site.site, site.saved(), site.same);
        let mut line = |mark: &str, rule: &Rule| {
            let _ = writeln!(text, "  {mark} {} {}", rule.id, rule_text(rule));
        };
        site.gained.iter().for_each(|rule| line("gained ", rule));
        site.lost.iter().for_each(|rule| line("lost   ", rule));
        for (before, after) in &site.changed {
            let _ = writeln!(text, "  changed {} {}", after.id, pattern_text(after));
            if before.id != after.id {
                let _ = writeln!(text, "          was {} {}", before.id, pattern_text(before));
            }
            let _ =
                writeln!(text, "          {} -> {}", evidence_text(&before.evidence), evidence_text(&after.evidence));
        }
    }
    let _ = writeln!(text, "{} sites differ: {gained} rules gained, {lost} lost, {changed} changed", sites.len());
    if let Some(path) = &args.urls {
        urls(&mut text, old, new, path)?;
    }
    super::print(&text)
}

fn urls(text: &mut Page, old: RuleFile, new: RuleFile, path: &std::path::Path) -> Result<(), Failure> {
    let (old, new) = (old.compile(), new.compile());
    let mut blocks = if path == std::path::Path::new("-") { LineBlocks::stdin()? } else { LineBlocks::open(path)? };
    let mut changes = UrlChanges::default();
    let mut scratch = [Scratch::default(), Scratch::default()];
    let mut block = Vec::new();
    while blocks.next_block(&mut block)? {
        for line in block.split(|&b| b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                changes.add(&old, &new, line, &mut scratch);
            }
        }
    }
    let _ = writeln!(text, "{} of {} URLs get another canonical URL", changes.changed, changes.urls);
    for [url, before, after] in &changes.examples {
        let _ = writeln!(text, "  {url}");
        let _ = writeln!(text, "    was {before}");
        let _ = writeln!(text, "    is  {after}");
    }
    Ok(())
}
