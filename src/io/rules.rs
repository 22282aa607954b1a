//! Opening the rules that a run of `learn` wrote, with what lies beside them: what people disabled, and which canonical
//! URLs were seen.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

use super::error::IoError;
use super::output::{atomic_write, require_success};
use crate::rules::file::{self, Header, RuleFileError};
use crate::rules::filter::{FilterError, SeenFilter};
use crate::rules::overrides::{Overrides, OverridesError};
use crate::rules::{Lean, LeanSite, RuleSet, Scratch, SharedRules, SiteRules};

/// Name of the rule file in the folder of a result.
pub const RULES_FILE: &str = "rules.jsonl";
/// Name of the overrides file beside it.
pub const OVERRIDES_FILE: &str = "overrides.jsonl";
/// Name of the set of seen canonical URLs beside it.
pub const SEEN_FILE: &str = "seen.bin";

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
    /// The overrides file is faulty. Rules that someone disabled must not act because of that.
    #[error("{path}: {source}")]
    Overrides {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the line and a way out.
        source: OverridesError,
    },
    /// The set of seen URLs is damaged.
    #[error("{path}: {source}")]
    Seen {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and a way out.
        source: FilterError,
    },
}

/// A rule file that is compiled as it is read: what applying needs is kept, evidence stays on disk. Memory beside the
/// set: two blocks of 16 MiB of lines, and what is read of one of them.
#[derive(Debug)]
pub struct LeanFile {
    /// Its first line.
    pub header: Header,
    /// What is disabled, from the file beside it; empty without one.
    pub overrides: Overrides,
    path: PathBuf,
    sites: file::Sites<BufReader<File>>,
}

impl LeanFile {
    /// As [`RuleFile::open`]; the sites are not read yet.
    ///
    /// # Errors
    /// [`OpenError`] with the path and a way out.
    pub fn open(path: &Path, allow_partial: bool) -> Result<LeanFile, OpenError> {
        let (path, overrides) = found(path, allow_partial)?;
        let reader = File::open(&path).map_err(IoError::read(&path))?;
        match file::Sites::open(BufReader::with_capacity(256 << 10, reader)) {
            Ok((header, sites)) => Ok(LeanFile { header, overrides, path, sites }),
            Err(source) => Err(OpenError::File { path, source }),
        }
    }

    /// Reads and compiles what is not disabled, on the processors that there are: some megabytes at a time, while the next
    /// are read. The result does not depend on their number.
    ///
    /// # Errors
    /// [`OpenError::File`] with the line and a way out.
    pub fn compile(mut self) -> Result<RuleSet, OpenError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let mut rules = Lean::default();
        let overrides = &self.overrides;
        let sites = &mut self.sites;
        let mut compile = || -> Result<(), RuleFileError> {
            let (mut lines, mut next) = (Vec::new(), Vec::new());
            let mut first = sites.next_lines(LINES_BYTES, &mut lines)?;
            while !lines.is_empty() {
                let (done, read) = std::thread::scope(|scope| {
                    let lines = lines.as_slice();
                    let work = |part| scope.spawn(move || compile_lines(first, lines, part, overrides));
                    let workers: Vec<_> = parts(lines, threads).into_iter().map(work).collect();
                    let read = sites.next_lines(LINES_BYTES, &mut next);
                    // A panic there is one here.
                    let done = |worker: ScopedJoinHandle<'_, Compiled>| {
                        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                    };
                    (workers.into_iter().map(done).collect::<Vec<_>>(), read)
                });
                // The first fault of the file is the one that is told.
                for (line, site) in (first..).zip(done.into_iter().flatten()) {
                    let site = site?;
                    rules.last().map_or(Ok(()), |before| file::in_order(line, before, site.name()))?;
                    rules.push(site);
                }
                first = read?;
                std::mem::swap(&mut lines, &mut next);
            }
            Ok(())
        };
        match compile() {
            Ok(()) => Ok(rules.finish()),
            Err(source) => Err(OpenError::File { path: self.path, source }),
        }
    }
}

/// Threads that compile, at most.
const MOST_THREADS: usize = 8;
/// Bytes of lines that are compiled at a time (one line more).
const LINES_BYTES: usize = 16 << 20;

/// What became of lines, in their order.
type Compiled = Vec<Result<LeanSite, RuleFileError>>;

/// Cuts lines into about equal ranges of whole lines.
fn parts(lines: &[u8], parts: usize) -> Vec<Range<usize>> {
    let (share, mut from, mut all) = (lines.len().div_ceil(parts), 0, Vec::new());
    while from < lines.len() {
        let least = lines.len().min(from + share) - 1;
        let end = memchr::memchr(b'\n', &lines[least..]).map_or(lines.len(), |at| least + at + 1);
        all.push(from..end);
        from = end;
    }
    all
}

