//! Rules for other systems.
//!
//! A rule becomes a short list of [`Rewrite`]s: a regular expression over the whole URL, and what it is replaced with. Each
//! is anchored to the hosts of its site, carries the scope of its rule as look-aheads, and acts once; together, in
//! order, they are the rule. They are written in the part of the language that Java, Python and PCRE share, and read the
//! *safe syntax* of a URL (RFC 3986, sections 6.2.2 and 6.2.3), which every one of these systems makes by itself.
//!
//! What a target cannot express is left out and listed with its reason: never approximated into a wider rule. Narrower
//! than undust, on purpose: only hosts that the rules name; URLs with more than 64 parameters, with a repeat of a
//! parameter beyond the third, with 23 path segments or more, or, for rules on parts of the path, with path parameters
//! are left as they are.
//!
//! | module | knows |
//! |---|---|
//! | [`pattern`] | constraints of a scope as look-aheads |
//! | [`rewrite`] | operations of an open rule as rewrites |
//! | [`closed`] | a rule between forms as one rewrite |
//! | [`xml`] | what nutch and heritrix share |
//! | the others | one format each |

mod clearurls;
mod closed;
mod csv;
mod heritrix;
mod nginx;
mod nutch;
mod pattern;
mod pywb;
mod rewrite;
mod xml;
mod yandex;

use super::explain::{constraint_text, pattern_text};
use super::overrides::{LOOK_UPS, Override};
use super::types::{Rule, SECTION, SiteRules};
use crate::model::shown;
use foldhash::fast::FixedState;
pub use rewrite::{Piece, Rewrite};
use std::collections::HashMap;

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
    /// Why.
    pub reason: String,
}

impl LeftOut {
    /// As an override that disables it: a rule set with all of these is what the export says.
    pub fn as_override(&self) -> Override {
        Override { site: self.site.clone(), rule: self.rule.clone(), reason: format!("not exported: {}", self.reason) }
    }
}

/// What an export gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Export {
    /// The file.
    pub text: String,
    /// Rules in it.
    pub rules: u64,
    /// What is not in it, in the order of the rule file.
    pub left_out: Vec<LeftOut>,
}

/// One rule in the form of a target.
#[derive(Debug)]
struct Written<'a, T> {
    rule: &'a Rule,
    form: T,
}

/// A site with what of it was written.
#[derive(Debug)]
struct Site<'a, T> {
    site: &'a SiteRules,
    origins: Vec<&'a str>,
    rules: Vec<Written<'a, T>>,
}

/// Writes the rules of `sites` (sorted by site, as a rule file is) for `target`. Pure; the same rules give the same text.
///
/// Keys and values are written as URLs in normal form have them, but for the table, which shows what the rule file has.
pub fn export(sites: &[SiteRules], target: Target) -> Export {
    let ascii: Vec<SiteRules> = sites.iter().cloned().map(SiteRules::into_ascii).collect();
    match target {
        Target::Nutch => rewrites(&ascii, nutch::of, nutch::text),
        Target::Heritrix => rewrites(&ascii, nutch::of, heritrix::text),
        Target::Nginx => rewrites(&ascii, nginx::of, nginx::text),
        Target::Pywb => rewrites(&ascii, pywb::of, pywb::text),
        Target::ClearUrls => rewrites(&ascii, clearurls::of, clearurls::text),
        Target::YandexCleanParam => rewrites(&ascii, yandex::of, yandex::text),
        Target::Csv => csv::export(sites),
    }
}

