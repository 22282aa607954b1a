//! Faults of a CIFF file, with their places.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The message in which a fault was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// The header.
    Header,
    /// A posting list.
    List,
    /// A posting within a list.
    Posting,
    /// A document record.
    Record,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Header => "header",
            Part::List => "posting list",
            Part::Posting => "posting",
            Part::Record => "document record",
        })
    }
}

/// A fault and its place. Ordered by place, so that the first of several in the file is reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[error("byte {at}: {fault}")]
pub struct CiffError {
    /// Offset in the decompressed data, from 0.
    pub at: u64,
    /// The fault.
    pub fault: Fault,
}

/// Kind of fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
pub enum Fault {
    /// The data end within a message, or before the messages that the header announces.
    #[error("the data end where a {part} is due; the file is cut short, or its header announces more than it holds")]
    Truncated {
        /// The missing or incomplete part.
        part: Part,
    },
    /// A varint of more than ten bytes.
    #[error("no varint (more than ten bytes) in a {part}")]
    BadVarint {
        /// Where.
        part: Part,
    },
    /// A length beyond 2^31 - 1, the most that protobuf allows.
    #[error("a {part} of {length} bytes, more than protobuf allows (2147483647)")]
    TooLong {
        /// The part of the index.
        part: Part,
        /// The length it claims.
        length: u64,
    },
    /// A field whose number or wire type the message does not have.
    #[error("field {field} of wire type {wire} is not of a {part}; is it CIFF, and do the counts of its header agree?")]
    BadField {
        /// Kind of message.
        part: Part,
        /// Field number.
        field: u64,
        /// Wire type.
        wire: u8,
    },
    /// A count or id that is negative or beyond 31 bits.
    #[error("{name} of a {part} is {value}, not a number from 0 to 2147483647")]
    OutOfRange {
        /// Kind of message.
        part: Part,
        /// Name of the field.
        name: Name,
        /// The number in the file, read as signed.
        value: i64,
    },
    /// A version other than 1.
    #[error("version {version} of the format; version 1 is known")]
    UnknownVersion {
        /// The version in the file.
        version: u32,
    },
    /// A string that is not UTF-8, which protobuf strings are.
    #[error("a {part} whose text is not UTF-8")]
    NotUtf8 {
        /// Where.
        part: Part,
    },
    /// Gaps that add up to more than a document id can be.
    #[error("the gaps of the list of {term:?} add up to {docid}, beyond 32-bit document ids (2147483647)")]
    GapOverflow {
        /// The term, shortened.
        term: String,
        /// The sum.
        docid: u64,
    },
    /// A document id that the header's number of documents does not cover.
    #[error("document {docid} in a {part}, but the header announces {docs} documents")]
    NoSuchDocument {
        /// Where.
        part: Part,
        /// The id.
        docid: u32,
        /// Number of documents; ids are below it.
        docs: u32,
    },
    /// A gap of 0 after the first posting.
    #[error("the list of {term:?} names document {docid} twice")]
    RepeatedPosting {
        /// The term, shortened.
        term: String,
        /// The document.
        docid: u32,
    },
    /// The number of postings is not the document frequency.
    #[error("the list of {term:?} says df {df} and holds {postings} postings")]
    WrongDf {
        /// The term, shortened.
        term: String,
        /// Stated number.
        df: u64,
        /// Counted number.
        postings: u64,
    },
    /// Two records of one document.
    #[error("a second record of document {docid}")]
    RepeatedRecord {
        /// The document.
        docid: u32,
    },
    /// Data after the last message that the header announces.
    #[error("data after the {docs} document records that the header announces; it holds more than it says")]
    Trailing {
        /// Announced number.
        docs: u32,
    },
    /// A sum of tf or of lengths of merged documents that does not fit.
    #[error("{name} of merged documents add up to {value}, beyond 2147483647; merge without --merge-tf")]
    SumOverflow {
        /// Name of the sum.
        name: Name,
        /// The sum.
        value: u64,
    },
}

/// A field, as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Name {
    /// Format version.
    Version,
    /// Number of posting lists.
    NumPostingsLists,
    /// Number of document records.
    NumDocs,
    /// Posting lists of the whole collection.
    TotalPostingsLists,
    /// Documents of the whole collection.
    TotalDocs,
    /// Terms of the whole collection.
    TotalTerms,
    /// Document frequency.
    Df,
    /// Collection frequency.
    Cf,
    /// Document id, or the gap before it.
    Docid,
    /// Term frequency.
    Tf,
    /// Length of a document.
    Doclength,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Name::Version => "version",
            Name::NumPostingsLists => "num_postings_lists",
            Name::NumDocs => "num_docs",
            Name::TotalPostingsLists => "total_postings_lists",
            Name::TotalDocs => "total_docs",
            Name::TotalTerms => "total_terms_in_collection",
            Name::Df => "df",
            Name::Cf => "cf",
            Name::Docid => "docid",
            Name::Tf => "tf",
            Name::Doclength => "doclength",
        })
    }
}

/// Most bytes of a term that a message shows.
const SHOWN: usize = 60;

/// A term as messages show it.
pub(crate) fn shown(term: &[u8]) -> String {
    let text = String::from_utf8_lossy(&term[..term.len().min(SHOWN)]).into_owned();
    if term.len() > SHOWN { text + "..." } else { text }
}
