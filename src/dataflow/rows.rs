//! Training records in columns, as they travel between workers and are stored in spill files.

use crate::rules::origins;
use crate::site::hints::Votes;
use crate::spill::{SpillColumns, View};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::HashMap;

/// Hash of the cluster of a record without a label; above that of any label.
pub const UNLABELLED: u64 = u64::MAX;
/// Length of an absent label.
const ABSENT: u32 = u32::MAX;

/// Origins with their votes.
pub type Origins = Vec<(Vec<u8>, Votes)>;

/// Candidates for training. Each row names its site by its place in the batch's own list of names.
///
/// A batch holds less than 4 GiB of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// Hash of each URL, as the sample orders them.
    pub url_hash: Vec<u64>,
    /// Hash of each label; [`UNLABELLED`] without one.
    pub cluster_hash: Vec<u64>,
    /// Place of each row's site in the list of names.
    pub site: Vec<u32>,
    /// Start of each row in `bytes`.
    start: Vec<u32>,
    url_len: Vec<u32>,
    label_len: Vec<u32>,
    elsewhere: Vec<bool>,
    bytes: Vec<u8>,
    name_end: Vec<u32>,
    name_bytes: Vec<u8>,
    /// Place of a site in the list of names, and the origins that records of it lead to.
    pub targets: Vec<(u32, Origins)>,
    /// Candidates of sites of the whole run, by key: see [`held_out`](super::held_out).
    pub candidates: Vec<(u64, u64)>,
}

/// Bytes of a row's fixed columns.
const ROW_BYTES: usize = 33;

impl Rows {
    /// Rows with only candidates of sites.
    pub fn of_candidates(candidates: Vec<(u64, u64)>) -> Rows {
        Rows { candidates, ..Rows::default() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.site.len()
    }

    /// True without any row (names there may be).
    pub fn is_empty(&self) -> bool {
        self.site.is_empty()
    }

    /// Bytes of the rows' strings.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes the rows take.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.name_bytes.len() + self.len() * ROW_BYTES
    }

    /// Number of site names.
    pub fn sites(&self) -> usize {
        self.name_end.len()
    }

    /// Name of a site.
    pub fn site_name(&self, site: u32) -> &[u8] {
        let start = if site == 0 { 0 } else { self.name_end[site as usize - 1] as usize };
        &self.name_bytes[start..self.name_end[site as usize] as usize]
    }

    /// Adds a site name, gives its place.
    pub fn push_site(&mut self, name: &[u8]) -> u32 {
        self.name_bytes.extend_from_slice(name);
        self.name_end.push(self.name_bytes.len() as u32);
        self.name_end.len() as u32 - 1
    }

    /// Adds a row.
    pub fn push(
        &mut self,
        site: u32,
        url_hash: u64,
        cluster_hash: u64,
        url: &[u8],
        label: Option<&[u8]>,
        elsewhere: bool,
    ) {
        self.url_hash.push(url_hash);
        self.cluster_hash.push(cluster_hash);
        self.site.push(site);
        self.start.push(self.bytes.len() as u32);
        self.url_len.push(url.len() as u32);
        self.label_len.push(label.map_or(ABSENT, |l| l.len() as u32));
        self.elsewhere.push(elsewhere);
        self.bytes.extend_from_slice(url);
        self.bytes.extend_from_slice(label.unwrap_or_default());
    }

    /// URL, label and `elsewhere` of a row.
    pub fn record(&self, row: usize) -> (&[u8], Option<&[u8]>, bool) {
        let start = self.start[row] as usize;
        let end = start + self.url_len[row] as usize;
        let label = self.label_len[row];
        let label = (label != ABSENT).then(|| &self.bytes[end..end + label as usize]);
        (&self.bytes[start..end], label, self.elsewhere[row])
    }

