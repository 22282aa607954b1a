//! Raw rules: pairs inside one duplicate cluster that differ in one key.

use super::{Rule, Transform, cell};
use crate::site::published::keys::{ABSENT, PublishedColumns};
use std::collections::{BTreeMap, HashMap, HashSet};

/// URLs of a cluster that are paired; of larger clusters the first ones in the order of the columns.
const CLUSTER_MAX: usize = 400;
/// Keys that one rule ignores, at most.
const IGNORED_MAX: u32 = 8;
/// Joins of one cluster, at most.
const JOINS_MAX: usize = 2_000;
/// Values of one key under one context from which each but the first is set to the first only, not to
/// every other.
const PAIRED_VALUES: usize = 6;

/// A pattern of one cluster: URLs that differ in the ignored keys alone.
#[derive(Clone, Copy)]
struct Pattern {
    ignored: u128,
    row: u32,
    rest: u64,
    optional: u128,
}

/// All raw rules, each once, in a fixed order.
pub fn rules(columns: &PublishedColumns) -> Vec<Rule> {
    let mut clusters: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for row in 0..columns.len() as u32 {
        clusters.entry(columns.clusters[row as usize]).or_default().push(row);
    }
    let keys = columns.keys.len();
    let identity: Vec<u64> = (0..columns.len())
        .map(|row| (0..keys).fold(0u64, |sum, key| sum.wrapping_add(cell(key, columns.values[key][row]))))
        .collect();
    let mut found = RawRules::default();
    for rows in clusters.values_mut().filter(|rows| rows.len() > 1) {
        rows.truncate(CLUSTER_MAX);
        cluster(columns, &identity, rows, &mut found);
    }
    found.rules
}

/// Rules so far.
#[derive(Default)]
struct RawRules {
    rules: Vec<Rule>,
    place: HashMap<(Transform, u128, u64), usize, foldhash::fast::FixedState>,
}

impl RawRules {
    fn add(&mut self, rule: Rule) {
        let key = (rule.transform, rule.open, rule.hash);
        match self.place.get(&key) {
            Some(&at) => {
                self.rules[at].support += 1;
                self.rules[at].optional |= rule.optional;
            }
            None => {
                self.place.insert(key, self.rules.len());
                self.rules.push(rule);
            }
        }
    }
}

fn cluster(columns: &PublishedColumns, identity: &[u64], rows: &[u32], found: &mut RawRules) {
    let value = |key: usize, row: u32| columns.values[key][row as usize];
    let varying: Vec<usize> =
        (0..columns.keys.len()).filter(|&key| rows.iter().any(|&row| value(key, row) != value(key, rows[0]))).collect();
    let whole: Vec<Pattern> =
        rows.iter().map(|&row| Pattern { ignored: 0, row, rest: identity[row as usize], optional: 0 }).collect();
    moves(columns, &whole, &varying, found);
    // Level by level: patterns that ignore one key more.
    let mut level = whole;
    let mut seen: HashSet<(u128, u64), foldhash::fast::FixedState> = HashSet::default();
    let mut joins = 0;
    while !level.is_empty() && joins < JOINS_MAX && level[0].ignored.count_ones() < IGNORED_MAX {
        let first = level[0].ignored == 0;
        let mut next: Vec<Pattern> = Vec::new();
        for &key in &varying {
            let mut order: Vec<(u128, u64, u32, usize)> = (level.iter().enumerate())
                .filter(|(_, p)| p.ignored >> key & 1 == 0)
                .map(|(at, p)| (p.ignored, p.rest.wrapping_sub(cell(key, value(key, p.row))), value(key, p.row), at))
                .collect();
            order.sort_unstable();
            for group in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|group| group.len() > 1) {
                if first {
                    pairs(&level, key, group, found);
                }
                let (ignored, rest) = (group[0].0 | 1 << key, group[0].1);
                if joins == JOINS_MAX || !seen.insert((ignored, rest)) {
                    continue;
                }
                joins += 1;
                let absent = group.iter().any(|entry| entry.2 == ABSENT);
                let mut optional = if absent { 1 << key } else { 0 };
                group.iter().for_each(|entry| optional |= level[entry.3].optional);
                let row = level[group[0].3].row;
                next.push(Pattern { ignored, row, rest, optional });
                let transform = Transform::Ignore(ignored);
                found.add(Rule { transform, row, open: ignored, optional, hash: rest, support: 1, general: false });
            }
        }
        level = next;
    }
}

/// Rules that set a key, from URLs that differ in it alone: `group` is `(_, _, value, place in level)`
/// by value.
fn pairs(level: &[Pattern], key: usize, group: &[(u128, u64, u32, usize)], found: &mut RawRules) {
    for target in group.iter().take(if group.len() > PAIRED_VALUES { 1 } else { group.len() }) {
        for source in group.iter().filter(|source| source.2 != target.2) {
            let pattern = level[source.3];
            let transform = Transform::Set(key as u8, target.2);
            let (row, hash) = (pattern.row, pattern.rest);
            found.add(Rule { transform, row, open: 0, optional: 0, hash, support: 1, general: false });
        }
    }
}

/// Rules that move a value from one key to another.
fn moves(columns: &PublishedColumns, rows: &[Pattern], varying: &[usize], found: &mut RawRules) {
    let known: HashSet<u64, foldhash::fast::FixedState> = rows.iter().map(|p| p.rest).collect();
    for pattern in rows {
        let value = |key: usize| columns.values[key][pattern.row as usize];
        for &from in varying.iter().filter(|&&key| value(key) != ABSENT) {
            let rest = pattern.rest.wrapping_sub(cell(from, value(from)));
            for &to in varying.iter().filter(|&&key| value(key) == ABSENT) {
                if known.contains(&rest.wrapping_add(cell(to, value(from)))) {
                    let transform = Transform::Move(from as u8, to as u8);
                    let (row, hash) = (pattern.row, pattern.rest);
                    found.add(Rule { transform, row, open: 0, optional: 0, hash, support: 1, general: false });
                }
            }
        }
    }
}
