//! Gathering at one worker of each process.

use super::types::{Epoch, Flow};
use std::cell::RefCell;
use std::rc::Rc;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::core::{Exchange, Map};
use timely::dataflow::operators::generic::OutputBuilderSession;

/// Sends what the workers have to one of each process.
pub(super) trait Gather<'scope, D> {
    /// Sends everything to the first worker of every process of `threads` workers, where it is pushed to
    /// `into`.
    fn gather(self, threads: usize, into: Rc<RefCell<Vec<D>>>) -> Flow<'scope, (u64, D)>;
}

impl<'scope, D: timely::ExchangeData + Clone> Gather<'scope, D> for Flow<'scope, D> {
    fn gather(self, threads: usize, into: Rc<RefCell<Vec<D>>>) -> Flow<'scope, (u64, D)> {
        let peers = self.scope().peers();
        self.flat_map(move |item| (0..peers).step_by(threads.max(1)).map(move |leader| (leader as u64, item.clone())))
            .exchange(|(leader, _)| *leader)
            .unary(Pipeline, "Gather", move |_, _| {
                move |input, _: &mut OutputBuilderSession<'_, Epoch, CapacityContainerBuilder<Vec<(u64, D)>>>| {
                    input.for_each_stamp(|_, batches| {
                        into.borrow_mut().extend(batches.flat_map(|b: &mut Vec<_>| b.drain(..)).map(|(_, item)| item));
                    });
                }
            })
    }
}
