//! `undust learn`: arguments to a checked plan, shards to the dataflow, results to a folder.

#[path = "learn/files.rs"]
mod files;
#[path = "learn/shown.rs"]
mod shown;

use super::cluster::{ClusterArgs, ClusterError, ShardArgs, all_rejects, digest_of};
use super::failure::{Exit, Failure, chain};
use super::held_out;
use super::inputs::{Inputs, all_tallies, no_rules};
use super::interrupt;
use super::labels::{Means, RecordArgs};
use super::learned_sites::LearnedSites;
use super::metrics::MetricsError;
use super::options::{Reading, Room, SiteChoice, Workers};
use super::platforms::PlatformArgs;
use super::settings::SetArgs;
use super::source::{Counted, Shards};
use super::watched::{self, Watched};
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use undust::dataflow::sample::SampleParams;
use undust::dataflow::summary::{Parameters, Summary};
use undust::dataflow::{Journal, Plan, RunError, Source};
use undust::io::output::{Existing, WORK};
use undust::io::rejects::Limit;
use undust::io::rules::{OpenError, RuleFile};
use undust::io::{IoError, OutputDir, Shard, fingerprint};
use undust::model::SiteBy;
use undust::rules::age::Day;
use undust::rules::types::SiteRules;
use undust::runtime::hosts::Cluster;
use undust::runtime::mesh::{Mesh, Traffic};
use undust::runtime::progress::Progress;
use undust::runtime::workers::WorkersError;
use undust::site::held_out::Limits;
use undust::site::{Method, Params};

pub(super) use shown::report;

