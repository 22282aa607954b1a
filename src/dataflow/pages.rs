//! Results of applying rules to each record, in columns: the rows of the proof.
//!
//! A record becomes rows of five words: the 128-bit hash of the row's group, two 64-bit hashes, and the
//! hash of a *firing*: the site, the rules that fired, whether the record trained, and the [`View`] of
//! the row. There are few firings, so they travel once, beside the rows. Within one canonical URL of a
//! site, 64 bits distinguish URLs and clusters (10^6 URLs of one canonical URL: a collision in 4 * 10^7
//! such groups).
//!
//! Most records make one row. A record that a look-up, a value range or an exception decides makes two,
//! since evidence is counted with all memory off. While rules are suspected of wrong merges, a record
//! makes two rows more for each of them that fires on it: one for its URL under the other rules, one
//! for the value that the rule removes.

use super::locate::{Finder, FoundSite, Locator};
use super::marginal::Cell;
use super::replay::ReplayWriter;
use super::sample::HashBounds;
use super::table::SiteTable;
use crate::model::{Record, hash64, hash128};
use crate::rules::Tokens;
use crate::rules::apply::Scratch;
use crate::url::{Key, NormalUrl, Pairs};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Cluster of a record without a label.
pub const NO_CLUSTER: u64 = 0;

/// `[group, group, URL, cluster, firing]`: in this order repeats of a URL lie together within their
/// group. A row of [`View::Without`] has the part in place of the URL, one of [`View::Value`] the hash
/// of the values.
pub type Page = [u64; 5];

/// Kind of counting of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum View {
    /// By canonical URL; the same with and without memory.
    #[default]
    Both,
    /// By the canonical URL without memory: evidence of rules.
    Rules,
    /// By the canonical URL that memory decided: figures.
    Memory,
    /// By canonical URL without memory: the part of the page into which the record falls without a rule.
    Without {
        /// The rule.
        rule: u16,
        /// Place where it acted.
        cell: Cell,
    },
    /// By canonical URL without memory: the values that this rule and all other suspected rules remove from
    /// the record.
    Value {
        /// The rule.
        rule: u16,
    },
}

/// The rules that fired on a record of a site, whether it trained, and the kind of counting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    /// Index of the site.
    pub site: u32,
    /// The record was in the training set (records that only the bound on cluster sizes left out count as
    /// such).
    pub trained: bool,
    /// Indices of the rules, ascending.
    pub rules: Vec<u16>,
    /// Kind of counting of the row.
    pub view: View,
}

/// Rows for one worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pages {
    /// Columns of [`Page`].
    pub columns: [Vec<u64>; 5],
    /// Firings that the sender has not sent to this worker before.
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

/// A row before its firing is known by a hash.
#[derive(Clone, Debug)]
struct PageRow<'r> {
    site: u32,
    trained: bool,
    /// Hash of its group.
    group: u128,
    url: u64,
    cluster: u64,
    rules: &'r [u16],
    view: View,
}

/// Rows of a shipment.
const BATCH_ROWS: usize = 1 << 15;

/// Canonicalizes records at one worker.
#[derive(Debug)]
pub struct PageMaker {
    table: Arc<SiteTable>,
    finder: Finder,
    hash_bounds: HashBounds,
    normal: NormalUrl,
    scratch: Scratch,
    key: Vec<u8>,
    fired: Vec<u16>,
    known: HashMap<u64, (), foldhash::fast::FixedState>,
    firings: Vec<(u64, Firing)>,
    /// Number of firings sent to each worker.
    told: Vec<usize>,
    open: Vec<Pages>,
    /// Records of each counted site.
    pub records: Vec<u64>,
    /// Requested URLs: of each site, by hash, the smallest by bytes.
    pub texts: BTreeMap<(u32, u64), String>,
    /// Shipments that are full: `(worker, rows)`.
    pub ready: Vec<(u64, Pages)>,
    /// Records of sites that are not in the table.
    pub unlisted: u64,
    /// A site that is not in the table.
    pub unknown: Option<String>,
    /// Records for the next pass.
    pub replay: Option<ReplayWriter>,
}

impl PageMaker {
    /// Makes rows with the rules of `table`, among `peers` workers.
    pub fn new(table: Arc<SiteTable>, locator: Locator, hash_bounds: HashBounds, peers: usize) -> PageMaker {
        PageMaker {
            records: vec![0; table.len()],
            table,
            finder: Finder::new(locator),
            hash_bounds,
            normal: NormalUrl::default(),
            scratch: Scratch::default(),
            key: Vec::new(),
            fired: Vec::new(),
            known: HashMap::default(),
            firings: Vec::new(),
            told: vec![0; peers],
            open: vec![Pages::default(); peers],
            texts: BTreeMap::new(),
            ready: Vec::new(),
            unlisted: 0,
            unknown: None,
            replay: None,
        }
    }

