//! Reading one shard of lines: bytes into batches of records, bad lines into [`Rejects`].
//!
//! Lines are cut from one buffer and parsed in place. Memory a reader: 256 KiB, the line limit, and the
//! memory of the decoder; the batch belongs to the caller.

use super::detect::BYTE_ORDER_MARK;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::access_log::{self, Base};
use super::cdx::Legend;
use super::compression::Compression;
use super::csv::Csv;
use super::error::IoError;
use super::limits::{BATCH_BYTES, BATCH_ROWS};
use super::members::{Joined, Members};
use super::reason::Reason;
use super::rejects::{LineLocation, Rejects};
use super::shard::{self, Shard};
use super::{cdxj, crawl_log, jsonl, tsv};
use crate::model::RecordBatch;

/// Fewest bytes read from the source at a time.
const CHUNK: usize = 256 << 10;
/// Bytes read at a time behind the end of a range.
const REST: u64 = 4 << 10;

/// Reads one shard of lines, batch by batch.
pub(super) struct LineReader {
    shard: Shard,
    parser: Parser,
    source: Source,
    /// Bytes read from the file by this reader.
    position: Arc<AtomicU64>,
    line_limit: usize,
    /// `buffer[from..to]` is read and not yet consumed.
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    /// Offset of `buffer[from]` in the decompressed file.
    offset: u64,
    /// Lines that start here or later belong to another shard.
    stop: u64,
    /// Number of the line at `from`, where it is known.
    line: Option<u64>,
    /// The rest of the line at `from` is skipped.
    skipping: bool,
    ended: bool,
}

/// Conversion of a line to a record.
pub(super) enum Parser {
    Tsv,
    Jsonl,
    /// JSON lines with the facts beside the labels.
    JsonlFacts,
    Cdx(Legend),
    Cdxj,
    AccessLog(Base),
    CrawlLog,
    Csv(Box<Csv>),
}

impl Parser {
    fn parse(&mut self, line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
        match self {
            Self::Tsv => tsv::parse(line, batch),
            Self::Jsonl => jsonl::parse(line, batch),
            Self::JsonlFacts => jsonl::parse_facts(line, batch),
            Self::Cdx(legend) => legend.parse(line, batch),
            Self::Cdxj => cdxj::parse(line, batch),
            Self::AccessLog(base) => base.parse(line, batch),
            Self::CrawlLog => crawl_log::parse(line, batch),
            Self::Csv(csv) => csv.parse(line, batch),
        }
    }

    /// True for a header line, which is no record; `first`: it is the first of a file.
    fn heads(&mut self, line: &[u8], first: bool) -> bool {
        match self {
            Self::Tsv => first && tsv::is_header(line),
            Self::Cdx(legend) => first && legend.read(line),
            Self::Cdxj => first && cdxj::is_header(line),
            Self::Csv(csv) => csv.heads(line),
            _ => false,
        }
    }

    /// Position of the end of the line that `data` begins with. The first `searched` bytes hold none.
    fn line_end(&mut self, data: &[u8], searched: usize) -> Option<usize> {
        match self {
            Self::Csv(csv) => csv.end(data, searched),
            _ => memchr::memchr(b'\n', &data[searched..]).map(|at| searched + at),
        }
    }

    /// True if damage ends the run: the lines hold labels, and lost labels would be wrong evidence.
    fn is_strict(&self) -> bool {
        matches!(self, Self::Tsv | Self::Jsonl | Self::JsonlFacts | Self::Csv(_))
    }

    /// The part of a bad line that may be kept: all but the addresses of visitors.
    fn shown<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        match self {
            Self::AccessLog(_) => access_log::shown(line),
            _ => line,
        }
    }
}

/// Source of the bytes.
enum Source {
    /// Damage ends the run: lost labels would be wrong evidence.
    Strict(Box<dyn Read + Send>),
    /// Damage loses the member it is in.
    Lenient(Box<Joined>),
}

impl Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Strict(source) => source.read(out),
            Self::Lenient(source) => source.read(out),
        }
    }
}