/// Learns rules from records labelled with duplicate clusters, proves them on all records, and writes
/// them.
///
/// Reads the input twice or more (learn, prove). The same input and learning parameters give the same
/// bytes, whatever the number of workers, the memory, or the order of the records. An input without a
/// labelled record is an error, and nothing is written then; with --platforms provisional only where no
/// site shows a program of the catalogue. Writes rules.jsonl, summary.json, profiles.jsonl,
/// rejects.jsonl, report.html (of more than 1,000 sites report-1.html and so on beside it), and _SUCCESS
/// last.
#[derive(Args, Debug)]
pub struct LearnArgs {
    /// Files, folders (their shards, by extension), globs, or - for standard input (spooled to scratch).
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Folder for the results; must be empty or absent.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    workers: Workers,
    #[command(flatten)]
    sites: SiteChoice,
    /// Share of the records that train, chosen by hashes of cluster and URL.
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    train_share: f64,
    /// Most URLs of a site that train.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    train_max: u32,
    /// Share of the URLs of each site, by hash, that never trains; rules are weighed on them apart.
    #[arg(long, value_name = "F", default_value_t = 0.0)]
    held_back: f64,
    /// Leaves out the figures on URLs that took no part in learning. They are cross-fitted: rules are
    /// learned without each part of the clusters, and of the URLs, and counted on that part, which takes a
    /// few seconds, or in a large run about a sixth of the time more. Always left out with --method
    /// published.
    #[arg(long)]
    no_held_out: bool,
    /// Writes no report.html; `undust report` makes it later.
    #[arg(long)]
    no_report: bool,
    /// Highest pair false-positive rate of a site's rules over all records (published: 0.05).
    #[arg(long, value_name = "F", default_value_t = 0.01)]
    fpr_max: f64,
    /// Rules also act on hosts of the registrable domain that no record has, on default ports: those that
    /// nine hosts or more show and none contradicts. They change neither scheme nor host there, and
    /// look-ups decide nothing. Without effect on sites that are labels of records, unless the label is the
    /// domain of the hosts.
    #[arg(long)]
    extend_to_domain: bool,
    #[command(flatten)]
    platforms: PlatformArgs,
    #[command(flatten)]
    set: SetArgs,
    /// The learner.
    #[arg(long, value_enum, default_value_t = How::Undust)]
    method: How,
    /// How the published method selects rules (default: graph).
    #[arg(long, value_enum, value_name = "SELECTION")]
    selection: Option<Selection>,
    /// Day of the data, or the first and the last as FROM..TO (2024-05-31): written into the rule file, for
    /// --max-age.
    #[arg(long, value_name = "DATE", value_parser = data_date)]
    data_date: Option<DataDate>,
    /// Folder or rule file of an earlier result, so that canonical URLs stay where they can: it decides
    /// which of several origins, values, forms or pages that are proven equal represents the others, and that
    /// its rules are tested first, by the same tests; new rules that move more than a hundred URLs for
    /// each that they merge are not taken. Redirects and declared canonical URLs decide before it.
    /// Held in memory; with it, too, the same input gives the same bytes.
    #[arg(long, value_name = "DIR")]
    previous: Option<PathBuf>,
    /// Rules that stay disabled: copied into the folder as overrides.jsonl. Without it, an overrides file
    /// that the folder holds already (--overwrite) is kept.
    #[arg(long, value_name = "FILE")]
    overrides: Option<PathBuf>,
    #[command(flatten)]
    room: Room,
    /// Replaces an earlier result in DIR, when the new one is whole.
    #[arg(long)]
    overwrite: bool,
    /// More rejected lines than this end the run with code 4: outputs are written, _SUCCESS is not.
    #[arg(long, value_name = "COUNT|PERCENT%", default_value = "5%")]
    max_rejects: Limit,
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    watched: Watched,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    place: ShardArgs,
    /// Goes on with a run that ended early: sites that it learned are not learned again. They are kept in
    /// DIR/.work until the run is whole, by runs on several processes, and by those on one with this
    /// option: give it from the start.
    #[arg(long, conflicts_with = "overwrite", help_heading = "Several machines")]
    resume: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// The method of this program.
    Undust,
    /// The pattern tree as published (WWW 2010).
    Published,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Selection {
    Graph,
    Naive,
}

/// Failure of `learn`.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// Arguments that do not go together.
    #[error("{0}")]
    Usage(String),
    /// More lines were rejected than allowed; outputs are written, `_SUCCESS` is not.
    #[error(
        "{rejected} of {lines} lines were rejected, more than --max-rejects allows: see rejects.jsonl in {}; the result \
         is not marked as whole", out.display()
    )]
    Rejects {
        /// Rejected lines.
        rejected: u64,
        /// All lines.
        lines: u64,
        /// Folder of the sample.
        out: PathBuf,
    },
    /// No record has a label; nothing is written.
    #[error("{0}")]
    NoLabels(String),
    /// The processes of the run did not connect, or lost each other.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The run failed.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

impl LearnError {
    /// The failure with its exit code.
    pub fn into_failure(self) -> Failure {
        let exit = match &self {
            LearnError::Failed(_) | LearnError::NoLabels(_) => Exit::Failed,
            LearnError::Usage(_) => Exit::Usage,
            LearnError::Cluster(error) => error.exit(),
            LearnError::Rejects { .. } => Exit::TooManyRejects,
        };
        Failure::new(exit, self)
    }
}

impl From<RunError> for LearnError {
    fn from(error: RunError) -> LearnError {
        match error {
            RunError::Source(error) => LearnError::Failed(error),
            RunError::Workers(WorkersError::Peer(error)) => ClusterError::Mesh(error).into(),
            error => LearnError::Failed(Box::new(error)),
        }
    }
}

impl From<MetricsError> for LearnError {
    fn from(error: MetricsError) -> LearnError {
        LearnError::Usage(error.to_string())
    }
}

impl From<IoError> for LearnError {
    fn from(error: IoError) -> LearnError {
        LearnError::Failed(Box::new(error))
    }
}

