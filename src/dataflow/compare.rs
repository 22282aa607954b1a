//! `undust compare` on workers: records dealt to the owners of their sites, then one site after the other through
//! [`crate::baselines::protocol`].
//!
//! A site is compared by one worker, from records in the order of the shards and of the rows in them (a crawl has an
//! order, and the crawl simulation follows it), so the result does not depend on the number of workers.
//!
//! Memory: all labelled records of the run are held at once, URL and label and 42 bytes each; with [`Setup::sizes`] those without a label too; more than
//! [`Job::memory`] ends the run with a typed error.

use super::locate::Locator;
use super::types::{Batches, Epoch, Flow, Source, SourceError};
use crate::baselines::protocol::{Plan, Records, compare};
use crate::baselines::results::{Comparison, Site, Time, Times, VERSION};
use crate::baselines::{Method, Name, Setup};
use crate::model::{RecordBatch, SiteBy, hash64};
use crate::runtime::mesh::{Cause, Mesh, MeshError, Shutdown};
use crate::runtime::workers::{self, Crew, WorkersError};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::generic::OutputBuilderSession;
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::probe::{Handle, Probe};

mod undust_method;

pub use undust_method::Undust;

/// Seconds since any moment; `dataflow` knows no clock.
pub type Clock = Arc<dyn Fn() -> f64 + Send + Sync>;

/// A comparison to run.
#[derive(Clone)]
pub struct Job {
    /// What is compared.
    pub plan: Plan,
    /// How records are dealt to sites.
    pub site_by: SiteBy,
    /// Shards of the source; where each process has its own (`local`), of this one.
    pub shards: usize,
    /// The shards are this process's own: it reads all of them, and they come after those of the processes before it.
    pub local: bool,
    /// Worker threads.
    pub workers: usize,
    /// Most bytes of records.
    pub memory: usize,
    /// For the times.
    pub clock: Clock,
}

/// Why a comparison failed.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The records could not be read.
    #[error("{0}")]
    Source(SourceError),
    /// Too many records.
    #[error("the records take more than {limit} bytes of memory: compare fewer sites at a time, or raise --memory")]
    Memory {
        /// What was allowed.
        limit: usize,
    },
    /// The workers could not be started, or one of them panicked.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// What the processes found could not be brought together.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// What a process found is not what this one expects (different builds of one version?).
    #[error("what another process found cannot be read: {0}")]
    Note(#[from] serde_json::Error),
}

/// What a comparison gives beside its counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// The counts.
    pub comparison: Comparison,
    /// The times.
    pub times: Times,
    /// Records that are not absolute http or https URLs with a host.
    pub invalid: u64,
    /// Records without a cluster, which count for nothing.
    pub unlabelled: u64,
}

/// Rows of one site from one batch of one shard.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Piece {
    site: Vec<u8>,
    /// Shard, and batch in it.
    place: (u64, u64),
    bytes: Vec<u8>,
    ends: Vec<(u32, u32)>,
    elsewhere: Vec<bool>,
    /// Bytes of each answer where the plan asks for them.
    sizes: Vec<u64>,
    /// Rows without a label, rising: only where the plan asks for sizes are there any.
    unlabelled: Vec<u32>,
}

/// Bytes of a row beside its strings, in a [`Piece`] and in [`Records`].
const ROW_BYTES: usize = 42;

#[derive(Default)]
struct State {
    failure: Mutex<Option<CompareError>>,
    held: AtomicUsize,
    /// On several processes: this one's index, and what becomes of the run.
    shutdown: Option<(usize, Arc<Shutdown>)>,
}

impl State {
    fn fail(&self, error: CompareError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        if let Some((process, shutdown)) = &self.shutdown {
            shutdown.record(Cause::Failed { process: *process, reason: String::new() });
        }
    }

