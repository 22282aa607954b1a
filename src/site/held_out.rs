//! Cross-fitted figures of one site: the effect of learned rules on URLs that took no part in learning.
//!
//! Two schemes split the training rows into folds ([`Extent::folds`]): *by cluster*, so that whole
//! clusters are left out, with all variants of their pages ([`pages`]): a list that is another one in each
//! order would else warn of its own being merged; and *by URL*, so that other URLs of a cluster may train.
//! For each fold the whole learner runs on the other rows, and its rules are applied to all rows. Of the
//! groups (labelled rows with one canonical URL) only the rows of the fold are counted:
//!
//! - **Saved** ([`Counts::by_cluster`], [`Counts::by_url`]). A row saves `1 - 1/q` of a fetch, where
//!   `q` rows of its own cluster are in its group, itself among them; the rows of the fold that is
//!   learned from count in `q`. Perfect rules save `1 - 1/c`, where `c` rows are in its cluster. The
//!   figure is the ratio of the two sums. With the same rules in all folds the first sum is the number
//!   of rows less the number of pairs (canonical URL, cluster), and the second rows less clusters. The
//!   `saved` of `evaluate` counts canonical URLs and lost clusters instead of these pairs. It is never
//!   less, and equal where each group has one cluster or the others in it are found nowhere else.
//! - **Wrong** ([`Counts::wrong`], from the folds by cluster). Of the rows in groups of two or more:
//!   those outside the largest cluster of the group (ties: the smaller id).
//!
//! Known errors of these figures:
//!
//! - The rules come from a part of the data, which is less evidence than the deployed rules have, so
//!   the figures err to the low side in saved share; the more folds, the less.
//! - All rows in a group with a row that did not train and with a canonical URL that no training row
//!   has are of its fold. Another half of a site, which `evaluate` would count, holds more of them:
//!   there two URLs of a kind that no rule covers may meet.
//!
//! Cost: each row is learned from `2 (folds - 1)` times more.

mod choice;
mod ratio;

pub use choice::{Choice, Extent, Limits, choose, site_key};
pub use ratio::Ratio;

use super::{Thresholds, Training, pages};
use crate::model::{hash64_seeded, hash128};
use crate::rules::types::SiteRules;
use crate::rules::{RuleSet, Scratch};
use serde::{Deserialize, Serialize};

/// Seed of the hash that puts clusters into folds.
const FOLD_SEED: u64 = 0x666f_6c64_636c_7573;
/// Seed of the hash that puts single URLs into folds.
const FOLD_URL_SEED: u64 = 0x666f_6c64_7572_6c73;
/// Seed of the hash that orders clusters where a site is sampled.
const SAMPLE_SEED: u64 = 0x666f_6c64_7361_6d70;

/// Sums over the clusters of a site, from which its figures follow; sums of several sites add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Labelled rows that were counted, each once a scheme.
    pub rows: u64,
    /// Their clusters.
    pub clusters: u64,
    /// Fetches saved of those that perfect rules save, folds by cluster; a unit is a cluster.
    pub by_cluster: Ratio,
    /// Fetches saved of those that perfect rules save, folds by URL; a unit is a cluster.
    pub by_url: Ratio,
    /// Wrong rows of the rows in groups of two or more, folds by cluster; a unit is the page of the largest
    /// cluster of a group with all groups of such clusters, since a wrong rule is wrong in many rows of a
    /// group, and in many variants of a page, at once.
    pub wrong: Ratio,
}

impl Counts {
    /// Adds the sums of another site.
    pub fn add(&mut self, other: &Counts) {
        self.rows += other.rows;
        self.clusters += other.clusters;
        self.by_cluster.add(&other.by_cluster);
        self.by_url.add(&other.by_url);
        self.wrong.add(&other.wrong);
    }
}

/// Cross-fits `learn` on the site. Of a site with more rows than `extent` allows, whole clusters (and
/// single rows without a label) take part by hash.
pub fn cross_fit(
    training: &Training,
    extent: Extent,
    thresholds: &Thresholds,
    learn: impl Fn(Training) -> SiteRules,
) -> Counts {
    let folds = extent.folds;
    let sampled = sample(training, extent.rows);
    let training = sampled.as_ref().unwrap_or(training);
    let first = first_rows(training);
    let fold_by_url = |row: usize| hash64_seeded(training.url(row), FOLD_URL_SEED) % folds;
    let pages = pages::of_clusters(training, first.len(), thresholds);
    let fold_by_cluster = |row: usize| match training.clusters[row] {
        u32::MAX => fold_by_url(row),
        id => hash64_seeded(training.url(first[pages[id as usize] as usize] as usize), FOLD_SEED) % folds,
    };
    let sizes = sizes(training, first.len());
    let by_cluster = scheme(training, &sizes, &pages, folds, fold_by_cluster, &learn);
    let by_url = scheme(training, &sizes, &pages, folds, fold_by_url, &learn);
    Counts {
        rows: sizes.iter().sum(),
        clusters: first.len() as u64,
        by_cluster: by_cluster.saved(&sizes),
        by_url: by_url.saved(&sizes),
        wrong: by_cluster.wrong(),
    }
}

/// Row of the first URL of each cluster. Rows are in the order of hashes of their URLs, so that it
/// depends on the URLs of the cluster alone.
fn first_rows(training: &Training) -> Vec<u32> {
    let mut first = Vec::new();
    for (row, &id) in (0..).zip(&training.clusters) {
        if id as usize == first.len() {
            first.push(row);
        }
    }
    first
}

