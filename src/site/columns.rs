//! A site's training records as columns of codes.
//!
//! One `u32` column a key, code 0 for the absent key; labels as `u32`; the identity of a row is the
//! wrapping 64-bit sum of one hash a (key, value), so that "this row with key k changed" is one
//! subtraction and one addition. Strings are touched once, here, and then only as dictionaries. Keys
//! that fewer than two URLs have, and those beyond [`MAX_COLUMNS`], get no column: their hashes stay in
//! the identity of the row, so that nothing is lost.
//!
//! Memory: 4 bytes a row and key, 29 bytes a row, the dictionaries. While columns are made the process
//! grows by 177 bytes a row on a synthetic site of 28 keys, 303 on a real one of 76 keys, 803 with 158
//! keys, the lists that are given back afterwards included (`benches/learn.rs` with
//! `UNDUST_LEARN_MEMORY=1`).

use super::preferred::Preferred;
use super::sections::Sections;
use crate::model::hash64_seeded;
use crate::rules::Tokens;
use crate::url::{Fixed, Key};
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, HashMap};

/// Columns of a site at most, a bound of memory: the most frequent keys get them.
pub const MAX_COLUMNS: usize = 192;

/// Values of one key.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    /// Hash of each value under this key; 0 for code 0, the absent key.
    pub hash: Vec<u64>,
    pub(super) ranges: Vec<(u32, u32)>,
}

/// The distinct rows of a site in columns.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The keys that have a column, sorted.
    pub keys: Vec<Key>,
    /// Their values.
    pub values: Vec<Dictionary>,
    /// Codes, `[key][row]`.
    pub codes: Vec<Vec<u32>>,
    /// Identity of each row.
    pub hash: Vec<u64>,
    /// Duplicate cluster of each row.
    pub label: Vec<u32>,
    /// URLs that were reduced to the row.
    pub weight: Vec<u32>,
    /// The row has keys without a column.
    pub odd: Vec<bool>,
    /// Row of the training set that the row comes from.
    pub origin: Vec<u32>,
    /// A URL that was reduced to the row neither redirects nor declares another canonical URL.
    pub fetchable: Vec<bool>,
    /// No rule wrote a value into a row, or took one from its path: the URL was seen, up to its origin and
    /// to parameters that are left out.
    pub unchanged: Vec<bool>,
    /// [`Columns::times_seen`], by key and code.
    pub(super) frequency: Vec<Vec<u32>>,
    /// Some row was not fetchable at the start.
    pub redirects: bool,
    /// Section of each row.
    pub sections: Sections,
    /// How the URLs were tokenized.
    pub tokens: Tokens,
    /// Preferences among equal values.
    pub preferred: Preferred,
    pub(super) pool: Vec<u8>,
    pub(super) codes_of: HashMap<u64, u32, FixedState>,
}

/// Rank of query keys in the usual order of a site.
#[derive(Clone, Debug, Default)]
pub struct Ranks(HashMap<u64, u32, FixedState>);

impl Ranks {
    /// From the names of [`Tokens::query_order`].
    pub fn new(tokens: &Tokens) -> Ranks {
        let seed = |name: &String| Key::Query(name.clone()).seed();
        Ranks(tokens.query_order.iter().enumerate().map(|(i, name)| (seed(name), i as u32)).collect())
    }

    /// Rank of a query key by its seed; unknown keys come last.
    pub fn of(&self, seed: u64) -> u32 {
        self.0.get(&seed).copied().unwrap_or(u32::MAX)
    }
}

