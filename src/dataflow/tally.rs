//! Counts of the proof, from rows in order (WWW10 eq. 3; docs/method.md, "The proof").
//!
//! Per canonical URL with n labelled distinct URLs, of which the largest cluster (ties: smaller hash of
//! the label) has m: good = m - 1, bad = n - m, support pairs = n (n - 1) / 2, false-positive pairs =
//! those of different clusters. For a rule r, with f of the n URLs and f' of the m fired on by r:
//!
//! - good = f', less one where r fired on all m (one of them represents the page);
//! - bad: a bad URL counts against every rule that fired on it or on its group's majority, here: on at
//!   least half of the m. So n - m where 2 f' >= m, else f - f';
//! - pairs: those with at least one URL that r fired on;
//! - clusters: those of two or more URLs in the group, at least one of which r fired on. A cluster
//!   spread over several canonical URLs counts in each.
//!
//! The same URL twice counts once. A URL that came with several labels belongs to the cluster with most
//! URLs in its group (ties: smaller hash of the label), and is counted as a conflict. Repeats of a URL
//! are in one group: the same URL of the same site has one canonical URL. (The larger cluster of the
//! group, not of the site: the group can be counted in bounded memory, and the two differ only where a
//! cluster is spread over canonical URLs.)
//!
//! Counts of the site are of canonical URLs with memory, counts of rules of those without memory: see
//! [`View`]. Marginal evidence of suspected rules is counted separately ([`super::marginal`]).
//!
//! Memory: the distinct (cluster, firing) pairs of one canonical URL, and of each suspected rule
//! [`MAX_PARTS`](super::marginal::MAX_PARTS) parts.

use super::counts::{MAX_MISREMEMBERED, RuleCounts, SiteCounts};
use super::marginal::{self, Cell, Portion};
use super::pages::{Firing, NO_CLUSTER, Page, View};
use crate::model::hash64;
use std::collections::{BTreeMap, HashMap};

/// URLs of one cluster and one firing on one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Share {
    cluster: u64,
    firing: u32,
    urls: u64,
}

/// Shares held before those of one kind are added up.
const CONSOLIDATE: usize = 1 << 12;

/// Portions of a page.
#[derive(Debug, Default)]
struct Portions {
    list: Vec<Portion>,
    consolidate_at: usize,
}

impl Portions {
    fn clear(&mut self) {
        self.list.clear();
        self.consolidate_at = 0;
    }
}

/// Counter of rows that come in order.
#[derive(Debug, Default)]
pub struct Tally {
    index: HashMap<u64, u32, foldhash::fast::FixedState>,
    firings: Vec<Firing>,
    /// Counts of each site.
    pub sites: Vec<SiteCounts>,
    /// Page of the current rows.
    page: Option<[u64; 2]>,
    url: u64,
    /// Labels claimed for the current URL: `(cluster, firing)`.
    candidates: Vec<(u64, u32)>,
    shares: Vec<Share>,
    consolidate_at: usize,
    /// Claims to URLs with several labels, and the end of each URL's.
    contested: Vec<(u64, u32)>,
    contested_ends: Vec<u32>,
    clusters: Vec<(u64, u64)>,
    rules: Vec<u16>,
    last: Option<(u64, u32)>,
    /// Portions of the current page without suspected rules.
    portions: Portions,
    /// Values that suspected rules remove from URLs of the current page.
    values: Portions,
    /// Hashes of URLs of the page that memory led to it, by cluster.
    remembered: BTreeMap<u64, Vec<u64>>,
}

impl Tally {
    /// A counter for this many sites, with the firings of the rows.
    pub fn new(sites: usize, firings: Vec<(u64, Firing)>) -> Tally {
        let mut tally = Tally { sites: vec![SiteCounts::default(); sites], ..Tally::default() };
        for (hash, firing) in firings {
            let next = tally.firings.len() as u32;
            if *tally.index.entry(hash).or_insert(next) == next {
                tally.firings.push(firing);
            }
        }
        tally
    }

