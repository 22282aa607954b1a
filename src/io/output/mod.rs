//! Results that are complete or absent.
//!
//! A file is written under a temporary name in its own folder, flushed to the disk, renamed, and the
//! folder flushed: a reader sees the old file or the new one ([`pending`]). A result folder carries
//! `_SUCCESS` ([`mark`]), which is written last and holds the stamps of its files; a folder without it
//! is refused by [`ResultFolder`], and so is a file that was changed since. One process at a time
//! changes a folder ([`lock`]). The files of a new result get their names when all of them are on the
//! disk, between the removal of the old mark and the new one: until then an older result is kept and can
//! be read. A run that is killed leaves temporary names, a lock file without a holder, and the older
//! result or none.

mod lock;
mod mark;
mod pending;
pub(super) mod stamp;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::IoError;
use crate::temporary;
pub(super) use lock::no_link;
pub use lock::{FolderLock, LOCK};
pub use mark::{CheckedFile, Mark, ResultFolder, SUCCESS, stamp_of};
pub use pending::{CompleteFile, PendingFile, atomic_write};
pub(super) use pending::{parent, sync_folder};
pub use stamp::Stamp;

/// The sub-folder of resumable work (`--resume`).
pub const WORK: &str = ".work";
/// The files of a result of `learn`, except its further pages ([`is_page`]).
pub const FILES: [&str; 6] =
    ["rules.jsonl", "summary.json", "profiles.jsonl", "rejects.jsonl", "report.html", "seen.bin"];
/// Files of people beside a result: kept when the result is replaced, and not named in the mark.
pub const KEPT: [&str; 1] = ["overrides.jsonl"];

/// Treatment of the contents of an output folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// The folder must be empty or absent.
    #[default]
    Refuse,
    /// An earlier result is replaced when the new one is whole (`--overwrite`); a folder that holds
    /// anything else is refused.
    Overwrite,
    /// The work of a run that did not end is kept, its files are removed (`--resume`); else as `Refuse`.
    /// Whether the work belongs to the same input and parameters is for its reader to check.
    Resume,
}

/// The folder of one result, being written: locked until it is dropped.
#[derive(Debug)]
pub struct OutputDir {
    lock: FolderLock,
    /// The files written so far, by name.
    files: Vec<(String, CompleteFile)>,
    /// The folder was created by this run.
    made: bool,
}

impl OutputDir {
    /// Prepares the folder, parents included, and locks it. A complete earlier result is kept until the new
    /// one replaces it. Only files named in [`FILES`], [`SUCCESS`], [`WORK`] and their temporary names are
    /// ever removed; those named in [`KEPT`] stay.
    ///
    /// # Errors
    /// Errors of [`make_folder`], [`IoError::Locked`], [`IoError::NotEmpty`], [`IoError::Foreign`],
    /// [`IoError::Complete`], or the error of the system.
    pub fn create(path: &Path, existing: Existing) -> Result<Self, IoError> {
        let made = make_folder(path)?;
        let lock = FolderLock::take(path)?;
        clear(path, existing)?;
        Ok(Self { lock, files: Vec::new(), made })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.lock.folder()
    }

    /// The folder for resumable work, created if necessary.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn work(&self) -> Result<PathBuf, IoError> {
        let path = self.path().join(WORK);
        fs::create_dir_all(&path).map_err(IoError::write(&path))?;
        Ok(path)
    }

    /// Writes one file of the result. It gets its name with the others.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn write(&mut self, name: &str, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), IoError> {
        let file = written(&self.path().join(name), fill)?;
        self.lock.check()?;
        self.files.push((name.to_owned(), file));
        Ok(())
    }

    /// Gives the folder up: releases the lock, and removes the folder where it was created here and is
    /// empty.
    pub fn abandon(self) {
        let (path, made) = (self.path().to_owned(), self.made);
        drop(self);
        if made {
            // Any file in it is kept, and the folder with it.
            let _ = fs::remove_dir(path);
        }
    }

    /// Gives the files their names, in place of an earlier result, removes the resumable work and marks the
    /// result as complete. An interrupt is deferred until then.
    ///
    /// # Errors
    /// [`IoError::Write`]; the result is then not marked.
    pub fn finish(mut self) -> Result<(), IoError> {
        temporary::uninterrupted(|| {
            let mark = self.name_files()?;
            remove(&self.path().join(WORK))?;
            mark_complete(&self.lock, &mark)
        })
    }

    /// Gives the files their names, in place of an earlier result, and no mark: for results that are
    /// whole but not to be trusted. Resumable work is kept.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn leave_unmarked(mut self) -> Result<(), IoError> {
        temporary::uninterrupted(|| self.name_files().map(drop))
    }

    /// Removes the mark and the files of an earlier result and gives those of this one their names.
    fn name_files(&mut self) -> Result<Mark, IoError> {
        self.lock.check()?;
        let folder = self.path().to_owned();
        remove(&folder.join(SUCCESS))?;
        sync_folder(&folder).map_err(IoError::write(&folder))?;
        let is_new = |name: &String| self.files.iter().any(|(new, _)| new == name);
        for old in files_in(&folder)?.iter().filter(|name| !is_new(name)) {
            remove(&folder.join(old))?;
        }
        let mut mark = Mark::default();
        for (name, file) in std::mem::take(&mut self.files) {
            mark.put(&name, file.commit()?);
        }
        Ok(mark)
    }
}

