//! Decisions about documents, and the map at the first worker of each process.

use super::counts::Counts;
use super::families::Grouper;
use super::found::FirstResult;
use super::rows::{ByteRows, number};
use super::sort_then::{SortedConsumer, TURN};
use super::sorter::{RowSorter, SortedRows};
use super::types::{Shared, Task};
use crate::dataflow::types::{Epoch, Flow};
use crate::spill::SpillError;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::generic::OutputBuilderSession;

/// Decisions for the first worker of each process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Decisions {
    pairs: Vec<(u32, u32)>,
    counts: Counts,
    /// At the first worker of all only.
    order: ByteRows,
    urls: ByteRows,
}

/// The grouper, and the workers that receive its decisions.
pub(super) struct Choosing {
    grouper: Grouper,
    leaders: Vec<u64>,
}

impl Choosing {
    pub(super) fn new(task: &Task, peers: usize) -> Choosing {
        Choosing { grouper: Grouper::new(task.clone()), leaders: leaders(task, peers).collect() }
    }
}

/// The first worker of each process.
fn leaders(task: &Task, peers: usize) -> impl Iterator<Item = u64> + use<> {
    (0..peers as u64).step_by(task.workers)
}

impl SortedConsumer for Choosing {
    type Out = Decisions;

    fn count(&mut self, counts: Counts) {
        self.grouper.counts.add(counts);
    }

    fn row(&mut self, row: &[u8]) {
        self.grouper.row(row);
    }

    fn ready(&mut self, last: bool) -> Vec<(u64, Decisions)> {
        let Grouper { pairs, order, urls, counts, .. } = &mut self.grouper;
        let counts = if last { std::mem::take(counts) } else { Counts::default() };
        let mine = Decisions { pairs: std::mem::take(pairs), counts, ..Decisions::default() };
        let mut ready: Vec<_> = self.leaders.iter().map(|&leader| (leader, mine.clone())).collect();
        ready[0].1.order = std::mem::take(order);
        ready[0].1.urls = std::mem::take(urls);
        ready
    }
}

/// Survivors in order, from place `.0` on.
pub(super) type Order = (u64, Vec<u32>);

/// Decisions to a map.
pub(super) trait Assemble<'scope> {
    /// Takes decisions at the first worker of each process; gives the order of survivors, where it is one
    /// of their own, from the first worker of all to them.
    fn assemble(
        self,
        task: &Task,
        docs: usize,
        shared: &Arc<Shared>,
        found: Rc<RefCell<FirstResult>>,
    ) -> Flow<'scope, (u64, Order)>;
}

impl<'scope> Assemble<'scope> for Flow<'scope, (u64, Decisions)> {
    fn assemble(
        self,
        task: &Task,
        docs: usize,
        shared: &Arc<Shared>,
        found: Rc<RefCell<FirstResult>>,
    ) -> Flow<'scope, (u64, Order)> {
        let (scope, shared, task) = (self.scope(), shared.clone(), task.clone());
        let sorter = |wanted: bool| {
            let wanted = wanted && scope.index() == 0;
            wanted.then(|| RowSorter::new(task.memory / task.workers / 4, shared.scratch.clone()))
        };
        let (mut by_url, mut by_id) = (sorter(task.by_url), sorter(task.keep_urls));
        let (mut order, mut next): (Option<SortedRows>, u64) = (None, 0);
        let leaders: Vec<u64> = leaders(&task, scope.peers()).collect();
        self.unary_frontier(Pipeline, "Assemble", move |capability, info| {
            let activator = scope.activator_for(info.address);
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                let mut found = found.borrow_mut();
                input.for_each_stamp(|_, decisions| {
                    for (_, decided) in decisions.flat_map(|d: &mut Vec<(u64, Decisions)>| d.drain(..)) {
                        // Whether ids are dense is known only once all records were read.
                        if shared.failure.is_set() {
                            continue;
                        }
                        found.take(&decided, docs);
                        let keep = |sorter: &mut Option<RowSorter>, rows: &ByteRows| {
                            let Some(sorter) = sorter else { return Ok(()) };
                            rows.iter().try_for_each(|row| sorter.push(row))
                        };
                        let kept = keep(&mut by_url, &decided.order).and_then(|()| keep(&mut by_id, &decided.urls));
                        let _ = kept.map_err(|error| shared.failure.record(error));
                    }
                });
                let Some(cap) = capability.as_ref().filter(|_| frontier.is_empty()) else { return };
                if let Some(sorter) = by_id.take() {
                    found.urls = sorter.finish().map_err(|error| shared.failure.record(error)).ok();
                }
                if let Some(sorter) = by_url.take() {
                    order = sorter.finish().map_err(|error| shared.failure.record(error)).ok();
                }
                // A part a turn: all at once would hold the order twice.
                let ids = order.as_mut().map_or(Ok(Vec::new()), some_ids).unwrap_or_else(|error| {
                    shared.failure.record(error);
                    Vec::new()
                });
                if ids.is_empty() {
                    (order, capability) = (None, None);
                    return;
                }
                let mut session = output.session(cap);
                leaders.iter().for_each(|&leader| session.give((leader, (next, ids.clone()))));
                next += ids.len() as u64;
                activator.activate();
            }
        })
    }
}

/// The old ids at the end of the next rows; none at their end.
fn some_ids(sorted: &mut SortedRows) -> Result<Vec<u32>, SpillError> {
    let mut ids = Vec::new();
    while ids.len() < TURN
        && let Some(row) = sorted.next_row()?
    {
        ids.push(number(&row[row.len() - 4..]));
    }
    Ok(ids)
}

impl FirstResult {
    fn take(&mut self, decided: &Decisions, docs: usize) {
        self.counts.add(decided.counts);
        if self.survivor_of.capacity() == 0 && !decided.pairs.is_empty() {
            // Allocated once, not by doubling: the map bounds the memory.
            self.survivor_of.reserve_exact(docs);
        }
        for &(doc, survivor) in &decided.pairs {
            let doc = doc as usize;
            if self.survivor_of.len() <= doc {
                self.survivor_of.resize(doc + 1, u32::MAX);
            }
            self.survivor_of[doc] = survivor;
        }
    }
}

/// A session of the last step, which has no output.
pub(super) type Nothing<'s> = OutputBuilderSession<'s, Epoch, CapacityContainerBuilder<Vec<()>>>;

/// The last step: puts the parts of the order into their places.
pub(super) fn take_order<'scope>(
    order: Flow<'scope, (u64, Order)>,
    docs: usize,
    found: Rc<RefCell<FirstResult>>,
) -> Flow<'scope, ()> {
    order.unary_frontier(Pipeline, "TakeOrder", move |_, _| {
        move |(input, _), _output: &mut Nothing<'_>| {
            input.for_each_stamp(|_, parts| {
                for (_, (at, ids)) in parts.flat_map(|p: &mut Vec<(u64, Order)>| p.drain(..)) {
                    let (order, at) = (&mut found.borrow_mut().order, at as usize);
                    if order.capacity() == 0 {
                        order.reserve_exact(docs);
                    }
                    if order.len() < at + ids.len() {
                        order.resize(at + ids.len(), u32::MAX);
                    }
                    order[at..at + ids.len()].copy_from_slice(&ids);
                }
            });
        }
    })
}
