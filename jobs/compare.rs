//! `undust compare`: all methods under one protocol, to tables.

mod plan;
mod predictions;
mod split;
mod times;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use undust::baselines::Name;
use undust::dataflow::compare::{self, CompareError, Compared, Job};
use undust::io::output::Existing;
use undust::io::{IoError, OutputDir, Rejects};
use undust::model::shown::Page;
use undust::report::{costs, page, tables};
use undust::runtime::memory::parse_size;
use undust::runtime::mesh::Mesh;
use undust::site::Stage;

use crate::cluster::{ClusterArgs, ClusterError, ShardArgs, all_rejects, digest_of, lost, together};
use crate::failure::{Exit, Failure};
use crate::fetch::FetchArgs;
use crate::inputs::{Inputs, all_tallies, rejected_lines};
use crate::labels::parse_base;
use crate::messages::{say, show};
use crate::options::{LabelledInputs, Reading, SiteChoice, Workers};
use crate::report::REPORT;
use crate::source::{Counted, Shards};
use plan::{Departure, How, NamedRow, method, plan, row, stage, without_help};
use predictions::Named;
pub use times::MOST_SECONDS;

/// Compares methods that learn canonical URLs, undust among them, under the protocol of a paper.
///
/// Reads labelled records (TSV or JSON lines), lets every method learn on a training sample of each
/// site and scores it on all records. Writes comparison.json, a CSV a table, tables.txt, report.html
/// and times.json; all but times.json and what of it is in the report are the same bytes for any number
/// of workers and processes. On several processes process 0 writes; with --local-shards the crawl order
/// of a site is that of the processes, then that of their shards.
///
/// Methods outside of this program take part by files: --split writes the records that they may learn
/// from and must predict, --predictions reads their predictions (docs/method.md).
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Folder for the results; must be empty or absent.
    #[arg(long, value_name = "DIR", required_unless_present = "split")]
    out: Option<PathBuf>,
    /// Compares nothing, but writes the training and test records of the protocol to a folder, which must
    /// be empty or absent: train-SEED.jsonl for each seed, test.jsonl, split.json, rejects.jsonl.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "methods", "predictions", "times", "sizes", "fetch"])]
    split: Option<PathBuf>,
    /// Canonical URLs that another program predicted: lines of URL, tab, canonical URL; plain, gzip or
    /// zstd; `-` is standard input. A URL without a line is kept as it is. NAME@SEED=FILE: for one of
    /// --seeds. Once for each file.
    #[arg(long, value_name = "NAME=FILE", value_parser = predictions::parse)]
    predictions: Vec<Named>,
    /// What the methods of --predictions took, in the format of times.json: for each site and seed (counted
    /// from 0) the seconds to learn and to predict. Shown beside the times of the other methods.
    #[arg(long, value_name = "FILE", requires = "predictions")]
    times: Vec<PathBuf>,
    /// Methods, by comma, in the order of the tables (default: all).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method)]
    methods: Vec<Name>,
    /// The protocol: www10 trains on a random share and tests on everything; sigir2017 trains on the first
    /// 15,000 URLs of a site and tests on the next 5,000.
    #[arg(long, value_enum, default_value_t)]
    protocol: How,
    /// Highest false-positive rates, by comma (default: those of WWW10, 0 to 0.1 by 0.01 and to 0.9 by
    /// 0.1).
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
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = stage, help = without_help())]
    without: Vec<Stage>,
    /// DustBuster learns from the sizes of answers instead of from clusters, and from records without a
    /// cluster, too: access logs, lists of URLs and sizes. Name it with --methods; without clusters it is
    /// --fetch that validates its rules.
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
    /// Most memory for the records and the predictions, a process (default: 4GiB).
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

/// Runs the job.
pub fn run(args: CompareArgs) -> Result<(), Failure> {
    let cluster = args.cluster.read().map_err(ClusterError::into_failure)?;
    let mut plan = plan(&args)?;
    let server = args.live.server()?.map(Arc::new);
    if let Some(server) = &server {
        // One request at a time, in an order that does not depend on the speed of workers.
        if args.workers.count(None) > 1 || cluster.is_some() {
            return Err(Failure::usage("--fetch asks one page after the other: one worker, one process"));
        }
        plan.setup.server = Some(server.clone());
    }
    predictions::check(&args.predictions, plan.samples())?;
    if predictions::from_stdin(&args.predictions) && (args.records.reads_stdin() || cluster.is_some()) {
        return Err(Failure::usage("--predictions NAME=-: standard input is read once, at one process; name a file"));
    }
    let outside = times::read(&args.times, &args.predictions, plan.samples().len())?;
    let shards = args.records.find_with(args.log_base.as_deref())?;
    let folder = args.split.as_deref().or(args.out.as_deref()).unwrap_or(Path::new(""));
    let out = if args.cluster.process() == 0 { Some(prepare(folder)?) } else { None };
    let memory = args.memory.or(cluster.as_ref().and_then(|c| c.memory)).unwrap_or(4 << 30);
    let mut rejects = Rejects::default();
    plan.setup.outside = predictions::read(&args.predictions, args.reading.line_limit, memory, &mut rejects)?;
    let began = Instant::now();
    // Not the paths: they may differ from process to process.
    let timed: Vec<_> = outside.iter().map(|given| &given.time).collect();
    let how = format!("{plan:?} {:?} {} {timed:?}", args.sites, args.reading.line_limit);
    let split = args.split.is_some();
    let parameters = digest_of(&(if split { "compare --split" } else { "compare" }, how));
    let job = Job {
        plan,
        site_by: args.sites.by(),
        shards: shards.len(),
        local: cluster.is_some() && args.place.local_shards,
        workers: args.workers.count(cluster.as_ref()),
        memory,
        clock: times::clock(),
        timed: outside.iter().map(|given| given.time.site.clone()).collect(),
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
    let run = Run { args: &args, job: &job, source, out, mesh: mesh.as_ref(), rejects, outside, began };
    together(mesh.as_deref(), || if split { run.split() } else { run.compare() })?;
    if let Some(server) = server.filter(|_| !args.reading.quiet.is_set()) {
        say(server.asked());
    }
    Ok(())
}

/// This process's part of a run.
struct Run<'a> {
    args: &'a CompareArgs,
    job: &'a Job,
    source: Arc<Shards>,
    /// At process 0.
    out: Option<OutputDir>,
    mesh: Option<&'a Arc<Mesh>>,
    /// Lines of predictions that are invalid.
    rejects: Rejects,
    /// Times of outside methods.
    outside: Vec<times::Given>,
    began: Instant,
}

