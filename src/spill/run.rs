//! Runs: batches in an unnamed file, each with its length and checksum.
use super::block::{SpillColumns, bytes_of, decode, encode};
use crate::model::hash64;
use crate::temporary::TemporaryFolder;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Error of spilling. Every variant ends the run: results from lost rows would be wrong.
#[derive(Debug, thiserror::Error)]
pub enum SpillError {
    /// The scratch folder or a file in it cannot be used (disk full, no right to write).
    #[error("scratch folder {}: {source} (choose another one with --scratch, or raise --memory)", path.display())]
    Io {
        /// The scratch folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A block is not what was written: the disk or the memory is at fault.
    #[error("scratch folder {}: block {block} of a spill file is damaged ({what})", path.display())]
    Damaged {
        /// The scratch folder.
        path: PathBuf,
        /// Index of the block in its file.
        block: u64,
        /// Reason.
        what: &'static str,
    },
}

/// A fresh folder of mode 0700 for the spill files of one run; removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TemporaryFolder,
}

impl Scratch {
    /// Makes the folder inside `parent`.
    ///
    /// # Errors
    /// [`SpillError::Io`] when it cannot be made.
    pub fn new(parent: &Path) -> Result<Scratch, SpillError> {
        let folder = TemporaryFolder::within(parent, "undust-spill-");
        Ok(Scratch { folder: folder.map_err(|source| SpillError::Io { path: parent.to_owned(), source })? })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the folder now, for a run that is lost, whose threads never drop it
    /// ([`TemporaryFolder::discard`]).
    pub fn discard(&self) {
        self.folder.discard();
    }

    /// Begins a run.
    ///
    /// # Errors
    /// [`SpillError::Io`] when no file can be made.
    pub fn run(&self) -> Result<RunWriter, SpillError> {
        let path = self.path().to_owned();
        match self.folder.unnamed_file() {
            Ok(file) => {
                Ok(RunWriter { file: BufWriter::with_capacity(1 << 18, file), buffer: Vec::new(), blocks: 0, path })
            }
            Err(source) => Err(SpillError::Io { path, source }),
        }
    }
}

/// Bytes before a block: its length and the hash of its contents, as native `u64`s (never read
/// elsewhere).
const HEADER: usize = 16;

/// A run that is being written.
#[derive(Debug)]
pub struct RunWriter {
    file: BufWriter<File>,
    buffer: Vec<u8>,
    blocks: u64,
    path: PathBuf,
}

impl RunWriter {
    /// Appends a batch.
    ///
    /// # Errors
    /// [`SpillError::Io`] when the file cannot take it.
    pub fn write(&mut self, columns: &SpillColumns) -> Result<(), SpillError> {
        self.buffer.clear();
        encode(columns, &mut self.buffer);
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&(self.buffer.len() as u64).to_ne_bytes());
        header[8..].copy_from_slice(&hash64(&self.buffer).to_ne_bytes());
        self.blocks += 1;
        let written = self.file.write_all(&header).and_then(|()| self.file.write_all(&self.buffer));
        written.map_err(|source| SpillError::Io { path: self.path.clone(), source })
    }

    /// Ends the run.
    ///
    /// # Errors
    /// [`SpillError::Io`] when the file cannot take what was still buffered.
    pub fn finish(self) -> Result<Run, SpillError> {
        let RunWriter { file, blocks, path, .. } = self;
        let file = file.into_inner().map_err(|e| e.into_error()).and_then(|mut f| f.rewind().map(|()| f));
        match file {
            Ok(file) => Ok(Run { file, blocks, path }),
            Err(source) => Err(SpillError::Io { path, source }),
        }
    }
}

/// A finished run.
#[derive(Debug)]
pub struct Run {
    file: File,
    blocks: u64,
    path: PathBuf,
}

impl Run {
    /// Reads it from the front. `buffer` is the size of the read buffer in bytes.
    ///
    /// # Errors
    /// [`SpillError::Io`] when the system does not report the length of the file.
    pub fn reader(self, buffer: usize) -> Result<RunReader, SpillError> {
        let left = match self.file.metadata() {
            Ok(metadata) => metadata.len(),
            Err(source) => return Err(SpillError::Io { path: self.path, source }),
        };
        Ok(RunReader {
            left,
            file: BufReader::with_capacity(buffer, self.file),
            words: Vec::new(),
            next: 0,
            blocks: self.blocks,
            path: self.path,
        })
    }
}

/// A batch in the buffer it was read into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    /// See [`SpillColumns::wide`].
    pub wide: &'a [u64],
    /// See [`SpillColumns::mid`].
    pub mid: &'a [u32],
    /// See [`SpillColumns::bytes`].
    pub bytes: &'a [u8],
}

/// Reads a run once, batch by batch; holds one batch in memory.
#[derive(Debug)]
pub struct RunReader {
    file: BufReader<File>,
    words: Vec<u64>,
    next: u64,
    /// Bytes of the file not yet read.
    left: u64,
    blocks: u64,
    path: PathBuf,
}

