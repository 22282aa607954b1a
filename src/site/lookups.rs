//! Canonical URLs actually seen, and look-ups (design, section 2 "canonical URL", section 4.6).
//!
//! The rules reduce each training URL to an identity. Where the URL that the rules compose for an identity is not one
//! of its members, the best member (shortest, then by bytes; not one that redirects or declares another canonical) is
//! kept as its canonical URL. Identities that hold one and the same cluster become look-ups to one of them: a session
//! form and an article form of one page that no rule joins. A look-up acts only on URLs whose identity was seen, but it
//! trusts single labels, so there are none where more than [`MAX_IMPURE_PERMILLE`] of the URLs contradict their
//! identity's majority.

use super::mirrors::Reduced;
use super::{Training, spans};
use crate::rules::{RuleSet, Scratch, SiteRules, Urls};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Share of URLs outside the majority of their identity above which labels are too noisy to trust one by one.
pub const MAX_IMPURE_PERMILLE: u64 = 10;

/// Training URLs that the rules reduce to one identity.
#[derive(Debug)]
pub struct Identity {
    /// The URL the rules compose.
    pub(super) composed: Vec<u8>,
    /// Its members.
    rows: Vec<u32>,
    /// The largest cluster among them; ties go to the smaller id.
    pub(super) majority: u32,
    /// All members are of one cluster.
    pub(super) pure: bool,
    /// The canonical URL: a member, else what the rules compose.
    canonical: Option<Vec<u8>>,
}

