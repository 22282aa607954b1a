//! Difference of two rule files: rules gained, lost and changed, site by site.

use super::types::{Rule, SiteRules};
use super::{RuleSet, Scratch};
use crate::model::hash64;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Difference of the rules of one site.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SiteDiff {
    /// The site.
    pub site: String,
    /// Rules that are new.
    pub gained: Vec<Rule>,
    /// Rules that are no longer there.
    pub lost: Vec<Rule>,
    /// Rules that replace each other (same scope, same keys, other operations, or only one of them acts on
    /// unseen hosts): the old one and the new one.
    pub changed: Vec<(Rule, Rule)>,
    /// Rules that do the same, with other evidence: the old one and the new one. Example pairs alone do not
    /// count.
    pub counted: Vec<(Rule, Rule)>,
    /// Rules that are the same in both.
    pub same: usize,
    /// The rules common to both fire in another order.
    pub reordered: bool,
    /// URLs are tokenized into other keys.
    #[serde(rename = "cut")]
    pub retokenized: bool,
    /// Hosts and data of single pages, by name: how many were gained and lost; only names with a
    /// difference.
    pub pages: BTreeMap<&'static str, [usize; 2]>,
}

impl SiteDiff {
    /// True without any difference.
    pub fn is_empty(&self) -> bool {
        !self.changes_urls() && self.counted.is_empty()
    }

    /// More than counts differs: some URL may get another canonical URL.
    pub fn changes_urls(&self) -> bool {
        let rules = self.gained.len() + self.lost.len() + self.changed.len();
        rules > 0 || self.reordered || self.retokenized || !self.pages.is_empty()
    }
}

/// The sites that differ, those with the most good observations gained or lost first, ties by name.
/// Both lists are sorted by site, as a rule file is.
pub fn diff(old: &[SiteRules], new: &[SiteRules]) -> Vec<SiteDiff> {
    let mut out = Vec::new();
    let none = SiteRules::default();
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.site.cmp(&b.site),
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        let change = site(before.unwrap_or(&none), after.unwrap_or(&none));
        if !change.is_empty() {
            out.push(change);
        }
    }
    let weight = |d: &SiteDiff| d.gained.iter().chain(&d.lost).map(|r| r.evidence.good).sum::<u64>();
    out.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.site.cmp(&b.site)));
    out
}

fn site(old: &SiteRules, new: &SiteRules) -> SiteDiff {
    let name = if new.site.is_empty() { &old.site } else { &new.site };
    let mut out = SiteDiff { site: name.clone(), ..SiteDiff::default() };
    let with_id = |rules: &[Rule], id: &str| rules.iter().position(|rule| rule.id == id);
    let mut order = Vec::new();
    for rule in &new.rules {
        match with_id(&old.rules, &rule.id) {
            None => out.gained.push(rule.clone()),
            Some(at) => {
                order.push(at);
                let before = &old.rules[at];
                let plain = |r: &Rule| Rule {
                    evidence: super::Evidence { examples: Vec::new(), ..r.evidence.clone() },
                    ..r.clone()
                };
                if plain(before) == plain(rule) {
                    out.same += 1;
                } else if before.extended != rule.extended {
                    out.changed.push((before.clone(), rule.clone()));
                } else {
                    out.counted.push((before.clone(), rule.clone()));
                }
            }
        }
    }
    out.retokenized = old.tokens != new.tokens;
    out.pages = pages(old, new);
    out.reordered = order.windows(2).any(|w| w[0] > w[1]);
    let lost = old.rules.iter().filter(|rule| with_id(&new.rules, &rule.id).is_none());
    for rule in lost {
        // A rule that differs from a new one in its operations alone was replaced by it.
        let keys = |r: &Rule| r.operations.iter().map(|o| o.0.clone()).collect::<Vec<_>>();
        let twin = |r: &Rule| r.scope == rule.scope && r.closed == rule.closed && keys(r) == keys(rule);
        match out.gained.iter().position(twin) {
            Some(at) => out.changed.push((rule.clone(), out.gained.remove(at))),
            None => out.lost.push(rule.clone()),
        }
    }
    out
}

