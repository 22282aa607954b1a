//! Reads an index in blocks of whole messages.

use super::error::IndexError;
use crate::index::record::Seen;
use crate::index::wire::{MAX_LENGTH, Varint, varint};
use crate::index::{CiffError, DocRecord, Fault, Header, Part};
use crate::io::blocks::Counted;
use crate::io::compression::{Compression, open_detected};
use crate::io::error::IoError;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read at a time: blocks are about as long.
pub(super) const CHUNK: usize = 512 << 10;

/// Reads one file from front to back: header, lists, records.
pub struct CiffReader {
    path: PathBuf,
    source: Box<dyn Read + Send>,
    compression: Compression,
    /// Bytes of the file read so far.
    position: Arc<AtomicU64>,
    /// Bytes read and not returned yet.
    carry: Vec<u8>,
    /// Offset of `carry` in the decompressed data.
    at: u64,
    header: Header,
    lists_left: u32,
    records_left: u32,
    seen: Seen,
}

impl CiffReader {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// [`IndexError`] when it cannot be read or does not begin with a header.
    pub fn open(path: &Path) -> Result<CiffReader, IndexError> {
        let meta = std::fs::metadata(path).map_err(IoError::read(path))?;
        if !meta.is_file() {
            let why = "an index is read twice";
            return Err(IndexError::NotAFile { path: path.to_owned(), why });
        }
        let (file, compression) = open_detected(path, path)?;
        let position = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: file, position: position.clone() };
        let source = compression.reader(counted).map_err(IoError::read(path))?;
        CiffReader::new(path, source, compression, position)
    }

    /// Reads `source`, which messages call `path`.
    fn new(
        path: &Path,
        source: Box<dyn Read + Send>,
        compression: Compression,
        position: Arc<AtomicU64>,
    ) -> Result<CiffReader, IndexError> {
        let mut reader = CiffReader {
            path: path.to_owned(),
            source,
            compression,
            position,
            carry: Vec::new(),
            at: 0,
            header: Header::default(),
            lists_left: 0,
            records_left: 0,
            seen: Seen::new(0),
        };
        let mut block = Vec::new();
        let (at, _) = reader.messages(Part::Header, 1, &mut block)?;
        let Varint::Is(_, prefix) = varint(&block) else { unreachable!("a whole message begins with its length") };
        let header = Header::decode(&block[prefix..], at + prefix as u64).map_err(|e| reader.format(e))?;
        reader.seen = Seen::new(header.num_docs);
        (reader.lists_left, reader.records_left) = (header.num_postings_lists, header.num_docs);
        reader.header = header;
        Ok(reader)
    }

    /// A reader of bytes in memory, plain; messages call it `-`.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open).
    pub fn of_bytes(bytes: Vec<u8>) -> Result<CiffReader, IndexError> {
        let position = Arc::new(AtomicU64::new(0));
        CiffReader::new(Path::new("-"), Box::new(io::Cursor::new(bytes)), Compression::Plain, position)
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Fills `block` (cleared first) with the next posting lists, whole messages each after its length;
    /// returns the offset of the block in the decompressed data. `None` after the last.
    ///
    /// # Errors
    /// [`IndexError`]; contents of the messages are not checked.
    pub fn next_lists(&mut self, block: &mut Vec<u8>) -> Result<Option<u64>, IndexError> {
        if self.lists_left == 0 {
            block.clear();
            return Ok(None);
        }
        let (at, lists) = self.messages(Part::List, self.lists_left, block)?;
        self.lists_left -= lists;
        Ok(Some(at))
    }

    /// Passes the next document records to `take`, after the last list; false after the last record.
    ///
    /// # Errors
    /// [`IndexError`], also where documents are named twice or not at all, or data follow the last record.
    pub fn next_records(&mut self, take: &mut dyn FnMut(DocRecord<'_>)) -> Result<bool, IndexError> {
        let mut block = Vec::new();
        let Some((at, _)) = self.next_record_block(&mut block)? else { return Ok(false) };
        let mut start = 0;
        while start < block.len() {
            let Varint::Is(length, prefix) = varint(&block[start..]) else { unreachable!("whole messages") };
            let (from, to) = (start + prefix, start + prefix + length as usize);
            let place = at + from as u64;
            let record = DocRecord::decode(&block[from..to], place, self.header.num_docs);
            let record = record.and_then(|r| self.seen.mark(r.docid, place).map(|()| r)).map_err(|e| self.format(e))?;
            take(record);
            start = to;
        }
        Ok(true)
    }

    /// Fills `block` (cleared first) with the next document records, after the last list, as [`next_lists`]
    /// does; also returns the number of records before. `None` after the last.
    ///
    /// # Errors
    /// [`IndexError`], also where data follow the last record; contents of the messages are not checked.
    ///
    /// [`next_lists`]: Self::next_lists
    pub fn next_record_block(&mut self, block: &mut Vec<u8>) -> Result<Option<(u64, u32)>, IndexError> {
        while self.next_lists(block)?.is_some() {}
        if self.records_left == 0 {
            self.end()?;
            return Ok(None);
        }
        let before = self.header.num_docs - self.records_left;
        let (at, records) = self.messages(Part::Record, self.records_left, block)?;
        self.records_left -= records;
        Ok(Some((at, before)))
    }

    /// Checks that nothing follows the last record.
    fn end(&mut self) -> Result<(), IndexError> {
        let mut more = [0];
        let more = self.carry.is_empty() && self.read(&mut more)? == 0;
        if more { Ok(()) } else { Err(self.fault(self.at, Fault::Trailing { docs: self.header.num_docs })) }
    }

    /// Fills `block` with whole messages, at least one and at most `most`; returns its offset and their
    /// number.
    fn messages(&mut self, part: Part, most: u32, block: &mut Vec<u8>) -> Result<(u64, u32), IndexError> {
        block.clear();
        block.append(&mut self.carry);
        let (mut end, mut count) = (0, 0);
        loop {
            while count < most {
                match varint(&block[end..]) {
                    Varint::Is(length, _) if length > MAX_LENGTH => {
                        return Err(self.fault(self.at + end as u64, Fault::TooLong { part, length }));
                    }
                    Varint::Is(length, prefix) if length <= (block.len() - end - prefix) as u64 => {
                        end += prefix + length as usize;
                        count += 1;
                    }
                    Varint::Bad => return Err(self.fault(self.at + end as u64, Fault::BadVarint { part })),
                    _ => break,
                }
            }
            if count == most || (count > 0 && block.len() >= CHUNK) {
                break;
            }
            let before = block.len();
            block.resize((before + 1).next_multiple_of(CHUNK), 0);
            let read = self.read(&mut block[before..])?;
            block.truncate(before + read);
            if read == 0 && count > 0 {
                break;
            }
            if read == 0 {
                return Err(self.fault(self.at + before as u64, Fault::Truncated { part }));
            }
        }
        self.carry.extend_from_slice(&block[end..]);
        block.truncate(end);
        let at = self.at;
        self.at += end as u64;
        Ok((at, count))
    }

    fn read(&mut self, into: &mut [u8]) -> Result<usize, IndexError> {
        loop {
            match self.source.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(read) => return Ok(read),
                Err(source) => return Err(self.failure(source).into()),
            }
        }
    }

    fn failure(&self, source: io::Error) -> IoError {
        let path = self.path.clone();
        if self.compression == Compression::Plain {
            return IoError::Read { path, source };
        }
        let what = if source.kind() == io::ErrorKind::UnexpectedEof { "cut short" } else { "damaged" };
        let (position, decompressed) = (self.position.load(Ordering::Relaxed), self.at + self.carry.len() as u64);
        IoError::Corrupt { path, compression: self.compression, what, position, decompressed, source }
    }

    fn fault(&self, at: u64, fault: Fault) -> IndexError {
        self.format(CiffError { at, fault })
    }

    /// The error with the name of the file.
    pub fn format(&self, source: CiffError) -> IndexError {
        IndexError::Format { path: self.path.clone(), source }
    }
}
