//! State and counts of a comparison that its operators share.

use super::CompareError;
use crate::dataflow::failure::Failure;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicUsize;

/// The state of a run that the workers of a process share.
pub(super) struct CompareState {
    pub(super) failure: Failure<CompareError>,
    /// Bytes of records and predictions.
    pub(super) held: AtomicUsize,
}

/// Counts of records that take no part.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Totals {
    /// Records that are not absolute http or https URLs with a host.
    pub(super) invalid: u64,
    /// Records without a cluster.
    pub(super) unlabelled: u64,
}
