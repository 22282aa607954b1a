//! `undust normalize`: one URL a line in, one canonical URL a line out.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use clap::{Args, ValueEnum};
use undust::io::blocks::LineBlocks;
use undust::io::output::PendingFile;
use undust::io::shards::{self, Format};
use undust::io::{IoError, detect};
use undust::rules::lines::{LineCounts, LineFormat, LineOptions, MAX_LINE, canonicalize_lines};
use undust::rules::{Batch, RuleSet};

use crate::failure::Failure;
use crate::messages::data;
use crate::outputs::check_outputs;
use crate::pace::Pace;
use crate::pipeline::in_order;
use crate::quiet::Quiet;
use crate::rules_dir::RulesDir;
use crate::watched::Watched;

/// Writes the canonical URL of every URL.
///
/// Reads one URL a line and writes one line for each, in the same order for any number of workers.
/// Input may be plain, gzip or zstd, by its first bytes; output to a FILE is compressed by its
/// extension (.gz, .zst).
///
/// Lines end with LF; a CR before it is dropped, and the last line of the output has its LF also where
/// the input's has none. An empty line has an empty canonical URL. A line that is not an absolute http
/// or https URL, is not UTF-8 or is over --line-limit comes out as it came in, and is counted in the
/// last line on standard error. URLs of hosts without rules get their normal form (RFC 3986, 6.2.2 and 6.2.3)
/// only. A byte order mark is left out. Files of records (TSV, CSV, JSON lines, indexes, archives,
/// logs) are refused.
#[derive(Args, Debug)]
#[command(after_long_help = crate::failure::EXIT_CODES)]
pub struct NormalizeArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// Files, named pipes, folders (their .txt and .tsv files, also .gz and .zst) or globs; `-` is standard
    /// input.
    #[arg(value_name = "INPUT", default_value = "-")]
    inputs: Vec<PathBuf>,
    /// Output format for a URL.
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Invents no URL: where the rules compose one that seen.bin beside the rules does not hold (`undust
    /// rules seen`), the URL keeps its normal form.
    #[arg(long)]
    only_seen: bool,
    /// Writes to this file (by another name until it is complete) instead of standard output.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replaces FILE if it exists.
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// Worker threads; by default as many as there are processors.
    #[arg(short = 'w', long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    /// Longest line in bytes that is taken for a URL.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_LINE)]
    line_limit: usize,
    #[command(flatten)]
    quiet: Quiet,
    #[command(flatten)]
    watched: Watched,
}

/// Output format of a URL.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Output {
    /// The canonical URL.
    #[default]
    Url,
    /// URL, tab, canonical URL.
    Tsv,
    /// An object with url, canonical, site, rules (ids of those that fired), changed, invalid, seen
    /// (false for a URL that the rules composed and that seen.bin, where it is, does not hold), and
    /// provisional (true) where it changed and a provisional rule fired.
    Jsonl,
}

impl From<Output> for LineFormat {
    fn from(output: Output) -> LineFormat {
        match output {
            Output::Url => LineFormat::Url,
            Output::Tsv => LineFormat::Tsv,
            Output::Jsonl => LineFormat::Jsonl,
        }
    }
}

/// A block of lines in the pipeline.
#[derive(Default)]
struct Block {
    input: Vec<u8>,
    output: Vec<u8>,
    counts: LineCounts,
}

/// Buffers that grew beyond this for an extraordinary line are freed.
const KEPT_BYTES: usize = 4 << 20;

/// Bytes of a pipe that are read for its format.
const FIRST_BYTES: usize = 16 << 10;

