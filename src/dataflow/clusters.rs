//! Duplicate clusters of records without labels.
//!
//! ```text
//! read -> mark -> by digest: one text a digest -> prints -> near pairs ----\
//!                    |                                                      > components -> labels -> soft 404s -> forms -> back
//!                    \--> by URL: redirects and declared canonicals to edges/
//! ```
//! Only words travel (a row is ten of them); strings stay at the worker that read them, and at the end
//! each worker gets the clusters of its records by their number. Every step sorts on disk if it does
//! not fit in memory ([`grouped`]).
//!
//! A *label* is the least vertex of a component; a vertex is a hash of site and digest, text or URL. So
//! the same records give the same labels in any order on any number of workers. Two different things
//! share a vertex of 64 bits by chance once in 4 * 10^7 sites of 10^6 URLs.
//!
//! **Soft 404s.** A component of at least [`SOFT_404_URLS`] URLs of at least [`SOFT_404_FORMS`]
//! different forms is one text that a site gives for very many addresses: a soft 404, a login page.
//! Where all URLs of a form are in it, they are a constant page and keep their label: that is worth a
//! rule. The others lose it: such a URL shows another page at another time, so it is no evidence for or
//! against a rule.
//!
//! [`grouped`]: super::grouped

use super::driver::run_workers;
use super::grouped::Grouped;
use super::near::{Components, Edge, NearPairs};
use super::pace::{Pace, Paced};
use super::read::{Pool, read};
use super::source::{Source, SourceError};
use super::types::{Epoch, Flow, RunError, Shared};
use crate::model::{RecordBatch, SiteBy};
use crate::runtime::mesh::Mesh;
use crate::runtime::progress::Progress;
use crate::runtime::workers::Alarm;
use crate::spill::Scratch;
use mark::{
    AGREE, ANSWERED, FAILED, FLAGS, FORM, ID, ITSELF, LABEL, LONG, MOVED, MarkRow, Marker, NUMBER_BITS, OTHER, PAGE,
    READ, SIMHASH, TEXT, URL,
};
use std::path::PathBuf;
use std::sync::Arc;
use timely::dataflow::Scope;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::generic::OutputBuilderSession;
use timely::dataflow::operators::probe::{Handle, Probe};
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Concat, Operator};
use timely::worker::Worker;

mod by;
mod figures;
mod mark;
mod pointers;

pub use by::By;
use figures::Counters;
pub use figures::{Figures, Soft404};

/// URLs of a component from which it may be a soft 404.
pub const SOFT_404_URLS: usize = 50;
/// Forms of URLs in a component from which it may be a soft 404.
pub const SOFT_404_FORMS: usize = 6;

/// Parameters and resources of a clustering run.
#[derive(Clone, Debug)]
pub struct ClusterPlan {
    /// Evidence that two pages are one cluster.
    pub by: By,
    /// How records are assigned to sites; clusters stay inside a site.
    pub site_by: SiteBy,
    /// Worker threads.
    pub workers: usize,
    /// Memory of all workers together, in bytes; never changes a result.
    pub memory: usize,
    /// Folder in which scratch folders are made.
    pub scratch: PathBuf,
}

/// Receiver of the clusters of the records.
pub trait Labels: Send + Sync {
    /// Called once at each worker, when all records are clustered.
    ///
    /// # Errors
    /// Errors of the receiver.
    fn open(&self, worker: usize) -> Result<Box<dyn LabelReceiver>, SourceError>;
}

/// Receiver of the clusters of one worker's records.
pub trait LabelReceiver {
    /// Receives the cluster of the record with this number (from 0, in the order of the worker's part of
    /// the source). Numbers ascend; a number that is missing has no cluster.
    ///
    /// # Errors
    /// Errors of the receiver.
    fn label(&mut self, number: u64, cluster: u64) -> Result<(), SourceError>;

    /// Called after the last record.
    ///
    /// # Errors
    /// Errors of the receiver.
    fn finish(&mut self) -> Result<(), SourceError>;
}

/// A clustering run, which may be the first of several dataflows of its workers ([`super::run_on`]).
pub struct Clustering {
    plan: ClusterPlan,
    records: Arc<dyn Source>,
    labels: Arc<dyn Labels>,
    shared: Arc<Shared>,
    counters: Arc<Counters>,
}

