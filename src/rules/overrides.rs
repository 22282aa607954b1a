//! Overrides: decisions of people about rules, in a file beside the rules that is kept when the rules
//! are learned again.
//!
//! One JSON object a line: `{"site":"example.com","rule":"16 hex digits","reason":"why"}`. The rule (by
//! its id), the look-ups of the site (`look-ups`: aliases and value ranges) or all learned rules
//! of the site (`*`) are disabled. An id is a hash of site, scope and operations
//! ([`rule_id`](super::file::rule_id)), so a rule that is learned again has its id again and stays
//! disabled. An override whose rule is gone has no effect and is kept: the rule may return.
//!
//! A disabled rule stays in the rule file with its evidence; it is removed when the rules are compiled
//! for applying.

use super::file::reason_in_line;
use super::types::SiteRules;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;

/// Name of the look-ups of a site in place of a rule's id.
pub const LOOK_UPS: &str = "look-ups";
/// Name of all learned rules of a site in place of a rule's id.
pub const WHOLE_SITE: &str = "*";

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The site.
    pub site: String,
    /// Id of the rule, [`LOOK_UPS`] or [`WHOLE_SITE`].
    pub rule: String,
    /// Reason; never empty.
    pub reason: String,
}

/// Error of reading an overrides file. Lines count from 1.
#[derive(Debug)]
pub enum OverridesError {
    /// A line is not an override.
    Line {
        /// The line.
        line: usize,
        /// Reason.
        why: String,
    },
    /// Two lines disable the same rule.
    Repeated {
        /// The second line.
        line: usize,
        /// The site.
        site: String,
        /// The rule.
        rule: String,
    },
}

impl fmt::Display for OverridesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OverridesError::Line { line, why } => write!(
                f,
                "line {line}: not an override ({why}); each line is {{\"site\":...,\"rule\":...,\"reason\":...}}: \
                 correct or remove it"
            ),
            OverridesError::Repeated { line, site, rule } => write!(
                f,
                "line {line}: rule {} of site {site:?} is disabled by an earlier line already; keep one of the two",
                rule.escape_debug()
            ),
        }
    }
}

impl Error for OverridesError {}

/// The disabled rules, with reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides(BTreeMap<(String, String), String>);

/// Counts of [`Overrides::apply`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disabled {
    /// Rules taken out.
    pub rules: u64,
    /// Sites whose look-ups were taken out.
    pub look_ups: u64,
    /// Overrides that name nothing in the rules.
    pub unmatched: u64,
}

