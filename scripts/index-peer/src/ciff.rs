//! CIFF by its published schema, through prost.

use crate::Result;
use prost::Message;
use std::io::Write;

#[derive(Clone, PartialEq, Message)]
pub struct Header {
    #[prost(int32, tag = "1")]
    pub version: i32,
    #[prost(int32, tag = "2")]
    pub num_postings_lists: i32,
    #[prost(int32, tag = "3")]
    pub num_docs: i32,
    #[prost(int32, tag = "4")]
    pub total_postings_lists: i32,
    #[prost(int32, tag = "5")]
    pub total_docs: i32,
    #[prost(int64, tag = "6")]
    pub total_terms_in_collection: i64,
    #[prost(double, tag = "7")]
    pub average_doclength: f64,
    #[prost(string, tag = "8")]
    pub description: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Posting {
    #[prost(int32, tag = "1")]
    pub docid: i32,
    #[prost(int32, tag = "2")]
    pub tf: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PostingsList {
    #[prost(string, tag = "1")]
    pub term: String,
    #[prost(int64, tag = "2")]
    pub df: i64,
    #[prost(int64, tag = "3")]
    pub cf: i64,
    #[prost(message, repeated, tag = "4")]
    pub postings: Vec<Posting>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DocRecord {
    #[prost(int32, tag = "1")]
    pub docid: i32,
    #[prost(string, tag = "2")]
    pub collection_docid: String,
    #[prost(int32, tag = "3")]
    pub doclength: i32,
}

/// A whole index in memory.
pub struct Index {
    pub header: Header,
    pub lists: Vec<PostingsList>,
    pub records: Vec<DocRecord>,
}

/// Tokens of a document: places in the list of terms, with tf.
pub type Bag = Vec<(u32, u32)>;

impl Index {
    pub fn read(path: &str) -> Result<Index> {
        let bytes = std::fs::read(path)?;
        let mut rest = &bytes[..];
        let header = Header::decode_length_delimited(&mut rest)?;
        let lists = (0..header.num_postings_lists)
            .map(|_| PostingsList::decode_length_delimited(&mut rest))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        let records = (0..header.num_docs)
            .map(|_| DocRecord::decode_length_delimited(&mut rest))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        if !rest.is_empty() {
            return Err(format!("{path}: {} bytes too many", rest.len()).into());
        }
        Ok(Index { header, lists, records })
    }

    /// Its terms, and the documents as bags of them.
    pub fn inverted(&self) -> (Vec<&str>, Vec<Bag>) {
        let mut docs = vec![Bag::new(); self.records.len()];
        for (term, list) in (0..).zip(&self.lists) {
            let mut doc = 0;
            for posting in &list.postings {
                doc += posting.docid as usize;
                docs[doc].push((term, posting.tf as u32));
            }
        }
        (self.lists.iter().map(|list| list.term.as_str()).collect(), docs)
    }
}

/// Writes a message after its length.
pub fn put(message: &impl Message, out: &mut impl Write) -> Result<()> {
    out.write_all(&message.encode_length_delimited_to_vec())?;
    Ok(())
}
