//! `undust compare`: all methods under one protocol, to tables.

mod args;
mod plan;
mod predictions;
mod split;
mod times;
mod values;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use undust::dataflow::compare::{self, CompareError, Compared, Job};
use undust::io::output::Existing;
use undust::io::{IoError, OutputDir, Rejects};
use undust::model::shown::Page;
use undust::report::{costs, page, tables};
use undust::runtime::mesh::Mesh;

use crate::cluster::{ClusterError, all_rejects, digest_of, lost, together};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{Inputs, all_tallies, rejected_lines};
use crate::messages::{say, show};
use crate::report::REPORT;
use crate::source::{Counted, Shards};
pub use args::CompareArgs;
use plan::plan;
pub use times::MOST_SECONDS;

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
