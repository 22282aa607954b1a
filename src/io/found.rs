//! The rule file that a path names, and the overrides beside it.

use super::error::IoError;
use super::output::{CheckedFile, ResultFolder};
use crate::rules::compiled_format::CompiledFormatError;
use crate::rules::file::RuleFileError;
use crate::rules::filter::FilterError;
use crate::rules::overrides::{Overrides, OverridesError};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the rule file in the folder of a result.
pub const RULES_FILE: &str = "rules.jsonl";

/// Name of the overrides file beside it.
pub const OVERRIDES_FILE: &str = "overrides.jsonl";

/// Error of opening rules.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or file is missing, incomplete or cannot be read.
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
        /// Fault, with the line and a way out.
        source: RuleFileError,
    },
    /// The overrides file is faulty. Disabled rules must not act because of that.
    #[error("{path}: {source}")]
    Overrides {
        /// The file.
        path: PathBuf,
        /// Fault, with the line and a way out.
        source: OverridesError,
    },
    /// Compiled rules are faulty or those of another version.
    #[error("{path}: {source}")]
    CompiledFormat {
        /// The file.
        path: PathBuf,
        /// Fault, and a way out.
        source: CompiledFormatError,
    },
    /// Compiled rules where evidence and text of rules are needed.
    #[error(
        "{path}: compiled rules, which are for applying: their evidence is in the folder that they were compiled from; \
         name that"
    )]
    Compiled {
        /// The file.
        path: PathBuf,
    },
    /// Other rules are disabled than when the rules were compiled.
    #[error(
        "{path}: {disabled} rules are disabled in it, and {wanted} by the overrides given or beside it, not the same ones: \
         compile the rules again with `undust rules compile`"
    )]
    OtherOverrides {
        /// The file.
        path: PathBuf,
        /// Overrides when it was compiled.
        disabled: usize,
        /// Overrides now.
        wanted: usize,
    },
    /// Compiled rules, some of them provisional, where these should be left out.
    #[error(
        "{path}: compiled with provisional rules, which cannot be left out of it: compile the rules again with \
         `undust rules compile --no-provisional`"
    )]
    CompiledProvisional {
        /// The file.
        path: PathBuf,
    },
    /// The set of seen URLs is damaged.
    #[error("{path}: {source}")]
    Seen {
        /// The file.
        path: PathBuf,
        /// Fault, and a way out.
        source: FilterError,
    },
}

/// The rule file at `path`, and the overrides beside it, where there are some.
pub(super) fn found(path: &Path, allow_partial: bool) -> Result<(CheckedFile, Option<Overrides>), OpenError> {
    // The file first: a folder without rules is the wrong folder, with or without `_SUCCESS`.
    let name = rule_file(path)?;
    let file = match path.is_dir() {
        true => ResultFolder::open(path, allow_partial)?.file(RULES_FILE)?,
        false => Some(CheckedFile::unmarked(&name)?),
    };
    let file = file.ok_or_else(|| OpenError::NoRules { path: path.to_owned() })?;
    let overrides = overrides_at(&name.with_file_name(OVERRIDES_FILE))?;
    Ok((file, overrides))
}

/// Reads an overrides file as [`read_overrides`](super::rules::read_overrides) does; `None` where there is no
/// file. One that cannot be reached is an error: the rules that it disables must not act because of that.
pub(super) fn overrides_at(path: &Path) -> Result<Option<Overrides>, OpenError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(IoError::read(path)(error).into()),
    };
    let parsed = Overrides::parse(&text).map_err(|source| OpenError::Overrides { path: path.to_owned(), source });
    parsed.map(Some)
}

/// The rule file that `path` names.
pub(super) fn rule_file(path: &Path) -> Result<PathBuf, OpenError> {
    let found = path.metadata().map_err(IoError::read(path))?;
    let file = if found.is_dir() { path.join(RULES_FILE) } else { path.to_owned() };
    match file.exists() {
        true => Ok(file),
        false => Err(OpenError::NoRules { path: path.to_owned() }),
    }
}