impl Clustering {
    /// A run over `records`, which are read once; their labels go to `labels`. On a `mesh` each process
    /// gets the labels of the records that it read.
    ///
    /// # Errors
    /// [`RunError::Spill`] when scratch cannot be used.
    pub fn new(
        plan: &ClusterPlan,
        records: Arc<dyn Source>,
        labels: Arc<dyn Labels>,
        progress: Arc<Progress>,
        mesh: Option<&Arc<Mesh>>,
    ) -> Result<Clustering, RunError> {
        let shared = Shared::new(Scratch::new(&plan.scratch)?, progress, mesh);
        let plan = ClusterPlan { workers: plan.workers.max(1), ..plan.clone() };
        Ok(Clustering { plan, records, labels, shared: Arc::new(shared), counters: Arc::default() })
    }

    /// Runs one worker's part; returns when all are through. False at all workers alike when something
    /// failed.
    pub(super) fn work(&self, worker: &mut Worker, alarm: &Alarm) -> bool {
        self.shared.progress.stage(crate::model::Stage::Clustering);
        let end: Handle<Epoch> = Handle::new();
        worker.dataflow_named("clusters", |scope| build(scope, self, &end));
        alarm.work_while(worker, || !end.done());
        !self.shared.has_failed()
    }

    /// The counts of this process, its part of the figures of all ([`Figures::add`]), once the workers have
    /// ended.
    ///
    /// # Errors
    /// The first failure of this process.
    pub fn figures(&self) -> Result<Figures, RunError> {
        self.shared.check()?;
        Ok(self.counters.figures())
    }

    /// The spill folder.
    pub(super) fn scratch(&self) -> &Arc<Scratch> {
        &self.shared.scratch
    }
}

/// Clusters the records, which are read once, and gives their labels to `labels`; with `mesh` together
/// with the other processes, each with as many workers as `plan` has.
///
/// # Errors
/// [`RunError`] when records cannot be read, labels not be taken, scratch not be used, or a worker or
/// process is lost.
pub fn cluster(run: &Arc<Clustering>, mesh: Option<&Arc<Mesh>>) -> Result<Figures, RunError> {
    let ours = run.clone();
    let worked = run_workers(run.plan.workers, mesh, &[run.scratch()], move |worker, alarm| {
        ours.work(worker, alarm);
    });
    let figures = run.figures()?;
    worked?;
    Ok(figures)
}

/// Share of a worker's memory that one step sorts in.
const SORT_SHARE: usize = 4;

/// Builds the dataflow; `end` is done when all labels were taken.
fn build<'scope>(scope: Scope<'scope, Epoch>, run: &Clustering, end: &Handle<Epoch>) {
    let Clustering { plan, records, labels, shared, counters } = run;
    let budget = plan.memory / plan.workers / SORT_SHARE;
    let (pace, pool) = (Pace::default(), Pool::default());
    let part = records.open(scope.index(), scope.peers(), 0);
    let rows = read(scope, part, pace.clone(), pool.clone(), shared.clone()).mark(plan, pool, counters).paced(&pace);
    let rows = match plan.by {
        By::Digest | By::Simhash => rows.one_text_a_digest(plan.by, budget, shared, counters),
        By::Canonical | By::Redirect => rows,
    };
    let pointers = pointers::edges(rows.clone(), budget, shared, counters);
    let edges = match plan.by {
        By::Simhash => rows.clone().prints().near_pairs(budget, shared).concat(pointers),
        _ => pointers,
    };
    rows.label(plan.by, edges.components(), budget, shared)
        .find_soft_404s(budget, shared, counters)
        .weigh_forms(budget, shared, counters)
        .hand_back(labels, budget, shared)
        .probe_with(end);
}

/// Records to rows.
trait Mark<'scope> {
    fn mark(self, plan: &ClusterPlan, pool: Pool, counters: &Arc<Counters>) -> Flow<'scope, MarkRow>;
}

impl<'scope> Mark<'scope> for Flow<'scope, RecordBatch> {
    fn mark(self, plan: &ClusterPlan, pool: Pool, counters: &Arc<Counters>) -> Flow<'scope, MarkRow> {
        let mut marker = Marker::new(plan.by, plan.site_by, self.scope().index());
        let counters = counters.clone();
        self.unary(Pipeline, "Mark", move |_, _| {
            move |input, output| {
                input.for_each_stamp(|time, batches| {
                    let mut session = output.session(&time);
                    for batch in batches.flat_map(|batch: &mut Vec<RecordBatch>| batch.drain(..)) {
                        for (at, record) in batch.iter().enumerate() {
                            let row = marker.mark(record, batch.facts(at));
                            counters.saw(row.as_ref());
                            session.give_iterator(row.into_iter());
                        }
                        pool.give(batch);
                    }
                });
            }
        })
    }
}

