//! Canonical URLs that another program predicted, as a method of a comparison.
//!
//! A URL without a prediction keeps itself as canonical URL and is counted. URLs are compared as found,
//! byte for byte. Predictions have no `fpr_max`: they are the same at each.
//!
//! Memory: 32 bytes and one bit a line, and the canonical URL with one byte more where it differs from
//! the URL; while they are read, up to twice that. URLs are held as 128-bit hashes.

use super::protocol::Records;
use super::{Canonicalizer, Learned, Method, RuleReport, Sample, Selected};
use crate::model::{Hasher128, hash128};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One prediction.
#[derive(Clone, Copy, Debug)]
struct Entry {
    url: u128,
    /// Start of the canonical URL in `texts`, which ends with a line feed; [`ITSELF`] for the URL itself.
    text: u64,
    /// Line of the file, from 1.
    line: u64,
}

/// Place of a canonical URL that is the URL.
const ITSELF: u64 = u64::MAX;

/// Two lines with different canonical URLs for one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The earlier line.
    pub first: u64,
    /// The later line.
    pub second: u64,
}

/// Predictions on their way in.
#[derive(Debug, Default)]
pub struct Reading {
    entries: Vec<Entry>,
    texts: Vec<u8>,
    hasher: Hasher128,
}

impl Reading {
    /// Adds a line. Neither URL may hold a line feed.
    pub fn add(&mut self, url: &[u8], canonical: &[u8], line: u64) {
        for part in [url, b"\t", canonical, b"\n"] {
            self.hasher.update(part);
        }
        let mut text = ITSELF;
        if url != canonical {
            text = self.texts.len() as u64;
            self.texts.extend_from_slice(canonical);
            self.texts.push(b'\n');
        }
        self.entries.push(Entry { url: hash128(url), text, line });
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.texts.capacity()
    }

    /// The predictions; `rejected` lines were none.
    ///
    /// # Errors
    /// The [`Conflict`] that ends first.
    pub fn finish(self, rejected: u64) -> Result<Predictions, Conflict> {
        let Reading { mut entries, mut texts, hasher } = self;
        let lines = entries.len() as u64;
        entries.sort_unstable_by_key(|entry| (entry.url, entry.line));
        let same = |a: &Entry, b: &Entry| a.url == b.url && text(&texts, a.text) != text(&texts, b.text);
        let conflicts = entries.windows(2).filter(|pair| same(&pair[0], &pair[1]));
        let conflict = conflicts.map(|pair| Conflict { first: pair[0].line, second: pair[1].line });
        if let Some(conflict) = conflict.min_by_key(|conflict| conflict.second) {
            return Err(conflict);
        }
        entries.dedup_by_key(|entry| entry.url);
        entries.shrink_to_fit();
        texts.shrink_to_fit();
        let hits = (0..entries.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Predictions { entries, texts, hits, lines, rejected, digest: hasher.hash() })
    }
}

/// The text at a place; `None` for [`ITSELF`].
fn text(texts: &[u8], place: u64) -> Option<&[u8]> {
    let rest = texts.get(usize::try_from(place).ok()?..)?;
    Some(&rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())])
}

/// The predictions of one file.
pub struct Predictions {
    /// By the hash of the URL.
    entries: Vec<Entry>,
    texts: Vec<u8>,
    /// A bit an entry: its URL is in the corpus. Only ever set, so the order of workers does not matter.
    hits: Vec<AtomicU64>,
    lines: u64,
    rejected: u64,
    digest: u128,
}

/// Digest and counts: processes of a run must agree on the text.
impl std::fmt::Debug for Predictions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Predictions({:032x}, {} lines, {} rejected)", self.digest, self.lines, self.rejected)
    }
}

impl Predictions {
    /// The canonical URL of a URL; `None` without a prediction.
    pub fn get<'a>(&'a self, url: &'a [u8]) -> Option<&'a [u8]> {
        let at = self.place(url)?;
        Some(text(&self.texts, self.entries[at].text).unwrap_or(url))
    }

    /// Lines that are predictions, repeated ones included.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Lines that are none.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Lines that repeat an earlier one.
    pub fn duplicated(&self) -> u64 {
        self.lines - self.entries.len() as u64
    }

    /// URLs that no record of the corpus has, as far as [`Method::learn`] was shown its records.
    pub fn unknown(&self) -> u64 {
        let hits: u64 = self.hits.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum();
        self.entries.len() as u64 - hits
    }

