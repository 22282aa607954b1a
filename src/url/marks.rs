//! Where the marks of a path and of a query stand that are as short as most are.

use super::safe::Split;
use super::segment::{DELIMITERS, Groups};
use super::window::{WIDTH, Window, below, highest};
use memchr::memchr;

/// Longest path or query whose marks are known: a bit a byte, and one bit to spare.
const LONGEST: usize = 63;

/// The marks of a URL without `;` and `#`, counted from the start of its path and from the start of its query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) slashes: u64,
    pub(super) dots: u64,
    pub(super) ands: u64,
    pub(super) equals: u64,
    /// `slashes` and `dots` are known, and no slash stands behind another.
    pub(super) path: bool,
    /// `ands` and `equals` are known.
    pub(super) query: bool,
}

impl Marks {
    /// Of the windows of path and query, and their lengths.
    #[inline(always)]
    fn new(path: (&Window<4>, usize), query: (&Window<4>, usize)) -> Marks {
        let inside = |length: usize| if length > LONGEST { 0 } else { below(length) };
        let (in_path, in_query) = (inside(path.1), inside(query.1));
        let slashes = path.0.equal(b'/') & in_path;
        Marks {
            slashes,
            dots: path.0.equal(b'.') & in_path,
            ands: query.0.equal(b'&') & in_query,
            equals: query.0.equal(b'=') & in_query,
            path: slashes & 1 == 1 && slashes & slashes >> 1 == 0,
            query: query.1 <= LONGEST,
        }
    }
}

/// Finds the parts behind the authority of a normal URL of `length` bytes without `;` and `#`, behind which zeros stand.
#[inline(always)]
pub(super) fn marked(split: Split, text: &[u8], length: usize) -> Split {
    let start = split.authority.1 as usize;
    let path = Window::<4>::at(text, start);
    let path_length = match path.equal(b'?') {
        0 if length - start <= WIDTH => length - start,
        0 => memchr(b'?', &text[start..length]).unwrap_or(length - start),
        marks => marks.trailing_zeros() as usize,
    };
    let path_end = start + path_length;
    let query = Window::<4>::at(text, path_end + 1);
    Split {
        path: (start as u32, path_end as u32),
        query: (path_end < length).then_some((path_end as u32 + 1, length as u32)),
        marks: Marks::new((&path, path_length), (&query, length.saturating_sub(path_end + 1))),
        ..split
    }
}

/// The delimiters (as [`Cut::delimiters`](super::Cut)) of a path whose marks are known, counted from its start.
#[inline(always)]
pub(super) fn delimiters(path: &[u8], delimiters: u8) -> u64 {
    if delimiters == 0 {
        return 0;
    }
    let mut text = [0; WIDTH];
    text[..path.len()].copy_from_slice(path);
    let window = Window::<4>::at(&text, 0);
    let cut = (0..DELIMITERS.len()).filter(|bit| delimiters >> bit & 1 == 1);
    cut.fold(0, |marks, bit| marks | window.equal(DELIMITERS[bit]))
}

/// The leading groups of the segment between two places; as [`cut_groups`](super::segment::cut_groups).
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
    use crate::url::segment::cut_groups;

    #[test]
    fn groups_are_those_of_the_segment() {
        for segment in ["", ":", "a", "a:", ":a", "a:b", "a:b:c:d", "a:b:", "a,b:c", "::", ":::x", "a=b!c,d:e"] {
            for set in 0..16 {
                let path = format!("/x:y/{segment}/z:");
                let (from, to) = (5, 5 + segment.len());
                let found = groups(delimiters(path.as_bytes(), set), from, to);
                assert_eq!(found, cut_groups(segment.as_bytes(), set), "{segment} {set}");
            }
        }
    }
}
