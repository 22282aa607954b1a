//! The first dataflow: documents and URLs to the survivor of each document.

use super::families::{Canonicalizer, Counts, Grouper, Joiner};
use super::rows::{ByteRows, number};
use super::sorter::{RowSorter, SortedRows};
use super::types::{CompressError, Documents, Input, Pull, Shared, Task, UrlsBy};
use crate::dataflow::types::{Epoch, Flow};
use crate::rules::RuleSet;
use crate::spill::SpillError;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::core::Exchange;
use timely::dataflow::operators::generic::OutputBuilderSession;
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::probe::{Handle, Probe};

/// Result of the first dataflow at the first worker of each process.
#[derive(Debug, Default)]
pub struct Found {
    /// The survivor of each document.
    pub survivor_of: Vec<u32>,
    /// Survivors in the order of new ids, where they have one of their own.
    pub order: Vec<u32>,
    /// Counts of documents and URLs.
    pub counts: Counts,
    /// Old ids and canonical URLs, at the first process, where wanted.
    pub urls: Option<SortedRows>,
    /// True if the records are in the order of ids; set at the first worker of all, which reads them.
    pub ascending: bool,
}

/// Builds the dataflow; `end` is done when it is.
pub fn documents<'scope>(
    scope: Scope<'scope, Epoch>,
    task: &Task,
    rules: &Arc<RuleSet>,
    input: &dyn Input,
    shared: &Arc<Shared>,
    end: &Handle<Epoch>,
) -> Rc<RefCell<Found>> {
    let found: Rc<RefCell<Found>> = Rc::default();
    let (read_pace, join_pace, group_pace) = (Handle::new(), Handle::new(), Handle::new());
    let peers = scope.peers();

    let rows = read(scope, input, read_pace.clone(), shared, found.clone())
        .exchange(|(to, _)| *to)
        .canonicalize(task, rules)
        .exchange(|(to, _)| *to)
        .probe_with(&read_pace);
    let rows = match task.urls_by {
        UrlsBy::Records => rows,
        UrlsBy::Names | UrlsBy::Ids => rows
            .sort_then("Join", task, shared, join_pace.clone(), Joiner::new(task.clone(), peers))
            .exchange(|(to, _)| *to)
            .probe_with(&join_pace),
    };
    let order = rows
        .sort_then("Group", task, shared, group_pace.clone(), Choosing::new(task, peers))
        .exchange(|(to, _)| *to)
        .probe_with(&group_pace)
        .assemble(task, input.docs() as usize, shared, found.clone())
        .exchange(|(to, _)| *to);
    take_order(order, input.docs() as usize, found.clone()).probe_with(end);
    found
}

/// Epochs a source may be ahead of its probe.
const LEAD: Epoch = 2;
/// Sleep of a source that holds back.
const NAP: Duration = Duration::from_micros(200);
/// Rows that a sorting operator gives at a time.
const TURN: usize = 1 << 14;

/// A piece of the input.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Item {
    Documents(Documents),
    /// The number of the first line, and lines.
    Lines(u64, Vec<u8>),
}

/// Documents, then URLs.
struct Reading {
    documents: Option<Pull<Documents>>,
    lines: Option<Pull<Vec<u8>>>,
    next_line: u64,
    next_doc: u32,
    ascending: bool,
}

impl Reading {
    fn open(input: &dyn Input) -> Result<Reading, CompressError> {
        let documents = Some(input.documents().map_err(CompressError::Edge)?);
        let lines = input.url_lines().map_err(CompressError::Edge)?;
        Ok(Reading { documents, lines, next_line: 1, next_doc: 0, ascending: true })
    }

    fn next(&mut self) -> Result<Option<Item>, CompressError> {
        if let Some(pull) = &mut self.documents {
            let mut documents = Documents::default();
            if pull(&mut documents).map_err(CompressError::Edge)? {
                for &(doc, _) in &documents.docs {
                    self.ascending &= doc == self.next_doc;
                    self.next_doc += 1;
                }
                return Ok(Some(Item::Documents(documents)));
            }
            self.documents = None;
        }
        let Some(pull) = &mut self.lines else { return Ok(None) };
        let mut lines = Vec::new();
        if !pull(&mut lines).map_err(CompressError::Edge)? {
            return Ok(None);
        }
        let first = self.next_line;
        self.next_line += memchr::memchr_iter(b'\n', &lines).count() as u64;
        Ok(Some(Item::Lines(first, lines)))
    }
}

