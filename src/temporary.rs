//! Temporary files and folders of this process: created exclusively, under names that end in random
//! characters, and removed when dropped, or by [`remove_all`] when a signal ends the process.
//!
//! One registry holds the paths of all of them. Its lock is held while one is created, renamed or
//! removed, and [`remove_all`] never releases it: after it no temporary file comes into being and none
//! gets its final name, whatever the other threads do until the process ends. A process that is killed
//! leaves its temporary files; their names begin with a dot, or are in the scratch folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::{Builder, TempDir, TempPath};

/// Last part of the name of a file that is being written.
const PARTIAL: &str = ".partial";
/// Random characters in a name.
const RANDOM: usize = 6;
/// Bytes of a name that a temporary name may repeat; file systems allow 255.
const LONGEST: usize = 200;

/// Paths to remove.
struct Registry {
    /// By number, in the order of creation.
    paths: BTreeMap<u64, PathBuf>,
    next: u64,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { paths: BTreeMap::new(), next: 0 });
/// Held by [`uninterrupted`]; taken before the registry.
static SECTION: Mutex<()> = Mutex::new(());

impl Registry {
    fn lock() -> MutexGuard<'static, Registry> {
        REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&mut self, path: &Path) -> u64 {
        self.next += 1;
        // Absolute, so that a later change of the working folder does not matter.
        self.paths.insert(self.next, std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        self.next
    }
}

/// A file with a temporary name; dropped, the name is removed.
#[derive(Debug)]
pub struct TemporaryFile {
    /// `None` once it has its final name.
    path: Option<TempPath>,
    number: u64,
}

impl TemporaryFile {
    /// Creates `.NAME.<random>.partial` in the folder of `path`, NAME being the last part of `path`, with
    /// the permissions that the umask leaves to a new file; opened for reading and writing.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn beside(path: &Path) -> io::Result<(File, TemporaryFile)> {
        let mut prefix = std::ffi::OsString::from(".");
        if let Some(name) = path.file_name().filter(|name| name.len() <= LONGEST) {
            prefix.push(name);
            prefix.push(".");
        }
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(PARTIAL).rand_bytes(RANDOM);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        TemporaryFile::create(&builder, path.parent().unwrap_or(Path::new("")))
    }

    /// Creates `PREFIX<random>` in `folder`, for this user alone; opened for reading and writing.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn within(folder: &Path, prefix: &str) -> io::Result<(File, TemporaryFile)> {
        TemporaryFile::create(Builder::new().prefix(prefix).rand_bytes(RANDOM), folder)
    }

    fn create(builder: &Builder<'_, '_>, folder: &Path) -> io::Result<(File, TemporaryFile)> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut registry = Registry::lock();
        let (file, path) = builder.tempfile_in(folder)?.into_parts();
        let number = registry.add(&path);
        Ok((file, TemporaryFile { path: Some(path), number }))
    }

    /// Takes charge of a file that is there.
    ///
    /// # Errors
    /// When `path` is relative and there is no working folder.
    pub fn adopt(path: &Path) -> io::Result<TemporaryFile> {
        let mut registry = Registry::lock();
        let path = TempPath::try_from_path(path)?;
        let number = registry.add(&path);
        Ok(TemporaryFile { path: Some(path), number })
    }

    /// Its temporary name.
    pub fn path(&self) -> &Path {
        self.path.as_deref().expect("taken by persist and keep only, which take the value")
    }

    /// Renames it to `path`, in place of what is there.
    ///
    /// # Errors
    /// What the system refuses; the file is then removed.
    pub fn persist(mut self, path: &Path) -> io::Result<()> {
        let mut registry = Registry::lock();
        let own = self.path.take().expect("taken by value");
        registry.paths.remove(&self.number);
        own.persist(path).map_err(|failed| failed.error)
    }

    /// Leaves it where it is.
    pub fn keep(mut self) {
        let mut registry = Registry::lock();
        registry.paths.remove(&self.number);
        // Only Windows has something to undo, and may refuse it.
        self.path.take().map(TempPath::keep);
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut registry = Registry::lock();
            drop(path);
            registry.paths.remove(&self.number);
        }
    }
}

/// A folder for this user alone (mode 0700), removed with all that is in it when dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    /// Taken when dropped.
    folder: Option<TempDir>,
    number: u64,
}

