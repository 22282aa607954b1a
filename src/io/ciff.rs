//! Files in the Common Index File Format: read in blocks of whole messages, written whole or not at
//! all, verified.
//!
//! Plain, gzip or zstd: by the first bytes when read, by the extension when written. Contents of
//! messages are read in [`crate::index`]. Memory: a block of 512 KiB, or the longest message if that is
//! longer.

mod error;
mod reader;
mod verify;
mod writer;

pub use error::IndexError;
pub use reader::CiffReader;
pub use verify::verify;
pub use writer::{CiffWriter, FinishedFile, pack};
