//! Hashes of values and the small tables that find them: what a URL pays for every pair.

use serde::{Deserialize, Serialize};

/// Seed of the names of path parameters.
pub(super) const PARAM_SEED: u64 = 0x9fb2_1c65_1e98_df25;
/// Seed of the names of query keys.
pub(super) const QUERY_SEED: u64 = 0xa076_1d64_78bd_642f;

const MIX: u64 = 0xe703_7ed1_a0b4_28db;
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Seed of the values of a fixed key.
pub(super) fn fixed_seed(key: u8) -> u64 {
    STEP.wrapping_mul(u64::from(key) + 1)
}

/// 64-bit hash of a value under the seed of its key: one folded multiplication up to 16 bytes. The compiled file holds it,
/// so it changes only with the version of that file; nothing else does.
#[inline]
pub(super) fn hash(bytes: &[u8], seed: u64) -> u64 {
    if bytes.len() > 16 {
        return long(bytes, seed);
    }
    let mut last = [0; 16];
    last[16 - bytes.len()..].copy_from_slice(bytes);
    short(&last, bytes.len(), seed)
}

/// The same of a value that stands in a text: no branch for how long it is, which differs from URL to URL.
#[inline(always)]
pub(super) fn hash_in(text: &[u8], start: u32, end: u32, seed: u64) -> u64 {
    let (start, end) = (start as usize, end as usize);
    match text[..end].last_chunk() {
        Some(last) if end - start <= 16 => short(last, end - start, seed),
        _ => hash(&text[start..end], seed),
    }
}

/// Of the last bytes, up to 16, of these.
#[inline(always)]
fn short(last: &[u8; 16], length: usize, seed: u64) -> u64 {
    let (before, last) = last.split_at(8);
    let word = |half: &[u8]| u64::from_le_bytes(*half.first_chunk().expect("eight bytes"));
    // Half of the bits at a time: all 64 are one shift too many.
    let from = |word: u64, bytes: usize| word >> (4 * bytes) >> (4 * bytes);
    let before = from(word(before), 8.min(16 - length));
    let last = from(word(last), 8usize.saturating_sub(length));
    fold(before ^ seed.wrapping_add((length as u64).wrapping_mul(STEP)), last ^ MIX)
}

/// Of a value of more than 16 bytes.
fn long(bytes: &[u8], seed: u64) -> u64 {
    let mut seed = seed.wrapping_add((bytes.len() as u64).wrapping_mul(STEP));
    for pair in bytes[..bytes.len() - 1].as_chunks::<16>().0 {
        let (a, b) = pair.split_at(8);
        let word = |half: &[u8]| u64::from_le_bytes(*half.first_chunk().expect("eight bytes"));
        seed = fold(word(a) ^ seed, word(b) ^ MIX).wrapping_add(STEP);
    }
    // Up to 16 bytes are left.
    let tail = u128::from_le_bytes(*bytes.last_chunk().expect("sixteen bytes"));
    fold(tail as u64 ^ seed, (tail >> 64) as u64 ^ MIX)
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Places of items by their hashes: open addressing over four bytes a place, at most half full, a quarter where there are
/// many. The hashes stand with the items.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Index(Box<[u32]>);

const FREE: u32 = u32::MAX;
/// Items from which there are four places for each: a second question costs more than the first one.
const MANY: usize = 32;

impl Index {
    /// The index of the items from `from` on; of equal hashes the first one is found.
    pub(super) fn new(hashes: impl ExactSizeIterator<Item = u64>, from: u32) -> Index {
        if hashes.len() == 0 {
            return Index::default();
        }
        let each = if hashes.len() < MANY { 2 } else { 4 };
        let mut places = vec![FREE; (hashes.len() * each).next_power_of_two()].into_boxed_slice();
        let mask = places.len() - 1;
        for (hash, item) in hashes.zip(from..) {
            let mut at = hash as usize & mask;
            while places[at] != FREE {
                at = (at + 1) & mask;
            }
            places[at] = item;
        }
        Index(places)
    }

    /// Number of its places.
    #[inline]
    pub(super) fn places(&self) -> u64 {
        self.0.len() as u64
    }

    /// Loads its first cache lines.
    #[inline]
    pub(super) fn fetch(&self) -> u64 {
        super::template::lines(&self.0, |&item| u64::from(item))
    }

    /// The item of this hash.
    #[inline]
    pub(super) fn find(&self, hash: u64, hash_of: impl Fn(u32) -> u64) -> Option<u32> {
        let mask = self.0.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let item = self.0[at & mask];
            if item == FREE {
                return None;
            }
            if hash_of(item) == hash {
                return Some(item);
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldhash::fast::FixedState;
    use std::collections::HashSet;

    #[test]
    fn every_bit_of_a_value_counts() {
        let mut seen = HashSet::<u64, FixedState>::default();
        for length in 0..70 {
            let value = vec![b'a'; length];
            assert!(seen.insert(hash(&value, 7)), "{length}");
            for bit in 0..length * 8 {
                let mut other = value.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                assert!(seen.insert(hash(&other, 7)), "{length} {bit}");
            }
        }
        assert_ne!(hash(b"x", 1), hash(b"x", 2));
        // Short numbers fill a small table evenly: the low bits are mixed.
        let low: HashSet<u64, FixedState> = (0..1000).map(|n: u32| hash(n.to_string().as_bytes(), 7) & 1023).collect();
        assert!(low.len() > 580, "{}", low.len());
    }

    #[test]
    fn an_index_finds_what_it_holds() {
        let hashes: Vec<u64> = (0..100u64).map(|n| hash(&n.to_le_bytes(), 1)).collect();
        let index = Index::new(hashes[3..].iter().copied(), 3);
        let find = |hash| index.find(hash, |item| hashes[item as usize]);
        for (i, &hash) in hashes.iter().enumerate() {
            assert_eq!(find(hash), (i >= 3).then_some(i as u32));
        }
        assert_eq!(Index::default().find(1, |_| 1), None);
    }
}
