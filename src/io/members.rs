//! Compressed files member by member, where damage loses the member it is in and no more.
//!
//! Crawl archives and their indexes are gzip members or zstd frames end to end, one a record or a few
//! thousand lines. [`Members`] decodes one at a time, records the start of each, and after a damaged
//! one searches for the next beginning behind it. Memory: two windows of 256 KiB and the decoder's own
//! (at most 128 MiB for zstd, the default limit of the library); the contents of a member are streamed,
//! whatever their size.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::{Crc, Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder as ZstdDecoder, InBuffer, Operation, OutBuffer};

use super::compression::Compression;

/// Bytes read from the file at a time.
const WINDOW: usize = 256 << 10;
/// Longest gzip header that is read: the fixed part and names of a few kilobytes.
const GZIP_HEADER: usize = 64 << 10;
/// Longest dictionary that is read from the first frame of a `.warc.zst`.
const DICTIONARY: usize = 16 << 20;
/// Marks the frame that holds the dictionary of the frames behind it.
const DICTIONARY_MAGIC: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];

/// The members of a gzip file, the frames of a zstd file, or a plain file as its only member.
pub struct Members {
    file: File,
    read: Arc<AtomicU64>,
    window: Box<[u8]>,
    /// `window[from..to]` is read and not yet consumed.
    from: usize,
    to: usize,
    /// Offset in the file of `window[from]`.
    offset: u64,
    codec: Codec,
    /// Start of the member being read.
    start: u64,
    inside: bool,
    begun: bool,
    /// Offsets of damaged members, oldest first, until [`take_broken`](Self::take_broken).
    broken: Vec<u64>,
}

enum Codec {
    Plain,
    Gzip { inflate: Box<Decompress>, crc: Crc },
    Zstd { decoder: Box<ZstdDecoder<'static>> },
}

impl Members {
    /// Reads `file` from its start; `read` is increased by the bytes read from it. A zstd file that begins
    /// with a dictionary frame (as `.warc.zst` may) is decoded with that dictionary.
    ///
    /// # Errors
    /// Error of the system, or a dictionary that cannot be used.
    pub fn new(file: File, compression: Compression, read: Arc<AtomicU64>) -> io::Result<Members> {
        let codec = match compression {
            Compression::Plain => Codec::Plain,
            Compression::Gzip => Codec::Gzip { inflate: Box::new(Decompress::new(false)), crc: Crc::new() },
            Compression::Zstd => Codec::Zstd { decoder: Box::new(ZstdDecoder::new()?) },
        };
        let mut members = Members {
            file,
            read,
            window: vec![0; WINDOW].into_boxed_slice(),
            from: 0,
            to: 0,
            offset: 0,
            codec,
            start: 0,
            inside: false,
            begun: false,
            broken: Vec::new(),
        };
        if compression == Compression::Zstd && members.ahead(8)?.starts_with(&DICTIONARY_MAGIC) {
            members.take_dictionary()?;
        }
        Ok(members)
    }

    /// Goes to the beginning of the next member, skipping the rest of the one before; `false` at the end of
    /// the file.
    ///
    /// # Errors
    /// Error of the system.
    pub fn next_member(&mut self) -> io::Result<bool> {
        let mut rest = [0; 8 << 10];
        while self.inside {
            self.read_member(&mut rest)?;
        }
        if matches!(self.codec, Codec::Plain) {
            self.inside = !std::mem::replace(&mut self.begun, true);
            return Ok(self.inside);
        }
        loop {
            if self.ahead(1)?.is_empty() {
                // No byte at all: as a copy that never began.
                if self.offset == 0 && !std::mem::replace(&mut self.begun, true) {
                    self.broken.push(0);
                }
                return Ok(false);
            }
            self.start = self.offset;
            if self.begin()? {
                self.inside = true;
                return Ok(true);
            }
            if self.ahead(WINDOW / 2)?.iter().all(|&b| b == 0) && self.to - self.from < WINDOW / 2 {
                // Padding up to the end, as tapes and some servers write it.
                return Ok(false);
            }
            self.broken.push(self.start);
            if !self.seek_beginning(self.start + 1)? {
                return Ok(false);
            }
        }
    }

