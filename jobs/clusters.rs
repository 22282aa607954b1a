//! `undust clusters`: records in, records with the labels of their duplicate clusters out.

use super::cluster::{ClusterArgs, ShardArgs, all_rejects, digest_of, lost, merged, part_of, together};
use super::exit::Exit;
use super::failure::Failure;
use super::inputs::{Inputs, Tally, all_tallies, refuse_rejects};
use super::labelled::labelled_limit;
use super::labels::{Means, RecordArgs};
use super::options::{Reading, Room, SiteChoice, Workers};
use super::outputs::check_outputs;
use super::watched::{self, Watched};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use undust::dataflow::RunError;
use undust::io::output::PendingFile;
use undust::io::rejects::Limit;
use undust::io::table::{TableWriter, labelled, line};
use undust::io::{IoError, Rejects, Shard, ShardReader};
use undust::model::RecordBatch;
use undust::runtime::hosts::Cluster;
use undust::runtime::mesh::Mesh;
use undust::runtime::progress::Progress;

/// Writes records with the labels of their duplicate clusters, for inspection and for other methods.
///
/// Records come out in the order in which they came in, the same bytes with any number of workers.
/// `learn` reads the output as labelled records.
///
/// On several processes each writes the records that it read, to FILE with its index before the
/// extension (pages.0.jsonl.gz, pages.1.jsonl.gz, ...); together they are the records that one process
/// writes, with the same labels.
#[derive(Args, Debug)]
pub struct ClustersArgs {
    /// Files, folders (their shards), globs, or - for standard input (spooled to scratch).
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// File for the records: Parquet where its name ends in .parquet, else JSON lines (.gz and .zst are
    /// compressed).
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    workers: Workers,
    #[command(flatten)]
    sites: SiteChoice,
    #[command(flatten)]
    room: Room,
    /// Replaces FILE if it is there.
    #[arg(long)]
    overwrite: bool,
    /// More rejected records than this end the run with code 4; the output is written.
    #[arg(long, value_name = "COUNT|PERCENT%", default_value = "5%")]
    max_rejects: Limit,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    watched: Watched,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    place: ShardArgs,
}

/// Runs the job.
///
/// # Errors
/// [`Failure`], with its exit code.
pub fn run(args: ClustersArgs) -> Result<(), Failure> {
    let cluster = args.cluster.read().map_err(|error| error.into_failure())?;
    let out = match cluster {
        None => args.out.clone(),
        Some(_) => part_of(&args.out, args.cluster.process()),
    };
    // Before standard input is read to its end.
    let files = args.records.files(&args.inputs)?;
    let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    check_outputs(&[&out], args.overwrite, &inputs, None)?;
    if cluster.is_some() && args.inputs.iter().any(|input| input.as_os_str() == "-") {
        return Err(Failure::usage("standard input goes with one process only"));
    }
    let several = cluster.as_ref().map(|_| &args.cluster);
    let progress = args.watched.begin_on(several, "clusters", None).map_err(Failure::usage)?;
    let plan = Plan::of(&args, cluster.as_ref());
    let shards = args.records.find(&args.inputs, &plan.scratch)?;
    let parameters = digest_of(&("clusters", format!("{:?} {:?}", args.records, args.sites), args.reading.line_limit));
    let agreed = args.place.agreed(cluster.as_ref(), &shards.shards)?;
    let mesh = args.cluster.meet(cluster.as_ref(), plan.workers, &parameters, &agreed);
    let mesh = mesh.map_err(|error| error.into_failure())?;
    together(mesh.as_deref(), || part(&args, &plan, &out, (shards.shards.clone(), progress), mesh.as_ref()))
}

/// Resources of the run.
struct Plan {
    workers: usize,
    memory: usize,
    scratch: PathBuf,
}

impl Plan {
    fn of(args: &ClustersArgs, cluster: Option<&Cluster>) -> Plan {
        Plan {
            workers: args.workers.count(cluster),
            memory: args.room.memory(cluster),
            scratch: args.room.scratch(cluster),
        }
    }
}

