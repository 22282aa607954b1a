//! Basic and deep tokens: training URLs as columns of ids, one column a deep key.

use crate::model::hash64_seeded;
use crate::rules::published::keys::{KeyPosition, PublishedKey};
use crate::site::published::keys::{ABSENT, PublishedColumns};
use std::collections::{BTreeSet, HashMap};

/// Values that must hold a delimiter before it is one of the site.
pub const LEAST: usize = 10;
/// Deep tokens of one value; what is left stays in the last one.
pub const DEEPEST: usize = 12;
/// Deep keys of a site: those of the first keys in the order of a URL are cut first.
const KEYS_MAX: usize = 512;

/// Delimiters of the values of one basic key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delimiters {
    characters: BTreeSet<u8>,
    /// Cut where letters and digits meet.
    unit_changes: bool,
}

impl Delimiters {
    fn of(values: &[(&[u8], usize)]) -> Delimiters {
        let whole: usize = values.iter().map(|(_, rows)| rows).sum();
        let least = LEAST.max(whole.div_ceil(10));
        let mut rows = [0usize; 128];
        let mut changes = 0;
        for &(value, count) in values {
            let held: BTreeSet<u8> = value.iter().copied().filter(|&b| is_delimiter(b)).collect();
            held.iter().for_each(|&b| rows[usize::from(b)] += count);
            changes += if value.windows(2).any(|w| unit_change(w[0], w[1])) { count } else { 0 };
        }
        let characters = (0..128u8).filter(|&b| rows[usize::from(b)] >= least).collect();
        Delimiters { characters, unit_changes: changes >= least }
    }

    /// The deep tokens of a value, end to end; at least one, at most [`DEEPEST`].
    pub fn split<'v>(&self, value: &'v [u8]) -> Vec<&'v [u8]> {
        let mut out = Vec::new();
        let mut start = 0;
        for at in 1..value.len() {
            let (a, b) = (value[at - 1], value[at]);
            let is_delimited = self.characters.contains(&a) || self.characters.contains(&b);
            if out.len() + 1 < DEEPEST && (is_delimited || self.unit_changes && unit_change(a, b)) {
                out.push(&value[start..at]);
                start = at;
            }
        }
        out.push(&value[start..]);
        out
    }
}

fn is_delimiter(b: u8) -> bool {
    b.is_ascii() && !b.is_ascii_alphanumeric() && b != b'%'
}

fn unit_change(a: u8, b: u8) -> bool {
    a.is_ascii_alphabetic() && b.is_ascii_digit() || a.is_ascii_digit() && b.is_ascii_alphabetic()
}

/// A deep key: a basic key (an index of [`PublishedColumns::keys`]) and a place in its value.
pub type DeepKey = (u16, u8);

/// Training URLs as deep tokens.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// Sorted.
    pub keys: Vec<DeepKey>,
    /// Segments of the path among the keys, by their number; for all others `None`.
    segments: Vec<Option<u32>>,
    /// Delimiters a basic key.
    pub delimiters: Vec<Delimiters>,
    /// Ids of values, a row a URL, a value a deep key; [`ABSENT`] where it has none.
    pub rows: Vec<Vec<u32>>,
    /// Cluster of a row.
    pub clusters: Vec<u32>,
    values: Vec<Vec<u8>>,
    /// Rows by the hash of their tokens.
    pub by_identity: HashMap<u64, Vec<u32>, foldhash::fast::FixedState>,
}

