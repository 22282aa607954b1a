//! Rules, and the evidence for them.

use super::constraint::{Constraint, Test};
use super::operation::{Operation, Representative};
use serde::{Deserialize, Serialize};

/// What kind of evidence made a rule; decides nothing when it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One or more keys whose values do not matter.
    Ignore,
    /// Values of one key that mean the same.
    Classes,
    /// A string function of the catalogue.
    Function,
    /// A mapping between two forms (WWW10 5.2.2).
    Form,
    /// A form all of whose URLs are one page (login pages, soft 404s).
    ConstantPage,
    /// A directory that serves what another one serves.
    Mirror,
}

/// The evidence that let a rule pass, counted over the records it was proven on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Sum over groups of size of the largest cluster - 1.
    pub good: u64,
    /// Sum over groups of group size - size of the largest cluster.
    pub bad: u64,
    /// Pseudo-observations the kind of rule starts with (0 or 8; never in the whole-corpus proof).
    pub prior: u32,
    /// Pairs that fall together (WWW10 eq. 3).
    pub support_pairs: u64,
    /// Pairs among them from different clusters (WWW10 eq. 3).
    pub false_positive_pairs: u64,
    /// Wilson upper bound of bad / (good + bad + prior), in millionths.
    pub upper_bound_ppm: u32,
    /// Clusters that support the rule.
    pub clusters: u64,
    /// Up to three pairs of URLs of one cluster that the rule joins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<[String; 2]>,
}

/// One rewrite rule of one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// 16 hex digits, a hash of site, scope and operations: the same rule has the same id in every run.
    pub id: String,
    /// The kind of evidence that made the rule.
    pub kind: Kind,
    /// The source pattern; all constraints must hold.
    pub scope: Vec<Constraint>,
    /// One operation a touched key, sorted by key.
    pub operations: Vec<(String, Operation)>,
    /// True for a rule between forms: keys without an operation do not exist in the target, and the source
    /// has exactly the keys that the scope names. False: keys without an operation are kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// True for a rule that also acts on hosts of the site's registrable domain that no record has: see
    /// [`SiteRules::extends_to`](super::SiteRules::extends_to).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extended: bool,
    /// True for a rule that acts before any evidence, by the word of the catalogue of platforms alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// Name of the line of that catalogue which it is an instance of, for example `phpbb-2/topic-session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Evidence of the proof.
    pub evidence: Evidence,
    /// Departures from WWW10 that made it, by name (for `compare`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub departures: Vec<String>,
}

impl Rule {
    /// A rule of kind [`Kind::Ignore`], not between forms, without evidence: the fields that most rules
    /// have in common.
    pub fn of(id: &str, scope: Vec<Constraint>, operations: Vec<(String, Operation)>) -> Rule {
        let (evidence, departures) = Default::default();
        let (closed, extended, provisional) = (false, false, false);
        let (id, kind, line) = (id.to_owned(), Kind::Ignore, None);
        Rule { id, kind, scope, operations, closed, extended, provisional, line, evidence, departures }
    }

    /// Calls `change` with the key of each value that the rule names, in the order of the rule, and the
    /// value.
    pub(in crate::rules) fn for_each_value(&mut self, mut change: impl FnMut(&str, &mut String)) {
        for Constraint { key, test } in &mut self.scope {
            match test {
                Test::Equals(value) => change(key, value),
                Test::OneOf(values) | Test::NoneOf(values) | Test::Not(values) => {
                    values.iter_mut().for_each(|value| change(key, value))
                }
                Test::Present | Test::Absent => {}
            }
        }
        for (key, operation) in &mut self.operations {
            match operation {
                Operation::Keep(value)
                | Operation::Ignore(Representative::WherePresent(value) | Representative::Everywhere(value)) => {
                    change(key, value);
                }
                Operation::Classes(pairs) => {
                    let values = pairs.iter_mut().flat_map(|(from, to)| [from, to]).flatten();
                    values.for_each(|value| change(key, value));
                }
                Operation::Ignore(Representative::LeftOut) | Operation::Apply(_) | Operation::Replace(_) => {}
            }
        }
    }
}
