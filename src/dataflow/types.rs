//! What the dataflows are given and what they share; short names for their streams.
use crate::model::{RecordBatch, SiteBy};
use crate::rules::types::SiteRules;
use crate::runtime::mesh::{Cause, Shutdown};
use crate::runtime::progress::Progress;
use crate::runtime::workers::WorkersError;
use crate::site::Params;
use crate::site::held_out::{Counts, Limits};
use crate::site::profile::Profile;
use crate::spill::{Scratch, SpillError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::deal::Deal;
use super::journal::Journal;
use super::sample::{Cut, SampleParams};

/// Times of the dataflows: epochs, counted from 0. A source makes an epoch of each batch.
pub type Epoch = u64;

/// A stream of `D` in vectors.
pub type Flow<'scope, D> = timely::dataflow::StreamVec<'scope, Epoch, D>;

/// A failure of a source, as its owner made it.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// The records of the run, which are read once a pass.
///
/// `dataflow` knows no files: `jobs` joins it to `io`, tests to records in memory.
pub trait Source: Send + Sync {
    /// Opens worker `index`'s part of the records, of `peers` parts; `pass` counts from 0. Each record is in exactly
    /// one part, and the parts together are the same records in every pass.
    ///
    /// # Errors
    /// Whatever the source cannot go on from.
    fn open(&self, index: usize, peers: usize, pass: usize) -> Result<Box<dyn Batches>, SourceError>;
}

/// A part of a [`Source`] that is being read.
pub trait Batches {
    /// Fills `batch` (cleared first) with the next records; `false` at the end.
    ///
    /// # Errors
    /// Whatever the source cannot go on from. Bad records are not errors: they are counted by the source.
    fn next_batch(&mut self, batch: &mut RecordBatch) -> Result<bool, SourceError>;
}

/// Everything that decides what is learned, and what the run may use.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Learning parameters.
    pub params: Params,
    /// What trains.
    pub sample: SampleParams,
    /// Bounds on what is cross-fitted; nothing is where there are none.
    pub held_out: Option<Limits>,
    /// How records are dealt to sites.
    pub site_by: SiteBy,
    /// Rules of an earlier result by site: they decide between equals.
    pub previous: Arc<BTreeMap<String, Arc<SiteRules>>>,
    /// Worker threads.
    pub workers: usize,
    /// Memory of all workers together, in bytes; never changes a result.
    pub memory: usize,
    /// Folder in which scratch folders are made.
    pub scratch: PathBuf,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The records could not be read.
    #[error("{0}")]
    Source(SourceError),
    /// A learned site could not be kept for `--resume`.
    #[error("{0}")]
    Journal(SourceError),
    /// What did not fit the memory could not be kept on disk.
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

/// What the workers of a process share.
#[derive(Debug)]
pub struct Shared {
    /// The spill folder.
    pub scratch: Arc<Scratch>,
    /// Counters for the progress line.
    pub progress: Arc<Progress>,
    /// Sites that an earlier run of the same input and parameters has learned, and where those of this run are kept.
    pub journal: Option<Arc<dyn Journal>>,
    /// Sites that wait to be learned.
    pub deal: Deal,
    /// On several processes: this one's index, and what becomes of the run.
    pub shutdown: Option<(usize, Arc<Shutdown>)>,
    failed: AtomicBool,
    failure: Mutex<Option<RunError>>,
}

impl Shared {
    /// For a run that spills to `scratch`.
    pub fn new(scratch: Scratch, progress: Arc<Progress>) -> Shared {
        Shared {
            scratch: Arc::new(scratch),
            progress,
            journal: None,
            deal: Deal::default(),
            shutdown: None,
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// Keeps the first failure; sources stop at the next batch. On several processes the run ends here: the others
    /// could not be told in time through the dataflow.
    pub fn fail(&self, error: impl Into<RunError>) {
        let mut failure = self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        failure.get_or_insert(error.into());
        self.failed.store(true, Ordering::Release);
        drop(failure);
        if let Some((process, shutdown)) = &self.shutdown {
            shutdown.record(Cause::Failed { process: *process, reason: String::new() });
        }
    }

    /// True once something has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// The failure, if any.
    pub fn take_failure(&self) -> Option<RunError> {
        self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }
}

/// What the first dataflow makes of one site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedSite {
    /// The rules that hold on the training records. They travel as the JSON of the rule file: their format leaves out
    /// what is empty, which a format without names of fields cannot.
    #[serde(with = "as_json")]
    pub rules: SiteRules,
    /// Figures of the learning itself, by name.
    pub counts: BTreeMap<String, u64>,
    /// What of the candidates trained, where the budget did not suffice for all.
    pub cut: Option<Cut>,
    /// Distinct URLs that trained.
    pub trained: u64,
    /// Training URLs that came with two labels.
    pub conflicts: u64,
    /// Cross-fitted sums of the site; `None` where it was not cross-fitted.
    pub held_out: Option<Counts>,
    /// What its training URLs show beside the rules.
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
