//! Each site at its owner, whole: the common part of comparing and splitting.

use super::held::{BySite, Checked, Held};
use super::pieces::{Piece, Pieces, read, records};
use super::state::{CompareState, Totals};
use super::{CompareError, Job, predictions};
use crate::baselines::protocol::Records;
use crate::dataflow::driver::run_workers;
use crate::dataflow::failure::Failure;
use crate::dataflow::source::Source;
use crate::dataflow::types::{Epoch, Flow};
use crate::model::hash64;
use crate::runtime::mesh::Mesh;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::generic::OutputBuilderSession;
use timely::dataflow::operators::probe::{Handle, Probe};

/// Result of a worker, or of a run.
#[derive(Serialize, Deserialize)]
pub(super) struct Compared<T> {
    /// A result a site, in no order.
    pub(super) sites: Vec<T>,
    pub(super) totals: Totals,
}

/// Passes the records of each site, in crawl order, to `work`; each site at one worker. Process 0 has
/// the results of all processes; the others have those of their own workers.
///
/// # Errors
/// [`CompareError`] when records cannot be read or held, or a worker or process is lost.
pub(super) fn each_site<T: Serialize + DeserializeOwned + Send + 'static>(
    job: &Job,
    source: Arc<dyn Source>,
    mesh: Option<&Arc<Mesh>>,
    work: impl Fn(Records) -> T + Clone + Send + Sync + 'static,
) -> Result<Compared<T>, CompareError> {
    let held: usize = predictions(&job.plan.setup).map(|(.., of)| of.bytes()).sum();
    if held > job.memory {
        return Err(CompareError::Memory { limit: job.memory });
    }
    let state = Arc::new(CompareState { failure: Failure::new(mesh), held: AtomicUsize::new(held) });
    let (job_in, state_in) = (job.clone(), state.clone());
    let worked = run_workers(job.workers, mesh, &[], move |worker, alarm| {
        let end: Handle<Epoch> = Handle::new();
        let (totals, sites): (Rc<RefCell<Totals>>, Rc<RefCell<Vec<T>>>) = (Rc::default(), Rc::default());
        worker.dataflow_named("compare", |scope| {
            let held = BySite::default();
            read(scope, source.clone(), &job_in, state_in.clone())
                .pieces(&job_in, state_in.clone(), totals.clone())
                .gathered(&job_in, held.clone())
                .checked(&job_in, state_in.clone())
                .sites(held, work.clone(), state_in.clone(), sites.clone())
                .probe_with(&end);
        });
        alarm.work_while(worker, || !end.done());
        Compared { sites: sites.take(), totals: totals.take() }
    });
    state.failure.check()?;
    let mut parts: Vec<Compared<T>> = worked?;
    if let Some(mesh) = mesh {
        let mine = serde_json::to_vec(&parts)?;
        for theirs in mesh.gather(mine)?.iter().flatten().skip(1) {
            parts.extend(serde_json::from_slice::<Vec<Compared<T>>>(theirs)?);
        }
    }
    let mut out = Compared { sites: Vec::new(), totals: Totals::default() };
    for part in parts {
        out.sites.extend(part.sites);
        out.totals.invalid += part.totals.invalid;
        out.totals.unlabelled += part.totals.unlabelled;
    }
    Ok(out)
}

trait Gathered<'scope> {
    /// Gathers each site at its owner, and emits it when all of it is there.
    fn gathered(self, job: &Job, held: BySite) -> Flow<'scope, Held>;
}

impl<'scope> Gathered<'scope> for Flow<'scope, Piece> {
    fn gathered(self, job: &Job, held: BySite) -> Flow<'scope, Held> {
        let job = job.clone();
        let owner = Exchange::new(|piece: &Piece| hash64(&piece.site));
        self.unary_frontier(owner, "Gathered", move |capability, _| {
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                input.for_each_stamp(|_, pieces| {
                    for piece in pieces.flat_map(|p: &mut Vec<Piece>| p.drain(..)) {
                        held.borrow_mut().entry(piece.site.clone()).or_default().push(piece);
                    }
                });
                if let Some(capability) = capability.take_if(|_| frontier.is_empty()) {
                    output.session(&capability).give(Held::of(&held.borrow(), &job));
                }
            }
        })
    }
}

trait Sites<'scope> {
    /// Works on the sites that are held, by name, after the end of the input.
    fn sites<T: 'static>(
        self,
        held: BySite,
        work: impl Fn(Records) -> T + 'static,
        state: Arc<CompareState>,
        found: Rc<RefCell<Vec<T>>>,
    ) -> Flow<'scope, ()>;
}

impl<'scope> Sites<'scope> for Flow<'scope, ()> {
    fn sites<T: 'static>(
        self,
        held: BySite,
        work: impl Fn(Records) -> T + 'static,
        state: Arc<CompareState>,
        found: Rc<RefCell<Vec<T>>>,
    ) -> Flow<'scope, ()> {
        let scope = self.scope();
        self.unary_frontier(Pipeline, "Sites", move |capability, info| {
            let activator = scope.activator_for(info.address);
            let mut capability = Some(capability);
            move |(input, frontier), _: &mut OutputBuilderSession<'_, Epoch, CapacityContainerBuilder<Vec<()>>>| {
                input.for_each_stamp(|_, _| ());
                if !frontier.is_empty() || capability.is_none() {
                    return;
                }
                // One site a turn, so that the worker notices a failure elsewhere between two.
                let next = held.borrow_mut().pop_first();
                let Some((name, pieces)) = next.filter(|_| !state.failure.is_set()) else {
                    capability = None;
                    return;
                };
                let result = work(records(&name, pieces));
                found.borrow_mut().push(result);
                activator.activate();
            }
        })
    }
}
