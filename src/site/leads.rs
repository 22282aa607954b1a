//! Pages that value ranges lead to with another number: `post=17` of a topic is its `page=2`.
//!
//! The cluster of a range may hold such a page. One label is no proof of it. The order of the numbers
//! is: a range leads to its page if, by the bound of value ranges, the numbers of the pages ascend with
//! those of the ranges over all groups of the site, and without exception in its own group. Any other
//! range leads to a URL of its own.

use super::Thresholds;
use super::evidence::Bound;
use super::points::{Lead, Point, numbers};
use super::trials::{ONE, Trials};
use std::collections::{BTreeMap, BTreeSet};

/// Ranges that lead to a page with another number, by the identity of their smallest number.
pub(super) struct Leads(BTreeSet<u32>);

impl Leads {
    /// The ranges of these groups that lead to a page with another number. `lead` returns what the page of
    /// an identity's cluster has in place of the key of the range.
    pub(super) fn new(groups: &[&[Point]], lead: impl Fn(usize) -> Option<Lead>, thresholds: &Thresholds) -> Leads {
        let mut trials: BTreeMap<u64, Trials> = BTreeMap::new();
        let mut leads: Vec<(u64, u32)> = Vec::new();
        for group in groups {
            let numbers = numbers(group);
            let runs = numbers.chunk_by(|a, b| a.1 == b.1).filter(|run| run[0].1.is_some());
            let pages: Vec<(Lead, u32, Option<u32>)> =
                runs.filter_map(|run| Some((lead(run[0].2 as usize)?, run[0].2, run[0].1))).collect();
            let keys: BTreeSet<u64> =
                pages.iter().filter(|page| page.0.number.is_some()).map(|page| page.0.key).collect();
            for key in keys {
                let of_key = |page: &&(Lead, u32, Option<u32>)| page.0.number.is_none() || page.0.key == key;
                let pages: Vec<_> = pages.iter().filter(of_key).collect();
                let is_ascent = |pair: &[&(Lead, u32, Option<u32>)]| pair[0].0.number < pair[1].0.number;
                let of_key = trials.entry(key).or_default();
                for pair in pages.windows(2) {
                    let right = is_ascent(pair);
                    of_key.add(pair[1].2, if right { ONE } else { 0 }, if right { 0 } else { ONE });
                }
                if pages.windows(2).all(is_ascent) {
                    leads.extend(pages.iter().filter(|page| page.0.number.is_some()).map(|page| (key, page.1)));
                }
            }
        }
        let bound = Bound::value_range(thresholds);
        trials.retain(|_, trials| trials.holds(bound).is_some());
        Leads(leads.into_iter().filter(|lead| trials.contains_key(&lead.0)).map(|lead| lead.1).collect())
    }

    /// True where the range of this identity leads to the page of its cluster.
    pub(super) fn hold(&self, identity: u32) -> bool {
        self.0.contains(&identity)
    }
}