    /// Decodes more of the member; 0 at its end. A damaged member ends at the damage, and is recorded.
    ///
    /// # Errors
    /// Error of the system.
    pub fn read_member(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.inside || out.is_empty() {
            return Ok(0);
        }
        loop {
            let empty = self.ahead(1)?.is_empty();
            let input = &self.window[self.from..self.to];
            let (used, made, end) = match &mut self.codec {
                Codec::Plain => {
                    let made = input.len().min(out.len());
                    out[..made].copy_from_slice(&input[..made]);
                    (made, made, if made == 0 { End::Whole } else { End::Not })
                }
                Codec::Gzip { inflate, crc } => {
                    let before = (inflate.total_in(), inflate.total_out());
                    let status = inflate.decompress(input, out, FlushDecompress::None);
                    let used = (inflate.total_in() - before.0) as usize;
                    let made = (inflate.total_out() - before.1) as usize;
                    crc.update(&out[..made]);
                    let end = match status {
                        Ok(Status::StreamEnd) => End::Whole,
                        Ok(_) if made == 0 && (empty || used == 0) => End::Damage,
                        Ok(_) => End::Not,
                        Err(_) => End::Damage,
                    };
                    (used, made, end)
                }
                Codec::Zstd { decoder } => {
                    let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(&mut *out));
                    let status = decoder.run(&mut from, &mut to);
                    let (used, made) = (from.pos(), to.pos());
                    let end = match status {
                        Ok(0) => End::Whole,
                        Ok(_) if made == 0 && (empty || used == 0) => End::Damage,
                        Ok(_) => End::Not,
                        Err(_) => End::Damage,
                    };
                    (used, made, end)
                }
            };
            self.consume(used);
            match end {
                End::Not => {}
                End::Whole => self.end_member()?,
                End::Damage => self.abandon()?,
            }
            if made > 0 || !self.inside {
                return Ok(made);
            }
        }
    }

    /// True while a member is being read.
    pub fn is_inside(&self) -> bool {
        self.inside
    }

    /// Offset in the file of the member that is read, or was last.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// True for a file that is not compressed.
    pub fn is_plain(&self) -> bool {
        matches!(self.codec, Codec::Plain)
    }

    /// Number of damaged members not yet returned by [`take_broken`](Self::take_broken).
    pub(crate) fn broken_so_far(&self) -> usize {
        self.broken.len()
    }

