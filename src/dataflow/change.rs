//! What the proof changes of a rule, and why.

use crate::rules::types::Rule;
use serde::{Deserialize, Serialize};

/// Reason why the proof withdrew or narrowed a rule. The names (kebab-case) are in `summary.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Too many of its marginal merges are wrong.
    Bound,
    /// Too many of its marginal merges are wrong among the records that did not train.
    BoundApart,
    /// The rules of the site join too many wrong pairs, and this one has most above its share.
    PairRate,
    /// After the last pass the site still failed.
    FellBack,
    /// Sections or values of it merged wrongly and were removed.
    Parts,
    /// One test on one key holds its wrong merges and became a condition.
    Test,
    /// The rule does what a withdrawn rule does, and took part in no other merge.
    Twin,
    /// The rule was provisional, and records contradict it.
    Contradicted,
}

impl Reason {
    /// Text for people.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Bound => "too many wrong merges",
            Reason::BoundApart => "too many wrong merges among the URLs that did not train",
            Reason::PairRate => "too many wrong pairs",
            Reason::FellBack => "the site still failed after the last pass",
            Reason::Parts => "without the sections or values that merged wrongly",
            Reason::Test => "with a condition that its wrong merges do not meet",
            Reason::Twin => "does what a withdrawn rule does, and showed nothing beside it",
            Reason::Contradicted => "provisional, and contradicted",
        }
    }
}

/// Change of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The rule is withdrawn.
    Withdraw(Reason),
    /// The rule is replaced by this one.
    Narrow(Reason, Box<Rule>),
}
