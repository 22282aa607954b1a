//! Results that are whole or not there.
//!
//! A file is written under a temporary name in its own folder, flushed to the disk, renamed, and the folder flushed: a
//! reader sees the old file or the new one. A result folder carries `_SUCCESS`, written last; a folder without it is
//! refused by [`require_success`]. A run that is killed leaves temporary names and no `_SUCCESS`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::compression::{Compression, Encoder};
use super::error::IoError;

/// The mark of a result that is whole.
pub const SUCCESS: &str = "_SUCCESS";
/// The sub-folder for what `--resume` takes up.
pub const WORK: &str = ".work";
/// The files of a result.
pub const FILES: [&str; 4] = ["rules.jsonl", "summary.json", "rejects.jsonl", "seen.bin"];
/// What people put beside a result: it stays when the result is replaced.
pub const KEPT: [&str; 1] = ["overrides.jsonl"];
/// Follows the name of a file that is being written; a dot goes before it.
const PARTIAL: &str = ".partial";

/// What becomes of what an output folder holds already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// The folder must be empty or absent.
    #[default]
    Refuse,
    /// An earlier result is removed (`--overwrite`); a folder that holds anything else is refused.
    Overwrite,
    /// The work of a run that did not end is kept, its files are removed (`--resume`); else as `Refuse`. Whether the
    /// work belongs to the same input and parameters is for its reader to check.
    Resume,
}

/// The folder of one result, being written.
#[derive(Debug)]
pub struct OutputDir {
    path: PathBuf,
}

impl OutputDir {
    /// Makes the folder ready, parents included. Of an earlier result `_SUCCESS` goes first, so that at no moment a
    /// mixture of two results looks whole. Only files named in [`FILES`], [`SUCCESS`], [`WORK`] and their temporary
    /// names are ever removed; those named in [`KEPT`] stay.
    ///
    /// # Errors
    /// [`IoError::NotAFolder`], [`IoError::NotEmpty`], [`IoError::Foreign`], [`IoError::Complete`], or what the system
    /// refuses.
    pub fn create(path: &Path, existing: Existing) -> Result<Self, IoError> {
        match fs::metadata(path) {
            Ok(meta) if !meta.is_dir() => return Err(IoError::NotAFolder { path: path.to_owned() }),
            Ok(_) => clear(path, existing)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(path).map_err(IoError::write(path))?;
                // The new name must outlive a crash as the files in it do.
                sync_folder(parent(path)).map_err(IoError::write(path))?;
            }
            Err(error) => return Err(IoError::read(path)(error)),
        }
        Ok(Self { path: path.to_owned() })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder for resumable work, made if need be.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn work(&self) -> Result<PathBuf, IoError> {
        let path = self.path.join(WORK);
        fs::create_dir_all(&path).map_err(IoError::write(&path))?;
        Ok(path)
    }

