//! Posting lists, and records that need no sorting, under a map.

use super::docmap::{DocMap, GONE};
use super::error::{CiffError, Fault, Name, Part};
use super::postings::{self, Posting};
use super::record::DocRecord;
use super::wire::{Varint, varint};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Counts of lists and records; counts of several blocks add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListCounts {
    /// Lists read.
    pub lists: u64,
    /// Lists of which no posting is left; they are not written.
    pub emptied: u64,
    /// Postings read.
    pub postings: u64,
    /// Postings written.
    pub postings_left: u64,
    /// Lists whose cf is not the sum of their tf (indexes of quantized scores); the sum is written.
    pub other_cf: u64,
    /// Sum of the lengths of documents whose record is not written.
    pub removed: u64,
}

impl AddAssign for ListCounts {
    fn add_assign(&mut self, other: ListCounts) {
        self.lists += other.lists;
        self.emptied += other.emptied;
        self.postings += other.postings;
        self.postings_left += other.postings_left;
        self.other_cf += other.other_cf;
        self.removed += other.removed;
    }
}

/// Buffers of one thread, reused from list to list. They grow to the longest list: 8 bytes a posting
/// and its message.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    postings: Vec<Posting>,
    body: Vec<u8>,
}

/// Appends to `out` the lists in `block` under `map`; without a map unchanged, which is the floor that
/// the job is measured against. `block` is whole messages, each after its length, at offset `at` of the
/// file.
///
/// # Errors
/// [`CiffError`] for the first list that is none, or whose merged tf do not fit; `out` then holds what
/// was before it.
pub fn remap_block(
    map: Option<&DocMap>,
    docs: u32,
    block: &[u8],
    at: u64,
    buffers: &mut Buffers,
    out: &mut Vec<u8>,
) -> Result<ListCounts, CiffError> {
    let mut counts = ListCounts::default();
    let mut start = 0;
    while start < block.len() {
        let rest = &block[start..];
        let place = at + start as u64;
        let Some((prefix, length)) = framed(rest) else {
            return Err(CiffError { at: place, fault: Fault::Truncated { part: Part::List } });
        };
        let Buffers { postings, body } = &mut *buffers;
        let list = postings::decode(&rest[prefix..prefix + length], place + prefix as u64, docs, postings)?;
        counts.lists += 1;
        counts.postings += postings.len() as u64;
        counts.other_cf += u64::from(list.cf != postings.iter().map(|p| u64::from(p.tf())).sum::<u64>());
        if let Some(map) = map {
            remap(map, postings).map_err(|fault| CiffError { at: place, fault })?;
        }
        counts.postings_left += postings.len() as u64;
        if postings.is_empty() {
            counts.emptied += 1;
        } else {
            postings::encode(list.term, postings, body, out);
        }
        start += prefix + length;
    }
    Ok(counts)
}

/// Appends to `out` the surviving records in `block`, with their new ids. The documents of the block
/// are `first` and those after it; new ids must ascend as old ones do, and nothing be merged. `block`
/// is at offset `at` of the file.
///
/// # Errors
/// [`CiffError`] for the first malformed record, or one that is not the expected one: the file was in
/// order when it was read before, so that is a change.
pub fn remap_records(
    map: &DocMap,
    first: u32,
    block: &[u8],
    at: u64,
    out: &mut Vec<u8>,
) -> Result<ListCounts, CiffError> {
    let mut counts = ListCounts::default();
    let (mut start, mut due) = (0, first);
    while start < block.len() {
        let rest = &block[start..];
        let place = at + start as u64;
        let Some((prefix, length)) = framed(rest) else {
            return Err(CiffError { at: place, fault: Fault::Truncated { part: Part::Record } });
        };
        let record = DocRecord::decode(&rest[prefix..prefix + length], place + prefix as u64, map.old_docs())?;
        if record.docid != due {
            return Err(CiffError { at: place, fault: Fault::RepeatedRecord { docid: record.docid } });
        }
        match map.new_of(record.docid) {
            GONE => counts.removed += u64::from(record.length),
            docid => DocRecord { docid, ..record }.encode(out),
        }
        due += 1;
        start += prefix + length;
    }
    Ok(counts)
}

/// Length of the length, and length, of the message at the front of `bytes`; `None` where it is not
/// whole.
fn framed(bytes: &[u8]) -> Option<(usize, usize)> {
    let Varint::Is(length, prefix) = varint(bytes) else { return None };
    (length <= (bytes.len() - prefix) as u64).then_some((prefix, length as usize))
}

/// The postings of one list under a map, ascending again.
///
/// # Errors
/// [`Fault::SumOverflow`] where merged tf do not fit 31 bits.
pub fn remap(map: &DocMap, postings: &mut Vec<Posting>) -> Result<(), Fault> {
    let (mut kept, mut last, mut ascending) = (0, 0, true);
    for index in 0..postings.len() {
        let posting = postings[index];
        let new = map.new_of(posting.docid());
        // Written in any case and kept or not: no branch on what is as good as chance.
        postings[kept] = Posting::new(new, posting.tf());
        let is_kept = new != GONE;
        ascending &= !is_kept | (new >= last);
        last = if is_kept { new } else { last };
        kept += usize::from(is_kept);
    }
    postings.truncate(kept);
    if !ascending {
        postings.sort_unstable();
    }
    if map.merges_tf() { merge(postings) } else { Ok(()) }
}

