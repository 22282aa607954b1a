//! Flow control: a source holds back until what it sent has come far enough.
//!
//! Timely has no flow control of its own and its queues are unbounded. So a source sends a batch an
//! epoch, and stops while an operator farther down has more than [`LEAD`] epochs to come: a worker has
//! at most that many batches under way. That operator activates the source.

use super::types::{Epoch, Flow};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;
use timely::scheduling::Activator;

/// Epochs a source may be ahead.
const LEAD: Epoch = 2;

/// How far the data of a source have come; shared by the source and [`Paced::paced`].
#[derive(Clone, Debug, Default)]
pub struct Pace(Rc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// First epoch with data to come.
    epoch: Cell<Epoch>,
    waiting: RefCell<Vec<Activator>>,
}

impl Pace {
    /// True if a source must not send `epoch` yet; then `source` is activated when it may be time.
    pub fn holds_back(&self, epoch: Epoch, source: &Activator) -> bool {
        let holds = self.0.epoch.get() < epoch.saturating_sub(LEAD);
        if holds {
            self.0.waiting.borrow_mut().push(source.clone());
        }
        holds
    }

    /// Everything before `epoch` has passed.
    fn advance_to(&self, epoch: Epoch) {
        if self.0.epoch.replace(epoch) < epoch {
            self.0.waiting.borrow_mut().drain(..).for_each(|source| source.activate());
        }
    }
}

/// The end of what a [`Pace`] bounds.
pub trait Paced {
    /// Reports to `pace` which epochs have passed here at all workers.
    fn paced(self, pace: &Pace) -> Self;
}

impl<D: Clone + 'static> Paced for Flow<'_, D> {
    fn paced(self, pace: &Pace) -> Self {
        let pace = pace.clone();
        self.unary_frontier(Pipeline, "Pace", move |_, _| {
            move |(input, frontier), output| {
                pace.advance_to(frontier.frontier().first().copied().unwrap_or(Epoch::MAX));
                input.for_each(|time, data| output.session(&time).give_container(data));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::workers;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use timely::dataflow::Scope;
    use timely::dataflow::operators::core::Exchange;
    use timely::dataflow::operators::generic::operator::source;
    use timely::dataflow::operators::probe::{Handle, Probe};

    /// Each worker sends its numbers to worker 0; none is ever more than [`LEAD`] epochs ahead of the end.
    #[test]
    fn a_source_is_at_most_so_far_ahead() {
        const EPOCHS: Epoch = 300;
        for workers in 1..=3 {
            let (sent, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
            let (sending, seen) = (sent.clone(), most.clone());
            let ran = workers::run(workers, move |worker, alarm| {
                let (pace, end) = (Pace::default(), Handle::new());
                let (sent, most) = (sending.clone(), seen.clone());
                worker.dataflow_named("paced", |scope: Scope<'_, Epoch>| {
                    let own = pace.clone();
                    source(scope, "Numbers", move |capability, info| {
                        let activator = scope.activator_for(info.address);
                        let mut capability = Some(capability);
                        move |output| {
                            while let Some(cap) = capability.as_mut() {
                                let epoch = *cap.time();
                                if own.holds_back(epoch, &activator) {
                                    return;
                                }
                                most.fetch_max(epoch - own.0.epoch.get(), Ordering::Relaxed);
                                sent.fetch_add(1, Ordering::Relaxed);
                                output.session(cap).give(epoch);
                                cap.downgrade(&(epoch + 1));
                                capability = capability.take().filter(|_| epoch + 1 < EPOCHS);
                            }
                        }
                    })
                    .exchange(|_| 0)
                    .paced(&pace)
                    .probe_with(&end);
                });
                alarm.work_while(worker, || !end.done());
            });
            ran.expect("no worker fails");
            assert_eq!(sent.load(Ordering::Relaxed), EPOCHS * workers as u64, "each is woken until its end");
            assert_eq!(most.load(Ordering::Relaxed), LEAD);
        }
    }
}
