//! Syntax-based normalization: the rewrites that cannot change what a URL means (RFC 3986 sections 6.2.2 and
//! 6.2.3). Always on, never learned.
//!
//! What is done: lower case for scheme and host; upper case for the hex digits of escapes; escapes of
//! unreserved characters decoded (`%7E` is `~`); dot segments removed (section 5.2.4, after decoding,
//! so `%2E%2e` counts); the scheme's default port, an empty port and leading zeros of a port removed;
//! an empty path becomes `/`; spaces at the end removed. Hosts: [`host`](super::host). Bytes that a URI
//! may not hold become escapes, as every client sends them: those above 0x7F one by one (text in UTF-8
//! is thereby escaped as UTF-8), a space, `"`, `<` and `>`; in the path also `{`, `}` and the backtick,
//! in the fragment the backtick, in user information all of these and `[`, `]`, `^`, `|`, `@`.
//!
//! What is not done, on purpose:
//! - User information is kept otherwise, an empty one too.
//! - A malformed escape (`%zz`, `%4`) is data: its `%` stays, and an escape that would complete it when
//!   decoded (`%4%31`) stays as well. Without that, a second normalization would see an escape (`%41`)
//!   that was never there.
//! - Other characters that RFC 3986 does not allow stay where browsers send them as they are: `[`, `]`,
//!   `^` and `|`; in query and fragment also `\`, `{` and `}`, in the query the backtick. An escape of
//!   them would be another URL.
//!
//! A backslash before the query makes the URL invalid: for browsers it is a slash, for RFC 3986 no
//! character of a URI.
//!
//! Invariants, shown in `tests/it/url_syntax.rs`: normalizing twice is once; the parts of [`Split`] put
//! together again give the output; the output holds no dot segment and only ASCII characters above the
//! space; beside its host it is longer than the input by two bytes an escaped byte and at most one
//! more; no input panics.

use super::authority::authority_end;
use super::characters::{CONTROL, LETTERS, ODD, PERCENT, RARE, SPACE, copy, scan};
use super::hash;
use super::host::{write_address, write_host};
use super::origin::{Origin, scheme};
use super::positions::{Positions, with_positions};
use super::window::{WIDTH, Window};
use memchr::{memchr, memchr2, memrchr};
use std::error::Error;
use std::fmt;

/// Positions of the parts of a normal URL in its bytes; offsets are half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// The scheme is `https` (else `http`).
    pub https: bool,
    /// User information, host and port, as in the URL.
    pub authority: (u32, u32),
    /// The host alone, without user information and port.
    pub host: (u32, u32),
    /// The path; starts with `/`.
    pub path: (u32, u32),
    /// Text behind `?`, without it; may be empty.
    pub query: Option<(u32, u32)>,
    /// Text behind `#`, without it; may be empty.
    pub fragment: Option<(u32, u32)>,
    /// The bits of [`LETTERS`] for the text behind the scheme.
    pub letters: u8,
    /// Hash of the whole URL.
    pub(crate) hash: u64,
    /// Positions of the positions of path and query.
    pub(super) positions: Positions,
}

impl Split {
    /// Takes the fragment off the URL `text` that has these parts.
    pub(crate) fn leave_out_fragment(&mut self, text: &mut Vec<u8>) {
        if let Some((start, _)) = self.fragment.take() {
            text.truncate(start as usize - 1);
            (self.letters, self.hash) = (scan(text) & LETTERS, hash::hash(text, 0));
        }
    }

    /// The parts of the same URL at an offset larger by `by` bytes.
    pub fn moved(self, by: u32) -> Split {
        let shift = |(a, b): (u32, u32)| (a + by, b + by);
        Split {
            https: self.https,
            authority: shift(self.authority),
            host: shift(self.host),
            path: shift(self.path),
            query: self.query.map(shift),
            fragment: self.fragment.map(shift),
            letters: self.letters,
            hash: self.hash,
            positions: self.positions,
        }
    }
}

/// True for a fragment that is a route of a program in the page: it begins with `!` or `/`.
pub fn is_route(fragment: &[u8]) -> bool {
    matches!(fragment.first(), Some(b'!' | b'/'))
}

