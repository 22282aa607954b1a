//! Invariants for any bytes that are read as an index.

use undust::index::remap::{Buffers, remap_block};
use undust::index::{DocRecord, Posting, postings, wire};
use undust::io::ciff::{CiffReader, IndexError};

/// Lists and records, decoded.
#[derive(Debug, Default, PartialEq)]
struct Index {
    lists: Vec<(Vec<u8>, Vec<Posting>)>,
    records: Vec<(u32, Vec<u8>, u32)>,
}

/// Reads an index whole: its parts, and the same written again.
fn read(bytes: &[u8]) -> Result<(Index, Vec<u8>), IndexError> {
    let mut reader = CiffReader::of_bytes(bytes.to_vec())?;
    let header = reader.header().clone();
    let (mut index, mut out) = (Index::default(), Vec::new());
    header.encode(&header, &mut out);
    let (mut block, mut buffers) = (Vec::new(), Buffers::default());
    while let Some(at) = reader.next_lists(&mut block)? {
        let written = out.len();
        let counts = remap_block(None, header.num_docs, &block, at, &mut buffers, &mut out);
        let counts = counts.map_err(|error| reader.format(error))?;
        let mut rest = &out[written..];
        while let wire::Varint::Is(length, prefix) = wire::varint(rest) {
            let mut list = Vec::new();
            let (message, more) = rest[prefix..].split_at(length as usize);
            let head = postings::decode(message, 0, header.num_docs, &mut list).expect("what we wrote is a list");
            index.lists.push((head.term.to_vec(), list));
            rest = more;
        }
        assert!(index.lists.len() as u64 >= counts.lists - counts.emptied);
    }
    while reader.next_records(&mut |record: DocRecord<'_>| {
        record.encode(&mut out);
        index.records.push((record.docid, record.collection_docid.to_vec(), record.length));
    })? {}
    Ok((index, out))
}

/// Reading never panics; an error names a byte that is there, or the end; what is read and written
/// again reads the same. Gives the number of lists and records of a good index.
pub fn check(bytes: &[u8]) -> Result<usize, String> {
    let (index, again) = match read(bytes) {
        Ok(read) => read,
        Err(IndexError::Format { source, .. }) if source.at <= bytes.len() as u64 => return Ok(0),
        Err(other) => return Err(format!("an error without a place in {} bytes: {other}", bytes.len())),
    };
    if index.records.len() > bytes.len() || index.lists.len() > bytes.len() {
        return Err("more messages than bytes".to_owned());
    }
    match read(&again) {
        // Lists without a posting are dropped, and then the header says too much.
        Err(_)
            if CiffReader::of_bytes(again.clone())
                .is_ok_and(|r| r.header().num_postings_lists as usize != index.lists.len()) => {}
        Err(error) => return Err(format!("written again, it cannot be read: {error}")),
        Ok((same, _)) if same != index => return Err(format!("written again, it is another: {index:?}, {same:?}")),
        Ok(_) => {}
    }
    Ok(index.lists.len() + index.records.len())
}
