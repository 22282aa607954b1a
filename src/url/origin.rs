//! The part of a URL before the path: its scheme, and start and end of its authority.

use super::window::Window;

/// The bytes of a URL before its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(super) https: bool,
    /// Start of the authority.
    pub(super) start: usize,
    /// Position of the slash behind the authority.
    pub(crate) end: usize,
}

/// The origin of a URL with a scheme in lower case, and behind it sixteen bytes or more, one of the
/// first 32 a slash; it may be no valid one.
#[inline(always)]
pub(crate) fn origin(url: &[u8]) -> Option<Origin> {
    let (https, start) = lower_scheme(url)?;
    // Two blocks that overlap where the URL is short: branch-free in its length.
    let second = url.len().checked_sub(start + 16)?.min(16);
    let slash = |from: usize| Window::<1>::at(url, from).equal(b'/');
    let slashes = slash(start) | slash(start + second) << second;
    (slashes != 0).then(|| Origin { https, start, end: start + slashes.trailing_zeros() as usize })
}

/// Whether the scheme is https, where the authority starts, and whether the scheme is known to be in
/// lower case.
#[inline(always)]
pub(super) fn scheme(url: &[u8]) -> Option<(bool, usize, bool)> {
    match lower_scheme(url) {
        Some((https, start)) => Some((https, start, true)),
        None => any_scheme(url).map(|(https, start)| (https, start, false)),
    }
}

/// Whether a scheme in lower case is https, and where the authority starts.
#[inline(always)]
fn lower_scheme(url: &[u8]) -> Option<(bool, usize)> {
    const HTTP: u64 = u32::from_le_bytes(*b"http") as u64;
    const SLASHES: u64 = u32::from_le_bytes(*b"://\0") as u64;
    let word = url.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    // Unpredictable, hence branch-free.
    let https = word >> 32 & 0xff == u64::from(b's');
    let behind = word >> (32 + 8 * u32::from(https)) & 0xff_ffff;
    (word & 0xffff_ffff == HTTP && behind == SLASHES).then_some((https, 7 + usize::from(https)))
}

/// True for `https`, and the start of the authority; the scheme may be in any case.
fn any_scheme(url: &[u8]) -> Option<(bool, usize)> {
    let (name, rest) = url.split_at_checked(4)?;
    if !name.eq_ignore_ascii_case(b"http") {
        return None;
    }
    match rest {
        [b':', b'/', b'/', ..] => Some((false, 7)),
        [b's' | b'S', b':', b'/', b'/', ..] => Some((true, 8)),
        _ => None,
    }
}
