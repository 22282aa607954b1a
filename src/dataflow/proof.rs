//! The second dataflow: evidence of rule sets counted on all records (docs/method.md, "The proof").
//!
//! ```text
//! read -> canonicalize (spill) -> exchange by (site, canonical URL) -> group, tally -> sums per site and rule,
//!                                                        \-> exchange by cluster -> distinct clusters
//!      -> counts, at one worker of each process
//! ```
//!
//! Memory of a worker: its share less that of the rules ([`share`]); of that, the rows up to two
//! thirds, then sorted runs ([`super::sorted`]); pairs of cluster and site up to a sixth; counts of all
//! sites and rules, about 100 bytes each.

use super::counts::SiteCounts;
use super::gather::Gather;
use super::locate::Locator;
use super::pace::{Pace, Paced};
use super::pages::{Firing, Page, PageMaker, Pages};
use super::read::{Pool, read};
use super::replay::{Replay, ReplayWriter};
use super::sample::HashBounds;
use super::sorted::{Sorted, Sorter};
use super::source::{Batches, SourceError};
use super::table::SiteTable;
use super::tally::Tally;
use super::types::{Epoch, Flow, Plan, RunError, Shared};
use crate::model::RecordBatch;
use crate::spill::SpillError;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::core::Exchange;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::operators::probe::{Handle, Probe};
use timely::dataflow::operators::{Concat, Operator};

/// Counts of some sites: `(index, counts)`.
pub type Counts = Vec<(u32, SiteCounts)>;
/// Distinct clusters of sites, on their way: `[hash of the label, index of the site]` in two columns.
type Clusters = [Vec<u64>; 2];

/// Result of the second dataflow at a worker.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Partial counts of all counted sites, at the first worker of each process; nothing elsewhere.
    pub counts: Rc<RefCell<Vec<Counts>>>,
    /// Records of this worker spilled for the next pass.
    pub replay: Rc<RefCell<Replay>>,
}

/// Builds the dataflow of a pass over this worker's `part` of the records by the rules of `table`;
/// `end` is done when it is.
pub fn prove<'scope>(
    scope: Scope<'scope, Epoch>,
    plan: &Plan,
    part: Result<Box<dyn Batches>, SourceError>,
    table: &Arc<SiteTable>,
    shared: &Arc<Shared>,
    end: &Handle<Epoch>,
) -> Evidence {
    let evidence = Evidence::default();
    let (pace, pool) = (Pace::default(), Pool::default());

    let (pages, records) = read(scope, part, pace.clone(), pool.clone(), shared.clone()).canonicalize(
        plan,
        table,
        pool,
        evidence.replay.clone(),
        shared,
    );
    let memory = share(plan, table);
    let (counts, clusters) = pages.exchange(|(to, _)| *to).paced(&pace).tally_pages(memory, table.len(), shared);
    let clusters = clusters.exchange(|(to, _)| *to).count_distinct(memory, shared);
    records.concat(counts).concat(clusters).gather(plan.workers, evidence.counts.clone()).probe_with(end);
    evidence
}

/// Least part of a worker's memory for rows, however much the rules use.
const LEAST_SHARE: usize = 8;

/// Memory of a worker for counting: its share less that of the rules.
fn share(plan: &Plan, table: &SiteTable) -> usize {
    let whole = plan.memory / plan.workers;
    whole.saturating_sub(table.memory() / plan.workers).max(whole / LEAST_SHARE)
}

/// Application of the rules to records.
trait Canonicalize<'scope> {
    /// Outputs the row of each record, for the worker of its canonical URL; and the number of records of
    /// each site. Some are spilled to `replay`.
    fn canonicalize(
        self,
        plan: &Plan,
        table: &Arc<SiteTable>,
        pool: Pool,
        replay: Rc<RefCell<Replay>>,
        shared: &Arc<Shared>,
    ) -> (Flow<'scope, (u64, Pages)>, Flow<'scope, Counts>);
}

