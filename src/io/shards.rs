//! From the inputs that the user names to the list of shards, the units dealt to workers.
//!
//! An input is a file, a folder (its shards, one level deep, by extension, sorted by name), a glob, or
//! `-` for standard input, which is spooled to a file first because input is read twice. An existing
//! path is that path and not a glob. A file named twice is read once.
//!
//! Large plain files are cut into byte ranges of a fixed size, never by the number of workers: rejects
//! and offsets are then the same on any number of them.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::compression::{self, Compression};
pub use super::detect::Format;
use super::error::IoError;
pub use super::shard::Shard;
use super::{access_log, csv, detect, parquet};
use crate::temporary::TemporaryFile;

/// Options of the search for inputs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Forces the format of every file (`--format`); folders then give all their files, whatever the
    /// extension.
    pub format: Option<Format>,
    /// Plain files are cut into ranges of this size.
    pub range_bytes: u64,
    /// Scheme and host of the site that access logs are of, `https://example.org` (`--log-base`).
    pub log_base: Option<String>,
    /// Spool file of standard input ([`spool_stdin`]), if `-` is to be read.
    pub stdin: Option<PathBuf>,
}

impl Default for Options {
    /// Formats by extension, ranges of 16 MiB, no standard input.
    fn default() -> Self {
        Self { format: None, range_bytes: 16 << 20, log_base: None, stdin: None }
    }
}

/// The shards of `inputs`, in the order of the inputs, then by name, then by offset. Opens every file
/// once, so that an unreadable one is reported before work begins.
///
/// # Errors
/// [`IoError`] of the first input that is missing, holds no shard, matches nothing, cannot be read, is
/// no regular file or has no recognizable format.
pub fn find<P: AsRef<Path>>(inputs: &[P], options: &Options) -> Result<Vec<Shard>, IoError> {
    let mut shards = Vec::new();
    let mut seen = HashSet::with_hasher(FixedState::default());
    for input in inputs.iter().map(AsRef::as_ref) {
        if input == Path::new("-") {
            let path = options.stdin.as_ref().ok_or(IoError::NoStdin)?;
            if seen.insert(path.clone()) {
                add(path, input, options, &mut shards)?;
            }
            continue;
        }
        for path in expand(input, options)? {
            if !fs::metadata(&path).map_err(IoError::read(&path))?.is_file() {
                return Err(IoError::NotAFile { path });
            }
            let identity = fs::canonicalize(&path).map_err(IoError::read(&path))?;
            if seen.insert(identity) {
                add(&path, &path, options, &mut shards)?;
            }
        }
    }
    Ok(shards)
}

/// The files that one input names: itself, the shards of a folder, or what a glob matches.
///
/// # Errors
/// [`IoError`] where it is missing, holds no shard, matches nothing or cannot be read.
pub fn expand(input: &Path, options: &Options) -> Result<Vec<PathBuf>, IoError> {
    match fs::metadata(input) {
        Ok(meta) if meta.is_dir() => {
            let files = folder(input, options)?;
            if files.is_empty() { Err(IoError::NoShards { path: input.to_owned() }) } else { Ok(files) }
        }
        Ok(_) => Ok(vec![input.to_owned()]),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IoError::read(input)(error)),
        Err(error) => match input.to_str().filter(|text| text.contains(['*', '?', '['])) {
            Some(pattern) => matches(pattern, options),
            None => Err(IoError::read(input)(error)),
        },
    }
}