    /// True for a row that is an origin of the site and no record.
    pub fn is_origin(&self, row: usize) -> bool {
        let url = self.record(row).0;
        (self.url_hash[row], self.cluster_hash[row]) == (ORIGIN, UNLABELLED) && origins::of(url).len() == url.len()
    }

    /// Order of two rows of one site whose hashes are equal.
    pub fn tie(&self, row: usize, other: &Rows, other_row: usize) -> Ordering {
        self.record(row).cmp(&other.record(other_row))
    }

    /// The rows at these places, with all names and targets.
    pub fn gather(&self, places: impl Iterator<Item = usize>) -> Rows {
        let (name_end, name_bytes) = (self.name_end.clone(), self.name_bytes.clone());
        let mut out = Rows { name_end, name_bytes, targets: self.targets.clone(), ..Rows::default() };
        places.for_each(|row| out.push_from(self, row, self.site[row]));
        out
    }

    /// Adds a row of another batch under the site `site`.
    pub fn push_from(&mut self, other: &Rows, row: usize, site: u32) {
        let (url, label, elsewhere) = other.record(row);
        self.push(site, other.url_hash[row], other.cluster_hash[row], url, label, elsewhere);
    }

    /// Removes the rows, names, targets and candidates; keeps the memory.
    pub fn clear(&mut self) {
        self.url_hash.clear();
        self.cluster_hash.clear();
        self.site.clear();
        self.start.clear();
        self.url_len.clear();
        self.label_len.clear();
        self.elsewhere.clear();
        self.bytes.clear();
        self.name_end.clear();
        self.name_bytes.clear();
        self.targets.clear();
        self.candidates.clear();
    }

    /// Writes the rows (not the names) to a spill file: hashes, then sites and lengths, then flags and
    /// strings.
    pub fn to_columns(&self, out: &mut SpillColumns) {
        out.clear();
        out.wide.extend_from_slice(&self.url_hash);
        out.wide.extend_from_slice(&self.cluster_hash);
        out.mid.extend_from_slice(&self.site);
        out.mid.extend_from_slice(&self.url_len);
        out.mid.extend_from_slice(&self.label_len);
        out.bytes.extend(self.elsewhere.iter().map(|&e| u8::from(e)));
        out.bytes.extend_from_slice(&self.bytes);
    }
}

/// Rows as [`Rows::to_columns`] laid them out, read in place from front to back.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowsCursor {
    row: usize,
    start: usize,
}

impl RowsCursor {
    /// Site of the current row; `None` past the end.
    pub fn site(&self, view: View<'_>) -> Option<u32> {
        let rows = view.mid.len() / 3;
        (self.row < rows).then(|| view.mid[self.row])
    }

    /// Copies the row into `rows` under the site 0 and goes to the next.
    pub fn copy(&mut self, view: View<'_>, rows: &mut Rows) {
        let (n, row) = (view.mid.len() / 3, self.row);
        let url_end = self.start + view.mid[n + row] as usize;
        let label = view.mid[2 * n + row];
        let end = if label == ABSENT { url_end } else { url_end + label as usize };
        let strings = &view.bytes[n..];
        let (url, label) = (&strings[self.start..url_end], (label != ABSENT).then(|| &strings[url_end..end]));
        rows.push(0, view.wide[row], view.wide[n + row], url, label, view.bytes[row] != 0);
        *self = RowsCursor { row: row + 1, start: end };
    }
}

/// Names and their ids, dense from 0 in order of first sight.
#[derive(Clone, Debug, Default)]
pub struct Names {
    ids: HashMap<Box<[u8]>, u32, foldhash::fast::FixedState>,
    names: Vec<Box<[u8]>>,
}

impl Names {
    /// The id of a name, new or not.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.ids.insert(name.into(), id);
        self.names.push(name.into());
        id
    }

    /// The name of an id.
    pub fn get(&self, id: u32) -> &[u8] {
        &self.names[id as usize]
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True without any name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Hash of an origin that travels as a record without a label: a URL has it only by chance.
pub const ORIGIN: u64 = 0;
