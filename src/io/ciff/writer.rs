//! Writer of an index, whose header comes first and is complete last.
//!
//! Room is left for the header, the lists and records follow, and the header is written into its room
//! after the counts. A gzip file has the header in a member of its own (stored, so that its size is
//! known), a zstd file in a frame of its own (and the rest of the room in a skippable frame). The rest
//! is compressed in blocks of about 512 KiB, a member or frame each, which workers can compress side by
//! side; RFC 1952 and RFC 8878 require readers to read them all.

use super::error::IndexError;
use super::reader::CHUNK;
use crate::index::Header;
use crate::io::compression::{Compression, Encoder};
use crate::io::error::IoError;
use crate::io::output::{parent, sync_folder};
use crate::temporary::TemporaryFile;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

/// Bytes after which written data are flushed to the disk, beside the work: little remains to be
/// flushed at the end.
const SYNC_EVERY: u64 = 32 << 20;

/// A skippable frame's magic number and length.
const SKIPPABLE: usize = 8;
/// Upper bound on the overhead of a frame.
const FRAME: usize = 32;

/// Compresses a block as a member or frame of its own, in place.
///
/// # Errors
/// When zstd finds no memory.
pub fn pack(compression: Compression, block: &mut Vec<u8>) -> io::Result<()> {
    if compression == Compression::Plain || block.is_empty() {
        return Ok(());
    }
    let mut encoder = Encoder::new(compression, Vec::with_capacity(block.len() / 2))?;
    encoder.write_all(block)?;
    *block = encoder.finish()?;
    Ok(())
}

/// A file being written under a temporary name beside its final one; dropped unfinished, it is removed.
pub struct CiffWriter {
    file: File,
    names: Names,
    compression: Compression,
    room: Header,
    room_bytes: usize,
    /// Messages gathered by [`write`](Self::write).
    block: Vec<u8>,
    /// Bytes written since the last flush began.
    unsent: u64,
    sending: Option<JoinHandle<io::Result<()>>>,
}

/// Final and temporary name.
struct Names {
    path: PathBuf,
    temporary: TemporaryFile,
}

impl CiffWriter {
    /// Opens the temporary file; `room` is a header with the same description and the largest possible
    /// numbers.
    ///
    /// # Errors
    /// [`IndexError`] when it cannot be written, or the path is a device.
    pub fn create(path: &Path, room: Header) -> Result<CiffWriter, IndexError> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            return Err(IndexError::NotAFile { path, why: "the header of an index is written last" });
        }
        let compression = Compression::of_name(&path);
        let failed = || IoError::write(&path);
        let (file, temporary) = TemporaryFile::beside(&path).map_err(failed())?;
        let names = Names { path: path.clone(), temporary };
        let mut writer =
            CiffWriter { file, names, compression, room_bytes: 0, block: Vec::new(), unsent: 0, sending: None, room };
        let head = writer.head(&writer.room).map_err(failed())?;
        writer.room_bytes = head.len();
        writer.append(&head)?;
        Ok(writer)
    }

    /// Compression of the blocks.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Writes a block that was compressed ([`pack`]).
    ///
    /// # Errors
    /// [`IndexError::Io`].
    pub fn append(&mut self, compressed: &[u8]) -> Result<(), IndexError> {
        self.file.write_all(compressed).map_err(IoError::write(&self.names.path))?;
        self.unsent += compressed.len() as u64;
        if self.unsent >= SYNC_EVERY && self.sending.as_ref().is_none_or(JoinHandle::is_finished) {
            self.sent()?;
            let file = self.file.try_clone().map_err(IoError::write(&self.names.path))?;
            // Without a thread everything is flushed at the end.
            self.sending = thread::Builder::new().spawn(move || file.sync_data()).ok();
            self.unsent = 0;
        }
        Ok(())
    }

    /// Ends the last flush.
    fn sent(&mut self) -> Result<(), IndexError> {
        // A failure is reported to one caller only, so it is checked here.
        let done = self.sending.take().map_or(Ok(()), |sending| sending.join().unwrap_or_else(|p| resume_unwind(p)));
        Ok(done.map_err(IoError::write(&self.names.path))?)
    }

    /// Writes messages, compressed here when a block is full.
    ///
    /// # Errors
    /// [`IndexError::Io`].
    pub fn write(&mut self, messages: &[u8]) -> Result<(), IndexError> {
        self.block.extend_from_slice(messages);
        if self.block.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), IndexError> {
        let mut block = std::mem::take(&mut self.block);
        pack(self.compression, &mut block).map_err(IoError::write(&self.names.path))?;
        self.append(&block)?;
        block.clear();
        self.block = block;
        Ok(())
    }

    /// Writes the header and flushes everything to the disk. The file has no final name yet.
    ///
    /// # Errors
    /// [`IndexError::Io`].
    pub fn finish(mut self, header: &Header) -> Result<FinishedFile, IndexError> {
        self.flush()?;
        self.sent()?;
        let end = |file: &mut File, head: Vec<u8>| -> io::Result<()> {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&head)?;
            file.sync_all()
        };
        let head = self.head(header).map_err(IoError::write(&self.names.path))?;
        assert_eq!(head.len(), self.room_bytes, "a header whose numbers are no more than those of its room");
        end(&mut self.file, head).map_err(IoError::write(&self.names.path))?;
        Ok(FinishedFile { names: self.names })
    }

    /// Bytes of the header in the file.
    fn head(&self, header: &Header) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        header.encode(&self.room, &mut bytes);
        match self.compression {
            Compression::Plain => Ok(bytes),
            Compression::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::none());
                encoder.write_all(&bytes)?;
                encoder.finish()
            }
            Compression::Zstd => {
                let room = bytes.len() + FRAME + SKIPPABLE;
                pack(Compression::Zstd, &mut bytes)?;
                let rest = (room - bytes.len()).checked_sub(SKIPPABLE).expect("a frame adds less than its allowance");
                bytes.extend_from_slice(&[0x50, 0x2a, 0x4d, 0x18]);
                bytes.extend_from_slice(&(rest as u32).to_le_bytes());
                bytes.resize(room, 0);
                Ok(bytes)
            }
        }
    }
}

