//! The URLs of a training set as rules reduce them.

use super::Training;
use crate::rules::{RuleSet, Scratch, SiteRules};
use crate::url::NormalUrl;
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Training URLs that the rules reduce to one identity.
#[derive(Debug)]
pub struct Identity {
    /// URL that the rules compose.
    pub(super) composed: NormalUrl,
    /// Its members.
    pub(super) rows: Vec<u32>,
    /// The largest cluster among them; ties go to the smaller id.
    pub(super) majority: u32,
    /// All members are of one cluster.
    pub(super) pure: bool,
    /// True if a member neither redirects nor declares another canonical URL, nor does `page`.
    pub(super) fetchable: bool,
    /// True if such a member has path and query of `page`.
    pub(super) listed: bool,
    /// True if such a member has the path of `page`, and its parameters among others.
    pub(super) is_requested: bool,
    /// Page that represents the identity: path and query of a member, or `composed`.
    pub(super) page: NormalUrl,
    /// A URL that the rules reduce to the identity: path and query of a member, where one on this origin is reduced
    /// to it. What the rules made of another URL says nothing once one of them is withdrawn.
    pub(super) source: NormalUrl,
}

/// The reduced URLs that hold one cluster each, for rules that move directories.
pub fn reduced(identities: &[Identity], training: &Training) -> Vec<Reduced> {
    let pure = identities.iter().filter(|i| i.pure);
    let reduced = |i: &Identity| {
        let elsewhere = i.rows.iter().all(|&row| training.elsewhere[row as usize]);
        Reduced { url: i.composed.as_str().to_owned(), cluster: i.majority, elsewhere }
    };
    pure.map(reduced).collect()
}

/// Groups the labelled training URLs by identity, in the order of their first rows.
pub fn identities(rules: &SiteRules, training: &Training) -> Vec<Identity> {
    let set = RuleSet::new(vec![SiteRules { aliases: Vec::new(), local: Vec::new(), ..rules.clone() }]);
    let mut scratch = Scratch::default();
    let mut index: HashMap<u64, usize, FixedState> = HashMap::default();
    let mut out: Vec<Identity> = Vec::new();
    for row in 0..training.len() {
        if training.clusters[row] == u32::MAX {
            continue;
        }
        let Some(url) = training.normal(row) else { continue };
        let applied = set.apply_normal(url, Some(0), &mut scratch);
        let at = *index.entry(crate::model::hash64(applied.url)).or_insert_with(|| {
            out.push(Identity {
                composed: NormalUrl::new(applied.url).expect("canonical URLs are in normal form"),
                rows: Vec::new(),
                majority: 0,
                pure: true,
                fetchable: false,
                listed: false,
                is_requested: false,
                page: NormalUrl::default(),
                source: NormalUrl::default(),
            });
            out.len() - 1
        });
        out[at].rows.push(row as u32);
    }
    let mut labels = Vec::new();
    for identity in &mut out {
        labels.clear();
        labels.extend(identity.rows.iter().map(|&r| training.clusters[r as usize]));
        labels.sort_unstable();
        let mut best = (0, 0);
        for run in labels.chunk_by(|a, b| a == b) {
            if run.len() > best.0 {
                best = (run.len(), run[0]);
            }
        }
        identity.majority = best.1;
        identity.pure = best.0 == labels.len();
    }
    out
}

/// A reduced URL with its cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reduced {
    /// URL that the rules compose.
    pub url: String,
    /// The largest cluster of its members.
    pub cluster: u32,
    /// All its members redirect, or declare another canonical URL.
    pub elsewhere: bool,
}

/// True for `url` itself and everything below the directory.
pub fn is_below(url: &str, directory: &str) -> bool {
    url.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The reduced URLs below a directory, or with the script of a parameter.
pub(super) fn urls_below<'a>(reduced: &'a [Reduced], front: &str) -> &'a [Reduced] {
    let first = front.find('?').map_or_else(|| format!("{front}/"), |at| front[..=at].to_owned());
    let start = reduced.partition_point(|r| r.url.as_str() < first.as_str());
    let length = reduced[start..].partition_point(|r| r.url.starts_with(&first));
    &reduced[start..start + length]
}
