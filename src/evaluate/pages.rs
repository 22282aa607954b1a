//! The rows of one site, held as hashes, and the counts that follow from them.

use super::Counts;
use crate::model::{hash64, hash128};

/// One labelled URL.
#[derive(Clone, Copy, Debug)]
struct LabelledUrl {
    url: u128,
    canonical: u128,
    cluster: u64,
    /// Place in the input, shifted left by one; the lowest bit is set if the canonical URL holds `*`.
    place: u64,
}

/// The labelled URLs of one site, in the order in which a crawler meets them.
///
/// 48 bytes a row, no strings: URLs and canonical URLs are 128-bit hashes, clusters 64-bit ones (two of
/// 10^8 clusters of a site fall together with probability 3e-4). Parts join with
/// [`append`](Self::append), in input order.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    rows: Vec<LabelledUrl>,
}

impl Pages {
    /// Adds the next row; one without a label is skipped.
    pub fn push(&mut self, url: &[u8], canonical: &[u8], cluster: Option<&[u8]>) {
        let Some(cluster) = cluster else { return };
        let star = u64::from(memchr::memchr(b'*', canonical).is_some());
        let url_hash = hash128(url);
        let canonical = if url == canonical { url_hash } else { hash128(canonical) };
        let place = (self.rows.len() as u64) << 1 | star;
        self.rows.push(LabelledUrl { url: url_hash, canonical, cluster: hash64(cluster), place });
    }

    /// Adds the rows that come after these in the input.
    pub fn append(&mut self, later: &Pages) {
        let shift = (self.rows.len() as u64) << 1;
        self.rows.extend(later.rows.iter().map(|&row| LabelledUrl { place: row.place + shift, ..row }));
    }

    /// Rows held, repeated URLs included.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True when no row is held.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The counts of the site. Sorts the rows twice in place: n log n, and 16 bytes a row of scratch.
    pub fn counts(mut self) -> Counts {
        let mut counts = Counts::default();
        let rows = &mut self.rows;
        rows.sort_unstable_by_key(|row| (row.url, row.place));
        rows.dedup_by_key(|row| row.url);
        counts.urls = rows.len() as u64;
        count_rewritten(rows, &mut counts);
        count_clusters(rows, &mut counts);
        rows.sort_unstable_by_key(|row| (row.canonical, row.cluster));
        count_groups(rows, &mut counts);
        counts
    }
}

/// Unordered pairs of `n` things.
fn pairs(n: usize) -> u64 {
    let n = n as u64;
    n * n.saturating_sub(1) / 2
}

/// Counts the canonical URLs of rewritten URLs; `rows` sorted by URL, each URL once.
fn count_rewritten(rows: &[LabelledUrl], counts: &mut Counts) {
    for row in rows.iter().filter(|row| row.url != row.canonical) {
        counts.rewritten += 1;
        counts.star += row.place & 1;
        if let Ok(at) = rows.binary_search_by_key(&row.canonical, |listed| listed.url) {
            match rows[at].cluster == row.cluster {
                true => counts.fetch_ok += 1,
                false => counts.fetch_bad += 1,
            }
        }
    }
}

/// Clusters and the pairs inside them.
fn count_clusters(rows: &[LabelledUrl], counts: &mut Counts) {
    let mut clusters: Vec<u64> = rows.iter().map(|row| row.cluster).collect();
    clusters.sort_unstable();
    for cluster in clusters.chunk_by(|a, b| a == b) {
        counts.clusters += 1;
        counts.duplicate_pairs += pairs(cluster.len());
    }
}

/// Counts the groups of one canonical URL; `rows` sorted by canonical URL, then cluster.
fn count_groups(rows: &[LabelledUrl], counts: &mut Counts) {
    let mut fetched: Vec<u64> = Vec::new();
    for group in rows.chunk_by(|a, b| a.canonical == b.canonical) {
        let mut largest = 0;
        let mut true_pairs = 0;
        for part in group.chunk_by(|a, b| a.cluster == b.cluster) {
            largest = largest.max(part.len());
            true_pairs += pairs(part.len());
        }
        counts.canonical += 1;
        counts.support_pairs += pairs(group.len());
        counts.false_positive_pairs += pairs(group.len()) - true_pairs;
        if group.len() > 1 {
            counts.merged += group.len() as u64;
            counts.wrong += (group.len() - largest) as u64;
        }
        fetched.extend(group.iter().min_by_key(|row| row.place).map(|first| first.cluster));
    }
    fetched.sort_unstable();
    fetched.dedup();
    counts.covered = fetched.len() as u64;
}
