//! Value classes: values of one key that mean the same (python ~ python-3.11, absent ~ a default value, mirrors).

use super::columns::Columns;
use super::conditions::{self, Condition, Scope};
use super::covering::{Action, Proposal, Table};
use super::evidence::Bound;
use super::operations::{HOST_PRIOR, frequencies};
use crate::url::Fixed;
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Most frequent values of a key that are compared.
const VALUES: usize = 16;
/// The same for hosts: sites have many mirrors.
const HOSTS: usize = 40;
/// Members of a group that are compared with each other, by distance in the group.
const NEAR: usize = 15;
/// Conditions under which classes of one key are looked for, at most.
const TOP_CONDITIONS: usize = 8;
/// Conditional classes proposed for one key in one pass.
const TOP: usize = 4;
/// Good observations under a condition that make a class there worth a look.
const MIN_NEAR: u64 = 9;

/// Classes of the key that `table` ignores, over all rows.
pub fn everywhere(columns: &Columns, rows: &[u32], table: &Table, noise: u64) -> Option<Proposal> {
    find(columns, rows, table, |_| true, Vec::new(), noise)
}

/// Classes of the key that `table` ignores, under one condition each.
pub fn conditional(
    columns: &Columns,
    rows: &[u32],
    table: &Table,
    conditions: &[(usize, Vec<Condition>)],
    noise: u64,
) -> Vec<Proposal> {
    let mut near: Vec<(u64, usize, Condition)> = Vec::new();
    for (k, list) in conditions.iter().filter(|(k, _)| !table.keys.contains(k)) {
        let sums = conditions::by_value(columns, table, *k);
        for condition in list {
            let (good, bad) = conditions::total(&sums, condition);
            if good >= MIN_NEAR && good > bad {
                near.push((good - bad, *k, condition.clone()));
            }
        }
    }
    near.sort_by_key(|n| std::cmp::Reverse(n.0));
    near.truncate(TOP_CONDITIONS);
    let mut out: Vec<Proposal> = near
        .into_iter()
        .filter_map(|(_, k, condition)| {
            let codes = &columns.codes[k];
            let holds = condition.clone();
            find(columns, rows, table, |row| holds.holds(codes[row as usize]), vec![(k, condition)], noise)
        })
        .collect();
    out.sort_by_key(|p| std::cmp::Reverse(p.score));
    out.truncate(TOP);
    out
}

/// Pairs of frequent values that meet in groups: same cluster or not? Then union, best supported pairs first.
fn find(
    columns: &Columns,
    rows: &[u32],
    table: &Table,
    in_scope: impl Fn(u32) -> bool,
    scope: Scope,
    noise: u64,
) -> Option<Proposal> {
    let key = table.keys[0];
    let name = &columns.keys[key];
    let host = name.is(Fixed::HOST);
    let prior = if host { HOST_PRIOR } else { 0 };
    let counts = frequencies(columns, key, rows.iter().copied());
    let mut top: Vec<u32> = (0..counts.len() as u32).collect();
    top.sort_by(|&a, &b| {
        counts[b as usize].cmp(&counts[a as usize]).then_with(|| columns.value(key, a).cmp(columns.value(key, b)))
    });
    top.truncate(if host { HOSTS } else { VALUES });
    // An absent part of a path is another shape of URL, not another value; elsewhere absence is always compared.
    top.retain(|&code| code != 0);
    if name.as_path().is_none() && counts[0] > 0 {
        top.push(0);
    }
    let mut frequent = vec![false; counts.len()];
    top.iter().for_each(|&code| frequent[code as usize] = true);
    let codes = &columns.codes[key];
    let mut pairs: HashMap<(u32, u32), [u64; 2], FixedState> = HashMap::default();
    let mut members = Vec::new();
    for group in 0..table.groups.len() {
        if !in_scope(table.groups.first(group)) {
            continue;
        }
        members.clear();
        members.extend(table.groups.members(group).iter().copied().filter(|&r| frequent[codes[r as usize] as usize]));
        for (i, &a) in members.iter().enumerate() {
            for &b in members[i + 1..].iter().take(NEAR) {
                let (x, y) = (codes[a as usize], codes[b as usize]);
                let same = columns.label[a as usize] == columns.label[b as usize];
                pairs.entry((x.min(y), x.max(y))).or_default()[usize::from(same)] += 1;
            }
        }
    }
    let mut pairs: Vec<((u32, u32), [u64; 2])> = pairs.into_iter().collect();
    pairs.sort_unstable_by_key(|&(pair, [_, same])| (std::cmp::Reverse(same), pair));
    let mut class: Vec<u32> = (0..counts.len() as u32).collect();
    let mut gain = 0;
    for ((a, b), [different, same]) in pairs {
        let (a, b) = (class[a as usize], class[b as usize]);
        if a != b && Bound::CLASSES.allowing(noise).holds(same, different, prior) {
            class.iter_mut().filter(|c| **c == b).for_each(|c| *c = a);
            gain += same;
        }
    }
    if gain == 0 {
        return None;
    }
    let mut table_of: Vec<u32> = (0..counts.len() as u32).collect();
    for root in 0..counts.len() as u32 {
        let members: Vec<u32> = top.iter().copied().filter(|&c| class[c as usize] == root).collect();
        if members.len() < 2 {
            continue;
        }
        // Absent where it is among them, else the most frequent: `top` is sorted by that.
        let absent = members.contains(&0) && !name.is(Fixed::TRAILING_SLASH);
        let to = if absent { 0 } else { members[0] };
        members.iter().for_each(|&c| table_of[c as usize] = to);
    }
    let score = gain as i64;
    Some(Proposal { scope, action: Action::Classes, keys: vec![key], classes: Some(table_of), prior, score })
}
