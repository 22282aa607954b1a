//! The edge where bytes come in and results go out (design, sections 3 and 8.1).
//!
//! | module | what it knows |
//! |---|---|
//! | [`shards`] | inputs named by the user -> the list of shards, the units dealt to workers |
//! | [`compression`] | plain, gzip and zstd, by magic bytes and extension |
//! | [`reader`] | one shard -> batches of records, with the line limit and the count of bytes read |
//! | [`blocks`] | one text file or standard input -> blocks of whole lines |
//! | [`rules`] | the rule set in a result folder |
//! | [`tsv`], [`jsonl`] | one line -> one record; pure |
//! | [`reason`] | why a line is no record, and the cheap check of its URL |
//! | [`rejects`] | counts and a bounded sample of bad lines; merges the same over any split of the input |
//! | [`output`] | the output folder and files that are whole or not there |
//! | [`error`] | failures of the run, each with the path and a way out |
//! | [`journal`] | finished pieces of work that outlive a run: what `--resume` takes up |
//!
//! A bad line is data: counted, sampled, never fatal. A bad file is a failure of the run. Nothing here prints; progress
//! is a plain atomic that others read.

pub mod blocks;
pub mod compression;
pub mod error;
pub mod journal;
pub mod jsonl;
pub mod output;
pub mod reader;
pub mod reason;
pub mod rejects;
pub mod rules;
pub mod shards;
pub mod tsv;

pub use error::IoError;
pub use output::OutputDir;
pub use reader::ShardReader;
pub use reason::Reason;
pub use rejects::Rejects;
pub use shards::{Format, Shard};
