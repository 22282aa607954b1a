//! The dataflows of `undust compress-index`: documents whose URLs have one canonical URL become one
//! document.
//!
//! ```text
//! documents, URLs -> canonicalize -> exchange by document's name -> join
//!                 -> exchange by canonical hash -> group, choose -> map of documents, at one worker of each process
//! posting lists   -> to the workers -> remapped -> back to the first worker, in order
//! ```
//!
//! CIFF holds postings before documents, so the file is read twice, each time by the first worker of
//! the first process, which also writes: input and output are needed on its machine only. Workers
//! exchange rows of bytes and blocks of messages, so the same graph runs on threads and on several
//! processes.
//!
//! Memory: [`DocMap`](crate::index::DocMap) (8 bytes a document, and 4 a survivor while new ids are
//! given in the order of URLs); rows up to `memory`, then sorted runs in scratch files; blocks under
//! way, at most four a worker and 64 MiB, of 512 KiB each in and out, or one posting list where that is
//! longer.
//!
//! Deterministic: survivors are chosen by rank and old id ([`crate::index::policy`]), rows are sorted
//! before any decision on them, blocks are cut by the reader and written in the order in which they
//! were read.
mod assemble;
pub mod counts;

pub mod documents;
pub mod families;
mod found;
pub mod lists;
mod make_rows;
mod reading;
pub mod records;
pub mod rows;
pub mod run;
mod sort_then;
pub mod sorter;
pub mod types;
pub use run::run;
pub use types::{CompressError, Compressed, Documents, Input, ListBlock, Output, Pack, Pull, Task, UrlsBy};