    /// Adds the next row. `cluster` is called for each distinct cluster of each page: `(cluster, site)`.
    pub fn row(&mut self, row: &Page, cluster: &mut impl FnMut(u64, u32)) {
        let &[high, low, url, label, firing] = row;
        let same_page = self.page == Some([high, low]);
        if !same_page || self.url != url {
            self.end_url();
        }
        if !same_page {
            self.end_page(cluster);
        }
        (self.page, self.url) = (Some([high, low]), url);
        let firing = match self.last {
            Some((hash, index)) if hash == firing => index,
            _ => self.index[&firing],
        };
        self.last = Some((row[4], firing));
        let portions = match self.firings[firing as usize].view {
            View::Without { rule, .. } => Some((&mut self.portions, rule)),
            View::Value { rule } => Some((&mut self.values, rule)),
            View::Both | View::Rules | View::Memory => None,
        };
        if let Some((portions, rule)) = portions {
            portions.list.push(Portion { rule, part: url, cluster: label, firing, urls: 1 });
            if portions.list.len() > portions.consolidate_at.max(CONSOLIDATE) {
                marginal::consolidate(&mut portions.list);
                portions.consolidate_at = 2 * portions.list.len();
            }
            return;
        }
        if self.candidates.last() != Some(&(label, firing)) {
            self.candidates.push((label, firing));
        }
    }

    /// Counts the last page.
    pub fn finish(&mut self, cluster: &mut impl FnMut(u64, u32)) {
        self.end_url();
        self.end_page(cluster);
        self.page = None;
    }

    fn end_url(&mut self) {
        let Some(&first) = self.candidates.first() else { return };
        // Rows come by cluster: the absent label first.
        let labelled = self.candidates.iter().position(|candidate| candidate.0 != NO_CLUSTER);
        let labels = &self.candidates[labelled.unwrap_or(0)..];
        if labels.first().map(|c| c.0) == labels.last().map(|c| c.0) {
            let (cluster, firing) = labels.first().copied().unwrap_or(first);
            if cluster != NO_CLUSTER && self.firings[firing as usize].view == View::Memory {
                // URLs come by rising hash: the first of a cluster are those of the smallest.
                let kept = self.remembered.entry(cluster).or_default();
                if kept.len() < MAX_MISREMEMBERED {
                    kept.push(self.url);
                }
            }
            self.shares.push(Share { cluster, firing, urls: 1 });
            if self.shares.len() > self.consolidate_at.max(CONSOLIDATE) {
                consolidate(&mut self.shares);
                self.consolidate_at = 2 * self.shares.len();
            }
        } else {
            // One candidate a label.
            self.contested.extend(labels.chunk_by(|a, b| a.0 == b.0).map(|candidates| candidates[0]));
            self.contested_ends.push(self.contested.len() as u32);
        }
        self.candidates.clear();
    }

    /// Sizes of the labelled clusters in `shares`, which are in order.
    fn sizes(&mut self) {
        self.clusters.clear();
        for share in self.shares.iter().filter(|share| share.cluster != NO_CLUSTER) {
            match self.clusters.last_mut() {
                Some((cluster, size)) if *cluster == share.cluster => *size += share.urls,
                _ => self.clusters.push((share.cluster, share.urls)),
            }
        }
    }

    fn end_page(&mut self, cluster: &mut impl FnMut(u64, u32)) {
        let Some(firing) = self.shares.first().map(|share| share.firing).or(self.contested.first().map(|c| c.1)) else {
            return;
        };
        let site = self.firings[firing as usize].site;
        let starts = std::iter::once(0).chain(self.contested_ends.iter().copied()).zip(&self.contested_ends);
        let view = |start: u32| &self.firings[self.contested[start as usize].1 as usize].view;
        let conflicts = starts.filter(|(start, _)| matches!(view(*start), View::Both | View::Memory)).count() as u64;
        if !self.contested_ends.is_empty() {
            self.settle();
        }
        if self.shares.len() > 1 {
            consolidate(&mut self.shares);
        }
        self.count_views(site, conflicts, cluster);
        self.shares.clear();
        self.portions.clear();
        self.values.clear();
        self.remembered.clear();
        self.consolidate_at = 0;
    }