impl<'scope> Canonicalize<'scope> for Flow<'scope, RecordBatch> {
    fn canonicalize(
        self,
        plan: &Plan,
        table: &Arc<SiteTable>,
        pool: Pool,
        replay: Rc<RefCell<Replay>>,
        shared: &Arc<Shared>,
    ) -> (Flow<'scope, (u64, Pages)>, Flow<'scope, Counts>) {
        let scope = self.scope();
        let shared = shared.clone();
        let locator = Locator::new(plan.site_by);
        let mut maker = PageMaker::new(table.clone(), locator, HashBounds::new(&plan.sample), scope.peers());
        let bytes = plan.memory / plan.workers;
        let passes_over = table.passes_over;
        maker.replay = Some(ReplayWriter::new(table.len(), bytes, shared.scratch.clone()));
        let mut builder = OperatorBuilder::new("Canonicalize".to_owned(), scope);
        let mut input = builder.new_input(self, Pipeline);
        let (pages, page_stream) = builder.new_output();
        let (records, record_stream) = builder.new_output();
        let mut pages = OutputBuilder::<_, CapacityContainerBuilder<Vec<(u64, Pages)>>>::from(pages);
        let mut records = OutputBuilder::<_, CapacityContainerBuilder<Vec<Counts>>>::from(records);
        builder.build(move |mut capabilities| {
            let mut record_cap = capabilities.pop();
            let mut page_cap = capabilities.pop();
            move |frontiers| {
                let (mut pages, mut records) = (pages.activate(), records.activate());
                let (Some(cap), Some(last)) = (page_cap.as_mut(), record_cap.as_ref()) else { return };
                input.for_each_stamp(|_, batches| {
                    let mut session = pages.session(cap);
                    for batch in batches.flat_map(|b: &mut Vec<RecordBatch>| b.drain(..)) {
                        for record in batch.iter() {
                            maker.offer(record);
                            if !maker.ready.is_empty() {
                                session.give_iterator(maker.ready.drain(..));
                            }
                        }
                        pool.give(batch);
                    }
                });
                match frontiers[0].frontier().first() {
                    Some(epoch) => cap.downgrade(epoch),
                    None => {
                        pages.session(cap).give_iterator(maker.flush().into_iter());
                        if let Some(site) = maker.unknown.take().filter(|_| !passes_over) {
                            shared.fail(RunError::Changed { site });
                        }
                        let (kept, run) = maker.replay.take().map(ReplayWriter::finish).unwrap_or_default();
                        *replay.borrow_mut() = run;
                        let counts = maker.records.iter().zip(0u32..).filter(|(records, _)| **records > 0);
                        let mut texts: BTreeMap<u32, BTreeMap<u64, String>> = BTreeMap::new();
                        for ((site, hash), url) in std::mem::take(&mut maker.texts) {
                            texts.entry(site).or_default().insert(hash, url);
                        }
                        let counts = counts.map(|(&records, site)| {
                            let spilled = kept.get(site as usize).copied().unwrap_or(0);
                            let texts = texts.remove(&site).unwrap_or_default();
                            (site, SiteCounts { records, spilled, texts, ..SiteCounts::default() })
                        });
                        records.session(last).give(counts.collect::<Counts>());
                        (page_cap, record_cap) = (None, None);
                    }
                }
            }
        });
        (page_stream, record_stream)
    }
}

/// Counting of rows.
trait TallyPages<'scope> {
    /// Groups rows by canonical URL; outputs counts per site, and the distinct clusters of each canonical
    /// URL.
    fn tally_pages(
        self,
        memory: usize,
        sites: usize,
        shared: &Arc<Shared>,
    ) -> (Flow<'scope, Counts>, Flow<'scope, (u64, Clusters)>);
}

/// State of the group operator.
enum TallyPhase {
    /// Rows come in.
    Taking(Sorter<5>, Vec<(u64, Firing)>),
    /// Rows go out in order.
    Giving(Box<(Sorted<5>, Tally)>),
    Over,
}

