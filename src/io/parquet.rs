//! The columnar index of a crawl (Parquet): read by projection, a row group at a time.
//!
//! Columns, by name, each read only if it is there: `url` (must be); `fetch_status` or `status`;
//! `fetch_redirect` or `redirect`; `content_digest` or `digest`; `content_mime_detected`, then
//! `content_mime_type`, or `mime`; `url_host_private_domain`, then `url_host_registered_domain`, or
//! `site`, for the site; and what `undust clusters` writes: `cluster`, `canonical`, `title`, `simhash`,
//! `text`, `tokens`, `edits`, `size`.
//!
//! A row group that cannot be decoded is rejected from the fault on. Memory: one page a column (about a
//! megabyte), no column chunk over [`CHUNK_LIMIT`] bytes decoded, and a slice of [`SLICE`] rows.

use std::cell::Cell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use super::compression::Compression;
use super::error::IoError;
use super::limits::{BATCH_BYTES, BATCH_ROWS};
use super::mime;
use super::reason::{Reason, check_url};
use super::rejects::{LineLocation, Rejects};
use super::shard::Shard;
use crate::model::{DocumentKind, Facts, Fingerprint, Record, RecordBatch};

/// Rows decoded at a time.
const SLICE: usize = 8 << 10;
/// Most bytes of a decoded column chunk. Real ones hold a few tens of megabytes; larger ones are bombs.
const CHUNK_LIMIT: i64 = 1 << 30;

/// Meaning of a column; where a fact has two columns, the first has precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Url,
    Cluster,
    Site,
    RegisteredDomain,
    Status,
    Redirect,
    Digest,
    Mime,
    MimeType,
    Canonical,
    Title,
    Simhash,
    Text,
    Tokens,
    Edits,
    Size,
}

/// Number of kinds of columns.
const COLUMNS: usize = Column::Size as usize + 1;

impl Column {
    fn of(name: &str) -> Option<Column> {
        Some(match name {
            "url" => Self::Url,
            "cluster" => Self::Cluster,
            "url_host_private_domain" | "site" => Self::Site,
            "url_host_registered_domain" => Self::RegisteredDomain,
            "fetch_status" | "status" => Self::Status,
            "fetch_redirect" | "redirect" => Self::Redirect,
            "content_digest" | "digest" => Self::Digest,
            "content_mime_detected" | "mime" => Self::Mime,
            "content_mime_type" => Self::MimeType,
            "canonical" => Self::Canonical,
            "title" => Self::Title,
            "simhash" => Self::Simhash,
            "text" => Self::Text,
            "tokens" => Self::Tokens,
            "edits" => Self::Edits,
            "size" => Self::Size,
            _ => return None,
        })
    }
}

/// Cuts a file into shards of one row group each.
///
/// # Errors
/// [`IoError::Parquet`] where it is no Parquet file, or has no column of URLs.
pub(super) fn split(whole: &Shard, shards: &mut Vec<Shard>) -> Result<(), IoError> {
    let file = open(&whole.path, Path::new(&whole.name), whole.compression)?;
    for (at, group) in file.metadata().row_groups().iter().enumerate() {
        let size = u64::try_from(group.compressed_size()).unwrap_or(0);
        shards.push(Shard { range: Some((at as u64, at as u64 + 1)), size, ..whole.clone() });
    }
    Ok(())
}

fn open(path: &Path, name: &Path, compression: Compression) -> Result<SerializedFileReader<File>, IoError> {
    let failed = |reason: String| IoError::Parquet { path: name.to_owned(), reason };
    if compression != Compression::Plain {
        let reason = format!(
            "a Parquet file inside {compression}: its parts must be read in any order (they are compressed in themselves); \
             decompress it first"
        );
        return Err(failed(reason));
    }
    let file = File::open(path).map_err(IoError::read(path))?;
    let reader = guarded(|| SerializedFileReader::new(file))
        .map_err(|error| failed(format!("no Parquet file that can be read ({error}); fetch it again")))?;
    if columns(reader.metadata().file_metadata().schema_descr())[Column::Url as usize].is_none() {
        return Err(failed("no column `url` of strings; give a file with one".to_owned()));
    }
    Ok(reader)
}