impl Columns {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.hash.len()
    }

    /// True without any row.
    pub fn is_empty(&self) -> bool {
        self.hash.is_empty()
    }

    /// Column of a key.
    pub fn column(&self, key: &Key) -> Option<usize> {
        self.keys.binary_search(key).ok()
    }

    /// Column of a fixed key.
    pub fn fixed(&self, key: Fixed) -> Option<usize> {
        self.column(&Key::Fixed(key))
    }

    /// The code of a key in a row.
    pub fn code(&self, key: usize, row: u32) -> u32 {
        self.codes[key][row as usize]
    }

    /// A value; empty for code 0.
    pub fn value(&self, key: usize, code: u32) -> &[u8] {
        let (a, b) = self.values[key].ranges[code as usize];
        &self.pool[a as usize..b as usize]
    }

    /// True where of the `rows` that have one of `keys` those outside the clusters `pages` are at most
    /// `others_permille` thousandths of those inside. A key that is ignored because of a constant page must
    /// belong to that page, and not to other pages that happen to show one value each.
    pub fn is_about<'a>(
        &self,
        pages: &[u32],
        keys: &[usize],
        rows: impl IntoIterator<Item = &'a u32>,
        others_permille: u64,
    ) -> bool {
        let has = |row: usize| keys.iter().any(|&k| self.codes[k][row] != 0);
        let (mut own, mut others) = (0u64, 0u64);
        for &row in rows.into_iter().filter(|&&row| has(row as usize)) {
            *(if pages.contains(&self.label[row as usize]) { &mut own } else { &mut others }) += 1;
        }
        others * 1_000 <= own * others_permille
    }

    /// Text of a value; `None` for the absent key.
    pub fn text(&self, key: usize, code: u32) -> Option<String> {
        (code != 0).then(|| String::from_utf8_lossy(self.value(key, code)).into_owned())
    }

    /// Code of a value of a key, where it has one.
    pub fn find(&self, key: usize, value: &[u8]) -> Option<u32> {
        self.codes_of.get(&hash64_seeded(value, self.keys[key].seed())).copied()
    }

    /// Code of a value of a key, made where it is new.
    pub fn intern(&mut self, key: usize, value: &[u8]) -> u32 {
        let hash = hash64_seeded(value, self.keys[key].seed());
        if let Some(&code) = self.codes_of.get(&hash) {
            return code;
        }
        let dictionary = &mut self.values[key];
        let code = dictionary.hash.len() as u32;
        let start = self.pool.len() as u32;
        self.pool.extend_from_slice(value);
        dictionary.hash.push(hash);
        dictionary.ranges.push((start, self.pool.len() as u32));
        self.codes_of.insert(hash, code);
        code
    }

    /// Rows that can be fetched, as they were at the start, with this value, or without the key; 0 for
    /// values that were made later.
    pub fn times_seen(&self, key: usize, code: u32) -> u32 {
        self.frequency[key].get(code as usize).copied().unwrap_or(0)
    }

    /// True for a part of the path, the extension, and a parameter.
    pub fn is_part(&self, key: usize) -> bool {
        let name = &self.keys[key];
        name.as_path().is_some() || name.is(Fixed::EXTENSION) || name.optional()
    }

    /// Number of codes of a key, the absent one included.
    pub fn codes_len(&self, key: usize) -> usize {
        self.values[key].hash.len()
    }

    /// The code, among those that `may` names, that most of the `rows` had under the earlier rules, where
    /// these changed a row to such a code; ties by bytes.
    pub fn moved(&self, key: usize, rows: impl Iterator<Item = u32>, may: impl Fn(u32) -> bool) -> Option<u32> {
        let before = self.preferred.before.get(key)?;
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        let mut is_changed = false;
        for row in rows {
            let to = before[row as usize];
            if may(to) {
                is_changed |= to != self.code(key, row);
                *counts.entry(to).or_default() += 1;
            }
        }
        let value = |code: u32| self.value(key, code);
        let most = counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| value(b.0).cmp(value(a.0))));
        most.filter(|_| is_changed).map(|(code, _)| code)
    }

    /// Keeps the given rows (rising) in all columns.
    pub fn retain(&mut self, rows: &[u32]) {
        fn pick<T: Copy>(from: &mut Vec<T>, rows: &[u32]) {
            *from = rows.iter().map(|&r| from[r as usize]).collect();
        }
        self.codes.iter_mut().for_each(|column| pick(column, rows));
        pick(&mut self.hash, rows);
        pick(&mut self.label, rows);
        pick(&mut self.weight, rows);
        pick(&mut self.odd, rows);
        pick(&mut self.origin, rows);
        pick(&mut self.fetchable, rows);
        pick(&mut self.unchanged, rows);
        pick(&mut self.sections.of, rows);
        self.preferred.retain(rows);
    }
}
