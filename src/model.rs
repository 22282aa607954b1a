//! Ids and small types that every module shares.
//!
//! A *record* is one URL of a crawl with its known properties: the label of its duplicate cluster, the
//! label of its site, the target of its redirect, its declared canonical URL. Records travel in
//! columns: one buffer of bytes and one list of offsets a batch, never one allocation a record.

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64, xxh3_64_with_seed, xxh3_128};

mod facts;
pub mod shown;
mod stage;

pub use facts::{DocumentKind, Facts, Fingerprint};
pub use stage::{Count, Description, Stage};

/// One crawl record, borrowed from the batch that holds it. All byte strings are valid UTF-8 (readers
/// reject others).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The URL as found, before any normalization.
    pub url: &'a [u8],
    /// Label of the duplicate cluster; a record without one is neither evidence nor a negative.
    pub cluster: Option<&'a [u8]>,
    /// The record's own site label, which goes before the registrable domain.
    pub site: Option<&'a [u8]>,
    /// True where the record redirects to, or declares as canonical, another URL than itself.
    pub elsewhere: bool,
}

/// Offset that marks an absent byte string.
const ABSENT: u32 = u32::MAX;

/// Records in columns: three byte strings a row (URL, cluster, site) end to end in one buffer.
///
/// A batch holds at most 4 GiB of bytes; readers cut batches long before (64 Ki rows or 4 MiB).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordBatch {
    bytes: Vec<u8>,
    /// `[start of url, start of cluster, start of site]` a row; a start of `ABSENT` means no value.
    starts: Vec<[u32; 3]>,
    /// End of a row's bytes.
    ends: Vec<u32>,
    elsewhere: Vec<bool>,
    /// Row, start and end in `target_bytes` of each origin that a record leads to, by rising row.
    targets: Vec<(u32, u32, u32)>,
    target_bytes: Vec<u8>,
    /// Facts of the rows, up to the last row with any.
    facts: facts::FactColumns,
}

impl RecordBatch {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when the batch holds no record.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all strings held.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets the records, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        self.ends.clear();
        self.elsewhere.clear();
        self.targets.clear();
        self.target_bytes.clear();
        self.facts.clear();
    }

    /// Adds a record.
    pub fn push(&mut self, record: Record<'_>) {
        let mut place = |value: Option<&[u8]>| {
            let Some(value) = value else { return ABSENT };
            let start = self.bytes.len() as u32;
            self.bytes.extend_from_slice(value);
            start
        };
        let row = [place(Some(record.url)), place(record.cluster), place(record.site)];
        self.starts.push(row);
        self.ends.push(self.bytes.len() as u32);
        self.elsewhere.push(record.elsewhere);
    }

    /// Adds a record of which more is known.
    pub fn push_with(&mut self, record: Record<'_>, facts: Facts<'_>) {
        self.facts.put(self.len(), facts);
        self.push(record);
        if let Some(target) = facts.redirect.or(facts.canonical) {
            self.note_target(target);
        }
    }

    /// Notes that the record added last redirects to, or declares as canonical, this URL. Only its scheme,
    /// host and port are kept, where they differ by their bytes from those of the record.
    ///
    /// # Panics
    /// When the batch is empty.
    pub fn note_target(&mut self, target: &[u8]) {
        let row = self.len() - 1;
        let target = before_path(target);
        if target.len() > before_host(target) && target != before_path(self.get(row).url) {
            let start = self.target_bytes.len() as u32;
            self.target_bytes.extend_from_slice(target);
            self.targets.push((row as u32, start, self.target_bytes.len() as u32));
        }
    }

    /// Rows of records that redirect to another origin, or declare it, by rising row, each with that origin
    /// as the source writes it (`https://www.example.org`).
    pub fn targets(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.targets.iter().map(|&(row, start, end)| (row as usize, &self.target_bytes[start as usize..end as usize]))
    }

    /// Notes what else is known of the record added last.
    ///
    /// # Panics
    /// When the batch is empty.
    pub fn note(&mut self, facts: Facts<'_>) {
        self.facts.put(self.len() - 1, facts);
    }

    /// Facts of the record at `row`; empty where only [`push`](Self::push) was called.
    pub fn facts(&self, row: usize) -> Facts<'_> {
        self.facts.get(row)
    }

    /// The record at `row`.
    ///
    /// # Panics
    /// When `row` is not below [`len`](Self::len).
    pub fn get(&self, row: usize) -> Record<'_> {
        let [url, cluster, site] = self.starts[row];
        let end = self.ends[row];
        let site_start = if site == ABSENT { end } else { site };
        let cluster_start = if cluster == ABSENT { site_start } else { cluster };
        let slice = |a: u32, b: u32| &self.bytes[a as usize..b as usize];
        Record {
            url: slice(url, cluster_start),
            cluster: (cluster != ABSENT).then(|| slice(cluster, site_start)),
            site: (site != ABSENT).then(|| slice(site, end)),
            elsewhere: self.elsewhere[row],
        }
    }

    /// All records in order.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        (0..self.len()).map(|row| self.get(row))
    }
}

/// Bytes up to the host of an absolute URL; all of what is none.
fn before_host(url: &[u8]) -> usize {
    memchr::memmem::find(url, b"://").map_or(url.len(), |at| at + 3)
}

/// An absolute URL up to its path, query or fragment.
fn before_path(url: &[u8]) -> &[u8] {
    let start = before_host(url);
    &url[..memchr::memchr3(b'/', b'?', b'#', &url[start..]).map_or(url.len(), |at| start + at)]
}

/// How records are assigned to sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SiteBy {
    /// The record's label, else the registrable domain of its host.
    #[default]
    Domain,
    /// The record's label, else its host.
    Host,
}

/// The documented 64-bit hash of bytes (XXH3): sampling, routing and row order depend on it, so it
/// never changes within a major version.
pub fn hash64(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// [`hash64`] with a seed, for independent decisions over the same bytes.
pub fn hash64_seeded(bytes: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// The documented 128-bit hash of bytes (XXH3), for identities that must not collide over 10^10 URLs.
pub fn hash128(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

/// [`hash128`] of bytes that come in pieces; the cuts between them do not count.
#[derive(Clone, Default)]
pub struct Hasher128(Xxh3Default);

impl Hasher128 {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes so far.
    pub fn hash(&self) -> u128 {
        self.0.digest128()
    }
}

impl std::fmt::Debug for Hasher128 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hasher128({:032x})", self.hash())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_of_pieces_is_that_of_the_whole() {
        let bytes: Vec<u8> = (0..5000u32).map(|n| n as u8).collect();
        for cut in [0, 1, 255, 256, 1024, 4999] {
            let mut hasher = Hasher128::default();
            hasher.update(&bytes[..cut]);
            hasher.update(&bytes[cut..]);
            assert_eq!(hasher.hash(), hash128(&bytes));
        }
    }

    #[test]
    fn a_batch_gives_back_what_was_pushed() {
        let mut batch = RecordBatch::default();
        let rows = [
            Record { url: b"http://a/", cluster: Some(b"1"), site: Some(b"s"), elsewhere: false },
            Record { url: b"http://b/", cluster: None, site: Some(b"s"), elsewhere: true },
            Record { url: b"http://c/", cluster: Some(b""), site: None, elsewhere: false },
            Record { url: b"", cluster: None, site: None, elsewhere: false },
        ];
        rows.iter().for_each(|&row| batch.push(row));
        assert_eq!(batch.iter().collect::<Vec<_>>(), rows);
    }
}
