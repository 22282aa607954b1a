//! The training records of a site.

use super::hints;
use crate::url::{NormalRef, NormalUrls};
use foldhash::fast::FixedState;
use std::collections::BTreeSet;

/// The training records of one site: distinct URLs, sorted by (hash64 of the URL, URL), labels as dense
/// ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    /// Label or registrable domain of the site.
    pub site: String,
    /// URLs end to end.
    pub bytes: Vec<u8>,
    /// End of each URL in `bytes`.
    pub ends: Vec<u32>,
    /// Cluster of each URL: ids dense from 0 in order of first row; `u32::MAX` for a record without a
    /// label.
    pub clusters: Vec<u32>,
    /// The record redirects to, or declares as canonical, another URL.
    pub elsewhere: Vec<bool>,
    /// URLs that came with two labels: the larger cluster won, ties by label bytes.
    pub conflicts: u64,
    /// Origins of the labelled records of the site, whether they train or not; those of all rows once
    /// lines of the catalogue act provisionally on a site without a label.
    pub origins: BTreeSet<String>,
    /// Preferences among equals.
    pub hints: hints::Hints,
    pub(super) normal: NormalUrls,
}

impl Training {
    /// Builds the training set of `site` from records in any order: `(url, cluster label, elsewhere)`.
    /// Repeats of a URL with one label count once; of two labels the one with more distinct URLs here wins,
    /// ties by label bytes (the smaller), and the conflict is counted.
    pub fn new<'a>(site: &str, records: impl IntoIterator<Item = (&'a [u8], Option<&'a [u8]>, bool)>) -> Training {
        // URL, label, id of the label, elsewhere.
        type TrainingRow<'a> = (&'a [u8], Option<&'a [u8]>, u32, bool);
        let mut ids: std::collections::HashMap<&[u8], u32, foldhash::fast::FixedState> = Default::default();
        let mut rows: Vec<TrainingRow> = Vec::new();
        let mut order: Vec<(u64, u32)> = Vec::new();
        for (url, label, elsewhere) in records {
            let next = ids.len() as u32;
            let id = label.map_or(u32::MAX, |l| *ids.entry(l).or_insert(next));
            order.push((crate::model::hash64(url), rows.len() as u32));
            rows.push((url, label, id, elsewhere));
        }
        order.sort_unstable();
        // Of each URL and label the first is kept; `elsewhere` is joined over all records of a URL. Equal
        // hashes are adjacent, so only these are compared as bytes.
        let mut sizes = vec![0u32; ids.len()];
        let mut kept: Vec<u32> = Vec::with_capacity(rows.len());
        for same_hash in order.chunk_by_mut(|a, b| a.0 == b.0) {
            if same_hash.len() > 1 {
                same_hash.sort_unstable_by_key(|&(_, at)| (rows[at as usize].0, rows[at as usize].1));
            }
            for &(_, at) in &*same_hash {
                let (url, _, id, elsewhere) = rows[at as usize];
                match kept.last().map(|&last| &mut rows[last as usize]) {
                    Some(last) if last.2 == id && last.0 == url => last.3 |= elsewhere,
                    _ => {
                        kept.push(at);
                        if let Some(size) = sizes.get_mut(id as usize) {
                            *size += 1;
                        }
                    }
                }
            }
        }
        let mut out = Training { site: site.to_owned(), ..Training::default() };
        out.bytes.reserve(kept.iter().map(|&at| rows[at as usize].0.len()).sum());
        // Ids in order of first row, from those in order of arrival.
        let mut dense = vec![u32::MAX; ids.len()];
        let mut next = 0;
        for group in kept.chunk_by(|&a, &b| rows[a as usize].0 == rows[b as usize].0) {
            let records = group.iter().map(|&at| &rows[at as usize]);
            let labelled = records.clone().filter(|r| r.1.is_some());
            out.conflicts += u64::from(labelled.clone().count() > 1);
            let size = |r: &TrainingRow| sizes[r.2 as usize];
            let label = labelled.max_by(|a, b| size(a).cmp(&size(b)).then_with(|| b.1.cmp(&a.1)));
            out.bytes.extend_from_slice(rows[group[0] as usize].0);
            out.normal.push(rows[group[0] as usize].0);
            out.ends.push(out.bytes.len() as u32);
            if let Some(normal) = out.normal.get(out.ends.len() - 1).filter(|_| label.is_some()) {
                let origin = normal.origin();
                if !normal.has_user() && !out.origins.contains(origin) {
                    out.origins.insert(origin.to_owned());
                }
            }
            out.clusters.push(label.map_or(u32::MAX, |r| {
                let id = &mut dense[r.2 as usize];
                if *id == u32::MAX {
                    *id = next;
                    next += 1;
                }
                *id
            }));
            out.elsewhere.push(records.clone().any(|r| r.3));
        }
        out
    }

    /// The rows that `keeps` names, with their clusters numbered anew, to be judged on the other rows. So
    /// without the earlier result: its rules, which come first, may have been learned from these.
    pub(super) fn subset(&self, keeps: impl Fn(usize) -> bool) -> Training {
        let hints = hints::Hints { targets: self.hints.targets.clone(), previous: None };
        let origins = self.origins.clone();
        let mut out = Training { site: self.site.clone(), origins, hints, ..Training::default() };
        let mut dense: std::collections::HashMap<u32, u32, FixedState> = Default::default();
        for row in (0..self.len()).filter(|&row| keeps(row)) {
            out.bytes.extend_from_slice(self.url(row));
            out.normal.push_from(&self.normal, row);
            out.ends.push(out.bytes.len() as u32);
            let next = dense.len() as u32;
            out.clusters.push(match self.clusters[row] {
                u32::MAX => u32::MAX,
                id => *dense.entry(id).or_insert(next),
            });
            out.elsewhere.push(self.elsewhere[row]);
        }
        out
    }

    /// Makes the origins of all rows those of the site where no record of it has a label.
    pub(super) fn act_without_labels(&mut self) {
        if self.origins.is_empty() {
            let urls = (0..self.len()).filter_map(|row| self.normal.get(row)).filter(|url| !url.has_user());
            self.origins = urls.map(|url| url.origin().to_owned()).collect();
        }
    }

    /// Number of distinct URLs.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without any URL.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// URL of a row.
    pub fn url(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[start..self.ends[row] as usize]
    }

    /// Normal form of the URL of a row; `None` where it is invalid.
    pub fn normal(&self, row: usize) -> Option<NormalRef<'_>> {
        self.normal.get(row)
    }

    /// Bytes of memory in use, without spare capacity.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.len() * 9 + self.normal.memory()
    }
}