    /// Writes one file of the result ([`atomic_write`]); `name` is one of [`FILES`].
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn write<T>(&self, name: &str, fill: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<T, IoError> {
        debug_assert!(FILES.contains(&name), "{name} would be foreign to a later --overwrite");
        atomic_write(&self.path.join(name), fill)
    }

    /// Removes the resumable work and marks the result as whole.
    ///
    /// # Errors
    /// [`IoError::Write`]; the result is then not marked.
    pub fn finish(self) -> Result<(), IoError> {
        remove(&self.path.join(WORK))?;
        atomic_write(&self.path.join(SUCCESS), |_| Ok(()))
    }
}

/// Refuses a result folder without `_SUCCESS`, unless `allow_partial`.
///
/// # Errors
/// [`IoError::NotFound`], [`IoError::NotAFolder`], [`IoError::Incomplete`], or what the system refuses.
pub fn require_success(folder: &Path, allow_partial: bool) -> Result<(), IoError> {
    if !fs::metadata(folder).map_err(IoError::read(folder))?.is_dir() {
        return Err(IoError::NotAFolder { path: folder.to_owned() });
    }
    let mark = folder.join(SUCCESS);
    if allow_partial || mark.try_exists().map_err(IoError::read(&mark))? {
        return Ok(());
    }
    Err(IoError::Incomplete { path: folder.to_owned() })
}

/// Writes a file that is whole or not there: see [`PendingFile`].
///
/// # Errors
/// [`IoError::Write`], also where `fill` fails; the temporary file is then removed and an older file stays.
pub fn atomic_write<T>(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<T, IoError> {
    let mut file = PendingFile::create(path)?;
    let value = fill(&mut file).map_err(IoError::write(path))?;
    file.commit()?;
    Ok(value)
}

/// A file being written under a temporary name, compressed as its final name says (`.gz`, `.zst`). [`commit`] gives it
/// that name; dropped without, it is removed. Where the final name is a device or a pipe, it is written to directly.
///
/// [`commit`]: Self::commit
pub struct PendingFile {
    /// Taken by `commit`.
    encoder: Option<Encoder<BufWriter<File>>>,
    path: PathBuf,
    /// `None` for a device.
    temporary: Option<PathBuf>,
}

impl PendingFile {
    /// Opens the temporary file beside `path`. A symbolic link at `path` is followed: its target is replaced, not it.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn create(path: &Path) -> Result<Self, IoError> {
        let failed = || IoError::write(path);
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let special = fs::metadata(&path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        let temporary = (!special).then(|| temporary_name(&path));
        let target = temporary.as_ref().unwrap_or(&path);
        let file = OpenOptions::new().write(true).create(!special).truncate(!special).open(target).map_err(failed())?;
        let buffered = BufWriter::with_capacity(256 << 10, file);
        let encoder = Some(Encoder::new(Compression::of_name(&path), buffered).map_err(failed())?);
        Ok(Self { encoder, path, temporary })
    }

    /// Ends the compressed data, flushes to the disk and gives the file its name.
    ///
    /// # Errors
    /// [`IoError::Write`]; the final name then holds what it held, or the whole new file if only flushing the folder
    /// failed.
    pub fn commit(mut self) -> Result<(), IoError> {
        let encoder = self.encoder.take().expect("only commit takes the encoder, and it takes the file by value");
        let end = || -> io::Result<()> {
            let file = encoder.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
            let Some(temporary) = &self.temporary else { return Ok(()) };
            file.sync_all()?;
            fs::rename(temporary, &self.path)
        };
        end().map_err(IoError::write(&self.path))?;
        if self.temporary.take().is_some() {
            sync_folder(parent(&self.path)).map_err(IoError::write(&self.path))?;
        }
        Ok(())
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.encoder.as_mut().expect("there until commit").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.as_mut().expect("there until commit").flush()
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nobody is left to tell; a temporary name is never taken for a result.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Empties an output folder as far as `existing` allows.
fn clear(path: &Path, existing: Existing) -> Result<(), IoError> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(IoError::read(path))? {
        entries.push(entry.map_err(IoError::read(path))?.file_name());
    }
    entries.sort_unstable();
    let kept = |name: &std::ffi::OsString| name.to_str().is_some_and(|name| KEPT.contains(&name));
    if existing != Existing::Refuse {
        entries.retain(|name| !kept(name));
    }
    let Some(first) = entries.first() else { return Ok(()) };
    let not_empty = |entry: &std::ffi::OsString| (path.to_owned(), entry.to_string_lossy().into_owned());
    if existing == Existing::Refuse {
        let (path, entry) = not_empty(first);
        return Err(IoError::NotEmpty { path, entry });
    }
    if let Some(foreign) = entries.iter().find(|name| !name.to_str().is_some_and(ours)) {
        let (path, entry) = not_empty(foreign);
        return Err(IoError::Foreign { path, entry });
    }
    let marked = entries.iter().any(|name| name == SUCCESS);
    if marked && existing == Existing::Resume {
        return Err(IoError::Complete { path: path.to_owned() });
    }
    if marked {
        remove(&path.join(SUCCESS))?;
        sync_folder(path).map_err(IoError::write(path))?;
    }
    for name in entries.iter().filter(|&name| name != SUCCESS && (existing == Existing::Overwrite || name != WORK)) {
        remove(&path.join(name))?;
    }
    sync_folder(path).map_err(IoError::write(path))
}

/// True for the names that undust writes into an output folder.
fn ours(name: &str) -> bool {
    let partial = name.strip_prefix('.').and_then(|name| name.strip_suffix(PARTIAL));
    let name = partial.unwrap_or(name);
    FILES.contains(&name) || name == SUCCESS || (name == WORK && partial.is_none())
}

/// Removes a file, or the work folder and what is in it; links are removed, not followed. Absent is well.
fn remove(path: &Path) -> Result<(), IoError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() && path.ends_with(WORK) => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IoError::write(path)(error)),
        _ => Ok(()),
    }
}

