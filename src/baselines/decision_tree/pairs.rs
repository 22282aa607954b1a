//! Targets, sources and pairwise rules, grouped by their transformation.

use super::tokens::Tokens;
use crate::site::published::keys::ABSENT;
use std::collections::{BTreeMap, HashMap};

/// Sources of a cluster.
pub const SOURCES: usize = 20;
/// Pairs that a transformation comes with, at least.
pub const SUPPORT: u64 = 3;
/// Transformations of a site, at most: those of most pairs.
const MOST: usize = 2_000;

/// Change of one deep key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It is removed.
    Drop,
    /// It gets this value.
    Set(u32),
    /// It gets the value of that key.
    Copy(u16),
}

/// Changes by deep key, and whether the source has that key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transformation(pub Vec<(u16, bool, Change)>);

impl Transformation {
    /// Transformation from `source` to `target`.
    fn between(source: &[u32], target: &[u32]) -> Transformation {
        let lost = |key: &usize| source[*key] != target[*key];
        let mut held: HashMap<u32, u16, foldhash::fast::FixedState> = HashMap::default();
        // Keys that lose their value go before those that keep it.
        let present = (0..source.len()).filter(|&key| source[key] != ABSENT);
        let (losing, keeping): (Vec<usize>, Vec<usize>) = present.partition(lost);
        for key in losing.into_iter().chain(keeping) {
            held.entry(source[key]).or_insert(key as u16);
        }
        let changes = (0..source.len()).filter(lost).map(|key| {
            let change = match target[key] {
                ABSENT => Change::Drop,
                value => held.get(&value).map_or(Change::Set(value), |&from| Change::Copy(from)),
            };
            (key as u16, source[key] != ABSENT, change)
        });
        Transformation(changes.collect())
    }

    /// Applies it to a row of ids; `None` where it does not fit or changes nothing.
    pub fn apply(&self, tokens: &Tokens, row: &[u32]) -> Option<Vec<u32>> {
        let fits = |&(key, present, change): &(u16, bool, Change)| {
            (row[usize::from(key)] != ABSENT) == present
                && !matches!(change, Change::Copy(from) if row[usize::from(from)] == ABSENT)
        };
        if !self.0.iter().all(fits) {
            return None;
        }
        let mut out = row.to_vec();
        for &(key, _, change) in &self.0 {
            out[usize::from(key)] = match change {
                Change::Drop => ABSENT,
                Change::Set(value) => value,
                Change::Copy(from) => row[usize::from(from)],
            };
        }
        (out != row && tokens.is_whole(|key| out[key] != ABSENT)).then_some(out)
    }
}

/// The number of pairwise rules, and the transformations of support, most first (ties by their
/// changes).
pub fn transformations(tokens: &Tokens) -> (u64, Vec<Transformation>) {
    let mut clusters: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (row, &cluster) in tokens.clusters.iter().enumerate() {
        clusters.entry(cluster).or_default().push(row as u32);
    }
    let mut frequency: HashMap<(usize, u32), u64, foldhash::fast::FixedState> = HashMap::default();
    for row in &tokens.rows {
        row.iter().enumerate().for_each(|(key, &value)| *frequency.entry((key, value)).or_default() += 1);
    }
    let mut pairs = 0;
    let mut found: BTreeMap<Transformation, u64> = BTreeMap::new();
    for rows in clusters.values().filter(|rows| rows.len() > 1) {
        let of = |row: u32| &tokens.rows[row as usize];
        let rank = |&row: &u32| {
            let present = || of(row).iter().enumerate().filter(|(_, value)| **value != ABSENT);
            let sum: u64 = present().map(|(key, &value)| frequency[&(key, value)]).sum();
            // Rows are in the order of their bytes.
            (present().count(), std::cmp::Reverse(sum), row)
        };
        let Some(target) = rows.iter().copied().min_by_key(rank) else { continue };
        let away = |row: u32| of(row).iter().zip(of(target)).filter(|(a, b)| a != b).count();
        let mut sources: Vec<(usize, u32)> = rows.iter().map(|&row| (away(row), row)).filter(|s| s.0 > 0).collect();
        sources.sort_unstable();
        sources.truncate(SOURCES);
        pairs += sources.len() as u64;
        for (_, source) in sources {
            *found.entry(Transformation::between(of(source), of(target))).or_default() += 1;
        }
    }
    let mut found: Vec<(u64, Transformation)> = found
        .into_iter()
        .filter(|f| f.1 >= SUPPORT)
        .map(|(transformation, support)| (support, transformation))
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.truncate(MOST);
    (pairs, found.into_iter().map(|(_, transformation)| transformation).collect())
}