/// Runs the job.
///
/// # Errors
/// [`LearnError`], with its exit code.
pub fn run(args: LearnArgs) -> Result<(), LearnError> {
    let cluster = args.cluster.read()?;
    let several = cluster.as_ref().map(|_| &args.cluster);
    let progress = args.watched.begin_on(several, "learn", Some(&args.out))?;
    let mut plan = plan(&args, cluster.as_ref())?;
    plan.previous = previous(&args)?;
    if (cluster.is_some() || args.resume) && args.inputs.iter().any(|input| input.as_os_str() == "-") {
        return Err(LearnError::Usage("standard input goes with one process and without --resume only".to_owned()));
    }
    let found = args.records.find(&args.inputs, &plan.scratch)?;
    let shards = found.shards.clone();
    if let Some(path) = args.overrides.as_ref().filter(|path| !path.is_file()) {
        return Err(LearnError::Usage(format!("{}: no such file; --overrides names one", path.display())));
    }
    let parameters = (Parameters::of(&plan), args.reading.line_limit, format!("{:?}", args.records));
    let parameters = match plan.previous.is_empty() {
        true => digest_of(&parameters),
        false => digest_of(&(parameters, plan.previous.values().map(Arc::as_ref).collect::<Vec<_>>())),
    };
    let agreed = args.place.agreed(cluster.as_ref(), &shards)?;
    let mesh = args.cluster.meet(cluster.as_ref(), plan.workers, &parameters, &agreed)?;
    let done = learn(&args, &plan, &parameters, &agreed, (shards, progress), mesh.as_ref());
    if let Some(mesh) = &mesh {
        match &done {
            Ok(()) | Err(LearnError::Rejects { .. } | LearnError::NoLabels(_)) => mesh.farewell(),
            Err(error) => mesh.give_up(&chain(error)),
        }
    }
    done
}