/// Runs the job.
pub fn run(args: NormalizeArgs) -> Result<(), Failure> {
    let progress = args.watched.begin("normalize", None).map_err(Failure::usage)?;
    let inputs = files(&args.inputs)?;
    if let Some(out) = &args.out {
        let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        check_outputs(&[out], args.overwrite, &inputs, Some(&args.rules))?;
    }
    let mut destination = Destination::open(args.out.as_deref())?;
    let rules = args.rules.open()?;
    let mut counts = LineCounts::default();
    progress.sites(rules.len());
    progress.stage(undust::model::Stage::Applying);
    let mut pace = Pace::new("normalize", "lines", args.quiet, progress.clone());
    let workers = args.workers.unwrap_or_else(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    canonicalize(&rules, &args, inputs, workers.get(), &mut |block| {
        destination.write(&block.output)?;
        counts += block.counts;
        progress.add(block.counts.lines as usize, block.input.len());
        progress.reject(block.counts.invalid);
        pace.at(counts.lines);
        for buffer in [&mut block.input, &mut block.output] {
            if buffer.capacity() > KEPT_BYTES {
                *buffer = Vec::new();
            }
        }
        Ok(())
    })?;
    destination.finish()?;
    args.quiet.say(summary(&counts, args.only_seen));
    Ok(())
}

/// Canonicalizes the lines of `inputs`, block by block, in order.
fn canonicalize(
    rules: &RuleSet,
    args: &NormalizeArgs,
    inputs: Vec<PathBuf>,
    workers: usize,
    destination: &mut (dyn FnMut(&mut Block) -> Result<(), Failure> + Send),
) -> Result<(), Failure> {
    let mut inputs = inputs.into_iter();
    let mut current: Option<LineBlocks> = None;
    let source = move |block: &mut Block| loop {
        let (blocks, pipe) = match &mut current {
            Some(blocks) => (blocks, None),
            None => match inputs.next() {
                None => return Ok(false),
                Some(path) if path == Path::new("-") => (current.insert(LineBlocks::stdin()?), Some(path)),
                Some(path) => (current.insert(LineBlocks::open(&path)?), Some(path).filter(|path| !path.is_file())),
            },
        };
        if blocks.next_block(&mut block.input)? {
            // Pipes and devices could not be read before.
            pipe.map_or(Ok(()), |path| refuse_piped_records(&path, &block.input))?;
            return Ok(true);
        }
        current = None;
    };
    let asked = args.only_seen || matches!(args.output, Output::Jsonl);
    let filter = if asked { args.rules.seen()? } else { None };
    if args.only_seen && filter.is_none() {
        let rules = args.rules.path().display();
        return Err(Failure::usage(format!(
            "--only-seen: no seen.bin beside the rules; `undust rules seen --rules {rules} CRAWL` makes it of the records of a \
             crawl"
        )));
    }
    let options = LineOptions {
        format: args.output.into(),
        max_line: args.line_limit,
        seen: filter.as_ref(),
        only_seen: args.only_seen,
    };
    let work = |block: &mut Block, batch: &mut Batch| {
        block.counts = canonicalize_lines(rules, &options, &block.input, batch, &mut block.output);
    };
    in_order(workers, source, Batch::default, work, destination)
}

/// The files that the inputs name, in order; those of folders by their names. A pipe is opened when its
/// turn comes.
///
/// # Errors
/// A usage error for a file of records, which would be copied unchanged.
fn files(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for input in inputs {
        if input == Path::new("-") || fs::metadata(input).is_ok_and(|found| !found.is_dir()) {
            files.push(input.clone());
        } else {
            let found = shards::expand(input, &shards::Options::default())?;
            // The name of a file in a folder decides where its bytes do not: an empty one, or one of bad lines.
            let named = |path: &Path| Format::of_name(path).filter(|&format| format != Format::Tsv);
            if let Some((path, format)) = found.iter().find_map(|path| Some((path, named(path)?))) {
                return Err(refusal(path, format));
            }
            files.extend(found);
        }
    }
    files.iter().try_for_each(|path| refuse_records(path))?;
    Ok(files)
}

/// Refuses a file of records where one URL a line is expected.
///
/// # Errors
/// A usage error with a way out, or that of reading the file.
pub fn refuse_records(path: &Path) -> Result<(), Failure> {
    let format = if path.is_file() { detect::records_in(path)? } else { None };
    format.map_or(Ok(()), |format| Err(refusal(path, format)))
}

/// Refuses records in the first block of a pipe, where one URL a line is expected.
///
/// # Errors
/// A usage error with a way out.
pub fn refuse_piped_records(path: &Path, block: &[u8]) -> Result<(), Failure> {
    let first = &block[..block.len().min(FIRST_BYTES)];
    detect::records(first).map_or(Ok(()), |format| Err(refusal(path, format)))
}

/// Error for a file of records, with a way out.
fn refusal(path: &Path, format: Format) -> Failure {
    let take = match format {
        Format::Tsv => "cut -f1",
        Format::Jsonl => "jq -r .url",
        _ => "undust clusters INPUT --out records.jsonl, then jq -r .url",
    };
    let (name, format) = (path.display(), format.name());
    Failure::usage(format!("{name}: records ({format}), not one URL a line; take the URLs out of them first: {take}"))
}

/// Destination of the output.
enum Destination {
    Stdout,
    File(Box<PendingFile>, PathBuf),
}

impl Destination {
    fn open(path: Option<&Path>) -> Result<Destination, Failure> {
        let Some(path) = path else { return Ok(Destination::Stdout) };
        Ok(Destination::File(Box::new(PendingFile::create(path)?), path.to_owned()))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Destination::Stdout => data(bytes).map_err(Failure::stdout),
            Destination::File(file, path) => {
                file.write_all(bytes).map_err(|source| IoError::Write { path: path.clone(), source }.into())
            }
        }
    }

    /// Gives a complete file its name.
    fn finish(self) -> Result<(), Failure> {
        match self {
            Destination::Stdout => Ok(()),
            Destination::File(file, _) => {
                file.commit()?;
                Ok(())
            }
        }
    }
}

/// The last line on standard error.
fn summary(counts: &LineCounts, only_seen: bool) -> String {
    let LineCounts { lines, empty, invalid, changed, with_site, unseen, provisional } = counts;
    let mut text = format!("{lines} lines, {changed} changed, {with_site} of sites with rules");
    if only_seen {
        text.push_str(&format!(", {unseen} kept since their canonical URL was never seen"));
    }
    if *provisional > 0 {
        text.push_str(&format!(", {provisional} changed with the help of provisional rules"));
    }
    if *empty > 0 {
        text.push_str(&format!(", {empty} empty"));
    }
    if *invalid > 0 {
        text.push_str(&format!(", {invalid} not URLs to normalize (left as they are)"));
    }
    text
}
