//! The first dataflow: records to rule sets.
//!
//! ```text
//! read -> normal form, site -> sample -> exchange by site -> group by site (work stealing)
//!      -> cross-fit -> tokenize -> cover -> pattern tree -> candidates -> profile
//!      -> energy walk -> select rules -> refine rules -> rule sets, at one worker of each process
//! ```
//! The stages of learning are in `stages`, the walk is in [`walk`](super::walk).
//!
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
use super::sample::Sampler;
use super::source::Source;
use super::stages::{CrossFit, Profile, RefineRules, SelectRules, Stages, Tokenize};
use super::types::{Epoch, Flow, Plan, Shared};
use super::walk::EnergyWalk;
use crate::model::{RecordBatch, Stage};
use crate::site::{Covered, Tokenized, WithTree};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::Scope;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::core::{Exchange, Inspect};
use timely::dataflow::operators::probe::{Handle, Probe};
use timely::dataflow::operators::{Concat, Operator};

/// Result of the first dataflow at a worker.
#[derive(Clone, Debug, Default)]
pub struct Learning {
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
) -> Learning {
    let learning = Learning::default();
    let (pace, in_hand, pool) = (Pace::default(), InHand::default(), Pool::default());
    let (choice, progress) = (Choosing::new(plan), shared.progress.clone());

    let part = records.open(scope.index(), scope.peers(), 0);
    let (open, finished) = read(scope, part, pace.clone(), pool.clone(), shared.clone())
        .sample(plan, pool, learning.invalid.clone())
        .exchange(|(owner, _)| *owner)
        .paced(&pace)
        .group_by_site(plan, in_hand.clone(), choice.clone(), shared.clone())
        .take_up(shared);
    open.cross_fit(choice)
        .tokenize(plan)
        .stage(Stage::Cover, Tokenized::cover)
        .stage(Stage::GrowTree, Covered::grow_tree)
        .stage(Stage::FindCandidates, WithTree::find_candidates)
        .profile()
        .energy_walk()
        .select_rules()
        .refine_rules()
        .keep_learned(shared)
        .concat(finished)
        .inspect(move |_| {
            in_hand.put_down();
            progress.sites(1);
        })
        .gather(plan.workers, learning.sites.clone())
        .probe_with(end);
    learning
}

/// Share of a worker's memory that the sampler holds.
const SAMPLER_SHARE: usize = 5;

/// Normal form, site and sample.
trait Sample<'scope> {
    /// Brings URLs to normal form, finds their sites, and ships candidates for training to the
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
