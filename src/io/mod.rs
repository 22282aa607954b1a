//! Input and output: the edge where bytes come in and results go out (docs/formats.md).
//!
//! | module | contents |
//! |---|---|
//! | [`shards`] | inputs named by the user -> the list of shards, the units dealt to workers |
//! | [`compression`] | plain, gzip and zstd, by magic bytes and extension |
//! | [`reader`] | one shard -> batches of records, with the line limit and the count of bytes read |
//! | [`detect`] | a file -> its format, by first bytes and name |
//! | [`members`] | gzip members and zstd frames, where damage loses the one it is in |
//! | [`blocks`] | one text file or standard input -> blocks of whole lines |
//! | [`ciff`] | an index in CIFF: header, blocks of posting lists, document records; read, and written whole or not |
//! | [`docmap`] | new ids and canonical URLs of the documents of an index, as lines or Parquet |
//! | [`rules`] | the rule set in a result folder |
//! | [`tsv`], [`jsonl`], [`cdx`], [`cdxj`], [`access_log`], [`crawl_log`] | one line -> one record; pure |
//! | `csv` | CSV with a header: records that may span lines; pure |
//! | `unread` | compressions and archives that are refused by name, with a way out |
//! | [`warc`], [`http`] | archives: record by record; the answer in one, with its codings undone |
//! | [`parquet`], [`table`] | columnar indexes: read by projection, row group by row group; written |
//! | [`predictions`] | URLs with the canonical URLs of an outside method |
//! | [`reason`] | reasons why a line is no record, and the cheap check of its URL |
//! | [`rejects`] | counts and a bounded sample of bad lines; merges the same over any split of the input |
//! | [`output`] | the output folder; files are complete or absent |
//! | [`fetch`], [`robots`] | pages of a server that the user names, fetched politely |
//! | [`error`] | failures of the run, each with the path and a way out |
//! | [`fingerprint`] | digests of the executable and of shards, to compare two processes or two runs |
//! | [`journal`] | finished pieces of work that survive a run, for `--resume` |
//!
//! A bad line is data: counted, sampled, never fatal. A bad file is a failure of the run. Nothing here
//! prints; progress is a plain atomic that others read.

pub mod access_log;
pub mod blocks;
pub mod cdx;
pub mod cdxj;
pub mod ciff;
mod codec;
pub mod compression;
pub mod crawl_log;
mod csv;
pub mod detect;
pub mod docmap;
pub mod error;
pub mod fetch;
pub mod fingerprint;
mod found;
pub mod http;
pub mod journal;
pub mod jsonl;
mod limits;
mod lines;
pub mod members;
mod mime;
mod opened;
pub mod output;
pub mod parquet;
pub mod predictions;
pub mod reader;
pub mod reason;
pub mod rejects;
pub mod robots;
pub mod rules;
mod shard;
pub mod shards;
pub mod table;
pub mod tsv;
mod unread;
pub mod warc;

pub use detect::Format;
pub use error::IoError;
pub use output::OutputDir;
pub use reader::ShardReader;
pub use reason::Reason;
pub use rejects::Rejects;
pub use shard::Shard;
