//! Hashes of values, the form in which rules compare them, and of a whole URL.

const MIX: u64 = 0xe703_7ed1_a0b4_28db;
/// An odd number whose bits are well mixed: what is multiplied by it fills all 64.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// 64-bit hash of a value under the seed of its key: one folded multiplication up to 16 bytes. The
/// compiled file holds it, so it changes only with the version of that file; nothing else does.
#[inline]
pub(crate) fn hash(bytes: &[u8], seed: u64) -> u64 {
    if bytes.len() > 16 {
        return long(bytes, seed);
    }
    let mut last = [0; 16];
    last[16 - bytes.len()..].copy_from_slice(bytes);
    short(&last, bytes.len(), seed)
}

/// Hash of a value within a text: branch-free in its length, which differs from URL to URL.
#[inline(always)]
pub(crate) fn hash_in(text: &[u8], start: u32, end: u32, seed: u64) -> u64 {
    let (start, end) = (start as usize, end as usize);
    match text[..end].last_chunk() {
        Some(last) if end - start <= 16 => short(last, end - start, seed),
        _ => hash(&text[start..end], seed),
    }
}

/// Masks of the last bytes of sixteen, by the length of the value.
const LAST: [[u64; 2]; 17] = {
    let mut masks = [[0; 2]; 17];
    let mut bytes = 1;
    while bytes <= 16 {
        let mask = u128::MAX << (128 - 8 * bytes);
        masks[bytes] = [mask as u64, (mask >> 64) as u64];
        bytes += 1;
    }
    masks
};

/// Hash of the last bytes, up to 16, of these. They are masked in place, which is faster than a shift.
#[inline(always)]
fn short(last: &[u8; 16], length: usize, seed: u64) -> u64 {
    let (last, [low, high]) = (u128::from_le_bytes(*last), LAST[length]);
    let seed = seed.wrapping_add((length as u64).wrapping_mul(STEP));
    fold(last as u64 & low ^ seed, (last >> 64) as u64 & high ^ MIX)
}

/// Hash of a value of more than 16 bytes.
fn long(bytes: &[u8], seed: u64) -> u64 {
    let mut hash = Blocks::new(bytes.len(), seed);
    bytes[..bytes.len() - 1].as_chunks::<16>().0.iter().for_each(|block| hash.look(block));
    hash.finish(bytes.last_chunk().expect("sixteen bytes"))
}

/// Hash of a long value, block by block: for a loop that has the blocks at hand.
pub(super) struct Blocks(u64);

impl Blocks {
    /// Start of the hash of a value of so many bytes, more than 16.
    #[inline(always)]
    pub(super) fn new(length: usize, seed: u64) -> Blocks {
        Blocks(seed.wrapping_add((length as u64).wrapping_mul(STEP)))
    }

    /// The next sixteen bytes, which are not the last ones.
    #[inline(always)]
    pub(super) fn look(&mut self, block: &[u8; 16]) {
        let block = u128::from_le_bytes(*block);
        self.0 = fold(block as u64 ^ self.0, (block >> 64) as u64 ^ MIX).wrapping_add(STEP);
    }

    /// The last sixteen bytes; some of them may have been looked at.
    #[inline(always)]
    pub(super) fn finish(self, last: &[u8; 16]) -> u64 {
        let last = u128::from_le_bytes(*last);
        fold(last as u64 ^ self.0, (last >> 64) as u64 ^ MIX)
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
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
}
