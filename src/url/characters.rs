//! Classes of the characters in a URL, sixteen bytes at a time: they separate most normal URLs from the
//! others.

use super::hash::{Blocks, hash};
use super::vector::Bytes;
use super::window::WIDTH;

/// An ASCII capital.
pub const CAPITAL: u8 = 1;
/// A `%`.
pub const PERCENT: u8 = 2;
/// A `+`.
pub const PLUS: u8 = 4;
/// All bits of [`letters`].
pub const LETTERS: u8 = CAPITAL | PERCENT | PLUS;
/// A control character.
pub(super) const CONTROL: u8 = 8;
/// A space, which becomes an escape.
pub(super) const SPACE: u8 = 16;
/// A byte that is escaped in some part of a URL, or invalid before the query: above 0x7F, `"`, `<`,
/// `>`, `\`, `{`, `}` or a backtick.
pub(super) const RARE: u8 = 32;
/// Perhaps one of [`CONTROL`], [`SPACE`] and [`RARE`]: distinguished by a second look, which few URLs
/// need.
const PERHAPS: u8 = 64;
/// A `#` or a `;`.
pub(super) const ODD: u8 = 128;

/// Classes of the characters in blocks of a URL, a byte of each block a lane.
#[derive(Default)]
struct Characters {
    capital: Bytes,
    percent: Bytes,
    plus: Bytes,
    odd: Bytes,
    perhaps: Bytes,
}

impl Characters {
    #[inline(always)]
    fn look(&mut self, block: [u8; 16]) {
        let block = Bytes::new(block);
        let is = |b: u8| block.simd_eq(Bytes::splat(b));
        let from_a = block - Bytes::splat(b'A');
        self.capital |= from_a.min(Bytes::splat(25)).simd_eq(from_a);
        self.percent |= is(b'%');
        self.plus |= is(b'+');
        self.odd |= is(b'#') | is(b';');
        // Up to `"` and from `{` on; `<`, `>` and the backslash, in which these bits are the same. With them
        // come `!`, `|`, `~` and `^`, which are seldom.
        let low = block.min(Bytes::splat(b'"')).simd_eq(block);
        let high = block.max(Bytes::splat(b'{')).simd_eq(block);
        let middle = (block & Bytes::splat(0x9d)).simd_eq(Bytes::splat(b'<' & 0x9d));
        self.perhaps |= low | high | middle | is(b'`');
    }

    #[inline(always)]
    fn letters(&self) -> u8 {
        bit(self.capital, CAPITAL)
            | bit(self.percent, PERCENT)
            | bit(self.plus, PLUS)
            | bit(self.odd, ODD)
            | bit(self.perhaps, PERHAPS)
    }

    /// Classes in all blocks of these bytes.
    #[inline(always)]
    fn seen(&self, bytes: &[u8]) -> u8 {
        let all = self.letters();
        if all & PERHAPS == 0 { all } else { all & !PERHAPS | exact(bytes) }
    }
}

#[inline(always)]
fn bit(seen: Bytes, bit: u8) -> u8 {
    if seen.to_bitmask() != 0 { bit } else { 0 }
}

/// Which of [`CONTROL`], [`SPACE`] and [`RARE`] occur in `bytes`.
#[inline(never)]
fn exact(bytes: &[u8]) -> u8 {
    let (mut control, mut space, mut rare) = (Bytes::default(), Bytes::default(), Bytes::default());
    blocks(bytes, |block| {
        let block = Bytes::new(block);
        let is = |b: u8| block.simd_eq(Bytes::splat(b));
        control |= block.min(Bytes::splat(0x1f)).simd_eq(block) | is(0x7f);
        space |= is(b' ');
        let high = block.max(Bytes::splat(0x80)).simd_eq(block);
        rare |= high | is(b'"') | is(b'<') | is(b'>') | is(b'\\') | is(b'`') | is(b'{') | is(b'}');
    });
    bit(control, CONTROL) | bit(space, SPACE) | bit(rare, RARE)
}

/// Gives all bytes in blocks: the last one over the end of the one before it, slashes behind fewer
/// bytes than a block.
#[inline(always)]
fn blocks(bytes: &[u8], mut look: impl FnMut([u8; 16])) {
    let (blocks, rest) = bytes.as_chunks::<16>();
    blocks.iter().for_each(|block| look(*block));
    match bytes.last_chunk() {
        Some(last) if !rest.is_empty() => look(*last),
        Some(_) => {}
        None => {
            let mut block = [b'/'; 16];
            block[..bytes.len()].copy_from_slice(bytes);
            look(block);
        }
    }
}

/// Which of [`CAPITAL`], [`PERCENT`], [`PLUS`], [`CONTROL`], [`SPACE`], [`RARE`] and [`ODD`] occur in
/// `bytes`.
pub(super) fn scan(bytes: &[u8]) -> u8 {
    let mut characters = Characters::default();
    blocks(bytes, |block| characters.look(block));
    characters.seen(bytes)
}

/// Copies a URL to the end of `out`, and zeros behind it; returns the result of [`scan`], and the
/// [`hash`] of all. One loop: the length of a URL is unpredictable, so each loop over its blocks costs
/// as much as many blocks.
#[inline(always)]
pub(super) fn copy(url: &[u8], out: &mut Vec<u8>) -> (u8, u64) {
    let Some(last) = url.last_chunk::<16>().filter(|_| url.len() > 16) else {
        out.extend_from_slice(url);
        out.extend_from_slice(&[0; WIDTH]);
        return (scan(url), hash(url, 0));
    };
    out.reserve(url.len() + WIDTH);
    let mut characters = Characters::default();
    let mut hash = Blocks::new(url.len(), 0);
    for block in url[..url.len() - 1].as_chunks::<16>().0 {
        out.extend_from_slice(block);
        characters.look(*block);
        hash.look(block);
    }
    // Over the end of the block before it.
    out.truncate(url.len() - 16);
    out.extend_from_slice(last);
    characters.look(*last);
    out.extend_from_slice(&[0; WIDTH]);
    (characters.seen(url), hash.finish(last))
}

/// The bits of [`CAPITAL`], [`PERCENT`] and [`PLUS`] for a URL.
pub fn letters(url: &[u8]) -> u8 {
    scan(url) & LETTERS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_bit_at_every_place() {
        let want = |b: u8| match b {
            b'A'..=b'Z' => CAPITAL,
            b'%' => PERCENT,
            b'+' => PLUS,
            b' ' => SPACE,
            b'#' | b';' => ODD,
            0..b' ' | 0x7f => CONTROL,
            b'"' | b'<' | b'>' | b'\\' | b'`' | b'{' | b'}' | 0x80.. => RARE,
            _ => 0,
        };
        for (byte, length, at) in (0..=255u8).flat_map(|byte| [1, 15, 16, 17, 40].map(|n| (byte, n, n * 2 / 3))) {
            let mut text = vec![b'x'; length];
            text[at] = byte;
            assert_eq!(scan(&text), want(byte), "{byte} at {at} of {length}");
            assert_eq!(copy(&text, &mut Vec::new()).0, want(byte), "{byte} at {at} of {length}");
        }
    }
}