/// Learns together with the processes of the mesh, if any.
fn learn(
    args: &LearnArgs,
    plan: &Plan,
    parameters: &str,
    agreed: &str,
    (shards, progress): (Vec<Shard>, Arc<Progress>),
    mesh: Option<&Arc<Mesh>>,
) -> Result<(), LearnError> {
    let local = mesh.is_some() && args.place.local_shards;
    let means = Means { mesh, local, ..Means::of(plan, args.reading, progress.clone()) };
    let existing = match (args.overwrite, args.resume) {
        (true, _) => Existing::Overwrite,
        (_, true) => Existing::Resume,
        _ => Existing::Refuse,
    };
    let writes = mesh.is_none_or(|mesh| mesh.process() == 0);
    let mut out = if writes { Some(OutputDir::create(&args.out, existing)?) } else { None };
    // Blocks until process 0 has prepared the folder.
    let journal = match mesh.is_some() || args.resume {
        true => {
            let (mesh, local) = (mesh.map(Arc::as_ref), args.place.local_shards);
            let journal = LearnedSites::open(&args.out, args.resume, mesh, parameters, agreed, &shards, local)?;
            let work = args.out.join(WORK);
            interrupt::leaves(format!("what was learned is kept in {}: run again with --resume", work.display()));
            Some(journal)
        }
        false => None,
    };

    let local = mesh.filter(|_| args.place.local_shards).map(|mesh| mesh.process() * plan.workers);
    let reporter = watched::report(&progress, args.reading.quiet);
    let unlabelled = args.records.unlabelled(&shards, &means)?;
    let source = Arc::new(Shards {
        shards,
        line_limit: args.reading.line_limit,
        counts: true,
        counted: Counted::shown_in(progress.clone()),
        local,
        workers: plan.workers,
        facts: false,
    });
    let (records, first) = match &unlabelled {
        Some(unlabelled) => (unlabelled.relabelled(), Some(unlabelled.run.clone())),
        None => (source.clone() as Arc<dyn Source>, None),
    };
    let kept = journal.clone().map(|journal| journal as Arc<dyn Journal>);
    let before = fingerprint::times(&source.shards);
    let learned = undust::dataflow::run_on(plan, records, progress, mesh, kept, first);
    drop(reporter);
    let learned = learned?;
    stays(&source.shards, &before)?;
    tell(args, mesh.map(Arc::as_ref), journal.as_deref());

    let (mut rejects, mut tally) = match unlabelled {
        Some(unlabelled) => {
            let found = unlabelled.finish(&means)?;
            (found.rejects.unwrap_or_default(), found.tally)
        }
        None => source.counted.take(),
    };
    if let Some(mesh) = mesh {
        (rejects, tally) = (all_rejects(mesh, &rejects)?, all_tallies(mesh, &tally)?);
    }
    // Without labels there are rules where lines of the catalogue act provisionally, and nowhere else.
    let provisional = plan.params.platforms.provisional;
    if tally.labelled() == 0 && !(provisional && learned.sites.iter().any(|site| !site.rules.rules.is_empty())) {
        // All processes reach this alike; the first reports the files read.
        let inputs = Inputs { shards: &source.shards, forced: args.records.format, tally: &tally, rejects: &rejects };
        if writes {
            inputs.say();
        }
        let so = match provisional {
            true => "there is nothing to learn from, and the URLs show no program of the catalogue of platforms",
            false => "there is nothing to learn from",
        };
        let error = LearnError::NoLabels(inputs.expected(so));
        // Its lock is released first: the last process to remove its journal removes the folder.
        out.into_iter().for_each(OutputDir::abandon);
        journal.into_iter().for_each(LearnedSites::remove);
        return Err(error);
    }
    let mut shown = None;
    if let Some(out) = &mut out {
        let counts = rejects.counts().map(|(reason, count)| (reason.name().to_owned(), count)).collect();
        let summary = Summary::new(plan, &learned, counts);
        files::write(out, plan, args, &learned, &summary, &rejects, tally.data())?;
        shown = Some(summary);
    }
    let mut refused = rejects.exceeds(args.max_rejects).then(|| (rejects.total(), rejects.lines()));
    match out {
        Some(out) if refused.is_none() => {
            out.finish()?;
            interrupt::leaves(format!("the result in {} is complete", args.out.display()));
        }
        Some(out) => out.leave_unmarked()?,
        None => {}
    }
    // After the result has its mark: a closed standard output does not take it away.
    if let Some(summary) = shown {
        report(held_out::section(&summary), &learned, &summary, &args.out)?;
        if summary.total.rules == 0 {
            args.reading.quiet.say(no_rules(&summary.total));
        }
    }
    if let Some(mesh) = mesh {
        refused = told(mesh, &refused)?;
        if mesh.process() > 0 {
            drop(source);
            journal.into_iter().for_each(LearnedSites::remove);
        }
    }
    match refused {
        Some((rejected, lines)) => Err(LearnError::Rejects { rejected, lines, out: args.out.clone() }),
        None => Ok(()),
    }
}

/// What process 0 made of the result, once it is written: present, and complete or not for all alike.
pub(super) fn told(mesh: &Mesh, refused: &Option<(u64, u64)>) -> Result<Option<(u64, u64)>, LearnError> {
    let failed = |error: serde_json::Error| LearnError::Failed(Box::new(error));
    let note = serde_json::to_vec(refused).map_err(failed)?;
    serde_json::from_slice(&mesh.broadcast(note).map_err(ClusterError::Mesh)?).map_err(failed)
}

/// Checks that the files of a run are what they were when it began: it reads them several times, and rules
/// that were learned from some records and proven on others are no result.
pub(super) fn stays(shards: &[Shard], before: &str) -> Result<(), LearnError> {
    match fingerprint::times(shards) == before {
        true => Ok(()),
        false => {
            let text =
                "the input changed while it was read: nothing is written; run again on files that stay as they are";
            Err(LearnError::Failed(text.into()))
        }
    }
}

/// Reports on the run of this process, where there is more than that it is done.
fn tell(args: &LearnArgs, mesh: Option<&Mesh>, journal: Option<&LearnedSites>) {
    let Some((taken, learned)) = journal.map(LearnedSites::counts) else { return };
    if args.resume {
        args.reading.quiet.say(format_args!("{taken} sites were learned before, {learned} are new"));
    }
    if let Some(mesh) = mesh {
        let Traffic { sent, received } = mesh.traffic();
        let how = if mesh.encrypts() { "encrypted" } else { "in the clear" };
        args.reading.quiet.say(format_args!(
            "process {} of job {}: {learned} sites learned, {sent} bytes sent, {received} received, {how}",
            mesh.process(),
            mesh.job()
        ));
    }
}

