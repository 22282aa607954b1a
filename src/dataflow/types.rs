//! Arguments and shared state of the dataflows; short names for their streams.

use super::source::SourceError;
use crate::model::SiteBy;
use crate::rules::types::SiteRules;
use crate::runtime::mesh::Mesh;
use crate::runtime::progress::Progress;
use crate::runtime::workers::WorkersError;
use crate::site::Params;
use crate::site::held_out::Limits;
use crate::spill::{Scratch, SpillError};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::failure::Failure;
use super::learned_site::Journal;
use super::sample::SampleParams;
use super::work_stealing::StealableSites;

/// Times of the dataflows: epochs, counted from 0. A source makes an epoch of each batch.
pub type Epoch = u64;

/// A stream of `D` in vectors.
pub type Flow<'scope, D> = timely::dataflow::StreamVec<'scope, Epoch, D>;

/// Parameters and resources of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Learning parameters.
    pub params: Params,
    /// Parameters of the sample.
    pub sample: SampleParams,
    /// Bounds on cross-fitting; `None` for no cross-fitting.
    pub held_out: Option<Limits>,
    /// How records are assigned to sites.
    pub site_by: SiteBy,
    /// Rules of an earlier result by site: preferences among equals.
    pub previous: Arc<BTreeMap<String, Arc<SiteRules>>>,
    /// Worker threads.
    pub workers: usize,
    /// Memory of all workers together, in bytes; never changes a result.
    pub memory: usize,
    /// Folder in which scratch folders are made.
    pub scratch: PathBuf,
}

/// Error of a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The records could not be read.
    #[error("{0}")]
    Source(SourceError),
    /// A learned site could not be kept for `--resume`.
    #[error("{0}")]
    Journal(SourceError),
    /// Spill to disk failed.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// The workers could not be started, or one of them panicked.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// A later pass met records that the first did not.
    #[error("the input changed while it was read: site {site:?} was not there in the first pass")]
    Changed {
        /// A site that is new.
        site: String,
    },
}

/// State shared by the workers of a process.
#[derive(Debug)]
pub struct Shared {
    /// The spill folder.
    pub scratch: Arc<Scratch>,
    /// Counters for the progress line.
    pub progress: Arc<Progress>,
    /// Store of the sites that this run, and earlier ones of the same input and parameters, have learned.
    pub journal: Option<Arc<dyn Journal>>,
    /// Sites to be learned.
    pub stealable: StealableSites,
    /// The first failure.
    failure: Failure<RunError>,
}

impl Shared {
    /// Shared state of a run that spills to `scratch`, with the processes of `mesh`.
    pub fn new(scratch: Scratch, progress: Arc<Progress>, mesh: Option<&Arc<Mesh>>) -> Shared {
        Shared {
            scratch: Arc::new(scratch),
            progress,
            journal: None,
            stealable: StealableSites::default(),
            failure: Failure::new(mesh),
        }
    }

    /// [Records](Failure::record) a failure; workers that wait for sites of others learn of it.
    pub fn fail(&self, error: impl Into<RunError>) {
        self.failure.record(error);
        self.stealable.activate_waiting();
    }

    /// True once something has failed.
    pub fn has_failed(&self) -> bool {
        self.failure.is_set()
    }

    /// # Errors
    /// The failure, if any.
    pub fn check(&self) -> Result<(), RunError> {
        self.failure.check()
    }
}