    /// Which URLs the corpus has, a bit an entry, for [`join`](Self::join) at another process.
    pub fn hits(&self) -> Vec<u64> {
        self.hits.iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// Adds the counts of another process with the same predictions.
    pub fn join(&self, hits: &[u64]) {
        for (mine, theirs) in self.hits.iter().zip(hits) {
            mine.fetch_or(*theirs, Ordering::Relaxed);
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.texts.capacity() + self.hits.len() * size_of::<u64>()
    }

    fn place(&self, url: &[u8]) -> Option<usize> {
        let hash = hash128(url);
        self.entries.binary_search_by_key(&hash, |entry| entry.url).ok()
    }

    /// Notes that the corpus has a URL.
    fn meet(&self, url: &[u8]) {
        if let Some(at) = self.place(url) {
            self.hits[at / 64].fetch_or(1 << (at % 64), Ordering::Relaxed);
        }
    }
}

/// The method: predictions for each seed, or (`None`) for all.
#[derive(Clone, Debug, Default)]
pub struct Outside(pub BTreeMap<Option<u64>, Arc<Predictions>>);

impl Method for Outside {
    /// Learns nothing, and notes which predictions are of records of the site.
    fn learn(&self, sample: &Sample<'_>) -> Box<dyn Learned> {
        let predictions = self.0.get(&Some(sample.seed)).or_else(|| self.0.get(&None)).cloned();
        if let Some(predictions) = &predictions {
            sample.records.rows().for_each(|(url, _)| predictions.meet(url));
        }
        Box::new(Lookup(predictions))
    }
}

/// The predictions for one seed, if there are any.
#[derive(Clone)]
struct Lookup(Option<Arc<Predictions>>);

impl Lookup {
    fn get<'a>(&'a self, url: &'a [u8]) -> Option<&'a [u8]> {
        self.0.as_ref()?.get(url)
    }
}

impl Learned for Lookup {
    fn select(&self, _: f64) -> Selected {
        Selected { qualified: 0, deployed: 0, rules: Box::new(self.clone()) }
    }

    fn missing(&self, records: &Records, test: &[usize]) -> Option<u64> {
        let mut missing: HashSet<u128, foldhash::fast::FixedState> = HashSet::default();
        let urls = test.iter().map(|&row| records.get(row).0);
        missing.extend(urls.filter(|url| self.get(url).is_none()).map(hash128));
        Some(missing.len() as u64)
    }
}

impl Canonicalizer for Lookup {
    fn canonicalize(&mut self, url: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.get(url).unwrap_or(url));
    }

    fn report(&self) -> Vec<RuleReport> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictions(lines: &[(&str, &str)]) -> Result<Predictions, Conflict> {
        let mut reading = Reading::default();
        let numbered = lines.iter().zip(1..);
        numbered.for_each(|((url, canonical), line)| reading.add(url.as_bytes(), canonical.as_bytes(), line));
        reading.finish(3)
    }

    #[test]
    fn each_url_has_its_canonical_url() {
        let lines = [
            ("http://a/1", "http://a/"),
            ("http://a/2", "http://a/2"),
            ("http://a/3", "x"),
            ("http://a/1", "http://a/"),
        ];
        let predictions = predictions(&lines).expect("no conflict");
        for (url, canonical) in lines {
            assert_eq!(predictions.get(url.as_bytes()), Some(canonical.as_bytes()));
        }
        assert_eq!(predictions.get(b"http://a/4"), None);
        assert_eq!((predictions.lines(), predictions.rejected(), predictions.duplicated()), (4, 3, 1));
        let text = predictions.bytes() - 3 * size_of::<Entry>() - size_of::<u64>();
        assert_eq!(text, "http://a/\nx\nhttp://a/\n".len(), "a URL that stays costs no text");
    }

    #[test]
    fn the_conflict_that_ends_first_is_told() {
        let lines = [("b", "1"), ("a", "1"), ("a", "1"), ("a", "a"), ("b", "2")];
        assert_eq!(predictions(&lines).err(), Some(Conflict { first: 3, second: 4 }));
        assert_eq!(predictions(&lines[..3]).err(), None);
    }

    #[test]
    fn urls_of_the_corpus_and_urls_without_a_prediction_are_counted() {
        let lines = [("http://a/1", "x"), ("http://a/2", "x"), ("http://b/", "x")];
        let predictions = Arc::new(predictions(&lines).expect("no conflict"));
        let mut records = Records::new("a");
        for url in ["http://a/1", "http://a/2", "http://a/3", "http://a/3", "http://a/4"] {
            records.push(url.as_bytes(), b"c", false);
        }
        let method = Outside([(Some(7), predictions.clone())].into());
        let learn = |seed, test: &[usize]| {
            let learned = method.learn(&Sample { seed, ..Sample::new(&records, &[0]) });
            learned.missing(&records, test)
        };
        assert_eq!(learn(8, &[0, 2, 3]), Some(2), "no predictions for this seed");
        assert_eq!(predictions.unknown(), 3);
        assert_eq!(learn(7, &[0, 1, 2, 3]), Some(1), "a repeated URL is one");
        assert_eq!(predictions.unknown(), 1);
        predictions.join(&[0b111]);
        assert_eq!((predictions.unknown(), predictions.hits()), (0, vec![0b111]));
    }

    #[test]
    fn processes_can_tell_other_predictions() {
        let text = |lines: &[(&str, &str)]| format!("{:?}", predictions(lines).expect("no conflict"));
        let one = text(&[("a", "b"), ("c", "d")]);
        assert_eq!(one, text(&[("a", "b"), ("c", "d")]));
        assert_ne!(one, text(&[("a", "b"), ("c", "e")]));
        assert_ne!(one, text(&[("a", "bc"), ("", "d")]));
    }
}