/// Runs the library's decoders, which trust the lengths in a file: on damaged data they may panic;
/// that, too, loses the row group and not the run.
fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    DECODING.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    DECODING.set(false);
    done.unwrap_or_else(|_| Err(ParquetError::General("the decoder gave up on damaged data".to_owned())))
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// True on a thread that runs the library's decoders: a panic there is damaged data, which is counted,
/// and no defect for the panic hook of the program to report.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Positions of the columns that undust reads: flat ones of strings or whole numbers.
fn columns(schema: &SchemaDescriptor) -> [Option<usize>; COLUMNS] {
    let mut found = [None; COLUMNS];
    for (at, column) in schema.columns().iter().enumerate() {
        let flat = column.path().parts().len() == 1 && column.max_rep_level() == 0;
        let Some(kind) = Column::of(column.name()).filter(|_| flat) else { continue };
        let fits = match kind {
            Column::Status | Column::Tokens | Column::Edits | Column::Size => {
                matches!(column.physical_type(), Type::INT32 | Type::INT64)
            }
            _ => column.physical_type() == Type::BYTE_ARRAY,
        };
        if fits {
            found[kind as usize].get_or_insert(at);
        }
    }
    found
}

/// Reads the row groups of one shard, batch by batch.
pub(super) struct ParquetReader {
    shard: Shard,
    file: SerializedFileReader<File>,
    columns: [Option<usize>; COLUMNS],
    /// The next row group, and the one behind the last.
    next: u64,
    end: u64,
    open: Option<Group>,
    read: Arc<AtomicU64>,
}

/// A row group being read.
struct Group {
    number: u64,
    columns: Vec<Values>,
    left: usize,
}

/// A column being read.
struct Values {
    kind: Column,
    optional: bool,
    reader: Reader,
    levels: Vec<i16>,
}

enum Reader {
    Text(Box<ColumnReaderImpl<ByteArrayType>>, Vec<ByteArray>),
    Int(Box<ColumnReaderImpl<Int32Type>>, Vec<i32>),
    Long(Box<ColumnReaderImpl<Int64Type>>, Vec<i64>),
}

impl ParquetReader {
    /// Opens the row groups of a shard; see [`super::ShardReader::open`].
    pub(super) fn open(shard: &Shard, read: Arc<AtomicU64>) -> Result<Self, IoError> {
        let file = open(&shard.path, Path::new(&shard.name), shard.compression)?;
        let columns = columns(file.metadata().file_metadata().schema_descr());
        let groups = file.num_row_groups() as u64;
        let (next, end) = shard.range.unwrap_or((0, groups));
        Ok(Self { shard: shard.clone(), file, columns, next, end: end.min(groups), open: None, read })
    }

    /// See [`super::ShardReader::next_batch`].
    pub(super) fn next_batch(&mut self, batch: &mut RecordBatch, rejects: &mut Rejects) -> Result<bool, IoError> {
        batch.clear();
        while batch.is_empty() || (batch.len() + SLICE <= BATCH_ROWS && (batch.byte_len() as u64) < BATCH_BYTES) {
            if self.open.as_ref().is_none_or(|group| group.left == 0) {
                if self.next >= self.end {
                    return Ok(!batch.is_empty());
                }
                let number = self.next;
                self.next += 1;
                match guarded(|| self.begin(number)) {
                    Ok(group) => self.open = Some(group),
                    Err(error) => self.give_up(number, &error, rejects),
                }
                continue;
            }
            let Some(group) = &mut self.open else { continue };
            let (number, place) = (group.number, &self.shard.name);
            // Rows are counted from 1 within the group, whose number is used as the offset.
            let mut reject = |reason, row, url: &[u8]| {
                rejects.add(reason, LineLocation { file: place, offset: number, line: Some(row) }, url);
            };
            match guarded(|| group.slice(batch, &mut reject)) {
                Ok(rows) => rejects.saw(rows as u64),
                Err(error) => {
                    self.open = None;
                    self.give_up(number, &error, rejects);
                }
            }
        }
        Ok(true)
    }

    fn give_up(&self, number: u64, error: &ParquetError, rejects: &mut Rejects) {
        rejects.saw(1);
        let place = LineLocation { file: &self.shard.name, offset: number, line: Some(number + 1) };
        rejects.add(Reason::BrokenRowGroup, place, error.to_string().as_bytes());
    }

    fn begin(&self, number: u64) -> Result<Group, ParquetError> {
        let group = self.file.get_row_group(number as usize)?;
        let mut columns = Vec::new();
        for (kind, at) in self.columns.iter().enumerate().filter_map(|(kind, at)| Some((kind, (*at)?))) {
            let chunk = group.metadata().column(at);
            if chunk.uncompressed_size() > CHUNK_LIMIT {
                return Err(ParquetError::General(format!("column {at} holds over {CHUNK_LIMIT} bytes")));
            }
            let places =
                [chunk.data_page_offset(), chunk.compressed_size(), chunk.dictionary_page_offset().unwrap_or(0)];
            if places.iter().any(|&place| place < 0) {
                return Err(ParquetError::General(format!("column {at} is said to lie at a negative place")));
            }
            self.read.fetch_add(u64::try_from(chunk.compressed_size()).unwrap_or(0), Ordering::Relaxed);
            let optional = chunk.column_descr().max_def_level() > 0;
            let reader = match group.get_column_reader(at)? {
                ColumnReader::ByteArrayColumnReader(reader) => Reader::Text(Box::new(reader), Vec::new()),
                ColumnReader::Int32ColumnReader(reader) => Reader::Int(Box::new(reader), Vec::new()),
                ColumnReader::Int64ColumnReader(reader) => Reader::Long(Box::new(reader), Vec::new()),
                _ => continue,
            };
            columns.push(Values { kind: KINDS[kind], optional, reader, levels: Vec::new() });
        }
        let left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        Ok(Group { number, columns, left })
    }
}

