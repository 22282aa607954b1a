//! Reports of a long job while it runs: progress on standard error, and the metrics file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use undust::io::{IoError, Rejects, ShardReader};
use undust::model::RecordBatch;
use undust::runtime::progress::{Progress, Reporter};

use crate::cluster::{ClusterArgs, part_of};
use crate::messages;
use crate::metrics::{self, MetricsError};
use crate::quiet::Quiet;

/// Options of jobs that may run for long.
#[derive(Args, Clone, Debug)]
pub struct Watched {
    /// Writes counters of the run to FILE as Prometheus text, replaced as a whole every ten seconds and at
    /// the end: records, bytes, rejects, sites, stage, memory. A FILE that is there is replaced only where
    /// --metrics wrote it. Of several processes, each writes its own, FILE with its index before the
    /// extension.
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
}

impl Watched {
    /// The counters of a job on one process; the metrics file, if any, is written for the first time.
    /// `results`: the folder of the results, in which it may not be.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn begin(&self, command: &'static str, results: Option<&Path>) -> Result<Arc<Progress>, MetricsError> {
        begin(self.metrics.as_deref(), command, results)
    }

    /// Begins as [`begin`](Self::begin) does, for a job that may run on several processes.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn begin_on(
        &self,
        cluster: Option<&ClusterArgs>,
        command: &'static str,
        results: Option<&Path>,
    ) -> Result<Arc<Progress>, MetricsError> {
        let path = self.metrics.as_ref().map(|path| match cluster {
            Some(cluster) => part_of(path, cluster.process()),
            None => path.clone(),
        });
        begin(path.as_deref(), command, results)
    }
}

fn begin(path: Option<&Path>, command: &'static str, results: Option<&Path>) -> Result<Arc<Progress>, MetricsError> {
    let progress = Arc::new(Progress::default());
    let Some(path) = path else { return Ok(progress) };
    if let Some(results) = results {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let real = |path: &Path| path.canonicalize().ok();
        if real(folder).is_some_and(|folder| Some(folder) == real(results)) {
            return Err(MetricsError::AmongResults(path.to_owned(), results.to_owned()));
        }
    }
    metrics::start(path, command, progress.clone())?;
    Ok(progress)
}

/// The next batch of a reader, counted; false at the end of the shard, where rejects may still have
/// come.
///
/// # Errors
/// Errors of [`ShardReader::next_batch`].
pub fn next_batch(
    reader: &mut ShardReader,
    batch: &mut RecordBatch,
    rejects: &mut Rejects,
    progress: &Progress,
) -> Result<bool, IoError> {
    let before = rejects.total();
    let more = reader.next_batch(batch, rejects)?;
    progress.reject(rejects.total() - before);
    if more {
        progress.add(batch.len(), batch.byte_len());
    }
    Ok(more)
}

/// Reports progress on standard error until it is dropped, unless the job is to be quiet.
pub fn report(progress: &Arc<Progress>, quiet: Quiet) -> Option<Reporter> {
    (!quiet.is_set()).then(|| Reporter::start(progress.clone(), messages::draws(), messages::report))
}