/// The rules of the earlier result by site, without disabled ones.
fn previous(args: &LearnArgs) -> Result<Arc<BTreeMap<String, Arc<SiteRules>>>, LearnError> {
    let Some(path) = &args.previous else { return Ok(Arc::default()) };
    let mut file = RuleFile::open(path, false).map_err(|error| {
        LearnError::Failed(match error {
            OpenError::Io(IoError::Incomplete { path }) => format!(
                "--previous {}: no _SUCCESS in it: the run that wrote it failed, was stopped or is still going; name a \
                 whole result, or leave --previous out",
                path.display()
            )
            .into(),
            error => Box::new(error),
        })
    })?;
    file.overrides.apply(&mut file.sites);
    Ok(Arc::new(file.sites.into_iter().map(|site| (site.site.clone(), Arc::new(site))).collect()))
}

/// Checked options.
fn plan(args: &LearnArgs, cluster: Option<&Cluster>) -> Result<Plan, LearnError> {
    let usage = |text: String| Err(LearnError::Usage(text));
    if !(0.0..1.0).contains(&args.held_back) {
        return usage(format!("--held-back {}: a share of at least 0, under 1", args.held_back));
    }
    if !(args.train_share > 0.0 && args.train_share <= 1.0) {
        return usage(format!("--train-share {}: a share above 0, at most 1", args.train_share));
    }
    if !(0.0..=1.0).contains(&args.fpr_max) {
        return usage(format!("--fpr-max {}: a rate from 0 to 1", args.fpr_max));
    }
    if args.selection.is_some() && args.method == How::Undust {
        return usage("--selection goes with --method published only".to_owned());
    }
    if args.extend_to_domain && (args.sites.by() != SiteBy::Domain || args.method != How::Undust) {
        return usage("--extend-to-domain goes with neither --site-by host nor --method published".to_owned());
    }
    for (option, is_given) in [("--set", args.set.is_given()), ("--platforms", args.platforms.is_given())] {
        if is_given && args.method != How::Undust {
            return usage(format!("{option} does not go with --method published, which asks for no such thing"));
        }
    }
    let method = match (args.method, args.selection) {
        (How::Undust, _) => Method::Undust,
        (How::Published, Some(Selection::Naive)) => Method::PublishedNaive,
        (How::Published, _) => Method::PublishedGraph,
    };
    let fpr_max_ppm = (args.fpr_max * 1e6).round() as u32;
    let mut params = Params { method, fpr_max_ppm, extend_to_domain: args.extend_to_domain, ..Params::default() };
    args.platforms.fill(&mut params).map_err(LearnError::Usage)?;
    args.set.fill(&mut params).map_err(LearnError::Usage)?;
    Ok(Plan {
        params,
        sample: SampleParams {
            share: args.train_share,
            max: args.train_max,
            held_back: args.held_back,
            ..SampleParams::default()
        },
        // The published method exists for comparisons: its own folds take 80 s for 1,300 noisy URLs.
        held_out: (!args.no_held_out && method == Method::Undust).then(Limits::default),
        site_by: args.sites.by(),
        previous: Arc::default(),
        workers: args.workers.count(cluster),
        memory: args.room.memory(cluster),
        scratch: args.room.scratch(cluster),
    })
}

/// First and last day of the data.
#[derive(Clone, Copy, Debug)]
struct DataDate(Day, Day);

fn data_date(text: &str) -> Result<DataDate, String> {
    let day = |text: &str| text.parse::<Day>().map_err(|error| error.to_string());
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (day(from)?, day(to)?);
    if to < from { Err(format!("{to} is before {from}")) } else { Ok(DataDate(from, to)) }
}
