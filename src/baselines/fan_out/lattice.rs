//! The rule lattice: contexts generalized key by key, as long as the fan-out allows.

use super::{Rule, Transform, cell};
use crate::site::published::keys::{ABSENT, PublishedColumns};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Rules of one level of the lattice, at most; those of most support stay.
const LEVEL_MAX: usize = 60_000;

/// All rules of the lattice that a join has made, general ones first.
pub fn generalize(columns: &PublishedColumns, raw: Vec<Rule>, least: usize) -> Vec<Rule> {
    let raw = with_fan_out(columns, raw, least);
    // By number of open keys: a join opens one.
    let mut levels: BTreeMap<u32, Vec<Rule>> = BTreeMap::new();
    for rule in raw {
        levels.entry(rule.open.count_ones()).or_default().push(rule);
    }
    let mut out = Vec::new();
    while let Some((open, mut level)) = levels.pop_first() {
        trim(&mut level);
        let upper = levels.entry(open + 1).or_default();
        join(columns, &level, least, upper);
        if upper.is_empty() {
            levels.remove(&(open + 1));
        }
        out.extend(level.into_iter().filter(|rule| rule.general));
    }
    out.sort_by_key(|rule| (std::cmp::Reverse((rule.open.count_ones(), rule.support)), rule.transform, rule.row));
    out
}

/// Transformations that ignore keys of fewer than `least` values go; what is left of them is general
/// already.
fn with_fan_out(columns: &PublishedColumns, mut raw: Vec<Rule>, least: usize) -> Vec<Rule> {
    let mut values: BTreeMap<u128, BTreeMap<usize, BTreeSet<u32>>> = BTreeMap::new();
    // A rule has one row of its group; the others are found by their cluster.
    let mut rows_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for row in 0..columns.len() as u32 {
        rows_of.entry(columns.clusters[row as usize]).or_default().push(row);
    }
    for rule in &raw {
        let Transform::Ignore(ignored) = rule.transform else { continue };
        let seen = values.entry(ignored).or_default();
        let same = |row: &&u32| {
            (0..columns.keys.len())
                .filter(|key| ignored >> key & 1 == 0)
                .all(|key| columns.values[key][**row as usize] == columns.values[key][rule.row as usize])
        };
        let keys: Vec<usize> = (0..columns.keys.len()).filter(|key| ignored >> key & 1 == 1).collect();
        if keys.iter().all(|key| seen.get(key).is_some_and(|values| values.len() >= least)) {
            continue;
        }
        let rows = &rows_of[&columns.clusters[rule.row as usize]];
        for &row in rows.iter().filter(same) {
            for &key in &keys {
                seen.entry(key).or_default().insert(columns.values[key][row as usize]);
            }
        }
    }
    let enough = |ignored: u128| values[&ignored].values().all(|values| values.len() >= least);
    raw.retain(|rule| !matches!(rule.transform, Transform::Ignore(ignored) if !enough(ignored)));
    raw.iter_mut().for_each(|rule| rule.general = matches!(rule.transform, Transform::Ignore(_)));
    raw
}

fn trim(level: &mut Vec<Rule>) {
    if level.len() > LEVEL_MAX {
        level.sort_by_key(|rule| (std::cmp::Reverse(rule.support), rule.transform, rule.open, rule.hash));
        level.truncate(LEVEL_MAX);
    }
}

/// Rules with one open key more than those of `level`, added to `upper`.
fn join(columns: &PublishedColumns, level: &[Rule], least: usize, upper: &mut Vec<Rule>) {
    let mut place: HashMap<(Transform, u128, u64), usize, foldhash::fast::FixedState> = HashMap::default();
    for (at, rule) in upper.iter().enumerate() {
        place.insert((rule.transform, rule.open, rule.hash), at);
    }
    let mut order: Vec<(Transform, u128, u64, u32, u32)> = Vec::new();
    for (key, values) in columns.values.iter().enumerate() {
        order.clear();
        for (at, rule) in level.iter().enumerate().filter(|(_, rule)| rule.open >> key & 1 == 0) {
            let value = values[rule.row as usize];
            order.push((rule.transform, rule.open, rule.hash.wrapping_sub(cell(key, value)), value, at as u32));
        }
        order.sort_unstable();
        for group in order.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
            // Rules of a level are distinct, so each has a value of its own here.
            if group.len() < least {
                continue;
            }
            let (transform, open, hash) = (group[0].0, group[0].1 | 1 << key, group[0].2);
            let absent = group.iter().any(|entry| entry.3 == ABSENT);
            let mut optional = if absent { 1 << key } else { 0 };
            group.iter().for_each(|entry| optional |= level[entry.4 as usize].optional);
            let support = group.iter().map(|entry| level[entry.4 as usize].support).sum();
            let row = level[group[0].4 as usize].row;
            let rule = Rule { transform, row, open, optional, hash, support, general: true };
            match place.get(&(transform, open, hash)) {
                Some(&at) => {
                    let known = &mut upper[at];
                    known.optional |= optional;
                    known.support = known.support.max(support);
                    known.general = true;
                }
                None => {
                    place.insert((transform, open, hash), upper.len());
                    upper.push(rule);
                }
            }
        }
    }
}
