//! Rows of words, group by group: the one stateful operator of the clustering dataflow.
//!
//! Rows that were exchanged by their first word are sorted ([`super::sorted`]: in memory up to a
//! budget, then on disk) after the last one, and passed on in groups that share it. Memory: the budget,
//! and the largest group.

use super::sorted::{Sorted, Sorter};
use super::types::{Flow, Shared};
use std::sync::Arc;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::core::Exchange;

/// Groups of rows.
pub(super) trait Grouped<'scope, const W: usize> {
    /// Exchanges the rows by their first word, and outputs the results of `f` for each group, whose rows
    /// are in order. Groups come by ascending first word at each worker.
    fn grouped<D: 'static>(
        self,
        name: &str,
        budget: usize,
        shared: &Arc<Shared>,
        f: impl FnMut(&[[u64; W]], &mut Vec<D>) + 'static,
    ) -> Flow<'scope, D>;
}

/// State of the operator.
enum SorterPhase<const W: usize> {
    Taking(Sorter<W>),
    Giving(Sorted<W>),
    Over,
}

impl<'scope, const W: usize> Grouped<'scope, W> for Flow<'scope, [u64; W]>
where
    [u64; W]: timely::ExchangeData,
{
    fn grouped<D: 'static>(
        self,
        name: &str,
        budget: usize,
        shared: &Arc<Shared>,
        mut f: impl FnMut(&[[u64; W]], &mut Vec<D>) + 'static,
    ) -> Flow<'scope, D> {
        let scope = self.scope();
        let shared = shared.clone();
        let mut phase = SorterPhase::Taking(Sorter::new(budget, shared.scratch.clone()));
        let (mut group, mut out): (Vec<[u64; W]>, Vec<D>) = (Vec::new(), Vec::new());
        self.exchange(|row: &[u64; W]| row[0]).unary_frontier(Pipeline, name, move |capability, info| {
            let activator = scope.activator_for(info.address);
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                let mut failed = None;
                input.for_each_stamp(|_, batches| {
                    for row in batches.flat_map(|batch: &mut Vec<[u64; W]>| batch.drain(..)) {
                        if let SorterPhase::Taking(sorter) = &mut phase {
                            sorter.push(row);
                            if sorter.is_full() && failed.is_none() {
                                failed = sorter.spill().err();
                            }
                        }
                    }
                });
                if failed.is_none() && frontier.is_empty() {
                    phase = match std::mem::replace(&mut phase, SorterPhase::Over) {
                        SorterPhase::Taking(sorter) => match sorter.finish() {
                            Ok(sorted) => SorterPhase::Giving(sorted),
                            Err(error) => {
                                failed = Some(error);
                                SorterPhase::Over
                            }
                        },
                        going_on => going_on,
                    };
                }
                if let (SorterPhase::Giving(sorted), Some(cap)) = (&mut phase, capability.as_ref()) {
                    // A bucket is made by the first byte of the first word: no group is in two buckets.
                    let more = sorted.bucket(|row| {
                        if group.first().is_some_and(|first| first[0] != row[0]) {
                            f(&group, &mut out);
                            group.clear();
                        }
                        group.push(*row);
                    });
                    if !group.is_empty() {
                        f(&group, &mut out);
                        group.clear();
                    }
                    output.session(cap).give_iterator(out.drain(..));
                    match more {
                        Ok(true) => activator.activate(),
                        Ok(false) => phase = SorterPhase::Over,
                        Err(error) => failed = Some(error),
                    }
                }
                if let Some(error) = failed {
                    shared.fail(error);
                    phase = SorterPhase::Over;
                }
                if matches!(phase, SorterPhase::Over) {
                    capability = None;
                }
            }
        })
    }
}
