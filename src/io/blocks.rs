//! Text files as blocks of whole lines, for jobs that read one URL a line.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compression::Compression;
use super::detect::BYTE_ORDER_MARK;
use super::error::IoError;
use super::unread::refuse_compression;

/// Bytes read from the source at a time.
const CHUNK: usize = 256 << 10;
/// Length from which on a line is no line of a list of URLs.
const HARD_LIMIT: usize = 64 << 20;

/// Reads one text file, or standard input, in blocks of whole lines; plain, gzip and zstd by their
/// first bytes.
///
/// A block is the result of one read and holds at least one line, so that a program that writes a line
/// and reads the answer is not blocked. Memory: 256 KiB and the longest line, in the block and here,
/// and the memory of the decoder.
pub struct LineBlocks {
    path: PathBuf,
    source: Box<dyn Read + Send>,
    compression: Compression,
    /// Compressed bytes read.
    position: Arc<AtomicU64>,
    /// Bytes returned.
    given: u64,
    /// The start of a line whose end was not read yet.
    carry: Vec<u8>,
    ended: bool,
}

impl LineBlocks {
    /// Opens a file or a named pipe.
    ///
    /// # Errors
    /// [`IoError::NotFound`], [`IoError::Read`], or [`IoError::UnreadCompression`].
    pub fn open(path: &Path) -> Result<LineBlocks, IoError> {
        let file = File::open(path).map_err(IoError::read(path))?;
        LineBlocks::new(path, file)
    }

    /// Reads standard input.
    ///
    /// # Errors
    /// [`IoError::Read`] or [`IoError::UnreadCompression`].
    pub fn stdin() -> Result<LineBlocks, IoError> {
        LineBlocks::new(Path::new("-"), io::stdin())
    }

    /// Reads `inner`, which messages call `path`.
    fn new(path: &Path, mut inner: impl Read + Send + 'static) -> Result<LineBlocks, IoError> {
        // Not rewound but put back in front: a pipe cannot be rewound.
        let mut head = Vec::with_capacity(4);
        (&mut inner).take(4).read_to_end(&mut head).map_err(IoError::read(path))?;
        refuse_compression(path, &head)?;
        let compression = Compression::detect(path, &head);
        let position = Arc::new(AtomicU64::new(0));
        let inner = Counted { inner: Cursor::new(head).chain(inner), position: position.clone() };
        let source = compression.reader(inner).map_err(IoError::read(path))?;
        Ok(LineBlocks {
            path: path.to_owned(),
            source,
            compression,
            position,
            given: 0,
            carry: Vec::new(),
            ended: false,
        })
    }

    /// Fills `block` (cleared first) with the next lines, ends included; only the last line of the file may
    /// lack its end. A byte order mark before the first line is left out. False at the end of the file.
    ///
    /// # Errors
    /// [`IoError::Read`], [`IoError::Corrupt`] where compressed data are cut short or damaged; whole lines
    /// before it were returned.
    pub fn next_block(&mut self, block: &mut Vec<u8>) -> Result<bool, IoError> {
        block.clear();
        block.append(&mut self.carry);
        while !self.ended {
            let before = block.len();
            if before > HARD_LIMIT {
                let what = format!("a line of more than {} MiB: not a list of URLs", HARD_LIMIT >> 20);
                return Err(IoError::Read { path: self.path.clone(), source: io::Error::other(what) });
            }
            block.resize(before + CHUNK, 0);
            let read = match self.source.read(&mut block[before..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    block.truncate(before);
                    continue;
                }
                Err(source) => return Err(self.failure(source)),
            };
            block.truncate(before + read);
            self.ended = read == 0;
            if let Some(end) = memchr::memrchr(b'\n', &block[before..]) {
                self.carry.extend_from_slice(&block[before + end + 1..]);
                block.truncate(before + end + 1);
                break;
            }
        }
        let first = self.given == 0;
        self.given += block.len() as u64;
        if first && block.starts_with(BYTE_ORDER_MARK) {
            block.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(!block.is_empty())
    }

    fn failure(&self, source: io::Error) -> IoError {
        let path = self.path.clone();
        let damage = matches!(
            source.kind(),
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::InvalidData
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::Other
        );
        if self.compression == Compression::Plain || !damage {
            return IoError::Read { path, source };
        }
        let what = if source.kind() == io::ErrorKind::UnexpectedEof { "cut short" } else { "damaged" };
        IoError::Corrupt {
            path,
            compression: self.compression,
            what,
            position: self.position.load(Ordering::Relaxed),
            decompressed: self.given + self.carry.len() as u64,
            source,
        }
    }
}

/// Counts the bytes read.
pub(super) struct Counted<R> {
    pub(super) inner: R,
    pub(super) position: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.position.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns at most three bytes a read.
    struct Trickle(Cursor<Vec<u8>>);

    impl Read for Trickle {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = out.len().min(3);
            self.0.read(&mut out[..n])
        }
    }

    fn blocks(text: &[u8]) -> Vec<Vec<u8>> {
        let mut blocks = LineBlocks::new(Path::new("t"), Trickle(Cursor::new(text.to_vec()))).unwrap();
        let mut all = Vec::new();
        let mut block = b"left over".to_vec();
        while blocks.next_block(&mut block).unwrap() {
            all.push(block.clone());
        }
        assert!(!blocks.next_block(&mut block).unwrap() && block.is_empty());
        all
    }

    #[test]
    fn blocks_are_whole_lines() {
        for text in ["", "a", "\n", "a\n", "one\ntwo\r\n\n\nthree four five\nsix", "no end of the line in sight"] {
            let all = blocks(text.as_bytes());
            assert_eq!(all.concat(), text.as_bytes());
            let (_, whole) = all.split_last().unwrap_or((&Vec::new(), &[])).to_owned();
            assert!(whole.iter().all(|block| block.ends_with(b"\n")), "{all:?}");
        }
    }

    #[test]
    fn a_line_is_given_out_before_the_next_is_read() {
        assert_eq!(blocks(b"ab\ncd\nef\n"), [b"ab\n", b"cd\n", b"ef\n"]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(blocks(b"\xef\xbb\xbfab\n\xef\xbb\xbfcd\n").concat(), b"ab\n\xef\xbb\xbfcd\n");
        assert_eq!(blocks(b"\xef\xbb\xbf"), Vec::<Vec<u8>>::new());
    }
}
