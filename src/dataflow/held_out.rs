//! The choice of the sites of a run that are cross-fitted: equal at every worker, before any site is
//! learned.
//!
//! Each worker counts the candidates for training of every site it meets, repeats included, and ships
//! the counts to all workers with the last of its rows. Once a worker has all its rows, it has the
//! counts of all workers: their sum depends on the records alone. The number of distinct URLs is
//! unknown then; a site has at most as many rows as candidates, so that the bounds hold.
//!
//! Memory: 16 bytes a site at each worker, beside what the sampler keeps of a site.

use super::alone;
use super::sample::SampleParams;
use super::types::Plan;
use crate::site::held_out::{Choice, Counts, Limits, choose, cross_fit, site_key};
use crate::site::{Params, Training};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Cross-fitted figures in `summary.json` of a site, or of all that were cross-fitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HeldOut {
    /// Figures on URLs that took no part.
    Figures(HeldOutFigures),
    /// [`HeldOut::NONE`].
    None(String),
}

impl HeldOut {
    /// Text in place of the figures where there are none.
    pub const NONE: &str = "not cross-fitted";

    /// The figures of these sums.
    pub fn of(counts: Option<&Counts>) -> HeldOut {
        counts
            .map_or_else(|| HeldOut::None(Self::NONE.to_owned()), |counts| HeldOut::Figures(HeldOutFigures::of(counts)))
    }
}

/// Cross-fitted figures in millionths; see [`site::held_out`](crate::site::held_out) for what they
/// count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldOutFigures {
    /// Fetches saved of those that perfect rules save, where no URL of a cluster trained; rounded. Null
    /// without duplicates, as are the three that follow.
    pub saved_by_cluster: Option<u64>,
    /// Half the width of its interval of 95 %; rounded up.
    pub saved_by_cluster_margin: Option<u64>,
    /// Fetches saved of those that perfect rules save, where other URLs of a cluster may have trained.
    pub saved_by_url: Option<u64>,
    /// Half the width of its interval of 95 %.
    pub saved_by_url_margin: Option<u64>,
    /// Of the URLs that share their canonical URL, those outside the largest cluster of it; clusters that
    /// did not train. Rounded up, 0 where no URL shares its canonical URL.
    pub wrong_share: u64,
    /// Upper end of its interval of 95 %; 1,000,000 where no URL shares its canonical URL.
    pub wrong_upper: u64,
    /// Clusters that were counted.
    pub clusters: u64,
    /// Labelled URLs that were counted.
    pub rows: u64,
}

impl HeldOutFigures {
    fn of(counts: &Counts) -> HeldOutFigures {
        HeldOutFigures {
            saved_by_cluster: counts.by_cluster.ppm(),
            saved_by_cluster_margin: counts.by_cluster.margin_ppm(),
            saved_by_url: counts.by_url.ppm(),
            saved_by_url_margin: counts.by_url.margin_ppm(),
            wrong_share: counts.wrong.ppm_up(),
            wrong_upper: counts.wrong.upper_ppm(),
            clusters: counts.clusters,
            rows: counts.rows,
        }
    }
}

/// State of the choice at a worker; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Choosing {
    limits: Option<Limits>,
    /// Parameters of the sample.
    sample: SampleParams,
    params: Params,
    /// Candidates of each site by its key.
    candidates: Rc<RefCell<BTreeMap<u64, u64>>>,
    choice: Rc<RefCell<Choice>>,
}

impl Choosing {
    /// A choice without counts. A plan without bounds chooses no site.
    pub(super) fn new(plan: &Plan) -> Choosing {
        let (limits, sample, mut params) = (plan.held_out, plan.sample, plan.params.clone());
        // The figures are those of learned rules: provisional rules are excluded.
        params.platforms.provisional = false;
        Choosing { limits, sample, params, candidates: Rc::default(), choice: Rc::default() }
    }

    /// Adds the counts of a worker.
    pub(super) fn add(&self, counted: &[(u64, u64)]) {
        let mut candidates = self.candidates.borrow_mut();
        counted.iter().for_each(|&(site, rows)| *candidates.entry(site).or_default() += rows);
    }

    /// Chooses the sites, once all counts are added.
    pub(super) fn decide(&self) {
        let Some(limits) = &self.limits else { return };
        *self.choice.borrow_mut() = decide(self.candidates.take(), limits, &self.sample);
    }

    /// Cross-fits the site if it was chosen; one without labels has nothing to count.
    pub(super) fn cross_fit(&self, training: &Training) -> Option<Counts> {
        if training.origins.is_empty() {
            return None;
        }
        let extent = self.choice.borrow().extent(&training.site)?;
        let learn = |part| alone::proven(part, &self.sample, &self.params);
        Some(cross_fit(training, extent, &self.params.thresholds, learn))
    }
}

fn decide(mut candidates: BTreeMap<u64, u64>, limits: &Limits, sample: &SampleParams) -> Choice {
    candidates.values_mut().for_each(|rows| *rows = (*rows).min(u64::from(sample.max)));
    choose(&candidates, limits)
}

/// The common choice of the workers, in plain code: from the candidates of all sites of a run by name.
pub fn chosen(candidates: &BTreeMap<String, u64>, limits: &Limits, sample: &SampleParams) -> Choice {
    let mut by_key = BTreeMap::new();
    candidates.iter().for_each(|(name, rows)| *by_key.entry(site_key(name)).or_default() += rows);
    decide(by_key, limits, sample)
}