/// Adds seen members and look-ups to `rules`, found on the URLs of `training`. Returns (seen, look-ups).
pub fn learn(rules: &mut SiteRules, training: &Training, mut identities: Vec<Identity>) -> (u64, u64) {
    let noisy = too_noisy(&identities, training);
    let cut = rules.cut();
    for identity in &mut identities {
        // A member in normal form, without a fragment that is no key: who fetches one fetches the other.
        let own_form = |row: u32| {
            let normal = training.normal(row as usize)?;
            (normal.as_bytes() == training.url(row as usize)).then(|| normal.without_fragment(cut))
        };
        identity.canonical = identity
            .rows
            .iter()
            .copied()
            .filter(|&r| training.clusters[r as usize] == identity.majority)
            .filter(|&r| !training.elsewhere[r as usize])
            .filter_map(own_form)
            .min_by_key(|url| (url.len(), *url))
            .map(<[u8]>::to_vec);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut seen: Vec<String> = Vec::new();
    let mut look_ups = Vec::new();
    let mut target_of: Vec<Option<usize>> = vec![None; identities.len()];
    if !noisy {
        let mut by_cluster: Vec<(u32, usize)> =
            identities.iter().enumerate().filter(|(_, i)| i.pure).map(|(n, i)| (i.majority, n)).collect();
        by_cluster.sort_unstable();
        for cluster in by_cluster.chunk_by(|a, b| a.0 == b.0).filter(|c| c.len() > 1) {
            let rank = |n: usize| {
                let identity = &identities[n];
                let url = identity.canonical.as_deref().unwrap_or(&identity.composed);
                (identity.canonical.is_none(), url.len(), std::cmp::Reverse(identity.rows.len()), url)
            };
            let best = cluster.iter().map(|c| c.1).min_by(|&a, &b| rank(a).cmp(&rank(b))).expect("two identities");
            if identities[best].canonical.is_some() {
                cluster.iter().filter(|c| c.1 != best).for_each(|c| target_of[c.1] = Some(best));
                target_of[best] = Some(best);
            }
        }
    }
    for (n, identity) in identities.iter().enumerate() {
        match (&identity.canonical, target_of[n]) {
            (canonical, Some(best)) if best != n => {
                // Members that all lead elsewhere are no page to go to, but they may be looked up.
                let from = canonical.as_deref().unwrap_or_else(|| training.url(identity.rows[0] as usize));
                let to = identities[best].canonical.as_deref().expect("a target has a canonical URL");
                look_ups.push([text(from), text(to)]);
            }
            (Some(canonical), Some(_)) => seen.push(text(canonical)),
            (Some(canonical), None) if *canonical != identity.composed => seen.push(text(canonical)),
            _ => {}
        }
    }
    if !noisy {
        let page = |n: usize| identities[target_of[n].unwrap_or(n)].canonical.as_deref().map(text);
        rules.local = spans::learn(&identities, &rules.tokens, page);
        seen.extend(rules.local.iter().flat_map(|local| local.pages.iter().map(|span| span.page.clone())));
    }
    seen.sort_unstable();
    seen.dedup();
    look_ups.sort_unstable();
    let counts = (seen.len() as u64, look_ups.len() as u64);
    rules.seen = seen.into();
    rules.aliases = look_ups;
    counts
}

/// Pages in training whose URLs are of different clusters give back the one rule that joined them: the rule without
/// which their URLs fall into groups of one cluster each, the fewest groups first, then the rule adopted last; where no
/// single rule does, all of them. Nothing is learned where labels are too noisy to be trusted one by one.
pub fn learn_exceptions(rules: &mut SiteRules, training: &Training, identities: &[Identity]) -> u64 {
    let mixed: Vec<&Identity> = identities.iter().filter(|i| !i.pure).collect();
    if mixed.is_empty() || too_noisy(identities, training) {
        return 0;
    }
    let ids: Vec<String> = rules.rules.iter().map(|r| r.id.clone()).collect();
    let plain = RuleSet::new(vec![rules.clone()]);
    // One rule set for each rule that is passed over, made when first asked for.
    let mut without: Vec<Option<RuleSet>> = ids.iter().map(|_| None).collect();
    let mut scratch = Scratch::default();
    let mut exceptions = Vec::new();
    for identity in mixed {
        let mut fired: Vec<u16> = Vec::new();
        for &row in &identity.rows {
            // Rules fire on seen members, too: those that joined them are what is looked for.
            if let Some(url) = training.normal(row as usize) {
                fired.extend(plain.apply_normal(url, Some(0), &mut scratch).fired.iter());
            }
        }
        fired.sort_unstable();
        fired.dedup();
        let mut best: Option<(usize, u16)> = None;
        for &rule in fired.iter().rev() {
            let set = without[usize::from(rule)].get_or_insert_with(|| {
                let mut rules = rules.clone();
                rules.rules.remove(usize::from(rule));
                RuleSet::new(vec![rules])
            });
            let mut parts: Vec<(u64, u32)> = identity
                .rows
                .iter()
                .filter_map(|&row| {
                    let applied = set.apply_normal(training.normal(row as usize)?, Some(0), &mut scratch);
                    Some((crate::model::hash64(applied.url), training.clusters[row as usize]))
                })
                .collect();
            parts.sort_unstable();
            parts.dedup();
            let pure = parts.windows(2).all(|w| w[0].0 != w[1].0);
            if pure && best.is_none_or(|b| parts.len() < b.0) {
                best = Some((parts.len(), rule));
            }
        }
        let url = String::from_utf8_lossy(training.url(identity.rows[0] as usize)).into_owned();
        exceptions.push([url, best.map_or_else(|| "*".to_owned(), |(_, rule)| ids[usize::from(rule)].clone())]);
    }
    exceptions.sort_unstable();
    rules.exceptions = exceptions;
    rules.exceptions.len() as u64
}

/// True where more URLs than [`MAX_IMPURE_PERMILLE`] are outside the majority of their identity.
fn too_noisy(identities: &[Identity], training: &Training) -> bool {
    let labelled: u64 = identities.iter().map(|i| i.rows.len() as u64).sum();
    let outside = |i: &Identity| i.rows.iter().filter(|&&r| training.clusters[r as usize] != i.majority).count() as u64;
    identities.iter().map(outside).sum::<u64>() * 1000 > MAX_IMPURE_PERMILLE * labelled
}

/// The reduced URLs that hold one cluster each, for rules that move directories.
pub fn reduced(identities: &[Identity]) -> Vec<Reduced> {
    let pure = identities.iter().filter(|i| i.pure);
    pure.map(|i| Reduced { url: String::from_utf8_lossy(&i.composed).into_owned(), cluster: i.majority }).collect()
}

/// Groups the labelled training URLs by identity, in the order of their first rows.
pub fn identities(rules: &SiteRules, training: &Training) -> Vec<Identity> {
    let set = RuleSet::new(vec![SiteRules { seen: Urls::default(), aliases: Vec::new(), ..rules.clone() }]);
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
                composed: applied.url.to_vec(),
                rows: Vec::new(),
                majority: 0,
                pure: true,
                canonical: None,
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
