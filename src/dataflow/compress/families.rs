//! Groups of duplicates: plain functions on rows, without a worker.
//!
//! Three kinds of rows, each a string of bytes that orders by its fields (numbers are big-endian):
//!
//! | row | fields |
//! |---|---|
//! | joining, a document | hash of its name (16), 0, old id (4), length (4) |
//! | joining, a URL | hash of the name (16), 1, hash of the canonical URL (16), not canonical (1), length (4), line (8), canonical URL |
//! | grouping | 0, hash of the canonical URL (16), or 1, zeros (12), old id (4) without one; rank (9), old id (4), canonical URL |
//!
//! So sorted rows of a group begin with the surviving document. Canonical URLs are the same page where
//! their 128-bit hashes are equal, as in the proof of `learn`; the URLs themselves travel only where
//! they are wanted.

use super::counts::Counts;
use super::rows::{ByteRows, number};
use super::types::{Documents, Task, UrlsBy};
use crate::index::policy::{DocumentProperties, RANK};
use crate::model::hash128;
use crate::rules::{RuleSet, Scratch};
use std::sync::Arc;

/// Bytes of a row by which it is sent: rows that must meet share them.
const HASH: usize = 16;
/// Bytes of the key of a group.
const GROUP: usize = 1 + HASH;

/// The worker of a row, of `peers`: by its hash.
fn owner(hash: &[u8], peers: usize) -> usize {
    let hash = u64::from_be_bytes(hash[hash.len() - 8..].try_into().expect("eight bytes"));
    (hash % peers as u64) as usize
}

/// Documents and lines to rows.
pub struct RowMaker {
    task: Task,
    rules: Arc<RuleSet>,
    scratch: Scratch,
    /// Rows for each worker.
    pub rows: Vec<ByteRows>,
    /// Counts of documents and URLs.
    pub counts: Counts,
}

impl RowMaker {
    /// Makes rows for `peers` workers.
    pub fn new(task: Task, rules: Arc<RuleSet>, peers: usize) -> RowMaker {
        let rows = vec![ByteRows::default(); peers];
        RowMaker { task, rules, scratch: Scratch::default(), rows, counts: Counts::default() }
    }

    /// Takes documents: grouping rows where their names are URLs, else joining rows.
    pub fn documents(&mut self, documents: &Documents) {
        let peers = self.rows.len();
        for (&(doc, length), name) in documents.docs.iter().zip(documents.names.iter()) {
            self.counts.docs += 1;
            let id = doc.to_be_bytes();
            match self.task.urls_by {
                UrlsBy::Records => {
                    let url = canonical(&self.rules, name, &mut self.scratch);
                    group_row(&self.task, doc, length, url.as_ref(), &mut self.rows);
                    self.counts.without_url += u64::from(url.is_none());
                }
                UrlsBy::Names | UrlsBy::Ids => {
                    let key = if self.task.urls_by == UrlsBy::Ids { hash128(&id) } else { hash128(name) };
                    let key = key.to_be_bytes();
                    self.rows[owner(&key, peers)].push(&[&key, &[0], &id, &length.to_be_bytes()]);
                }
            }
        }
    }

    /// Takes lines, the first of which is line `first` of the list: joining rows.
    pub fn lines(&mut self, first: u64, lines: &[u8]) {
        let peers = self.rows.len();
        let body = lines.strip_suffix(b"\n").unwrap_or(lines);
        for (line, text) in (first..).zip(body.split(|&byte| byte == b'\n')) {
            self.counts.lines += 1;
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            let (key, url) = text.split_at(memchr::memchr(b'\t', text).unwrap_or(text.len()));
            let url = url.strip_prefix(b"\t").unwrap_or_default();
            let key = match self.task.urls_by {
                UrlsBy::Ids => {
                    let id = std::str::from_utf8(key).ok().and_then(|key| key.parse::<u32>().ok());
                    id.map(|id| hash128(&id.to_be_bytes()).to_be_bytes())
                }
                _ => Some(hash128(key).to_be_bytes()),
            };
            let (Some(key), Some(url)) = (key, canonical(&self.rules, url, &mut self.scratch)) else {
                self.counts.bad_lines += 1;
                continue;
            };
            let shown: &[u8] = if self.task.wants_urls() { url.url } else { &[] };
            let (hash, length) = (hash128(url.url).to_be_bytes(), url.bytes.to_be_bytes());
            let line = line.to_be_bytes();
            let row = &[&key[..], &[1], &hash, &[u8::from(!url.own)], &length, &line, shown];
            self.rows[owner(&key, peers)].push(row);
        }
    }
}

impl Task {
    /// Canonical URLs are wanted, not only their hashes.
    fn wants_urls(&self) -> bool {
        self.by_url || self.keep_urls
    }
}

/// Canonical form of a URL.
struct Url<'s> {
    /// The canonical URL.
    url: &'s [u8],
    /// It is the document's own.
    own: bool,
    /// Length of the document's own in bytes.
    bytes: u32,
}

/// The canonical URL; `None` where the URL is none.
fn canonical<'s>(rules: &'s RuleSet, url: &[u8], scratch: &'s mut Scratch) -> Option<Url<'s>> {
    // Lines are bytes; a line that is not UTF-8 is no URL.
    std::str::from_utf8(url).ok()?;
    let applied = rules.apply(url, None, scratch);
    (!applied.invalid).then_some(Url { url: applied.url, own: applied.url == url, bytes: url.len() as u32 })
}

