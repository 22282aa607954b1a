//! Files that are complete or absent: written under a temporary name, renamed when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::stamp::Stamp;
use crate::io::compression::{Compression, Encoder};
use crate::io::error::IoError;
use crate::model::Hasher128;
use crate::temporary::TemporaryFile;

/// Writes a file that is complete or absent: see [`PendingFile::create`].
///
/// # Errors
/// [`IoError::Write`], also where `fill` fails; the temporary file is then removed and an older file
/// stays.
pub fn atomic_write<T>(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<T, IoError> {
    let mut file = PendingFile::create(path)?;
    let value = fill(&mut file).map_err(IoError::write(path))?;
    file.commit()?;
    Ok(value)
}

/// A file being written under a temporary name ([`TemporaryFile::beside`]), compressed by its final
/// name (`.gz`, `.zst`). [`commit`] gives it that name; dropped without, it is removed. Where the final
/// name is a device or a pipe, it is written to directly.
///
/// [`commit`]: Self::commit
pub struct PendingFile {
    /// Taken by `complete`.
    encoder: Option<Encoder<BufWriter<Hashed>>>,
    path: PathBuf,
    /// `None` for a device.
    temporary: Option<TemporaryFile>,
}

impl PendingFile {
    /// Opens the temporary file beside `path`. A symbolic link at `path` is followed: its target is
    /// replaced, not it. For files that the user names.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn create(path: &Path) -> Result<Self, IoError> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
            let device = OpenOptions::new().write(true).open(&path).map_err(IoError::write(&path))?;
            return PendingFile::over(device, None, path);
        }
        PendingFile::replace(&path)
    }

    /// Opens the temporary file beside `path`. A file or symbolic link at `path` is replaced. For files
    /// whose names the user does not choose.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn replace(path: &Path) -> Result<Self, IoError> {
        let (file, temporary) = TemporaryFile::beside(path).map_err(IoError::write(path))?;
        PendingFile::over(file, Some(temporary), path.to_owned())
    }

    fn over(file: File, temporary: Option<TemporaryFile>, path: PathBuf) -> Result<Self, IoError> {
        let hashed = Hashed { file, hasher: Hasher128::default(), bytes: 0 };
        let buffered = BufWriter::with_capacity(256 << 10, hashed);
        let encoder = Encoder::new(Compression::of_name(&path), buffered).map_err(IoError::write(&path))?;
        Ok(Self { encoder: Some(encoder), path, temporary })
    }

    /// Ends the compressed data and flushes to the disk. The file has no final name yet.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn complete(mut self) -> Result<CompleteFile, IoError> {
        let encoder = self.encoder.take().expect("taken here only, by value");
        let (path, temporary) = (std::mem::take(&mut self.path), self.temporary.take());
        let end = || -> io::Result<Stamp> {
            let Hashed { file, hasher, bytes } =
                encoder.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
            if temporary.is_some() {
                file.sync_all()?;
            }
            Ok(Stamp { hash: hasher.hash(), bytes })
        };
        let stamp = end().map_err(IoError::write(&path))?;
        Ok(CompleteFile { path, temporary, stamp })
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// [`IoError::Write`]; the final name then holds the old file, or the whole new file if only flushing
    /// the folder failed.
    pub fn commit(self) -> Result<Stamp, IoError> {
        self.complete()?.commit()
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.encoder.as_mut().expect("there until complete").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.as_mut().expect("there until complete").flush()
    }
}

/// A file that is complete on the disk but for its name; dropped, it is removed.
#[derive(Debug)]
pub struct CompleteFile {
    path: PathBuf,
    /// `None` for a device.
    temporary: Option<TemporaryFile>,
    stamp: Stamp,
}

impl CompleteFile {
    /// Stamp of its bytes.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn commit(self) -> Result<Stamp, IoError> {
        if let Some(temporary) = self.temporary {
            let named = temporary.persist(&self.path).and_then(|()| sync_folder(parent(&self.path)));
            named.map_err(IoError::write(&self.path))?;
        }
        Ok(self.stamp)
    }
}

/// A file that hashes the bytes written to it.
struct Hashed {
    file: File,
    hasher: Hasher128,
    bytes: u64,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The folder a path is in; `.` for a bare name.
pub(in crate::io) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Flushes the names in a folder to the disk.
pub(in crate::io) fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // Some network and overlay file systems do not support the operation; renames are then as durable as
        // they make them.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;
    use crate::io::compression;
    use crate::model::hash128;

    #[test]
    fn a_stamp_is_of_the_bytes_on_the_disk() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["a", "a.gz", "a.zst"] {
            let mut file = PendingFile::create(&scratch.path().join(name)).unwrap();
            (0..100_000u32).for_each(|n| file.write_all(&n.to_le_bytes()).unwrap());
            let stamp = file.commit().unwrap();
            let bytes = fs::read(scratch.path().join(name)).unwrap();
            assert_eq!(stamp, Stamp { hash: hash128(&bytes), bytes: bytes.len() as u64 });
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("f");
        atomic_write(&path, |w| w.write_all(b"old")).unwrap();
        let failed = atomic_write(&path, |w| {
            w.write_all(b"new")?;
            Err::<(), _>(io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(scratch.path()), ["f"]);
    }

    #[test]
    fn the_name_decides_the_compression_and_links_stay() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["a.tsv", "a.tsv.gz", "a.tsv.zst"] {
            let path = scratch.path().join(name);
            atomic_write(&path, |w| w.write_all(b"http://a/\n")).unwrap();
            assert_eq!(Compression::of_magic(&fs::read(&path).unwrap()), Compression::of_name(&path));
            assert_eq!(io::read_to_string(compression::open(&path).unwrap()).unwrap(), "http://a/\n");
        }
        #[cfg(unix)]
        {
            let link = scratch.path().join("link");
            std::os::unix::fs::symlink("a.tsv", &link).unwrap();
            atomic_write(&link, |w| w.write_all(b"new")).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(scratch.path().join("a.tsv")).unwrap(), b"new");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_written_to_and_not_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is in every POSIX system");
        assert!(made.success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        atomic_write(&pipe, |w| w.write_all(b"through")).unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert_eq!(names(scratch.path()), ["pipe"]);
    }
}
