//! Values of a table that more than one cluster shows.
//!
//! A table (value classes, listed values) memorizes: a value listed because of one cluster is no
//! evidence for any other cluster. Links of a value are therefore counted out of fold, a fold being a
//! cluster: with any one cluster left out, the others must still show the value beside another one.

use super::columns::Columns;
use super::evidence::{Bound, Groups};
use super::operations::Map;
use std::collections::BTreeSet;

/// Removes the values from a table that fewer than `least` clusters carry; true where there were
/// some. `groups` are the groups that the operation makes. Other maps are unchanged.
///
/// O(rows of the groups x log).
pub fn keep_carried(columns: &Columns, groups: &Groups, (key, map): &mut (usize, Map), least: usize) -> bool {
    let Map::Table(table) = map else { return false };
    let carriers = carriers(columns, groups, *key, least);
    let mut changed = false;
    for (code, to) in table.iter_mut().enumerate() {
        let is_mapped = *to != code as u32;
        if is_mapped && carriers[code] < least {
            *to = code as u32;
            changed = true;
        }
    }
    changed
}

/// Clusters, counted up to `most`, that show each value of a key beside another one.
///
/// O(rows of the groups x log).
pub fn carriers(columns: &Columns, groups: &Groups, key: usize, most: usize) -> Vec<usize> {
    let mut carriers: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); columns.codes_len(key)];
    for_each_shown(columns, groups, key, |label, code| {
        if let Some(of) = carriers.get_mut(code as usize).filter(|of| of.len() < most) {
            of.insert(label);
        }
    });
    carriers.iter().map(BTreeSet::len).collect()
}

/// True where at least `least` clusters have a group in which the values of `key` differ, and `bound` allows what
/// such groups hold: what shows that a string function holds for this key, and not for others of its family alone.
///
/// O(rows of the groups x log).
pub fn is_carried(columns: &Columns, groups: &Groups, key: usize, least: usize, bound: Bound, prior: u64) -> bool {
    let mut carriers: BTreeSet<u32> = BTreeSet::new();
    for_each_shown(columns, groups, key, |label, _| {
        carriers.insert(label);
    });
    let differ = |members: &[u32]| members.iter().any(|&row| columns.code(key, row) != columns.code(key, members[0]));
    let (mut good, mut bad) = (0, 0);
    for members in (0..groups.len()).map(|group| groups.members(group)).filter(|members| differ(members)) {
        let mut labels: Vec<u32> = members.iter().map(|&row| columns.label[row as usize]).collect();
        labels.sort_unstable();
        let most = labels.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or_default();
        good += most as u64 - 1;
        bad += (members.len() - most) as u64;
    }
    carriers.len() >= least && bound.allows(good, bad, prior)
}

/// Calls `shown` with each cluster and value of a key that shares a group with another value.
fn for_each_shown(columns: &Columns, groups: &Groups, key: usize, mut shown: impl FnMut(u32, u32)) {
    let mut members: Vec<(u32, u32)> = Vec::new();
    for group in 0..groups.len() {
        members.clear();
        members.extend(groups.members(group).iter().map(|&row| (columns.label[row as usize], columns.code(key, row))));
        members.sort_unstable();
        members.dedup();
        for same in members.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            same.iter().for_each(|&(label, code)| shown(label, code));
        }
    }
}
