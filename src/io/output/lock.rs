//! The lock of a result folder: one process at a time changes its files.
//!
//! The file `.undust-lock` is locked by the system (`flock`), so the lock of a process that is killed
//! is free at once and its file is reused. Where the file system has no locks, the file itself is the
//! lock, and one that a killed process left must be removed by hand, as the error says.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::io::error::IoError;
use crate::temporary::TemporaryFile;

/// Name of the lock file in a result folder.
pub const LOCK: &str = ".undust-lock";

/// Bytes of a lock file that are read.
const LONGEST: u64 = 300;

/// The exclusive right to change a folder; released when dropped.
#[derive(Debug)]
pub struct FolderLock {
    folder: PathBuf,
    /// `None` once dropped.
    name: Option<TemporaryFile>,
    file: File,
}

impl FolderLock {
    /// Takes the lock of an existing folder, at once or not at all.
    ///
    /// # Errors
    /// [`IoError::Locked`] while another process has it, [`IoError::NoLocks`], or the error of the system.
    pub fn take(folder: &Path) -> Result<FolderLock, IoError> {
        let path = folder.join(LOCK);
        loop {
            let (file, created) = open(&path).map_err(IoError::write(&path))?;
            match verdict(file.try_lock(), created) {
                // A link to another file, or no file at all: it was planted, and writing would destroy its target.
                Verdict::Ours if names(&path, &file) && !is_single(&file) => {
                    return Err(IoError::Foreign { path: folder.to_owned(), entry: LOCK.to_owned() });
                }
                Verdict::Ours if names(&path, &file) => {
                    let name = TemporaryFile::adopt(&path).map_err(IoError::write(&path))?;
                    let lock = FolderLock { folder: folder.to_owned(), name: Some(name), file };
                    lock.sign().map_err(IoError::write(&path))?;
                    return Ok(lock);
                }
                // Its holder removed it between opening and locking: it locks nothing.
                Verdict::Ours => {}
                Verdict::Taken => return Err(IoError::Locked { path: folder.to_owned(), holder: holder(&file) }),
                Verdict::Unknown => return Err(IoError::NoLocks { path, holder: holder(&file) }),
                Verdict::Failed(source) => return Err(IoError::write(&path)(source)),
            }
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks that the lock is still valid: neither its file nor the folder was removed meanwhile. To be
    /// called before a file of the result gets its name.
    ///
    /// # Errors
    /// [`IoError::LockLost`].
    pub fn check(&self) -> Result<(), IoError> {
        match names(&self.folder.join(LOCK), &self.file) {
            true => Ok(()),
            false => Err(IoError::LockLost { path: self.folder.clone() }),
        }
    }

    /// Writes the holder of the lock.
    fn sign(&self) -> io::Result<()> {
        self.file.set_len(0)?;
        writeln!(&self.file, "process {} on {}", std::process::id(), host())
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // While the lock is held, so that no other process can take a file that is about to go.
        match self.name.take() {
            Some(name) if !names(name.path(), &self.file) => name.keep(),
            name => drop(name),
        }
    }
}

/// Result of an attempt to lock.
enum Verdict {
    Ours,
    Taken,
    /// The file system has no locks, and the file was there before.
    Unknown,
    Failed(io::Error),
}

fn verdict(tried: Result<(), TryLockError>, created: bool) -> Verdict {
    match tried {
        Ok(()) => Verdict::Ours,
        Err(TryLockError::WouldBlock) => Verdict::Taken,
        Err(TryLockError::Error(error)) if !means_no_locks(&error) => Verdict::Failed(error),
        Err(TryLockError::Error(_)) if created => Verdict::Ours,
        Err(TryLockError::Error(_)) => Verdict::Unknown,
    }
}

/// True for the errors of a file system without locks; NFS without its lock service reports that no
/// locks are left.
fn means_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
}

/// Opens the lock file; true where it was created here. A symbolic link is refused, not followed.
fn open(path: &Path) -> io::Result<(File, bool)> {
    loop {
        match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (file, true)),
        }
        match no_link(OpenOptions::new().read(true).write(true)).open(path) {
            // Removed in between.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found.map(|file| (file, false)),
        }
    }
}