impl<'scope> TallyPages<'scope> for Flow<'scope, (u64, Pages)> {
    fn tally_pages(
        self,
        memory: usize,
        sites: usize,
        shared: &Arc<Shared>,
    ) -> (Flow<'scope, Counts>, Flow<'scope, (u64, Clusters)>) {
        let scope = self.scope();
        let peers = scope.peers() as u64;
        let shared = shared.clone();
        let budget = memory * 2 / 3;
        let mut builder = OperatorBuilder::new("TallyPages".to_owned(), scope);
        let activator = scope.activator_for(builder.operator_info().address);
        let mut input = builder.new_input(self, Pipeline);
        let (counts, count_stream) = builder.new_output();
        let (clusters, cluster_stream) = builder.new_output();
        let mut counts = OutputBuilder::<_, CapacityContainerBuilder<Vec<Counts>>>::from(counts);
        let mut clusters = OutputBuilder::<_, CapacityContainerBuilder<Vec<(u64, Clusters)>>>::from(clusters);
        let mut phase = TallyPhase::Taking(Sorter::new(budget, shared.scratch.clone()), Vec::new());
        builder.build(move |mut capabilities| {
            let mut cluster_cap = capabilities.pop();
            let mut count_cap = capabilities.pop();
            move |frontiers| {
                let (mut counts, mut clusters) = (counts.activate(), clusters.activate());
                let mut failed: Result<(), SpillError> = Ok(());
                input.for_each_stamp(|_, batches| {
                    for (_, mut pages) in batches.flat_map(|b: &mut Vec<(u64, Pages)>| b.drain(..)) {
                        if let TallyPhase::Taking(sorter, firings) = &mut phase {
                            firings.append(&mut pages.firings);
                            (0..pages.len()).for_each(|row| sorter.push(pages.get(row)));
                            if sorter.is_full() && failed.is_ok() {
                                failed = sorter.spill();
                            }
                        }
                    }
                });
                if failed.is_ok() && frontiers[0].is_empty() {
                    phase = match std::mem::replace(&mut phase, TallyPhase::Over) {
                        TallyPhase::Taking(sorter, firings) => {
                            shared.progress.stage(crate::model::Stage::Weighing);
                            match sorter.finish() {
                                Ok(sorted) => TallyPhase::Giving(Box::new((sorted, Tally::new(sites, firings)))),
                                Err(error) => {
                                    failed = Err(error);
                                    TallyPhase::Over
                                }
                            }
                        }
                        going_on => going_on,
                    };
                }
                if let (TallyPhase::Giving(giving), Some(cap), Some(last)) =
                    (&mut phase, cluster_cap.as_ref(), count_cap.as_ref())
                {
                    let (sorted, tally) = giving.as_mut();
                    let mut out: Vec<Clusters> = vec![Clusters::default(); peers as usize];
                    let mut distinct = |cluster: u64, site: u32| {
                        let to = &mut out[((cluster ^ u64::from(site)) % peers) as usize];
                        to[0].push(cluster);
                        to[1].push(u64::from(site));
                    };
                    let more = sorted.bucket(|page: &Page| tally.row(page, &mut distinct));
                    let over = match more {
                        Ok(more) => !more,
                        Err(error) => {
                            failed = Err(error);
                            true
                        }
                    };
                    if over {
                        tally.finish(&mut distinct);
                    }
                    let full = out.into_iter().zip(0..).filter(|(rows, _)| !rows[0].is_empty());
                    clusters.session(cap).give_iterator(full.map(|(rows, to)| (to, rows)));
                    if over {
                        let sites = std::mem::take(&mut tally.sites);
                        let sites = sites.into_iter().zip(0..).filter(|(site, _)| *site != SiteCounts::default());
                        counts.session(last).give(sites.map(|(counts, site)| (site, counts)).collect::<Counts>());
                        phase = TallyPhase::Over;
                    } else {
                        activator.activate();
                    }
                }
                if let Err(error) = failed {
                    shared.fail(error);
                    phase = TallyPhase::Over;
                }
                if matches!(phase, TallyPhase::Over) {
                    (cluster_cap, count_cap) = (None, None);
                }
            }
        });
        (count_stream, cluster_stream)
    }
}

/// Counting of distinct clusters.
trait CountDistinct<'scope> {
    /// Outputs the number of distinct clusters of each site.
    fn count_distinct(self, memory: usize, shared: &Arc<Shared>) -> Flow<'scope, Counts>;
}

impl<'scope> CountDistinct<'scope> for Flow<'scope, (u64, Clusters)> {
    fn count_distinct(self, memory: usize, shared: &Arc<Shared>) -> Flow<'scope, Counts> {
        let shared = shared.clone();
        let mut sorter = Some(Sorter::<2>::new(memory / 6, shared.scratch.clone()));
        self.unary_frontier(Pipeline, "CountDistinct", move |capability, _| {
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                input.for_each_stamp(|_, batches| {
                    for (_, [clusters, sites]) in batches.flat_map(|b: &mut Vec<(u64, Clusters)>| b.drain(..)) {
                        let Some(open) = sorter.as_mut() else { return };
                        clusters.into_iter().zip(sites).for_each(|(cluster, site)| open.push([cluster, site]));
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
                if let (Some(sorter), Some(cap)) = (sorter.take(), capability.as_ref()) {
                    match distinct(sorter) {
                        Ok(counts) => output.session(cap).give(counts),
                        Err(error) => shared.fail(error),
                    }
                }
                capability = None;
            }
        })
    }
}

/// Number of distinct clusters by site.
fn distinct(sorter: Sorter<2>) -> Result<Counts, SpillError> {
    let mut sorted = sorter.finish()?;
    let (mut by_site, mut last): (Vec<u64>, _) = (Vec::new(), None);
    while sorted.bucket(|&row| {
        if last != Some(row) {
            let site = row[1] as usize;
            if by_site.len() <= site {
                by_site.resize(site + 1, 0);
            }
            by_site[site] += 1;
        }
        last = Some(row);
    })? {}
    let counts = by_site.into_iter().zip(0..).filter(|(clusters, _)| *clusters > 0);
    Ok(counts.map(|(clusters, site)| (site, SiteCounts { clusters, ..SiteCounts::default() })).collect())
}
