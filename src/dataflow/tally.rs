//! Counts of the proof, from rows in order (design, sections 4.3 and 6.2; WWW10 eq. 3).
//!
//! Per canonical URL with n labelled distinct URLs, of which the largest cluster (ties: smaller hash of the label) has
//! m: good = m - 1, bad = n - m, support pairs = n (n - 1) / 2, false-positive pairs = those of different clusters. For
//! a rule r, with f of the n URLs and f' of the m fired on by r:
//!
//! - good = f', less one where r fired on all m (one of them stands for the page);
//! - bad: a bad URL counts against every rule that fired on it or on its group's majority, here: on at least half of the
//!   m. So n - m where 2 f' >= m, else f - f';
//! - pairs: those with at least one URL that r fired on;
//! - clusters: those of two or more URLs in the group, at least one of which r fired on. A cluster spread over several
//!   canonical URLs counts in each.
//!
//! The same URL twice counts once. A URL that came with several labels belongs to the cluster with most URLs in its
//! group (ties: smaller hash of the label), and is counted as a conflict. A repeat of a URL always meets its like: the
//! same URL of the same site has one canonical URL. (Design: the larger cluster *of the site*; the group is what can be
//! told in bounded memory, and differs only where a cluster is spread over canonical URLs.)
//!
//! Memory: the distinct (cluster, firing) pairs of one canonical URL.

use super::pages::{Firing, NO_CLUSTER, Page};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Counts of one rule; the terms are those of the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCounts {
    /// Labelled URLs that moved to their cluster's page.
    pub good: u64,
    /// Labelled URLs on the page of another cluster.
    pub bad: u64,
    /// `good` among URLs that did not train.
    pub apart_good: u64,
    /// `bad` among URLs that did not train.
    pub apart_bad: u64,
    /// Pairs on one page.
    pub support_pairs: u64,
    /// Pairs on one page from different clusters.
    pub false_positive_pairs: u64,
    /// Clusters that the rule joins URLs of.
    pub clusters: u64,
}

/// Counts of one site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteCounts {
    /// Records, repeats included.
    pub records: u64,
    /// Records that were laid aside for the next pass ([`super::aside`]); forgotten once that is decided on.
    pub laid: u64,
    /// Distinct URLs, as found.
    pub urls: u64,
    /// Distinct URLs with a label.
    pub labelled: u64,
    /// Distinct URLs with several labels.
    pub conflicts: u64,
    /// Distinct canonical URLs.
    pub canonical: u64,
    /// Distinct labels (by 64-bit hash).
    pub clusters: u64,
    /// See the module.
    pub good: u64,
    /// See the module.
    pub bad: u64,
    /// See the module.
    pub support_pairs: u64,
    /// See the module.
    pub false_positive_pairs: u64,
    /// By index of the rule; rules past the end have no counts.
    pub rules: Vec<RuleCounts>,
}

impl SiteCounts {
    /// Adds the counts of another part of the site.
    pub fn add(&mut self, other: &SiteCounts) {
        self.records += other.records;
        self.laid += other.laid;
        self.urls += other.urls;
        self.labelled += other.labelled;
        self.conflicts += other.conflicts;
        self.canonical += other.canonical;
        self.clusters += other.clusters;
        self.good += other.good;
        self.bad += other.bad;
        self.support_pairs = self.support_pairs.saturating_add(other.support_pairs);
        self.false_positive_pairs = self.false_positive_pairs.saturating_add(other.false_positive_pairs);
        if self.rules.len() < other.rules.len() {
            self.rules.resize(other.rules.len(), RuleCounts::default());
        }
        for (rule, more) in self.rules.iter_mut().zip(&other.rules) {
            rule.good += more.good;
            rule.bad += more.bad;
            rule.apart_good += more.apart_good;
            rule.apart_bad += more.apart_bad;
            rule.support_pairs = rule.support_pairs.saturating_add(more.support_pairs);
            rule.false_positive_pairs = rule.false_positive_pairs.saturating_add(more.false_positive_pairs);
            rule.clusters += more.clusters;
        }
    }
}

/// URLs of one cluster and one firing on one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Share {
    cluster: u64,
    firing: u32,
    urls: u64,
}

/// Shares held before those of one kind are added up.
const CONSOLIDATE: usize = 1 << 12;

/// Adds up rows that come in order.
#[derive(Debug, Default)]
pub struct Tally {
    index: HashMap<u64, u32, foldhash::fast::FixedState>,
    firings: Vec<Firing>,
    /// Counts of each site.
    pub sites: Vec<SiteCounts>,
    /// Page the rows at hand belong to.
    page: Option<[u64; 2]>,
    url: u64,
    /// Claims to the URL at hand: `(cluster, firing)`.
    claims: Vec<(u64, u32)>,
    shares: Vec<Share>,
    consolidate_at: usize,
    /// Claims to URLs with several labels, and where each URL's end.
    contested: Vec<(u64, u32)>,
    contested_ends: Vec<u32>,
    clusters: Vec<(u64, u64)>,
    rules: Vec<u16>,
    last: Option<(u64, u32)>,
}

impl Tally {
    /// For this many sites, and the firings the rows name.
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

