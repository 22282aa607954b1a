//! Simhash (Charikar 2002; for pages Manku, Jain, Das Sarma, WWW 2007): pages that share most shingles
//! have fingerprints that differ in few bits.
//!
//! Features are shingles of 4 tokens; a shingle that occurs n times weighs 1 + log2(n), rounded down:
//! whole numbers, so that a fingerprint is the same on every machine (the published weight, tf-idf,
//! needs the corpus). Bit i is the sign of the sum of the weights, each counted for or against by bit i
//! of the shingle's hash; a sum of 0 is a 0.

/// Tokens of a shingle.
pub const SHINGLE: usize = 4;

/// Bits in which two fingerprints differ.
pub fn distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// The fingerprint of a text of these tokens; `shingles` is working space. A text shorter than a
/// shingle is one shingle.
pub fn simhash(tokens: &[u64], shingles: &mut Vec<u64>) -> u64 {
    shingles.clear();
    if tokens.len() < SHINGLE {
        shingles.push(tokens.iter().fold(tokens.len() as u64, |hash, &token| mix(hash, token)));
    }
    shingles.extend(tokens.windows(SHINGLE).map(|window| window.iter().fold(0, |hash, &token| mix(hash, token))));
    shingles.sort_unstable();
    let mut sums = [0i32; 64];
    for equal in shingles.chunk_by(|a, b| a == b) {
        let weight = 1 + equal.len().ilog2() as i32;
        // Twice the bit less one is the sign; the loop is made of wide instructions.
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += weight * (2 * ((equal[0] >> bit) & 1) as i32 - 1);
        }
    }
    sums.iter().enumerate().fold(0, |hash, (bit, &sum)| hash | u64::from(sum > 0) << bit)
}

/// A hash of all tokens in their order.
pub fn sequence(tokens: &[u64]) -> u64 {
    mix(tokens.iter().fold(0, |hash, &token| mix(hash, token)), tokens.len() as u64)
}

/// Folds a token into a hash that depends on the order of tokens (multiplication, xor and shift of
/// MurmurHash3's end).
fn mix(hash: u64, token: u64) -> u64 {
    let mut x = hash.rotate_left(23) ^ token;
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^ (x >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hash64;

    fn text(words: impl Iterator<Item = u64>) -> Vec<u64> {
        words.map(|word| hash64(&word.to_le_bytes())).collect()
    }

    fn of(tokens: &[u64]) -> u64 {
        simhash(tokens, &mut Vec::new())
    }

    #[test]
    fn small_changes_move_few_bits_and_other_texts_many() {
        let page = text(0..600);
        let mut changed = page.clone();
        changed[300] = hash64(b"other");
        assert!(distance(of(&page), of(&changed)) <= 6, "{}", distance(of(&page), of(&changed)));
        let others: Vec<u32> = (1..50).map(|n| distance(of(&page), of(&text(n * 1000..n * 1000 + 600)))).collect();
        assert!(others.iter().all(|d| (14..=50).contains(d)), "{others:?}");
    }

    #[test]
    fn order_and_shortness_count() {
        assert_ne!(of(&text(0..8)), of(&text((0..8).rev())));
        assert_ne!(of(&text(0..2)), of(&text(0..3)));
        assert_ne!(of(&text(0..3)), of(&text([2, 1, 0].into_iter())));
        // A fingerprint is for ever: rules learned from it must be learned again the same.
        assert_eq!(format!("{:016x}", of(&text(0..100))), PINNED);
    }

    const PINNED: &str = "7254a7f4e9239832";
}
