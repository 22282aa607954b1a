//! The records of a run, as the dataflows read them.

use crate::model::RecordBatch;

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