    fn has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// Runs `job` over `records`; with `mesh` together with the other processes, each with as many workers as `job` has. The
/// whole is at process 0; the others have what their own workers found.
///
/// # Errors
/// [`CompareError`] when records cannot be read or held, or a worker or process is lost.
pub fn run(job: &Job, records: Arc<dyn Source>, mesh: Option<&Arc<Mesh>>) -> Result<Compared, CompareError> {
    let shutdown = mesh.map(|mesh| (mesh.process(), mesh.shutdown().clone()));
    let state = Arc::new(State { shutdown, ..State::default() });
    let (job_in, state_in) = (job.clone(), state.clone());
    let crew = Crew { workers: job.workers.max(1), mesh: mesh.cloned() };
    let worked = workers::run_on(&crew, move |worker, alarm| {
        let end: Handle<Epoch> = Handle::new();
        let found: Rc<RefCell<Found>> = Rc::default();
        worker.dataflow_named("compare", |scope| {
            read(scope, records.clone(), &job_in, state_in.clone())
                .pieces(&job_in, state_in.clone(), found.clone())
                .compare_sites(&job_in, state_in.clone(), found.clone())
                .probe_with(&end);
        });
        alarm.work_while(worker, || !end.done());
        found.take()
    });
    if let Some(error) = state.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let mut parts = worked?;
    if let Some(mesh) = mesh {
        let mine = serde_json::to_vec(&parts)?;
        for theirs in mesh.gather(mine)?.iter().flatten().skip(1) {
            parts.extend(serde_json::from_slice::<Vec<Found>>(theirs)?);
        }
    }
    let plan = &job.plan;
    let comparison = Comparison {
        version: VERSION,
        protocol: plan.protocol,
        methods: plan.methods.clone(),
        fpr_max: plan.fpr_max.clone(),
        headline: plan.headline,
        seeds: plan.seeds.clone(),
        train_share: plan.train_share,
        train_max: plan.train_max as u64,
        without: plan.setup.without,
        sites: Vec::new(),
    };
    let mut out = Compared { comparison, ..Compared::default() };
    for part in parts {
        out.comparison.sites.extend(part.sites);
        out.times.times.extend(part.times);
        out.invalid += part.invalid;
        out.unlabelled += part.unlabelled;
    }
    out.comparison.sites.sort_by(|a, b| a.site.cmp(&b.site));
    out.times.times.sort_by(|a, b| (&a.site, a.method, a.seed).cmp(&(&b.site, b.method, b.seed)));
    Ok(out)
}

/// What one worker found.
#[derive(Default, Serialize, Deserialize)]
struct Found {
    sites: Vec<Site>,
    times: Vec<Time>,
    invalid: u64,
    unlabelled: u64,
}

/// A batch with its shard and its number there.
type Placed = ((u64, u64), RecordBatch);

/// Shards of a process at most, where each has its own.
const MOST_SHARDS: usize = 1 << 32;

/// This worker's shards, one batch a turn.
fn read<'scope>(
    scope: Scope<'scope, Epoch>,
    records: Arc<dyn Source>,
    job: &Job,
    state: Arc<State>,
) -> Flow<'scope, Placed> {
    let (workers, shards) = (job.workers.max(1), job.shards);
    let (first, step, before) = match job.local {
        true => (scope.index() % workers, workers, scope.index() / workers * MOST_SHARDS),
        false => (scope.index(), scope.peers(), 0),
    };
    let mut mine = (0..shards).skip(first).step_by(step);
    let mut open: Option<(u64, u64, Box<dyn Batches>)> = None;
    source(scope, "Read", move |capability, info| {
        let activator = scope.activator_for(info.address);
        let mut capability = Some(capability);
        move |output| {
            let Some(cap) = capability.as_ref() else { return };
            if open.is_none() && !state.has_failed() {
                open = mine.next().and_then(|shard| match records.open(shard, shards, 0) {
                    Ok(part) => Some(((before + shard) as u64, 0, part)),
                    Err(error) => {
                        state.fail(CompareError::Source(error));
                        None
                    }
                });
            }
            let Some((shard, number, part)) = open.as_mut().filter(|_| !state.has_failed()) else {
                (open, capability) = (None, None);
                return;
            };
            let mut batch = RecordBatch::default();
            match part.next_batch(&mut batch) {
                Ok(true) => {
                    output.session(cap).give(((*shard, *number), batch));
                    *number += 1;
                }
                Ok(false) => open = None,
                Err(error) => state.fail(CompareError::Source(error)),
            }
            activator.activate();
        }
    })
}

trait Compare<'scope> {
    /// Cuts batches into pieces of one site each, counted against the memory.
    fn pieces(self, job: &Job, state: Arc<State>, found: Rc<RefCell<Found>>) -> Flow<'scope, Piece>;
}