/// Compiles a range of whole lines, the first of which has this number.
fn compile_lines(first: u64, lines: &[u8], range: Range<usize>, overrides: &Overrides) -> Compiled {
    let mut scratch = Scratch::default();
    let mut done = Vec::new();
    let mut from = range.start;
    for end in memchr::memchr_iter(b'\n', &lines[range.clone()]).map(|at| range.start + at) {
        let text = &lines[from..end];
        // The number of a line is asked for where something is wrong with it.
        let number = || first + memchr::memchr_iter(b'\n', &lines[..from]).count() as u64;
        let site = file::bare(0, text).or_else(|_| file::bare(number(), text)).map(|mut site| {
            overrides.apply(std::slice::from_mut(&mut site));
            LeanSite::new(site, &mut scratch)
        });
        done.push(site);
        from = end + 1;
    }
    done
}

/// The rule file at `path`, and the overrides beside it.
fn found(path: &Path, allow_partial: bool) -> Result<(PathBuf, Overrides), OpenError> {
    // The file first: a folder without rules is the wrong folder, with or without `_SUCCESS`.
    let file = rule_file(path)?;
    if path.is_dir() {
        require_success(path, allow_partial)?;
    }
    let overrides = read_overrides(&file.with_file_name(OVERRIDES_FILE))?;
    Ok((file, overrides))
}

/// A rule file as it was read, before it is compiled.
#[derive(Clone, Debug)]
pub struct RuleFile {
    /// Its first line.
    pub header: Header,
    /// All sites, with disabled rules.
    pub sites: Vec<SiteRules>,
    /// What is disabled, from the file beside it; empty without one.
    pub overrides: Overrides,
}

impl RuleFile {
    /// Reads the rules in the folder `path`, which must hold `_SUCCESS` unless `allow_partial`, or in the rule file
    /// `path` itself, and the overrides beside them.
    ///
    /// # Errors
    /// [`OpenError`] with the path and a way out.
    pub fn open(path: &Path, allow_partial: bool) -> Result<RuleFile, OpenError> {
        let (file, overrides) = found(path, allow_partial)?;
        let reader = File::open(&file).map_err(IoError::read(&file))?;
        let (header, sites) = file::read(&mut BufReader::with_capacity(256 << 10, reader))
            .map_err(|source| OpenError::File { path: file, source })?;
        Ok(RuleFile { header, sites, overrides })
    }

    /// Compiles what is not disabled.
    pub fn compile(mut self) -> RuleSet {
        self.overrides.apply(&mut self.sites);
        RuleSet::new(self.sites)
    }
}

impl RuleSet {
    /// Opens the rules in the folder `path`, which must hold `_SUCCESS`, or in the rule file `path` itself, for applying
    /// ([`LeanFile`]; for explaining open a [`RuleFile`]). What the overrides file beside them disables is left out.
    ///
    /// # Errors
    /// [`OpenError`] with the path and a way out.
    pub fn open(path: impl AsRef<Path>) -> Result<RuleSet, OpenError> {
        LeanFile::open(path.as_ref(), false)?.compile()
    }

    /// [`open`](Self::open) for the result of a run that failed or is still going.
    ///
    /// # Errors
    /// As there, a missing `_SUCCESS` excepted.
    pub fn open_partial(path: impl AsRef<Path>) -> Result<RuleSet, OpenError> {
        LeanFile::open(path.as_ref(), true)?.compile()
    }
}

impl SharedRules {
    /// Opens the rules at `path` and puts them in the place of the current ones, in one step.
    ///
    /// # Errors
    /// As [`RuleSet::open`]; the current rules then stay.
    pub fn reload(&self, path: impl AsRef<Path>) -> Result<(), OpenError> {
        self.replace(RuleSet::open(path)?);
        Ok(())
    }
}

/// The overrides file that belongs to the rules at `path`.
///
/// # Errors
/// [`OpenError::NoRules`] and what the system refuses.
pub fn overrides_file(path: &Path) -> Result<PathBuf, OpenError> {
    Ok(rule_file(path)?.with_file_name(OVERRIDES_FILE))
}

/// Reads an overrides file; none is an empty one.
///
/// # Errors
/// [`OpenError::Overrides`] and what the system refuses.
pub fn read_overrides(path: &Path) -> Result<Overrides, OpenError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Overrides::default()),
        Err(error) => return Err(IoError::read(path)(error).into()),
    };
    Overrides::parse(&text).map_err(|source| OpenError::Overrides { path: path.to_owned(), source })
}

/// Writes an overrides file, whole or not at all.
///
/// # Errors
/// [`IoError::Write`].
pub fn write_overrides(path: &Path, overrides: &Overrides) -> Result<(), IoError> {
    atomic_write(path, |file| file.write_all(overrides.text().as_bytes()))
}

/// The set of seen canonical URLs beside the rules at `path`; `None` where there is none.
///
/// # Errors
/// [`OpenError::Seen`] for a damaged file, and what the system refuses.
pub fn open_seen(path: &Path) -> Result<Option<SeenFilter>, OpenError> {
    let file = seen_file(path)?;
    let bytes = match fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(IoError::read(&file)(error).into()),
    };
    SeenFilter::from_bytes(&bytes).map(Some).map_err(|source| OpenError::Seen { path: file, source })
}

/// Where the set of seen canonical URLs of the rules at `path` is.
///
/// # Errors
/// [`OpenError::NoRules`] and what the system refuses.
pub fn seen_file(path: &Path) -> Result<PathBuf, OpenError> {
    Ok(rule_file(path)?.with_file_name(SEEN_FILE))
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
