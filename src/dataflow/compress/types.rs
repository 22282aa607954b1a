//! Arguments and results of the dataflows of `compress-index`.

use super::counts::Counts;
use super::sorter::SortedRows;
use crate::dataflow::failure::Failure;
use crate::dataflow::source::SourceError;
use crate::index::docmap::MapError;
use crate::index::remap::ListCounts;
use crate::index::{CiffError, DocMap, Fault, Policy};
use crate::runtime::workers::WorkersError;
use crate::spill::{Scratch, SpillError};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Parameters and resources of a run.
#[derive(Clone, Debug)]
pub struct Task {
    /// Choice of the surviving document of a group.
    pub policy: Policy,
    /// New ids in the order of canonical URLs (Silvestri, *Sorting Out the Document Identifier Assignment
    /// Problem*, ECIR 2007), documents without a URL last; else in the order of old ids.
    pub by_url: bool,
    /// Postings and lengths of duplicates are added to those of their survivor; else only the survivor's
    /// own are kept.
    pub merge_tf: bool,
    /// Source of the URL of a document.
    pub urls_by: UrlsBy,
    /// The canonical URL of every document is returned.
    pub keep_urls: bool,
    /// Worker threads.
    pub workers: usize,
    /// Memory of all workers for rows, in bytes; never changes a result.
    pub memory: usize,
    /// Folder in which scratch folders are made.
    pub scratch: PathBuf,
}

/// Source of the URL of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UrlsBy {
    /// The document's name in the collection is its URL.
    #[default]
    Records,
    /// In lines `name<TAB>url`, by its name in the collection.
    Names,
    /// In lines `docid<TAB>url`, by its id in the index.
    Ids,
}

/// Function that fills its argument (cleared first) with the next piece; false at the end.
pub type Pull<T> = Box<dyn FnMut(&mut T) -> Result<bool, SourceError> + Send>;

/// Input, at the first worker of the first process.
pub trait Input: Send + Sync {
    /// Number of documents, by the header.
    fn docs(&self) -> u32;
    /// The document records.
    ///
    /// # Errors
    /// Errors of the input.
    fn documents(&self) -> Result<Pull<Documents>, SourceError>;
    /// The lines of the list of URLs, in blocks of whole lines; `None` where there is none.
    ///
    /// # Errors
    /// Errors of the input.
    fn url_lines(&self) -> Result<Option<Pull<Vec<u8>>>, SourceError>;
    /// The posting lists; after them the records, if requested.
    ///
    /// # Errors
    /// Errors of the input.
    fn lists(&self, records: bool) -> Result<Pull<ListBlock>, SourceError>;
}

/// Takes blocks of posting lists in order, compressed.
pub type Output = Box<dyn FnMut(&[u8]) -> Result<(), SourceError> + Send>;
/// Compresses a block on its own, in place.
pub type Pack = Arc<dyn Fn(&mut Vec<u8>) -> Result<(), SourceError> + Send + Sync>;

/// Document records in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Documents {
    /// Old ids and lengths.
    pub docs: Vec<(u32, u32)>,
    /// Names in the collection, a row each.
    pub names: super::rows::ByteRows,
}

/// Posting lists, or records, as they are in the file.
#[derive(Clone, Debug, Default)]
pub struct ListBlock {
    /// Offset of the block in the decompressed data.
    pub at: u64,
    /// Of a block of records: how many came before.
    pub records: Option<u32>,
    /// Whole messages, each after its length.
    pub bytes: Vec<u8>,
}

/// Result of a run, at the first process.
#[derive(Debug)]
pub struct Compressed {
    /// New id of each document.
    pub map: Arc<DocMap>,
    /// Counts of documents and URLs.
    pub counts: Counts,
    /// Counts of lists, and of records that were written with them.
    pub lists: ListCounts,
    /// The records were written after the lists; else [`super::records::write`] is to sort them.
    pub with_records: bool,
    /// With `keep_urls`: rows of old id (4 bytes, big-endian) and canonical URL, in order of ids.
    pub urls: Option<SortedRows>,
}

/// Error of a run.
#[derive(Debug, thiserror::Error)]
pub enum CompressError {
    /// Something could not be read or written.
    #[error("{0}")]
    Edge(SourceError),
    /// A posting list is wrong.
    #[error("posting lists and records, {0}")]
    List(CiffError),
    /// The record of a merged document cannot be written.
    #[error("document {new} of the new index: {source}")]
    Record {
        /// New id.
        new: u32,
        /// Reason.
        source: Fault,
    },
    /// One document has two URLs that are not the same page, and so two survivors.
    #[error(
        "the list of URLs gives one document two canonical URLs, in lines {line} and {other}: two survivors claim it; \
         leave one of the lines"
    )]
    TwoUrls {
        /// A line, from 1.
        line: u64,
        /// A later line.
        other: u64,
    },
    /// No line of the list of URLs names a document.
    #[error(
        "none of the {lines} lines of the list of URLs names a document of the index; their first column is to hold \
         {expected}"
    )]
    NoUrls {
        /// Lines read.
        lines: u64,
        /// Expected contents of the first column, and the option to change it.
        expected: &'static str,
    },
    /// The grouping is at fault.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Spill to disk failed.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// The workers could not be started, or one of them panicked.
    #[error(transparent)]
    Workers(#[from] WorkersError),
}

/// State shared by the workers of a process.
#[derive(Debug)]
pub struct Shared {
    /// The spill folder.
    pub scratch: Arc<Scratch>,
    /// The first failure.
    pub failure: Failure<CompressError>,
}
