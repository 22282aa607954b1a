//! Common parts of the tests of formats: files made as other programs make them, and their records in
//! undust.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use undust::io::compression::{Compression, Encoder};
use undust::io::reader::LINE_LIMIT;
use undust::io::shards::{Options, find};
use undust::io::{IoError, Reason, Rejects, ShardReader};
use undust::model::{DocumentKind, Fingerprint, RecordBatch};

/// A record with its facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub url: String,
    pub cluster: Option<String>,
    pub site: Option<String>,
    pub elsewhere: bool,
    pub status: u16,
    pub kind: DocumentKind,
    pub size: u64,
    pub digest: Option<String>,
    pub title: Option<String>,
    pub canonical: Option<String>,
    pub redirect: Option<String>,
    pub text: Option<Fingerprint>,
}

/// Result of reading one input.
#[derive(Debug, Default)]
pub struct Read {
    pub records: Vec<Seen>,
    pub rejects: Vec<(Reason, u64)>,
    /// Records and rejected ones.
    pub lines: u64,
    pub shards: usize,
}

impl Read {
    pub fn urls(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.url.as_str()).collect()
    }
}

/// Reads a file as the jobs do.
pub fn try_read(path: &Path, options: &Options) -> Result<Read, IoError> {
    let (mut read, mut rejects, mut batch) = (Read::default(), Rejects::default(), RecordBatch::default());
    let shards = find(&[path], options)?;
    read.shards = shards.len();
    for shard in &shards {
        let mut reader = ShardReader::open_with_facts(shard, LINE_LIMIT, Arc::new(AtomicU64::new(0)))?;
        while reader.next_batch(&mut batch, &mut rejects)? {
            for (at, record) in batch.iter().enumerate() {
                let facts = batch.facts(at);
                let own = |text: &[u8]| String::from_utf8(text.to_vec()).expect("readers give UTF-8");
                read.records.push(Seen {
                    url: own(record.url),
                    cluster: record.cluster.map(own),
                    site: record.site.map(own),
                    elsewhere: record.elsewhere,
                    status: facts.status,
                    kind: facts.kind,
                    size: facts.size,
                    digest: facts.digest.map(own),
                    title: facts.title.map(own),
                    canonical: facts.canonical.map(own),
                    redirect: facts.redirect.map(own),
                    text: facts.text,
                });
            }
        }
    }
    read.rejects = rejects.counts().filter(|&(_, count)| count > 0).collect();
    read.lines = rejects.lines();
    Ok(read)
}

/// [`try_read`] of a file that can be read, of this name and content.
pub fn read(name: &str, bytes: &[u8]) -> Read {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    try_read(&path, &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `bytes` as one gzip member or zstd frame.
pub fn compressed(bytes: &[u8], compression: Compression) -> Vec<u8> {
    let mut encoder = Encoder::new(compression, Vec::new()).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Pieces end to end, each a member of its own.
pub fn members<B: AsRef<[u8]>>(pieces: &[B], compression: Compression) -> Vec<u8> {
    pieces.iter().flat_map(|piece| compressed(piece.as_ref(), compression)).collect()
}

/// A record of an archive.
pub fn warc(kind: &str, url: &str, fields: &str, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-31T12:34:56Z\r\n\
         WARC-Record-ID: <urn:uuid:12345678-1234-1234-1234-123456789012>\r\n{fields}Content-Length: {}\r\n\r\n",
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

/// A response with this status line and these fields.
pub fn response(url: &str, status: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let block = [format!("HTTP/1.1 {status}\r\n{fields}\r\n").as_bytes(), body].concat();
    warc("response", url, "Content-Type: application/http; msgtype=response\r\n", &block)
}

/// A page of HTML.
pub fn page(url: &str, html: &str) -> Vec<u8> {
    response(url, "200 OK", "Content-Type: text/html; charset=utf-8\r\n", html.as_bytes())
}

/// A text of `words` words, others for each `topic`.
pub fn prose(topic: u64, words: u64) -> String {
    let word = |at: u64| {
        let mut hash = undust::model::hash64(&[topic.to_le_bytes(), at.to_le_bytes()].concat());
        let mut word = String::new();
        for _ in 0..7 {
            word.push(char::from(b'a' + (hash % 26) as u8));
            hash /= 26;
        }
        word
    };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}