impl RunReader {
    /// Goes to the next batch; `false` at the end.
    ///
    /// # Errors
    /// [`SpillError`] when a block cannot be read or is not what was written.
    pub fn advance(&mut self) -> Result<bool, SpillError> {
        self.words.clear();
        if self.next == self.blocks {
            return Ok(false);
        }
        let block = self.next;
        self.next += 1;
        let mut header = [0; HEADER];
        self.fill(block, &mut header)?;
        let half = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        let (length, sum) = (half(0), half(8));
        // The checksum does not cover the length: it is believed only as far as the file goes.
        if !length.is_multiple_of(8) || length > self.left {
            return Err(self.damaged(block, "length or truncated"));
        }
        let mut words = std::mem::take(&mut self.words);
        words.resize((length / 8) as usize, 0);
        self.fill(block, bytes_of(&mut words))?;
        if hash64(bytes_of(&mut words)) != sum {
            return Err(self.damaged(block, "checksum"));
        }
        self.words = words;
        if decode(&mut self.words).is_none() {
            return Err(self.damaged(block, "shorter than it claims"));
        }
        Ok(true)
    }

    /// The batch that [`advance`](Self::advance) went to; empty before the first and after the last.
    pub fn view(&mut self) -> View<'_> {
        if self.words.is_empty() {
            return View { wide: &[], mid: &[], bytes: &[] };
        }
        let (wide, mid, bytes) = decode(&mut self.words).expect("decoded before, in advance");
        View { wide, mid, bytes }
    }

    fn fill(&mut self, block: u64, into: &mut [u8]) -> Result<(), SpillError> {
        self.left = self.left.saturating_sub(into.len() as u64);
        self.file.read_exact(into).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged(block, "truncated"),
            _ => SpillError::Io { path: self.path.clone(), source },
        })
    }

    fn damaged(&self, block: u64, what: &'static str) -> SpillError {
        SpillError::Damaged { path: self.path.clone(), block, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(n: u64) -> SpillColumns {
        SpillColumns {
            wide: (0..n * 3).collect(),
            mid: (0..n as u32).collect(),
            bytes: (0..n * 5 + 1).map(|b| b as u8).collect(),
        }
    }

    fn run_of(sizes: &[u64]) -> (Scratch, Run) {
        let scratch = Scratch::new(&std::env::temp_dir()).expect("a folder");
        let mut writer = scratch.run().expect("a file");
        for &n in sizes {
            writer.write(&batch(n)).expect("written");
        }
        let run = writer.finish().expect("finished");
        (scratch, run)
    }

    fn read_all(run: Run) -> Result<Vec<SpillColumns>, SpillError> {
        let mut reader = run.reader(1 << 12)?;
        let mut out = Vec::new();
        while reader.advance()? {
            let view = reader.view();
            out.push(SpillColumns { wide: view.wide.to_vec(), mid: view.mid.to_vec(), bytes: view.bytes.to_vec() });
        }
        Ok(out)
    }

    #[test]
    fn a_run_gives_back_its_batches() {
        let sizes = [0, 1, 2, 1000, 3];
        let (_scratch, run) = run_of(&sizes);
        assert_eq!(read_all(run).expect("read"), sizes.map(batch));
    }

    #[test]
    fn every_flipped_byte_is_found() {
        let length = {
            let (_scratch, run) = run_of(&[2, 3]);
            run.file.metadata().expect("length").len()
        };
        for at in 0..length {
            let (_scratch, mut run) = run_of(&[2, 3]);
            run.file.seek(io::SeekFrom::Start(at)).expect("seek");
            let mut byte = [0];
            run.file.read_exact(&mut byte).expect("read");
            run.file.seek(io::SeekFrom::Start(at)).expect("seek");
            run.file.write_all(&[byte[0] ^ 0x40]).expect("write");
            run.file.rewind().expect("rewind");
            assert!(matches!(read_all(run), Err(SpillError::Damaged { .. })), "byte {at}");
        }
    }

    #[test]
    fn every_truncation_is_found() {
        let (_scratch, run) = run_of(&[2, 3]);
        let length = run.file.metadata().expect("length").len();
        for at in 0..length {
            let (_scratch, run) = run_of(&[2, 3]);
            run.file.set_len(at).expect("cut");
            assert!(matches!(read_all(run), Err(SpillError::Damaged { .. })), "cut at {at}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_ours_alone_and_goes_away() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new(&std::env::temp_dir()).expect("a folder");
        let path = scratch.path().to_owned();
        let mode = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let writer = scratch.run().expect("a file");
        assert_eq!(std::fs::read_dir(&path).expect("listed").count(), 0, "spill files have no name");
        drop((writer, scratch));
        assert!(!path.exists());
    }
}
