//! `undust rules`: learned rules in readable form; disabling and enabling; differences; compiled rules;
//! the set of seen URLs; sealing after a change by hand.

#[path = "rules/compile.rs"]
mod compile;
#[path = "rules/diff.rs"]
mod diff;
#[path = "rules/list.rs"]
mod list;
#[path = "rules/output.rs"]
mod output;
#[path = "rules/overrule.rs"]
mod overrule;
#[path = "rules/seal.rs"]
mod seal;
#[path = "rules/seen.rs"]
mod seen;

use clap::{Args, Subcommand};
use undust::io::rules::RuleFile;
use undust::model::shown::Page;
use undust::rules::explain::evidence_text;
use undust::rules::stops::{bad_until_withdrawn, stops};
use undust::rules::{Kind, Rule, SiteRules};

use crate::failure::Failure;
use crate::rules_dir::RulesDir;
pub use output::each_url;
use output::print;

/// Lists, shows, disables, enables, compares, compiles and seals rules.
#[derive(Args, Debug)]
#[command(after_long_help = crate::failure::EXIT_CODES)]
pub struct RulesArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    List(list::ListArgs),
    Show(ShowArgs),
    Disable(overrule::DisableArgs),
    Enable(overrule::EnableArgs),
    Diff(diff::DiffArgs),
    Compile(compile::CompileArgs),
    Seen(seen::SeenArgs),
    Seal(seal::SealArgs),
}

/// All that is known of a rule or of the rules of a site: scope, operations, evidence, example pairs,
/// what would stop it.
#[derive(Args, Debug)]
struct ShowArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// Ids of rules, or sites.
    #[arg(value_name = "ID|SITE", required = true)]
    names: Vec<String>,
}

/// Runs the job.
pub fn run(args: RulesArgs) -> Result<(), Failure> {
    match args.what {
        What::List(args) => list::run(args),
        What::Show(args) => show(args),
        What::Disable(args) => overrule::disable(args),
        What::Enable(args) => overrule::enable(args),
        What::Diff(args) => diff::run(args),
        What::Compile(args) => compile::run(args),
        What::Seen(args) => seen::run(args),
        What::Seal(args) => seal::run(args),
    }
}

fn show(args: ShowArgs) -> Result<(), Failure> {
    let file = args.rules.read()?;
    let mut text = Page::default();
    if let Some(learned) = &file.header.learned {
        let _ = writeln!(text, "learned from data of {} to {}", learned.from, learned.to);
    }
    for name in &args.names {
        let mut found = false;
        for site in &file.sites {
            for rule in site.rules.iter().filter(|rule| rule.id == *name || site.site == *name) {
                found = true;
                show_rule(&mut text, &file, site, rule);
            }
        }
        if !found {
            return Err(Failure::usage(format!(
                "{name}: neither a rule nor a site with rules; `undust rules list` shows them"
            )));
        }
    }
    print(&text)
}

fn show_rule(text: &mut Page, file: &RuleFile, site: &SiteRules, rule: &Rule) {
    let order = site.rules.iter().position(|other| other.id == rule.id).map_or(0, |at| at + 1);
    let _ = writeln!(text, "{} of {}, rule {order} of {}", rule.id, site.site, site.rules.len());
    let _ = writeln!(text, "  {}", undust::rules::explain::pattern_text(rule));
    let _ = writeln!(text, "  {}", evidence_text(&rule.evidence));
    let evidence = &rule.evidence;
    let _ = writeln!(
        text,
        "  {} pairs fall together, {} of them from different clusters",
        evidence.support_pairs, evidence.false_positive_pairs
    );
    let least = bad_until_withdrawn(evidence, matches!(rule.kind, Kind::Form | Kind::Mirror));
    let _ = match least {
        0 => writeln!(text, "  rests on a prior or on one page: one URL of another cluster withdraws it"),
        n => writeln!(text, "  {n} more URLs of other clusters withdraw it when it is learned again"),
    };
    let stops = stops(rule);
    if !stops.is_empty() {
        let _ = writeln!(text, "  would be stopped by: {}", stops.join("; "));
    }
    let pages = site.exceptions.iter().filter(|e| e[1] == rule.id || e[1] == "*").count();
    if pages > 0 {
        let _ = writeln!(text, "  passed over on {pages} pages known to differ");
    }
    for [one, other] in &evidence.examples {
        let _ = writeln!(text, "  seen as one page: {one}");
        let _ = writeln!(text, "               and: {other}");
    }
    if let Some(reason) = file.overrides.reason(&site.site, &rule.id) {
        let _ = writeln!(text, "  DISABLED: {reason}");
    }
}
