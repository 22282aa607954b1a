//! An append-only file of finished pieces of work, by name, for `--resume`.
//!
//! The folder `.work` of a result holds a file `sites-I.journal` for each process I. The first line
//! binds the file to the conditions of the work (version of the program, parameters, input); each
//! further line is one piece:
//!
//! ```text
//! <hash of the rest, 16 hex digits><TAB><name as JSON><TAB><content: one line of JSON>
//! ```
//!
//! A line is written in one call. A run that is killed leaves at most one torn line at the end,
//! detected by its hash; it is cut off before more is appended. Pieces are read back from all files in
//! the folder, whichever process wrote them. Memory: name and place of each piece; the content stays on
//! disk.

use super::output::no_link;
use crate::model::hash64;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Layout of the file.
const FORMAT: u32 = 2;

/// Conditions of the work: pieces are used only under equal ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Layout of the file.
    format: u32,
    /// Digest of the executable: another build may learn other rules. Format 1 had none.
    #[serde(default)]
    build: String,
    /// Digest of the parameters.
    parameters: String,
    /// Digest of the input.
    input: String,
}

impl Binding {
    /// Conditions of the executable with digest `build`, with digests of the parameters and of the input.
    pub fn new(build: String, parameters: String, input: String) -> Binding {
        Binding { format: FORMAT, build, parameters, input }
    }

    /// The first difference to `other`, in words.
    fn difference(&self, other: &Binding) -> Option<&'static str> {
        match other {
            _ if other.format != self.format || other.build != self.build => Some("another build of undust"),
            _ if other.parameters != self.parameters => Some("other learning parameters"),
            _ if other.input != self.input => Some("another input, or the input was changed since"),
            _ => None,
        }
    }
}

/// Error of a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Error of the system.
    #[error("{}: {source}; check the permissions and the free space", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The journal belongs to another run.
    #[error("{}: this is the work of {what}; run without --resume into an empty folder, or with --overwrite", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// The difference.
        what: &'static str,
    },
    /// A piece that was whole when the file was opened and is damaged now.
    #[error("{}: the piece of {name:?} cannot be read back: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Name of the damaged entry.
        name: String,
        /// Reason.
        what: String,
    },
}

/// Location of a piece.
#[derive(Clone, Copy, Debug)]
struct Piece {
    file: u32,
    start: u64,
    length: u32,
}

/// Finished pieces, and the file for new ones.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    out: Mutex<File>,
    files: Vec<(PathBuf, Mutex<File>)>,
    pieces: HashMap<Box<str>, Piece, foldhash::fast::FixedState>,
}

