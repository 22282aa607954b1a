//! Rules for other systems.
//!
//! A rule becomes a short list of [`Rewrite`]s: a regular expression over the whole URL, and what it is
//! replaced with. Each is anchored to the hosts of its site, carries the scope of its rule as
//! look-aheads, and acts once; together, in order, they are the rule. They are written in the part of
//! the language that Java, Python and PCRE share, and read the *safe syntax* of a URL (RFC 3986,
//! sections 6.2.2 and 6.2.3), which every one of these systems makes by itself.
//!
//! A rule that a target cannot express is left out and listed with its reason: never approximated into
//! a wider rule. Narrower than undust, on purpose: only hosts that the rules name; URLs with more than
//! 64 parameters, with a repeat of a parameter beyond the third, with 23 path segments or more, or, for
//! rules on parts of the path, with path parameters are left as they are.
//!
//! | module | contents |
//! |---|---|
//! | [`pattern`] | constraints of a scope as look-aheads |
//! | [`rewrite`] | operations of an open rule as rewrites |
//! | [`closed`] | a rule between forms as one rewrite |
//! | [`context`] | the rules of a site that a target gets |
//! | [`dependencies`] | dependencies between rules |
//! | [`kept`] | share of the savings that an export keeps |
//! | [`xml`] | common parts of nutch and heritrix |
//! | the others | one format each |

mod clearurls;
mod closed;
mod context;
mod csv;
mod dependencies;
mod heritrix;
mod json_rules;
mod kept;
mod nginx;
mod nutch;
mod pattern;
mod pywb;
mod rewrite;
mod xml;
mod yandex;

use super::explain::{constraint_text, pattern_text};
use super::overrides::{LOOK_UPS, Override};
use super::types::{Rule, SiteRules};
use crate::model::shown;
use context::{Claims, Context};
pub use kept::Kept;
use pattern::Space;
pub use rewrite::{Piece, Rewrite};

/// A system that rules can be written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `regex-normalize.xml` of Apache Nutch, also read by StormCrawler.
    Nutch,
    /// `rules.yaml` of pywb: `url_normalize`, on keys in SURT form.
    Pywb,
    /// Provider JSON of ClearURLs.
    ClearUrls,
    /// `Clean-param` lines of robots.txt.
    YandexCleanParam,
    /// `map` blocks of nginx.
    Nginx,
    /// `RegexRule` beans of Heritrix 3.
    Heritrix,
    /// Ordered rules with their scopes in JSON, for programs (`docs/json-rules.md`).
    JsonRules,
    /// A table of all rules, for people and spreadsheets.
    Csv,
}

/// A rule that the target cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The site.
    pub site: String,
    /// Id of the rule, or [`LOOK_UPS`].
    pub rule: String,
    /// The rule in readable form.
    pub text: String,
    /// Reason.
    pub reason: String,
}

impl LeftOut {
    fn of(site: &SiteRules, rule: &Rule, reason: String) -> LeftOut {
        LeftOut { site: site.site.clone(), rule: rule.id.clone(), text: pattern_text(rule), reason }
    }

    /// An entry for the tables of a site, where it has some.
    fn look_ups(site: &SiteRules) -> Option<LeftOut> {
        let aliases = site.aliases.len();
        let spans: usize = site.local.iter().map(|local| local.pages.len()).sum();
        (!site.aliases.is_empty() || !site.local.is_empty()).then(|| LeftOut {
            site: site.site.clone(),
            rule: LOOK_UPS.to_owned(),
            text: format!("{aliases} look-ups and {spans} value ranges"),
            reason: "tables of single URLs, not rules".to_owned(),
        })
    }

    /// The override that disables it: a rule set with all of these acts as the export.
    pub fn as_override(&self) -> Override {
        Override { site: self.site.clone(), rule: self.rule.clone(), reason: format!("not exported: {}", self.reason) }
    }
}

/// Selection of the sites and the target of an export.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'s> {
    /// The system.
    pub target: Target,
    /// Names of the sites; none for all.
    pub only: &'s [String],
    /// URLs on which the kept share is counted; without them it is taken from the evidence of the rules.
    pub urls: Option<&'s [Box<[u8]>]>,
}

/// Result of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The file.
    pub text: String,
    /// Rules in it.
    pub rules: u64,
    /// Rules left out, in the order of the rule file.
    pub left_out: Vec<LeftOut>,
    /// Share of the savings that it keeps.
    pub kept: Kept,
}

/// One rule in the form of a target.
#[derive(Debug)]
struct Written<'a, T> {
    rule: &'a Rule,
    form: T,
}

/// A site with its written rules.
#[derive(Debug)]
struct Site<'a, T> {
    site: &'a SiteRules,
    origins: Vec<&'a str>,
    rules: Vec<Written<'a, T>>,
}

/// Writes the rules of `sites` (sorted by site, as a rule file is) for `target`. Pure; the same rules
/// give the same text.
///
/// Keys and values are written as URLs in normal form have them, except in the table, which shows those
/// of the rule file.
pub fn export(sites: &[SiteRules], target: Target) -> Export {
    export_some(sites, Selection { target, only: &[], urls: None })
}