impl Tokens {
    /// Tokens of the rows of `columns`.
    pub fn new(columns: &PublishedColumns) -> Tokens {
        let mut out = Tokens { values: vec![Vec::new()], clusters: columns.clusters.clone(), ..Tokens::default() };
        let mut ids: HashMap<Vec<u8>, u32, foldhash::fast::FixedState> = HashMap::default();
        let mut deep: Vec<Vec<Vec<u32>>> = Vec::new();
        let mut room = KEYS_MAX.saturating_sub(columns.keys.len());
        for (key, column) in columns.values.iter().enumerate() {
            let mut counts: Vec<usize> = vec![0; columns.value_count()];
            column.iter().for_each(|&value| counts[value as usize] += 1);
            let present: Vec<u32> = (1..counts.len() as u32).filter(|&v| counts[v as usize] > 0).collect();
            let values: Vec<(&[u8], usize)> = present.iter().map(|&v| (columns.value(v), counts[v as usize])).collect();
            let mut delimiters = Delimiters::of(&values);
            let depth = values.iter().map(|(value, _)| delimiters.split(value).len()).max().unwrap_or(1);
            if depth - 1 > room {
                delimiters = Delimiters::default();
            }
            let depth = values.iter().map(|(value, _)| delimiters.split(value).len()).max().unwrap_or(1);
            room -= depth - 1;
            let mut split: HashMap<u32, Vec<u32>, foldhash::fast::FixedState> = HashMap::default();
            for (&value, (text, _)) in present.iter().zip(&values) {
                let mut id = |token: &[u8]| {
                    *ids.entry(token.to_vec()).or_insert_with(|| {
                        out.values.push(token.to_vec());
                        out.values.len() as u32 - 1
                    })
                };
                split.insert(value, delimiters.split(text).into_iter().map(&mut id).collect());
            }
            let cell = |value: &u32, at: usize| match split.get(value) {
                Some(tokens) => tokens.get(at).copied().unwrap_or(ABSENT),
                None => ABSENT,
            };
            deep.push((0..depth).map(|at| column.iter().map(|value| cell(value, at)).collect()).collect());
            for at in 0..depth {
                out.keys.push((key as u16, at as u8));
                out.segments.push(match columns.keys[key].place {
                    KeyPosition::Path(i) => Some(i),
                    _ => None,
                });
            }
            out.delimiters.push(delimiters);
        }
        let flat: Vec<&Vec<u32>> = deep.iter().flatten().collect();
        out.rows = (0..columns.len()).map(|row| flat.iter().map(|column| column[row]).collect()).collect();
        for row in 0..out.rows.len() {
            out.by_identity.entry(identity(&out.rows[row])).or_default().push(row as u32);
        }
        out
    }

    /// Keys and delimiters without the rows: what splits a URL.
    pub fn shape(&self) -> Tokens {
        let Tokens { keys, segments, delimiters, .. } = self;
        let (keys, segments, delimiters) = (keys.clone(), segments.clone(), delimiters.clone());
        Tokens { keys, segments, delimiters, ..Tokens::default() }
    }

    /// A value by its id.
    pub fn value(&self, id: u32) -> &[u8] {
        &self.values[id as usize]
    }

    /// Name of a deep key.
    pub fn name(&self, keys: &[PublishedKey], at: usize) -> String {
        let (key, place) = self.keys[at];
        match place {
            0 => keys[usize::from(key)].to_string(),
            _ => format!("{}.{place}", keys[usize::from(key)]),
        }
    }

    /// True where no deep token is missing before another one of its key, and no segment of the path before
    /// another.
    pub fn is_whole(&self, present: impl Fn(usize) -> bool) -> bool {
        let mut segments = 0;
        (0..self.keys.len()).all(|at| {
            if !present(at) {
                return true;
            }
            match (self.keys[at].1, self.segments[at]) {
                (0, Some(segment)) => {
                    segments += 1;
                    segment + 1 == segments
                }
                (0, None) => true,
                _ => present(at - 1),
            }
        })
    }
}

/// Hash of the tokens of a URL.
pub fn identity(row: &[u32]) -> u64 {
    let cell = |(key, &value): (usize, &u32)| match value {
        ABSENT => 0,
        value => hash64_seeded(&value.to_le_bytes(), key as u64 + 1),
    };
    row.iter().enumerate().map(cell).fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_of_the_site_cut_and_others_do_not() {
        let names: Vec<String> = (0..20).map(|i| format!("story_{i}a-b")).collect();
        let mut values: Vec<(&[u8], usize)> = names.iter().map(|name| (name.as_bytes(), 1)).collect();
        values.push((b"a:b", 1));
        let delimiters = Delimiters::of(&values);
        let split = |text: &'static str| {
            let tokens = delimiters.split(text.as_bytes());
            tokens.into_iter().map(|token| std::str::from_utf8(token).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(split("story_12a-b"), ["story", "_", "12", "a", "-", "b"]);
        assert_eq!(split("x:y"), ["x:y"]);
        assert_eq!(split(""), [""]);
        let long = "a_".repeat(20);
        assert_eq!(delimiters.split(long.as_bytes()).len(), DEEPEST);
        assert_eq!(delimiters.split(long.as_bytes()).concat(), long.as_bytes());
    }
}
