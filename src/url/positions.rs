//! Positions of the delimiters in a path and in a query of usual length.

use super::segment::{DELIMITERS, Groups};
use super::syntax::Split;
use super::window::{WIDTH, Window, below, highest};
use memchr::memchr;

/// Longest path or query whose delimiters have known positions: a bit a byte, and one bit to spare.
const LONGEST: usize = 63;

/// Delimiter positions of a URL without `;` and `#`, counted from the start of its path and from the start of its
/// query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Positions {
    pub(super) slashes: u64,
    pub(super) dots: u64,
    pub(super) ands: u64,
    pub(super) equals: u64,
    /// `slashes` and `dots` are known, and no slash follows another.
    pub(super) path: bool,
    /// `ands` and `equals` are known, or there is no query.
    pub(super) query: bool,
}

/// The first bits of a window, as many as a piece has bytes; none where it is longer. Branch-free: the
/// lengths of the pieces of URLs are unpredictable.
#[inline(always)]
fn inside(length: usize) -> u64 {
    below(length % WIDTH) & u64::from(length <= LONGEST).wrapping_neg()
}

/// Finds the parts behind the authority of a normal URL of `length` bytes without `;` and `#`, followed
/// by zeros.
#[inline(always)]
pub(super) fn with_positions(split: Split, text: &[u8], length: usize) -> Split {
    let start = split.authority.1 as usize;
    let path = Window::<4>::at(text, start);
    let path_length = match path.equal(b'?') {
        0 if length - start <= WIDTH => length - start,
        0 => memchr(b'?', &text[start..length]).unwrap_or(length - start),
        positions => positions.trailing_zeros() as usize,
    };
    let path_end = start + path_length;
    let in_path = inside(path_length);
    let (slashes, dots) = (path.equal(b'/') & in_path, path.equal(b'.') & in_path);
    let is_path = slashes & 1 == 1 && slashes & slashes >> 1 == 0;
    let positions = Positions { slashes, dots, path: is_path, query: true, ..Positions::default() };
    let split = Split { path: (start as u32, path_end as u32), positions, ..split };
    if path_end == length {
        return split;
    }
    let (start, length) = (path_end + 1, length - path_end - 1);
    let (query, in_query) = (Window::<4>::at(text, start), inside(length));
    let (ands, equals) = (query.equal(b'&') & in_query, query.equal(b'=') & in_query);
    Split {
        query: Some((start as u32, (start + length) as u32)),
        positions: Positions { ands, equals, query: length <= LONGEST, ..split.positions },
        ..split
    }
}

/// The delimiters of a path with known positions, as [`Tokenizer::delimiters`](super::Tokenizer::delimiters), counted
/// from its start; and some behind it. The text is unchanged on return: meanwhile zeros follow it.
#[inline(always)]
pub(super) fn delimiters(text: &mut Vec<u8>, path: usize, delimiters: u8) -> u64 {
    if delimiters == 0 {
        return 0;
    }
    let length = text.len();
    text.extend_from_slice(&[0; WIDTH]);
    let window = Window::<4>::at(text, path);
    text.truncate(length);
    let characters = (0..DELIMITERS.len()).filter(|bit| delimiters >> bit & 1 == 1);
    characters.fold(0, |found, bit| found | window.equal(DELIMITERS[bit]))
}

/// The leading groups of the segment between two places; as [`delimited_groups`](super::segment::delimited_groups).
#[inline(always)]
pub(super) fn groups(delimiters: u64, from: usize, to: usize) -> Groups {
    let inside = delimiters & below(to - 1) & !below(from);
    if inside == 0 {
        return (0, 0, 0);
    }
    let last = highest(inside);
    let group = match inside & below(last) {
        0 => 0,
        before => highest(before) + 1 - from,
    };
    let body = last + 1 - from;
    (group, body - group, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::segment::delimited_groups;

    #[test]
    fn groups_are_those_of_the_segment() {
        for segment in ["", ":", "a", "a:", ":a", "a:b", "a:b:c:d", "a:b:", "a,b:c", "::", ":::x", "a=b!c,d:e"] {
            for set in 0..16 {
                let path = format!("/x:y/{segment}/z:");
                let (from, to) = (5, 5 + segment.len());
                let found = groups(delimiters(&mut path.clone().into_bytes(), 0, set), from, to);
                assert_eq!(found, delimited_groups(segment.as_bytes(), set), "{segment} {set}");
            }
        }
    }
}
