//! `undust rules`: what was learned, in readable form; disabling and enabling; differences; compiled rules; the set of
//! seen URLs.

#[path = "rules/compile.rs"]
mod compile;
#[path = "rules/diff.rs"]
mod diff;
#[path = "rules/seen.rs"]
pub mod seen;

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use undust::io::rules::{RuleFile, overrides_file, read_overrides, write_overrides};
use undust::model::shown::Page;
use undust::rules::explain::{evidence_text, rule_text};
use undust::rules::overrides::{LOOK_UPS, WHOLE_SITE};
use undust::rules::stops::{bad_until_withdrawn, stops};
use undust::rules::{Kind, Rule, SiteRules};

use crate::failure::Failure;
use crate::messages::{json_lines, say, show as print_page};
use crate::rules_dir::RulesDir;

/// Lists, shows, disables, enables, compares and compiles rules.
#[derive(Args, Debug)]
#[command(after_long_help = crate::failure::EXIT_CODES)]
pub struct RulesArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    List(ListArgs),
    Show(ShowArgs),
    Disable(DisableArgs),
    Enable(EnableArgs),
    Diff(diff::DiffArgs),
    Compile(compile::CompileArgs),
    Seen(seen::SeenArgs),
}

/// Sites and their rules, those that save the most fetches first.
///
/// A rule saves a fetch for each URL that it moves to the page of its cluster (its good observations). A site is placed
/// by the sum of its rules; a URL that several rules move counts for each of them.
#[derive(Args, Debug)]
struct ListArgs {
    #[command(flatten)]
    rules: RulesDir,
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

/// How rules are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Text for people.
    #[default]
    Text,
    /// One rule a line.
    Jsonl,
}

/// All that is known of a rule or of the rules of a site: scope, operations, evidence, example pairs, what would stop it.
#[derive(Args, Debug)]
struct ShowArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// Ids of rules, or sites.
    #[arg(value_name = "ID|SITE", required = true)]
    names: Vec<String>,
}

