//! The sufficient statistics of one or more sites.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Whole numbers from which every figure follows; counts of different sites add up.
///
/// Counts of parts of *one* site do not: a canonical URL may be in both parts. Join the
/// [`Pages`](super::Pages).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Distinct labelled URLs (WWW10 `N_ori`).
    pub urls: u64,
    /// Distinct canonical URLs of them (WWW10 `N_norm`): the pages a crawler fetches.
    pub canonical: u64,
    /// Duplicate clusters of the URLs, singletons included (WWW10 `C_ori`).
    pub clusters: u64,
    /// Clusters that own the first URL of some canonical URL.
    pub covered: u64,
    /// Unordered pairs of distinct URLs with the same canonical URL (WWW10 eq. 3, `N_supp`).
    pub support_pairs: u64,
    /// Support pairs from different clusters (WWW10 eq. 3, `N_fpp`).
    pub false_positive_pairs: u64,
    /// Unordered pairs of URLs of one cluster, joined or not.
    pub duplicate_pairs: u64,
    /// URLs that share their canonical URL with another one.
    pub merged: u64,
    /// Merged URLs that are not of the largest cluster of their canonical URL.
    pub wrong: u64,
    /// URLs that differ from their canonical URL.
    pub rewritten: u64,
    /// Rewritten URLs whose canonical URL is a listed URL of the same cluster.
    pub fetch_ok: u64,
    /// Rewritten URLs whose canonical URL is a listed URL of another cluster.
    pub fetch_bad: u64,
    /// Rewritten URLs whose canonical URL holds `*`, which no crawler can fetch.
    pub star: u64,
}

impl Counts {
    /// Pairs of one cluster that share their canonical URL.
    pub fn true_pairs(&self) -> u64 {
        self.support_pairs - self.false_positive_pairs
    }

    /// Clusters none of whose URLs is fetched.
    pub fn lost(&self) -> u64 {
        self.clusters - self.covered
    }

    /// Adds the counts of another site.
    pub fn merge(&mut self, other: &Counts) {
        let Counts {
            urls,
            canonical,
            clusters,
            covered,
            support_pairs,
            false_positive_pairs,
            duplicate_pairs,
            merged,
            wrong,
            rewritten,
            fetch_ok,
            fetch_bad,
            star,
        } = other;
        self.urls += urls;
        self.canonical += canonical;
        self.clusters += clusters;
        self.covered += covered;
        self.support_pairs += support_pairs;
        self.false_positive_pairs += false_positive_pairs;
        self.duplicate_pairs += duplicate_pairs;
        self.merged += merged;
        self.wrong += wrong;
        self.rewritten += rewritten;
        self.fetch_ok += fetch_ok;
        self.fetch_bad += fetch_bad;
        self.star += star;
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.merge(&other);
    }
}

impl Add for Counts {
    type Output = Counts;
    fn add(mut self, other: Counts) -> Counts {
        self += other;
        self
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(counts: I) -> Counts {
        counts.fold(Counts::default(), Counts::add)
    }
}
