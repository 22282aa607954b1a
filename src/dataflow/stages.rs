//! The stages of learning one site as operators, each a function of [`site`] on the state of each site.
//!
//! A site stays at the worker that took it, but for the vertices of a large graph on the energy walk. So stages are
//! pipelines, and states move from one to the next in boxes. The sites of an epoch pass a stage one after the
//! other; `GroupBySite` gives more once all of them are learned. Their states before the walk, which grow from
//! stage to stage, are thus the most that a worker holds.

use super::held_out::Choosing;
use super::learned_site::LearnedSite;
use super::sample::BudgetBounds;
use super::types::{Flow, Plan};
use super::walk::HasGraph;
use crate::model::Stage;
use crate::site::{self, Outcome, Prepared, Selected, Tokenized, Training, energy::Graph};
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;

/// Sites between two stages.
pub(super) type Sites<'scope, S> = Flow<'scope, Box<Site<S>>>;

/// A site between two stages.
pub(super) struct Site<S> {
    state: S,
    /// Result of the stages that take no part in learning; without rules and counts.
    learned: LearnedSite,
}

impl<S> Site<S> {
    fn next<T>(self, stage: impl FnOnce(S) -> T) -> Box<Site<T>> {
        Box::new(Site { state: stage(self.state), learned: self.learned })
    }
}

impl HasGraph for Site<Prepared> {
    fn graph(&self) -> &Graph {
        self.state.graph()
    }
}

/// The operator of a stage, with its name: runs `work` on each site, where the site is.
fn operator<'scope, A: 'static, B: 'static>(
    sites: Flow<'scope, A>,
    stage: Stage,
    mut work: impl FnMut(A) -> B + 'static,
) -> Flow<'scope, B> {
    sites.unary(Pipeline, &format!("{stage:?}"), move |_, _| {
        move |input, output| {
            input.for_each_stamp(|time, batches| {
                let sites = batches.flat_map(|batch| batch.drain(..));
                output.session(&time).give_iterator(sites.map(&mut work));
            });
        }
    })
}

/// Figures on URLs that took no part.
pub(super) trait CrossFit<'scope> {
    /// Cross-fits the sites of the `choice`.
    fn cross_fit(self, choice: Choosing) -> Sites<'scope, Training>;
}

impl<'scope> CrossFit<'scope> for Flow<'scope, (Training, Option<BudgetBounds>)> {
    fn cross_fit(self, choice: Choosing) -> Sites<'scope, Training> {
        operator(self, Stage::CrossFit, move |(state, bounds)| {
            let (trained, conflicts, held_out) = (state.len() as u64, state.conflicts, choice.cross_fit(&state));
            Box::new(Site {
                state,
                learned: LearnedSite { bounds, trained, conflicts, held_out, ..LearnedSite::default() },
            })
        })
    }
}

/// [`site::tokenize`] as an operator.
pub(super) trait Tokenize<'scope> {
    /// Columns of the URLs of each site, cut as it is best for the site. From here on a site has its rules of an
    /// earlier result.
    fn tokenize(self, plan: &Plan) -> Sites<'scope, Tokenized>;
}

impl<'scope> Tokenize<'scope> for Sites<'scope, Training> {
    fn tokenize(self, plan: &Plan) -> Sites<'scope, Tokenized> {
        let (params, previous) = (plan.params.clone(), plan.previous.clone());
        operator(self, Stage::Tokenize, move |mut site| {
            site.state.hints.previous = previous.get(&site.state.site).cloned();
            site.next(|training| site::tokenize(training, &params))
        })
    }
}

/// Stages that are a function of the state of a site and of nothing else.
pub(super) trait Stages<'scope, S> {
    /// `work` as the operator of `stage`.
    fn stage<T: 'static>(self, stage: Stage, work: fn(S) -> T) -> Sites<'scope, T>;
}

impl<'scope, S: 'static> Stages<'scope, S> for Sites<'scope, S> {
    fn stage<T: 'static>(self, stage: Stage, work: fn(S) -> T) -> Sites<'scope, T> {
        operator(self, stage, move |site| site.next(work))
    }
}

/// [`Prepared::profile`] as an operator.
pub(super) trait Profile<'scope> {
    /// Adds the profile of each site, which decides nothing.
    fn profile(self) -> Sites<'scope, Prepared>;
}

impl<'scope> Profile<'scope> for Sites<'scope, Prepared> {
    fn profile(self) -> Sites<'scope, Prepared> {
        operator(self, Stage::Profile, |mut site| {
            site.learned.profile = site.state.profile();
            site
        })
    }
}

/// [`Prepared::select_rules`] as an operator.
pub(super) trait SelectRules<'scope> {
    /// The candidate rules that hold, by the energies after the walk.
    fn select_rules(self) -> Sites<'scope, Selected>;
}

impl<'scope> SelectRules<'scope> for Flow<'scope, (Box<Site<Prepared>>, Vec<u128>)> {
    fn select_rules(self) -> Sites<'scope, Selected> {
        operator(self, Stage::SelectRules, |(site, energy)| site.next(|prepared| prepared.select_rules(&energy)))
    }
}

/// [`Selected::refine_rules`] as an operator.
pub(super) trait RefineRules<'scope> {
    /// The rules of each site: with mirror rules and look-ups, without what does not hold.
    fn refine_rules(self) -> Flow<'scope, LearnedSite>;
}

impl<'scope> RefineRules<'scope> for Sites<'scope, Selected> {
    fn refine_rules(self) -> Flow<'scope, LearnedSite> {
        operator(self, Stage::RefineRules, |site| {
            let Site { state, learned } = *site;
            let Outcome { rules, counts } = state.refine_rules();
            LearnedSite { rules, counts, ..learned }
        })
    }
}