/// A file that is whole but has no final name yet; dropped, it is removed.
pub struct FinishedFile {
    names: Names,
}

impl FinishedFile {
    /// Where it is to be read.
    pub fn temporary(&self) -> &Path {
        self.names.temporary.path()
    }

    /// Its final name.
    pub fn path(&self) -> &Path {
        &self.names.path
    }

    /// Gives it its final name.
    ///
    /// # Errors
    /// [`IndexError::Io`].
    pub fn commit(self) -> Result<(), IndexError> {
        let Names { path, temporary } = self.names;
        let named = temporary.persist(&path).and_then(|()| sync_folder(parent(&path)));
        Ok(named.map_err(IoError::write(&path))?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::CiffReader;
    use super::*;
    use crate::index::{DocRecord, Posting, postings};
    use crate::io::compression;

    #[test]
    fn a_file_comes_back_in_every_compression() {
        let folder = tempfile::tempdir().unwrap();
        let room = Header {
            num_postings_lists: 200_000,
            num_docs: 300,
            total_postings_lists: 200_000,
            total_docs: 300,
            total_terms_in_collection: 1 << 40,
            average_doclength: 3.5,
            description: "what a long description ".repeat(9),
        };
        let header = room.without(2, 1 << 39).with_lists(1);
        for name in ["a.ciff", "a.ciff.gz", "a.ciff.zst"] {
            let path = folder.path().join(name);
            let mut writer = CiffWriter::create(&path, room.clone()).unwrap();
            let (mut block, mut body) = (Vec::new(), Vec::new());
            postings::encode(b"x", &[Posting::new(0, 1), Posting::new(1, 1)], &mut body, &mut block);
            let list = block.clone();
            pack(writer.compression(), &mut block).unwrap();
            writer.append(&block).unwrap();
            for docid in 0..2 {
                let mut record = Vec::new();
                DocRecord { docid, collection_docid: b"http://a/", length: 7 }.encode(&mut record);
                writer.write(&record).unwrap();
            }
            let finished = writer.finish(&header).unwrap();
            assert!(!path.exists() && finished.temporary().exists());
            finished.commit().unwrap();
            let mut reader = CiffReader::open(&path).unwrap();
            assert_eq!(reader.header(), &header, "{name}");
            assert!(reader.next_lists(&mut block).unwrap().is_some());
            assert_eq!(block, list);
            let mut ids = Vec::new();
            while reader.next_records(&mut |record| ids.push(record.docid)).unwrap() {}
            assert_eq!(ids, [0, 1]);
            // Another reader of the compression takes it too.
            let mut all = Vec::new();
            io::Read::read_to_end(&mut compression::open(&path).unwrap(), &mut all).unwrap();
            assert!(all.len() > room.description.len());
        }
        let writer = CiffWriter::create(&folder.path().join("b.ciff"), room).unwrap();
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing half-written stays");
    }
}