/// The shards in a folder, sorted by name.
fn folder(path: &Path, options: &Options) -> Result<Vec<PathBuf>, IoError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(IoError::read(path))? {
        let entry = entry.map_err(IoError::read(path))?;
        let file = entry.path();
        // Hidden files and marks such as `_SUCCESS` are no data, as everywhere around Hadoop.
        let is_hidden = matches!(entry.file_name().as_encoded_bytes(), [b'.' | b'_', ..]);
        // `Path::metadata` follows links; a broken link is reported, not skipped.
        if is_hidden || file.metadata().map_err(IoError::read(&file))?.is_dir() {
            continue;
        }
        if options.format.is_some() || Format::of_name(&file).is_some() || is_shard(&file)? {
            files.push(file);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// True where the first bytes of a file are those of records. A file in a compression that is not read
/// is a shard by its name: it is refused later, not skipped.
fn is_shard(file: &Path) -> Result<bool, IoError> {
    match detect::of_content(file, file) {
        Ok(format) => Ok(format.is_some()),
        Err(IoError::UnreadCompression { .. } | IoError::Utf16 { .. }) => {
            Ok(Format::of_name(&file.with_extension("")).is_some())
        }
        Err(error) => Err(error),
    }
}

/// The files that match a glob, and the shards of the folders that do, sorted by name.
fn matches(pattern: &str, options: &Options) -> Result<Vec<PathBuf>, IoError> {
    // As in a shell: wildcards stay within one folder and do not match hidden files.
    let rules =
        glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    let bad = |source| IoError::BadGlob { pattern: pattern.to_owned(), source };
    let mut files = Vec::new();
    for path in glob::glob_with(pattern, rules).map_err(bad)? {
        let path = path.map_err(|error| IoError::read(error.path().to_owned())(error.into()))?;
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"_"));
        if path.is_dir() {
            files.extend(folder(&path, options)?);
        } else if !is_hidden {
            files.push(path);
        }
    }
    files.sort_unstable();
    if files.is_empty() { Err(IoError::NoMatch { pattern: pattern.to_owned() }) } else { Ok(files) }
}

/// Adds the shards of one file.
fn add(path: &Path, name: &Path, options: &Options, shards: &mut Vec<Shard>) -> Result<(), IoError> {
    let format = match options.format {
        Some(format) => format,
        // Bytes have precedence over names, as with compression.
        None => match detect::of_content(path, name)?.or_else(|| Format::of_name(name)) {
            Some(format) => format,
            None if detect::first_line(path, name)?.is_none() => return Err(IoError::Empty { path: name.to_owned() }),
            None => return Err(IoError::UnknownFormat { path: name.to_owned() }),
        },
    };
    if options.format == Some(Format::Warc) {
        detect::check_archive(path, name)?;
    }
    if format == Format::Csv {
        csv::check_header(detect::first_line(path, name)?.as_deref(), name)?;
    }
    let base = options.log_base.as_deref().filter(|_| format == Format::AccessLog).map(Arc::from);
    if format == Format::AccessLog
        && base.is_none()
        && !detect::first_line(path, name)?.is_none_or(|line| access_log::names_host(&line))
    {
        return Err(IoError::NoLogBase { path: name.to_owned() });
    }
    let (file, compression) = compression::open_detected(path, name)?;
    let size = file.metadata().map_err(IoError::read(path))?.len();
    let whole = Shard {
        path: path.to_owned(),
        name: name.to_string_lossy().into_owned(),
        format,
        compression,
        range: None,
        base,
        size,
    };
    if format == Format::Parquet {
        return parquet::split(&whole, shards);
    }
    // A record of an archive may begin anywhere and contain bytes that look like another; so may one in
    // CSV, where line ends occur in quotes.
    if matches!(format, Format::Warc | Format::Csv) {
        shards.push(whole);
        return Ok(());
    }
    let step = options.range_bytes.max(1);
    if compression != Compression::Plain || whole.size <= step {
        shards.push(whole);
        return Ok(());
    }
    let mut start = 0;
    while start < whole.size {
        let end = start.saturating_add(step).min(whole.size);
        shards.push(Shard { range: Some((start, end)), size: end - start, ..whole.clone() });
        start = end;
    }
    Ok(())
}

/// Copies standard input unchanged to a file in `scratch`; the file is removed when the value is
/// dropped. Its path goes into [`Options::stdin`]; its first bytes determine its compression, and its
/// format where they can.
///
/// # Errors
/// [`IoError::Read`] or [`IoError::Write`].
pub fn spool_stdin(scratch: &Path) -> Result<TemporaryFile, IoError> {
    spool(io::stdin().lock(), scratch)
}

/// Copies any reader to a file in `scratch`, as [`spool_stdin`] does standard input.
///
/// # Errors
/// [`IoError::Read`] or [`IoError::Write`].
pub fn spool(mut from: impl Read, scratch: &Path) -> Result<TemporaryFile, IoError> {
    let (mut file, name) = TemporaryFile::within(scratch, "stdin-").map_err(IoError::write(scratch))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => io::Write::write_all(&mut file, &buffer[..n]).map_err(IoError::write(name.path()))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(IoError::Read { path: PathBuf::from("-"), source }),
        }
    }
    Ok(name)
}
