//! Counts of the proof for a site and its rules; parts add up in any order to the same.

use super::marginal::{Marginal, Smallest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of one rule; the terms are those of [`super::tally`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Marginal evidence of the rule, where it is suspected.
    pub marginal: Option<Box<Marginal>>,
}

impl RuleCounts {
    pub(super) fn marginal(&mut self) -> &mut Marginal {
        self.marginal.get_or_insert_default()
    }
}

/// Most URLs of a site that are kept whose memory is wrong: those of the smallest hashes.
pub const MAX_MISREMEMBERED: usize = 256;

/// Counts of one site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteCounts {
    /// Records, repeats included.
    pub records: u64,
    /// Records spilled for the next pass ([`super::replay`]); dropped once the site is decided.
    pub spilled: u64,
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
    /// Labelled URLs on the page of their cluster: see [`super::tally`].
    pub good: u64,
    /// Labelled URLs on the page of another cluster: see [`super::tally`].
    pub bad: u64,
    /// Pairs on one page: see [`super::tally`].
    pub support_pairs: u64,
    /// Pairs on one page from different clusters: see [`super::tally`].
    pub false_positive_pairs: u64,
    /// By index of the rule; rules past the end have no counts.
    pub rules: Vec<RuleCounts>,
    /// Hashes of URLs that memory leads to the page of another cluster, at most [`MAX_MISREMEMBERED`].
    pub misremembered: Smallest<u64>,
    /// Requested URLs, by hash; of several the smallest by bytes.
    pub texts: BTreeMap<u64, String>,
}

impl SiteCounts {
    /// Counts of the rule of this index.
    pub(super) fn rule(&mut self, rule: u16) -> &mut RuleCounts {
        let rule = usize::from(rule);
        if self.rules.len() <= rule {
            self.rules.resize(rule + 1, RuleCounts::default());
        }
        &mut self.rules[rule]
    }

    /// Drops the samples used to decide on the rules; the figures are kept.
    pub(super) fn forget_samples(&mut self) {
        self.misremembered = Smallest::default();
        self.texts.clear();
        self.rules.iter_mut().for_each(|rule| rule.marginal = None);
    }

    /// Adds the counts of another part of the site.
    pub fn add(&mut self, other: &SiteCounts) {
        self.records += other.records;
        self.spilled += other.spilled;
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
            if let Some(more) = &more.marginal {
                rule.marginal().add(more);
            }
        }
        other.misremembered.0.iter().for_each(|&url| self.misremembered.add(url, MAX_MISREMEMBERED));
        for (&hash, url) in &other.texts {
            let text = self.texts.entry(hash).or_insert_with(|| url.clone());
            if url < text {
                text.clone_from(url);
            }
        }
    }
}