/// The input, at the first worker; an item an epoch, dealt to the workers in turn.
fn read<'scope>(
    scope: Scope<'scope, Epoch>,
    input: &dyn Input,
    pace: Handle<Epoch>,
    shared: &Arc<Shared>,
    found: Rc<RefCell<Found>>,
) -> Flow<'scope, (u64, Item)> {
    let (shared, peers) = (shared.clone(), scope.peers() as u64);
    let mut reading = (scope.index() == 0).then(|| Reading::open(input)).and_then(|opened| match opened {
        Ok(reading) => Some(reading),
        Err(error) => {
            shared.fail(error);
            None
        }
    });
    source(scope, "ReadDocuments", move |capability, info| {
        let activator = scope.activator_for(info.address);
        let mut capability = Some(capability);
        move |output| {
            let Some(cap) = capability.as_mut() else { return };
            let epoch = *cap.time();
            if let Some(open) = reading.as_mut().filter(|_| !shared.has_failed()) {
                if pace.less_than(&epoch.saturating_sub(LEAD)) {
                    activator.activate_after(NAP);
                    return;
                }
                match open.next() {
                    Ok(Some(item)) => {
                        output.session(cap).give((epoch % peers, item));
                        cap.downgrade(&(epoch + 1));
                        activator.activate();
                        return;
                    }
                    Ok(None) => found.borrow_mut().ascending = open.ascending,
                    Err(error) => shared.fail(error),
                }
            }
            (reading, capability) = (None, None);
        }
    })
}

/// Rows for the worker where they meet, and the counts so far.
type Batch = (ByteRows, Counts);

/// Conversion of items to rows.
trait Canonicalize<'scope> {
    /// Applies the rules to URLs; sends rows to the workers where they meet.
    fn canonicalize(self, task: &Task, rules: &Arc<RuleSet>) -> Flow<'scope, (u64, Batch)>;
}

