//! Finding delimiters eight bytes at a time.
//!
//! The parts of a URL are short: calling a vector routine for each costs more than the bytes do.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that equals the byte of `pattern` (one byte, eight times).
#[inline]
fn equal(word: u64, pattern: u64) -> u64 {
    let x = word ^ pattern;
    !(((x & !HIGH) + !HIGH) | x) & HIGH
}

/// Calls `hit` with the place of each byte of `bytes` that is one of `wanted`, in order. Zero is none of
/// them.
#[inline]
pub(super) fn each<const N: usize>(bytes: &[u8], wanted: [u8; N], mut hit: impl FnMut(usize, u8)) {
    let patterns = wanted.map(|byte| LOW * u64::from(byte));
    let mut look = |at: usize, word: u64| {
        let mut found = patterns.iter().fold(0, |found, &pattern| found | equal(word, pattern));
        while found != 0 {
            let place = found.trailing_zeros() / 8;
            hit(at + place as usize, (word >> (place * 8)) as u8);
            found &= found - 1;
        }
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        look(at, u64::from_le_bytes(*word));
        at += 8;
    }
    if !rest.is_empty() {
        let word = match bytes.last_chunk() {
            // The last eight bytes; those that were looked at before fall out, zeros come in.
            Some(last) => u64::from_le_bytes(*last) >> (64 - rest.len() * 8),
            None => rest.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b)),
        };
        look(at, word);
    }
}

/// True where one of `bytes` is an ASCII capital.
#[inline]
pub(crate) fn has_capital(bytes: &[u8]) -> bool {
    let capital = |word: u64| {
        let x = word & !HIGH;
        (x + LOW * u64::from(0x80 - b'A')) & !(x + LOW * u64::from(0x7f - b'Z')) & !word & HIGH
    };
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().any(|word| capital(u64::from_le_bytes(*word)) != 0) || rest.iter().any(u8::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_found_in_order() {
        // All bytes at all places of texts of all short lengths.
        for length in 0..40 {
            for shift in 0..=255u8 {
                let bytes: Vec<u8> = (0..length).map(|i: u8| i.wrapping_mul(101).wrapping_add(shift)).collect();
                let mut found = Vec::new();
                each(&bytes, [b'/', b'.', 1, 0xaf], |at, b| found.push((at, b)));
                let want: Vec<(usize, u8)> =
                    bytes.iter().copied().enumerate().filter(|(_, b)| b"/.\x01\xaf".contains(b)).collect();
                assert_eq!(found, want, "{bytes:?}");
                assert_eq!(has_capital(&bytes), bytes.iter().any(u8::is_ascii_uppercase), "{bytes:?}");
            }
        }
    }
}
