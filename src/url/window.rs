//! Positions of characters in a piece of a URL: a bit a byte, sixteen bytes an instruction.
//!
//! Byte loops, and a vector routine a delimiter, took a third to a half of what applying rules costs:
//! the parts of a URL are short, and there are many of them. Here one look at a piece finds every place
//! of a character.

use super::vector::Bytes;

/// Bytes of a window.
pub(super) const WIDTH: usize = 64;

/// So many times sixteen bytes.
pub(super) struct Window<const BLOCKS: usize>([Bytes; BLOCKS]);

impl<const BLOCKS: usize> Window<BLOCKS> {
    /// The bytes of `text` from `from` on; zeros where it does not have as many.
    #[inline(always)]
    pub(super) fn at(text: &[u8], from: usize) -> Window<BLOCKS> {
        let blocks = text.get(from..).unwrap_or_default().as_chunks::<16>().0;
        let block = |i: usize| Bytes::new(blocks.get(i).copied().unwrap_or_default());
        Window(std::array::from_fn(block))
    }

    /// The bytes that are `byte`.
    #[inline(always)]
    pub(super) fn equal(&self, byte: u8) -> u64 {
        self.bits(|block| block.simd_eq(Bytes::splat(byte)))
    }

    /// The bytes from `low` to `high`, or from `low_2` to `high_2`.
    #[inline(always)]
    pub(super) fn between(&self, [low, high]: [u8; 2], [low_2, high_2]: [u8; 2]) -> u64 {
        let within = |block: Bytes, low: u8, high: u8| {
            let above = block - Bytes::splat(low);
            above.min(Bytes::splat(high - low)).simd_eq(above)
        };
        self.bits(|block| within(block, low, high) | within(block, low_2, high_2))
    }

    #[inline(always)]
    fn bits(&self, test: impl Fn(Bytes) -> Bytes) -> u64 {
        (0..BLOCKS).fold(0, |bits, i| bits | u64::from(test(self.0[i]).to_bitmask()) << (i * 16))
    }
}

/// The lowest bits; at most 63 of them.
#[inline(always)]
pub(super) fn below(count: usize) -> u64 {
    (1 << count) - 1
}

/// Position of the lowest bit, or else `none`.
#[inline(always)]
pub(super) fn lowest(bits: u64, none: usize) -> usize {
    if bits == 0 { none } else { bits.trailing_zeros() as usize }
}

/// Position of the highest bit; 0 without one.
#[inline(always)]
pub(super) fn highest(bits: u64) -> usize {
    63 - (bits | 1).leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_bit() {
        let text: Vec<u8> = (0..=255).collect();
        for from in [0, 1, 100, 192, 200, 255, 300] {
            let window = Window::<4>::at(&text, from);
            // Blocks that are not whole count as zeros.
            let byte = |at: usize| if from + at / 16 * 16 + 16 <= 256 { text[from + at] } else { 0 };
            for b in [0, 1, 46, 47, 100, 127, 128, 199, 255] {
                let want = (0..64).fold(0, |bits, at| bits | u64::from(byte(at) == b) << at);
                assert_eq!(window.equal(b), want, "{from} {b}");
            }
            let inside = |b: u8| b.is_ascii_lowercase() || (b'-'..=b'9').contains(&b);
            let want = (0..64).fold(0, |bits, at| bits | u64::from(inside(byte(at))) << at);
            assert_eq!(window.between([b'a', b'z'], [b'-', b'9']), want, "{from}");
        }
        assert_eq!((below(0), below(3), lowest(8, 9), lowest(0, 9)), (0, 7, 3, 9));
        assert_eq!((highest(0), highest(1), highest(12)), (0, 0, 3));
    }
}