/// Steps over rows.
trait Rows<'scope> {
    /// Gives every record with a digest the text and the kind of document of any record of that digest (a
    /// revisit names the digest only). By simhash a page whose text is nowhere in the input gets no label:
    /// as a cluster of its own it would be evidence against pages of which it may be a copy.
    fn one_text_a_digest(
        self,
        by: By,
        budget: usize,
        shared: &Arc<Shared>,
        counters: &Arc<Counters>,
    ) -> Flow<'scope, MarkRow>;

    /// Fingerprints of the texts that are long enough.
    fn prints(self) -> Flow<'scope, super::near::Print>;

    /// The component of each row that has one: `[label, id, form]`.
    fn label(
        self,
        by: By,
        components: Flow<'scope, Edge>,
        budget: usize,
        shared: &Arc<Shared>,
    ) -> Flow<'scope, [u64; 3]>;
}

impl<'scope> Rows<'scope> for Flow<'scope, MarkRow> {
    fn one_text_a_digest(
        self,
        by: By,
        budget: usize,
        shared: &Arc<Shared>,
        counters: &Arc<Counters>,
    ) -> Flow<'scope, MarkRow> {
        let counters = counters.clone();
        self.grouped("OneTextADigest", budget, shared, move |group: &[MarkRow], out| {
            // Two texts under one digest are one page cut in two ways: the least represents both.
            let text = group
                .iter()
                .filter(|row| row[TEXT] != 0)
                .min_by_key(|row| (row[TEXT], row[SIMHASH], row[AGREE]))
                .copied();
            let flags = group.iter().fold(0, |flags, row| flags | row[FLAGS]);
            let kinds = flags & (OTHER | PAGE);
            let unread = by == By::Simhash && flags & READ == 0;
            out.extend(group.iter().map(|row| {
                let mut row = *row;
                if row[FLAGS] & ANSWERED == 0 {
                    return row;
                }
                if row[FLAGS] & (OTHER | PAGE) == 0 {
                    row[FLAGS] |= if kinds == OTHER { OTHER } else { 0 };
                }
                if unread && row[LABEL] != 0 {
                    counters.unread(row[FLAGS] & OTHER == 0);
                    row[LABEL] = 0;
                }
                if by == By::Simhash
                    && let Some(text) = text
                {
                    row[LABEL] = text[TEXT];
                    (row[TEXT], row[SIMHASH], row[AGREE]) = (text[TEXT], text[SIMHASH], text[AGREE]);
                    row[FLAGS] |= text[FLAGS] & LONG;
                }
                row
            }));
        })
    }

    fn prints(self) -> Flow<'scope, super::near::Print> {
        self.flat_map(|row: MarkRow| {
            let trains = row[FLAGS] & (ANSWERED | OTHER | LONG) == ANSWERED | LONG && row[TEXT] != 0;
            trains.then_some([row[AGREE], row[SIMHASH], row[TEXT]])
        })
    }

    fn label(
        self,
        by: By,
        components: Flow<'scope, Edge>,
        budget: usize,
        shared: &Arc<Shared>,
    ) -> Flow<'scope, [u64; 3]> {
        let asked = self.flat_map(move |row: MarkRow| {
            let flags = row[FLAGS];
            let content = matches!(by, By::Digest | By::Simhash);
            // A page without content that was read, and a redirect, have the label of the record that they are
            // joined to.
            let (vertex, alone) = match () {
                _ if flags & (FAILED | OTHER) != 0 => return None,
                _ if flags & MOVED != 0 => (row[URL], 0),
                _ if content => (row[LABEL], 1),
                _ => (row[URL], u64::from(flags & ITSELF != 0)),
            };
            (vertex != 0).then_some([vertex, 1, alone, row[ID], row[FORM]])
        });
        let known = components.map(|(vertex, label)| [vertex, 0, label, 0, 0]);
        asked.concat(known).grouped("Label", budget, shared, |group: &[[u64; 5]], out| {
            let (known, asked) = group.split_at(group.partition_point(|row| row[1] == 0));
            for row in asked {
                let label = known.first().map(|row| row[2]).or((row[2] == 1).then_some(row[0]));
                out.extend(label.map(|label| [label, row[3], row[4]]));
            }
        })
    }
}

/// Steps over labelled rows.
trait Labelled<'scope> {
    /// `[form, label, id, 1 in a soft 404]`.
    fn find_soft_404s(self, budget: usize, shared: &Arc<Shared>, counters: &Arc<Counters>) -> Flow<'scope, [u64; 4]>;
}

