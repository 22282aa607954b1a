//! The invariants of the readers of files on one input, for the fuzz target and for mutations of the
//! fixtures.
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use undust::io::shards::{Options, find};
use undust::io::{Format, IoError, Rejects, ShardReader};
use undust::model::RecordBatch;

/// Longest line and URL here.
const LIMIT: usize = 4 << 10;

/// Writes `data` to `path` and reads it in this format; gives the numbers of records and of rejects.
pub fn check(path: &Path, format: Format, data: &[u8]) -> Result<(u64, u64), String> {
    std::fs::write(path, data).map_err(|error| error.to_string())?;
    let options = Options { format: Some(format), log_base: Some("http://h.example".to_owned()), ..Options::default() };
    let shards = match find(&[path], &options) {
        Ok(shards) => shards,
        // The one format whose end must be whole for anything to be read; a header without its column; what is
        // refused by its first bytes.
        Err(IoError::Parquet { .. } | IoError::NoUrlColumn { .. }) => return Ok((0, 1)),
        Err(IoError::UnreadCompression { .. } | IoError::UnreadArchive { .. } | IoError::Utf16 { .. }) => {
            return Ok((0, 1));
        }
        Err(error) => return Err(format!("a file is read or its parts are rejected: {error}")),
    };
    let (mut batch, mut rejects, mut records) = (RecordBatch::default(), Rejects::default(), 0);
    for shard in &shards {
        let opened = ShardReader::open_with_facts(shard, LIMIT, Arc::new(AtomicU64::new(0)));
        let mut reader = opened.map_err(|error| format!("what was found opens: {error}"))?;
        while reader.next_batch(&mut batch, &mut rejects).map_err(|error| format!("damage is no error: {error}"))? {
            for (at, record) in batch.iter().enumerate() {
                records += 1;
                let facts = batch.facts(at);
                let texts = [Some(record.url), record.cluster, record.site, facts.digest, facts.title];
                let urls = [Some(record.url), facts.canonical, facts.redirect];
                if texts.into_iter().chain(urls).flatten().any(|text| std::str::from_utf8(text).is_err()) {
                    return Err(format!("all texts are UTF-8: {}", record.url.escape_ascii()));
                }
                for url in urls.into_iter().flatten() {
                    let scheme = url.len() >= 7 && url[..4].eq_ignore_ascii_case(b"http");
                    if !scheme || url.iter().any(u8::is_ascii_control) {
                        return Err(format!("an http URL without control characters: {}", url.escape_ascii()));
                    }
                }
            }
        }
    }
    if rejects.total() > rejects.lines() {
        return Err(format!("{} rejects of {} records", rejects.total(), rejects.lines()));
    }
    Ok((records, rejects.total()))
}
