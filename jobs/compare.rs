//! `undust compare`: all methods under one protocol, to tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, ValueEnum};
use undust::baselines::catalogue::{Row, Switches};
use undust::baselines::protocol::Plan;
use undust::baselines::results::Protocol;
use undust::baselines::{Name, Setup};
use undust::dataflow::compare::{self, CompareError, Compared, Job};
use undust::io::output::Existing;
use undust::io::{IoError, OutputDir};
use undust::model::shown::Page;
use undust::report::{page, tables};
use undust::runtime::memory::parse_size;
use undust::runtime::mesh::Mesh;
use undust::site::Stage;

use crate::cluster::{ClusterArgs, ClusterError, ShardArgs, all_rejects, digest_of, lost, together};
use crate::failure::Failure;
use crate::fetch::FetchArgs;
use crate::inputs::{Inputs, all_tallies};
use crate::labels::parse_base;
use crate::messages::{say, show};
use crate::options::{LabelledInputs, Reading, SiteChoice, Workers};
use crate::report::REPORT;
use crate::source::{Counted, Shards};

/// Compares methods that learn canonical URLs, undust among them, under the protocol of a paper.
///
/// Reads labelled records (TSV or JSON lines), lets every method learn on a training sample of each site and scores it
/// on all records. Writes comparison.json, a CSV a table, tables.txt, report.html and times.json; all but times.json and
/// what of it is in the report are the same bytes for any number of workers and processes. On several processes process
/// 0 writes; with --local-shards the crawl order of a site is that of the processes, then that of their shards.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Folder for the results; must be empty or absent.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Methods, by comma, in the order of the tables (default: all).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method)]
    methods: Vec<Name>,
    /// The protocol: www10 trains on a random share and tests on everything; sigir2017 trains on the first 15,000 URLs
    /// of a site and tests on the next 5,000.
    #[arg(long, value_enum, default_value_t)]
    protocol: How,
    /// Highest false-positive rates, by comma (default: those of WWW10, 0 to 0.1 by 0.01 and to 0.9 by 0.1).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    fpr_max: Vec<f64>,
    /// The rate of tables without such an axis: one of the list.
    #[arg(long, value_name = "F", default_value_t = 0.01)]
    headline: f64,
    /// Seeds of the training samples, by comma.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [1])]
    seeds: Vec<u64>,
    /// Share of the URLs of a site that train (www10).
    #[arg(long, value_name = "F", default_value_t = 0.2)]
    train_share: f64,
    /// Most URLs of a site that train (www10).
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    train_max: usize,
    /// Rows of the normalization catalogue that are on, by comma (default: all).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = row)]
    catalogue: Vec<NamedRow>,
    /// IP addresses and their hosts, for the catalogue: a line each, by tab.
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Departures from WWW10 that the published methods take, by comma.
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',')]
    published: Vec<Departure>,
    /// Stages of undust that are left out, by comma, to measure what they are for: tokens, functions, joint, conditions,
    /// classes, defaults, sinks, noise, forms, energy-walk, mirrors, exceptions, look-ups, spans, proof.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = stage)]
    without: Vec<Stage>,
    /// DustBuster learns from the sizes of answers instead of from clusters, and from records without a cluster, too: access
    /// logs, lists of URLs and sizes. Name it with --methods; without clusters it is --fetch that validates its rules.
    #[arg(long)]
    sizes: bool,
    #[command(flatten)]
    live: FetchArgs,
    /// Scheme and host of the site that access logs are of, where their lines do not name it.
    #[arg(long, value_name = "URL", value_parser = parse_base)]
    log_base: Option<String>,
    #[command(flatten)]
    sites: SiteChoice,
    #[command(flatten)]
    workers: Workers,
    /// Most memory for the records, a process (default: 4GiB).
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,
    #[command(flatten)]
    records: LabelledInputs,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    place: ShardArgs,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum How {
    #[default]
    Www10,
    Sigir2017,
}

/// Departures of undust that the published method knows as switches (docs/method.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Departure {
    /// Salient values by their number of clusters, not by eq. 5.
    SalientByFrequency,
    /// An absent key is no value.
    AbsenceNoValue,
    /// No pairs of a node and its ancestor.
    NoNestedPairs,
    /// Overlap among duplicated URLs only.
    OverlapOfDuplicated,
    /// Keys map by agreement within clusters.
    MappingByAgreement,
    /// False-positive rate of URLs, not of pairs.
    FprPerUrl,
    /// Upper Wilson bound of that rate.
    FprWilson,
    /// Rules of a destination to itself stay.
    SelfRulesKept,
    /// Concatenated rules must qualify again.
    ChainsProvenAgain,
}