impl Overrides {
    /// Reads the text of an overrides file; empty lines are skipped.
    ///
    /// # Errors
    /// [`OverridesError`] with the line and a way out; nothing of a faulty file is used.
    pub fn parse(text: &str) -> Result<Overrides, OverridesError> {
        let mut out = Overrides::default();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let faulty = |why: String| OverridesError::Line { line: number, why };
            let Override { site, rule, reason } =
                serde_json::from_str(line).map_err(|error| faulty(reason_in_line(&error)))?;
            if reason.trim().is_empty() {
                return Err(faulty("the reason is empty".to_owned()));
            }
            if out.0.insert((site.clone(), rule.clone()), reason).is_some() {
                return Err(OverridesError::Repeated { line: number, site, rule });
            }
        }
        Ok(out)
    }

    /// The text of the file, sorted by site and rule.
    pub fn text(&self) -> String {
        let line =
            |entry: Override| serde_json::to_string(&entry).expect("writing strings into memory cannot fail") + "\n";
        self.iter().map(line).collect()
    }

    /// All of them, sorted by site and rule.
    pub fn iter(&self) -> impl Iterator<Item = Override> {
        self.0.iter().map(|((site, rule), reason)| Override {
            site: site.clone(),
            rule: rule.clone(),
            reason: reason.clone(),
        })
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Disables a rule; an earlier reason is replaced.
    pub fn disable(&mut self, site: &str, rule: &str, reason: &str) {
        self.0.insert((site.to_owned(), rule.to_owned()), reason.to_owned());
    }

    /// Enables it again; false where it was not disabled.
    pub fn enable(&mut self, site: &str, rule: &str) -> bool {
        self.0.remove(&(site.to_owned(), rule.to_owned())).is_some()
    }

    /// The reason why a rule, or [`LOOK_UPS`], is disabled: by itself or with the whole site.
    pub fn reason(&self, site: &str, rule: &str) -> Option<&str> {
        let of = |rule: &str| self.0.get(&(site.to_owned(), rule.to_owned())).map(String::as_str);
        of(rule).or_else(|| of(WHOLE_SITE))
    }

    /// Removes the disabled rules from `sites`, and the look-ups of URLs that they wrote.
    pub fn apply(&self, sites: &mut [SiteRules]) -> Disabled {
        let mut done = Disabled::default();
        if self.is_empty() {
            return done;
        }
        let mut matched = BTreeSet::new();
        for site in sites {
            let before = site.rules.len();
            let of = |rule: &str| self.0.get_key_value(&(site.site.clone(), rule.to_owned())).map(|(key, _)| key);
            let (whole, look_ups) = (of(WHOLE_SITE), of(LOOK_UPS));
            matched.extend(site.rules.iter().filter_map(|rule| of(&rule.id)).chain(whole).chain(look_ups));
            let (whole, look_ups) = (whole.is_some(), look_ups.is_some());
            let mut rules = std::mem::take(&mut site.rules);
            rules.retain(|rule| !whole && self.reason(&site.site, &rule.id).is_none());
            site.rules = rules;
            done.rules += (before - site.rules.len()) as u64;
            site.forget_written();
            if whole || look_ups {
                done.look_ups += u64::from(!site.aliases.is_empty() || !site.local.is_empty());
                (site.aliases, site.local) = (Vec::new(), Vec::new());
            }
        }
        done.unmatched = (self.0.len() - matched.len()) as u64;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rule;

    fn site(name: &str, ids: &[&str]) -> SiteRules {
        let rule = |id: &&str| Rule::of(id, Vec::new(), Vec::new());
        SiteRules {
            site: name.to_owned(),
            rules: ids.iter().map(rule).collect(),
            aliases: vec![["http://a/1".to_owned(), "http://a/2".to_owned()]],
            ..SiteRules::default()
        }
    }

    #[test]
    fn look_ups_of_urls_that_a_disabled_rule_wrote_go_with_it() {
        let mut overrides = Overrides::default();
        overrides.disable("a", "2", "merges two shops");
        let mut sites = [site("a", &["1", "2"]), site("a", &["1", "2"])];
        for (site, id) in sites.iter_mut().zip(["1", "2"]) {
            site.written = vec![("http://a/2".to_owned(), vec![id.to_owned()])];
        }
        overrides.apply(&mut sites);
        assert_eq!(sites.map(|site| (site.aliases.len(), site.written.len())), [(1, 1), (0, 0)]);
    }

    #[test]
    fn what_is_disabled_goes_and_what_is_unknown_is_kept_for_later() {
        let mut overrides = Overrides::default();
        overrides.disable("a", "2", "merges two shops");
        overrides.disable("a", "9", "came and went");
        overrides.disable("b", WHOLE_SITE, "owner asked");
        overrides.disable("c", LOOK_UPS, "labels of one day");
        let mut sites = [site("a", &["1", "2"]), site("b", &["3"]), site("c", &["2"])];
        assert_eq!(overrides.apply(&mut sites), Disabled { rules: 2, look_ups: 2, unmatched: 1 });
        let left: Vec<(usize, usize)> = sites.iter().map(|s| (s.rules.len(), s.aliases.len())).collect();
        assert_eq!(left, [(1, 1), (0, 0), (1, 0)]);
        assert_eq!(overrides.reason("b", "3"), Some("owner asked"));
        assert_eq!(Overrides::parse(&overrides.text()).unwrap(), overrides);
        assert!(overrides.enable("a", "2") && !overrides.enable("a", "2"));
    }

    #[test]
    fn an_override_of_two_rules_counts_once() {
        let mut overrides = Overrides::default();
        overrides.disable("a", "1", "came twice");
        overrides.disable("a", WHOLE_SITE, "owner asked");
        overrides.disable("b", "1", "gone");
        let mut sites = [site("a", &["1", "1", WHOLE_SITE]), site("a", &["1"])];
        assert_eq!(overrides.apply(&mut sites), Disabled { rules: 4, look_ups: 2, unmatched: 1 });
    }

    #[test]
    fn faulty_files_are_refused_with_the_line() {
        let message = |text: &str| Overrides::parse(text).unwrap_err().to_string();
        let good = "{\"site\":\"a\",\"rule\":\"*\",\"reason\":\"r\"}\n";
        assert!(message(&format!("{good}\n{good}")).starts_with("line 3: rule * of site \"a\" is disabled"));
        assert!(message(&good.replace("\"r\"", "\" \"")).contains("the reason is empty"));
        assert!(message("x").starts_with("line 1: not an override (expected value at column 1);"));
        let two_lines = good.replace('*', "a\\nb");
        assert!(message(&two_lines.repeat(2)).starts_with("line 2: rule a\\nb of site"));
        assert!(message(&good.replace("reason", "why")).contains("missing field `reason`"));
    }
}
