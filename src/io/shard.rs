//! One shard: a file, or a part of one, that one worker reads.

use super::codec::Compression;
use super::detect::Format;
use super::error::IoError;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// A file, or a byte range of a plain file, that one worker reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Path that is opened.
    pub path: PathBuf,
    /// The file as the user gave it, for messages and rejects; `-` for standard input.
    pub name: String,
    /// Format of its lines.
    pub format: Format,
    /// Its compression.
    pub compression: Compression,
    /// The bytes whose lines this shard owns: those that start at or after the first and before the second.
    /// `None`: all. For Parquet: the row groups that it owns, by number.
    pub range: Option<(u64, u64)>,
    /// Scheme and host for the paths of an access log.
    pub base: Option<Arc<str>>,
    /// Bytes on disk, of the range where there is one: the total for progress.
    pub size: u64,
}

/// Opens the file of a shard, at its start.
pub(crate) fn open(shard: &Shard) -> Result<File, IoError> {
    File::open(&shard.path).map_err(IoError::read(&shard.path))
}
