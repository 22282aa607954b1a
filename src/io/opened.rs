//! Opening rules for applying: a rule file is compiled while it is read, compiled rules are used
//! directly; a megabyte at a time, on the available processors, while the next are read. The result
//! does not depend on their number.

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

use super::error::IoError;
use super::found::{OpenError, found};
use super::output::{CheckedFile, PendingFile};
use crate::rules::compiled_format::{Block, Blocks, CompiledHeader, CompiledWriter, is_compiled};
use crate::rules::file::{self, Header, RuleFileError};
use crate::rules::overrides::Overrides;
use crate::rules::{Compiler, LoadedSite, Loader, RuleSet};

/// Most threads that compile.
const MOST_THREADS: usize = 8;
/// Bytes that are read at a time (a line or a block more).
const PIECE: usize = 1 << 20;

/// Rules opened for applying: only data that applying needs are kept, evidence stays on disk. Memory
/// beside the set: two pieces of a mebibyte of the file, and the parsed form of one.
#[derive(Debug)]
pub struct OpenedRules {
    /// First line of the rule file.
    pub header: Header,
    /// Overrides: from the file beside it, empty without one; of compiled rules without one, those at the
    /// time of compiling.
    pub overrides: Overrides,
    /// Provisional rules are left out.
    pub no_provisional: bool,
    path: PathBuf,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Lines(file::Sites<BufReader<CheckedFile>>),
    /// With the overrides at the time of compiling.
    Compiled(Blocks<BufReader<CheckedFile>>, Overrides),
}

impl OpenedRules {
    /// Opens the rules in the folder `path`, which must match its `_SUCCESS` unless `allow_partial`, the
    /// rule file `path` or the compiled rules `path`; the sites are not read yet.
    ///
    /// # Errors
    /// [`OpenError`] with the path and a way out.
    pub fn open(path: &Path, allow_partial: bool) -> Result<OpenedRules, OpenError> {
        let (file, overrides) = found(path, allow_partial)?;
        let path = file.path().to_owned();
        let mut reader = BufReader::with_capacity(256 << 10, file);
        if is_compiled(reader.fill_buf().map_err(IoError::read(&path))?) {
            return match Blocks::open(reader) {
                Err(source) => Err(OpenError::CompiledFormat { path, source }),
                Ok((CompiledHeader { rules, overrides: written }, blocks)) => {
                    let overrides = overrides.unwrap_or_else(|| written.clone());
                    let (header, source) = (rules, Source::Compiled(blocks, written));
                    Ok(OpenedRules { header, overrides, no_provisional: false, path, source })
                }
            };
        }
        match file::Sites::open(reader) {
            Ok((header, sites)) => {
                let overrides = overrides.unwrap_or_default();
                let source = Source::Lines(sites);
                Ok(OpenedRules { header, overrides, no_provisional: false, path, source })
            }
            Err(source) => Err(OpenError::File { path, source }),
        }
    }

    /// True for compiled rules.
    pub fn is_compiled(&self) -> bool {
        matches!(self.source, Source::Compiled(..))
    }

    /// Reads the rules that are not disabled.
    ///
    /// # Errors
    /// [`OpenError::File`] with the line and a way out; of compiled rules [`OpenError::CompiledFormat`], and
    /// [`OpenError::OtherOverrides`] where other rules are disabled now.
    pub fn compile(self) -> Result<RuleSet, OpenError> {
        let mut rules = Loader::default();
        self.sites(&mut |site| {
            rules.push(site);
            Ok(())
        })?;
        Ok(rules.finish())
    }

    /// Writes them to `out` as compiled rules, whole or not at all; returns the number of sites.
    ///
    /// # Errors
    /// Errors of [`compile`](Self::compile), and of the system.
    pub fn write_compiled(self, out: &Path) -> Result<u64, OpenError> {
        let header = CompiledHeader { rules: self.header.clone(), overrides: self.overrides.clone() };
        let faulty = |source| OpenError::CompiledFormat { path: out.to_owned(), source };
        let mut writer = CompiledWriter::new(&header, PendingFile::create(out)?).map_err(faulty)?;
        let mut sites = 0;
        self.sites(&mut |site| {
            sites += 1;
            writer.push(&site).map_err(faulty)
        })?;
        writer.finish().map_err(faulty)?.commit()?;
        Ok(sites)
    }

