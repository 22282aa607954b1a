//! What learning one site results in.

use crate::rules::types::SiteRules;
use std::collections::BTreeMap;

/// Result of learning one site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The rules that hold.
    pub rules: SiteRules,
    /// Figures of the learning itself (stage, count), for the summary.
    pub counts: BTreeMap<String, u64>,
}

/// Stage under which rules are counted that were not taken for the canonical URLs of an earlier result.
pub const MOVES: &str = "rules that move too many URLs";
