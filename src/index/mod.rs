//! Inverted indexes in the Common Index File Format, and what merging duplicate documents makes of
//! them. Pure: bytes in memory to columns and back; files are for `io`, workers for `dataflow`.
//!
//! CIFF (Lin et al., *Supporting Interoperability Between Open-Source Search Engines with the Common
//! Index File Format*, SIGIR 2020) is a header, posting lists in the order of their terms, and document
//! records, each a protobuf message after its length as a varint. Postings come before documents, so
//! whoever renumbers documents reads a file twice.
//!
//! | module | contents |
//! |---|---|
//! | [`wire`] | varints, fields, where in the file they stand |
//! | [`header`], [`postings`], [`record`] | the three messages |
//! | [`policy`] | which document of a group of duplicates stays |
//! | [`docmap`] | old document ids -> new ones |
//! | [`remap`] | one posting list, or a block of them, under a map |
//! | [`check`] | the proof that one index is the other under a map, by other means than [`remap`] |
//! | [`error`] | what is wrong with a file, and at which byte |
//!
//! The messages are decoded by hand rather than by a protobuf library: a list of a million postings is
//! a million nested messages, which a library turns into a million objects, and no library tells at
//! which byte of the file a message is wrong. Unknown fields are skipped, as the protobuf rules ask.

pub mod check;
pub mod docmap;
pub mod error;
pub mod header;
pub mod policy;
pub mod postings;
pub mod record;
pub mod remap;
pub mod wire;

pub use docmap::DocMap;
pub use error::{CiffError, Fault, Part};
pub use header::Header;
pub use policy::Policy;
pub use postings::Posting;
pub use record::DocRecord;
