//! The first dataflow: records to rule sets.
//!
//! ```text
//! read -> safe syntax, site -> sample -> exchange by site -> group by site (deal)
//!      -> learn (site::prepare) -> energy walk -> select (site::finish) -> rule sets, at one worker of each process
//! ```
//! Candidates of all sites are sent to all workers after the samples: they determine the sites that
//! [`held_out`](super::held_out) cross-fits, before these are learned.

use super::deal::Next;
use super::group::Grouper;
use super::held_out::Choosing;
use super::journal::{Keep, TakeUp};
use super::locate::Locator;
use super::read::{Pool, read};
use super::rows::Rows;
use super::sample::{Cut, Sampler};
use super::types::{Epoch, Flow, LearnedSite, Plan, Shared, Source};
use super::walk::{EnergyWalk, HasGraph, Walking};
use crate::model::RecordBatch;
use crate::site::held_out::Counts;
use crate::site::profile::Profile;
use crate::site::{self, Prepared, Training, energy::Graph};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::core::{Exchange, Inspect, Map};
use timely::dataflow::operators::generic::OutputBuilderSession;
use timely::dataflow::operators::probe::{Handle, Probe};
use timely::dataflow::operators::{Capability, Concat, Operator};

/// Result of the first dataflow at a worker.
#[derive(Clone, Debug, Default)]
pub struct Harvest {
    /// All sites, in no order, at the first worker of each process; nothing elsewhere.
    pub sites: Rc<RefCell<Vec<LearnedSite>>>,
    /// Records of this worker that are not absolute http or https URLs with a host.
    pub invalid: Rc<RefCell<u64>>,
}

/// Builds the dataflow; `end` is done when it is.
pub fn learn<'scope>(
    scope: Scope<'scope, Epoch>,
    plan: &Plan,
    records: &dyn Source,
    shared: &Arc<Shared>,
    end: &Handle<Epoch>,
) -> Harvest {
    let harvest = Harvest::default();
    let (pace, in_hand, pool) = (Handle::new(), InHand::default(), Pool::default());
    let (choice, progress) = (Choosing::new(plan), shared.progress.clone());

    let part = records.open(scope.index(), scope.peers(), 0);
    let (open, finished) = read(scope, part, pace.clone(), pool.clone(), shared.clone())
        .sample(plan, pool, harvest.invalid.clone())
        .exchange(|(owner, _)| *owner)
        .probe_with(&pace)
        .group_by_site(plan, in_hand.clone(), choice.clone(), shared.clone())
        .take_up(shared);
    open.learn_site(plan, choice)
        .energy_walk()
        .select_rules()
        .keep_learned(shared)
        .concat(finished)
        .inspect(move |_| {
            in_hand.set(in_hand.get() - 1);
            progress.sites(1);
        })
        .gather(plan.workers, harvest.sites.clone())
        .probe_with(end);
    harvest
}

/// Share of a worker's memory that the sampler holds.
const SAMPLER_SHARE: usize = 5;
/// A worker's memory is this many times the training sets of one epoch: their columns grow while
/// learning.
const TRAINING_SHARE: usize = 32;
/// Sleep of the group operator while the sites it gave away are being learned, or another worker is
/// taking from those left.
const NAP: Duration = Duration::from_micros(200);

/// Sites given by the group operator of a worker and not learned yet. The operators between are at the
/// same worker.
type InHand = Rc<Cell<usize>>;

/// Safe syntax, site and sample.
trait Sample<'scope> {
    /// Brings URLs to stage-1 normal form, finds their sites, and ships candidates for training to the
    /// owners of the sites.
    fn sample(self, plan: &Plan, pool: Pool, invalid: Rc<RefCell<u64>>) -> Flow<'scope, (u64, Rows)>;
}

impl<'scope> Sample<'scope> for Flow<'scope, RecordBatch> {
    fn sample(self, plan: &Plan, pool: Pool, invalid: Rc<RefCell<u64>>) -> Flow<'scope, (u64, Rows)> {
        let peers = self.scope().peers();
        let mut sampler = Sampler::new(plan.sample, peers, plan.memory / plan.workers / SAMPLER_SHARE);
        let mut locator = Locator::new(plan.site_by);
        let cross_fits = plan.held_out.is_some();
        self.unary_frontier(Pipeline, "Sample", move |capability, _| {
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                let Some(cap) = capability.as_mut() else { return };
                input.for_each_time(|_, batches| {
                    for batch in batches.flat_map(|b| b.drain(..)) {
                        let mut targets = batch.targets().peekable();
                        for (row, record) in batch.iter().enumerate() {
                            let target = targets.next_if(|target| target.0 == row);
                            match locator.locate(record) {
                                Some((site, url)) => {
                                    sampler.offer(site, url, record.cluster, record.elsewhere);
                                    target.into_iter().for_each(|(_, to)| sampler.count_target(site, url, to));
                                }
                                None => *invalid.borrow_mut() += 1,
                            }
                        }
                        drop(targets);
                        pool.give(batch);
                    }
                });
                if sampler.is_full() || frontier.is_empty() {
                    output.session(cap).give_iterator(sampler.flush().into_iter());
                }
                if cross_fits && frontier.is_empty() {
                    output.session(cap).give_iterator(sampler.candidates().into_iter());
                }
                match frontier.frontier().first() {
                    Some(epoch) => cap.downgrade(epoch),
                    None => capability = None,
                }
            }
        })
    }
}