/// `.NAME.partial` beside the file.
fn temporary_name(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(PARTIAL);
    path.with_file_name(name)
}

/// The folder a path is in; `.` for a bare name.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Flushes the names in a folder to the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // Some network and overlay file systems do not know the operation; renames are then as durable as they make them.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn fill(folder: &Path, names: &[&str]) {
        fs::create_dir_all(folder.join(WORK).join("sites")).unwrap();
        names.iter().for_each(|name| fs::write(folder.join(name), "old").unwrap());
    }

    #[test]
    fn a_result_is_marked_last() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("a/b");
        let out = OutputDir::create(&folder, Existing::Refuse).unwrap();
        assert!(matches!(require_success(&folder, false), Err(IoError::Incomplete { .. })));
        require_success(&folder, true).unwrap();
        fs::write(out.work().unwrap().join("journal"), "x").unwrap();
        out.write("rules.jsonl", |w| w.write_all(b"rules")).unwrap();
        assert_eq!(names(&folder), [WORK, "rules.jsonl"]);
        out.finish().unwrap();
        assert_eq!(names(&folder), [SUCCESS, "rules.jsonl"]);
        require_success(&folder, false).unwrap();
    }

    #[test]
    fn what_is_there_is_refused_unless_told() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("out");
        let create = |existing| OutputDir::create(&folder, existing).map(|_| names(&folder));
        fill(&folder, &["rules.jsonl", SUCCESS, ".summary.json.partial"]);
        assert!(
            matches!(create(Existing::Refuse), Err(IoError::NotEmpty { entry, .. }) if entry == ".summary.json.partial")
        );
        assert!(matches!(create(Existing::Resume), Err(IoError::Complete { .. })));
        assert_eq!(create(Existing::Overwrite).unwrap(), [""; 0]);
        fill(&folder, &["rules.jsonl", "._SUCCESS.partial"]);
        assert_eq!(create(Existing::Resume).unwrap(), [WORK]);
        assert!(folder.join(WORK).join("sites").is_dir());
        for foreign in ["thesis.tex", "rules.jsonl.partial", "..work.partial"] {
            fill(&folder, &["rules.jsonl", SUCCESS, foreign]);
            for existing in [Existing::Overwrite, Existing::Resume] {
                assert!(matches!(create(existing), Err(IoError::Foreign { entry, .. }) if entry == foreign));
            }
            assert_eq!(names(&folder).len(), 4, "nothing was touched");
            fs::remove_file(folder.join(foreign)).unwrap();
        }
        let file = folder.join("rules.jsonl");
        assert!(matches!(OutputDir::create(&file, Existing::Overwrite), Err(IoError::NotAFolder { .. })));
        assert!(matches!(require_success(&scratch.path().join("no"), true), Err(IoError::NotFound { .. })));
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
            assert_eq!(io::read_to_string(super::super::compression::open(&path).unwrap()).unwrap(), "http://a/\n");
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
