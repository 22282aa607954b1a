//! Operations under one condition, from the tables of the operations themselves.
//!
//! The groups of an operation are pure in every key that the operation does not touch, so adding up good and bad of the
//! groups by the value of each other key gives the evidence for that operation under every pattern (k' = v, k' present,
//! k' absent) without another sort (design, section 4.1, stage 4).

use super::columns::Columns;
use super::covering::{COST, Proposal, Table};
use super::evidence::{Bound, MIN_GOOD};
use super::operations::{frequencies, is_number};
use crate::url::Fixed;

/// Values of a key that are tried as conditions, at most.
const VALUES: usize = 14;
/// Rows a condition needs.
const MIN_ROWS: u32 = 8;
/// Patterns of one operation that are proposed in one pass; the rest is tested again in the next.
const TOP: usize = 4;

/// What a condition asks of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// This value.
    Is(u32),
    /// Some value.
    Present,
    /// No value.
    Absent,
    /// A value, but none of these (sorted).
    None(Vec<u32>),
}

impl Condition {
    /// True for a row whose key has `code`.
    pub fn holds(&self, code: u32) -> bool {
        match self {
            Condition::Is(value) => code == *value,
            Condition::Present => code != 0,
            Condition::Absent => code == 0,
            Condition::None(values) => code != 0 && !values.contains(&code),
        }
    }
}

/// A conjunction of conditions.
pub type Scope = Vec<(usize, Condition)>;

/// The rows among `rows` in which `scope` holds.
pub fn matching<'a>(columns: &'a Columns, rows: &'a [u32], scope: &'a Scope) -> impl Iterator<Item = u32> + 'a {
    rows.iter().copied().filter(|&r| scope.iter().all(|(k, c)| c.holds(columns.codes[*k][r as usize])))
}

/// Conditions worth trying, key by key: frequent values that are not bare numbers; presence and absence.
pub fn conditions(columns: &Columns, rows: &[u32]) -> Vec<(usize, Vec<Condition>)> {
    let total = rows.len() as u32;
    let mut out = Vec::new();
    for (k, name) in columns.keys.iter().enumerate() {
        let depth = name.is(Fixed::DEPTH);
        let eligible =
            name.optional() || name.as_path().is_some() || depth || name.is(Fixed::HOST) || name.is(Fixed::EXTENSION);
        if !eligible {
            continue;
        }
        let counts = frequencies(columns, k, rows.iter().copied());
        let mut codes: Vec<u32> = (1..counts.len() as u32).filter(|&c| counts[c as usize] >= MIN_ROWS).collect();
        codes.sort_by(|&a, &b| {
            counts[b as usize].cmp(&counts[a as usize]).then_with(|| columns.value(k, a).cmp(columns.value(k, b)))
        });
        codes.truncate(VALUES);
        let mut list: Vec<Condition> = codes
            .into_iter()
            .filter(|&c| u64::from(counts[c as usize]) * 100 < 95 * u64::from(total))
            .filter(|&c| depth || !is_number(columns, k, c))
            .map(Condition::Is)
            .collect();
        if name.optional() && counts[0] > 0 && total - counts[0] >= MIN_ROWS {
            list.extend([Condition::Present, Condition::Absent]);
        }
        if !list.is_empty() {
            out.push((k, list));
        }
    }
    out
}

/// Good and bad of the groups of a table by the code of another key.
pub fn by_value(columns: &Columns, table: &Table, key: usize) -> Vec<(u32, u32)> {
    let mut sums = vec![(0, 0); columns.codes_len(key)];
    let codes = &columns.codes[key];
    for group in 0..table.groups.len() {
        let sum = &mut sums[codes[table.groups.first(group) as usize] as usize];
        sum.0 += table.groups.good[group];
        sum.1 += table.groups.bad[group];
    }
    sums
}

/// Sum over the codes for which a condition holds.
pub fn total(sums: &[(u32, u32)], condition: &Condition) -> (u64, u64) {
    let add = |range: &[(u32, u32)]| {
        range.iter().fold((0, 0), |(g, b), &(good, bad)| (g + u64::from(good), b + u64::from(bad)))
    };
    match condition {
        Condition::Is(code) => add(&sums[*code as usize..=*code as usize]),
        Condition::Present => add(&sums[1..]),
        Condition::Absent => add(&sums[..1]),
        Condition::None(codes) => {
            let all = add(&sums[1..]);
            codes.iter().map(|c| sums[*c as usize]).fold(all, |(g, b), (x, y)| (g - u64::from(x), b - u64::from(y)))
        }
    }
}

/// Patterns of one constraint under which the operation of a table holds: the best few.
pub fn refine(columns: &Columns, table: &Table, conditions: &[(usize, Vec<Condition>)], noise: u64) -> Vec<Proposal> {
    let mut out = Vec::new();
    for (k, list) in conditions {
        if table.keys.contains(k) {
            continue;
        }
        let sums = by_value(columns, table, *k);
        for condition in list {
            let (good, bad) = total(&sums, condition);
            if good >= MIN_GOOD && Bound::OPERATION.allowing(noise).holds(good, bad, table.prior) {
                out.push(Proposal {
                    scope: vec![(*k, condition.clone())],
                    action: table.action,
                    keys: table.keys.clone(),
                    classes: None,
                    prior: table.prior,
                    score: good as i64 - COST * bad as i64,
                });
            }
        }
    }
    out.sort_by_key(|p| std::cmp::Reverse(p.score));
    out.truncate(TOP);
    out
}

/// Values of one other key under which most of what an operation joins is wrong: the key that takes the most bad with
/// the least good, with its values. Only keys that every row has can exclude (`None` asks for presence).
pub fn exclusion(columns: &Columns, table: &Table, rows: &[u32]) -> Option<(usize, Condition)> {
    let mut best: Option<(i64, usize, Vec<u32>)> = None;
    for (k, name) in columns.keys.iter().enumerate() {
        let eligible = name.is(Fixed::HOST) || name.is(Fixed::DEPTH) || name.as_path().is_some();
        if !eligible || table.keys.contains(&k) || rows.iter().any(|&r| columns.codes[k][r as usize] == 0) {
            continue;
        }
        let sums = by_value(columns, table, k);
        let wrong: Vec<u32> = (1..sums.len() as u32)
            .filter(|&c| sums[c as usize].1 >= 2 && sums[c as usize].1 > sums[c as usize].0)
            .collect();
        let gain: i64 = wrong.iter().map(|&c| i64::from(sums[c as usize].1) - i64::from(sums[c as usize].0)).sum();
        if gain > 0 && best.as_ref().is_none_or(|b| gain > b.0) {
            best = Some((gain, k, wrong));
        }
    }
    best.map(|(_, k, wrong)| (k, Condition::None(wrong)))
}