#[derive(Clone, Copy, Debug)]
struct NamedRow(Row);

fn method(text: &str) -> Result<Name, String> {
    let known = || Name::ALL.map(Name::text).join(", ");
    Name::parse(text).ok_or_else(|| format!("no such method; there are {}", known()))
}

fn stage(text: &str) -> Result<Stage, String> {
    let known = || Stage::ALL.map(Stage::text).join(", ");
    Stage::parse(text).ok_or_else(|| format!("no such stage; there are {}", known()))
}

fn row(text: &str) -> Result<NamedRow, String> {
    let known = || Row::ALL.map(|(_, name)| name).join(", ");
    Row::parse(text).map(NamedRow).ok_or_else(|| format!("no such row; there are {}", known()))
}

/// WWW10, section 6.2.2.
fn rates_of_the_paper() -> Vec<f64> {
    let fine = (0..=10).map(|i| f64::from(i) / 100.0);
    fine.chain((2..=9).map(|i| f64::from(i) / 10.0)).collect()
}

/// Runs the job.
pub fn run(args: CompareArgs) -> Result<(), Failure> {
    let cluster = args.cluster.read().map_err(ClusterError::into_failure)?;
    let mut plan = plan(&args)?;
    let server = args.live.server()?.map(Arc::new);
    if let Some(server) = &server {
        // One asks at a time, in an order that does not depend on who is faster.
        if args.workers.count(None) > 1 || cluster.is_some() {
            return Err(Failure::usage("--fetch asks one page after the other: one worker, one process"));
        }
        plan.setup.server = Some(server.clone());
    }
    let shards = args.records.find_with(args.log_base.as_deref())?;
    let out = if args.cluster.process() == 0 { Some(prepare(&args.out)?) } else { None };
    let began = Instant::now();
    let parameters = digest_of(&("compare", format!("{plan:?} {:?} {}", args.sites, args.reading.line_limit)));
    let job = Job {
        plan,
        site_by: args.sites.by(),
        shards: shards.len(),
        local: cluster.is_some() && args.place.local_shards,
        workers: args.workers.count(cluster.as_ref()),
        memory: args.memory.or(cluster.as_ref().and_then(|c| c.memory)).unwrap_or(4 << 30),
        clock: Arc::new(move || began.elapsed().as_secs_f64()),
    };
    let agreed = args.place.agreed(cluster.as_ref(), &shards)?;
    let mesh = args.cluster.meet(cluster.as_ref(), job.workers, &parameters, &agreed);
    let mesh = mesh.map_err(ClusterError::into_failure)?;
    let source = Arc::new(Shards {
        shards,
        line_limit: args.reading.line_limit,
        counts: true,
        counted: Counted::default(),
        local: None,
        workers: job.workers,
        facts: args.sizes,
    });
    together(mesh.as_deref(), || part(&args, &job, source, out, mesh.as_ref()))?;
    if let Some(server) = server.filter(|_| !args.reading.quiet.is_set()) {
        say(server.asked());
    }
    Ok(())
}

/// This process's part; `out` is at process 0.
fn part(
    args: &CompareArgs,
    job: &Job,
    source: Arc<Shards>,
    out: Option<OutputDir>,
    mesh: Option<&Arc<Mesh>>,
) -> Result<(), Failure> {
    let compared = compare::run(job, source.clone(), mesh).map_err(|error| match error {
        CompareError::Workers(error) => lost(error),
        CompareError::Mesh(error) => ClusterError::Mesh(error).into_failure(),
        error => error.into(),
    })?;
    let (mut rejects, mut tally) = source.counted.take();
    if let Some(mesh) = mesh {
        rejects = all_rejects(mesh, &rejects).map_err(ClusterError::into_failure)?;
        tally = all_tallies(mesh, &tally).map_err(ClusterError::into_failure)?;
    }
    // At process 0 alone: the others learn why it fails.
    if out.is_some() && tally.labelled() == 0 && !args.sizes {
        let inputs = Inputs { shards: &source.shards, forced: args.records.forced(), tally: &tally, rejects: &rejects };
        return Err(inputs.no_labels("there is nothing to compare by"));
    }
    let text = out.map(|out| write(out, &compared)).transpose()?;
    if let Some(mesh) = mesh {
        // Process 0 has the result; the others end well once it is written.
        mesh.broadcast(Vec::new()).map_err(|error| ClusterError::Mesh(error).into_failure())?;
    }
    let Some(text) = text else { return Ok(()) };
    if !args.reading.quiet.is_set() {
        let Compared { comparison, invalid, unlabelled, .. } = &compared;
        let (sites, rejected, seconds) = (comparison.sites.len(), rejects.total(), (job.clock)());
        say(format!(
            "{sites} sites, {unlabelled} records without a cluster, {invalid} no URLs, {rejected} lines rejected, {seconds:.1} s"
        ));
    }
    show(&text).map_err(Failure::stdout)
}