/// A folder whose files are replaced or added one by one: locked until it is dropped.
#[derive(Debug)]
pub struct Amendment {
    lock: FolderLock,
    /// `None` where the folder has none, and gets none.
    mark: Option<Mark>,
}

impl Amendment {
    /// Locks the folder.
    ///
    /// # Errors
    /// [`IoError::Locked`], [`IoError::BadMark`], or the error of the system.
    pub fn begin(folder: &Path) -> Result<Amendment, IoError> {
        let lock = FolderLock::take(folder)?;
        let mark = Mark::read(folder)?;
        Ok(Amendment { lock, mark })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.lock.folder()
    }

    /// Writes a file of the result, in place of an older one. Where the folder is marked, the mark is
    /// removed before the file has its name, and a new one that names the file is written after: a crash in
    /// between leaves no mark. An empty mark, or none, is kept so.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn write(&mut self, name: &str, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), IoError> {
        let folder = self.path().to_owned();
        let file = written(&folder.join(name), fill)?;
        let mark = match &mut self.mark {
            None => None,
            Some(mark) => {
                if !mark.is_empty() {
                    mark.put(name, file.stamp());
                }
                Some(mark_file(&folder, mark)?)
            }
        };
        self.lock.check()?;
        // All bytes are on the disk; an interrupt is deferred until after the three renames.
        temporary::uninterrupted(|| {
            if mark.is_some() {
                remove(&folder.join(SUCCESS))?;
                sync_folder(&folder).map_err(IoError::write(&folder))?;
            }
            file.commit()?;
            mark.map_or(Ok(()), |mark| mark.commit().map(drop))
        })
    }
}

/// Makes a folder, parents included, unless it is there. Returns whether it was made.
///
/// # Errors
/// [`IoError::NotAFolder`], [`IoError::DanglingLink`], or the error of the system.
pub fn make_folder(path: &Path) -> Result<bool, IoError> {
    match fs::metadata(path) {
        Ok(meta) if !meta.is_dir() => Err(IoError::NotAFolder { path: path.to_owned() }),
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // The error of the system would be that the name exists.
            if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
                return Err(IoError::DanglingLink { path: path.to_owned() });
            }
            fs::create_dir_all(path).map_err(IoError::write(path))?;
            // The new name must survive a crash as the files in it do.
            sync_folder(parent(path)).map_err(IoError::write(path))?;
            Ok(true)
        }
        Err(error) => Err(IoError::read(path)(error)),
    }
}

/// Marks a locked folder as a complete result with these files.
///
/// # Errors
/// [`IoError::Write`]; an older mark then is kept.
pub fn mark_complete(lock: &FolderLock, mark: &Mark) -> Result<(), IoError> {
    let file = mark_file(lock.folder(), mark)?;
    lock.check()?;
    file.commit().map(drop)
}

/// A file that is complete but for its name.
fn written(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<CompleteFile, IoError> {
    let mut file = PendingFile::replace(path)?;
    fill(&mut file).map_err(IoError::write(path))?;
    file.complete()
}

/// The mark of a folder, complete but for its name.
fn mark_file(folder: &Path, mark: &Mark) -> Result<CompleteFile, IoError> {
    written(&folder.join(SUCCESS), |file| file.write_all(mark.text().as_bytes()))
}

/// Empties an output folder as far as `existing` allows.
fn clear(path: &Path, existing: Existing) -> Result<(), IoError> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(IoError::read(path))? {
        entries.push(entry.map_err(IoError::read(path))?.file_name());
    }
    entries.retain(|name| name != LOCK);
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
    let [marked, has_work] = [SUCCESS, WORK].map(|of| entries.iter().any(|name| name == of));
    // Work beside a complete result is that of a run that was to replace it.
    if marked && existing == Existing::Resume && !has_work {
        return Err(IoError::Complete { path: path.to_owned() });
    }
    let is_kept = |name: &std::ffi::OsString| {
        let is_result = name.to_str().is_some_and(|name| name == SUCCESS || FILES.contains(&name) || is_page(name));
        marked && is_result || existing == Existing::Resume && name == WORK
    };
    for name in entries.iter().filter(|name| !is_kept(name)) {
        remove(&path.join(name))?;
    }
    sync_folder(path).map_err(IoError::write(path))
}