/// Adds the grouping row of a document.
fn group_row(task: &Task, doc: u32, length: u32, url: Option<&Url<'_>>, rows: &mut [ByteRows]) {
    let (peers, id) = (rows.len(), doc.to_be_bytes());
    match url {
        Some(url) => {
            let hash = hash128(url.url).to_be_bytes();
            let rank = task.policy.rank(DocumentProperties { canonical: url.own, url_bytes: url.bytes, length });
            let shown: &[u8] = if task.wants_urls() { url.url } else { &[] };
            rows[owner(&hash, peers)].push(&[&[0], &hash, &rank, &id, shown]);
        }
        None => {
            let key = u128::from(doc).to_be_bytes();
            rows[owner(&key, peers)].push(&[&[1], &key, &[0; RANK], &id]);
        }
    }
}

/// Joining rows, sorted, to grouping rows.
#[derive(Debug)]
pub struct Joiner {
    task: Task,
    /// The name at hand.
    key: [u8; HASH],
    /// Documents of this name (most often one), that had no URL yet.
    docs: Vec<(u32, u32)>,
    /// Some document has this name.
    known: bool,
    /// The canonical hash and line of the first URL of this name.
    first: Option<([u8; HASH], u64)>,
    /// Grouping rows for each worker.
    pub rows: Vec<ByteRows>,
    /// Counts of documents and URLs.
    pub counts: Counts,
}

impl Joiner {
    /// Makes rows for `peers` workers.
    pub fn new(task: Task, peers: usize) -> Joiner {
        let rows = vec![ByteRows::default(); peers];
        Joiner { task, key: [0; HASH], docs: Vec::new(), known: false, first: None, rows, counts: Counts::default() }
    }

    /// Takes a row.
    pub fn row(&mut self, row: &[u8]) {
        let (key, rest) = row.split_at(HASH);
        if key != self.key {
            self.end_name();
            self.key.copy_from_slice(key);
        }
        let (kind, rest) = rest.split_at(1);
        if kind == [0] {
            self.docs.push((number(&rest[..4]), number(&rest[4..8])));
            self.known = true;
            return;
        }
        if !self.known {
            self.counts.idle_lines += 1;
            return;
        }
        let (hash, rest) = rest.split_at(HASH);
        let line = u64::from_be_bytes(rest[5..13].try_into().expect("eight bytes of a row of our own"));
        match self.first {
            // A repeated name with the same page adds nothing.
            Some((known, _)) if known == hash => return,
            Some((_, other)) => {
                let pair = (other.min(line), other.max(line));
                self.counts.conflict = Some(self.counts.conflict.map_or(pair, |before| before.min(pair)));
                return;
            }
            None => self.first = Some((hash.try_into().expect("sixteen bytes"), line)),
        }
        let own = rest[0] == 0;
        let url_bytes = number(&rest[1..5]);
        let peers = self.rows.len();
        for (doc, length) in self.docs.drain(..) {
            let rank = self.task.policy.rank(DocumentProperties { canonical: own, url_bytes, length });
            self.rows[owner(hash, peers)].push(&[&[0], hash, &rank, &doc.to_be_bytes(), &rest[13..]]);
        }
    }

    /// Ends the last name after all rows.
    pub fn end_name(&mut self) {
        for (doc, length) in std::mem::take(&mut self.docs) {
            group_row(&self.task, doc, length, None, &mut self.rows);
            self.counts.without_url += 1;
        }
        (self.first, self.known) = (None, false);
    }
}

/// Grouping rows, sorted, to decisions.
#[derive(Debug)]
pub struct Grouper {
    task: Task,
    key: [u8; GROUP],
    survivor: u32,
    size: u64,
    /// Documents and their survivors.
    pub pairs: Vec<(u32, u32)>,
    /// Rows that order survivors: 0 and the canonical URL, or 1 without one; 0; the old id.
    pub order: ByteRows,
    /// Old id and canonical URL of every document.
    pub urls: ByteRows,
    /// Counts of documents and URLs.
    pub counts: Counts,
}

impl Grouper {
    /// A grouper without decisions.
    pub fn new(task: Task) -> Grouper {
        let (pairs, order, urls, counts) = Default::default();
        // No row has this key.
        Grouper { task, key: [u8::MAX; GROUP], survivor: 0, size: 0, pairs, order, urls, counts }
    }

    /// Takes a row.
    pub fn row(&mut self, row: &[u8]) {
        let (key, rest) = row.split_at(GROUP);
        let (id, url) = rest[RANK..].split_at(4);
        let doc = number(id);
        if key != self.key {
            self.key.copy_from_slice(key);
            (self.survivor, self.size) = (doc, 0);
            if self.task.by_url {
                // No canonical URL holds a zero byte: shorter goes before longer.
                self.order.push(&[&key[..1], url, &[0], id]);
            }
        }
        self.size += 1;
        self.counts.merged += u64::from(self.size > 1);
        self.counts.groups += u64::from(self.size == 2);
        self.pairs.push((doc, self.survivor));
        if self.task.keep_urls {
            self.urls.push(&[id, url]);
        }
    }
}
