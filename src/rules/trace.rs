//! Steps from one URL to its canonical URL.

use super::platforms::Recognised;
use super::{Constraint, Rule};
use crate::url::{Key, Pairs};
use serde::Serialize;

/// One step of a [`Trace`](super::explain::Trace).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum TraceStep<'r> {
    /// Not a URL undust works on: it is returned unchanged.
    Invalid {
        /// Reason.
        reason: String,
    },
    /// Syntax-based normalization (RFC 3986, sections 6.2.2 and 6.2.3).
    Normal {
        /// The normal form.
        url: String,
    },
    /// The site of the origin.
    Site {
        /// Scheme, host and port, with user information where there is some.
        origin: String,
        /// The site; `None` where no site has the origin, or more than one: the normal form is canonical.
        site: Option<String>,
        /// No record of the site has the origin, a host of its domain: only extended rules act.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        unseen: bool,
        /// Programs that the site runs.
        #[serde(skip_serializing_if = "<[Recognised]>::is_empty")]
        platforms: &'r [Recognised],
    },
    /// The fragment was left out: pages of the site do not differ by it.
    Fragment {
        /// The URL without it.
        url: String,
    },
    /// The URL tokenized into keys; absent keys are not listed.
    Keys {
        /// Key and value, in the order of the URL.
        keys: Vec<(String, String)>,
    },
    /// A rule was tried.
    Rule {
        /// Its place among the rules of the site, from 0.
        index: usize,
        /// The rule.
        rule: &'r Rule,
        /// Its result.
        outcome: RuleOutcome,
    },
    /// A rule is excepted for the page that the rules lead to: it is left out in the following steps.
    Exception {
        /// The URL that the rules make.
        page: String,
        /// Id of the rule; `*` for all rules.
        rule: String,
    },
    /// A learned look-up decided.
    Alias {
        /// The reduced URL.
        from: String,
        /// The page.
        to: String,
    },
    /// The result of the rules is not its own canonical URL: they act on it once more.
    Again {
        /// The result of the rules.
        url: String,
    },
    /// An invariant does not hold for the result of the rules: the normal form is canonical.
    Refused {
        /// The result of the rules.
        url: String,
        /// The invariant.
        invariant: String,
    },
    /// The canonical URL.
    Canonical {
        /// The URL.
        url: String,
    },
}

/// Result of trying a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum RuleOutcome {
    /// The rule fired.
    Fired {
        /// The keys whose value changed, in the order of the operations.
        changes: Vec<Change>,
    },
    /// A constraint does not hold.
    Stopped {
        /// The first such constraint.
        constraint: Constraint,
        /// Value of its key; `None` is the absent key.
        found: Option<String>,
    },
    /// A rule between forms met a key that its source does not have.
    OtherKey {
        /// The first such key.
        key: String,
    },
    /// The constraints hold and the operations change nothing.
    NoChange,
    /// A value would not be valid where the rule writes it.
    Unfit {
        /// Reason.
        reason: String,
    },
}

/// A key that a rule changed; `None` is the absent key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The key.
    pub key: String,
    /// Its value before.
    pub before: Option<String>,
    /// Its value after.
    pub after: Option<String>,
}

impl RuleOutcome {
    /// Outcome of a rule that fired: the keys that it changed, those that it names first.
    pub(super) fn fired(rule: &Rule, before: &Pairs<'_>, after: &Pairs<'_>) -> RuleOutcome {
        let named = rule.operations.iter().filter_map(|(key, _)| Key::parse(key));
        let keys = named.chain(before.keys().chain(after.keys()).cloned());
        let value =
            |pairs: &Pairs<'_>, key: &Key| pairs.get(key).map(|value| String::from_utf8_lossy(value).into_owned());
        let mut changes: Vec<Change> = Vec::new();
        for key in keys.filter(|key| before.get(key) != after.get(key)) {
            let change = Change { key: key.to_string(), before: value(before, &key), after: value(after, &key) };
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
        RuleOutcome::Fired { changes }
    }

    /// A mirror rule fired.
    pub(super) fn moved(before: &[u8], after: &[u8]) -> RuleOutcome {
        let url = |url: &[u8]| Some(String::from_utf8_lossy(url).into_owned());
        RuleOutcome::Fired { changes: vec![Change { key: "url".into(), before: url(before), after: url(after) }] }
    }
}