impl<'scope> Canonicalize<'scope> for Flow<'scope, (u64, Item)> {
    fn canonicalize(self, task: &Task, rules: &Arc<RuleSet>) -> Flow<'scope, (u64, Batch)> {
        let mut canonicalizer = Canonicalizer::new(task.clone(), rules.clone(), self.scope().peers());
        self.unary_frontier(Pipeline, "Canonicalize", move |capability, _| {
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                let Some(cap) = capability.as_mut() else { return };
                input.for_each_time(|_, items| {
                    for (_, item) in items.flat_map(|i: &mut Vec<(u64, Item)>| i.drain(..)) {
                        match item {
                            Item::Documents(documents) => canonicalizer.documents(&documents),
                            Item::Lines(first, lines) => canonicalizer.lines(first, &lines),
                        }
                    }
                });
                let last = frontier.is_empty();
                let batches = full(&mut canonicalizer.rows, &mut canonicalizer.counts, last);
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
fn full(rows: &mut [ByteRows], counts: &mut Counts, last: bool) -> Vec<(u64, Batch)> {
    let ready = (0..).zip(rows).filter(|(_, rows)| last || rows.is_full());
    let mut batches: Vec<_> = ready.map(|(to, rows)| (to, (std::mem::take(rows), Counts::default()))).collect();
    if last {
        batches.push((0, (ByteRows::default(), std::mem::take(counts))));
    }
    batches
}

/// Consumer of sorted rows.
trait Step: 'static {
    /// Its output.
    type Out: Clone + Send + Serialize + for<'a> Deserialize<'a> + 'static;
    /// Adds the counts of another step.
    fn count(&mut self, counts: Counts);
    /// Takes the next row.
    fn row(&mut self, row: &[u8]);
    /// Output that is ready, with its worker; everything at the last.
    fn ready(&mut self, last: bool) -> Vec<(u64, Self::Out)>;
}

impl Step for Joiner {
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

/// Decisions for the first worker of each process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Decisions {
    pairs: Vec<(u32, u32)>,
    counts: Counts,
    /// At the first worker of all only.
    order: ByteRows,
    urls: ByteRows,
}

/// The grouper, and the workers that receive its decisions.
struct Choosing {
    grouper: Grouper,
    leaders: Vec<u64>,
}

impl Choosing {
    fn new(task: &Task, peers: usize) -> Choosing {
        Choosing { grouper: Grouper::new(task.clone()), leaders: leaders(task, peers).collect() }
    }
}

/// The first worker of each process.
fn leaders(task: &Task, peers: usize) -> impl Iterator<Item = u64> + use<> {
    (0..peers as u64).step_by(task.workers)
}

impl Step for Choosing {
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

/// Rows in order.
trait SortThen<'scope> {
    /// Collects all rows of this worker, sorts them, and passes them to `step`, some an epoch, as `pace`
    /// allows.
    fn sort_then<S: Step>(
        self,
        name: &str,
        task: &Task,
        shared: &Arc<Shared>,
        pace: Handle<Epoch>,
        step: S,
    ) -> Flow<'scope, (u64, S::Out)>;
}

impl<'scope> SortThen<'scope> for Flow<'scope, (u64, Batch)> {
    fn sort_then<S: Step>(
        self,
        name: &str,
        task: &Task,
        shared: &Arc<Shared>,
        pace: Handle<Epoch>,
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
                input.for_each_time(|_, batches| {
                    for (_, (rows, counts)) in batches.flat_map(|b: &mut Vec<(u64, Batch)>| b.drain(..)) {
                        step.count(counts);
                        let Some(open) = sorter.as_mut() else { continue };
                        if let Err(error) = rows.iter().try_for_each(|row| open.push(row)) {
                            shared.fail(error);
                            sorter = None;
                        }
                    }
                });
                let Some(cap) = capability.as_mut().filter(|_| frontier.is_empty()) else { return };
                if let Some(whole) = sorter.take() {
                    sorted = whole.finish().map_err(|error| shared.fail(error)).ok();
                }
                let epoch = *cap.time();
                if pace.less_than(&epoch.saturating_sub(LEAD)) {
                    activator.activate_after(NAP);
                    return;
                }
                let mut last = sorted.is_none();
                for _ in 0..TURN {
                    match sorted.as_mut().map_or(Ok(None), SortedRows::next_row) {
                        Ok(Some(row)) => step.row(row),
                        ended => {
                            last = true;
                            let _ = ended.map_err(|error| shared.fail(error));
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

/// Survivors in order, from place `.0` on.
type Order = (u64, Vec<u32>);

/// Decisions to a map.
trait Assemble<'scope> {
    /// Takes decisions at the first worker of each process; gives the order of survivors, where it is one
    /// of their own, from the first worker of all to them.
    fn assemble(
        self,
        task: &Task,
        docs: usize,
        shared: &Arc<Shared>,
        found: Rc<RefCell<Found>>,
    ) -> Flow<'scope, (u64, Order)>;
}

impl<'scope> Assemble<'scope> for Flow<'scope, (u64, Decisions)> {
    fn assemble(
        self,
        task: &Task,
        docs: usize,
        shared: &Arc<Shared>,
        found: Rc<RefCell<Found>>,
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
                input.for_each_time(|_, decisions| {
                    for (_, decided) in decisions.flat_map(|d: &mut Vec<(u64, Decisions)>| d.drain(..)) {
                        // Whether ids are dense is known only once all records were read.
                        if shared.has_failed() {
                            continue;
                        }
                        found.take(&decided, docs);
                        let keep = |sorter: &mut Option<RowSorter>, rows: &ByteRows| {
                            let Some(sorter) = sorter else { return Ok(()) };
                            rows.iter().try_for_each(|row| sorter.push(row))
                        };
                        let kept = keep(&mut by_url, &decided.order).and_then(|()| keep(&mut by_id, &decided.urls));
                        let _ = kept.map_err(|error| shared.fail(error));
                    }
                });
                let Some(cap) = capability.as_ref().filter(|_| frontier.is_empty()) else { return };
                if let Some(sorter) = by_id.take() {
                    found.urls = sorter.finish().map_err(|error| shared.fail(error)).ok();
                }
                if let Some(sorter) = by_url.take() {
                    order = sorter.finish().map_err(|error| shared.fail(error)).ok();
                }
                // A part a turn: all at once would hold the order twice.
                let ids = order.as_mut().map_or(Ok(Vec::new()), some_ids).unwrap_or_else(|error| {
                    shared.fail(error);
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

impl Found {
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
fn take_order<'scope>(order: Flow<'scope, (u64, Order)>, docs: usize, found: Rc<RefCell<Found>>) -> Flow<'scope, ()> {
    order.unary_frontier(Pipeline, "TakeOrder", move |_, _| {
        move |(input, _), _output: &mut Nothing<'_>| {
            input.for_each_time(|_, parts| {
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