impl TemporaryFolder {
    /// Creates `PREFIX<random>` in `parent`.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn within(parent: &Path, prefix: &str) -> io::Result<TemporaryFolder> {
        let mut builder = Builder::new();
        builder.prefix(prefix).rand_bytes(RANDOM);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let mut registry = Registry::lock();
        let folder = builder.tempdir_in(parent)?;
        let number = registry.add(folder.path());
        Ok(TemporaryFolder { folder: Some(folder), number })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        self.folder.as_ref().expect("there until dropped").path()
    }

    /// Creates a file without a name in it.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn unnamed_file(&self) -> io::Result<File> {
        // Where the system has no unnamed files, it has a name for a moment.
        let _registry = Registry::lock();
        tempfile::tempfile_in(self.path())
    }

    /// Removes it now, for a run whose threads never drop it. What cannot be removed is left to whoever
    /// cleans the temporary files of the machine.
    pub fn discard(&self) {
        let mut registry = Registry::lock();
        let _ = fs::remove_dir_all(self.path());
        registry.paths.remove(&self.number);
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let mut registry = Registry::lock();
        drop(self.folder.take());
        registry.paths.remove(&self.number);
    }
}

/// True for a name that [`TemporaryFile::beside`] makes for the final name `of`, and for `.OF.partial`,
/// which releases up to 0.1.0 used.
pub fn is_partial_name(name: &str, of: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(PARTIAL)?.strip_prefix(of));
    inner.is_some_and(|rest| match rest.strip_prefix('.') {
        Some(random) => random.len() == RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric()),
        None => rest.is_empty(),
    })
}

/// Runs `work`, a few renames, without [`remove_all`] coming in between.
pub fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _section = SECTION.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Removes all temporary files and folders of this process, the newest first, and returns their paths.
/// The process must then end: every other thread that creates, renames or removes one blocks for ever.
pub fn remove_all() -> Vec<PathBuf> {
    let mut registry = stop();
    let paths = std::mem::take(&mut registry.paths);
    std::mem::forget(registry);
    paths.into_values().rev().filter(|path| remove(path)).collect()
}

/// Ends the use of temporary files: [`remove_all`] at another thread then blocks for ever, and where it
/// came first this call does. For the end of a process, whose exit code is decided by whichever came
/// first.
pub fn close() {
    std::mem::forget(stop());
}

fn stop() -> MutexGuard<'static, Registry> {
    std::mem::forget(SECTION.lock().unwrap_or_else(PoisonError::into_inner));
    Registry::lock()
}

/// Removes a file, or a folder with all that is in it. True when it was there and is gone.
fn remove(path: &Path) -> bool {
    // Other threads may still create files in a folder while it is emptied.
    (0..10).any(|_| match fs::symlink_metadata(path) {
        Err(_) => false,
        Ok(found) => {
            let removed = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            if removed.is_err() {
                std::thread::sleep(Duration::from_millis(2));
            }
            removed.is_ok()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn names_are_hidden_random_and_recognized() {
        let scratch = tempfile::tempdir().unwrap();
        let (_file, one) = TemporaryFile::beside(&scratch.path().join("rules.jsonl")).unwrap();
        let (_file, two) = TemporaryFile::beside(&scratch.path().join("rules.jsonl")).unwrap();
        assert_ne!(one.path(), two.path());
        for name in names(scratch.path()) {
            assert!(is_partial_name(&name, "rules.jsonl"), "{name}");
            assert!(!is_partial_name(&name, "rules"), "{name}");
        }
        assert!(is_partial_name(".rules.jsonl.partial", "rules.jsonl"));
        for other in ["rules.jsonl.partial", ".rules.jsonl.", ".rules.jsonl.abc.partial", ".rules.jsonl.abc/ef.partial"]
        {
            assert!(!is_partial_name(other, "rules.jsonl"), "{other}");
        }
        let (_file, long) = TemporaryFile::beside(&scratch.path().join("x".repeat(250))).unwrap();
        long.persist(&scratch.path().join("x".repeat(250))).unwrap();
        drop((one, two));
        assert_eq!(names(scratch.path()), ["x".repeat(250)]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_has_the_permissions_of_any_new_file_and_a_folder_is_for_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(scratch.path().join("plain"), "").unwrap();
        let (_file, temporary) = TemporaryFile::beside(&scratch.path().join("a")).unwrap();
        assert_eq!(mode(temporary.path()), mode(&scratch.path().join("plain")));
        let folder = TemporaryFolder::within(scratch.path(), "f-").unwrap();
        assert_eq!(mode(folder.path()), 0o700);
        let path = folder.path().to_owned();
        let file = folder.unnamed_file().unwrap();
        assert!(names(&path).is_empty());
        drop((folder, file));
        assert!(!path.exists());
    }
}