impl<'scope> Compare<'scope> for Flow<'scope, Placed> {
    fn pieces(self, job: &Job, state: Arc<State>, found: Rc<RefCell<Found>>) -> Flow<'scope, Piece> {
        let mut locator = Locator::new(job.site_by);
        let limit = job.memory;
        let sizes = job.plan.setup.sizes;
        self.unary(Pipeline, "Pieces", move |_, _| {
            move |input, output| {
                input.for_each_time(|time, batches| {
                    let mut session = output.session(&time);
                    for (place, batch) in batches.flat_map(|b: &mut Vec<Placed>| b.drain(..)) {
                        let mut pieces: BTreeMap<Vec<u8>, Piece> = BTreeMap::new();
                        let mut found = found.borrow_mut();
                        for (row, record) in batch.iter().enumerate() {
                            let Some((site, _)) = locator.locate(record) else {
                                found.invalid += 1;
                                continue;
                            };
                            found.unlabelled += u64::from(record.cluster.is_none());
                            let facts = batch.facts(row);
                            // The paper's list holds URLs that can be fetched.
                            if record.cluster.is_none() && (!sizes || facts.status >= 400) {
                                continue;
                            }
                            if !pieces.contains_key(site) {
                                pieces.insert(site.to_vec(), Piece { site: site.to_vec(), place, ..Piece::default() });
                            }
                            let piece = pieces.get_mut(site).expect("just inserted");
                            piece.bytes.extend_from_slice(record.url);
                            let url = piece.bytes.len() as u32;
                            match record.cluster {
                                Some(label) => piece.bytes.extend_from_slice(label),
                                None => piece.unlabelled.push(piece.ends.len() as u32),
                            }
                            piece.ends.push((url, piece.bytes.len() as u32));
                            piece.elsewhere.push(record.elsewhere);
                            if sizes {
                                // What a redirect weighs says nothing of its page.
                                piece.sizes.push(if (300..400).contains(&facts.status) { 0 } else { facts.size });
                            }
                        }
                        let bytes: usize = pieces.values().map(|p| p.bytes.len() + p.ends.len() * ROW_BYTES).sum();
                        if state.held.fetch_add(bytes, Ordering::Relaxed) + bytes > limit {
                            state.fail(CompareError::Memory { limit });
                        }
                        session.give_iterator(pieces.into_values());
                    }
                });
            }
        })
    }
}

trait CompareSites<'scope> {
    /// Gathers each site at its owner and, when all is there, compares the sites by name.
    fn compare_sites(self, job: &Job, state: Arc<State>, found: Rc<RefCell<Found>>) -> Flow<'scope, ()>;
}

impl<'scope> CompareSites<'scope> for Flow<'scope, Piece> {
    fn compare_sites(self, job: &Job, state: Arc<State>, found: Rc<RefCell<Found>>) -> Flow<'scope, ()> {
        let scope = self.scope();
        let mut sites: BTreeMap<Vec<u8>, Vec<Piece>> = BTreeMap::new();
        let (plan, clock) = (job.plan.clone(), job.clock.clone());
        let owner = Exchange::new(|piece: &Piece| hash64(&piece.site));
        self.unary_frontier(owner, "CompareSites", move |capability, info| {
            let activator = scope.activator_for(info.address);
            let mut capability = Some(capability);
            move |(input, frontier), _: &mut OutputBuilderSession<'_, Epoch, CapacityContainerBuilder<Vec<()>>>| {
                input.for_each_time(|_, pieces| {
                    for piece in pieces.flat_map(|p: &mut Vec<Piece>| p.drain(..)) {
                        sites.entry(piece.site.clone()).or_default().push(piece);
                    }
                });
                if !frontier.is_empty() || capability.is_none() {
                    return;
                }
                // One site a turn, so that the worker hears of a failure elsewhere between two.
                let Some((name, pieces)) = sites.pop_first().filter(|_| !state.has_failed()) else {
                    capability = None;
                    return;
                };
                let methods = |name: Name| method(name, &plan.setup);
                let (site, times) = compare(&records(&name, pieces), &plan, &methods, &*clock);
                let mut found = found.borrow_mut();
                found.sites.push(site);
                found.times.extend(times);
                activator.activate();
            }
        })
    }
}

/// A method by its name.
fn method(name: Name, setup: &Setup) -> Box<dyn Method> {
    name.method(setup).unwrap_or_else(|| Box::new(Undust { whole: name == Name::UndustWhole, without: setup.without }))
}

/// The records of a site in crawl order.
fn records(name: &[u8], mut pieces: Vec<Piece>) -> Records {
    pieces.sort_by_key(|piece| piece.place);
    let mut out = Records::new(&String::from_utf8_lossy(name));
    for piece in pieces {
        let mut start = 0;
        let mut unlabelled = piece.unlabelled.iter().peekable();
        for (row, (&(end, label), &elsewhere)) in piece.ends.iter().zip(&piece.elsewhere).enumerate() {
            let (url, size) = (&piece.bytes[start..end as usize], piece.sizes.get(row).copied().unwrap_or(0));
            match unlabelled.next_if(|&&at| at as usize == row) {
                Some(_) => out.list(url, size),
                None => out.push_sized(url, &piece.bytes[end as usize..label as usize], elsewhere, size),
            }
            start = label as usize;
        }
    }
    out
}
