//! One batch to bytes and back in place.
//!
//! # Safety argument
//!
//! abomonation copies a value's memory as it is and patches the pointers when it is read back. The
//! crate is no longer maintained and has an advisory (RUSTSEC-2021-0120: transmutes without checks, so
//! that hostile bytes become arbitrary values). It is used here under conditions that take the ground
//! from it:
//!
//! 1. The one encoded type is [`SpillColumns`], three vectors of plain integers: every bit pattern of their
//!    elements is a value, the struct has no padding, no reference, no drop glue of its own.
//! 2. The bytes were written by [`encode`] of this very process in this run: the file is unnamed, in a
//!    folder of mode 0700, and is read through the handle that wrote it ([`super::run`]). Nothing that
//!    came over a socket or from a user is decoded.
//! 3. Length and checksum (XXH3) of a block are verified before [`decode`] sees it; damage is a typed
//!    error.
//! 4. The buffer is a `Vec<u64>`, hence 8-byte aligned; the header is 72 bytes and the columns follow
//!    by falling alignment, so each is aligned. `decode` asserts it.
//! 5. What `decode` hands out are slices borrowed from the buffer. The `Columns` that lies in the
//!    buffer is never moved, mutated or dropped, so no vector ever frees memory that it does not own.
#![allow(unsafe_code)]

use abomonation::Abomonation;
use std::io::{self, Write};

/// A spill batch: one struct of columns ordered by falling alignment. What the columns mean is up to
/// the writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpillColumns {
    /// Hashes and other 64-bit columns, end to end.
    pub wide: Vec<u64>,
    /// Lengths, ids and other 32-bit columns, end to end.
    pub mid: Vec<u32>,
    /// Flags and strings.
    pub bytes: Vec<u8>,
}

impl SpillColumns {
    /// Forgets the contents, keeps the memory.
    pub fn clear(&mut self) {
        self.wide.clear();
        self.mid.clear();
        self.bytes.clear();
    }
}

impl Abomonation for SpillColumns {
    unsafe fn entomb<W: Write>(&self, write: &mut W) -> io::Result<()> {
        // SAFETY: each call gets a vector of plain integers, in the order in which `exhume` takes them up
        // again.
        unsafe {
            self.wide.entomb(write)?;
            self.mid.entomb(write)?;
            self.bytes.entomb(write)
        }
    }

    unsafe fn exhume<'b>(&mut self, bytes: &'b mut [u8]) -> Option<&'b mut [u8]> {
        // SAFETY: `bytes` was written by `entomb`, in this order.
        unsafe {
            let bytes = self.wide.exhume(bytes)?;
            let bytes = self.mid.exhume(bytes)?;
            self.bytes.exhume(bytes)
        }
    }

    fn extent(&self) -> usize {
        self.wide.extent() + self.mid.extent() + self.bytes.extent()
    }
}

/// Appends the encoded batch to `out`, padded with zeros to a multiple of 8 bytes.
pub(super) fn encode(columns: &SpillColumns, out: &mut Vec<u8>) {
    // SAFETY: `Columns` has no padding (three vectors of three words each), and its contents are plain
    // integers.
    unsafe { abomonation::encode(columns, out) }.expect("writing to a vector does not fail");
    out.resize(out.len().next_multiple_of(8), 0);
}

/// The columns of a block that [`encode`] wrote, in place; `None` when the block is too short for what
/// it claims to hold (which the checksum rules out).
pub(super) fn decode(words: &mut [u64]) -> Option<(&[u64], &[u32], &[u8])> {
    let bytes = bytes_of(words);
    assert!(bytes.as_ptr().cast::<SpillColumns>().is_aligned(), "a Vec<u64> is aligned to 8 bytes");
    let (head, rest) = bytes.split_at_mut_checked(size_of::<SpillColumns>())?;
    // Not `abomonation::decode`: it makes this reference out of one to a single byte, which may
    // not be used for the others (Miri refuses it).
    //
    // SAFETY: the module's argument, points 1 to 4; `head` is as long as the struct, and borrowed
    // as long as what is handed out.
    let columns = unsafe { &mut *head.as_mut_ptr().cast::<SpillColumns>() };
    // SAFETY: the bytes behind the struct are those that `entomb` wrote behind it.
    let rest = unsafe { columns.exhume(rest) }?;
    (rest.len() < 8).then_some((&columns.wide[..], &columns.mid[..], &columns.bytes[..]))
}

/// The words as bytes, to be read into.
pub(super) fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: the same memory as plain bytes, exclusively borrowed; every bit pattern is a value of both
    // types.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_comes_back_aligned() {
        for extra in 0..9 {
            let columns =
                SpillColumns { wide: vec![u64::MAX, 7], mid: vec![1; extra], bytes: vec![b'x'; extra * 3 + 1] };
            let mut out = Vec::new();
            encode(&columns, &mut out);
            let mut words: Vec<u64> =
                out.chunks_exact(8).map(|w| u64::from_ne_bytes(w.try_into().expect("eight bytes"))).collect();
            // Twice: a reader may look at a block again.
            for _ in 0..2 {
                let (wide, mid, bytes) = decode(&mut words).expect("whole");
                assert_eq!((wide, mid, bytes), (&columns.wide[..], &columns.mid[..], &columns.bytes[..]));
                assert!(wide.as_ptr().is_aligned() && mid.as_ptr().is_aligned());
            }
        }
    }

    #[test]
    fn a_short_block_is_refused() {
        let mut out = Vec::new();
        encode(&SpillColumns { wide: vec![1, 2, 3], mid: vec![4], bytes: vec![5] }, &mut out);
        let words: Vec<u64> =
            out.chunks_exact(8).map(|w| u64::from_ne_bytes(w.try_into().expect("eight bytes"))).collect();
        for cut in 0..words.len() {
            assert!(decode(&mut words[..cut].to_vec()).is_none(), "cut at {cut}");
        }
    }
}
