//! Naive selection (WWW10 section 5.3) among qualified rules of the lattice.

use super::evidence::{WeighedRule, covers};
use super::{Rule, Transform};
use crate::site::published::keys::PublishedColumns;

/// The rules to deploy, in the order in which they are applied: general ones first, then by smaller
/// false-positive rate, more support, and their place.
///
/// * Case (a), one source: of two rules with the same context that touch a common key, the first in
///   this order stays.
/// * Case (b), one covers another: a rule that a deployed one covers, and that touches a common key,
///   goes.
/// * Case (c), circles: rules are taken by falling support, and one that would close a circle of values
///   under a key, or of moves, goes: of every circle that is the one of least support.
pub fn naive<'c>(columns: &PublishedColumns, candidates: &'c [WeighedRule], fpr_max: f64) -> Vec<&'c WeighedRule> {
    let mut order: Vec<(usize, &WeighedRule)> =
        candidates.iter().enumerate().filter(|(_, c)| c.counts.pair_fpr() <= fpr_max).collect();
    let key = |at: usize, c: &WeighedRule| {
        let fpr = (c.counts.pair_fpr() * 1e9) as u64;
        (std::cmp::Reverse(c.rule.open.count_ones()), fpr, std::cmp::Reverse(c.counts.support_pairs), at)
    };
    order.sort_by_key(|(at, c)| key(*at, c));
    let mut kept: Vec<(usize, &WeighedRule)> = Vec::new();
    for (at, candidate) in order {
        let redundant = kept.iter().any(|(_, above)| {
            above.rule.transform.touches() & candidate.rule.transform.touches() != 0
                && covers(columns, &above.rule, &candidate.rule)
        });
        if !redundant {
            kept.push((at, candidate));
        }
    }
    let mut by_support = kept;
    by_support.sort_by_key(|(at, c)| (std::cmp::Reverse(c.counts.support_pairs), *at));
    let mut out: Vec<(usize, &WeighedRule)> = Vec::new();
    for (at, candidate) in by_support {
        let deployed: Vec<&Rule> = out.iter().map(|(_, c)| &c.rule).collect();
        if !closes_a_circle(columns, &deployed, &candidate.rule) {
            out.push((at, candidate));
        }
    }
    out.sort_by_key(|(at, c)| key(*at, c));
    out.into_iter().map(|(_, c)| c).collect()
}

/// The value used for `*` in circles.
const STAR: u32 = u32::MAX;

/// An edge of values under a key: from one value, or from any, to one.
fn edges(columns: &PublishedColumns, rule: &Rule) -> Vec<(usize, Option<u32>, u32)> {
    match rule.transform {
        Transform::Set(key, to) => {
            let key = usize::from(key);
            let from = (rule.open >> key & 1 == 0).then(|| columns.values[key][rule.row as usize]);
            vec![(key, from, to)]
        }
        Transform::Ignore(keys) => {
            (0..columns.keys.len()).filter(|key| keys >> key & 1 == 1).map(|key| (key, None, STAR)).collect()
        }
        Transform::Move(..) => Vec::new(),
    }
}

fn closes_a_circle(columns: &PublishedColumns, deployed: &[&Rule], rule: &Rule) -> bool {
    if let Transform::Move(from, to) = rule.transform {
        return deployed.iter().any(|other| other.transform == Transform::Move(to, from));
    }
    edges(columns, rule).into_iter().any(|(key, from, to)| {
        let known: Vec<(Option<u32>, u32)> = (deployed.iter().flat_map(|rule| edges(columns, rule)))
            .filter(|edge| edge.0 == key)
            .map(|(_, from, to)| (from, to))
            .collect();
        // Values that can be reached from the target.
        let mut reached = vec![to];
        let mut at = 0;
        while at < reached.len() {
            let value = reached[at];
            at += 1;
            for &(_, next) in known.iter().filter(|(from, next)| from.is_none_or(|f| f == value) && *next != value) {
                if !reached.contains(&next) {
                    reached.push(next);
                }
            }
        }
        match from {
            Some(from) => reached.contains(&from),
            // From any value: every step away from the target would come back.
            None => reached.len() > 1,
        }
    })
}