impl Journal {
    /// Creates the journal of process `process` in `folder`; an older one of the same name is lost.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn create(folder: &Path, process: usize, binding: &Binding) -> Result<Journal, JournalError> {
        let path = file_of(folder, process);
        let fail = |source| JournalError::Io { path: path.clone(), source };
        own_folder(folder).map_err(|source| JournalError::Io { path: folder.to_owned(), source })?;
        // Created anew, so that a link of this name is replaced, not followed.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
        let mut out = File::create_new(&path).map_err(fail)?;
        out.write_all(&head(binding)).map_err(fail)?;
        Ok(Journal { path: path.clone(), out: Mutex::new(out), files: Vec::new(), pieces: HashMap::default() })
    }

    /// Opens the pieces in `folder`, if their conditions are `binding`; new pieces go to the file of
    /// process `process`.
    ///
    /// # Errors
    /// [`JournalError::Stale`] with the reason, [`JournalError::Io`].
    pub fn resume(folder: &Path, process: usize, binding: &Binding) -> Result<Journal, JournalError> {
        let own = file_of(folder, process);
        own_folder(folder).map_err(|source| JournalError::Io { path: folder.to_owned(), source })?;
        let mut paths = Vec::new();
        match fs::read_dir(folder) {
            Ok(entries) => {
                for entry in entries {
                    let path = entry.map_err(|source| JournalError::Io { path: folder.to_owned(), source })?.path();
                    if path.extension().is_some_and(|e| e == "journal") {
                        paths.push(path);
                    }
                }
            }
            Err(source) => return Err(JournalError::Io { path: folder.to_owned(), source }),
        }
        paths.sort_unstable();
        let (mut files, mut pieces, mut end) = (Vec::new(), HashMap::default(), None);
        for path in paths {
            let fail = |source| JournalError::Io { path: path.clone(), source };
            if !fs::symlink_metadata(&path).map_err(fail)?.is_file() {
                return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, "no regular file")));
            }
            let mut lines =
                BufReader::with_capacity(1 << 18, no_link(File::options().read(true)).open(&path).map_err(fail)?);
            let mut line = Vec::new();
            let mut at = lines.read_until(b'\n', &mut line).map_err(fail)? as u64;
            let Some(found) = serde_json::from_slice::<Binding>(&line).ok().filter(|_| line.ends_with(b"\n")) else {
                // Killed before the first line was written: the file is empty.
                continue;
            };
            if let Some(what) = binding.difference(&found) {
                return Err(JournalError::Stale { path: path.clone(), what });
            }
            let file = files.len() as u32;
            loop {
                line.clear();
                let n = lines.read_until(b'\n', &mut line).map_err(fail)?;
                let Some((name, content)) = parse(&line) else { break };
                pieces.insert(name, Piece { file, start: at + content as u64, length: (n - 1 - content) as u32 });
                at += n as u64;
            }
            if path == own {
                end = Some(at);
            }
            files.push((path.clone(), Mutex::new(lines.into_inner())));
        }
        let Some(end) = end else {
            return Ok(Journal { files, pieces, ..Journal::create(folder, process, binding)? });
        };
        let fail = |source| JournalError::Io { path: own.clone(), source };
        let mut out = no_link(File::options().write(true)).open(&own).map_err(fail)?;
        out.set_len(end).and_then(|()| out.seek(SeekFrom::End(0))).map_err(fail)?;
        Ok(Journal { path: own.clone(), out: Mutex::new(out), files, pieces })
    }

    /// Number of pieces found.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// True when none was found.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The piece of this name that an earlier run left.
    ///
    /// # Errors
    /// [`JournalError::Damaged`].
    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>, JournalError> {
        let Some(piece) = self.pieces.get(name) else { return Ok(None) };
        let (path, file) = &self.files[piece.file as usize];
        let mut content = vec![0; piece.length as usize];
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(piece.start)).and_then(|_| file.read_exact(&mut content));
        read.map_err(|error| JournalError::Damaged {
            path: path.clone(),
            name: name.to_owned(),
            what: error.to_string(),
        })?;
        Ok(Some(content))
    }

    /// Appends a piece; `content` is one line of JSON.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn put(&self, name: &str, content: &[u8]) -> Result<(), JournalError> {
        let fail = |source| JournalError::Io { path: self.path.clone(), source };
        let mut rest = vec![b'\t'];
        serde_json::to_writer(&mut rest, name).map_err(|error| fail(error.into()))?;
        rest.push(b'\t');
        rest.extend_from_slice(content);
        let line = [format!("{:016x}", hash64(&rest)).as_bytes(), &rest, b"\n"].concat();
        self.out.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line).map_err(fail)
    }

    /// Removes the file of this process, and the folder and its parent if they are then empty: for a
    /// process that does not write the result.
    pub fn remove(self) {
        let folder = self.path.parent().map(Path::to_owned);
        // A file that cannot be removed does no harm: it is bound to this run.
        let _ = fs::remove_file(&self.path);
        if let Some(folder) = folder {
            let _ = fs::remove_dir(&folder).and_then(|()| folder.parent().map_or(Ok(()), fs::remove_dir));
        }
    }
}

/// Makes the folder, parents included; a symbolic link is refused: its target is not ours.
fn own_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    match fs::symlink_metadata(folder)?.is_dir() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            "a symbolic link, and work is kept in a folder of the result",
        )),
    }
}

fn file_of(folder: &Path, process: usize) -> PathBuf {
    folder.join(format!("sites-{process}.journal"))
}

fn head(binding: &Binding) -> Vec<u8> {
    let mut line = serde_json::to_vec(binding).expect("strings and numbers are JSON");
    line.push(b'\n');
    line
}

