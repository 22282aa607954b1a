//! Selection of the rules of a site that a target gets.

use super::dependencies::{moves_section, needs};
use super::pattern::{Space, surt_host};
use crate::rules::origins;
use crate::rules::types::{Rule, SECTION, SiteRules};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Reason why rules of paths are left out where
/// [`Tokens::extends_paths`](crate::rules::Tokens::extends_paths).
pub const EXTENDED_PATHS: &str =
    "paths of this site go on in queries, end in a number or word that is a key, or have numbers inside their segments";

/// Why rules are left out that depend on names with digits where
/// [`Tokens::name_families`](crate::rules::Tokens::name_families).
pub const FAMILIES: &str = "parameters of this site are known by families of names";

/// Why rules are left out that depend on values with ends: [`Tokens::value_ends`](crate::rules::Tokens::value_ends).
pub const VALUE_ENDS: &str = "the values of parameters of this site have parts that are keys";

/// Number of sites with each origin, or each host in SURT form: undust leaves an origin of two sites
/// alone.
pub struct HostIndex {
    space: Space,
    sites: HashMap<String, usize, FixedState>,
}

impl HostIndex {
    /// Counts the origins of all sites, as this space distinguishes them.
    pub fn of(sites: &[SiteRules], space: Space) -> HostIndex {
        let mut host_index = HostIndex { space, sites: HashMap::default() };
        for site in sites {
            let mut keys: Vec<String> = site.origins.iter().map(|origin| host_index.key(origin)).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                *host_index.sites.entry(key).or_default() += 1;
            }
        }
        host_index
    }

    /// The origins that no other site has.
    pub fn own<'a>(&self, site: &'a SiteRules) -> Vec<&'a str> {
        site.origins.iter().map(String::as_str).filter(|origin| self.sites[&self.key(origin)] == 1).collect()
    }

    fn key(&self, origin: &str) -> String {
        match self.space {
            Space::Url => origin.to_owned(),
            Space::Surt => surt_host(origins::parts(origin).1),
        }
    }
}

/// Site data that the export of its rules needs.
pub struct Context<'a> {
    pub site: &'a SiteRules,
    /// Origins that this site alone has.
    pub origins: Vec<&'a str>,
}

impl<'a> Context<'a> {
    /// The rule at this place.
    pub fn rule(&self, at: usize) -> &'a Rule {
        &self.site.rules[at]
    }

    /// Each rule of the site as `one` writes it, or the reason why the target does not get it.
    pub fn forms<T>(&self, one: impl Fn(&Context<'a>, usize) -> Result<T, String>) -> Vec<Result<T, String>> {
        let form = |(at, rule)| self.refuses(rule).map_or_else(|| one(self, at), Err);
        let mut forms: Vec<Result<T, String>> = self.site.rules.iter().enumerate().map(form).collect();
        self.refuse_dependent(&mut forms);
        forms
    }

    /// Leaves out the rules that would merge URLs which undust keeps apart, since an earlier one is left
    /// out or moves URLs to another section. Whether a rule stays depends on earlier rules alone, so one
    /// pass is enough.
    fn refuse_dependent<T>(&self, forms: &mut [Result<T, String>]) {
        for at in 0..forms.len() {
            let rule = self.rule(at);
            let tests =
                rule.scope.iter().filter(|constraint| constraint.key == SECTION).map(|constraint| &constraint.test);
            let tests: Vec<_> = tests.collect();
            let why = self.site.rules[..at].iter().zip(&forms[..at]).find_map(|(before, form)| match form {
                Err(_) if needs(rule, before) => {
                    Some("a rule before it is left out, without which it would merge other URLs")
                }
                Ok(_) if tests.iter().any(|test| moves_section(&self.site.tokens, before, test)) => {
                    Some("a rule before it changes the first directory, which its condition asks")
                }
                _ => None,
            });
            if let Some(why) = why.filter(|_| forms[at].is_ok()) {
                forms[at] = Err(why.to_owned());
            }
        }
    }

    /// Reason why no target can express the rule.
    fn refuses(&self, rule: &Rule) -> Option<String> {
        let site = self.site;
        if site.tokens.published {
            return Some("a rule of the published method: it has keys of its own".to_owned());
        }
        // Of a parameter whose name holds a slash, a pattern cannot tell whether it is the path.
        let is_of_query = |key: &str| key.starts_with("query ") && !key.contains('/');
        let is_of_path = |key: &str| !is_of_query(key) && !["scheme", "host", SECTION].contains(&key);
        let mut keys = rule_keys(rule);
        if site.tokens.extends_paths() && (rule.closed || keys.any(|key| is_of_path(key))) {
            return Some(EXTENDED_PATHS.to_owned());
        }
        let mut keys = rule_keys(rule);
        let is_of_family = |key: &str| {
            let name = key.strip_prefix("query ").unwrap_or_default();
            key == "order" || name.contains(|c: char| c == '#' || c.is_ascii_digit())
        };
        if site.tokens.name_families && (rule.closed || keys.any(|key| is_of_family(key))) {
            return Some(FAMILIES.to_owned());
        }
        let (mut keys, ends) = (rule_keys(rule), site.tokenizer().value_ends);
        let is_value = |key: &str| key.strip_prefix("query ").is_some_and(|name| ends.has(name.as_bytes()));
        if !ends.is_empty() && (rule.closed || keys.any(|key| is_value(key))) {
            return Some(VALUE_ENDS.to_owned());
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

/// The keys that a rule asks for or changes.
fn rule_keys(rule: &Rule) -> impl Iterator<Item = &String> {
    rule.scope.iter().map(|constraint| &constraint.key).chain(rule.operations.iter().map(|(key, _)| key))
}
