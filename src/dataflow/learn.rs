//! The first dataflow: records to rule sets.
//!
//! ```text
//! read -> safe syntax, site -> sample -> exchange by site -> group by site (deal)
//!      -> learn (site::prepare) -> energy walk -> select -> rule sets, at one worker of each process
//! ```
//! Candidates of all sites are sent to all workers after the samples: they determine the sites that
//! [`held_out`](super::held_out) cross-fits, before these are learned.

use super::gather::Gather;
use super::group_by_site::{GroupBySite, InHand};
use super::held_out::Choosing;
use super::journal::{Keep, TakeUp};
use super::learned_site::LearnedSite;
use super::locate::Locator;
use super::pace::{Pace, Paced};
use super::read::{Pool, read};
use super::rows::Rows;
use super::sample::{Cut, Sampler};
use super::source::Source;
use super::types::{Epoch, Flow, Plan, Shared};
use super::walk::{EnergyWalk, HasGraph};
use crate::model::RecordBatch;
use crate::site::held_out::Counts;
use crate::site::profile::Profile;
use crate::site::{self, Prepared, Training, energy::Graph};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::Scope;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::core::{Exchange, Inspect, Map};
use timely::dataflow::operators::probe::{Handle, Probe};
use timely::dataflow::operators::{Concat, Operator};

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
    let (pace, in_hand, pool) = (Pace::default(), InHand::default(), Pool::default());
    let (choice, progress) = (Choosing::new(plan), shared.progress.clone());

    let part = records.open(scope.index(), scope.peers(), 0);
    let (open, finished) = read(scope, part, pace.clone(), pool.clone(), shared.clone())
        .sample(plan, pool, harvest.invalid.clone())
        .exchange(|(owner, _)| *owner)
        .paced(&pace)
        .group_by_site(plan, in_hand.clone(), choice.clone(), shared.clone())
        .take_up(shared);
    open.learn_site(plan, choice)
        .energy_walk()
        .select_rules()
        .keep_learned(shared)
        .concat(finished)
        .inspect(move |_| {
            in_hand.put_down();
            progress.sites(1);
        })
        .gather(plan.workers, harvest.sites.clone())
        .probe_with(end);
    harvest
}

/// Share of a worker's memory that the sampler holds.
const SAMPLER_SHARE: usize = 5;

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
                input.for_each_stamp(|_, batches| {
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
    fn learn_site(self, plan: &Plan, choice: Choosing) -> Flow<'scope, Box<Site>>;
}

impl<'scope> LearnSite<'scope> for Flow<'scope, (Training, Option<Cut>)> {
    fn learn_site(self, plan: &Plan, choice: Choosing) -> Flow<'scope, Box<Site>> {
        let (params, previous) = (plan.params.clone(), plan.previous.clone());
        self.map(move |(mut training, cut)| {
            training.hints.previous = previous.get(&training.site).cloned();
            let (trained, conflicts) = (training.len() as u64, training.conflicts);
            let held_out = choice.cross_fit(&training);
            let prepared = site::prepare(training, &params);
            let profile = prepared.profile();
            Box::new(Site { prepared, cut, trained, conflicts, held_out, profile })
        })
    }
}

/// Learning after the energy walk as an operator.
trait SelectRules<'scope> {
    /// The rules that hold, by the energies after the walk.
    fn select_rules(self) -> Flow<'scope, LearnedSite>;
}

impl<'scope> SelectRules<'scope> for Flow<'scope, (Box<Site>, Vec<u128>)> {
    fn select_rules(self) -> Flow<'scope, LearnedSite> {
        self.map(|(site, energy)| {
            let Site { prepared, cut, trained, conflicts, held_out, profile } = *site;
            let outcome = prepared.select_rules(&energy).refine_rules();
            LearnedSite { rules: outcome.rules, counts: outcome.counts, cut, trained, conflicts, held_out, profile }
        })
    }
}