/// Writes each rule with `one` and the whole with `all`; what `one` refuses is left out.
fn rewrites<'a, T>(
    sites: &'a [SiteRules],
    one: impl Fn(&Context<'a>, &'a Rule) -> Result<T, String>,
    all: impl Fn(&[Site<'a, T>]) -> String,
) -> Export {
    let mut out = Export::default();
    let mut written = Vec::new();
    let claims = claims(sites);
    for site in sites {
        let origins = site.origins.iter().map(String::as_str).filter(|origin| claims[origin] == 1).collect();
        let context = Context { site, origins };
        let mut rules = Vec::new();
        for rule in &site.rules {
            match context.refuses(rule).map_or_else(|| one(&context, rule), Err) {
                Ok(form) => rules.push(Written { rule, form }),
                Err(reason) => out.left_out.push(LeftOut {
                    site: site.site.clone(),
                    rule: rule.id.clone(),
                    text: pattern_text(rule),
                    reason,
                }),
            }
        }
        if !site.aliases.is_empty() || !site.local.is_empty() {
            let aliases = site.aliases.len();
            let spans: usize = site.local.iter().map(|local| local.pages.len()).sum();
            out.left_out.push(LeftOut {
                site: site.site.clone(),
                rule: LOOK_UPS.to_owned(),
                text: format!("{aliases} look-ups and {spans} value ranges"),
                reason: "tables of single URLs, not rules".to_owned(),
            });
        }
        out.rules += rules.len() as u64;
        if !rules.is_empty() {
            written.push(Site { site, origins: context.origins, rules });
        }
    }
    out.text = all(&written);
    out
}

/// The rewrites that Nutch, StormCrawler and Heritrix get for a rule that is alone on its site; none where it is left out.
#[cfg(test)]
pub(super) fn rewrites_alone(site: &SiteRules) -> Vec<Rewrite> {
    let context = Context { site, origins: site.origins.iter().map(String::as_str).collect() };
    let written = site.rules.iter().filter(|rule| context.refuses(rule).is_none());
    written.flat_map(|rule| nutch::of(&context, rule).unwrap_or_default()).collect()
}

/// How many sites have each origin: what two have, undust leaves alone.
fn claims(sites: &[SiteRules]) -> HashMap<&str, usize, FixedState> {
    let mut claims: HashMap<&str, usize, FixedState> = HashMap::default();
    for origin in sites.iter().flat_map(|site| &site.origins) {
        *claims.entry(origin.as_str()).or_default() += 1;
    }
    claims
}

/// What the rules of a site need to know of it.
struct Context<'a> {
    site: &'a SiteRules,
    /// Origins that this site alone has.
    origins: Vec<&'a str>,
}

impl Context<'_> {
    /// Why no target can express the rule.
    fn refuses(&self, rule: &Rule) -> Option<String> {
        let site = self.site;
        if site.tokens.published {
            return Some("a rule of the published method: it has keys of its own".to_owned());
        }
        let is_of_path = |key: &str| !(key.starts_with("query ") || ["scheme", "host", SECTION].contains(&key));
        let mut keys = rule.scope.iter().map(|c| &c.key).chain(rule.operations.iter().map(|(key, _)| key));
        let cuts = site.tokens.query_path || site.tokens.numbered_end;
        if cuts && (rule.closed || keys.any(|key| is_of_path(key))) {
            return Some("paths of this site go on in queries or end in numbered keys".to_owned());
        }
        let of_key = |key: &String| rule.operations.iter().filter(|(of, _)| of == key).count();
        if rule.operations.iter().any(|(key, _)| of_key(key) > 1) {
            return Some("two operations on one key".to_owned());
        }
        if self.origins.is_empty() {
            return Some("no origin belongs to this site alone".to_owned());
        }
        let excepted = site.exceptions.iter().filter(|e| e[1] == rule.id || e[1] == "*").count();
        if excepted > 0 {
            let noun = if excepted == 1 { "page" } else { "pages" };
            return Some(format!("it does not hold for {excepted} {noun}, which no pattern tells apart"));
        }
        None
    }
}

/// The comment every format starts with: what it is. [`command`] goes with it.
fn heading(sites: usize, rules: usize) -> String {
    let sites = if sites == 1 { "1 site".to_owned() } else { format!("{sites} sites") };
    format!(
        "{rules} rules of {sites}, written by undust {}. Expects URLs in safe syntax (RFC 3986, 6.2.2 and 6.2.3); order \
         matters.",
        env!("CARGO_PKG_VERSION")
    )
}

/// How to make a file of this format again.
fn command(format: &str) -> String {
    format!("undust export --rules DIR --to {format}")
}

/// Longest comment, in characters: 3,600 bytes in UTF-8, since nginx ends at a comment of more than 4,090.
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