/// Name of a whole line, and the start of its content.
fn parse(line: &[u8]) -> Option<(Box<str>, usize)> {
    let line = line.strip_suffix(b"\n")?;
    let (hash, rest) = line.split_at_checked(16)?;
    let hash = u64::from_str_radix(std::str::from_utf8(hash).ok()?, 16).ok()?;
    if hash64(rest) != hash {
        return None;
    }
    let rest = rest.strip_prefix(b"\t")?;
    let tab = memchr::memchr(b'\t', rest)?;
    Some((serde_json::from_slice(&rest[..tab]).ok()?, 16 + 1 + tab + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding() -> Binding {
        Binding::new("b".to_owned(), "p".to_owned(), "i".to_owned())
    }

    #[test]
    fn what_was_put_is_found_again_and_torn_lines_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join(".work");
        let journal = Journal::create(&folder, 1, &binding()).unwrap();
        journal.put("a.example", b"{\"n\":1}").unwrap();
        journal.put("tab\tand \"quotes\"", b"{}").unwrap();
        drop(journal);
        let whole = fs::read(folder.join("sites-1.journal")).unwrap();
        // Every way to be cut off, and every single byte damaged.
        for cut in 0..whole.len() {
            fs::write(folder.join("sites-1.journal"), &whole[..cut]).unwrap();
            let journal = Journal::resume(&folder, 1, &binding()).unwrap();
            assert!(journal.len() < 2);
            journal.put("b", b"[2]").unwrap();
            let again = Journal::resume(&folder, 0, &binding()).unwrap();
            assert_eq!(again.get("b").unwrap().as_deref(), Some(&b"[2]"[..]), "cut at {cut}");
            assert_eq!(again.len(), journal.len() + 1);
            drop(again);
            fs::remove_file(folder.join("sites-0.journal")).unwrap();
        }
        fs::write(folder.join("sites-1.journal"), &whole).unwrap();
        let journal = Journal::resume(&folder, 7, &binding()).unwrap();
        assert_eq!(journal.get("a.example").unwrap().as_deref(), Some(&b"{\"n\":1}"[..]));
        assert_eq!(journal.get("tab\tand \"quotes\"").unwrap().as_deref(), Some(&b"{}"[..]));
        assert_eq!(journal.get("c").unwrap(), None);
        journal.remove();
        assert!(folder.join("sites-1.journal").exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_in_the_place_of_a_journal_are_not_followed() {
        use std::os::unix::fs::symlink;
        let scratch = tempfile::tempdir().unwrap();
        let (folder, precious) = (scratch.path().join(".work"), scratch.path().join("precious"));
        fs::create_dir(&folder).unwrap();
        let plant = || {
            fs::write(&precious, head(&binding())).unwrap();
            symlink(&precious, folder.join("sites-0.journal")).unwrap();
        };
        plant();
        let journal = Journal::create(&folder, 0, &binding()).unwrap();
        journal.put("a", b"1").unwrap();
        assert!(folder.join("sites-0.journal").symlink_metadata().unwrap().is_file());
        fs::remove_file(folder.join("sites-0.journal")).unwrap();
        plant();
        assert!(matches!(Journal::resume(&folder, 0, &binding()), Err(JournalError::Io { .. })));
        assert_eq!(fs::read(&precious).unwrap(), head(&binding()));
        // Nor is a link in the place of the folder.
        let other = scratch.path().join("other");
        symlink(&folder, &other).unwrap();
        for open in [Journal::create, Journal::resume] {
            let refused = open(&other, 1, &binding()).unwrap_err().to_string();
            assert!(refused.contains("symbolic link"), "{refused}");
        }
    }

    #[test]
    fn work_of_another_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(Journal::create(folder.path(), 0, &binding()).unwrap());
        for (other, want) in [
            (Binding::new("b".into(), "q".into(), "i".into()), "other learning parameters"),
            (Binding::new("b".into(), "p".into(), "j".into()), "another input"),
            (Binding::new("c".into(), "p".into(), "i".into()), "another build"),
            (Binding { format: 1, ..binding() }, "another build"),
        ] {
            let error = Journal::resume(folder.path(), 1, &other).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
        assert!(Journal::resume(folder.path(), 1, &binding()).unwrap().is_empty());
    }
}
