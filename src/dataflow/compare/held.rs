//! Checks once all records are held and before any method starts, since methods may learn for hours:
//! predictions and times must be of these records.

use super::pieces::Piece;
use super::state::CompareState;
use super::{CompareError, Job, predictions};
use crate::baselines::Name;
use crate::dataflow::types::{Epoch, Flow};
use crate::model::shown::within;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::generic::OutputBuilderSession;

/// Sites that an error names.
const NAMED: usize = 3;
/// Characters that an error shows of a name.
const LONGEST: usize = 60;

/// The records of a worker, by site.
pub(super) type BySite = Rc<RefCell<BTreeMap<Vec<u8>, Vec<Piece>>>>;

/// What the records of one worker are of, or of several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Held {
    /// Number of sites.
    sites: usize,
    /// The first ones by name.
    first: BTreeSet<String>,
    /// Whether a labelled record has a URL of each file of predictions.
    predicted: Vec<bool>,
    /// Those of [`Job::timed`] among the sites.
    timed: BTreeSet<String>,
}

impl Held {
    /// Of the records of this worker. Stops at the first URL of each file.
    pub(super) fn of(sites: &BTreeMap<Vec<u8>, Vec<Piece>>, job: &Job) -> Held {
        let name = |site: &Vec<u8>| String::from_utf8_lossy(site).into_owned();
        let has = |url: &[u8], of: &crate::baselines::outside::Predictions| of.get(url).is_some();
        let urls = || sites.values().flatten().flat_map(Piece::labelled_urls);
        Held {
            sites: sites.len(),
            first: sites.keys().take(NAMED).map(name).collect(),
            predicted: predictions(&job.plan.setup).map(|(.., of)| urls().any(|url| has(url, of))).collect(),
            timed: job.timed.iter().filter(|site| sites.contains_key(site.as_bytes())).cloned().collect(),
        }
    }

    fn join(&mut self, other: Held) {
        self.sites += other.sites;
        self.first.extend(other.first);
        self.predicted.resize(other.predicted.len(), false);
        self.predicted.iter_mut().zip(&other.predicted).for_each(|(mine, theirs)| *mine |= theirs);
        self.timed.extend(other.timed);
    }

    /// The first fault; none without any site, which is an error of its own, later.
    fn fault(&self, job: &Job) -> Option<CompareError> {
        if self.sites == 0 && !job.plan.setup.sizes {
            return None;
        }
        let foreign = predictions(&job.plan.setup).zip(&self.predicted).find(|(_, met)| !**met);
        if let Some(((label, seed, of), _)) = foreign {
            let (method, urls) = (Name::Outside(label), of.lines() - of.duplicated());
            return Some(CompareError::Foreign { method, seed, urls, sites: self.names() });
        }
        let site = job.timed.iter().find(|site| !self.timed.contains(*site))?;
        Some(CompareError::NoSite { site: site.clone(), sites: self.names() })
    }

    /// Names of some sites, and how many more there are.
    fn names(&self) -> String {
        let name = |site: &String| if site.is_empty() { "(no site)".to_owned() } else { within(site, LONGEST) };
        let named: Vec<String> = self.first.iter().take(NAMED).map(name).collect();
        match self.sites.saturating_sub(named.len()) {
            0 if named.is_empty() => "none".to_owned(),
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

pub(super) trait Checked<'scope> {
    /// Joins what all workers hold at the first one, which fails the run where predictions or times are of
    /// other records. No data come out; the end does, once that is done.
    fn checked(self, job: &Job, state: Arc<CompareState>) -> Flow<'scope, ()>;
}

impl<'scope> Checked<'scope> for Flow<'scope, Held> {
    fn checked(self, job: &Job, state: Arc<CompareState>) -> Flow<'scope, ()> {
        let (job, mut all, first) = (job.clone(), Held::default(), self.scope().index() == 0);
        self.unary_frontier(Exchange::new(|_: &Held| 0), "Checked", move |capability, _| {
            let mut capability = Some(capability);
            move |(input, frontier), _: &mut OutputBuilderSession<'_, Epoch, CapacityContainerBuilder<Vec<()>>>| {
                input.for_each_stamp(|_, held| {
                    held.flat_map(|h: &mut Vec<Held>| h.drain(..)).for_each(|held| all.join(held));
                });
                if !frontier.is_empty() || capability.is_none() {
                    return;
                }
                if let Some(fault) = all.fault(&job).filter(|_| first && !state.failure.is_set()) {
                    state.failure.record(fault);
                }
                // Methods start after this.
                capability = None;
            }
        })
    }
}
