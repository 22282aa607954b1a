//! Opening the rules that a run of `learn` wrote.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::error::IoError;
use super::output::require_success;
use crate::rules::RuleSet;
use crate::rules::file::{self, RuleFileError};

/// Name of the rule file in the folder of a result.
pub const RULES_FILE: &str = "rules.jsonl";

/// Why rules cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or file is not there, not complete or cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// No rule file in the folder.
    #[error("{path}: no {RULES_FILE} in this folder; name the folder that `undust learn --out` wrote")]
    NoRules {
        /// The folder.
        path: PathBuf,
    },
    /// The rule file is faulty or too new.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the line and a way out.
        source: RuleFileError,
    },
}

impl RuleSet {
    /// Opens the rules in the folder `path`, which must hold `_SUCCESS`, or in the rule file `path` itself.
    ///
    /// # Errors
    /// [`OpenError`] with the path and a way out.
    pub fn open(path: impl AsRef<Path>) -> Result<RuleSet, OpenError> {
        let path = path.as_ref();
        // The file first: a folder without rules is the wrong folder, with or without `_SUCCESS`.
        let file = rule_file(path)?;
        if path.is_dir() {
            require_success(path, false)?;
        }
        read(&file)
    }

    /// [`open`](Self::open) for the result of a run that failed or is still going.
    ///
    /// # Errors
    /// As there, a missing `_SUCCESS` excepted.
    pub fn open_partial(path: impl AsRef<Path>) -> Result<RuleSet, OpenError> {
        read(&rule_file(path.as_ref())?)
    }
}

/// The rule file that `path` names.
fn rule_file(path: &Path) -> Result<PathBuf, OpenError> {
    let found = path.metadata().map_err(IoError::read(path))?;
    let file = if found.is_dir() { path.join(RULES_FILE) } else { path.to_owned() };
    match file.exists() {
        true => Ok(file),
        false => Err(OpenError::NoRules { path: path.to_owned() }),
    }
}

fn read(path: &Path) -> Result<RuleSet, OpenError> {
    let file = File::open(path).map_err(IoError::read(path))?;
    let (_, sites) = file::read(&mut BufReader::with_capacity(256 << 10, file))
        .map_err(|source| OpenError::File { path: path.to_owned(), source })?;
    Ok(RuleSet::new(sites))
}
