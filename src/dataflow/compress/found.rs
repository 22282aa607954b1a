//! Result of the dataflow over documents.

use super::counts::Counts;
use super::sorter::SortedRows;

/// Result of the first dataflow at the first worker of each process.
#[derive(Debug, Default)]
pub struct FirstResult {
    /// The survivor of each document.
    pub survivor_of: Vec<u32>,
    /// Survivors in the order of new ids, where they have one of their own.
    pub order: Vec<u32>,
    /// Counts of documents and URLs.
    pub counts: Counts,
    /// Old ids and canonical URLs, at the first process, where wanted.
    pub urls: Option<SortedRows>,
    /// True if the records are in the order of ids; set at the first worker of all, which reads them.
    pub ascending: bool,
}
