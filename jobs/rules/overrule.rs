//! `undust rules disable` and `enable`: decisions of people about rules.

use std::path::{Path, PathBuf};

use clap::Args;
use undust::io::IoError;
use undust::io::output::FolderLock;
use undust::io::rules::{RuleFile, overrides_file, read_overrides, write_overrides};
use undust::model::shown::Page;
use undust::rules::SiteRules;
use undust::rules::explain::rule_text;
use undust::rules::overrides::{LOOK_UPS, Override, WHOLE_SITE};

use crate::failure::Failure;
use crate::messages::say;

/// Disables a rule, with a reason, in overrides.jsonl beside the rules, and prints it.
///
/// It stays disabled when the rules are learned again into the same folder, or with `learn
/// --overrides`: the id of a rule is a hash of its site, scope and operations.
#[derive(Args, Debug)]
pub struct DisableArgs {
    #[command(flatten)]
    named: Named,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Enables a disabled rule again, and prints it.
#[derive(Args, Debug)]
pub struct EnableArgs {
    #[command(flatten)]
    named: Named,
}

#[derive(Args, Debug)]
struct Named {
    /// Folder that `undust learn` wrote.
    #[arg(long, value_name = "DIR")]
    rules: PathBuf,
    /// Id of the rule, or its first digits, at least four; `look-ups` for the seen members and look-ups of
    /// --site, `*` for all that was learned of it.
    #[arg(value_name = "ID")]
    rule: String,
    /// The site, where the id alone is ambiguous.
    #[arg(long)]
    site: Option<String>,
}

/// Fewest digits of an id.
const MIN_DIGITS: usize = 4;
/// Most rules that are listed for an ambiguous id.
const MOST_NAMED: usize = 8;

/// Disables the rule.
pub fn disable(args: DisableArgs) -> Result<(), Failure> {
    if args.reason.trim().is_empty() {
        return Err(Failure::usage("--reason is empty; say why the rule is disabled"));
    }
    let file = RuleFile::open(&args.named.rules, true)?;
    let (site, rule) = args.named.find(candidates(&file.sites), "no such rule; `undust rules list` shows them")?;
    let path = overrides_file(&args.named.rules)?;
    let _lock = lock(&path)?;
    let mut overrides = read_overrides(&path)?;
    overrides.disable(&site, &rule, &args.reason);
    write_overrides(&path, &overrides)?;
    echo(&file.sites, &site, &rule, &format!("  DISABLED: {}", args.reason))?;
    say(format!("{rule} of {site} is disabled: {}", path.display()));
    Ok(())
}

/// Enables the rule.
pub fn enable(args: EnableArgs) -> Result<(), Failure> {
    let path = overrides_file(&args.named.rules)?;
    let _lock = lock(&path)?;
    let mut overrides = read_overrides(&path)?;
    let disabled = overrides.iter().map(|Override { site, rule, .. }| (site, rule));
    let (site, rule) = args.named.find(disabled, &format!("not disabled; {} lists what is", path.display()))?;
    let file = RuleFile::open(&args.named.rules, true)?;
    overrides.enable(&site, &rule);
    write_overrides(&path, &overrides)?;
    echo(&file.sites, &site, &rule, "")?;
    say(format!("{rule} of {site} is enabled: {}", path.display()));
    Ok(())
}

/// The lock of the folder that the overrides file is in: two changes at a time would lose one.
fn lock(overrides: &Path) -> Result<FolderLock, IoError> {
    FolderLock::take(overrides.parent().unwrap_or(Path::new("")))
}

/// Names that can be disabled: site and id of each rule, and the names for several.
fn candidates(sites: &[SiteRules]) -> impl Iterator<Item = (String, String)> + '_ {
    sites.iter().flat_map(|site| {
        let ids = site.rules.iter().map(|rule| rule.id.as_str());
        ids.chain([LOOK_UPS, WHOLE_SITE]).map(|id| (site.site.clone(), id.to_owned()))
    })
}

/// Prints the rule as `list` does; of other names, and of missing rules, the name.
fn echo(sites: &[SiteRules], site: &str, id: &str, mark: &str) -> Result<(), Failure> {
    let rules = sites.iter().filter(|found| found.site == site).flat_map(|found| &found.rules);
    let text = rules.filter(|rule| rule.id == id).map(|rule| format!("{id} {}{mark}", rule_text(rule))).next();
    let mut page = Page::default();
    let _ = writeln!(page, "{}", text.unwrap_or_else(|| format!("{id} of {site}{mark}")));
    super::output::print(&page)
}

impl Named {
    /// Site and id of the one of `candidates` that is named.
    fn find(
        &self,
        candidates: impl Iterator<Item = (String, String)>,
        none: &str,
    ) -> Result<(String, String), Failure> {
        let named = self.rule.as_str();
        let whole = matches!(named, LOOK_UPS | WHOLE_SITE);
        let asked = |site: &str| self.site.as_ref().is_none_or(|name| name == site);
        let mut found: Vec<(String, String)> = candidates
            .filter(|(site, id)| asked(site) && if whole { id == named } else { id.starts_with(named) })
            .collect();
        found.retain(|(_, id)| whole || !matches!(id.as_str(), LOOK_UPS | WHOLE_SITE));
        if found.iter().any(|(_, id)| id == named) {
            found.retain(|(_, id)| id == named);
        } else if named.len() < MIN_DIGITS {
            return Err(Failure::usage(format!("{named}: name at least {MIN_DIGITS} digits of the id of a rule")));
        }
        match found.as_slice() {
            [one] if !whole || self.site.is_some() => Ok(one.clone()),
            _ if whole => Err(Failure::usage(format!("{named}: name a site of these rules with --site ({none})"))),
            [] => Err(Failure::usage(format!("{named}: {none}"))),
            [first, rest @ ..] if rest.iter().all(|other| other.1 == first.1) => {
                let text = format!("{named}: the same id at {} sites; name one with --site", found.len());
                Err(Failure::usage(text))
            }
            _ => {
                let names: Vec<String> =
                    found.iter().take(MOST_NAMED).map(|(site, id)| format!("{id} of {site}")).collect();
                let more = found.len() - names.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let text =
                    format!("{named}: {} ids start so: {}{more}; give more digits", found.len(), names.join(", "));
                Err(Failure::usage(text))
            }
        }
    }
}