/// Runs this process's part.
fn part(
    args: &ClustersArgs,
    plan: &Plan,
    out: &Path,
    (shards, progress): (Vec<Shard>, Arc<Progress>),
    mesh: Option<&Arc<Mesh>>,
) -> Result<(), Failure> {
    let reporter = watched::report(&progress, args.reading.quiet);
    let means = Means {
        site_by: args.sites.by(),
        workers: plan.workers,
        memory: plan.memory,
        scratch: &plan.scratch,
        reading: args.reading,
        progress,
        mesh,
        local: mesh.is_some() && args.place.local_shards,
    };
    let found = args.records.label(shards.clone(), &means).map_err(|error| match error {
        RunError::Source(error) => Failure::new(Exit::Failed, error),
        RunError::Workers(error) => lost(error),
        error => Failure::new(Exit::Failed, error),
    })?;
    let mut rejects = Rejects::default();
    let mine = match (found.rejects.is_none(), mesh) {
        // The records came with labels: the shards have not been divided among the processes.
        (true, Some(mesh)) if !args.place.local_shards => {
            found.shards.iter().skip(mesh.process()).step_by(mesh.processes()).cloned().collect()
        }
        _ => found.shards.clone(),
    };
    let mut tally = Tally::default();
    let file = write(out, &mine, args.reading.line_limit, &mut rejects, &mut tally)?;
    drop(reporter);
    let mut rejects = found.rejects.clone().unwrap_or(rejects);
    if let Some(mesh) = mesh {
        // All have written before any file gets its name.
        rejects = all_rejects(mesh, &rejects).map_err(|error| error.into_failure())?;
        tally = all_tallies(mesh, &tally).map_err(|error| error.into_failure())?;
    }
    if tally.records() == 0 {
        let inputs = Inputs { shards: &shards, forced: args.records.format, tally: &tally, rejects: &rejects };
        return Err(inputs.no_records());
    }
    file.commit()?;
    if let Some(mesh) = mesh {
        // All parts have their names now: a process that failed to name its part has ended the others.
        merged(mesh, &(), |(), ()| ()).map_err(|error| error.into_failure())?;
    }
    if mesh.is_none_or(|mesh| mesh.process() == 0) {
        for (reason, count) in rejects.counts() {
            args.reading.quiet.say(format_args!("rejected: {count} {reason}"));
        }
    }
    refuse_rejects(&rejects, args.max_rejects)
}

/// Writes the records of labelled shards, in order; the file has its name once it is committed.
fn write(
    out: &Path,
    shards: &[Shard],
    line_limit: usize,
    rejects: &mut Rejects,
    tally: &mut Tally,
) -> Result<PendingFile, Failure> {
    let failed = |source| IoError::Write { path: out.to_owned(), source };
    let file = PendingFile::create(out)?;
    let parquet = out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"));
    let mut output = if parquet {
        RecordFile::Table(Box::new(TableWriter::new(file).map_err(failed)?))
    } else {
        RecordFile::Lines(Box::new(file))
    };
    let (mut batch, mut text, mut lines) = (RecordBatch::default(), Vec::new(), Vec::new());
    for shard in shards {
        let limit = labelled_limit(line_limit);
        let mut reader = ShardReader::open_with_facts(shard, limit, Arc::new(AtomicU64::new(0)))?;
        while reader.next_batch(&mut batch, rejects)? {
            tally.add(&shard.name, &batch);
            let mut records = batch.iter().enumerate();
            match &mut output {
                RecordFile::Table(table) => {
                    records.try_for_each(|(at, record)| table.push(record, batch.facts(at))).map_err(failed)?;
                }
                RecordFile::Lines(file) => {
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
    match output {
        RecordFile::Lines(file) => Ok(*file),
        RecordFile::Table(table) => Ok(table.finish().map_err(failed)?),
    }
}

/// Output format of records.
enum RecordFile {
    Lines(Box<PendingFile>),
    Table(Box<TableWriter<PendingFile>>),
}
