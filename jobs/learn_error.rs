//! Failure of `learn` and `prove`.

use super::cluster::ClusterError;
use super::exit::Exit;
use super::failure::Failure;
use super::metrics::MetricsError;
use std::error::Error;
use std::path::PathBuf;
use undust::dataflow::RunError;
use undust::io::IoError;
use undust::runtime::workers::WorkersError;

/// Failure of `learn` or `prove`.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// Arguments that do not go together.
    #[error("{0}")]
    Usage(String),
    /// More lines were rejected than allowed; outputs are written, `_SUCCESS` is not.
    #[error(
        "{rejected} of {lines} lines were rejected, more than --max-rejects allows: see rejects.jsonl in {}; the result \
         is not marked as whole", out.display()
    )]
    Rejects {
        /// Rejected lines.
        rejected: u64,
        /// All lines.
        lines: u64,
        /// Folder of the sample.
        out: PathBuf,
    },
    /// No record has a label, or is of a site of the rules to prove; nothing is written.
    #[error("{0}")]
    NoEvidence(String),
    /// The processes of the run did not connect, or lost each other.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The run failed.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

impl LearnError {
    /// The failure with its exit code.
    pub fn into_failure(self) -> Failure {
        let exit = match &self {
            LearnError::Failed(_) | LearnError::NoEvidence(_) => Exit::Failed,
            LearnError::Usage(_) => Exit::Usage,
            LearnError::Cluster(error) => error.exit(),
            LearnError::Rejects { .. } => Exit::TooManyRejects,
        };
        Failure::new(exit, self)
    }
}

impl From<RunError> for LearnError {
    fn from(error: RunError) -> LearnError {
        match error {
            RunError::Source(error) => LearnError::Failed(error),
            RunError::Workers(WorkersError::Peer(error)) => ClusterError::Mesh(error).into(),
            error => LearnError::Failed(Box::new(error)),
        }
    }
}

impl From<MetricsError> for LearnError {
    fn from(error: MetricsError) -> LearnError {
        LearnError::Usage(error.to_string())
    }
}

impl From<IoError> for LearnError {
    fn from(error: IoError) -> LearnError {
        LearnError::Failed(Box::new(error))
    }
}
