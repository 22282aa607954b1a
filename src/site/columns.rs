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

use super::hints::Preferred;
use super::operations::frequencies;
use super::order::{self, ORDER_SAMPLE};
use super::sections::Sections;
use super::{Thresholds, Training};
use crate::model::hash64_seeded;
use crate::rules::Tokens;
use crate::url::{Cells, Fixed, Key, NormalRef, set_order};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Columns of a site at most, a bound of memory: the most frequent keys get them.
pub const MAX_COLUMNS: usize = 192;

/// Values of one key.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    /// Hash of each value under this key; 0 for code 0, the absent key.
    pub hash: Vec<u64>,
    ranges: Vec<(u32, u32)>,
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
    /// No rule wrote a value into a row, or took one from its path: the URL was met, up to its origin and
    /// to parameters that are left out.
    pub unchanged: Vec<bool>,
    /// [`Columns::times_met`], by key and code.
    met: Vec<Vec<u32>>,
    /// Some row was not fetchable at the start.
    pub redirects: bool,
    /// Section of each row.
    pub sections: Sections,
    /// How the URLs were cut.
    pub tokens: Tokens,
    /// Preferences among equal values.
    pub preferred: Preferred,
    pool: Vec<u8>,
    codes_of: HashMap<u64, u32, FixedState>,
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

/// True where more of the queries that use one separator alone use `;` than `&`.
fn joins_by_semicolons(training: &Training) -> bool {
    let uses = |row: usize| {
        let url = training.normal(row)?;
        let (start, end) = url.split().query?;
        let query = &url.as_bytes()[start as usize..end as usize];
        match [b';', b'&'].map(|separator| memchr::memchr(separator, query).is_some()) {
            [true, false] => Some(true),
            [false, true] => Some(false),
            _ => None,
        }
    };
    let (semicolons, others): (Vec<bool>, Vec<bool>) =
        (0..training.len().min(ORDER_SAMPLE)).filter_map(uses).partition(|&is_semicolon| is_semicolon);
    semicolons.len() > others.len()
}