/// Group by site.
trait GroupBySite<'scope> {
    /// Collects the rows of each site; after the last row, outputs training sets, some an epoch, when none
    /// is `in_hand`. The sites of the `choice` are known before the first.
    fn group_by_site(
        self,
        plan: &Plan,
        in_hand: InHand,
        choice: Choosing,
        shared: Arc<Shared>,
    ) -> Flow<'scope, (Training, Option<Cut>)>;
}

impl<'scope> GroupBySite<'scope> for Flow<'scope, (u64, Rows)> {
    fn group_by_site(
        self,
        plan: &Plan,
        in_hand: InHand,
        choice: Choosing,
        shared: Arc<Shared>,
    ) -> Flow<'scope, (Training, Option<Cut>)> {
        let scope = self.scope();
        let memory = plan.memory / plan.workers;
        let mut grouper = Some(Grouper::new(plan.sample, memory / 2, shared.scratch.clone()));
        let workers = plan.workers;
        let mut hand: Option<usize> = None;
        self.unary_frontier(Pipeline, "GroupBySite", move |capability: Capability<Epoch>, info| {
            let activator = scope.activator_for(info.address);
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                input.for_each_time(|_, batches| {
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
                    shared.progress.stage("learning");
                    match whole.finish() {
                        Ok(found) => hand = Some(shared.deal.lay(found)),
                        Err(error) => shared.fail(error),
                    }
                }
                let (Some(cap), Some(own)) = (capability.as_mut(), hand) else {
                    capability = None;
                    return;
                };
                if in_hand.get() > 0 {
                    activator.activate_after(NAP);
                    return;
                }
                let mut session = output.session(cap);
                let mut bytes = 0;
                // In a failed run others may never publish their sites.
                let mut over = shared.has_failed();
                while !over && bytes <= memory / TRAINING_SHARE {
                    match shared.deal.next(own, workers) {
                        Ok(Next::Site(site)) => {
                            let (training, cut) = site.training();
                            bytes += training.memory() + 256;
                            in_hand.set(in_hand.get() + 1);
                            session.give((training, cut));
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
                } else {
                    activator.activate_after(NAP);
                }
            }
        })
    }
}

/// A site before the energy walk.
struct Site {
    prepared: Prepared,
    cut: Option<Cut>,
    trained: u64,
    conflicts: u64,
    held_out: Option<Counts>,
    profile: Profile,
}

impl HasGraph for Site {
    fn graph(&self) -> &Graph {
        self.prepared.graph()
    }
}

/// Learning up to the energy walk ([`site::prepare`]) as an operator.
trait LearnSite<'scope> {
    /// Candidate rules of each site, and their graph; sites of the `choice` are cross-fitted before.
    fn learn_site(self, plan: &Plan, choice: Choosing) -> Flow<'scope, Box<Walking<Site>>>;
}

impl<'scope> LearnSite<'scope> for Flow<'scope, (Training, Option<Cut>)> {
    fn learn_site(self, plan: &Plan, choice: Choosing) -> Flow<'scope, Box<Walking<Site>>> {
        let (params, previous) = (plan.params.clone(), plan.previous.clone());
        self.map(move |(mut training, cut)| {
            training.hints.previous = previous.get(&training.site).cloned();
            let (trained, conflicts) = (training.len() as u64, training.conflicts);
            let held_out = choice.cross_fit(&training);
            let prepared = site::prepare(training, &params);
            let profile = prepared.profile();
            let site = Site { prepared, cut, trained, conflicts, held_out, profile };
            Box::new(Walking::new(site))
        })
    }
}

/// Learning after the energy walk ([`site::finish`]) as an operator.
trait SelectRules<'scope> {
    /// The rules that hold, by the energies after the walk.
    fn select_rules(self) -> Flow<'scope, LearnedSite>;
}

impl<'scope> SelectRules<'scope> for Flow<'scope, Box<Walking<Site>>> {
    fn select_rules(self) -> Flow<'scope, LearnedSite> {
        self.map(|walked| {
            let Walking { site: Site { prepared, cut, trained, conflicts, held_out, profile }, energy, .. } = *walked;
            let outcome = site::finish(prepared, &energy);
            LearnedSite { rules: outcome.rules, counts: outcome.counts, cut, trained, conflicts, held_out, profile }
        })
    }
}

/// Gathering at one worker of each process.
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
                    input.for_each_time(|_, batches| {
                        into.borrow_mut().extend(batches.flat_map(|b: &mut Vec<_>| b.drain(..)).map(|(_, item)| item));
                    });
                }
            })
    }
}
