//! Result of learning one site.

use crate::model::Count;
use crate::rules::types::SiteRules;
use std::collections::BTreeMap;

/// Result of learning one site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The rules that hold.
    pub rules: SiteRules,
    /// Counts of the stages, for the summary.
    pub counts: BTreeMap<Count, u64>,
}
