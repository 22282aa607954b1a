//! What became of each record, in columns: the rows of the proof.
//!
//! A record becomes five words: the 128-bit hash of (site, canonical URL), the 64-bit hashes of its URL as found and of
//! its cluster label, and the hash of a *firing*: the site, the rules that fired and whether the record trained. There
//! are few firings, so they travel once, beside the rows. Within one canonical URL of a site, 64 bits tell URLs and
//! clusters apart (10^6 URLs of one canonical URL: a mix-up in 4 * 10^7 such groups).

use super::aside::Aside;
use super::locate::{Finder, Found, Locator};
use super::sample::Lots;
use super::table::Table;
use crate::model::{Record, hash64, hash128};
use crate::rules::apply::Scratch;
use crate::url::NormalUrl;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Cluster of a record without a label.
pub const NO_CLUSTER: u64 = 0;

/// `[canonical, canonical, URL, cluster, firing]`: in this order repeats of a URL lie together within their canonical
/// URL.
pub type Page = [u64; 5];

/// Which rules fired on a record of which site, and whether it trained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    /// Index of the site.
    pub site: u32,
    /// The record was in the training set (records that only the bound on cluster sizes left out count as such).
    pub trained: bool,
    /// Indices of the rules, ascending.
    pub rules: Vec<u16>,
}

/// Rows for one worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pages {
    /// Columns of [`Page`].
    pub columns: [Vec<u64>; 5],
    /// Firings that this worker has not been told of by the sender.
    pub firings: Vec<(u64, Firing)>,
}

impl Pages {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// True without any row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn push(&mut self, page: Page) {
        for (column, word) in self.columns.iter_mut().zip(page) {
            column.push(word);
        }
    }

    /// The row at `row`.
    pub fn get(&self, row: usize) -> Page {
        std::array::from_fn(|word| self.columns[word][row])
    }
}

/// Rows of a shipment.
const BATCH_ROWS: usize = 1 << 15;

/// Canonicalizes records at one worker.
#[derive(Debug)]
pub struct Canonicalizer {
    table: Arc<Table>,
    finder: Finder,
    lots: Lots,
    normal: NormalUrl,
    scratch: Scratch,
    key: Vec<u8>,
    known: HashMap<u64, (), foldhash::fast::FixedState>,
    firings: Vec<(u64, Firing)>,
    /// Firings each worker has been told of.
    told: Vec<usize>,
    open: Vec<Pages>,
    /// Records of each counted site.
    pub records: Vec<u64>,
    /// A site that is not in the table.
    pub unknown: Option<String>,
    /// Records for the next pass.
    pub aside: Option<Aside>,
}

impl Canonicalizer {
    /// For the rules of `table`, among `peers` workers.
    pub fn new(table: Arc<Table>, locator: Locator, lots: Lots, peers: usize) -> Canonicalizer {
        Canonicalizer {
            records: vec![0; table.len()],
            table,
            finder: Finder::new(locator),
            lots,
            normal: NormalUrl::default(),
            scratch: Scratch::default(),
            key: Vec::new(),
            known: HashMap::default(),
            firings: Vec::new(),
            told: vec![0; peers],
            open: vec![Pages::default(); peers],
            unknown: None,
            aside: None,
        }
    }

    /// Takes a record; gives a shipment that is full: `(worker, rows)`.
    pub fn offer(&mut self, record: Record<'_>) -> Option<(u64, Pages)> {
        let site = match self.finder.find(record, &self.table) {
            Found::Site(site) => site,
            Found::Invalid => return None,
            Found::Unknown => {
                if self.unknown.is_none() {
                    self.unknown = self.finder.name(record);
                }
                return None;
            }
        };
        // Before anything is done to the URL: a later pass counts few sites.
        if !self.table.counted[site as usize] {
            return None;
        }
        self.normal.read(record.url).ok()?;
        self.records[site as usize] += 1;
        if let Some(aside) = self.aside.as_mut().filter(|_| self.table.aside[site as usize]) {
            aside.lay(site, record);
        }

        let lot = self.lots.draw(self.normal.as_bytes(), record.cluster);
        let trained = lot.candidate && self.table.cuts[site as usize].is_none_or(|cut| cut.admits(&lot));
        let applied = self.table.rules.apply_normal(self.normal.by_ref(), Some(site), &mut self.scratch);
        let canonical = hash128(applied.url);
        self.key.clear();
        self.key.extend_from_slice(&site.to_le_bytes());
        self.key.push(u8::from(trained));
        applied.fired.iter().for_each(|rule| self.key.extend_from_slice(&rule.to_le_bytes()));
        let firing = hash64(&self.key);
        if self.known.insert(firing, ()).is_none() {
            self.firings.push((firing, Firing { site, trained, rules: applied.fired.iter().collect() }));
        }
        let site_hash = hash64(&site.to_le_bytes());
        let page = [
            (canonical >> 64) as u64 ^ site_hash,
            canonical as u64 ^ site_hash.rotate_left(32),
            hash64(record.url),
            record.cluster.map_or(NO_CLUSTER, |label| hash64(label).max(1)),
            firing,
        ];
        let to = (page[1] % self.open.len() as u64) as usize;
        self.open[to].push(page);
        (self.open[to].len() >= BATCH_ROWS).then(|| self.ship(to))
    }

    /// What is left, for all workers.
    pub fn flush(&mut self) -> Vec<(u64, Pages)> {
        (0..self.open.len()).map(|to| self.ship(to)).collect()
    }

    fn ship(&mut self, to: usize) -> (u64, Pages) {
        let mut pages = std::mem::take(&mut self.open[to]);
        pages.firings = self.firings[self.told[to]..].to_vec();
        self.told[to] = self.firings.len();
        if !pages.is_empty() {
            for column in &mut self.open[to].columns {
                column.reserve_exact(BATCH_ROWS);
            }
        }
        (to as u64, pages)
    }
}
