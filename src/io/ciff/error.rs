//! Errors of reading, writing and verifying an index.

use crate::index::CiffError;
use crate::index::check::CheckError;
use crate::io::error::IoError;
use std::path::PathBuf;

/// Error of reading, writing or verifying an index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Error of the file itself.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Error in its contents.
    #[error("{path}: {source}")]
    Format {
        /// The file.
        path: PathBuf,
        /// Error with the byte offset in the decompressed data.
        source: CiffError,
    },
    /// The file is not the old index with its duplicates merged.
    #[error("{path}: {source} (a defect of undust; please report it); nothing was written under this name")]
    Unproved {
        /// The new file, by its final name.
        path: PathBuf,
        /// Difference of the two.
        source: CheckError,
    },
    /// A pipe or a device, where a file is needed.
    #[error("{path}: not a regular file, and {why}; name a file")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// Purpose of the file.
        why: &'static str,
    },
}