    /// Takes a record; shipments that it fills are [`ready`](Self::ready).
    pub fn offer(&mut self, record: Record<'_>) {
        let site = match self.finder.find(record, &self.table) {
            FoundSite::Site(site) => site,
            FoundSite::Invalid => return,
            FoundSite::Unknown => {
                self.unlisted += 1;
                if self.unknown.is_none() {
                    self.unknown = self.finder.name(record);
                }
                return;
            }
        };
        // Before the URL is normalized: a later pass counts few sites.
        if !self.table.counted[site as usize] || self.normal.read(record.url).is_err() {
            return;
        }
        self.records[site as usize] += 1;
        if let Some(replay) = self.replay.as_mut().filter(|_| self.table.spills[site as usize]) {
            replay.spill(site, record);
        }

        let draw = self.hash_bounds.draw(self.normal.as_bytes(), record.cluster);
        let trained = draw.candidate && self.table.bounds[site as usize].is_none_or(|bounds| bounds.admits(&draw));
        let url = hash64(record.url);
        let cluster = record.cluster.map_or(NO_CLUSTER, |label| hash64(label).max(1));

        // Memory acts last, so only records that it decided are counted twice.
        let memory = self.table.memory.of[site as usize];
        let mut remembered = None;
        let mut canonical = 0;
        if let Some(memory) = memory {
            let rules = &self.table.memory.rules;
            let applied = rules.apply_normal(self.normal.by_ref(), Some(memory.index), &mut self.scratch);
            canonical = hash128(applied.url);
            self.fired.clear();
            self.fired.extend(applied.fired.iter());
            if applied.looked_up || memory.has_exceptions {
                remembered = Some((canonical, self.fired.clone()));
            }
        }
        if memory.is_none() || remembered.is_some() {
            let applied = self.table.rules.apply_normal(self.normal.by_ref(), Some(site), &mut self.scratch);
            canonical = hash128(applied.url);
            self.fired.clear();
            self.fired.extend(applied.fired.iter());
        }
        let fired = std::mem::take(&mut self.fired);
        let mut row = PageRow { site, trained, url, cluster, group: canonical, rules: &fired, view: View::Both };
        if let Some((group, rules)) = remembered.filter(|(group, _)| *group != canonical) {
            self.push(&PageRow { group, rules: &rules, view: View::Memory, ..row.clone() });
            self.keep_text(site, url, record.url);
            row.view = View::Rules;
        }
        self.push(&row);
        if cluster != NO_CLUSTER {
            self.push_without(&row);
        }
        self.fired = fired;
    }

    /// The rows of a record for each suspected rule that fired on it.
    fn push_without(&mut self, row: &PageRow<'_>) {
        let table = self.table.clone();
        let suspects = table.without.of(row.site);
        let mut pairs = None;
        let mut value = None;
        for suspect in suspects.iter().filter(|suspect| row.rules.binary_search(&suspect.rule).is_ok()) {
            let applied =
                table.without.rules.apply_normal(self.normal.by_ref(), Some(suspect.index), &mut self.scratch);
            let is_part = hash128(applied.url) != row.group;
            let part = if is_part { hash64(applied.url).max(1) } else { 0 };
            let Tokens { query_order, .. } = &suspect.tokens;
            let pairs = pairs.get_or_insert_with(|| Pairs::tokenize(&self.normal, suspect.tokenizer, query_order));
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let cell = Cell {
                section: text(suspect.tokens.section(self.normal.as_bytes())),
                value: suspect.table.as_ref().map(|key| pairs.get(key).map(text).unwrap_or_default()),
            };
            let value = *value.get_or_insert_with(|| {
                let ignored: BTreeSet<&Key> = suspects.iter().flat_map(|of| &of.ignored).collect();
                let taken: Vec<Option<&[u8]>> = ignored.into_iter().map(|key| pairs.get(key)).collect();
                hash64(format!("{taken:?}").as_bytes())
            });
            let view = View::Without { rule: suspect.rule, cell };
            self.push(&PageRow { url: part, view, rules: &[], ..row.clone() });
            if !suspect.ignored.is_empty() {
                let view = View::Value { rule: suspect.rule };
                self.push(&PageRow { url: value, view, rules: &[], ..row.clone() });
            }
            if is_part {
                let url = self.normal.as_bytes().to_vec();
                self.keep_text(row.site, part, &url);
            }
        }
    }

    /// Keeps a URL if the table requests it: of several the smallest by bytes.
    fn keep_text(&mut self, site: u32, hash: u64, url: &[u8]) {
        if self.table.wanted.get(site as usize).is_some_and(|wanted| wanted.contains(&hash))
            && let Ok(url) = std::str::from_utf8(url)
        {
            let text = self.texts.entry((site, hash)).or_insert_with(|| url.to_owned());
            if url < text.as_str() {
                url.clone_into(text);
            }
        }
    }

    /// Adds a row.
    fn push(&mut self, row: &PageRow<'_>) {
        self.key.clear();
        self.key.extend_from_slice(&row.site.to_le_bytes());
        self.key.push(u8::from(row.trained));
        match &row.view {
            View::Both => self.key.push(0),
            View::Rules => self.key.push(1),
            View::Memory => self.key.push(2),
            View::Value { rule } => {
                self.key.push(3);
                self.key.extend_from_slice(&rule.to_le_bytes());
            }
            View::Without { rule, cell } => {
                self.key.push(4);
                self.key.extend_from_slice(&rule.to_le_bytes());
                self.key.extend_from_slice(&(cell.section.len() as u32).to_le_bytes());
                self.key.extend_from_slice(cell.section.as_bytes());
                self.key.push(u8::from(cell.value.is_some()));
                self.key.extend_from_slice(cell.value.as_deref().unwrap_or_default().as_bytes());
            }
        }
        row.rules.iter().for_each(|rule| self.key.extend_from_slice(&rule.to_le_bytes()));
        let firing = hash64(&self.key);
        if self.known.insert(firing, ()).is_none() {
            let PageRow { site, trained, rules, view, .. } = row.clone();
            self.firings.push((firing, Firing { site, trained, rules: rules.to_vec(), view }));
        }
        let site_hash = hash64(&row.site.to_le_bytes());
        let page = [
            (row.group >> 64) as u64 ^ site_hash,
            row.group as u64 ^ site_hash.rotate_left(32),
            row.url,
            row.cluster,
            firing,
        ];
        let to = (page[1] % self.open.len() as u64) as usize;
        self.open[to].push(page);
        if self.open[to].len() >= BATCH_ROWS {
            let shipment = self.ship(to);
            self.ready.push(shipment);
        }
    }

    /// Returns the remaining rows, for all workers.
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
