//! Training URLs as columns of ids: one `u32` column a key of WWW10 Figure 2.
//!
//! All values of all keys share one dictionary, so that a value under one key is compared with a value
//! under another by its id (Algorithm 3 needs that); id 0 is the absent key. Ids are given in the order
//! of first appearance in rows sorted by their bytes, so they do not depend on the order of the
//! records.
//!
//! Assumptions where the paper is silent: URLs without a label are left out (its training set is a
//! collection of duplicate clusters); distinct URLs with one normal form are one row of the
//! label that has more rows (ties: the smaller id); a query key that a single row has is no key of the
//! site, and a URL that has such a key, or one beyond the [`MAX_KEYS`] most frequent, is left out,
//! since no rule can match it.

use crate::rules::published::MAX_KEYS;
use crate::rules::published::keys::{KeyPosition, KeyTable, Numbers, PublishedKey, parts};
use crate::site::Training;
use std::collections::HashMap;

/// The id of an absent key.
pub const ABSENT: u32 = 0;

/// Training URLs of one site in columns. Costs 4 bytes a row and key, and the distinct values once.
#[derive(Clone, Debug, Default)]
pub struct PublishedColumns {
    /// The keys, sorted in the order in which a URL is written; at most [`MAX_KEYS`].
    pub keys: Vec<PublishedKey>,
    /// Value ids, a column a key.
    pub values: Vec<Vec<u32>>,
    /// Cluster of a row, dense from 0 in row order.
    pub clusters: Vec<u32>,
    /// Number of clusters.
    pub cluster_count: u32,
    /// Origins of the site, sorted.
    pub origins: Vec<String>,
    /// Training URLs that are no rows: without a label, not a URL, or with a key that is none of the
    /// site's.
    pub left_out: u64,
    dictionary: Strings,
    urls: Strings,
}

/// Byte strings end to end.
#[derive(Clone, Debug, Default)]
struct Strings {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Strings {
    fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }
}

impl PublishedColumns {
    /// The columns of a training set. Near-linear in its bytes.
    pub fn new(training: &Training) -> PublishedColumns {
        let mut out = PublishedColumns::default();
        out.take_rows(training);
        let (mut all, mut count) = (Vec::new(), Vec::new());
        out.count_keys(&mut all, &mut count);
        out.keys = choose(all, &count);
        out.fill();
        out
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// True without any row.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Number of value ids, the absent one included.
    pub fn value_count(&self) -> usize {
        self.dictionary.ends.len()
    }

    /// The bytes of a value; empty for [`ABSENT`].
    pub fn value(&self, id: u32) -> &[u8] {
        self.dictionary.get(id as usize)
    }

    /// The value as text. URLs are UTF-8 and cut at ASCII.
    pub fn text(&self, id: u32) -> String {
        String::from_utf8_lossy(self.value(id)).into_owned()
    }

    /// The normal URL of a row.
    pub fn url(&self, row: u32) -> String {
        String::from_utf8_lossy(self.urls.get(row as usize)).into_owned()
    }

    /// Distinct normal forms with their cluster, sorted by bytes.
    fn take_rows(&mut self, training: &Training) {
        let mut normal = Strings::default();
        let mut rows: Vec<(u32, u32)> = Vec::new();
        let mut sizes: Vec<u32> = Vec::new();
        for row in 0..training.len() {
            let Some(url) = training.normal(row) else { continue };
            let cluster = training.clusters[row];
            if cluster != u32::MAX {
                rows.push((normal.ends.len() as u32, cluster));
                normal.push(url.as_bytes());
                sizes.resize(sizes.len().max(cluster as usize + 1), 0);
                sizes[cluster as usize] += 1;
            }
        }
        let url = |r: &(u32, u32)| normal.get(r.0 as usize);
        rows.sort_unstable_by(|a, b| url(a).cmp(url(b)).then(a.1.cmp(&b.1)));
        for same in rows.chunk_by(|a, b| url(a) == url(b)) {
            let size = |c: u32| same.iter().filter(|r| r.1 == c).count();
            let best = same.iter().map(|r| r.1).max_by_key(|&c| (sizes[c as usize], size(c), std::cmp::Reverse(c)));
            self.urls.push(url(&same[0]));
            self.clusters.extend(best);
        }
        self.origins = training.origins.iter().cloned().collect();
        self.left_out = training.len() as u64 - rows.len() as u64;
    }

    /// Every key of every row, and the number of rows that have it.
    fn count_keys(&self, keys: &mut Vec<PublishedKey>, count: &mut Vec<u32>) {
        let (mut table, mut numbers) = (KeyTable::default(), Numbers::default());
        for row in 0..self.clusters.len() {
            numbers.start();
            parts(self.urls.get(row), |place, name, _| {
                let key = table.find_or_add(place, name, &mut numbers, keys);
                count.resize(keys.len(), 0);
                count[key as usize] += 1;
            });
        }
    }

    /// Cuts the rows into the columns and drops those that have another key.
    fn fill(&mut self) {
        let (table, mut numbers) = (KeyTable::new(&self.keys), Numbers::default());
        let urls = std::mem::take(&mut self.urls);
        let clusters = std::mem::take(&mut self.clusters);
        self.dictionary.push(b"");
        self.values = vec![Vec::with_capacity(clusters.len()); self.keys.len()];
        let mut ids: HashMap<&[u8], u32, foldhash::fast::FixedState> = HashMap::default();
        let mut dense: HashMap<u32, u32, foldhash::fast::FixedState> = HashMap::default();
        for (row, &cluster) in clusters.iter().enumerate() {
            let rows = self.clusters.len();
            numbers.start();
            let mut known = true;
            parts(urls.get(row), |place, name, value| {
                let Some(key) = table.find(place, name, &mut numbers) else {
                    known = false;
                    return;
                };
                if !known {
                    return;
                }
                let next = self.dictionary.ends.len() as u32;
                let id = *ids.entry(value).or_insert(next);
                if id == next {
                    self.dictionary.push(value);
                }
                let column = &mut self.values[key as usize];
                column.resize(rows, ABSENT);
                column.push(id);
            });
            if !known {
                self.values.iter_mut().for_each(|column| column.truncate(rows));
                self.left_out += 1;
                continue;
            }
            let next = dense.len() as u32;
            self.clusters.push(*dense.entry(cluster).or_insert(next));
            self.urls.push(urls.get(row));
        }
        self.cluster_count = dense.len() as u32;
        self.values.iter_mut().for_each(|column| column.resize(self.clusters.len(), ABSENT));
    }
}

/// The keys of the site: all but query keys of one row, the most frequent [`MAX_KEYS`] of them, sorted.
fn choose(keys: Vec<PublishedKey>, count: &[u32]) -> Vec<PublishedKey> {
    let mut chosen: Vec<(u32, PublishedKey)> =
        count.iter().copied().zip(keys).filter(|(n, key)| *n > 1 || key.place != KeyPosition::Query).collect();
    chosen.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    chosen.truncate(MAX_KEYS);
    let mut keys: Vec<PublishedKey> = chosen.into_iter().map(|c| c.1).collect();
    keys.sort_unstable();
    keys
}
