//! Web archives (WARC 1.0 and 1.1, ISO 28500): plain, a gzip member a record, zstd frames with or
//! without a dictionary.
//!
//! Read are responses, resources and revisits of http and https URLs; of a response the status, the
//! redirect target, the digest of its payload, and, where it is a page, its title, its declared
//! canonical URL and the fingerprint of its main text ([`crate::content`]). Other records are skipped;
//! of requests the method counts: an answer to one that fetches no page (`POST`) is no record of its
//! URL ([`exchange`]).
//!
//! The reader is our own: those on crates.io read a record into memory whatever its length, take a gzip
//! file as one stream, and stop at the first fault. Here a broken record loses only itself: the next
//! one is searched behind its head, or in the next member. Memory: one record up to [`BLOCK_LIMIT`] (of
//! a longer one only the head is read), twice more for a decoded body, and the memory of [`Members`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::error::IoError;
use super::http::{self, BODY_LIMIT, HEAD_LIMIT};
use super::limits::{BATCH_BYTES, BATCH_ROWS};
use super::members::Members;
use super::reason::Reason;
use super::rejects::{LineLocation, Rejects};
use super::shard::{self, Shard};
use crate::model::RecordBatch;

mod answer;
mod exchange;

use answer::{Answers, WarcType};
use exchange::{Held, LOOK_BACK, Names, fetches_no_page};

/// Longest block that is held: a head and a body of the longest kind that is read.
pub const BLOCK_LIMIT: usize = BODY_LIMIT + HEAD_LIMIT;
/// Bytes read from the source at a time.
const CHUNK: usize = 256 << 10;

/// Reads one archive, batch by batch.
pub(super) struct WarcReader {
    shard: Shard,
    window: Window,
    answers: Answers,
    held: Held,
    /// Records seen.
    number: u64,
    line_limit: usize,
}

impl WarcReader {
    /// Opens an archive; see [`super::ShardReader::open`]. `line_limit` bounds the URL.
    pub(super) fn open(shard: &Shard, line_limit: usize, read: Arc<AtomicU64>) -> Result<Self, IoError> {
        let file = shard::open(shard)?;
        let members = Members::new(file, shard.compression, read).map_err(IoError::read(&shard.path))?;
        let (window, answers, held) = (Window::new(members), Answers::default(), Held::default());
        Ok(Self { shard: shard.clone(), window, answers, held, number: 0, line_limit })
    }

    /// See [`super::ShardReader::next_batch`]; the bytes that end a batch are those of whole records.
    pub(super) fn next_batch(&mut self, batch: &mut RecordBatch, rejects: &mut Rejects) -> Result<bool, IoError> {
        batch.clear();
        let (mut bytes, mut records, mut more) = (0, 0, true);
        // Held records are released at once.
        while more && batch.len() + 2 * LOOK_BACK <= BATCH_ROWS && bytes < BATCH_BYTES {
            let step = self.step(rejects).map_err(IoError::read(&self.shard.path))?;
            for offset in self.window.members.take_broken() {
                records += 1;
                rejects.add(Reason::BrokenMember, LineLocation { file: &self.shard.name, offset, line: None }, b"");
            }
            match step {
                Some(passed) => {
                    bytes += passed;
                    records += 1;
                }
                None => more = false,
            }
            self.held.release(!more, batch);
        }
        rejects.saw(records);
        Ok(more || !batch.is_empty())
    }

    /// Reads the next record, and returns the bytes passed; `None` at the end.
    fn step(&mut self, rejects: &mut Rejects) -> io::Result<Option<u64>> {
        let window = &mut self.window;
        if !window.next_record()? {
            return Ok(None);
        }
        let (began, at) = (window.passed, window.place());
        let mut reject = |reason, text: &[u8]| {
            rejects.add(reason, LineLocation { file: &self.shard.name, offset: at, line: None }, text);
        };
        let Some(head) = window.head()? else {
            if !window.is_broken() {
                reject(Reason::BrokenRecord, window.shown());
            }
            window.resync()?;
            return Ok(Some(window.passed - began));
        };
        let held = usize::try_from(head.length).unwrap_or(usize::MAX).min(BLOCK_LIMIT);
        let there = window.fill(head.bytes + held)?;
        let whole = head.length as u128 <= held as u128 && there >= head.bytes + held;
        let cut = head.length as u128 > held as u128;
        if !(cut || whole && window.ends_at(head.bytes + held)?) || there < head.bytes + held {
            if !window.is_broken() {
                reject(Reason::BrokenRecord, window.shown());
            }
            window.resync()?;
            return Ok(Some(window.passed - began));
        }
        let (fields, block) = window.data().split_at(head.bytes);
        let block = &block[..held];
        self.number += 1;
        match head.kind {
            WarcType::Other => {}
            WarcType::Request if fetches_no_page(block) => self.held.request(Names::of(fields, self.number)),
            WarcType::Request => {}
            kind => {
                let records = &mut self.held.new.records;
                match self.answers.take(fields, kind, block, cut, self.line_limit, records) {
                    Ok(()) => self.held.answer(Names::of(fields, self.number)),
                    Err((reason, text)) => reject(reason, text),
                }
            }
        }
        window.consume(head.bytes + held);
        window.skip(head.length - held as u64)?;
        Ok(Some(window.passed - began))
    }
}