/// Counts of hosts and of data of single pages gained and lost.
fn pages(old: &SiteRules, new: &SiteRules) -> BTreeMap<&'static str, [usize; 2]> {
    fn count<T: Ord>(old: impl Iterator<Item = T>, new: impl Iterator<Item = T>) -> [usize; 2] {
        let (old, new): (BTreeSet<T>, BTreeSet<T>) = (old.collect(), new.collect());
        [new.difference(&old).count(), old.difference(&new).count()]
    }
    fn value_ranges(site: &SiteRules) -> impl Iterator<Item = (&String, [bool; 2], &super::value_ranges::ValueRange)> {
        site.local
            .iter()
            .flat_map(|local| local.pages.iter().map(|page| (&local.key, [local.absent, local.inner], page)))
    }
    let counts = [
        ("origins", count(old.origins.iter(), new.origins.iter())),
        ("exceptions", count(old.exceptions.iter(), new.exceptions.iter())),
        ("look-ups", count(old.aliases.iter(), new.aliases.iter())),
        ("value ranges", count(value_ranges(old), value_ranges(new))),
    ];
    counts.into_iter().filter(|(_, counts)| *counts != [0, 0]).collect()
}

/// Differences of two rule sets on a list of URLs: filled by [`add`](Self::add), counted by
/// [`count`](Self::count).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UrlChanges {
    /// URLs canonicalized.
    pub urls: u64,
    /// URLs whose canonical URL differs.
    pub changed: u64,
    /// Groups of duplicates under both rule sets.
    #[serde(flatten)]
    pub groups: Groups,
    /// The first few URLs whose canonical URL differs: URL, old and new canonical URL.
    pub examples: Vec<[String; 3]>,
    /// Hashes of the old and the new canonical URL, a URL.
    #[serde(skip)]
    pairs: Vec<(u64, u64)>,
}

/// URLs by the change of their group of duplicates: the URLs of the list with the same canonical URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Groups {
    /// URLs whose group is the same set under both rule sets.
    pub same_group: u64,
    /// URLs among them whose canonical URL differs.
    pub moved: u64,
    /// URLs whose group is another set.
    pub regrouped: u64,
    /// Share of `moved` in `same_group`; `None` without such a URL.
    pub churn: Option<f64>,
}

impl UrlChanges {
    /// URLs that are kept as examples.
    pub const EXAMPLES: usize = 10;

    /// Canonicalizes one more URL by both rule sets. Memory: 16 bytes a URL.
    pub fn add(&mut self, old: &RuleSet, new: &RuleSet, url: &[u8], scratch: &mut [Scratch; 2]) {
        let [first, second] = scratch;
        let before = old.apply(url, None, first);
        let after = new.apply(url, None, second);
        self.urls += 1;
        self.pairs.push((hash64(before.url), hash64(after.url)));
        if before.url != after.url {
            self.changed += 1;
            if self.examples.len() < Self::EXAMPLES {
                self.examples.push([url, before.url, after.url].map(|t| String::from_utf8_lossy(t).into_owned()));
            }
        }
    }

    /// Counts groups over all URLs added so far: a group is the same where as many URLs have both canonical
    /// URLs as have either. O(URLs x log URLs).
    pub fn count(&mut self) {
        let size = |side: fn(&(u64, u64)) -> u64| {
            let mut all: Vec<u64> = self.pairs.iter().map(side).collect();
            all.sort_unstable();
            move |url: u64| all.partition_point(|&other| other <= url) - all.partition_point(|&other| other < url)
        };
        let (before, after) = (size(|pair| pair.0), size(|pair| pair.1));
        self.pairs.sort_unstable();
        self.groups = Groups::default();
        for same in self.pairs.chunk_by(|a, b| a == b) {
            let ((old, new), urls) = (same[0], same.len() as u64);
            if before(old) == same.len() && after(new) == same.len() {
                self.groups.same_group += urls;
                self.groups.moved += if old == new { 0 } else { urls };
            } else {
                self.groups.regrouped += urls;
            }
        }
        let Groups { same_group, moved, .. } = self.groups;
        self.groups.churn = (same_group > 0).then(|| moved as f64 / same_group as f64);
    }
}
