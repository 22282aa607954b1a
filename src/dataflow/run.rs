//! The whole of `undust learn` except reading and writing: learn, then prove until the rules hold.
//!
//! Every process reaches the same verdicts from the same counts, so only counts and rules travel.
//! Within a process the first worker decides and publishes its table for the others.

use super::clusters::Clustering;
use super::driver::run_workers;
use super::leader_barrier::LeaderBarrier;
use super::learn::{Learning, learn};
use super::learned_site::Journal;
use super::proof::prove;
use super::proof_state::ProofState;
use super::proven::Learned;
use super::replay::{self, Replay};
use super::source::{Batches, Source, SourceError};
use super::types::{Epoch, Plan, RunError, Shared};
use crate::rules::types::SiteRules;
use crate::runtime::mesh::Mesh;
use crate::runtime::progress::Progress;
use crate::runtime::workers::Alarm;
use crate::spill::Scratch;
use std::sync::Arc;
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

/// Learns from `records` by `plan`.
///
/// # Errors
/// [`RunError`] when records cannot be read, scratch cannot be used, or a worker is lost.
pub fn run(plan: &Plan, records: Arc<dyn Source>, progress: Arc<Progress>) -> Result<Learned, RunError> {
    run_on(plan, records, progress, None, None, None)
}

/// Runs together with the processes of `mesh`, each with as many workers as `plan` has; sites in
/// `journal` are not learned again, the others are stored in it. Where the records have no labels,
/// `first` makes them, as a dataflow of the same workers, before any part of `records` is opened. Every
/// process ends with the same sites; counts of records that were dropped before ([`Learned::invalid`])
/// are each process's own.
///
/// # Errors
/// [`RunError`] when records cannot be read, scratch cannot be used, or a worker or process is lost or
/// fails.
pub fn run_on(
    plan: &Plan,
    records: Arc<dyn Source>,
    progress: Arc<Progress>,
    mesh: Option<&Arc<Mesh>>,
    journal: Option<Arc<dyn Journal>>,
    first: Option<Arc<Clustering>>,
) -> Result<Learned, RunError> {
    run_from(plan, records, progress, mesh, journal, first, None)
}

/// Runs the proof alone, on the rules of `sites`, as [`run_on`] does after learning. Records of other
/// sites are skipped.
///
/// # Errors
/// Errors of [`run_on`].
pub fn prove_on(
    plan: &Plan,
    records: Arc<dyn Source>,
    progress: Arc<Progress>,
    mesh: Option<&Arc<Mesh>>,
    sites: Vec<SiteRules>,
    first: Option<Arc<Clustering>>,
) -> Result<Learned, RunError> {
    run_from(plan, records, progress, mesh, None, first, Some(sites))
}

fn run_from(
    plan: &Plan,
    records: Arc<dyn Source>,
    progress: Arc<Progress>,
    mesh: Option<&Arc<Mesh>>,
    journal: Option<Arc<dyn Journal>>,
    first: Option<Arc<Clustering>>,
    given: Option<Vec<SiteRules>>,
) -> Result<Learned, RunError> {
    let mut shared = Shared::new(Scratch::new(&plan.scratch)?, progress, mesh);
    shared.journal = journal;
    let shared = Arc::new(shared);
    let barrier: Arc<LeaderBarrier<ProofState>> = Arc::default();
    let plan = Plan { workers: plan.workers.max(1), ..plan.clone() };
    let (ours, theirs) = (shared.clone(), barrier.clone());
    let before = first.clone();
    let mut scratch = vec![shared.scratch.as_ref()];
    scratch.extend(first.iter().map(|first| first.scratch().as_ref()));
    let worked = run_workers(plan.workers, mesh, &scratch, move |worker, alarm| {
        if before.as_ref().is_some_and(|first| !first.work(worker, alarm)) {
            return 0;
        }
        work(worker, alarm, &plan, (records.as_ref(), given.as_deref()), &ours, &theirs)
    });
    if let Some(first) = first {
        first.figures()?;
    }
    shared.check()?;
    let invalid = worked?;
    let state = barrier.take().expect("the first worker leaves the result");
    Ok(Learned { sites: state.sites, invalid: invalid.into_iter().sum(), proof_passes: state.passes as u64 })
}

/// Runs one worker's part; returns its number of invalid records.
fn work(
    worker: &mut Worker,
    alarm: &Alarm,
    plan: &Plan,
    (records, given): (&dyn Source, Option<&[SiteRules]>),
    shared: &Arc<Shared>,
    barrier: &LeaderBarrier<ProofState>,
) -> u64 {
    let leads = worker.index().is_multiple_of(plan.workers);
    shared.progress.stage(crate::model::Stage::Reading);
    let learning = match given {
        Some(_) => Learning::default(),
        None => {
            let end: Handle<Epoch> = Handle::new();
            let learning = worker.dataflow_named("learn", |scope| learn(scope, plan, records, shared, &end));
            alarm.work_while(worker, || !end.done());
            learning
        }
    };
    let invalid = *learning.invalid.borrow();

    // All workers see a failure at one point, or some would block in a dataflow that others never build:
    // the leader checks once all workers are through, and closes the proof.
    if leads {
        let room = replay::room(plan.memory, plan.sample.share);
        let state = match given {
            Some(sites) => ProofState::given(sites, plan.workers, room),
            None => ProofState::open(learning.sites.take(), plan.workers, room),
        };
        barrier.publish(ProofState { closed: state.closed || shared.has_failed(), ..state });
    }
    // Spilled records of small sites, for a pass that counts no others.
    let mut replay = Replay::default();
    for pass in 0.. {
        let here = |state: &ProofState| (state.passes >= pass).then(|| (state.table.clone(), state.closed));
        let (table, closed) = barrier.wait(worker, alarm, here);
        if closed {
            break;
        }
        shared.progress.stage(crate::model::Stage::Proving);
        let end: Handle<Epoch> = Handle::new();
        let part = match (table.is_replay, std::mem::take(&mut replay)) {
            (true, replay) => replay.open().map(|part| Box::new(part) as Box<dyn Batches>).map_err(SourceError::from),
            (false, _) => records.open(worker.index(), worker.peers(), pass + usize::from(given.is_none())),
        };
        let evidence = worker.dataflow_named("prove", |scope| prove(scope, plan, part, &table, shared, &end));
        alarm.work_while(worker, || !end.done());
        drop(table);
        replay = evidence.replay.take();
        if leads {
            let counts = evidence.counts.take();
            barrier.update(|state| {
                state.conclude_pass(counts, &plan.params);
                state.closed |= shared.has_failed();
            });
        }
    }
    invalid
}
