//! Learned sites outlive a run that was lost: what `--resume` takes up (design, section 7).
//!
//! What is learned of a site depends on the input and the parameters alone, so a site that was learned once need not be
//! learned again. Reading, sampling and the proof are repeated. The module knows no files: `jobs` joins it to `io`.

use super::sample::Cut;
use super::types::{Flow, LearnedSite, RunError, Shared, SourceError};
use crate::site::Training;
use std::sync::Arc;
use timely::dataflow::operators::core::{Inspect, Map, OkErr};

/// Sites that are learned for good.
pub trait Journal: Send + Sync + std::fmt::Debug {
    /// What an earlier run learned of the site.
    ///
    /// # Errors
    /// What reading it back says.
    fn finished(&self, site: &str) -> Result<Option<LearnedSite>, SourceError>;

    /// Keeps what was learned of a site.
    ///
    /// # Errors
    /// What writing says.
    fn keep(&self, site: &LearnedSite) -> Result<(), SourceError>;
}

/// Training sets of sites.
type Open<'scope> = Flow<'scope, (Training, Option<Cut>)>;

/// A site that may be learned already.
pub(super) trait TakeUp<'scope> {
    /// Those that are to be learned, and those that are learned.
    fn take_up(self, shared: &Arc<Shared>) -> (Open<'scope>, Flow<'scope, LearnedSite>);
}

impl<'scope> TakeUp<'scope> for Open<'scope> {
    fn take_up(self, shared: &Arc<Shared>) -> (Open<'scope>, Flow<'scope, LearnedSite>) {
        let shared = shared.clone();
        let (open, finished): (Open<'scope>, Flow<'scope, Box<LearnedSite>>) = self.ok_err(move |(training, cut)| {
            let found = shared.journal.as_ref().map_or(Ok(None), |journal| journal.finished(&training.site));
            let found = found.unwrap_or_else(|error| {
                shared.fail(RunError::Journal(error));
                None
            });
            found.map_or(Ok((training, cut)), |learned| Err(Box::new(learned)))
        });
        (open, finished.map(|learned| *learned))
    }
}

/// Learned sites on their way.
pub(super) trait Keep<'scope> {
    /// Keeps each in the journal, if there is one.
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