/// True for the name of a page of a report beside the first one: `report-7.html`.
pub fn is_page(name: &str) -> bool {
    let digits = name.strip_prefix("report-").and_then(|name| name.strip_suffix(".html"));
    digits
        .is_some_and(|digits| !digits.starts_with('0') && digits.parse::<u32>().is_ok_and(|n| n.to_string() == digits))
}

/// The names of files of a result of `learn` in a folder, sorted.
///
/// # Errors
/// Error of the system.
pub fn files_in(folder: &Path) -> Result<Vec<String>, IoError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(IoError::read(folder))? {
        let name = entry.map_err(IoError::read(folder))?.file_name();
        names.extend(name.to_str().filter(|name| FILES.contains(name) || is_page(name)).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}

/// True for the names that undust writes into an output folder.
fn ours(name: &str) -> bool {
    let partial = |of: &&str| temporary::is_partial_name(name, of);
    // A page that was being written: `.report-7.html.abcdef.partial`.
    let page = || {
        let end = name.find(".html").map_or(0, |at| at + ".html".len());
        name.get(1..end).is_some_and(|of| is_page(of) && temporary::is_partial_name(name, of))
    };
    FILES.contains(&name)
        || is_page(name)
        || [SUCCESS, WORK].contains(&name)
        || FILES.iter().chain(&KEPT).chain(&[SUCCESS]).any(partial)
        || page()
}

/// Removes a file, or the work folder with its contents; links are removed, not followed. A missing one
/// is no error.
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

/// Names in a folder, sorted.
#[cfg(test)]
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(folder: &Path, names: &[&str]) {
        fs::create_dir_all(folder.join(WORK).join("sites")).unwrap();
        names.iter().for_each(|name| fs::write(folder.join(name), "old").unwrap());
    }

    #[test]
    fn further_pages_are_ours_and_what_looks_like_them_is_not() {
        for name in ["report-1.html", "report-12.html", ".report-1.html.abcdef.partial"] {
            assert!(ours(name) && !FILES.contains(&name), "{name}");
        }
        for name in
            ["report-.html", "report-0.html", "report-01.html", "report-+1.html", "report-x.html", "report-1.htm"]
        {
            assert!(!ours(name), "{name}");
        }
        assert!(!is_page("report.html") && ours("report.html"));
    }

    #[test]
    fn a_result_is_marked_last() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("a/b");
        let mut out = OutputDir::create(&folder, Existing::Refuse).unwrap();
        assert!(matches!(ResultFolder::open(&folder, false), Err(IoError::Incomplete { .. })));
        ResultFolder::open(&folder, true).unwrap();
        fs::write(out.work().unwrap().join("journal"), "x").unwrap();
        out.write("rules.jsonl", |w| w.write_all(b"rules")).unwrap();
        assert_eq!(names(&folder).len(), 3, "a temporary name");
        out.finish().unwrap();
        assert_eq!(names(&folder), [SUCCESS, "rules.jsonl"]);
        let read = ResultFolder::open(&folder, false).unwrap().file("rules.jsonl").unwrap().unwrap();
        assert_eq!(read.read_all().unwrap(), b"rules");
        assert!(!fs::read(folder.join(SUCCESS)).unwrap().is_empty());
    }

    #[test]
    fn what_is_there_is_refused_unless_told() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("out");
        let create = |existing| OutputDir::create(&folder, existing).map(drop).map(|()| names(&folder));
        fill(&folder, &["rules.jsonl", SUCCESS, ".summary.json.partial"]);
        assert!(
            matches!(create(Existing::Refuse), Err(IoError::NotEmpty { entry, .. }) if entry == ".summary.json.partial")
        );
        fs::remove_dir_all(folder.join(WORK)).unwrap();
        assert!(matches!(create(Existing::Resume), Err(IoError::Complete { .. })));
        assert_eq!(create(Existing::Overwrite).unwrap(), [SUCCESS, "rules.jsonl"], "until there is another result");
        fs::remove_file(folder.join(SUCCESS)).unwrap();
        fill(&folder, &[]);
        assert_eq!(create(Existing::Overwrite).unwrap(), [""; 0]);
        let killed =
            ["rules.jsonl", "._SUCCESS.partial", ".summary.json.a1B2c3.partial", ".overrides.jsonl.partial", LOCK];
        fill(&folder, &killed);
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
        assert!(matches!(ResultFolder::open(&scratch.path().join("no"), true), Err(IoError::NotFound { .. })));
    }

    #[test]
    fn a_result_stays_until_the_next_one_is_whole() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("out");
        let write = |rules: &[u8], existing| {
            let mut out = OutputDir::create(&folder, existing)?;
            out.write("rules.jsonl", |w| w.write_all(rules))?;
            Ok::<_, IoError>(out)
        };
        let read = || ResultFolder::open(&folder, false)?.file("rules.jsonl")?.expect("rules").read_all();
        let mut first = write(b"old", Existing::Refuse).unwrap();
        first.write("seen.bin", |w| w.write_all(b"seen")).unwrap();
        first.finish().unwrap();
        let second = write(b"new", Existing::Overwrite).unwrap();
        assert_eq!(read().unwrap(), b"old");
        drop(second);
        assert_eq!(names(&folder), [SUCCESS, "rules.jsonl", "seen.bin"]);
        // A run that was killed has left its work; it is taken up beside the old result.
        fill(&folder, &[]);
        write(b"new", Existing::Resume).unwrap().finish().unwrap();
        assert_eq!((names(&folder), read().unwrap()), (vec![SUCCESS.into(), "rules.jsonl".into()], b"new".to_vec()));
    }

    #[test]
    fn nothing_is_written_once_the_lock_is_gone() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("out");
        let mut first = OutputDir::create(&folder, Existing::Refuse).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let mut second = OutputDir::create(&folder, Existing::Refuse).unwrap();
        assert!(matches!(first.write("rules.jsonl", |w| w.write_all(b"first")), Err(IoError::LockLost { .. })));
        second.write("rules.jsonl", |w| w.write_all(b"second")).unwrap();
        assert!(matches!(first.finish(), Err(IoError::LockLost { .. })));
        second.finish().unwrap();
        assert_eq!(fs::read(folder.join("rules.jsonl")).unwrap(), b"second");
        assert_eq!(names(&folder), [SUCCESS, "rules.jsonl"]);
    }

    #[test]
    fn a_folder_that_is_given_up_goes_if_it_was_made_for_the_result() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("out");
        OutputDir::create(&folder, Existing::Refuse).unwrap().abandon();
        assert!(!folder.exists());
        fs::create_dir(&folder).unwrap();
        OutputDir::create(&folder, Existing::Refuse).unwrap().abandon();
        assert_eq!(names(&folder), [""; 0]);
    }

    #[test]
    fn no_mark_stands_beside_files_of_two_results() {
        let scratch = tempfile::tempdir().unwrap();
        let mut out = OutputDir::create(scratch.path(), Existing::Refuse).unwrap();
        // As by another run that ignores the lock.
        fs::write(scratch.path().join(SUCCESS), "").unwrap();
        out.write("rules.jsonl", |w| w.write_all(b"rules")).unwrap();
        out.leave_unmarked().unwrap();
        assert_eq!(names(scratch.path()), ["rules.jsonl"]);
        let mut out = OutputDir::create(scratch.path(), Existing::Overwrite).unwrap();
        out.write("rules.jsonl", |w| w.write_all(b"rules")).unwrap();
        out.finish().unwrap();
        let mut amendment = Amendment::begin(scratch.path()).unwrap();
        assert!(matches!(Amendment::begin(scratch.path()), Err(IoError::Locked { .. })));
        amendment.write("seen.bin", |w| w.write_all(b"seen")).unwrap();
        drop(amendment);
        let marked = |name| ResultFolder::open(scratch.path(), false).unwrap().file(name).unwrap().unwrap().read_all();
        assert_eq!(
            [marked("rules.jsonl").unwrap(), marked("seen.bin").unwrap()],
            [b"rules".to_vec(), b"seen".to_vec()]
        );
        // A file that cannot be replaced fails after the mark is removed.
        fs::create_dir_all(scratch.path().join("rejects.jsonl/x")).unwrap();
        Amendment::begin(scratch.path()).unwrap().write("rejects.jsonl", |_| Ok(())).unwrap_err();
        assert_eq!(names(scratch.path()), ["rejects.jsonl", "rules.jsonl", "seen.bin"]);
        // Without a mark there is none afterwards.
        Amendment::begin(scratch.path()).unwrap().write("seen.bin", |_| Ok(())).unwrap();
        assert!(matches!(ResultFolder::open(scratch.path(), false), Err(IoError::Incomplete { .. })));
    }
}