/// Disables a rule, with a reason, in overrides.jsonl beside the rules.
///
/// It stays disabled when the rules are learned again into the same folder, or with `learn --overrides`: the id of a
/// rule is a hash of its site, scope and operations.
#[derive(Args, Debug)]
struct DisableArgs {
    #[command(flatten)]
    named: Named,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Enables a disabled rule again.
#[derive(Args, Debug)]
struct EnableArgs {
    #[command(flatten)]
    named: Named,
}

#[derive(Args, Debug)]
struct Named {
    /// Folder that `undust learn` wrote.
    #[arg(long, value_name = "DIR")]
    rules: PathBuf,
    /// Id of the rule; `look-ups` for the seen members and look-ups of --site, `*` for all that was learned of it.
    #[arg(value_name = "ID")]
    rule: String,
    /// The site, where the id alone does not tell.
    #[arg(long)]
    site: Option<String>,
}

/// Runs the job.
pub fn run(args: RulesArgs) -> Result<(), Failure> {
    match args.what {
        What::List(args) => list(args),
        What::Show(args) => show(args),
        What::Disable(args) => disable(args),
        What::Enable(args) => enable(args),
        What::Diff(args) => diff::run(args),
        What::Compile(args) => compile::run(args),
        What::Seen(args) => seen::run(args),
    }
}

/// Saved fetches of a site, by its rules.
fn saved(site: &SiteRules) -> u64 {
    site.rules.iter().map(|rule| rule.evidence.good).sum()
}

fn list(args: ListArgs) -> Result<(), Failure> {
    let file = args.rules.read()?;
    let mut sites: Vec<&SiteRules> = file.sites.iter().collect();
    sites.sort_by_key(|site| Reverse(saved(site)));
    let shown = if args.sites == 0 { sites.len() } else { args.sites.min(sites.len()) };
    let (mut text, mut lines) = (Page::default(), Vec::new());
    for site in &sites[..shown] {
        let mut rules: Vec<(usize, &Rule)> = (1..).zip(&site.rules).collect();
        rules.sort_by_key(|(_, rule)| Reverse(rule.evidence.good));
        let most = if args.per_site == 0 { rules.len() } else { args.per_site.min(rules.len()) };
        if args.output == Output::Text {
            site_line(&mut text, &file, site);
        }
        for (order, rule) in &rules[..most] {
            let disabled = file.overrides.reason(&site.site, &rule.id);
            match args.output {
                Output::Text => {
                    let mark = disabled.map_or(String::new(), |reason| format!("  DISABLED: {reason}"));
                    let _ = writeln!(text, "  {} {}{mark}", rule.id, rule_text(rule));
                }
                Output::Jsonl => lines.push(Listed { site: &site.site, order: *order, disabled, rule }),
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
        Output::Text => print(&text),
        Output::Jsonl => json_lines(&lines).map_err(Failure::stdout),
    }
}

/// A line of `rules list --output jsonl`.
#[derive(Serialize)]
struct Listed<'a> {
    site: &'a str,
    /// Its place in the order in which the rules of the site fire, from 1.
    order: usize,
    /// Why it is disabled.
    disabled: Option<&'a str>,
    #[serde(flatten)]
    rule: &'a Rule,
}

fn site_line(page: &mut Page, file: &RuleFile, site: &SiteRules) {
    let mut text = String::new();
    let noun = if site.hosts.len() == 1 { "host" } else { "hosts" };
    let _ =
        write!(text, "{}: {} saved, {} rules, {} {noun}", site.site, saved(site), site.rules.len(), site.hosts.len());
    let (seen, aliases) = (site.seen.len(), site.aliases.len());
    let spans: usize = site.local.iter().map(|local| local.pages.len()).sum();
    if seen + aliases + spans > 0 {
        let _ = write!(text, ", {seen} seen members, {aliases} look-ups, {spans} spans");
    }
    if let Some(reason) = file.overrides.reason(&site.site, WHOLE_SITE) {
        let _ = write!(text, ", DISABLED: {reason}");
    } else if let Some(reason) = file.overrides.reason(&site.site, LOOK_UPS) {
        let _ = write!(text, ", look-ups DISABLED: {reason}");
    }
    let _ = writeln!(page, "{text}");
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
    let _ = writeln!(text, "  stopped by: {}", stops(rule).join("; "));
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

fn disable(args: DisableArgs) -> Result<(), Failure> {
    if args.reason.trim().is_empty() {
        return Err(Failure::usage("--reason is empty; say why the rule is disabled"));
    }
    let (site, rule) = (args.named.site()?, &args.named.rule);
    let path = overrides_file(&args.named.rules)?;
    let mut overrides = read_overrides(&path)?;
    overrides.disable(&site, rule, &args.reason);
    write_overrides(&path, &overrides)?;
    say(format!("{rule} of {site} is disabled: {}", path.display()));
    Ok(())
}

fn enable(args: EnableArgs) -> Result<(), Failure> {
    let path = overrides_file(&args.named.rules)?;
    let mut overrides = read_overrides(&path)?;
    let rule = &args.named.rule;
    let sites: Vec<String> = overrides
        .iter()
        .filter(|entry| entry.rule == *rule && args.named.site.as_ref().is_none_or(|site| *site == entry.site))
        .map(|entry| entry.site)
        .collect();
    let [site] = sites.as_slice() else {
        let text = match sites.is_empty() {
            true => format!("{rule}: not disabled; {} lists what is", path.display()),
            false => format!("{rule}: disabled for {} sites; name one with --site", sites.len()),
        };
        return Err(Failure::usage(text));
    };
    overrides.enable(site, rule);
    write_overrides(&path, &overrides)?;
    say(format!("{rule} of {site} is enabled: {}", path.display()));
    Ok(())
}

impl Named {
    /// The site of the rule; refused where there is none or more than one.
    fn site(&self) -> Result<String, Failure> {
        let file = RuleFile::open(&self.rules, true)?;
        let names = |site: &&SiteRules| match self.rule.as_str() {
            LOOK_UPS | WHOLE_SITE => self.site.is_some(),
            id => site.rules.iter().any(|rule| rule.id == id),
        };
        let asked = |site: &&SiteRules| self.site.as_ref().is_none_or(|name| *name == site.site);
        let found: Vec<&SiteRules> = file.sites.iter().filter(names).filter(asked).collect();
        match found.as_slice() {
            [site] => Ok(site.site.clone()),
            [] if matches!(self.rule.as_str(), LOOK_UPS | WHOLE_SITE) => {
                Err(Failure::usage(format!("{}: name a site of these rules with --site", self.rule)))
            }
            [] => Err(Failure::usage(format!("{}: no such rule; `undust rules list` shows them", self.rule))),
            _ => Err(Failure::usage(format!("{}: a rule of {} sites; name one with --site", self.rule, found.len()))),
        }
    }
}

/// Text on standard output.
fn print(text: &Page) -> Result<(), Failure> {
    print_page(text).map_err(Failure::stdout)
}