impl Columns {
    /// Cuts the labelled URLs of `training`; unlabelled ones are neither evidence nor negatives.
    pub fn new(training: &Training, tokens: Tokens, thresholds: &Thresholds) -> Columns {
        let mut out = Columns { tokens, ..Columns::default() };
        if out.tokens.semicolons {
            let previous = training.hints.previous.as_ref().filter(|previous| previous.tokens.semicolons);
            let known = previous.map(|previous| previous.tokens.joined_by_semicolons);
            out.tokens.joined_by_semicolons = known.unwrap_or_else(|| joins_by_semicolons(training));
        }
        let cut = out.tokens.cut();
        let mut cells = Cells::default();
        out.tokens.query_order = order::learn(training, cut, &mut cells, thresholds);
        if let Some(previous) = &training.hints.previous {
            // The order of an earlier result is kept; new names follow.
            let mut order = previous.tokens.query_order.clone();
            order.extend(out.tokens.query_order.drain(..).filter(|name| !previous.tokens.query_order.contains(name)));
            out.tokens.query_order = order;
        }
        let ranks = Ranks::new(&out.tokens);
        let mut builder = Builder::default();
        for row in 0..training.len() {
            let label = training.clusters[row];
            if label == u32::MAX {
                continue;
            }
            // Rules never act on URLs with user information.
            let Some(url) = training.normal(row).filter(|url| !url.has_user()) else { continue };
            url.cut(cut, &mut cells);
            set_order(&mut cells, |cells, at| ranks.of(cells.seed(cells.list[at].key)));
            builder.row(&cells, label, row as u32);
        }
        builder.into_columns(&mut out);
        out.fetchable = out.origin.iter().map(|&row| !training.elsewhere[row as usize]).collect();
        out.redirects = out.fetchable.contains(&false);
        out.unchanged = vec![true; out.origin.len()];
        let is_met = |row: &u32| out.fetchable[*row as usize];
        let rows: Vec<u32> = (0..out.len() as u32).filter(is_met).collect();
        out.met = (0..out.keys.len()).map(|key| frequencies(&out, key, rows.iter().copied())).collect();
        let path = |row: u32| training.normal(row as usize).map_or(&[][..], NormalRef::path);
        let rows = out.origin.iter().zip(&out.label).map(|(&row, &label)| (path(row), label));
        out.sections = Sections::new(rows, thresholds);
        out.tokens.sections.clone_from(&out.sections.words);
        out.preferred = Preferred::new(training, &mut out);
        out
    }

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
    pub fn times_met(&self, key: usize, code: u32) -> u32 {
        self.met[key].get(code as usize).copied().unwrap_or(0)
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

/// Rows as they are cut, before the keys with a column are chosen.
#[derive(Default)]
struct Builder {
    keys: Vec<Key>,
    rows_of: Vec<u32>,
    values: Vec<Dictionary>,
    pool: Vec<u8>,
    key_of: HashMap<u64, u32, FixedState>,
    codes_of: HashMap<u64, u32, FixedState>,
    flat: Vec<(u32, u32)>,
    ends: Vec<u32>,
    labels: Vec<u32>,
    hashes: Vec<u64>,
    origins: Vec<u32>,
}

impl Builder {
    fn row(&mut self, cells: &Cells, label: u32, origin: u32) {
        let mut identity = 0u64;
        for cell in &cells.list {
            let seed = cells.seed(cell.key);
            let key = match self.key_of.get(&seed) {
                Some(&key) => key,
                None => {
                    let key = self.keys.len() as u32;
                    self.keys.push(cells.key(cell));
                    self.rows_of.push(0);
                    self.values.push(Dictionary { hash: vec![0], ranges: vec![(0, 0)] });
                    self.key_of.insert(seed, key);
                    key
                }
            };
            self.rows_of[key as usize] += 1;
            let value = cells.value(cell);
            let hash = hash64_seeded(value, seed);
            identity = identity.wrapping_add(hash);
            let dictionary = &mut self.values[key as usize];
            let code = *self.codes_of.entry(hash).or_insert_with(|| {
                let start = self.pool.len() as u32;
                self.pool.extend_from_slice(value);
                dictionary.hash.push(hash);
                dictionary.ranges.push((start, self.pool.len() as u32));
                dictionary.hash.len() as u32 - 1
            });
            self.flat.push((key, code));
        }
        self.ends.push(self.flat.len() as u32);
        self.labels.push(label);
        self.hashes.push(identity);
        self.origins.push(origin);
    }

    fn into_columns(mut self, out: &mut Columns) {
        let mut chosen: Vec<u32> = (0..self.keys.len() as u32).collect();
        chosen.retain(|&k| self.rows_of[k as usize] >= 2 || !self.keys[k as usize].optional());
        let key = |k: u32| &self.keys[k as usize];
        chosen.sort_unstable_by(|&a, &b| {
            let rank = |k: u32| (key(k).optional(), std::cmp::Reverse(self.rows_of[k as usize]));
            rank(a).cmp(&rank(b)).then_with(|| key(a).cmp(key(b)))
        });
        chosen.truncate(MAX_COLUMNS);
        chosen.sort_unstable_by(|&a, &b| key(a).cmp(key(b)));
        let rows = self.labels.len();
        let mut column_of = vec![u32::MAX; self.keys.len()];
        for (column, &k) in chosen.iter().enumerate() {
            column_of[k as usize] = column as u32;
        }
        out.codes = vec![vec![0; rows]; chosen.len()];
        out.odd = vec![false; rows];
        let mut start = 0;
        for (row, &end) in self.ends.iter().enumerate() {
            for &(k, code) in &self.flat[start..end as usize] {
                match column_of[k as usize] {
                    u32::MAX => out.odd[row] = true,
                    column => out.codes[column as usize][row] = code,
                }
            }
            start = end as usize;
        }
        out.keys = chosen.iter().map(|&k| self.keys[k as usize].clone()).collect();
        out.values = chosen.iter().map(|&k| std::mem::take(&mut self.values[k as usize])).collect();
        out.hash = self.hashes;
        out.origin = self.origins;
        out.label = self.labels;
        out.weight = vec![1; rows];
        out.pool = self.pool;
        out.codes_of = self.codes_of;
    }
}