    /// Takes the next row. `cluster` is told of each distinct cluster of each page: `(cluster, site)`.
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
        if self.claims.last() != Some(&(label, firing)) {
            self.claims.push((label, firing));
        }
    }

    /// All rows are there.
    pub fn finish(&mut self, cluster: &mut impl FnMut(u64, u32)) {
        self.end_url();
        self.end_page(cluster);
        self.page = None;
    }

    fn end_url(&mut self) {
        let Some(&first) = self.claims.first() else { return };
        // Rows come by cluster: the absent label first.
        let labelled = self.claims.iter().position(|claim| claim.0 != NO_CLUSTER);
        let labels = &self.claims[labelled.unwrap_or(0)..];
        if labels.first().map(|c| c.0) == labels.last().map(|c| c.0) {
            let (cluster, firing) = labels.first().copied().unwrap_or(first);
            self.shares.push(Share { cluster, firing, urls: 1 });
            if self.shares.len() > self.consolidate_at.max(CONSOLIDATE) {
                consolidate(&mut self.shares);
                self.consolidate_at = 2 * self.shares.len();
            }
        } else {
            // One claim a label.
            self.contested.extend(labels.chunk_by(|a, b| a.0 == b.0).map(|claims| claims[0]));
            self.contested_ends.push(self.contested.len() as u32);
        }
        self.claims.clear();
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
        let conflicts = self.contested_ends.len() as u64;
        if conflicts > 0 {
            self.settle();
        }
        if self.shares.len() > 1 {
            consolidate(&mut self.shares);
        }
        self.sizes();
        let counts = &mut self.sites[site as usize];
        counts.urls += self.shares.iter().map(|share| share.urls).sum::<u64>();
        counts.canonical += 1;
        counts.conflicts += conflicts;
        self.clusters.iter().for_each(|&(label, _)| cluster(label, site));
        let n: u64 = self.clusters.iter().map(|&(_, size)| size).sum();
        counts.labelled += n;
        if n > 1 {
            self.count_page(site as usize, n);
        }
        self.shares.clear();
        self.consolidate_at = 0;
    }

    /// Gives each URL with several labels to the largest of its clusters on this page.
    fn settle(&mut self) {
        let mut claims = std::mem::take(&mut self.contested);
        let ends = std::mem::take(&mut self.contested_ends);
        // Every claim counts for the size of its cluster.
        let settled = self.shares.len();
        self.shares.extend(claims.iter().map(|&(cluster, firing)| Share { cluster, firing, urls: 1 }));
        let mut all = self.shares.clone();
        consolidate(&mut all);
        std::mem::swap(&mut all, &mut self.shares);
        self.sizes();
        std::mem::swap(&mut all, &mut self.shares);
        self.shares.truncate(settled);
        let mut start = 0;
        for &end in &ends {
            let size = |cluster: u64| match self.clusters.binary_search_by_key(&cluster, |c| c.0) {
                Ok(at) => self.clusters[at].1,
                Err(_) => 0,
            };
            let winner =
                claims[start..end as usize].iter().max_by_key(|claim| (size(claim.0), std::cmp::Reverse(claim.0)));
            let &(cluster, firing) = winner.expect("a contested URL has claims");
            self.shares.push(Share { cluster, firing, urls: 1 });
            start = end as usize;
        }
        claims.clear();
        self.contested = claims;
    }

    /// Counts of a page with `n` labelled URLs, from `shares` and `clusters`, both in order.
    fn count_page(&mut self, site: usize, n: u64) {
        let Tally { firings, sites, shares, clusters, rules, .. } = self;
        let counts = &mut sites[site];
        let &(majority, m) = clusters
            .iter()
            .max_by_key(|c| (c.1, std::cmp::Reverse(c.0)))
            .expect("a page with labelled URLs has clusters");
        let within: u64 = clusters.iter().map(|&(_, size)| pairs(size)).sum();
        counts.good += m - 1;
        counts.bad += n - m;
        counts.support_pairs = counts.support_pairs.saturating_add(pairs(n));
        counts.false_positive_pairs = counts.false_positive_pairs.saturating_add(pairs(n) - within);

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
        let bad_apart: u64 = shares
            .iter()
            .filter(|share| share.cluster != majority && !firings[share.firing as usize].trained)
            .map(|share| share.urls)
            .sum();
        for &rule in rules.iter() {
            let (mut fired, mut fired_majority, mut fired_apart, mut majority_apart) = (0, 0, 0, 0);
            let (mut unfired_within, mut joined) = (0, 0);
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
            }
            let everywhere = fired_majority == m;
            let to_blame = 2 * fired_majority >= m;
            let unfired = pairs(n - fired);
            let rule = &mut counts.rules[rule as usize];
            rule.good += fired_majority - u64::from(everywhere);
            rule.bad += if to_blame { n - m } else { fired - fired_majority };
            // The URL that stands for the page is one that trained, where one did.
            rule.apart_good += majority_apart - u64::from(everywhere && majority_apart == m);
            rule.apart_bad += if to_blame { bad_apart } else { fired_apart - majority_apart };
            rule.support_pairs = rule.support_pairs.saturating_add(pairs(n) - unfired);
            rule.false_positive_pairs =
                rule.false_positive_pairs.saturating_add((pairs(n) - within) - (unfired - unfired_within));
            rule.clusters += joined;
        }
    }
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
