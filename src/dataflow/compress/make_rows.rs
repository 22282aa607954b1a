//! Conversion of the input to rows.

use super::counts::Counts;
use super::families::RowMaker;
use super::reading::Item;
use super::rows::ByteRows;
use super::types::Task;
use crate::dataflow::types::Flow;
use crate::rules::RuleSet;
use std::sync::Arc;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;

/// Rows for the worker where they meet, and the counts so far.
pub(super) type Batch = (ByteRows, Counts);

/// Conversion of items to rows.
pub(super) trait MakeRows<'scope> {
    /// Applies the rules to URLs; sends rows to the workers where they meet.
    fn make_rows(self, task: &Task, rules: &Arc<RuleSet>) -> Flow<'scope, (u64, Batch)>;
}

impl<'scope> MakeRows<'scope> for Flow<'scope, (u64, Item)> {
    fn make_rows(self, task: &Task, rules: &Arc<RuleSet>) -> Flow<'scope, (u64, Batch)> {
        let mut maker = RowMaker::new(task.clone(), rules.clone(), self.scope().peers());
        self.unary_frontier(Pipeline, "MakeRows", move |capability, _| {
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                let Some(cap) = capability.as_mut() else { return };
                input.for_each_stamp(|_, items| {
                    for (_, item) in items.flat_map(|i: &mut Vec<(u64, Item)>| i.drain(..)) {
                        match item {
                            Item::Documents(documents) => maker.documents(&documents),
                            Item::Lines(first, lines) => maker.lines(first, &lines),
                        }
                    }
                });
                let last = frontier.is_empty();
                let batches = full(&mut maker.rows, &mut maker.counts, last);
                output.session(cap).give_iterator(batches.into_iter());
                match frontier.frontier().first() {
                    Some(epoch) => cap.downgrade(epoch),
                    None => capability = None,
                }
            }
        })
    }
}

/// Batches that are full, with the worker they are for; all of them at the last, and then the counts.
pub(super) fn full(rows: &mut [ByteRows], counts: &mut Counts, last: bool) -> Vec<(u64, Batch)> {
    let ready = (0..).zip(rows).filter(|(_, rows)| last || rows.is_full());
    let mut batches: Vec<_> = ready.map(|(to, rows)| (to, (std::mem::take(rows), Counts::default()))).collect();
    if last {
        batches.push((0, (ByteRows::default(), std::mem::take(counts))));
    }
    batches
}