/// The kinds in their order.
const KINDS: [Column; COLUMNS] = [
    Column::Url,
    Column::Cluster,
    Column::Site,
    Column::RegisteredDomain,
    Column::Status,
    Column::Redirect,
    Column::Digest,
    Column::Mime,
    Column::MimeType,
    Column::Canonical,
    Column::Title,
    Column::Simhash,
    Column::Text,
    Column::Tokens,
    Column::Edits,
    Column::Size,
];

impl Values {
    /// Decodes the next `rows` rows.
    fn fill(&mut self, rows: usize) -> Result<(), ParquetError> {
        self.levels.clear();
        let levels = self.optional.then_some(&mut self.levels);
        let read = match &mut self.reader {
            Reader::Text(reader, values) => {
                values.clear();
                reader.read_records(rows, levels, None, values)?
            }
            Reader::Int(reader, values) => {
                values.clear();
                reader.read_records(rows, levels, None, values)?
            }
            Reader::Long(reader, values) => {
                values.clear();
                reader.read_records(rows, levels, None, values)?
            }
        };
        if read.0 == rows { Ok(()) } else { Err(ParquetError::General(format!("{} of {rows} rows", read.0))) }
    }

    /// Skips the next `rows` rows.
    fn skip(&mut self, rows: usize) -> Result<(), ParquetError> {
        self.levels.clear();
        let skipped = match &mut self.reader {
            Reader::Text(reader, values) => {
                values.clear();
                reader.skip_records(rows)?
            }
            Reader::Int(reader, values) => {
                values.clear();
                reader.skip_records(rows)?
            }
            Reader::Long(reader, values) => {
                values.clear();
                reader.skip_records(rows)?
            }
        };
        if skipped == rows { Ok(()) } else { Err(ParquetError::General(format!("{skipped} of {rows} rows"))) }
    }

    /// Number of values of the rows decoded last.
    fn len(&self) -> usize {
        match &self.reader {
            Reader::Text(_, values) => values.len(),
            Reader::Int(_, values) => values.len(),
            Reader::Long(_, values) => values.len(),
        }
    }

    /// True where each of the `rows` rows decoded last has a text that is not empty.
    fn is_whole(&self, rows: usize) -> bool {
        match &self.reader {
            Reader::Text(_, values) => values.len() == rows && values.iter().all(|value| !value.data().is_empty()),
            _ => false,
        }
    }

    fn text(&self, at: usize) -> &[u8] {
        match &self.reader {
            Reader::Text(_, values) => values[at].data(),
            _ => b"",
        }
    }

    fn number(&self, at: usize) -> i64 {
        match &self.reader {
            Reader::Int(_, values) => values[at].into(),
            Reader::Long(_, values) => values[at],
            Reader::Text(..) => 0,
        }
    }
}

impl Group {
    /// Adds the next rows to `batch`, and returns their number.
    fn slice(
        &mut self,
        batch: &mut RecordBatch,
        reject: &mut impl FnMut(Reason, u64, &[u8]),
    ) -> Result<usize, ParquetError> {
        let rows = self.left.min(SLICE);
        // Columns come in the order of their kinds, so a first choice is known before the second is read.
        let mut whole = None;
        for column in &mut self.columns {
            match (column.kind, whole) {
                (Column::RegisteredDomain, Some(Column::Site)) | (Column::MimeType, Some(Column::Mime)) => {
                    column.skip(rows)?;
                }
                _ => column.fill(rows)?,
            }
            if matches!(column.kind, Column::Site | Column::Mime) {
                whole = column.is_whole(rows).then_some(column.kind);
            }
        }
        self.left -= rows;
        let (dense, sparse): (Vec<&Values>, Vec<&Values>) =
            self.columns.iter().filter(|column| column.len() > 0).partition(|column| column.len() == rows);
        // Values of optional columns lie closer than their rows.
        let mut next = [0; COLUMNS];
        for row in 0..rows {
            let mut found = RowText::default();
            for column in &dense {
                found.take(column, row);
            }
            for (column, next) in sparse.iter().zip(&mut next) {
                if column.levels[row] > 0 {
                    found.take(column, *next);
                    *next += 1;
                }
            }
            let (url, result) = (found.url, found.push(batch));
            if let Err(reason) = result {
                reject(reason, row as u64 + 1, url);
            }
        }
        Ok(rows)
    }
}

