//! Journal of learned sites that survives a lost run: used by `--resume`.
//!
//! The rules of a site depend on the input and the parameters alone, so a site that was learned once
//! need not be learned again. Reading, sampling and the proof are repeated. The module opens no files:
//! `jobs` joins it to `io`.

use super::learned_site::LearnedSite;
use super::sample::BudgetBounds;
use super::types::{Flow, RunError, Shared};
use crate::site::Training;
use std::sync::Arc;
use timely::dataflow::operators::core::{Inspect, Map, OkErr};

/// Training sets of sites that are still to be learned.
type Open<'scope> = Flow<'scope, (Training, Option<BudgetBounds>)>;

/// Lookup of sites that may be learned already.
pub(super) trait TakeUp<'scope> {
    /// Splits training sets into those to be learned, and sites that are learned.
    fn take_up(self, shared: &Arc<Shared>) -> (Open<'scope>, Flow<'scope, LearnedSite>);
}

impl<'scope> TakeUp<'scope> for Open<'scope> {
    fn take_up(self, shared: &Arc<Shared>) -> (Open<'scope>, Flow<'scope, LearnedSite>) {
        let shared = shared.clone();
        let (open, finished): (Open<'scope>, Flow<'scope, Box<LearnedSite>>) =
            self.ok_err(move |(training, bounds)| {
                let found = shared.journal.as_ref().map_or(Ok(None), |journal| journal.finished(&training.site));
                let found = found.unwrap_or_else(|error| {
                    shared.fail(RunError::Journal(error));
                    None
                });
                found.map_or(Ok((training, bounds)), |learned| Err(Box::new(learned)))
            });
        (open, finished.map(|learned| *learned))
    }
}

/// Storage of learned sites as they pass.
pub(super) trait Keep<'scope> {
    /// Stores each in the journal, if there is one.
    fn keep_learned(self, shared: &Arc<Shared>) -> Flow<'scope, LearnedSite>;
}

impl<'scope> Keep<'scope> for Flow<'scope, LearnedSite> {
    fn keep_learned(self, shared: &Arc<Shared>) -> Flow<'scope, LearnedSite> {
        let shared = shared.clone();
        self.inspect(move |learned| {
            if let Some(Err(error)) = shared.journal.as_ref().map(|journal| journal.keep(learned)) {
                shared.fail(RunError::Journal(error));
            }
        })
    }
}