/// Rows of each cluster.
fn sizes(training: &Training, clusters: usize) -> Vec<u64> {
    let mut sizes = vec![0; clusters];
    training.clusters.iter().filter(|&&id| id != u32::MAX).for_each(|&id| sizes[id as usize] += 1);
    sizes
}

/// Clusters in the order of a hash of their first URLs, up to `most` rows; `None` where all rows fit.
fn sample(training: &Training, most: u64) -> Option<Training> {
    if training.len() as u64 <= most {
        return None;
    }
    let first = first_rows(training);
    let key = |row: usize| hash64_seeded(training.url(row), SAMPLE_SEED);
    let mut key_of: Vec<u64> = (0..training.len()).map(key).collect();
    for (row, &id) in training.clusters.iter().enumerate().filter(|&(_, &id)| id != u32::MAX) {
        key_of[row] = key_of[first[id as usize] as usize];
    }
    let mut order = key_of.clone();
    order.sort_unstable();
    // The keys below the first unit that does not fit.
    let end = order.get(most as usize).copied().unwrap_or(u64::MAX);
    Some(training.subset(|row| key_of[row] < end))
}

/// Sums of each cluster under one scheme.
struct Sums {
    /// Fetches saved, in parts of [`Ratio::UNIT`].
    saved: Vec<u64>,
    /// Rows in groups of two or more, at the page of the largest cluster of their group.
    merged: Vec<u64>,
    /// Those outside that cluster.
    wrong: Vec<u64>,
}

impl Sums {
    fn saved(&self, sizes: &[u64]) -> Ratio {
        let mut ratio = Ratio::default();
        let perfect = |&size: &u64| (size - 1) * Ratio::UNIT;
        self.saved.iter().zip(sizes).for_each(|(&saved, size)| ratio.push(saved, perfect(size)));
        ratio
    }

    fn wrong(&self) -> Ratio {
        let mut ratio = Ratio::default();
        let whole = self.merged.iter().zip(&self.wrong);
        whole.for_each(|(merged, wrong)| ratio.push(wrong * Ratio::UNIT, merged * Ratio::UNIT));
        ratio
    }
}

/// Learns without each fold and counts its rows.
fn scheme(
    training: &Training,
    sizes: &[u64],
    pages: &[u32],
    folds: u64,
    fold: impl Fn(usize) -> u64,
    learn: &impl Fn(Training) -> SiteRules,
) -> Sums {
    let zeros = || vec![0; sizes.len()];
    let mut sums = Sums { saved: zeros(), merged: zeros(), wrong: zeros() };
    let is_counted = |row: usize, out: u64| training.clusters[row] != u32::MAX && fold(row) == out;
    // A small site may have nothing in a fold.
    for out in (0..folds).filter(|&out| (0..training.len()).any(|row| is_counted(row, out))) {
        let rules = learn(part(training, |row| fold(row) != out));
        count(training, rules, pages, |row| fold(row) == out, &mut sums);
    }
    sums
}

/// The rows that `keeps` names, on the origins of their own labelled URLs: origins that only rows left
/// out have are unseen.
fn part(training: &Training, keeps: impl Fn(usize) -> bool) -> Training {
    let mut part = training.subset(keeps);
    part.origins.clear();
    for row in (0..part.len()).filter(|&row| part.clusters[row] != u32::MAX) {
        let Some(url) = part.normal.get(row).filter(|url| !url.has_user()) else { continue };
        if !part.origins.contains(url.origin()) {
            part.origins.insert(url.origin().to_owned());
        }
    }
    part
}

/// Groups all labelled rows by their canonical URLs under `rules`, and counts the rows that `counts`
/// names.
fn count(training: &Training, rules: SiteRules, pages: &[u32], counts: impl Fn(usize) -> bool, sums: &mut Sums) {
    let set = RuleSet::new(vec![rules]);
    let mut scratch = Scratch::default();
    let canonical = |row: usize| match training.normal(row) {
        Some(url) => hash128(set.apply_normal(url, Some(0), &mut scratch).url),
        None => hash128(training.url(row)),
    };
    let labelled: Vec<usize> = (0..training.len()).filter(|&row| training.clusters[row] != u32::MAX).collect();
    let mut rows: Vec<(u128, u32, bool)> = labelled
        .iter()
        .copied()
        .map(canonical)
        .zip(&labelled)
        .map(|(canonical, &row)| (canonical, training.clusters[row], counts(row)))
        .collect();
    rows.sort_unstable();
    for group in rows.chunk_by(|a, b| a.0 == b.0) {
        let (mut largest, mut owner) = (0, 0);
        for own in group.chunk_by(|a, b| a.1 == b.1) {
            let counted = own.iter().filter(|row| row.2).count() as u64;
            let q = own.len() as u64;
            sums.saved[own[0].1 as usize] += counted * (q - 1) * Ratio::UNIT / q;
            if own.len() > largest {
                (largest, owner) = (own.len(), own[0].1);
            }
        }
        if group.len() > 1 {
            let counted = group.iter().filter(|row| row.2);
            let page = pages[owner as usize] as usize;
            sums.merged[page] += counted.clone().count() as u64;
            sums.wrong[page] += counted.filter(|row| row.1 != owner).count() as u64;
        }
    }
}

#[cfg(test)]
mod tests;