/// Decompressed bytes of one member, and their position.
struct Window {
    members: Members,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Bytes consumed so far, in all members.
    passed: u64,
    /// Bytes consumed of this member.
    within: u64,
    /// The member holds no more than what is in the buffer.
    ended: bool,
    /// This member turned out to be damaged.
    broken: bool,
}

/// The head of a record.
struct Head {
    kind: WarcType,
    /// Length of the head with its blank line.
    bytes: usize,
    /// Length of the block.
    length: u64,
}

impl Window {
    fn new(members: Members) -> Window {
        Window { members, buffer: Vec::new(), from: 0, to: 0, passed: 0, within: 0, ended: true, broken: false }
    }

    /// Goes to the next byte that is no line end, in this member or the next; `false` at the end of the
    /// file.
    fn next_record(&mut self) -> io::Result<bool> {
        loop {
            if self.fill(1)? == 0 {
                let more = self.members.next_member()?;
                (self.ended, self.broken, self.within) = (!more, false, 0);
                if !more {
                    return Ok(false);
                }
                continue;
            }
            let ends = self.data().iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            let all = ends == self.to - self.from;
            self.consume(ends);
            if !all {
                return Ok(true);
            }
        }
    }

    /// Offset for messages: of the member in the file where it is compressed, else of the record.
    fn place(&self) -> u64 {
        if self.members.is_plain() { self.within } else { self.members.start() }
    }

    /// A damaged member is reported once, as such.
    fn is_broken(&self) -> bool {
        self.broken
    }

    /// The first line at hand.
    fn shown(&self) -> &[u8] {
        let data = self.data();
        &data[..memchr::memchr(b'\n', data).unwrap_or(data.len()).min(200)]
    }

    fn data(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    fn consume(&mut self, bytes: usize) {
        self.from += bytes;
        self.passed += bytes as u64;
        self.within += bytes as u64;
    }

    /// Reads until `wanted` bytes are at hand, if the member has them; returns the number at hand.
    fn fill(&mut self, wanted: usize) -> io::Result<usize> {
        while self.to - self.from < wanted && !self.ended {
            if self.from > 0 {
                self.buffer.copy_within(self.from..self.to, 0);
                (self.to, self.from) = (self.to - self.from, 0);
            }
            if self.buffer.len() < self.to + CHUNK {
                self.buffer.resize((self.to + CHUNK).max(wanted.min(2 * self.to) + CHUNK), 0);
            }
            let known = self.members.broken_so_far();
            let read = self.members.read_member(&mut self.buffer[self.to..])?;
            self.broken |= self.members.broken_so_far() > known;
            self.to += read;
            self.ended = read == 0;
        }
        Ok(self.to - self.from)
    }

    /// The current head of a record; `None` where it is none.
    fn head(&mut self) -> io::Result<Option<Head>> {
        let mut wanted = 4 << 10;
        loop {
            let there = self.fill(wanted)?;
            if !self.data().starts_with(b"WARC/") && there >= 5 {
                return Ok(None);
            }
            if http::blank_line(self.data()).is_some() {
                break;
            }
            if self.ended || wanted > HEAD_LIMIT {
                return Ok(None);
            }
            wanted *= 2;
        }
        let Some(mut fields) = http::Fields::of(self.data()) else { return Ok(None) };
        let bytes = self.data().len() - fields.behind.len();
        let (mut kind, mut length) = (WarcType::Other, None);
        while let Some((name, value)) = fields.next_field() {
            if name.eq_ignore_ascii_case(b"warc-type") {
                kind = WarcType::of(value);
            } else if name.eq_ignore_ascii_case(b"content-length") {
                length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            }
        }
        Ok(length.map(|length| Head { kind, bytes, length }))
    }

    /// True where a record ends behind `bytes`: nothing follows, or the two line ends that end a record, or
    /// any number and the next head.
    fn ends_at(&mut self, bytes: usize) -> io::Result<bool> {
        let there = self.fill(bytes + 16)?;
        let behind = &self.data()[bytes..there.min(bytes + 16)];
        if behind.starts_with(b"\r\n\r\n") || behind.starts_with(b"\n\n") {
            return Ok(true);
        }
        let next = behind.iter().position(|b| !matches!(b, b'\r' | b'\n')).unwrap_or(behind.len());
        Ok(next == behind.len() || (next > 0 && behind[next..].starts_with(&b"WARC/"[..5.min(behind.len() - next)])))
    }

    /// Goes to the next head behind the current one, in this member, else to its end.
    fn resync(&mut self) -> io::Result<()> {
        self.consume(1.min(self.to - self.from));
        loop {
            let there = self.fill(CHUNK)?;
            if let Some(at) = memchr::memmem::find(self.data(), b"\nWARC/") {
                self.consume(at + 1);
                return Ok(());
            }
            let keep = if self.ended { 0 } else { 5.min(there) };
            self.consume(there - keep);
            if self.ended {
                return Ok(());
            }
        }
    }

    /// Skips `bytes`, or the rest if it is shorter.
    fn skip(&mut self, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 {
            let there = self.fill(1)?;
            if there == 0 {
                return Ok(());
            }
            let step = there.min(usize::try_from(bytes).unwrap_or(usize::MAX));
            self.consume(step);
            bytes -= step as u64;
        }
        Ok(())
    }
}