/// Adds up the tf of equal documents.
fn merge(postings: &mut Vec<Posting>) -> Result<(), Fault> {
    let mut kept: usize = 0;
    for index in 0..postings.len() {
        let posting = postings[index];
        if kept > 0 && postings[kept - 1].docid() == posting.docid() {
            let tf = u64::from(postings[kept - 1].tf()) + u64::from(posting.tf());
            if tf > i32::MAX as u64 {
                return Err(Fault::SumOverflow { name: Name::Tf, value: tf });
            }
            postings[kept - 1] = Posting::new(posting.docid(), tf as u32);
        } else {
            postings[kept] = posting;
            kept += 1;
        }
    }
    postings.truncate(kept);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remapped(survivors: &[u32], order: Option<&[u32]>, merge_tf: bool, list: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let map = DocMap::new(survivors.to_vec(), order, merge_tf).unwrap();
        let mut postings: Vec<_> = list.iter().map(|&(docid, tf)| Posting::new(docid, tf)).collect();
        remap(&map, &mut postings).unwrap();
        postings.iter().map(|p| (p.docid(), p.tf())).collect()
    }

    #[test]
    fn postings_go_to_their_documents() {
        let survivors = [2, 1, 2, 1, 4];
        let list = [(0, 5), (1, 2), (2, 3), (3, 9), (4, 1)];
        assert_eq!(remapped(&survivors, None, false, &list), [(0, 2), (1, 3), (2, 1)]);
        assert_eq!(remapped(&survivors, None, true, &list), [(0, 11), (1, 8), (2, 1)]);
        assert_eq!(remapped(&survivors, Some(&[4, 2, 1]), false, &list), [(0, 1), (1, 3), (2, 2)]);
        assert_eq!(remapped(&survivors, Some(&[4, 2, 1]), true, &list[1..]), [(0, 1), (1, 3), (2, 11)]);
        // A term that only a duplicate has goes with it, or is its survivor's.
        assert_eq!(remapped(&survivors, None, false, &list[..1]), []);
        assert_eq!(remapped(&survivors, None, true, &list[..1]), [(1, 5)]);
    }

    #[test]
    fn a_sum_beyond_31_bits_is_an_error() {
        let map = DocMap::new(vec![0, 0], None, true).unwrap();
        let mut postings = vec![Posting::new(0, i32::MAX as u32), Posting::new(1, 1)];
        assert_eq!(remap(&map, &mut postings), Err(Fault::SumOverflow { name: Name::Tf, value: 1 << 31 }));
    }

    #[test]
    fn a_block_is_counted_and_cut_blocks_are_told() {
        let (mut block, mut body) = (Vec::new(), Vec::new());
        postings::encode(b"a", &[Posting::new(1, 7)], &mut body, &mut block);
        let first = block.len();
        postings::encode(b"b", &[Posting::new(0, 1), Posting::new(1, 1)], &mut body, &mut block);
        let map = DocMap::new(vec![0, 0], None, false).unwrap();
        let (mut buffers, mut out) = (Buffers::default(), Vec::new());
        let counts = remap_block(Some(&map), 2, &block, 0, &mut buffers, &mut out).unwrap();
        let expected = ListCounts { lists: 2, emptied: 1, postings: 3, postings_left: 1, other_cf: 0, removed: 0 };
        assert_eq!(counts, expected);
        let mut same = Vec::new();
        remap_block(None, 2, &block, 0, &mut buffers, &mut same).unwrap();
        assert_eq!(same, block);
        let cut = remap_block(None, 2, &block[..first + 3], 500, &mut buffers, &mut same).unwrap_err();
        assert_eq!(cut, CiffError { at: 500 + first as u64, fault: Fault::Truncated { part: Part::List } });
    }

    #[test]
    fn records_keep_their_order_and_lose_those_that_are_gone() {
        let map = DocMap::new(vec![0, 0, 2, 2, 4], None, false).unwrap();
        let mut block = Vec::new();
        for docid in 2..5 {
            DocRecord { docid, collection_docid: b"x", length: 7 + docid }.encode(&mut block);
        }
        let (mut out, mut expected) = (Vec::new(), Vec::new());
        let counts = remap_records(&map, 2, &block, 100, &mut out).unwrap();
        assert_eq!(counts, ListCounts { removed: 10, ..ListCounts::default() });
        for (docid, length) in [(1, 9), (2, 11)] {
            DocRecord { docid, collection_docid: b"x", length }.encode(&mut expected);
        }
        assert_eq!(out, expected);
        // Another document than is due; a record cut short.
        let fault = Fault::RepeatedRecord { docid: 2 };
        assert_eq!(remap_records(&map, 3, &block, 100, &mut out), Err(CiffError { at: 100, fault }));
        let cut = remap_records(&map, 2, &block[..block.len() - 1], 100, &mut out).unwrap_err();
        assert_eq!(cut.fault, Fault::Truncated { part: Part::Record });
    }
}
