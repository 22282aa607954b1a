//! Rules that also act on hosts of the site's registrable domain that no record has (`learn
//! --extend-to-domain`).
//!
//! Evidence is counted on the URLs as such a host would have them: with the extended rules alone,
//! without exceptions and look-ups. Evidence for or against a rule are the URLs of one host that are
//! one page with it and would not be without it. A rule that holds on nine hosts and fails on none is
//! taken to describe the software of all hosts. At first all rules that keep scheme and host are
//! extended; rules without the evidence are removed until none is left of those.

use super::evidence::Bound;
use super::{Thresholds, Training};
use crate::model::hash64;
use crate::rules::{Operation, PREFIX, Rule, RuleSet, Scratch, SiteRules, Test, origins};
use crate::url::keys::HOST_SUB;
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, BTreeSet, HashMap};

type FixedMap<K, V> = HashMap<K, V, FixedState>;

/// A labelled URL on a default port of a host of the domain.
#[derive(Clone, Copy, Debug)]
struct DomainUrl {
    /// Row of the training set.
    row: usize,
    host: u32,
    label: u32,
    /// Hash of its canonical URL under the extended rules.
    page: u64,
}

/// Evidence of one host about a rule.
#[derive(Debug, Default)]
struct Evidence {
    /// URLs that meet others of their cluster by the rule, and the clusters.
    good: u64,
    good_clusters: BTreeSet<u32>,
    /// URLs that meet another cluster by the rule, and their clusters.
    bad: u64,
    bad_clusters: BTreeSet<u32>,
}

/// Marks the rules that are extended: those with `extend_min_hosts` hosts for them and none against them.
/// Hosts outside the registrable domain that the site is named by have no vote. Returns the number of
/// extended rules.
///
/// O(rows x rules that fire on a URL) a round.
pub fn extend(rules: &mut SiteRules, training: &Training, thresholds: &Thresholds) -> u64 {
    let mut rows = rows(&rules.site, training);
    if rows.iter().map(|row| row.host).collect::<BTreeSet<u32>>().len() < thresholds.extend_min_hosts {
        return 0;
    }
    for rule in &mut rules.rules {
        rule.extended = keeps_origin(rule);
    }
    loop {
        let Some(fired) = apply(rules, training, &mut rows) else { return 0 };
        let mut failed = Vec::new();
        for rule in (0..rules.rules.len()).filter(|&rule| rules.rules[rule].extended).collect::<Vec<_>>() {
            let fired = fired.get(&(rule as u16)).map_or(&[][..], Vec::as_slice);
            if !holds(rules, rule, training, (&rows, fired), thresholds) {
                failed.push(rule);
            }
        }
        failed.iter().for_each(|&rule| rules.rules[rule].extended = false);
        if failed.is_empty() {
            return rules.rules.iter().filter(|rule| rule.extended).count() as u64;
        }
    }
}

fn rows(site: &str, training: &Training) -> Vec<DomainUrl> {
    let mut hosts: BTreeMap<&[u8], u32> = BTreeMap::new();
    let mut out = Vec::new();
    for (row, &label) in training.clusters.iter().enumerate().filter(|(_, label)| **label != u32::MAX) {
        let Some(url) = training.normal(row).filter(|url| origins::domain(url.origin()) == Some(site)) else {
            continue;
        };
        let next = hosts.len() as u32;
        let host = *hosts.entry(url.host()).or_insert(next);
        out.push(DomainUrl { row, host, label, page: 0 });
    }
    out
}

/// True for a rule that depends on no host and leaves scheme and host as they are.
fn keeps_origin(rule: &Rule) -> bool {
    let is_scheme =
        |value: &str| rule.scope.iter().any(|of| of.key == "scheme" && of.test == Test::Equals(value.into()));
    let is_host = |key: &str| matches!(key, "host" | HOST_SUB | PREFIX);
    let keeps = |(key, operation): &(String, Operation)| match (key.as_str(), operation) {
        ("scheme" | "host", Operation::Replace(from)) => from == key,
        ("scheme", Operation::Keep(value)) => is_scheme(value),
        (_, Operation::Replace(from)) => !is_host(key) && !is_host(from),
        _ => key != "scheme" && !is_host(key),
    };
    rule.scope.iter().all(|of| !is_host(&of.key) || of.test == Test::Present) && rule.operations.iter().all(keeps)
}

