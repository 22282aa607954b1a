//! Failures of the run at its edge: the fact, the place, and a way out.

use std::io;
use std::path::{Path, PathBuf};

use super::codec::Compression;
use super::output::stamp::Stamp;

/// A failure to read an input or to write a result. Bad lines are no failures: see [`super::Rejects`].
#[derive(Debug, thiserror::Error)]
pub enum IoError {
    /// An input that does not exist.
    #[error("{path}: no such file or folder; check the name, or quote it if it is a glob")]
    NotFound {
        /// The name as the user wrote it.
        path: PathBuf,
    },
    /// A folder in which no file is a shard.
    #[error(
        "{path}: no shard in this folder (.tsv, .txt, .csv, .jsonl, .ndjson, .json, .cdx, .cdxj, .warc, .log, each also with \
         .gz or .zst, or .parquet); name the files themselves, or give --format to read every file in it"
    )]
    NoShards {
        /// The folder.
        path: PathBuf,
    },
    /// A glob that no file matches.
    #[error("{pattern}: no file matches this glob; check it, and quote it so that the shell leaves it alone")]
    NoMatch {
        /// The glob.
        pattern: String,
    },
    /// A glob that cannot be read.
    #[error("{pattern}: not a glob: {source}; escape special characters as [*], [?] or [[]")]
    BadGlob {
        /// The glob.
        pattern: String,
        /// Error of the pattern.
        source: glob::PatternError,
    },
    /// A file without a recognizable format.
    #[error(
        "{path}: neither its name nor its first bytes tell the format (.tsv, .txt, .csv, .jsonl, .ndjson, .json, .cdx, \
         .cdxj, .warc, .parquet, .log); give --format tsv, or jsonl, cdx, cdxj, warc, parquet, access-log, csv, crawl-log"
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// A file without a name that shows its format, and without a line.
    #[error("{}: empty, without a line to read; check what was to write it", in_words(path))]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A file in a compression that undust does not read.
    #[error(
        "{path}: compressed with {compression}, which undust does not read; decompress it on the way: `{command} | undust ... -`"
    )]
    UnreadCompression {
        /// The file; `-` for standard input.
        path: PathBuf,
        /// The compression.
        compression: &'static str,
        /// The command that decompresses it.
        command: String,
    },
    /// An archive that holds no answers.
    #[error("{path}: {what}; {way_out}")]
    UnreadArchive {
        /// The file.
        path: PathBuf,
        /// Kind of the archive.
        what: &'static str,
        /// Input to use instead.
        way_out: &'static str,
    },
    /// A CSV file whose header names no column `url`.
    #[error(
        "{path}: CSV whose first line names no column `url` (it reads: {header}); give it a header line, as url,cluster, with commas"
    )]
    NoUrlColumn {
        /// The file.
        path: PathBuf,
        /// The first line, or its beginning.
        header: String,
    },
    /// A CSV file whose header names a column twice.
    #[error("{path}: CSV whose first line names the column `{column}` twice; leave one of them out")]
    TwiceColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
    },
    /// Text in another encoding than UTF-8.
    #[error("{path}: text in UTF-16, and undust reads UTF-8; convert it on the way: `iconv -f UTF-16 -t UTF-8 {path}`")]
    Utf16 {
        /// The file; `-` for standard input.
        path: PathBuf,
    },
    /// An access log whose lines do not name their host.
    #[error("{path}: an access log, and its lines name no host; give --log-base https://HOST")]
    NoLogBase {
        /// The file.
        path: PathBuf,
    },
    /// A Parquet file that cannot be opened, or has no column of URLs.
    #[error("{path}: {reason}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Reason, and a way out.
        reason: String,
    },
    /// A pipe, socket or device: input is read twice, so it must be a file.
    #[error("{path}: not a regular file, and input is read twice; pipe it to standard input and name it -")]
    NotAFile {
        /// The pipe.
        path: PathBuf,
    },
    /// Standard input was named but not spooled to a file first.
    #[error("-: standard input cannot be read here, only files; save it to a file and name that")]
    NoStdin,
    /// The system refuses to open, read or list.
    #[error("{path}: cannot read: {source}; check that it is there and that you may read it")]
    Read {
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Compressed data that is cut short or damaged. The run fails: silently lost records would be wrong
    /// evidence.
    #[error(
        "{path}: {compression} data {what} at byte {position} ({decompressed} bytes decompressed): {source}; \
         fetch or compress the file again, or take it out of the input"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Its compression.
        compression: Compression,
        /// `cut short` or `damaged`.
        what: &'static str,
        /// Compressed bytes read when the damage was detected; it is at or before this byte, by at most a read
        /// buffer.
        position: u64,
        /// Decompressed bytes before the damage.
        decompressed: u64,
        /// Error of the decoder.
        source: io::Error,
    },
    /// The system refuses to create, write, flush or rename.
    #[error("{path}: cannot write: {source}; check the permissions and the free space, or write elsewhere")]
    Write {
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// An output path that is a symbolic link to nothing.
    #[error("{path}: a symbolic link to a folder that does not exist; make that folder, or name another")]
    DanglingLink {
        /// The link.
        path: PathBuf,
    },
    /// An output path that is a file.
    #[error("{path}: not a folder; name a folder that is empty or does not exist yet")]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// An output folder that is not empty.
    #[error(
        "{path}: not empty (it holds {entry}); name another folder, give --overwrite to replace an \
         earlier result, or --resume to go on with a run that ended early"
    )]
    NotEmpty {
        /// The folder.
        path: PathBuf,
        /// The first entry by name.
        entry: String,
    },
    /// An output folder with a file that no run of undust wrote.
    #[error(
        "{path}: holds {entry}, which undust did not write, so nothing in it is replaced; remove it or name another folder"
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The first such entry by name.
        entry: String,
    },
    /// The lock of a folder, or the folder, was replaced while it was held.
    #[error(
        "{path}: it or its lock was removed while this run wrote into it, so another run may have written there too; run \
         again"
    )]
    LockLost {
        /// The folder.
        path: PathBuf,
    },
    /// `--resume` on a result that is whole.
    #[error("{path}: this result is complete, there is nothing to resume; give --overwrite to make it again")]
    Complete {
        /// The folder.
        path: PathBuf,
    },
    /// A result without `_SUCCESS`.
    #[error(
        "{path}: no _SUCCESS in it: the run that wrote it failed, was stopped or is still going; \
         run it again, or give --allow-partial to read what is there"
    )]
    Incomplete {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that another process is changing.
    #[error("{path}: in use by {holder}: wait until it has ended, or name another folder")]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Text in the lock file about the other process.
        holder: String,
    },
    /// A lock file on a file system without locks.
    #[error(
        "{path}: this file system has no locks, and the file says that {holder} uses the folder; if that process has \
         ended, remove the file"
    )]
    NoLocks {
        /// The lock file.
        path: PathBuf,
        /// Text in the lock file about the other process.
        holder: String,
    },
    /// A file of a result that was changed after the run wrote it.
    #[error(
        "{path}: {found}, but _SUCCESS beside it says {expected}: the file was changed, or comes from another run; after a \
         deliberate change of rules run `undust rules seal` on the folder, else make the result again"
    )]
    Altered {
        /// The file.
        path: PathBuf,
        /// Stamp in `_SUCCESS`.
        expected: Stamp,
        /// Stamp of the file.
        found: Stamp,
    },
    /// A file of a result that is missing.
    #[error(
        "{path}: not there, but _SUCCESS beside it names it; copy the folder again, make the result again, or run `undust \
         rules seal` on the folder to go without the file"
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file beside a result that is no part of it.
    #[error(
        "{path}: _SUCCESS beside it does not name it, so it is no part of this result; remove it, or run `undust rules \
         seal` on the folder to make it one"
    )]
    Unnamed {
        /// The file.
        path: PathBuf,
    },
    /// A mark that cannot be read.
    #[error(
        "{path}: line {line} is not `xxh3-128 bytes name`, sorted by name; copy the folder again, make the result again, or \
         run `undust rules seal` on the folder"
    )]
    BadMark {
        /// The mark.
        path: PathBuf,
        /// The first faulty line, from 1.
        line: u64,
    },
}

/// The name of an input in messages.
fn in_words(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

impl IoError {
    /// A [`IoError::Write`] at `path`, for `map_err`.
    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path: path.into(), source }
    }

    /// A [`IoError::Read`] at `path`, for `map_err`; a missing file is [`IoError::NotFound`].
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path: path.into() },
            _ => Self::Read { path: path.into(), source },
        }
    }
}