/// One row.
#[derive(Default)]
struct RowText<'a> {
    url: &'a [u8],
    cluster: &'a [u8],
    site: &'a [u8],
    mime: &'a [u8],
    simhash: Option<u64>,
    text: Option<u64>,
    tokens: Option<u32>,
    edits: bool,
    facts: Facts<'a>,
}

impl<'a> RowText<'a> {
    fn take(&mut self, column: &'a Values, at: usize) {
        let some = |text: &'a [u8]| (!text.is_empty() && text != b"-").then_some(text);
        match column.kind {
            Column::Url => self.url = column.text(at),
            Column::Cluster => self.cluster = column.text(at),
            Column::Site if !column.text(at).is_empty() => self.site = column.text(at),
            Column::RegisteredDomain if self.site.is_empty() => self.site = column.text(at),
            Column::Status => self.facts.status = u16::try_from(column.number(at)).unwrap_or(0),
            Column::Redirect => self.facts.redirect = some(column.text(at)),
            Column::Digest => self.facts.digest = some(column.text(at)),
            Column::Mime if !column.text(at).is_empty() => self.mime = column.text(at),
            Column::MimeType if self.mime.is_empty() => self.mime = column.text(at),
            Column::Canonical => self.facts.canonical = some(column.text(at)),
            Column::Title => self.facts.title = Some(column.text(at)),
            Column::Simhash => self.simhash = hex(column.text(at)),
            Column::Text => self.text = hex(column.text(at)),
            Column::Tokens => self.tokens = u32::try_from(column.number(at)).ok(),
            Column::Edits => self.edits = column.number(at) != 0,
            Column::Size => self.facts.size = u64::try_from(column.number(at)).unwrap_or(0),
            Column::Site | Column::Mime | Column::RegisteredDomain | Column::MimeType => {}
        }
    }

    fn push(mut self, batch: &mut RecordBatch) -> Result<(), Reason> {
        let utf8 = |text: &[u8]| text.is_ascii() || std::str::from_utf8(text).is_ok();
        if self.url.is_empty() {
            return Err(Reason::MissingUrl);
        }
        let texts = [self.facts.digest, self.facts.title, self.facts.canonical].map(Option::unwrap_or_default);
        if !(utf8(self.url) && utf8(self.cluster) && utf8(self.site) && texts.into_iter().all(utf8)) {
            return Err(Reason::InvalidUtf8);
        }
        match check_url(self.url) {
            Err(Reason::NotHttp) if super::cdx::has_scheme(self.url) => return Ok(()),
            other => other?,
        }
        let url = self.url;
        let leads = |to: &&[u8]| *to != url && utf8(to) && check_url(to).is_ok();
        self.facts.redirect = self.facts.redirect.filter(leads);
        self.facts.canonical = self.facts.canonical.filter(|to| utf8(to) && check_url(to).is_ok());
        let is_known = !self.mime.is_empty() || mime::is_robots(url);
        self.facts.kind = if is_known { mime::kind(self.mime, url) } else { DocumentKind::Unknown };
        self.facts.mime = mime::named(self.mime);
        self.facts.text = self.simhash.map(|simhash| Fingerprint {
            simhash,
            text: self.text.unwrap_or(0),
            tokens: self.tokens.unwrap_or(u32::MAX),
            edits: self.edits,
        });
        let moved = matches!(self.facts.status, 301 | 302 | 303 | 307 | 308) || self.facts.redirect.is_some();
        let elsewhere = moved || self.facts.canonical.is_some_and(|to| to != url);
        let label = |text: &'a [u8]| (!text.is_empty()).then_some(text);
        // The pages of errors are no evidence.
        let answered = self.facts.status == 0 || (200..400).contains(&self.facts.status);
        let cluster = label(self.cluster).filter(|_| answered);
        batch.push_with(Record { url, cluster, site: label(self.site), elsewhere }, self.facts);
        Ok(())
    }
}

fn hex(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_decoders_is_an_error_and_known_as_theirs() {
        let panics = || -> Result<(), ParquetError> { std::panic::resume_unwind(Box::new(is_decoding())) };
        assert!(guarded(panics).unwrap_err().to_string().contains("gave up"));
        assert!(guarded(|| Ok(is_decoding())).unwrap() && !is_decoding());
    }
}
