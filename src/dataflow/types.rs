//! Arguments and shared state of the dataflows; short names for their streams.
use crate::model::{RecordBatch, SiteBy};
use crate::rules::types::SiteRules;
use crate::runtime::mesh::Mesh;
use crate::runtime::progress::Progress;
use crate::runtime::workers::WorkersError;
use crate::site::Params;
use crate::site::held_out::{Counts, Limits};
use crate::site::profile::Profile;
use crate::spill::{Scratch, SpillError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::deal::Deal;
use super::failure::Failure;
use super::journal::Journal;
use super::sample::{Cut, SampleParams};

/// Times of the dataflows: epochs, counted from 0. A source makes an epoch of each batch.
pub type Epoch = u64;

/// A stream of `D` in vectors.
pub type Flow<'scope, D> = timely::dataflow::StreamVec<'scope, Epoch, D>;

/// A failure of a source, of its own type.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// The records of the run, which are read once a pass.
///
/// `dataflow` opens no files: `jobs` joins it to `io`, tests to records in memory.
pub trait Source: Send + Sync {
    /// Opens worker `index`'s part of the records, of `peers` parts; `pass` counts from 0. Each record is
    /// in exactly one part, and the parts together are the same records in every pass.
    ///
    /// # Errors
    /// Errors of the source.
    fn open(&self, index: usize, peers: usize, pass: usize) -> Result<Box<dyn Batches>, SourceError>;
}

/// A part of a [`Source`] that is being read.
pub trait Batches {
    /// Fills `batch` (cleared first) with the next records; `false` at the end.
    ///
    /// # Errors
    /// Errors of the source. Bad records are not errors: they are counted by the source.
    fn next_batch(&mut self, batch: &mut RecordBatch) -> Result<bool, SourceError>;
}

/// Parameters and resources of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Learning parameters.
    pub params: Params,
    /// Parameters of the sample.
    pub sample: SampleParams,
    /// Bounds on cross-fitting; `None` for no cross-fitting.
    pub held_out: Option<Limits>,
    /// How records are dealt to sites.
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
    pub deal: Deal,
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
            deal: Deal::default(),
            failure: Failure::new(mesh),
        }
    }

    /// [Records](Failure::record) a failure; workers that wait for sites of others learn of it.
    pub fn fail(&self, error: impl Into<RunError>) {
        self.failure.record(error);
        self.deal.wake();
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

/// Result of the first dataflow for one site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedSite {
    /// The rules that hold on the training records. They travel as the JSON of the rule file: it omits
    /// empty fields, which a format without field names cannot.
    #[serde(with = "as_json")]
    pub rules: SiteRules,
    /// Figures of the learning itself, by name.
    pub counts: BTreeMap<String, u64>,
    /// Cut of the sample, where the budget did not suffice for all candidates.
    pub cut: Option<Cut>,
    /// Distinct URLs that trained.
    pub trained: u64,
    /// Training URLs that came with two labels.
    pub conflicts: u64,
    /// Cross-fitted sums of the site; `None` where it was not cross-fitted.
    pub held_out: Option<Counts>,
    /// Profile of its training URLs, beside the rules.
    pub profile: Profile,
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
