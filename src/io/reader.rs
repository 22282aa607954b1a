//! Reading one shard, whatever its format: bytes into batches of records, bad ones into [`Rejects`].

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::access_log::Base;
use super::cdx::Legend;
use super::csv::Csv;
use super::detect::Format;
use super::error::IoError;
pub use super::limits::{BATCH_BYTES, BATCH_ROWS, LINE_LIMIT};
use super::lines::{LineReader, Parser};
use super::parquet::ParquetReader;
use super::rejects::Rejects;
use super::shard::Shard;
use super::warc::WarcReader;
use crate::model::RecordBatch;

/// Reads one shard, batch by batch.
///
/// Memory a reader: for lines 256 KiB, the line limit, and the memory of the decoder; for archives
/// [`super::warc`], for Parquet one column page a column ([`super::parquet`]). The batch belongs to the
/// caller.
pub struct ShardReader {
    shard: Shard,
    kind: FormatReader,
}

enum FormatReader {
    Lines(Box<LineReader>),
    Warc(Box<WarcReader>),
    Parquet(Box<ParquetReader>),
}

impl ShardReader {
    /// Opens a shard. `line_limit` is in bytes, without the line end; `read` is increased by every byte
    /// read from the file (before decompression), for progress.
    ///
    /// # Errors
    /// [`IoError::NotFound`], [`IoError::Read`], or for Parquet [`IoError::Parquet`].
    pub fn open(shard: &Shard, line_limit: usize, read: Arc<AtomicU64>) -> Result<Self, IoError> {
        Self::open_as(shard, line_limit, false, read)
    }

    /// Opens a shard as [`open`](Self::open) does; the batches also hold the facts of the records
    /// ([`crate::model::Facts`]).
    ///
    /// # Errors
    /// Errors of [`open`](Self::open).
    pub fn open_with_facts(shard: &Shard, line_limit: usize, read: Arc<AtomicU64>) -> Result<Self, IoError> {
        Self::open_as(shard, line_limit, true, read)
    }

    fn open_as(shard: &Shard, line_limit: usize, facts: bool, read: Arc<AtomicU64>) -> Result<Self, IoError> {
        let parser = match shard.format {
            Format::Warc => {
                let kind = FormatReader::Warc(Box::new(WarcReader::open(shard, line_limit, read)?));
                return Ok(Self { shard: shard.clone(), kind });
            }
            Format::Parquet => {
                let kind = FormatReader::Parquet(Box::new(ParquetReader::open(shard, read)?));
                return Ok(Self { shard: shard.clone(), kind });
            }
            Format::Tsv => Parser::Tsv,
            Format::Jsonl if facts => Parser::JsonlFacts,
            Format::Jsonl => Parser::Jsonl,
            Format::Csv => Parser::Csv(Box::new(Csv::new())),
            Format::Cdx => Parser::Cdx(Legend::default()),
            Format::Cdxj => Parser::Cdxj,
            Format::AccessLog => Parser::AccessLog(Base::new(shard.base.as_deref())),
            Format::CrawlLog => Parser::CrawlLog,
        };
        let kind = FormatReader::Lines(Box::new(LineReader::open(shard, parser, line_limit, read)?));
        Ok(Self { shard: shard.clone(), kind })
    }

    /// Fills `batch` (cleared first) with the next records, at most [`BATCH_ROWS`] or those of
    /// [`BATCH_BYTES`] of lines; bad ones go to `rejects`. False at the end of the shard; a batch may be
    /// empty before it. The records and rejects do not depend on the reads of the source.
    ///
    /// # Errors
    /// [`IoError::Read`], or [`IoError::Corrupt`] where compressed TSV, CSV or JSON lines are cut short or
    /// damaged; the run cannot go on. In the other formats damage loses the record, member or row group it
    /// is in.
    pub fn next_batch(&mut self, batch: &mut RecordBatch, rejects: &mut Rejects) -> Result<bool, IoError> {
        match &mut self.kind {
            FormatReader::Lines(reader) => reader.next_batch(batch, rejects),
            FormatReader::Warc(reader) => reader.next_batch(batch, rejects),
            FormatReader::Parquet(reader) => reader.next_batch(batch, rejects),
        }
    }

    /// The shard that is read.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }
}