fn plan(args: &CompareArgs) -> Result<Plan, Failure> {
    let mut fpr_max = if args.fpr_max.is_empty() { rates_of_the_paper() } else { args.fpr_max.clone() };
    fpr_max.sort_by(f64::total_cmp);
    fpr_max.dedup();
    if let Some(bad) = fpr_max.iter().find(|rate| !(0.0..=1.0).contains(*rate)) {
        return Err(Failure::usage(format!("--fpr-max {bad}: a rate from 0 to 1")));
    }
    if !(args.train_share > 0.0 && args.train_share <= 1.0) {
        return Err(Failure::usage(format!("--train-share {}: a share above 0, at most 1", args.train_share)));
    }
    let Some(headline) = fpr_max.iter().position(|rate| *rate == args.headline) else {
        return Err(Failure::usage(format!("--headline {} is none of --fpr-max", args.headline)));
    };
    let catalogue = match args.catalogue.is_empty() {
        true => Switches::default(),
        false => args.catalogue.iter().fold(Switches::NONE, |switches, row| switches.with(row.0)),
    };
    let hosts = args.hosts.as_deref().map(read_hosts).transpose()?.unwrap_or_default();
    Ok(Plan {
        protocol: match args.protocol {
            How::Www10 => Protocol::Www10,
            How::Sigir2017 => Protocol::Sigir2017,
        },
        methods: if args.methods.is_empty() { Name::ALL.to_vec() } else { args.methods.clone() },
        setup: Setup {
            catalogue,
            hosts,
            published: published(&args.published),
            without: args.without.clone().into(),
            sizes: args.sizes,
            server: None,
        },
        fpr_max,
        headline,
        seeds: args.seeds.clone(),
        train_share: args.train_share,
        train_max: args.train_max,
        crawl: (15_000, 5_000),
    })
}

fn published(departures: &[Departure]) -> undust::site::published::Switches {
    use undust::site::published::{Fpr, Overlap, Salient, Sigma, Switches};
    let mut out = Switches::default();
    for departure in departures {
        match departure {
            Departure::SalientByFrequency => out.salient = Salient::Frequency,
            Departure::AbsenceNoValue => out.presence = false,
            Departure::NoNestedPairs => out.nested = false,
            Departure::OverlapOfDuplicated => out.overlap = Overlap::Duplicated,
            Departure::MappingByAgreement => out.sigma = Sigma::Agreement,
            Departure::FprPerUrl => out.fpr = Fpr::Url,
            Departure::FprWilson => out.fpr = Fpr::Wilson,
            Departure::SelfRulesKept => out.self_rules = true,
            Departure::ChainsProvenAgain => out.revalidate = true,
        }
    }
    out
}

fn read_hosts(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("--hosts {}: {error}", path.display())))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| match line.split_once('\t') {
            Some((ip, host)) => Ok((ip.trim().to_owned(), host.trim().to_owned())),
            None => Err(Failure::usage(format!("--hosts {}:{}: address, tab, host expected", path.display(), at + 1))),
        })
        .collect()
}

/// The folder, made where it is not there; refused where it holds anything.
fn prepare(out: &Path) -> Result<OutputDir, Failure> {
    OutputDir::create(out, Existing::Refuse).map_err(|error| match error {
        IoError::NotEmpty { path, .. } => {
            Failure::usage(format!("{} is not empty: name another folder", path.display()))
        }
        error => error.into(),
    })
}

/// Writes all files and gives the text of the tables.
fn write(mut out: OutputDir, compared: &Compared) -> Result<Page, Failure> {
    let mut file = |name: &str, text: &str| out.write(name, |file| file.write_all(text.as_bytes()));
    let Compared { comparison, times, .. } = compared;
    file("comparison.json", &(serde_json::to_string(comparison)? + "\n"))?;
    file("times.json", &(serde_json::to_string(times)? + "\n"))?;
    let tables = tables::all(comparison);
    for table in &tables {
        file(&format!("{}.csv", table.id), &table.csv())?;
    }
    let mut text = Page::default();
    for table in &tables {
        text.append(&table.text());
        let _ = writeln!(text);
    }
    file("tables.txt", text.as_str())?;
    text.append(&tables::times(times, &comparison.methods).text());
    file(REPORT, &page::html(comparison, Some(times)))?;
    out.finish()?;
    Ok(text)
}