/// Result of the next step over the buffer.
enum Scanned {
    /// The line `buffer[start..end]`, without its end; it was consumed.
    Line { start: usize, end: usize, offset: u64, number: Option<u64> },
    /// The line at `from` is longer than the limit; the next steps skip it.
    OverLong { offset: u64, number: Option<u64> },
    /// The record at `from` begins a quote that does not end; the next steps skip its first line.
    Unclosed { offset: u64, number: Option<u64> },
    /// Some bytes of a line were skipped.
    Skipped,
    /// No more lines for this shard.
    End,
}

impl LineReader {
    /// Opens a shard whose lines `parser` reads; see [`super::ShardReader::open`].
    pub(super) fn open(
        shard: &Shard,
        mut parser: Parser,
        line_limit: usize,
        read: Arc<AtomicU64>,
    ) -> Result<Self, IoError> {
        let mut file = shard::open(shard)?;
        let (start, stop) = shard.range.unwrap_or((0, u64::MAX));
        if start > 0 {
            if let Parser::Cdx(legend) = &mut parser {
                let mut head = vec![0; 4 << 10];
                let length = file.read(&mut head).map_err(IoError::read(&shard.path))?;
                legend.read(head[..length].split(|&b| b == b'\n').next().unwrap_or_default());
            }
            // From the byte before: if it ends a line, the line at `start` is ours.
            file.seek(SeekFrom::Start(start - 1)).map_err(IoError::read(&shard.path))?;
        }
        let position = Arc::new(AtomicU64::new(start.saturating_sub(1)));
        let source = if parser.is_strict() || shard.compression == Compression::Plain {
            let counted = Counted { file, position: position.clone(), read };
            Source::Strict(shard.compression.reader(counted).map_err(IoError::read(&shard.path))?)
        } else {
            let members = Members::new(file, shard.compression, read).map_err(IoError::read(&shard.path))?;
            Source::Lenient(Box::new(Joined::new(members)))
        };
        Ok(Self {
            shard: shard.clone(),
            parser,
            source,
            position,
            line_limit,
            // A line of the limit, its end and one byte more fit beside a chunk.
            buffer: vec![0; line_limit.saturating_add(CHUNK)].into_boxed_slice(),
            from: 0,
            to: 0,
            offset: start.saturating_sub(1),
            stop,
            line: (start == 0).then_some(1),
            skipping: start > 0,
            ended: false,
        })
    }

