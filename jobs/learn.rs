//! `undust learn`: arguments to a checked plan, shards to the dataflow, results to a folder.

#[path = "learn/args.rs"]
mod args;
#[path = "learn/checked.rs"]
mod checked;
#[path = "learn/data_date.rs"]
mod data_date;
#[path = "learn/files.rs"]
mod files;
#[path = "learn/shown.rs"]
mod shown;

use super::cluster::{ClusterError, all_rejects, digest_of};
use super::failure::chain;
use super::inputs::{Inputs, all_tallies, no_rules};
use super::labels::Means;
use super::learn_error::LearnError;
use super::learned_sites::LearnedSites;
use super::source::{Counted, Shards};
use super::{held_out, interrupt, watched};
use checked::Checked;
use std::sync::Arc;
use undust::dataflow::summary::{Parameters, Summary};
use undust::dataflow::{Journal, Source};
use undust::io::output::WORK;
use undust::io::{OutputDir, Shard, fingerprint};
use undust::runtime::mesh::{Mesh, Traffic};
use undust::runtime::progress::Progress;

pub use args::LearnArgs;
pub(super) use shown::report;

/// Runs the job.
///
/// # Errors
/// [`LearnError`], with its exit code.
pub fn run(args: LearnArgs) -> Result<(), LearnError> {
    let cluster = args.cluster.read()?;
    let several = cluster.as_ref().map(|_| &args.cluster);
    let progress = args.watched.begin_on(several, "learn", Some(&args.out))?;
    let run = Checked::new(args, cluster)?;
    let Checked { plan, cluster, .. } = &run;
    let found = run.records.find(&run.inputs, &plan.scratch)?;
    let shards = found.shards.clone();
    if let Some(path) = run.overrides.as_ref().filter(|path| !path.is_file()) {
        return Err(LearnError::Usage(format!("{}: no such file; --overrides names one", path.display())));
    }
    let parameters = (Parameters::of(plan), run.reading.line_limit, format!("{:?}", run.records));
    let parameters = match plan.previous.is_empty() {
        true => digest_of(&parameters),
        false => digest_of(&(parameters, plan.previous.values().map(Arc::as_ref).collect::<Vec<_>>())),
    };
    let agreed = run.place.agreed(cluster.as_ref(), &shards)?;
    let mesh = run.member.meet(cluster.as_ref(), plan.workers, &parameters, &agreed)?;
    let done = learn(&run, &parameters, &agreed, (shards, progress), mesh.as_ref());
    if let Some(mesh) = &mesh {
        match &done {
            Ok(()) | Err(LearnError::Rejects { .. } | LearnError::NoEvidence(_)) => mesh.farewell(),
            Err(error) => mesh.give_up(&chain(error)),
        }
    }
    done
}

/// Learns together with the processes of the mesh, if any.
fn learn(
    run: &Checked,
    parameters: &str,
    agreed: &str,
    (shards, progress): (Vec<Shard>, Arc<Progress>),
    mesh: Option<&Arc<Mesh>>,
) -> Result<(), LearnError> {
    let plan = &run.plan;
    let local = mesh.is_some() && run.place.local_shards;
    let means = Means { mesh, local, ..Means::of(plan, run.reading, progress.clone()) };
    let writes = mesh.is_none_or(|mesh| mesh.process() == 0);
    let mut out = if writes { Some(OutputDir::create(&run.out, run.existing)?) } else { None };
    // Blocks until process 0 has prepared the folder.
    let journal = match mesh.is_some() || run.resume {
        true => {
            let (mesh, local) = (mesh.map(Arc::as_ref), run.place.local_shards);
            let journal = LearnedSites::open(&run.out, run.resume, mesh, parameters, agreed, &shards, local)?;
            let work = run.out.join(WORK);
            interrupt::leaves(format!("what was learned is kept in {}: run again with --resume", work.display()));
            Some(journal)
        }
        false => None,
    };

    let local = mesh.filter(|_| run.place.local_shards).map(|mesh| mesh.process() * plan.workers);
    let reporter = watched::report(&progress, run.reading.quiet);
    let unlabelled = run.records.unlabelled(&shards, &means)?;
    let source = Arc::new(Shards {
        shards,
        line_limit: run.reading.line_limit,
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
    check_unchanged(&source.shards, &before)?;
    tell(run, mesh.map(Arc::as_ref), journal.as_deref());

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
        let inputs = Inputs { shards: &source.shards, forced: run.records.format, tally: &tally, rejects: &rejects };
        if writes {
            inputs.say();
        }
        let so = match provisional {
            true => "there is nothing to learn from, and the URLs show no program of the catalogue of platforms",
            false => "there is nothing to learn from",
        };
        let error = LearnError::NoEvidence(inputs.expected(so));
        // Its lock is released first: the last process to remove its journal removes the folder.
        out.into_iter().for_each(OutputDir::abandon);
        journal.into_iter().for_each(LearnedSites::remove);
        return Err(error);
    }
    let mut shown = None;
    if let Some(out) = &mut out {
        let counts = rejects.counts().map(|(reason, count)| (reason.name().to_owned(), count)).collect();
        let summary = Summary::new(plan, &learned, counts);
        files::write(out, run, &learned, &summary, &rejects, tally.data())?;
        shown = Some(summary);
    }
    let mut refused = rejects.exceeds(run.max_rejects).then(|| (rejects.total(), rejects.lines()));
    match out {
        Some(out) if refused.is_none() => {
            out.finish()?;
            interrupt::leaves(format!("the result in {} is complete", run.out.display()));
        }
        Some(out) => out.leave_unmarked()?,
        None => {}
    }
    // After the result has its mark: a closed standard output does not take it away.
    if let Some(summary) = shown {
        report(held_out::section(&summary), &learned, &summary, &run.out)?;
        if summary.total.rules == 0 {
            run.reading.quiet.say(no_rules(&summary));
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
        Some((rejected, lines)) => Err(LearnError::Rejects { rejected, lines, out: run.out.clone() }),
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
pub(super) fn check_unchanged(shards: &[Shard], before: &str) -> Result<(), LearnError> {
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
fn tell(run: &Checked, mesh: Option<&Mesh>, journal: Option<&LearnedSites>) {
    let Some((taken, learned)) = journal.map(LearnedSites::counts) else { return };
    if run.resume {
        run.reading.quiet.say(format_args!("{taken} sites were learned before, {learned} are new"));
    }
    if let Some(mesh) = mesh {
        let Traffic { sent, received } = mesh.traffic();
        let how = if mesh.encrypts() { "encrypted" } else { "in the clear" };
        run.reading.quiet.say(format_args!(
            "process {} of job {}: {learned} sites learned, {sent} bytes sent, {received} received, {how}",
            mesh.process(),
            mesh.job()
        ));
    }
}