impl<'scope> Labelled<'scope> for Flow<'scope, [u64; 3]> {
    fn find_soft_404s(self, budget: usize, shared: &Arc<Shared>, counters: &Arc<Counters>) -> Flow<'scope, [u64; 4]> {
        let counters = counters.clone();
        let mut forms = Vec::new();
        self.grouped("FindSoft404s", budget, shared, move |group: &[[u64; 3]], out| {
            let soft_404 = group.len() >= SOFT_404_URLS && {
                forms.clear();
                forms.extend(group.iter().map(|row| row[2]));
                forms.sort_unstable();
                forms.dedup();
                forms.len() >= SOFT_404_FORMS
            };
            counters.cluster(group.len());
            if soft_404 {
                counters.soft_404(group[0][0], group.len(), forms.len(), group[0][1]);
            }
            out.extend(group.iter().map(|row| [row[2], row[0], row[1], u64::from(soft_404)]));
        })
    }
}

/// Steps over rows by form.
trait Forms<'scope> {
    /// `[number, worker, label]` of every row that keeps its label.
    fn weigh_forms(self, budget: usize, shared: &Arc<Shared>, counters: &Arc<Counters>) -> Flow<'scope, [u64; 3]>;
}

impl<'scope> Forms<'scope> for Flow<'scope, [u64; 4]> {
    fn weigh_forms(self, budget: usize, shared: &Arc<Shared>, counters: &Arc<Counters>) -> Flow<'scope, [u64; 3]> {
        let counters = counters.clone();
        self.grouped("WeighForms", budget, shared, move |group: &[[u64; 4]], out| {
            for label in group.chunk_by(|a, b| a[1] == b[1]) {
                // Nearly all of the form: a constant page.
                let mixed = label.len() * 20 < group.len() * 19;
                let drop = label[0][3] == 1 && mixed;
                if drop {
                    counters.unlabelled(label.len());
                } else {
                    let number = |id: u64| id & ((1 << NUMBER_BITS) - 1);
                    out.extend(label.iter().map(|row| [number(row[2]), row[2] >> NUMBER_BITS, row[1]]));
                }
            }
        })
    }
}

/// The last step.
trait HandBack<'scope> {
    /// Gives each worker the labels of the records that it read, in their order.
    fn hand_back(self, labels: &Arc<dyn Labels>, budget: usize, shared: &Arc<Shared>) -> Flow<'scope, ()>;
}

impl<'scope> HandBack<'scope> for Flow<'scope, [u64; 3]> {
    fn hand_back(self, labels: &Arc<dyn Labels>, budget: usize, shared: &Arc<Shared>) -> Flow<'scope, ()> {
        use timely::dataflow::operators::core::Exchange;
        let (labels, shared, worker) = (labels.clone(), shared.clone(), self.scope().index());
        let mut sorter = Some(super::sorted::Sorter::<2>::new(budget, shared.scratch.clone()));
        self.exchange(|row: &[u64; 3]| row[1]).unary_frontier(Pipeline, "HandBack", move |_, _| {
            move |(input, frontier), _: &mut OutputBuilderSession<'_, Epoch, timely::container::CapacityContainerBuilder<Vec<()>>>| {
                input.for_each_stamp(|_, batches| {
                    for row in batches.flat_map(|batch: &mut Vec<[u64; 3]>| batch.drain(..)) {
                        let Some(open) = sorter.as_mut() else { continue };
                        // Shifted to the top: the sorter uses the first byte for its buckets.
                        open.push([row[0] << (64 - NUMBER_BITS), row[2]]);
                        if open.is_full()
                            && let Err(error) = open.spill()
                        {
                            shared.fail(error);
                            sorter = None;
                        }
                    }
                });
                if !frontier.is_empty() {
                    return;
                }
                let Some(whole) = sorter.take().filter(|_| !shared.has_failed()) else { return };
                if let Err(error) = hand_over(whole, labels.as_ref(), worker) {
                    shared.fail(error);
                }
            }
        })
    }
}

/// Passes on the labels of a worker, in order.
fn hand_over(sorter: super::sorted::Sorter<2>, labels: &dyn Labels, worker: usize) -> Result<(), RunError> {
    let mut receiver = labels.open(worker).map_err(RunError::Source)?;
    let mut sorted = sorter.finish()?;
    let mut failed = None;
    while failed.is_none()
        && sorted.bucket(|row| {
            if failed.is_none() {
                failed = receiver.label(row[0] >> (64 - NUMBER_BITS), row[1]).err();
            }
        })?
    {}
    match failed {
        Some(error) => Err(RunError::Source(error)),
        None => receiver.finish().map_err(RunError::Source),
    }
}
