//! `undust clusters`: records in, records with the labels of their duplicate clusters out.

use super::labels::{Means, RecordArgs};
use super::report::{Exit, Failure, say};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use undust::io::output::PendingFile;
use undust::io::reader::LINE_LIMIT;
use undust::io::rejects::Limit;
use undust::io::shards::{self, Options};
use undust::io::table::{TableWriter, labelled, line};
use undust::io::{IoError, Rejects, Shard, ShardReader};
use undust::model::{RecordBatch, SiteBy};
use undust::runtime::memory::parse_size;
use undust::runtime::progress::{Progress, Reporter};

/// Writes records with the labels of their duplicate clusters, for inspection and for other methods.
///
/// Records come out in the order in which they came in, the same bytes with any number of workers. `learn` reads the
/// output as labelled records.
#[derive(Args, Debug)]
pub struct ClustersArgs {
    /// Files, folders (their shards), globs, or - for standard input (spooled to scratch).
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// File for the records: Parquet where its name ends in .parquet, else JSON lines (.gz and .zst are compressed).
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    records: RecordArgs,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,
    /// The site of a record without a label: the registrable domain of its host, or the host.
    #[arg(long, value_enum, default_value_t = By::Domain)]
    site_by: By,
    /// Memory of all workers together; what does not fit is kept in scratch.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    memory: usize,
    /// Folder for scratch files (default: that of the system, TMPDIR).
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Replaces FILE if it is there.
    #[arg(long)]
    overwrite: bool,
    /// More rejected records than this end the run with code 4; the output is written.
    #[arg(long, value_name = "COUNT|PERCENT%", default_value = "5%")]
    max_rejects: Limit,
    /// Longest line of the input in bytes; longer ones are rejected.
    #[arg(long, value_name = "BYTES", default_value_t = LINE_LIMIT)]
    line_limit: usize,
    /// Says nothing on standard error but why it failed.
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Domain,
    Host,
}

/// Runs the job.
///
/// # Errors
/// [`Failure`], which knows its exit code.
pub fn run(args: ClustersArgs) -> Result<(), Failure> {
    if !args.overwrite && args.out.exists() {
        let text =
            format!("{}: there already; name another file, or give --overwrite to replace it", args.out.display());
        return Err(Failure::new(Exit::Failed, text));
    }
    let scratch = args.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let spooled = match args.inputs.iter().any(|input| input.as_os_str() == "-") {
        true => Some(shards::spool_stdin(&scratch)?),
        false => None,
    };
    let options = Options {
        format: args.records.format.map(Into::into),
        log_base: args.records.log_base.clone(),
        stdin: spooled.as_ref().map(|file| file.path().to_owned()),
        ..Options::default()
    };
    let shards = shards::find(&args.inputs, &options)?;
    let progress = Arc::new(Progress::default());
    let reporter = (!args.quiet).then(|| Reporter::start(progress.clone()));
    let site_by = match args.site_by {
        By::Domain => SiteBy::Domain,
        By::Host => SiteBy::Host,
    };
    let means = Means {
        site_by,
        workers: args.workers.into(),
        memory: args.memory,
        scratch: &scratch,
        line_limit: args.line_limit,
        quiet: args.quiet,
        progress,
    };
    let found = args.records.label(shards, &means).map_err(|error| Failure::new(Exit::Failed, error))?;
    let mut rejects = Rejects::default();
    write(&args.out, &found.shards, args.line_limit, &mut rejects)?;
    drop(reporter);
    let rejects = found.rejects.as_ref().unwrap_or(&rejects);
    if !args.quiet {
        for (reason, count) in rejects.counts() {
            say(format!("rejected: {count} {reason}"));
        }
    }
    if rejects.exceeds(args.max_rejects) {
        let text =
            format!("{} of {} records were rejected, more than --max-rejects allows", rejects.total(), rejects.lines());
        return Err(Failure::new(Exit::TooManyRejects, text));
    }
    Ok(())
}

/// Writes the records of labelled shards, in order.
fn write(out: &Path, shards: &[Shard], line_limit: usize, rejects: &mut Rejects) -> Result<(), Failure> {
    let failed = |source| IoError::Write { path: out.to_owned(), source };
    let file = PendingFile::create(out)?;
    let parquet = out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"));
    let mut sink = if parquet {
        Sink::Table(Box::new(TableWriter::new(file).map_err(failed)?))
    } else {
        Sink::Lines(Box::new(file))
    };
    let (mut batch, mut text, mut lines) = (RecordBatch::default(), Vec::new(), Vec::new());
    for shard in shards {
        // What was clustered may be longer than the line it came from: escapes, and the facts beside it.
        let limit = line_limit.saturating_mul(8).saturating_add(16 << 10);
        let mut reader = ShardReader::open_with_facts(shard, limit, Arc::new(AtomicU64::new(0)))?;
        while reader.next_batch(&mut batch, rejects)? {
            let mut records = batch.iter().enumerate();
            match &mut sink {
                Sink::Table(table) => {
                    records.try_for_each(|(at, record)| table.push(record, batch.facts(at))).map_err(failed)?;
                }
                Sink::Lines(file) => {
                    lines.clear();
                    for (at, record) in records {
                        line(record, batch.facts(at), &mut text);
                        labelled(&text, record.cluster, &mut lines);
                    }
                    file.write_all(&lines).map_err(failed)?;
                }
            }
        }
    }
    let file = match sink {
        Sink::Lines(file) => *file,
        Sink::Table(table) => table.finish().map_err(failed)?,
    };
    Ok(file.commit()?)
}

/// How records are written.
enum Sink {
    Lines(Box<PendingFile>),
    Table(Box<TableWriter<PendingFile>>),
}