/// Why a string is not a URL undust works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Invalid {
    /// Not an absolute `http` or `https` URL.
    Scheme,
    /// No host, one that is neither a name nor an address (see [`host`](super::host)), or a port that is no
    /// number up to 65535.
    Host,
    /// An ASCII control character.
    Control,
    /// A backslash before the query: clients disagree whether it is a slash.
    Backslash,
    /// Longer than offsets can express (4 GiB).
    Length,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::Scheme => f.write_str("not an absolute http or https URL"),
            Invalid::Host => f.write_str("no host, or not a valid one"),
            Invalid::Control => f.write_str("control character"),
            Invalid::Backslash => f.write_str("backslash before the query"),
            Invalid::Length => f.write_str("longer than 4 GiB"),
        }
    }
}

impl Error for Invalid {}

/// Writes the normal form of `url` into `out` (cleared first) and returns the positions of its
/// parts.
///
/// Linear in the length of `url`. A URL that is normal already costs a scan and one copy. No allocation
/// once `out` has held a URL as long, except for hosts that go through the library.
///
/// # Errors
/// [`Invalid`] when `url` is not an absolute http or https URL with a host; `out` is then unspecified.
/// Of several reasons the first of scheme, length, control character, backslash, host is given.
pub fn normalize(url: &[u8], out: &mut Vec<u8>) -> Result<Split, Invalid> {
    let mut split = Split::default();
    normalize_behind(None, url, out, &mut split).map(|()| split)
}

/// Normalizes as [`normalize`] does, for a URL that starts with this `origin`, known to be normal and a
/// host alone behind its scheme: its bytes are not read. Positions of its parts are written to `to`,
/// which is invalid after an error.
///
/// # Errors
/// As [`normalize`].
pub(crate) fn normalize_behind(
    origin: Option<Origin>,
    url: &[u8],
    out: &mut Vec<u8>,
    to: &mut Split,
) -> Result<(), Invalid> {
    out.clear();
    let (https, start, lower) = match origin {
        Some(Origin { https, start, .. }) => (https, start, true),
        None => scheme(url).ok_or(Invalid::Scheme)?,
    };
    if url.len() >= u32::MAX as usize {
        return Err(Invalid::Length);
    }
    // Copied first: what was just written cannot be read at other places for a while.
    let (seen, hash) = copy(url, out);
    let (end, plain) = match origin {
        Some(origin) => (origin.end, true),
        None => authority_end(&Window::<2>::at(url, start), url, start),
    };
    if seen & CONTROL != 0 {
        return Err(Invalid::Control);
    }
    let has_path = matches!(url.get(end), Some(b'/'));
    let escaped = seen & (SPACE | RARE) != 0;
    if lower && plain && has_path && !escaped && (seen & PERCENT == 0 || escapes_are_normal(url)) {
        let authority = (start as u32, end as u32);
        let split = Split { https, authority, host: authority, letters: seen & LETTERS, hash, ..Split::default() };
        let split = match seen & ODD {
            0 => with_positions(split, out, url.len()),
            _ => Parts::of(url, end).split(split, url.len()),
        };
        // Without escapes there is no dot segment unless a dot follows a slash.
        if !slash_dot(out, &split) {
            out.truncate(url.len());
            *to = split;
            return Ok(());
        }
    }
    out.clear();
    let spaces = url.iter().rev().take_while(|&&b| b == b' ').count();
    let url = &url[..url.len() - spaces];
    let end = end.min(url.len());
    let parts = Parts::of(url, end);
    if seen & RARE != 0 && memchr(b'\\', &url[..parts.path_end]).is_some() {
        return Err(Invalid::Backslash);
    }
    let escapes = escaped || seen & PERCENT != 0;
    let path_is_normal = has_path && !escapes && !dot_behind_slash(&url[end..parts.path_end]);

    out.extend_from_slice(if https { b"https://" } else { b"http://" });
    let host = if plain {
        out.extend_from_slice(&url[start..end]);
        (start as u32, end as u32)
    } else {
        write_authority(&url[start..end], https, out)?
    };
    let authority = (start as u32, out.len() as u32);
    let path_start = out.len();
    if path_is_normal {
        out.extend_from_slice(&url[end..parts.path_end]);
    } else {
        write_path(&url[end..parts.path_end], out);
    }
    let path = (path_start as u32, out.len() as u32);
    let mut split = Split { https, authority, host, path, ..Split::default() };
    let mut write = |mark: u8, place: u8, part: &[u8]| {
        out.push(mark);
        let from = out.len() as u32;
        if escapes {
            write_escaped(part, place, out)
        } else {
            out.extend_from_slice(part)
        }
        (from, out.len() as u32)
    };
    if let Some(query_start) = parts.query_start {
        split.query = Some(write(b'?', QUERY, &url[query_start..parts.query_end]));
    }
    if let Some(fragment_start) = parts.fragment_start {
        split.fragment = Some(write(b'#', FRAGMENT, &url[fragment_start..]));
    }
    let seen = scan(&out[authority.0 as usize..]);
    split.letters = seen & LETTERS;
    split.hash = hash::hash(out, 0);
    if seen & ODD == 0 {
        let length = out.len();
        out.extend_from_slice(&[0; WIDTH]);
        split = with_positions(split, out, length);
        out.truncate(length);
    }
    *to = split;
    Ok(())
}