/// Writes the rules of some of `sites`, as [`export`] does. All sites are needed, since an origin that
/// two of them have is left alone.
pub fn export_some(sites: &[SiteRules], selection: Selection<'_>) -> Export {
    if selection.target == Target::Csv {
        return csv::export(sites, selection);
    }
    let ascii: Vec<SiteRules> = sites.iter().cloned().map(SiteRules::into_ascii).collect();
    match selection.target {
        Target::Nutch => rewrites(&ascii, selection, nutch::of, nutch::text),
        Target::Heritrix => rewrites(&ascii, selection, nutch::of, heritrix::text),
        Target::Nginx => rewrites(&ascii, selection, nginx::of, nginx::text),
        Target::Pywb => rewrites(&ascii, selection, pywb::of, pywb::text),
        Target::ClearUrls => rewrites(&ascii, selection, clearurls::of, clearurls::text),
        Target::YandexCleanParam => rewrites(&ascii, selection, yandex::of, yandex::text),
        Target::JsonRules => json_rules::export(&ascii, selection),
        Target::Csv => unreachable!("returned above"),
    }
}

impl Selection<'_> {
    fn has(&self, site: &SiteRules) -> bool {
        self.only.is_empty() || self.only.contains(&site.site)
    }

    /// Share of the rules of `sites` that is exported.
    fn kept(&self, sites: &[SiteRules], left_out: &[LeftOut]) -> Kept {
        match self.urls {
            Some(urls) => Kept::on_urls(sites, |site| self.has(site), left_out, urls),
            None => Kept::by_evidence(sites.iter().filter(|site| self.has(site)), left_out),
        }
    }
}

/// Writes each rule, by its place in the site, with `one` and the file with `all`; rules that `one`
/// refuses are left out, and so are the rules that [need](dependencies::needs) them.
fn rewrites<'a, T>(
    sites: &'a [SiteRules],
    selection: Selection<'_>,
    one: impl Fn(&Context<'a>, usize) -> Result<T, String>,
    all: impl Fn(&[Site<'a, T>], &[String]) -> String,
) -> Export {
    let (mut left_out, mut written) = (Vec::new(), Vec::new());
    let claims = Claims::of(sites, if selection.target == Target::Pywb { Space::Surt } else { Space::Url });
    for site in sites.iter().filter(|site| selection.has(site)) {
        let context = Context { site, origins: claims.own(site) };
        let mut rules = Vec::new();
        for (rule, form) in site.rules.iter().zip(context.forms(&one)) {
            match form {
                Ok(form) => rules.push(Written { rule, form }),
                Err(reason) => left_out.push(LeftOut::of(site, rule, reason)),
            }
        }
        left_out.extend(LeftOut::look_ups(site));
        if !rules.is_empty() {
            written.push(Site { site, origins: context.origins, rules });
        }
    }
    let kept = selection.kept(sites, &left_out);
    let rules = count(&written) as u64;
    let head = head(written.len(), rules, &kept, &left_out);
    Export { text: all(&written, &head), rules, left_out, kept }
}

/// The rewrites that Nutch, StormCrawler and Heritrix get for each rule of a site that shares no
/// origin; `None` where it is left out.
#[cfg(test)]
pub(super) fn rewrites_of(site: &SiteRules) -> Vec<Option<Vec<Rewrite>>> {
    let context = Context { site, origins: site.origins.iter().map(String::as_str).collect() };
    context.forms(|context, at| nutch::of(context, at)).into_iter().map(Result::ok).collect()
}

/// The first lines of every file: contents, kept share, rules left out with reasons. [`command`] goes
/// with them.
fn head(sites: usize, rules: u64, kept: &Kept, left_out: &[LeftOut]) -> Vec<String> {
    let sites = if sites == 1 { "1 site".to_owned() } else { format!("{sites} sites") };
    let what = format!(
        "{rules} rules of {sites}, written by undust {}. Expects URLs in safe syntax (RFC 3986, 6.2.2 and 6.2.3); order \
         matters.",
        env!("CARGO_PKG_VERSION")
    );
    let lines = [what, kept.text()].into_iter().chain(kept::left_out_lines(left_out));
    lines.map(|line| comment(&line)).collect()
}

/// The head as comments behind `#`, with the command in the second line.
fn commented(head: &[String], format: &str) -> String {
    let command = command(format);
    let lines = head[..1].iter().chain([&command]).chain(&head[1..]);
    lines.map(|line| format!("# {line}\n")).collect()
}

/// Command that makes a file of this format again.
fn command(format: &str) -> String {
    format!("undust export --rules DIR --to {format}")
}

/// Longest comment, in characters: 3,600 bytes in UTF-8, since nginx ends at a comment of more than
/// 4,090.
const LONGEST_COMMENT: usize = 900;

/// A line of text for people, for the comments of all formats.
fn comment(text: &str) -> String {
    shown::within(text, LONGEST_COMMENT)
}

/// Rules written.
fn count<T>(sites: &[Site<'_, T>]) -> usize {
    sites.iter().map(|site| site.rules.len()).sum()
}

/// A readable line about a rule, for [`comment`].
fn about(site: &SiteRules, rule: &Rule) -> String {
    format!("{} {} {}", site.site, rule.id, super::explain::rule_text(rule))
}

/// The reason for a constraint that a target cannot express.
fn no_constraint(constraint: &super::types::Constraint) -> String {
    format!("the condition that {}", constraint_text(constraint))
}