    /// Counts a page: its figures with memory, its rules without.
    fn count_views(&mut self, site: u32, conflicts: u64, cluster: &mut impl FnMut(u64, u32)) {
        let is = |firings: &[Firing], share: &Share, view: &View| firings[share.firing as usize].view == *view;
        let differ = self.shares.iter().any(|share| !is(&self.firings, share, &View::Both));
        let mut all = Vec::new();
        if differ {
            all.clone_from(&self.shares);
            self.shares.retain(|share| !is(&self.firings, share, &View::Rules));
        }
        self.sizes();
        let counts = &mut self.sites[site as usize];
        counts.conflicts += conflicts;
        if !self.shares.is_empty() {
            counts.urls += self.shares.iter().map(|share| share.urls).sum::<u64>();
            counts.canonical += 1;
        }
        self.clusters.iter().for_each(|&(label, _)| cluster(label, site));
        let n: u64 = self.clusters.iter().map(|&(_, size)| size).sum();
        counts.labelled += n;
        if let Some((majority, m)) = self.majority().filter(|_| n > 1) {
            let within: u64 = self.clusters.iter().map(|&(_, size)| pairs(size)).sum();
            let counts = &mut self.sites[site as usize];
            counts.good += m - 1;
            counts.bad += n - m;
            counts.support_pairs = counts.support_pairs.saturating_add(pairs(n));
            counts.false_positive_pairs = counts.false_positive_pairs.saturating_add(pairs(n) - within);
            let wrong = self.remembered.iter().filter(|(cluster, _)| **cluster != majority).flat_map(|of| of.1);
            wrong.for_each(|&url| counts.misremembered.add(url, MAX_MISREMEMBERED));
        }
        if differ {
            all.retain(|share| !is(&self.firings, share, &View::Memory));
            self.shares = all;
            self.sizes();
        }
        let n: u64 = self.clusters.iter().map(|&(_, size)| size).sum();
        if n > 1 {
            self.count_rules(site as usize, n);
        }
    }

    /// The largest cluster of the page (ties: the smaller hash) and its size.
    fn majority(&self) -> Option<(u64, u64)> {
        self.clusters.iter().copied().max_by_key(|c| (c.1, std::cmp::Reverse(c.0)))
    }

    /// Gives each URL with several labels to the largest of its clusters on this page.
    fn settle(&mut self) {
        let mut candidates = std::mem::take(&mut self.contested);
        let ends = std::mem::take(&mut self.contested_ends);
        // Every candidate counts for the size of its cluster.
        let before = self.shares.len();
        self.shares.extend(candidates.iter().map(|&(cluster, firing)| Share { cluster, firing, urls: 1 }));
        let mut all = self.shares.clone();
        consolidate(&mut all);
        std::mem::swap(&mut all, &mut self.shares);
        self.sizes();
        std::mem::swap(&mut all, &mut self.shares);
        self.shares.truncate(before);
        let mut start = 0;
        for &end in &ends {
            let size = |cluster: u64| match self.clusters.binary_search_by_key(&cluster, |c| c.0) {
                Ok(at) => self.clusters[at].1,
                Err(_) => 0,
            };
            let winner = candidates[start..end as usize]
                .iter()
                .max_by_key(|candidate| (size(candidate.0), std::cmp::Reverse(candidate.0)));
            let &(cluster, firing) = winner.expect("a contested URL has claims");
            self.shares.push(Share { cluster, firing, urls: 1 });
            start = end as usize;
        }
        candidates.clear();
        self.contested = candidates;
    }

