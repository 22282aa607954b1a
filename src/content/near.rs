//! Fingerprints within a few bits of each other, without comparing all pairs (Manku et al. 2007,
//! section 3).
//!
//! A fingerprint is cut into [`BLOCKS`] blocks of 16 bits. Two that differ in at most 3 bits agree in
//! at least one whole block, so it is enough to compare those that share a block at the same place: one
//! table a block, each fingerprint in all of them. Within a table that is still crowded the other bits
//! are cut again, and so on: two members that agree on the block still agree on one of the pieces of
//! what is left.

use super::simhash::distance;

/// Bits in which the fingerprints of near-duplicates may differ.
pub const NEAR: u32 = 3;
/// Tables: one more than [`NEAR`], so that one block is without a difference.
pub const BLOCKS: u32 = NEAR + 1;
/// Bits of a block.
const BITS: u32 = 64 / BLOCKS;
/// Groups up to this size are compared pair by pair.
const CROWD: usize = 32;

/// The bits of `simhash` that table `block` (under [`BLOCKS`]) is made by.
pub fn block(simhash: u64, block: u32) -> u64 {
    simhash >> (block * BITS) & ((1 << BITS) - 1)
}

/// A fingerprint and whose it is.
pub type Entry = (u64, u64);

/// Calls `join` with ids of near fingerprints of `entries`, which agree on table `table`: often enough
/// that whatever is near is connected, not always for each pair. Reorders the entries.
///
/// Cost: about n log n for fingerprints of different texts; n^2 only where n fingerprints agree in 52
/// bits and differ pairwise.
pub fn join_within(entries: &mut [Entry], table: u32, join: &mut impl FnMut(u64, u64)) {
    let free = !(((1u64 << BITS) - 1) << (table * BITS));
    within(entries, free, 0, join);
}

fn within(entries: &mut [Entry], free: u64, level: u32, join: &mut impl FnMut(u64, u64)) {
    entries.sort_unstable();
    // One of each value is enough for what follows, once the others are joined to it.
    let mut kept = 0;
    for at in 0..entries.len() {
        if kept > 0 && entries[kept - 1].0 == entries[at].0 {
            if entries[kept - 1].1 != entries[at].1 {
                join(entries[kept - 1].1, entries[at].1);
            }
        } else {
            entries[kept] = entries[at];
            kept += 1;
        }
    }
    let entries = &mut entries[..kept];
    if entries.len() <= CROWD || level == 2 {
        for (i, a) in entries.iter().enumerate() {
            for b in &entries[i + 1..] {
                if distance(a.0, b.0) <= NEAR {
                    join(a.1, b.1);
                }
            }
        }
        return;
    }
    // The free bits in one more piece than there may be differences.
    let mut rest = free;
    let size = free.count_ones().div_ceil(BLOCKS);
    while rest != 0 {
        let mut piece = 0;
        for _ in 0..size.min(rest.count_ones()) {
            let low = rest & rest.wrapping_neg();
            piece |= low;
            rest ^= low;
        }
        let mut again = entries.to_vec();
        again.sort_unstable_by_key(|entry| (entry.0 & piece, entry.0));
        let mut start = 0;
        while start < again.len() {
            let value = again[start].0 & piece;
            let length = again[start..].iter().take_while(|entry| entry.0 & piece == value).count();
            if length > 1 {
                within(&mut again[start..start + length], free & !piece, level + 1, join);
            }
            start += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hash64;
    use std::collections::BTreeMap;

    /// Smallest id of each one's component.
    fn components(n: u64, pairs: &[(u64, u64)]) -> BTreeMap<u64, u64> {
        let mut least: Vec<u64> = (0..n).collect();
        let find = |least: &[u64], mut at: u64| {
            while least[at as usize] != at {
                at = least[at as usize];
            }
            at
        };
        for &(a, b) in pairs {
            let (a, b) = (find(&least, a), find(&least, b));
            least[a.max(b) as usize] = a.min(b);
        }
        (0..n).map(|at| (at, find(&least, at))).collect()
    }

    #[test]
    fn what_is_near_is_connected_as_by_comparing_all_pairs() {
        // Few base values, so that tables are crowded, each with flips of 0 to 5 bits.
        for bases in [1u64, 3, 400] {
            let flip =
                |seed: u64, n: u64| (0..n).fold(0u64, |bits, i| bits | 1 << (hash64(&[seed, i].map(|w| w as u8)) % 64));
            let values: Vec<u64> = (0..1500u64)
                .map(|i| hash64(&(i % bases).to_le_bytes()) ^ flip(hash64(&i.to_le_bytes()), i % 6))
                .collect();
            let mut all = Vec::new();
            for (i, a) in values.iter().enumerate() {
                for (j, b) in values.iter().enumerate().skip(i + 1) {
                    if distance(*a, *b) <= NEAR {
                        all.push((i as u64, j as u64));
                    }
                }
            }
            let mut found = Vec::new();
            for table in 0..BLOCKS {
                let mut tables: BTreeMap<u64, Vec<Entry>> = BTreeMap::new();
                for (i, &value) in values.iter().enumerate() {
                    tables.entry(block(value, table)).or_default().push((value, i as u64));
                }
                for mut entries in tables.into_values() {
                    join_within(&mut entries, table, &mut |a, b| found.push((a, b)));
                }
            }
            assert!(found.iter().all(|&(a, b)| distance(values[a as usize], values[b as usize]) <= NEAR));
            assert_eq!(components(1500, &found), components(1500, &all), "{bases} bases");
        }
    }
}
