//! Rows in order, passed to a step: joining, then choosing.

use super::counts::Counts;
use super::families::Joiner;
use super::make_rows::{Batch, full};
use super::sorter::{RowSorter, SortedRows};
use super::types::{Shared, Task};
use crate::dataflow::pace::Pace;
use crate::dataflow::types::Flow;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;

/// Rows that a sorting operator gives at a time.
pub(super) const TURN: usize = 1 << 14;

/// Consumer of sorted rows.
pub(super) trait SortedConsumer: 'static {
    /// Its output.
    type Out: Clone + Send + Serialize + for<'a> Deserialize<'a> + 'static;
    /// Adds the counts of another step.
    fn count(&mut self, counts: Counts);
    /// Takes the next row.
    fn row(&mut self, row: &[u8]);
    /// Output that is ready, with its worker; everything at the last.
    fn ready(&mut self, last: bool) -> Vec<(u64, Self::Out)>;
}

impl SortedConsumer for Joiner {
    type Out = Batch;

    fn count(&mut self, counts: Counts) {
        self.counts.add(counts);
    }

    fn row(&mut self, row: &[u8]) {
        Joiner::row(self, row);
    }

    fn ready(&mut self, last: bool) -> Vec<(u64, Batch)> {
        if last {
            self.end_name();
        }
        full(&mut self.rows, &mut self.counts, last)
    }
}

/// Rows in order.
pub(super) trait SortThen<'scope> {
    /// Collects all rows of this worker, sorts them, and passes them to `step`, some an epoch, as `pace`
    /// allows.
    fn sort_then<S: SortedConsumer>(
        self,
        name: &str,
        task: &Task,
        shared: &Arc<Shared>,
        pace: Pace,
        step: S,
    ) -> Flow<'scope, (u64, S::Out)>;
}

impl<'scope> SortThen<'scope> for Flow<'scope, (u64, Batch)> {
    fn sort_then<S: SortedConsumer>(
        self,
        name: &str,
        task: &Task,
        shared: &Arc<Shared>,
        pace: Pace,
        mut step: S,
    ) -> Flow<'scope, (u64, S::Out)> {
        let (scope, shared) = (self.scope(), shared.clone());
        // Two such operators, and two sorters at the first worker.
        let mut sorter = Some(RowSorter::new(task.memory / task.workers / 4, shared.scratch.clone()));
        let mut sorted: Option<SortedRows> = None;
        self.unary_frontier(Pipeline, name, move |capability, info| {
            let activator = scope.activator_for(info.address);
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                input.for_each_stamp(|_, batches| {
                    for (_, (rows, counts)) in batches.flat_map(|b: &mut Vec<(u64, Batch)>| b.drain(..)) {
                        step.count(counts);
                        let Some(open) = sorter.as_mut() else { continue };
                        if let Err(error) = rows.iter().try_for_each(|row| open.push(row)) {
                            shared.failure.record(error);
                            sorter = None;
                        }
                    }
                });
                let Some(cap) = capability.as_mut().filter(|_| frontier.is_empty()) else { return };
                if let Some(whole) = sorter.take() {
                    sorted = whole.finish().map_err(|error| shared.failure.record(error)).ok();
                }
                let epoch = *cap.time();
                if pace.holds_back(epoch, &activator) {
                    return;
                }
                let mut last = sorted.is_none();
                for _ in 0..TURN {
                    match sorted.as_mut().map_or(Ok(None), SortedRows::next_row) {
                        Ok(Some(row)) => step.row(row),
                        ended => {
                            last = true;
                            let _ = ended.map_err(|error| shared.failure.record(error));
                            break;
                        }
                    }
                }
                output.session(cap).give_iterator(step.ready(last).into_iter());
                if last {
                    (sorted, capability) = (None, None);
                } else {
                    cap.downgrade(&(epoch + 1));
                    activator.activate();
                }
            }
        })
    }
}