    /// Counts of the rules on a page with `n` labelled URLs, from `shares` and `clusters`, both in order.
    fn count_rules(&mut self, site: usize, n: u64) {
        let Some((majority, m)) = self.majority() else { return };
        let Tally { firings, sites, shares, clusters, rules, portions, values, .. } = self;
        let counts = &mut sites[site];
        let within: u64 = clusters.iter().map(|&(_, size)| pairs(size)).sum();

        let shares = &shares[shares.partition_point(|share| share.cluster == NO_CLUSTER)..];
        rules.clear();
        for share in shares {
            rules.extend_from_slice(&firings[share.firing as usize].rules);
        }
        rules.sort_unstable();
        rules.dedup();
        if let Some(&last) = rules.last()
            && counts.rules.len() <= last as usize
        {
            counts.rules.resize(last as usize + 1, RuleCounts::default());
        }
        // Whatever the index of the site: the sample of its pages is the same beside other sites.
        let page = self.page.map_or(0, |[high, _]| high ^ hash64(&(site as u32).to_le_bytes()));
        let joint = count_marginals(page, (&mut portions.list, &mut values.list), shares, majority, firings, counts);
        let bad_apart: u64 = shares
            .iter()
            .filter(|share| share.cluster != majority && !firings[share.firing as usize].trained)
            .map(|share| share.urls)
            .sum();
        for &rule in rules.iter() {
            let (mut fired, mut fired_majority, mut fired_apart, mut majority_apart) = (0, 0, 0, 0);
            let (mut unfired_within, mut joined, mut fired_joint) = (0, 0, 0);
            for cluster in shares.chunk_by(|a, b| a.cluster == b.cluster) {
                let size: u64 = cluster.iter().map(|share| share.urls).sum();
                let on = |trained: bool| {
                    cluster
                        .iter()
                        .filter(|share| {
                            let firing = &firings[share.firing as usize];
                            firing.trained == trained && firing.rules.binary_search(&rule).is_ok()
                        })
                        .map(|share| share.urls)
                        .sum::<u64>()
                };
                let (with, apart) = (on(true), on(false));
                fired += with + apart;
                fired_apart += apart;
                if cluster[0].cluster == majority {
                    (fired_majority, majority_apart) = (with + apart, apart);
                }
                unfired_within += pairs(size - with - apart);
                joined += u64::from(size > 1 && with + apart > 0);
                fired_joint += u64::from(with + apart > 0 && joint.binary_search(&cluster[0].cluster).is_ok());
            }
            let everywhere = fired_majority == m;
            let to_blame = 2 * fired_majority >= m;
            let unfired = pairs(n - fired);
            let rule = &mut counts.rules[rule as usize];
            rule.good += fired_majority - u64::from(everywhere);
            rule.bad += if to_blame { n - m } else { fired - fired_majority };
            // The URL that represents the page is one that trained, where one did.
            rule.apart_good += majority_apart - u64::from(everywhere && majority_apart == m);
            rule.apart_bad += if to_blame { bad_apart } else { fired_apart - majority_apart };
            rule.support_pairs = rule.support_pairs.saturating_add(pairs(n) - unfired);
            rule.false_positive_pairs =
                rule.false_positive_pairs.saturating_add((pairs(n) - within) - (unfired - unfired_within));
            rule.clusters += joined;
            if let Some(marginal) = &mut rule.marginal {
                marginal.joint += if to_blame { joint.len() as u64 } else { fired_joint };
            }
        }
    }
}

/// Counts the marginal evidence of the suspected rules on the page of this hash, whose largest cluster
/// is `majority`, from `portions` and `values` (both consumed) and the labelled `shares`. Returns the
/// other clusters of the page that are the largest of no part, ascending; empty where no rule is
/// suspected.
fn count_marginals(
    page: u64,
    (portions, values): (&mut Vec<Portion>, &mut Vec<Portion>),
    shares: &[Share],
    majority: u64,
    firings: &[Firing],
    counts: &mut SiteCounts,
) -> Vec<u64> {
    let mut suspects: Vec<u16> = portions.iter().map(|portion| portion.rule).collect();
    suspects.dedup();
    suspects.sort_unstable();
    suspects.dedup();
    for &rule in &suspects {
        let unfired = shares.iter().filter(|share| !firings[share.firing as usize].rules.contains(&rule));
        portions.extend(unfired.map(|share| {
            let Share { cluster, firing, urls } = *share;
            Portion { rule, part: 0, cluster, firing, urls }
        }));
    }
    if suspects.is_empty() {
        return Vec::new();
    }
    marginal::consolidate(portions);
    let nowhere = Cell::default();
    let cell = |firing: u32| {
        let Firing { view, trained, .. } = &firings[firing as usize];
        let cell = if let View::Without { cell, .. } = view { cell } else { &nowhere };
        (cell, *trained)
    };
    let mut seen = Vec::new();
    marginal::consolidate(values);
    for of_rule in portions.chunk_by(|a, b| a.rule == b.rule) {
        let rule = of_rule[0].rule;
        let counts = counts.rule(rule).marginal();
        let before = counts.bad;
        marginal::count(page, of_rule, majority, cell, &mut seen, counts);
        if counts.bad > before {
            let of_rule = values.partition_point(|of| of.rule < rule)..values.partition_point(|of| of.rule <= rule);
            marginal::count_values(&values[of_rule], counts);
        }
    }
    seen.sort_unstable();
    let clusters = shares.chunk_by(|a, b| a.cluster == b.cluster).map(|of| of[0].cluster);
    clusters.filter(|cluster| *cluster != majority && seen.binary_search(cluster).is_err()).collect()
}

/// n (n - 1) / 2.
fn pairs(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

/// Sorts shares and adds up those of one kind.
fn consolidate(shares: &mut Vec<Share>) {
    shares.sort_unstable();
    shares.dedup_by(|b, a| {
        let same = (a.cluster, a.firing) == (b.cluster, b.firing);
        if same {
            a.urls += b.urls;
        }
        same
    });
}

#[cfg(test)]
mod tests;