impl Run<'_> {
    fn compare(mut self) -> Result<(), Failure> {
        let compared = compare::run(self.job, self.source.clone(), self.mesh);
        let mut compared = compared.map_err(|error| self.failed(error))?;
        let rejects = self.rejected()?;
        let Some(out) = self.out.take() else { return self.leave() };
        times::join(&mut compared.times, std::mem::take(&mut self.outside));
        let text = write(out, &compared, &rejects)?;
        self.leave()?;
        let Compared { comparison, invalid, unlabelled, .. } = &compared;
        self.say(comparison.sites.len(), [*invalid, *unlabelled], &rejects);
        show(&text).map_err(Failure::stdout)
    }

    fn split(mut self) -> Result<(), Failure> {
        let split = compare::split::run(self.job, self.source.clone(), self.mesh);
        let split = split.map_err(|error| self.failed(error))?;
        let rejects = self.rejected()?;
        let Some(out) = self.out.take() else { return self.leave() };
        split::write(out, &self.job.plan, &split, &rejects)?;
        self.leave()?;
        self.say(split.sites.len(), [split.invalid, split.unlabelled], &rejects);
        Ok(())
    }

    /// The rejected lines of all processes.
    ///
    /// # Errors
    /// At process 0 where no record has a label: the others receive the reason.
    fn rejected(&self) -> Result<Rejects, Failure> {
        let (mut rejects, mut tally) = self.source.counted.take();
        if let Some(mesh) = self.mesh {
            rejects = all_rejects(mesh, &rejects).map_err(ClusterError::into_failure)?;
            tally = all_tallies(mesh, &tally).map_err(ClusterError::into_failure)?;
        }
        if self.out.is_some() && tally.labelled() == 0 && !self.args.sizes {
            let (shards, forced) = (&self.source.shards, self.args.records.forced());
            let inputs = Inputs { shards, forced, tally: &tally, rejects: &rejects };
            return Err(inputs.no_labels("there is nothing to compare by"));
        }
        // All processes read the same predictions: they are counted once.
        rejects.merge(self.rejects.clone());
        Ok(rejects)
    }

    /// Process 0 has the result; the others end well once it is written.
    fn leave(&self) -> Result<(), Failure> {
        if let Some(mesh) = self.mesh {
            mesh.broadcast(Vec::new()).map_err(|error| ClusterError::Mesh(error).into_failure())?;
        }
        Ok(())
    }

    /// The failure of an error, with the name of the file that is at fault.
    fn failed(&self, error: CompareError) -> Failure {
        let text = match &error {
            CompareError::Foreign { method, seed, .. } => {
                let file = self.args.predictions.iter().find(|named| named.is_for(*method, *seed));
                file.map(|file| format!("{}: {error}", file.path().display()))
            }
            CompareError::NoSite { site, .. } => {
                let given = self.outside.iter().find(|given| given.time.site == *site);
                given.map(|given| format!("--times {}: {} has {error}", given.file.display(), given.time.method))
            }
            _ => None,
        };
        match (text, error) {
            (Some(text), _) => Failure::new(Exit::Failed, text),
            (None, CompareError::Workers(error)) => lost(error),
            (None, CompareError::Mesh(error)) => ClusterError::Mesh(error).into_failure(),
            (None, error) => error.into(),
        }
    }

    fn say(&self, sites: usize, [invalid, unlabelled]: [u64; 2], rejects: &Rejects) {
        if self.args.reading.quiet.is_set() {
            return;
        }
        rejected_lines(&self.rejects).iter().for_each(say);
        let (rejected, seconds) = (rejects.total(), self.began.elapsed().as_secs_f64());
        say(format!(
            "{sites} sites, {unlabelled} records without a cluster, {invalid} no URLs, {rejected} lines rejected, {seconds:.1} s"
        ));
    }
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
fn write(mut out: OutputDir, compared: &Compared, rejects: &Rejects) -> Result<Page, Failure> {
    out.write("rejects.jsonl", |file| rejects.write_jsonl(file))?;
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
    for (at, table) in costs::all(comparison, times).iter().enumerate() {
        if at > 0 {
            let _ = writeln!(text);
        }
        text.append(&table.text());
    }
    file(REPORT, &page::html(&[page::Part { comparison, times: Some(times) }]))?;
    out.finish()?;
    Ok(text)
}