/// True where a dot follows a slash in the path of a URL, which is followed by zeros.
#[inline(always)]
fn slash_dot(text: &[u8], split: &Split) -> bool {
    if split.positions.path {
        return split.positions.slashes << 1 & split.positions.dots != 0;
    }
    let (start, end) = split.path;
    dot_behind_slash(&text[start as usize..end as usize])
}

fn dot_behind_slash(path: &[u8]) -> bool {
    memchr::memchr_iter(b'.', path).any(|at| at > 0 && path[at - 1] == b'/')
}

/// True where each `%` starts an escape in upper case of a character that must be one.
fn escapes_are_normal(url: &[u8]) -> bool {
    let upper = |b: &u8| b.is_ascii_digit() || (b'A'..=b'F').contains(b);
    let normal = |at: usize| match &url[at..] {
        [_, high, low, ..] => upper(high) && upper(low) && escape_at(&url[at..]).is_some_and(|b| !is_unreserved(b)),
        _ => false,
    };
    memchr::memchr_iter(b'%', url).all(normal)
}

/// Positions of path, query and fragment in the input.
struct Parts {
    path_end: usize,
    query_start: Option<usize>,
    query_end: usize,
    fragment_start: Option<usize>,
}

impl Parts {
    fn of(url: &[u8], path_start: usize) -> Parts {
        let none = Parts { path_end: url.len(), query_start: None, query_end: url.len(), fragment_start: None };
        let Some(mark) = memchr2(b'?', b'#', &url[path_start..]) else { return none };
        let path_end = path_start + mark;
        if url[path_end] == b'#' {
            return Parts { path_end, fragment_start: Some(path_end + 1), ..none };
        }
        let query_start = path_end + 1;
        let query_end = memchr(b'#', &url[query_start..]).map_or(url.len(), |i| query_start + i);
        let fragment_start = (query_end < url.len()).then_some(query_end + 1);
        Parts { path_end, query_start: Some(query_start), query_end, fragment_start }
    }

    /// The split of an input of `length` bytes that is its own normal form.
    fn split(&self, split: Split, length: usize) -> Split {
        Split {
            path: (split.authority.1, self.path_end as u32),
            query: self.query_start.map(|start| (start as u32, self.query_end as u32)),
            fragment: self.fragment_start.map(|start| (start as u32, length as u32)),
            ..split
        }
    }
}

/// Writes an authority that is more than a plain host; returns the position of the host.
fn write_authority(authority: &[u8], https: bool, out: &mut Vec<u8>) -> Result<(u32, u32), Invalid> {
    if memchr(b' ', authority).is_some() {
        return Err(Invalid::Host);
    }
    let host_start = memrchr(b'@', authority).map_or(0, |at| at + 1);
    let (user, rest) = authority.split_at(host_start);
    if let [user @ .., _] = user {
        for &byte in user {
            if is_escaped(byte, USER) { push_escape(byte, out) } else { out.push(byte) }
        }
        out.push(b'@');
    }
    let from = out.len();
    let port = if rest.first() == Some(&b'[') {
        let close = memchr(b']', rest).ok_or(Invalid::Host)?;
        write_address(&rest[1..close], out)?;
        match &rest[close + 1..] {
            [] => &[],
            [b':', port @ ..] => port,
            _ => return Err(Invalid::Host),
        }
    } else {
        let colon = memchr(b':', rest);
        write_host(&rest[..colon.unwrap_or(rest.len())], out)?;
        colon.map_or(&[][..], |colon| &rest[colon + 1..])
    };
    let host = (from as u32, out.len() as u32);
    if !port.is_empty() {
        let significant = port.iter().position(|&b| b != b'0').unwrap_or(port.len() - 1);
        let port = &port[significant..];
        if port.len() > 5 || !port.iter().all(u8::is_ascii_digit) {
            return Err(Invalid::Host);
        }
        match port.iter().fold(0, |n, &b| n * 10 + u32::from(b - b'0')) {
            80 if !https => {}
            443 if https => {}
            0..=65535 => {
                out.push(b':');
                out.extend_from_slice(port);
            }
            _ => return Err(Invalid::Host),
        }
    }
    Ok(host)
}

