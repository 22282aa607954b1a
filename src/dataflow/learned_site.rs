//! Result of learning one site, and the store in which it survives a lost run.

use super::sample::BudgetBounds;
use super::source::SourceError;
use crate::model::Count;
use crate::rules::types::SiteRules;
use crate::site::held_out::Counts;
use crate::site::profile::Profile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of the first dataflow for one site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedSite {
    /// The rules that hold on the training records. They travel as the JSON of the rule file: it omits
    /// empty fields, which a format without field names cannot.
    #[serde(with = "as_json")]
    pub rules: SiteRules,
    /// Counts of the stages of learning.
    pub counts: BTreeMap<Count, u64>,
    /// Bounds of the sample, where the budget did not suffice for all candidates.
    #[serde(rename = "cut")]
    pub bounds: Option<BudgetBounds>,
    /// Distinct URLs that trained.
    pub trained: u64,
    /// Training URLs that came with two labels.
    pub conflicts: u64,
    /// Cross-fitted sums of the site; `None` where it was not cross-fitted.
    pub held_out: Option<Counts>,
    /// Profile of its training URLs, beside the rules.
    pub profile: Profile,
}

/// Store of learned sites.
pub trait Journal: Send + Sync + std::fmt::Debug {
    /// The result of an earlier run for the site.
    ///
    /// # Errors
    /// Errors of reading it back.
    fn finished(&self, site: &str) -> Result<Option<LearnedSite>, SourceError>;

    /// Stores the result for a site.
    ///
    /// # Errors
    /// Errors of writing.
    fn keep(&self, site: &LearnedSite) -> Result<(), SourceError>;
}

/// Rules inside another format.
mod as_json {
    use crate::rules::types::SiteRules;
    use serde::{Deserialize, Deserializer, Serializer, de, ser};

    pub(super) fn serialize<S: Serializer>(rules: &SiteRules, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&serde_json::to_string(rules).map_err(ser::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SiteRules, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(de::Error::custom)
    }
}
