//! A comparison to run, and its errors.

use crate::baselines::name::Label;
use crate::baselines::outside::Predictions;
use crate::baselines::protocol::Plan;
use crate::baselines::{Name, Setup};
use crate::dataflow::source::SourceError;
use crate::model::SiteBy;
use crate::model::shown::within;
use crate::runtime::mesh::MeshError;
use crate::runtime::workers::WorkersError;
use std::sync::Arc;

/// Seconds since any moment; `dataflow` has no clock of its own.
pub type Clock = Arc<dyn Fn() -> f64 + Send + Sync>;

/// A comparison to run.
#[derive(Clone)]
pub struct Job {
    /// Methods and protocol.
    pub plan: Plan,
    /// How records are assigned to sites.
    pub site_by: SiteBy,
    /// Shards of the source; where each process has its own (`local`), of this one.
    pub shards: usize,
    /// The shards are this process's own: it reads all of them, and they come after those of the processes
    /// before it.
    pub local: bool,
    /// Worker threads.
    pub workers: usize,
    /// Most bytes of records and predictions.
    pub memory: usize,
    /// For the times.
    pub clock: Clock,
    /// Sites of which times are given: each must be among those of the records.
    pub timed: Vec<String>,
}

/// Error of a comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The records could not be read.
    #[error("{0}")]
    Source(SourceError),
    /// Too many records.
    #[error(
        "the records and predictions take more than {limit} bytes of memory: compare fewer sites at a time, or raise --memory"
    )]
    Memory {
        /// Allowed bytes.
        limit: usize,
    },
    /// Predictions of other records, which would score as a method that keeps all URLs.
    #[error(
        "predictions of {method}: none of its {urls} URLs is that of a labelled record; they must be those of the records, \
         byte for byte (--split writes them); the sites of the records: {sites}"
    )]
    Foreign {
        /// The outside method.
        method: Name,
        /// The seed that its file is for; `None`: all.
        seed: Option<u64>,
        /// Its URLs.
        urls: u64,
        /// Some sites of the records.
        sites: String,
    },
    /// A time of a site without records.
    #[error("a time on site {:?}, which no labelled record is of; the sites of the records: {sites}", within(site, 60))]
    NoSite {
        /// The site of the time.
        site: String,
        /// Some sites of the records.
        sites: String,
    },
    /// The workers could not be started, or one of them panicked.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// The results of the processes could not be gathered.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The result of another process cannot be read (different builds of one version?).
    #[error("what another process found cannot be read: {0}")]
    Note(#[from] serde_json::Error),
}

/// Predictions of a plan, by method and seed.
pub(super) fn predictions(setup: &Setup) -> impl Iterator<Item = (Label, Option<u64>, &Arc<Predictions>)> {
    setup.outside.iter().flat_map(|(label, outside)| outside.0.iter().map(|(seed, of)| (*label, *seed, of)))
}