    /// Offsets of the members found damaged since the last call.
    pub fn take_broken(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.broken)
    }

    /// Consumes the header of a member; `false` where there is none.
    fn begin(&mut self) -> io::Result<bool> {
        if matches!(self.codec, Codec::Gzip { .. }) {
            let Some(length) = gzip_header(self.ahead(GZIP_HEADER)?) else { return Ok(false) };
            self.consume(length);
        } else if !is_zstd(self.ahead(4)?) {
            return Ok(false);
        }
        match &mut self.codec {
            Codec::Plain => {}
            Codec::Gzip { inflate, crc } => {
                inflate.reset(false);
                crc.reset();
            }
            Codec::Zstd { decoder } => decoder.reinit()?,
        }
        Ok(true)
    }

    /// Ends a member and checks the bytes behind it.
    fn end_member(&mut self) -> io::Result<()> {
        if let Codec::Gzip { crc, .. } = &self.codec {
            let sums = (crc.sum(), crc.amount());
            let trailer = self.ahead(8)?;
            let word = |at: usize| trailer.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            let whole = (word(0), word(4)) == (Some(sums.0), Some(sums.1));
            let length = trailer.len().min(8);
            self.consume(length);
            if !whole {
                // The data ended at the right place: the following bytes are intact.
                self.broken.push(self.start);
            }
        }
        self.inside = false;
        Ok(())
    }

    /// Gives the member up, and goes to the next beginning behind its own.
    fn abandon(&mut self) -> io::Result<()> {
        self.broken.push(self.start);
        self.inside = false;
        self.seek_beginning(self.start + 1).map(drop)
    }

    /// Goes to the first bytes from `from` on that look like a header; to the end of the file without one.
    fn seek_beginning(&mut self, from: u64) -> io::Result<bool> {
        if from >= self.offset {
            let ahead = (from - self.offset) as usize;
            let ready = self.ahead(ahead)?.len();
            self.consume(ahead.min(ready));
        } else {
            self.file.seek(SeekFrom::Start(from))?;
            (self.from, self.to, self.offset) = (0, 0, from);
        }
        let gzip = matches!(self.codec, Codec::Gzip { .. });
        loop {
            let ready = self.ahead(WINDOW / 2)?;
            let first = if gzip { 0x1f } else { 0x28 };
            let found = memchr::memchr_iter(first, ready).find(|&at| {
                if gzip { gzip_header(&ready[at..]).is_some() } else { is_zstd(&ready[at..]) && ready[at] == first }
            });
            let length = ready.len();
            if let Some(at) = found {
                self.consume(at);
                return Ok(true);
            }
            // A beginning may lie across the end of the window.
            let keep = if length < WINDOW / 2 { 0 } else { 16 };
            self.consume(length - keep);
            if keep == 0 {
                return Ok(false);
            }
        }
    }

    /// Up to `wanted` bytes that come next, fewer only at the end of the file; at most a window.
    fn ahead(&mut self, wanted: usize) -> io::Result<&[u8]> {
        let wanted = wanted.min(WINDOW);
        while self.to - self.from < wanted {
            if self.from > 0 {
                self.window.copy_within(self.from..self.to, 0);
                (self.to, self.from) = (self.to - self.from, 0);
            }
            match self.file.read(&mut self.window[self.to..]) {
                Ok(0) => break,
                Ok(bytes) => {
                    self.to += bytes;
                    self.read.fetch_add(bytes as u64, Ordering::Relaxed);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.window[self.from..self.to])
    }

    fn consume(&mut self, bytes: usize) {
        self.from += bytes;
        self.offset += bytes as u64;
    }

    /// Reads the dictionary frame and decodes the rest with it.
    fn take_dictionary(&mut self) -> io::Result<()> {
        let head = self.ahead(8)?;
        let length = head.get(4..8).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
        let refuse = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("zstd dictionary: {what}"));
        if length > DICTIONARY {
            return Err(refuse("over 16 MiB"));
        }
        self.consume(8);
        let mut dictionary = Vec::with_capacity(length);
        while dictionary.len() < length {
            let ready = self.ahead(length - dictionary.len())?;
            if ready.is_empty() {
                return Err(refuse("cut short"));
            }
            let taken = ready.len().min(length - dictionary.len());
            dictionary.extend_from_slice(&ready[..taken]);
            self.consume(taken);
        }
        if is_zstd(&dictionary) {
            let mut plain = Vec::new();
            zstd::Decoder::new(&dictionary[..])?.take(DICTIONARY as u64 + 1).read_to_end(&mut plain)?;
            if plain.len() > DICTIONARY {
                return Err(refuse("over 16 MiB"));
            }
            dictionary = plain;
        }
        self.codec = Codec::Zstd { decoder: Box::new(ZstdDecoder::with_dictionary(&dictionary)?) };
        Ok(())
    }
}

/// How a step of a decoder ended.
enum End {
    Not,
    Whole,
    Damage,
}

/// Members end to end, for readers of lines: a damaged one is followed by a byte that is no UTF-8 and a
/// line end, so that the line at the break is not taken for a whole one.
pub(crate) struct Joined {
    members: Members,
    /// The break that is still to be returned.
    pending: bool,
}

/// Follows a damaged member.
const BREAK: &[u8] = b"\xff\n";

impl Joined {
    pub(crate) fn new(members: Members) -> Joined {
        Joined { members, pending: false }
    }

    /// See [`Members::take_broken`].
    pub(crate) fn take_broken(&mut self) -> Vec<u64> {
        self.members.take_broken()
    }

    /// The next bytes; 0 at the end of the file. `out` holds two bytes or more.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if std::mem::take(&mut self.pending) {
                out[..BREAK.len()].copy_from_slice(BREAK);
                return Ok(BREAK.len());
            }
            let broken = self.members.broken.len();
            let more = self.members.is_inside() || self.members.next_member()?;
            let made = self.members.read_member(out)?;
            self.pending = self.members.broken.len() > broken;
            if made > 0 || !(more || self.pending) {
                return Ok(made);
            }
        }
    }
}

/// Length of the gzip header at the beginning of `bytes` (RFC 1952); `None` where there is none.
fn gzip_header(bytes: &[u8]) -> Option<usize> {
    let [0x1f, 0x8b, 8, flags, _, _, _, _, _, _, rest @ ..] = bytes else { return None };
    if flags & 0xe0 != 0 {
        return None;
    }
    let mut at = bytes.len() - rest.len();
    if flags & 4 != 0 {
        let length = bytes.get(at..at + 2)?;
        at += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += memchr::memchr(0, bytes.get(at..)?)? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    (at <= bytes.len()).then_some(at)
}

/// True for the beginning of a frame, skippable ones among them.
fn is_zstd(bytes: &[u8]) -> bool {
    matches!(bytes, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}