/// Writes a path (empty, or starting with `/`) decoded and without dot segments.
///
/// RFC 3986 section 5.2.4 on segments: `.` goes, `..` takes the segment before it along, and where
/// either is the last one the path ends in `/`.
fn write_path(path: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.push(b'/');
    let Some(mut rest) = path.get(1..) else { return };
    loop {
        let segment = out.len();
        let end = memchr(b'/', rest).unwrap_or(rest.len());
        write_escaped(&rest[..end], PATH, out);
        let dots = match &out[segment..] {
            b"." => 1,
            b".." => 2,
            _ => 0,
        };
        if dots > 0 {
            out.truncate(segment);
        }
        if dots == 2 && segment > start + 1 {
            let before = memrchr(b'/', &out[start..segment - 1]).expect("a path starts with a slash");
            out.truncate(start + before + 1);
        }
        if end == rest.len() {
            return;
        }
        if dots == 0 {
            out.push(b'/');
        }
        rest = &rest[end + 1..];
    }
}

/// The path, in [`ESCAPED`].
const PATH: u8 = 1;
/// The query.
const QUERY: u8 = 2;
/// The fragment.
const FRAGMENT: u8 = 4;
/// User information.
const USER: u8 = 8;

/// The parts of a URL in which a byte becomes an escape. Control characters never come so far.
static ESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            0x80.. | b' ' | b'"' | b'<' | b'>' => PATH | QUERY | FRAGMENT | USER,
            b'{' | b'}' => PATH | USER,
            b'`' => PATH | FRAGMENT | USER,
            b'[' | b']' | b'^' | b'|' | b'@' => USER,
            _ => 0,
        };
        byte += 1;
    }
    table
};

fn is_escaped(byte: u8, place: u8) -> bool {
    ESCAPED[usize::from(byte)] & place != 0
}

/// Appends the escape of a byte.
pub(crate) fn push_escape(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Appends `part` with the escapes of unreserved characters decoded and the others in upper case, and
/// with escapes for the bytes that this `place` may not hold.
///
/// `out` must not end in a malformed escape of another part; a delimiter stands between any two parts.
fn write_escaped(mut part: &[u8], place: u8, out: &mut Vec<u8>) {
    while let Some(at) = part.iter().position(|&b| b == b'%' || is_escaped(b, place)) {
        out.extend_from_slice(&part[..at]);
        part = &part[at..];
        if part[0] != b'%' {
            push_escape(part[0], out);
            part = &part[1..];
            continue;
        }
        let Some(byte) = escape_at(part) else {
            out.push(b'%');
            part = &part[1..];
            continue;
        };
        if is_unreserved(byte) && !(byte.is_ascii_hexdigit() && ends_in_malformed_escape(out)) {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', part[1].to_ascii_uppercase(), part[2].to_ascii_uppercase()]);
        }
        part = &part[3..];
    }
    out.extend_from_slice(part);
}

/// The byte of the escape at the start of `bytes`; `None` where there is none or a malformed one.
pub(super) fn escape_at(bytes: &[u8]) -> Option<u8> {
    let &[b'%', high, low, ..] = bytes else { return None };
    let digit = |b: u8| (b as char).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// True where one or two more hex digits would make an escape of a `%` that is none. Escapes are
/// written three bytes at once, so a `%` this near to the end is a malformed one.
fn ends_in_malformed_escape(out: &[u8]) -> bool {
    matches!(out, [.., b'%'] | [.., b'%', b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F'])
}

#[cfg(test)]
mod tests;