    /// Passes all sites in their order to `receive`. After an error its input must not be used.
    fn sites(self, receive: &mut dyn FnMut(LoadedSite) -> Result<(), OpenError>) -> Result<(), OpenError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let OpenedRules { overrides, no_provisional, path, source, .. } = self;
        match source {
            Source::Lines(mut sites) => {
                from_lines(&mut sites, (&overrides, no_provisional), &path, threads, receive)?;
                Ok(sites.input().get_mut().verify()?)
            }
            Source::Compiled(mut blocks, written) if overrides == written => {
                let compiled = path.clone();
                from_blocks(&mut blocks, &path, threads, &mut |site| match no_provisional && site.has_provisional() {
                    true => Err(OpenError::CompiledProvisional { path: compiled.clone() }),
                    false => receive(site),
                })?;
                Ok(blocks.input().get_mut().verify()?)
            }
            Source::Compiled(_, written) => Err(OpenError::OtherOverrides {
                path,
                disabled: written.iter().count(),
                wanted: overrides.iter().count(),
            }),
        }
    }
}

fn from_lines(
    sites: &mut file::Sites<BufReader<CheckedFile>>,
    without: (&Overrides, bool),
    path: &Path,
    threads: usize,
    receive: &mut dyn FnMut(LoadedSite) -> Result<(), OpenError>,
) -> Result<(), OpenError> {
    let faulty = |source| OpenError::File { path: path.to_owned(), source };
    let (mut lines, mut next, mut before) = (Vec::new(), Vec::new(), None::<String>);
    let mut compilers: Vec<Compiler> = (0..threads).map(|_| Compiler::default()).collect();
    let mut first = sites.next_lines(PIECE, &mut lines).map_err(faulty)?;
    while !lines.is_empty() {
        let (done, read) = std::thread::scope(|scope| {
            let lines = lines.as_slice();
            let work = |(part, compiler)| scope.spawn(move || compile_lines(first, lines, part, without, compiler));
            let workers: Vec<_> = parts(lines, threads).into_iter().zip(&mut compilers).map(work).collect();
            let read = sites.next_lines(PIECE, &mut next);
            (workers.into_iter().map(joined).collect::<Vec<_>>(), read)
        });
        // The first fault of the file is reported.
        for (line, site) in (first..).zip(done.into_iter().flatten()) {
            let site = site.map_err(faulty)?;
            let name = site.name().to_owned();
            before.as_deref().map_or(Ok(()), |before| file::in_order(line, before, &name)).map_err(faulty)?;
            before = Some(name);
            receive(site)?;
        }
        first = read.map_err(faulty)?;
        std::mem::swap(&mut lines, &mut next);
    }
    Ok(())
}

fn from_blocks(
    input: &mut Blocks<BufReader<CheckedFile>>,
    path: &Path,
    threads: usize,
    receive: &mut dyn FnMut(LoadedSite) -> Result<(), OpenError>,
) -> Result<(), OpenError> {
    let faulty = |source| OpenError::CompiledFormat { path: path.to_owned(), source };
    let (mut blocks, mut next) = (Vec::new(), Vec::new());
    input.next_blocks(PIECE, &mut blocks).map_err(faulty)?;
    while !blocks.is_empty() {
        let (done, read) = std::thread::scope(|scope| {
            let work = |blocks: &'_ [Block]| blocks.iter().map(Block::sites).collect::<Vec<_>>();
            let share = blocks.len().div_ceil(threads);
            let workers: Vec<_> = blocks.chunks(share).map(|blocks| scope.spawn(move || work(blocks))).collect();
            let read = input.next_blocks(PIECE, &mut next);
            (workers.into_iter().map(joined).collect::<Vec<_>>(), read)
        });
        for sites in done.into_iter().flatten() {
            sites.map_err(faulty)?.into_iter().try_for_each(&mut *receive)?;
        }
        read.map_err(faulty)?;
        std::mem::swap(&mut blocks, &mut next);
    }
    Ok(())
}

/// The result of a thread. A panic there is repeated here.
fn joined<T>(worker: ScopedJoinHandle<'_, T>) -> T {
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

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
fn compile_lines(
    first: u64,
    lines: &[u8],
    range: Range<usize>,
    (overrides, no_provisional): (&Overrides, bool),
    compiler: &mut Compiler,
) -> Vec<Result<LoadedSite, RuleFileError>> {
    let mut done = Vec::new();
    let mut from = range.start;
    for end in memchr::memchr_iter(b'\n', &lines[range.clone()]).map(|at| range.start + at) {
        let text = &lines[from..end];
        // The number of a line is computed only for an error.
        let number = || first + memchr::memchr_iter(b'\n', &lines[..from]).count() as u64;
        let site = file::bare(0, text).or_else(|_| file::bare(number(), text)).map(|mut site| {
            overrides.apply(std::slice::from_mut(&mut site));
            if no_provisional {
                site.leave_out_provisional();
            }
            LoadedSite::new(site, compiler)
        });
        done.push(site);
        from = end + 1;
    }
    done
}
