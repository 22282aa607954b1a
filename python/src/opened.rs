//! Rules with the place that they were opened from: an absolute path and a digest of the files there.
//! The two stand for the rules in a pickle.

use crate::{RulesError, refused};
use pyo3::PyResult;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use undust::io::error::IoError;
use undust::io::rules::{OpenError, OpenedRules, RULES_FILE, overrides_file};
use undust::rules::{RuleSet, SharedRules};
use xxhash_rust::xxh3::Xxh3;

/// Times that files are read which change while they are opened.
const ATTEMPTS: usize = 3;

/// An opened rule set, replaceable while in use. Any number of threads may share one.
pub struct Opened {
    rules: SharedRules,
    /// Absolute, so that it names the same place in a process with another working directory.
    path: PathBuf,
    allow_partial: bool,
    /// Digest of the files of the current set. The lock is held while set and digest are replaced or read
    /// together.
    digest: Mutex<String>,
}

impl Opened {
    /// Opens the rules at `path`: a result folder, a rule file or compiled rules.
    ///
    /// # Errors
    /// `RulesError` with the path and a way out.
    pub fn open(path: PathBuf, allow_partial: bool) -> PyResult<Opened> {
        // Only an empty path has no absolute form; opening it says so.
        let path = std::path::absolute(&path).unwrap_or(path);
        let (rules, digest) = read(&path, allow_partial)?;
        Ok(Opened { rules: SharedRules::new(rules), path, allow_partial, digest: Mutex::new(digest) })
    }

    /// Opens the rules at `path` if the digest of the files is `wanted`.
    ///
    /// # Errors
    /// `RulesError` as for [`open`](Self::open), and for another digest.
    pub fn open_same(path: PathBuf, allow_partial: bool, wanted: &str) -> PyResult<Opened> {
        let opened = Opened::open(path, allow_partial)?;
        let found = opened.digest();
        if found == wanted {
            return Ok(opened);
        }
        Err(RulesError::new_err(format!(
            "{}: not the rules that were pickled: their digest is {wanted}, that of the files (rules and overrides) is \
             now {found}; pickle the rule set again, or put the earlier files back",
            opened.path.display()
        )))
    }

    /// Replaces the current set by what is at the path now. On failure the current set stays.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn reload(&self) -> PyResult<()> {
        let (rules, digest) = read(&self.path, self.allow_partial)?;
        let mut current = self.locked();
        *current = digest;
        drop(self.rules.replace(rules));
        Ok(())
    }

    /// An independent holder of the current set, without reading the files; reloading one leaves the other
    /// as it is.
    pub fn copy(&self) -> Opened {
        let digest = self.locked();
        Opened {
            rules: SharedRules::new(self.rules.current()),
            path: self.path.clone(),
            allow_partial: self.allow_partial,
            digest: Mutex::new(digest.clone()),
        }
    }

    pub fn current(&self) -> Arc<RuleSet> {
        self.rules.current()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn allow_partial(&self) -> bool {
        self.allow_partial
    }

    /// 128-bit XXH3 of the rule file and the overrides beside it, as 32 hexadecimal digits.
    pub fn digest(&self) -> String {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, String> {
        // A panic cannot come between the parts of an assignment.
        self.digest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rules at `path` and the digest of the files that they were read from: the same before and after
/// reading.
fn read(path: &Path, allow_partial: bool) -> PyResult<(RuleSet, String)> {
    let open = || OpenedRules::open(path, allow_partial).and_then(OpenedRules::compile).map_err(refused);
    if path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return Err(RulesError::new_err(format!(
            "{}: neither a file nor a folder, and rules are read more than once; save them to a file and open that",
            path.display()
        )));
    }
    // Without files to digest, opening has the better message.
    let mut before = match digest(path) {
        Ok(digest) => digest,
        Err(error) => return Err(open().err().unwrap_or_else(|| refused(error))),
    };
    for _ in 0..ATTEMPTS {
        let rules = open()?;
        let after = digest(path).map_err(refused)?;
        if before == after {
            return Ok((rules, after));
        }
        before = after;
    }
    Err(RulesError::new_err(format!(
        "{}: the files changed while they were read, {ATTEMPTS} times; open the rules when they are written",
        path.display()
    )))
}

fn digest(path: &Path) -> Result<String, OpenError> {
    let file = if path.is_dir() { path.join(RULES_FILE) } else { path.to_owned() };
    let failed = |path: &Path, source| OpenError::Io(IoError::Read { path: path.to_owned(), source });
    let mut hash = Xxh3::new();
    let length = update(&mut hash, &file).map_err(|error| failed(&file, error))?;
    // The length separates the two files.
    hash.update(&length.to_le_bytes());
    let overrides = overrides_file(path)?;
    match update(&mut hash, &overrides) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&overrides, error)),
        _ => Ok(format!("{:032x}", hash.digest128())),
    }
}

/// Adds the bytes of a file; returns their number.
fn update(hash: &mut Xxh3, path: &Path) -> io::Result<u64> {
    let (mut file, mut buffer, mut length) = (File::open(path)?, vec![0; 1 << 20], 0);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(length),
            Ok(n) => {
                hash.update(&buffer[..n]);
                length += n as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
