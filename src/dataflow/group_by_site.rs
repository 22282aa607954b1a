//! Group by site: training sets, some an epoch, when those before are learned.

use super::group::Grouper;
use super::held_out::Choosing;
use super::rows::Rows;
use super::sample::BudgetBounds;
use super::types::{Epoch, Flow, Plan, Shared};
use super::work_stealing::Next;
use crate::site::Training;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::{Capability, Operator};
use timely::scheduling::Activator;

/// A worker's memory is this many times the training sets of one epoch: their columns grow while
/// learning.
const TRAINING_SHARE: usize = 32;

/// Sites given by the group operator of a worker and not learned yet. The operators between are at the
/// same worker.
#[derive(Clone, Debug, Default)]
pub(super) struct InHand(Rc<Held>);

#[derive(Debug, Default)]
struct Held {
    sites: Cell<usize>,
    giver: RefCell<Option<Activator>>,
}

impl InHand {
    fn take_up(&self) {
        self.0.sites.set(self.0.sites.get() + 1);
    }

    /// A site is learned; after the last the group operator is activated.
    pub(super) fn put_down(&self) {
        self.0.sites.set(self.0.sites.get() - 1);
        if let Some(giver) = self.0.giver.borrow_mut().take_if(|_| self.0.sites.get() == 0) {
            giver.activate();
        }
    }

    /// True if all are learned; else `giver` is activated when they are.
    fn is_empty(&self, giver: &Activator) -> bool {
        let empty = self.0.sites.get() == 0;
        if !empty {
            *self.0.giver.borrow_mut() = Some(giver.clone());
        }
        empty
    }
}

/// Group by site.
pub(super) trait GroupBySite<'scope> {
    /// Collects the rows of each site; after the last row, outputs training sets, some an epoch, when none
    /// is `in_hand`. The sites of the `choice` are known before the first.
    fn group_by_site(
        self,
        plan: &Plan,
        in_hand: InHand,
        choice: Choosing,
        shared: Arc<Shared>,
    ) -> Flow<'scope, (Training, Option<BudgetBounds>)>;
}

impl<'scope> GroupBySite<'scope> for Flow<'scope, (u64, Rows)> {
    fn group_by_site(
        self,
        plan: &Plan,
        in_hand: InHand,
        choice: Choosing,
        shared: Arc<Shared>,
    ) -> Flow<'scope, (Training, Option<BudgetBounds>)> {
        let scope = self.scope();
        let memory = plan.memory / plan.workers;
        let mut grouper = Some(Grouper::new(plan.sample, memory / 2, shared.scratch.clone()));
        let workers = plan.workers;
        let mut own_queue: Option<usize> = None;
        self.unary_frontier(Pipeline, "GroupBySite", move |capability: Capability<Epoch>, info| {
            let activator = scope.activator_for(info.address.clone());
            let from_others = scope.worker().sync_activator_for(info.address.to_vec());
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                input.for_each_stamp(|_, batches| {
                    for (_, rows) in batches.flat_map(|b| b.drain(..)) {
                        choice.add(&rows.candidates);
                        let pushed = grouper.as_mut().map_or(Ok(()), |grouper| grouper.push(rows));
                        if let Err(error) = pushed {
                            shared.fail(error);
                            grouper = None;
                        }
                    }
                });
                if !frontier.is_empty() {
                    return;
                }
                if let Some(whole) = grouper.take() {
                    choice.decide();
                    shared.progress.stage(crate::model::Stage::Learning);
                    match whole.finish() {
                        Ok(found) => own_queue = Some(shared.stealable.publish(found)),
                        Err(error) => shared.fail(error),
                    }
                }
                let (Some(cap), Some(own)) = (capability.as_mut(), own_queue) else {
                    capability = None;
                    return;
                };
                if !in_hand.is_empty(&activator) {
                    return;
                }
                let mut session = output.session(cap);
                let mut bytes = 0;
                // In a failed run others may never publish their sites.
                let mut over = shared.has_failed();
                while !over && bytes <= memory / TRAINING_SHARE {
                    match shared.stealable.next(own, workers, &from_others) {
                        Ok(Next::Site(site)) => {
                            let (training, bounds) = site.training();
                            bytes += training.memory() + 256;
                            in_hand.take_up();
                            session.give((training, bounds));
                        }
                        Ok(Next::Wait) => break,
                        Ok(Next::Over) => over = true,
                        Err(error) => shared.fail(error),
                    }
                    over |= shared.has_failed();
                }
                drop(session);
                if over {
                    capability = None;
                } else if bytes > 0 {
                    cap.downgrade(&(*cap.time() + 1));
                    activator.activate();
                }
            }
        })
    }
}