/// Refuses to open a symbolic link.
pub(in crate::io) fn no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    options
}

/// True where `path` is the name of `file`.
fn names(path: &Path, file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
        fs::symlink_metadata(path).ok().map(identity) == file.metadata().ok().map(identity)
    }
    #[cfg(not(unix))]
    {
        // A file that is open keeps its name there.
        let _ = file;
        path.exists()
    }
}

/// True for a regular file with one name.
fn is_single(file: &File) -> bool {
    let Ok(meta) = file.metadata() else { return false };
    #[cfg(unix)]
    let names = std::os::unix::fs::MetadataExt::nlink(&meta);
    #[cfg(not(unix))]
    let names = 1;
    meta.is_file() && names == 1
}

/// Text in the lock file about its holder.
fn holder(file: &File) -> String {
    let mut text = String::new();
    let _ = file.take(LONGEST).read_to_string(&mut text);
    match text.trim() {
        // The holder has not written it yet.
        "" => "another process".to_owned(),
        text => text.escape_default().to_string(),
    }
}

fn host() -> String {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    "this host".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_it_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        let refused = FolderLock::take(folder.path()).unwrap_err().to_string();
        let own = format!("process {} on {}", std::process::id(), host());
        assert!(refused.contains(&own) && refused.contains(&folder.path().display().to_string()), "{refused}");
        drop(lock);
        assert!(!folder.path().join(LOCK).exists());
        drop(FolderLock::take(folder.path()).unwrap());
    }

    #[test]
    fn a_file_that_a_killed_process_left_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LOCK), "process 1 on a host with a very long name that is overwritten\n").unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(LOCK)).unwrap();
        assert_eq!(text, format!("process {} on {}\n", std::process::id(), host()));
        drop(lock);
        assert!(!folder.path().join(LOCK).exists());
    }

    #[test]
    fn a_lock_that_was_removed_by_hand_does_not_take_that_of_another_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        fs::remove_file(folder.path().join(LOCK)).unwrap();
        let second = FolderLock::take(folder.path()).unwrap();
        drop(first);
        assert!(folder.path().join(LOCK).exists());
        drop(second);
    }

    #[test]
    fn a_lock_that_was_replaced_locks_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        lock.check().unwrap();
        fs::remove_file(folder.path().join(LOCK)).unwrap();
        assert!(matches!(lock.check(), Err(IoError::LockLost { .. })));
        let _other = FolderLock::take(folder.path()).unwrap();
        assert!(matches!(lock.check(), Err(IoError::LockLost { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_planted_in_its_place_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (precious, path) = (folder.path().join("precious"), folder.path().join(LOCK));
        fs::write(&precious, "precious").unwrap();
        fs::hard_link(&precious, &path).unwrap();
        assert!(matches!(FolderLock::take(folder.path()), Err(IoError::Foreign { .. })));
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(matches!(FolderLock::take(folder.path()), Err(IoError::Foreign { .. })));
        assert!(path.exists(), "it is not ours");
    }

    #[test]
    fn threads_that_race_for_it_never_have_it_together() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let (holders, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let Ok(lock) = FolderLock::take(folder.path()) else { continue };
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        holders.fetch_sub(1, Ordering::SeqCst);
                        taken.fetch_add(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }

    #[test]
    fn without_locks_the_file_itself_is_the_lock() {
        let none = || Err(TryLockError::Error(io::ErrorKind::Unsupported.into()));
        assert!(matches!(verdict(none(), true), Verdict::Ours));
        assert!(matches!(verdict(none(), false), Verdict::Unknown));
        assert!(matches!(verdict(Err(TryLockError::Error(io::Error::other("x"))), true), Verdict::Failed(_)));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("precious"), "mine").unwrap();
        std::os::unix::fs::symlink("precious", folder.path().join(LOCK)).unwrap();
        let refused = FolderLock::take(folder.path()).unwrap_err().to_string();
        assert!(refused.contains(LOCK), "{refused}");
        assert_eq!(fs::read(folder.path().join("precious")).unwrap(), b"mine");
    }
}
