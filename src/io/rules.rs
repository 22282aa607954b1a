//! Opening the rules that a run of `learn` wrote, with the files beside them: the overrides of people,
//! and the canonical URLs that were seen.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::error::IoError;
use super::output::{CheckedFile, ResultFolder, atomic_write};
use crate::rules::compiled_format::is_compiled;
use crate::rules::file::{self, Header};
use crate::rules::filter::SeenFilter;
use crate::rules::overrides::Overrides;
use crate::rules::{RuleSet, SharedRules, SiteRules};

pub use super::found::{OVERRIDES_FILE, OpenError, RULES_FILE};
use super::found::{found, overrides_at, rule_file};
pub use super::opened::OpenedRules;

/// Name of the set of seen canonical URLs beside it.
pub const SEEN_FILE: &str = "seen.bin";

/// A rule file before it is compiled.
#[derive(Clone, Debug)]
pub struct RuleFile {
    /// Its first line.
    pub header: Header,
    /// All sites, with disabled rules.
    pub sites: Vec<SiteRules>,
    /// Overrides, from the file beside it; empty without one.
    pub overrides: Overrides,
}

impl RuleFile {
    /// Reads the rules in the folder `path`, which must match its `_SUCCESS` unless `allow_partial`, or in
    /// the rule file `path` itself, and the overrides beside them.
    ///
    /// # Errors
    /// [`OpenError`] with the path and a way out.
    pub fn open(path: &Path, allow_partial: bool) -> Result<RuleFile, OpenError> {
        let (file, overrides) = found(path, allow_partial)?;
        let path = file.path().to_owned();
        let mut reader = BufReader::with_capacity(256 << 10, file);
        if is_compiled(reader.fill_buf().map_err(IoError::read(&path))?) {
            return Err(OpenError::Compiled { path });
        }
        let (header, sites) = file::read(&mut reader).map_err(|source| OpenError::File { path, source })?;
        reader.get_mut().verify()?;
        Ok(RuleFile { header, sites, overrides: overrides.unwrap_or_default() })
    }

    /// Compiles the rules that are not disabled.
    pub fn compile(mut self) -> RuleSet {
        self.overrides.apply(&mut self.sites);
        RuleSet::new(self.sites)
    }
}

impl RuleSet {
    /// Opens the rules in the folder `path`, which must match its `_SUCCESS`, or in the rule file `path`
    /// itself, for applying ([`OpenedRules`]; for explaining open a [`RuleFile`]), or compiled rules. Rules
    /// that the overrides file beside them disables are left out.
    ///
    /// # Errors
    /// [`OpenError`] with the path and a way out.
    pub fn open(path: impl AsRef<Path>) -> Result<RuleSet, OpenError> {
        OpenedRules::open(path.as_ref(), false)?.compile()
    }

    /// Opens the result of a run that failed or is still going, as [`open`](Self::open) does a complete
    /// one.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open), except those of `_SUCCESS`.
    pub fn open_partial(path: impl AsRef<Path>) -> Result<RuleSet, OpenError> {
        OpenedRules::open(path.as_ref(), true)?.compile()
    }
}

impl SharedRules {
    /// Opens the rules at `path` and replaces the current ones, in one step.
    ///
    /// # Errors
    /// Errors of [`RuleSet::open`]; the current rules are then kept.
    pub fn reload(&self, path: impl AsRef<Path>) -> Result<(), OpenError> {
        self.replace(RuleSet::open(path)?);
        Ok(())
    }
}

/// The overrides file that belongs to the rules at `path`.
///
/// # Errors
/// [`OpenError::NoRules`] and the error of the system.
pub fn overrides_file(path: &Path) -> Result<PathBuf, OpenError> {
    Ok(rule_file(path)?.with_file_name(OVERRIDES_FILE))
}

/// Reads an overrides file; a missing one is empty.
///
/// # Errors
/// [`OpenError::Overrides`] and the error of the system.
pub fn read_overrides(path: &Path) -> Result<Overrides, OpenError> {
    Ok(overrides_at(path)?.unwrap_or_default())
}

/// Writes an overrides file, whole or not at all.
///
/// # Errors
/// [`IoError::Write`].
pub fn write_overrides(path: &Path, overrides: &Overrides) -> Result<(), IoError> {
    atomic_write(path, |file| file.write_all(overrides.text().as_bytes()))
}

/// The set of seen canonical URLs beside the rules at `path`; `None` where there is none. In a folder
/// it must match `_SUCCESS` unless `allow_partial`.
///
/// # Errors
/// [`OpenError::Seen`] for a damaged file, [`OpenError::Io`] for one that `_SUCCESS` does not name or
/// that is missing though named, and the error of the system.
pub fn open_seen(path: &Path, allow_partial: bool) -> Result<Option<SeenFilter>, OpenError> {
    let file = seen_file(path)?;
    let folder = file.parent().filter(|_| path.is_dir());
    let found = match folder {
        Some(folder) => ResultFolder::open(folder, allow_partial)?.file(SEEN_FILE)?,
        None if file.exists() => Some(CheckedFile::unmarked(&file)?),
        None => None,
    };
    let Some(found) = found else { return Ok(None) };
    let bytes = found.read_all()?;
    SeenFilter::from_bytes(&bytes).map(Some).map_err(|source| OpenError::Seen { path: file, source })
}

/// Path of the set of seen canonical URLs of the rules at `path`.
///
/// # Errors
/// [`OpenError::NoRules`] and the error of the system.
pub fn seen_file(path: &Path) -> Result<PathBuf, OpenError> {
    Ok(rule_file(path)?.with_file_name(SEEN_FILE))
}