/// The rules that act on unseen hosts, applied to the origins of the site.
fn on_seen_hosts(rules: &SiteRules) -> Option<RuleSet> {
    let unseen = rules.for_unseen_hosts()?;
    Some(RuleSet::new(vec![SiteRules { origins: rules.origins.clone(), ..unseen }]))
}

/// Applies the extended rules, and sorts the rows by their pages. Returns for each rule the rows of the
/// training set on which it fires; `None` without extended rules.
fn apply(rules: &SiteRules, training: &Training, rows: &mut [DomainUrl]) -> Option<FixedMap<u16, Vec<usize>>> {
    let (set, mut scratch) = (on_seen_hosts(rules)?, Scratch::default());
    let mut fired: FixedMap<u16, Vec<usize>> = FixedMap::default();
    for row in &mut *rows {
        let applied = set.apply_normal(training.normal(row.row)?, Some(0), &mut scratch);
        row.page = hash64(applied.url);
        applied.fired.iter().for_each(|rule| fired.entry(rule).or_default().push(row.row));
    }
    rows.sort_unstable_by_key(|row| (row.page, row.label, row.row));
    Some(fired)
}

/// True if enough hosts are for a rule and none is against it. `fired` are the rows of the training set
/// on which the rule fires.
fn holds(
    rules: &mut SiteRules,
    rule: usize,
    training: &Training,
    (rows, fired): (&[DomainUrl], &[usize]),
    thresholds: &Thresholds,
) -> bool {
    let least = thresholds.extend_min_clusters;
    rules.rules[rule].extended = false;
    let (set, mut scratch) = (on_seen_hosts(rules), Scratch::default());
    rules.rules[rule].extended = true;
    // Hashes of the canonical URLs of these rows under the other rules.
    let mut without: FixedMap<usize, u64> = FixedMap::default();
    for &row in fired {
        let Some(url) = training.normal(row) else { continue };
        let page = match &set {
            Some(set) => hash64(set.apply_normal(url, Some(0), &mut scratch).url),
            None => hash64(url.without_fragment(rules.tokenizer())),
        };
        without.insert(row, page);
    }
    let mut hosts: BTreeMap<u32, Evidence> = BTreeMap::new();
    for group in rows.chunk_by(|a, b| a.page == b.page) {
        if group.len() > 1 && group.iter().any(|row| without.contains_key(&row.row)) {
            count(
                group,
                |row| without.get(&row.row).copied().unwrap_or(row.page),
                hosts.entry(group[0].host).or_default(),
            );
        }
    }
    let bound = Bound::operation(thresholds).allowing(u64::from(rules.label_noise_permille));
    let is_for = |of: &&Evidence| of.good_clusters.len() >= least && bound.allows(of.good, of.bad, 0);
    let is_against = |of: &Evidence| of.bad_clusters.len() >= least && !bound.allows(of.good, of.bad, 0);
    hosts.values().filter(is_for).count() >= thresholds.extend_min_hosts && !hosts.values().any(is_against)
}

/// Counts a group of rows that are one page, sorted by label; `without` is the page of a row without
/// the rule.
fn count(group: &[DomainUrl], without: impl Fn(&DomainUrl) -> u64, host: &mut Evidence) {
    // The largest cluster, of several the one with the smallest label.
    let mut largest: &[DomainUrl] = &[];
    for cluster in group.chunk_by(|a, b| a.label == b.label) {
        largest = if cluster.len() > largest.len() { cluster } else { largest };
    }
    let pages: BTreeSet<u64> = largest.iter().map(&without).collect();
    if pages.len() > 1 {
        host.good += largest.len() as u64;
        host.good_clusters.insert(largest[0].label);
    }
    for row in group.iter().filter(|row| row.label != largest[0].label && !pages.contains(&without(row))) {
        host.bad += 1;
        host.bad_clusters.insert(row.label);
    }
}