    /// See [`super::ShardReader::next_batch`].
    pub(super) fn next_batch(&mut self, batch: &mut RecordBatch, rejects: &mut Rejects) -> Result<bool, IoError> {
        batch.clear();
        let until = self.offset.saturating_add(BATCH_BYTES);
        let mut lines = 0;
        let mut more = true;
        while batch.len() < BATCH_ROWS && self.offset < until {
            match self.step()? {
                Scanned::Line { start, end, offset, number } => {
                    let mut line = &self.buffer[start..end];
                    if offset == 0 {
                        line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
                    }
                    if self.parser.heads(line, offset == 0) {
                        continue;
                    }
                    lines += 1;
                    let place = LineLocation { file: &self.shard.name, offset, line: number };
                    if let Some(head) = line.get(..self.line_limit).filter(|head| head.len() < line.len()) {
                        rejects.add(Reason::OverLongLine, place, self.parser.shown(head));
                    } else if let Err(reason) = self.parser.parse(line, batch) {
                        rejects.add(reason, place, self.parser.shown(line));
                    }
                }
                Scanned::OverLong { offset, number } => {
                    lines += 1;
                    let place = LineLocation { file: &self.shard.name, offset, line: number };
                    let line = &self.buffer[self.from..self.to];
                    let line = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| offset == 0).unwrap_or(line);
                    // As much as is kept of a line that fits the buffer: the sample must not depend on the reads.
                    rejects.add(Reason::OverLongLine, place, self.parser.shown(&line[..self.line_limit]));
                }
                Scanned::Unclosed { offset, number } => {
                    lines += 1;
                    let place = LineLocation { file: &self.shard.name, offset, line: number };
                    rejects.add(Reason::BrokenCsv, place, &self.buffer[self.from..self.to]);
                }
                Scanned::Skipped => {}
                Scanned::End => {
                    more = false;
                    break;
                }
            }
        }
        if let Source::Lenient(source) = &mut self.source {
            for offset in source.take_broken() {
                lines += 1;
                rejects.add(Reason::BrokenMember, LineLocation { file: &self.shard.name, offset, line: None }, b"");
            }
        }
        rejects.saw(lines);
        Ok(more || !batch.is_empty())
    }

    fn step(&mut self) -> Result<Scanned, IoError> {
        if self.offset >= self.stop {
            return Ok(Scanned::End);
        }
        // Bytes from `from` on that hold no line end.
        let mut searched = 0;
        loop {
            let pending = self.to - self.from;
            if self.skipping {
                return match memchr::memchr(b'\n', &self.buffer[self.from..self.to]) {
                    Some(at) => {
                        self.consume(at + 1);
                        self.skipping = false;
                        self.line = self.line.map(|line| line + 1);
                        Ok(Scanned::Skipped)
                    }
                    None if pending > 0 => {
                        self.consume(pending);
                        Ok(Scanned::Skipped)
                    }
                    None if self.ended => Ok(Scanned::End),
                    None => {
                        self.fill()?;
                        Ok(Scanned::Skipped)
                    }
                };
            }
            if let Some(at) = self.parser.line_end(&self.buffer[self.from..self.to], searched) {
                return Ok(self.take(at, 1));
            }
            searched = pending;
            // A carriage return before the line end would not count.
            if pending > self.line_limit + 1 && !self.may_be_marked() {
                self.skipping = true;
                return Ok(Scanned::OverLong { offset: self.offset, number: self.line });
            }
            if self.ended {
                if let Parser::Csv(csv) = &mut self.parser
                    && csv.is_open(&self.buffer[self.from..self.to])
                {
                    self.skipping = true;
                    return Ok(Scanned::Unclosed { offset: self.offset, number: self.line });
                }
                return Ok(if pending > 0 { self.take(pending, 0) } else { Scanned::End });
            }
            self.fill()?;
        }
    }

    /// True while a byte order mark, which does not count either, could still make the line at `from` fit.
    fn may_be_marked(&self) -> bool {
        self.offset == 0 && self.to - self.from <= self.line_limit + 1 + BYTE_ORDER_MARK.len()
    }

    /// Consumes a line of `len` bytes and its line end of `end` bytes.
    fn take(&mut self, len: usize, end: usize) -> Scanned {
        let (start, offset, number) = (self.from, self.offset, self.line);
        self.consume(len + end);
        let line = &self.buffer[start..start + len];
        let inside = match self.parser {
            Parser::Csv(_) => memchr::memchr_iter(b'\n', line).count() as u64,
            _ => 0,
        };
        self.line = number.map(|number| number + 1 + inside);
        let len = line.strip_suffix(b"\r").unwrap_or(line).len();
        Scanned::Line { start, end: start + len, offset, number }
    }

    fn consume(&mut self, bytes: usize) {
        self.from += bytes;
        self.offset += bytes as u64;
    }

    /// Reads more bytes behind those not yet consumed.
    fn fill(&mut self) -> Result<(), IoError> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        // Behind the range only the rest of one line is needed.
        let ahead = self.stop.saturating_sub(self.offset + self.to as u64).max(REST);
        let room = (self.buffer.len() - self.to).min(usize::try_from(ahead).unwrap_or(usize::MAX));
        loop {
            match self.source.read(&mut self.buffer[self.to..self.to + room]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.failure(error)),
            }
            return Ok(());
        }
    }

    /// Converts the error of a read. Errors of the system carry its number, those of the decoders do not.
    fn failure(&self, source: io::Error) -> IoError {
        let path = self.shard.name.clone().into();
        if source.raw_os_error().is_some() || self.shard.compression == Compression::Plain {
            return IoError::Read { path, source };
        }
        IoError::Corrupt {
            path,
            compression: self.shard.compression,
            what: if source.kind() == io::ErrorKind::UnexpectedEof { "cut short" } else { "damaged" },
            position: self.position.load(Ordering::Relaxed),
            decompressed: self.offset + (self.to - self.from) as u64,
            source,
        }
    }
}

/// A file that counts what is read of it.
struct Counted {
    file: File,
    position: Arc<AtomicU64>,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(out)?;
        // Statistics: no other memory depends on them.
        self.position.fetch_add(bytes as u64, Ordering::Relaxed);
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}
