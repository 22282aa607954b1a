//! Stage 1, safe syntax: the rewrites that cannot change what a URL means (RFC 3986 sections 6.2.2 and 6.2.3). Always
//! on, never learned.
//!
//! What is done: lower case for scheme and host; upper case for the hex digits of escapes; escapes of unreserved
//! characters decoded (`%7E` is `~`); dot segments removed (section 5.2.4, after decoding, so `%2E%2e` counts); the
//! scheme's default port, an empty port and leading zeros of a port removed; the trailing dot of the host removed; an
//! empty path becomes `/`; a space becomes `%20`, as every client sends it (in the authority it makes the URL invalid).
//!
//! What is not done, on purpose:
//! - User information is kept byte for byte, an empty one too.
//! - A malformed escape (`%zz`, `%4`) is data: its `%` stays, and an escape that would complete it when decoded
//!   (`%4%31`) stays as well. Without that, a second normalization would see an escape (`%41`) that was never there.
//! - Nothing but a space is escaped and no name goes through IDNA: backslashes and bytes above 0x7F stay as they are. A
//!   backslash is an ordinary character, not a separator (browsers differ here).
//! - Addresses are not rewritten: `[0::1]` and `[::1]` stay two hosts.
//!
//! Laws, shown in `tests/it/url_safe.rs`: normalizing twice is once; the parts of [`Split`] put together again give
//! the output; the output holds no dot segment, no byte below 0x21, and is longer than the input by two bytes a space and at
//! most one more; no input panics.

use super::authority::authority_end;
use super::characters::{CONTROL, LETTERS, ODD, PERCENT, SPACE, copy, scan};
use super::hash;
use super::marks::{Marks, marked};
use super::origin::{Origin, scheme};
use super::window::{WIDTH, Window};
use memchr::{memchr, memchr2, memrchr};

/// Where the parts of a stage-1 normal URL stand in its bytes; offsets are half open.
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
    /// What follows `?`, without it; may be empty.
    pub query: Option<(u32, u32)>,
    /// What follows `#`, without it; may be empty.
    pub fragment: Option<(u32, u32)>,
    /// Which of [`LETTERS`] stand behind the scheme.
    pub letters: u8,
    /// Hash of the whole URL.
    pub(crate) hash: u64,
    /// Where the marks of path and query stand.
    pub(super) marks: Marks,
}

impl Split {
    /// The same parts of a URL that stands `by` bytes later.
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
            marks: self.marks,
        }
    }
}

/// Why a string is not a URL undust works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Invalid {
    /// Not an absolute `http` or `https` URL.
    #[error("not an absolute http or https URL")]
    Scheme,
    /// No host, an empty label in it, an address in brackets that is none, or a port that is no number up to 65535.
    #[error("no host, or not a valid one")]
    Host,
    /// An ASCII control character.
    #[error("control character")]
    Control,
    /// Longer than offsets can tell (4 GiB).
    #[error("longer than 4 GiB")]
    Length,
}

/// Writes the stage-1 normal form of `url` into `out` (cleared first) and tells where its parts stand.
///
/// Linear in the length of `url`. A URL that is normal already costs a scan and one copy. No allocation once `out` has
/// held a URL as long.
///
/// # Errors
/// [`Invalid`] when `url` is not an absolute http or https URL with a host; `out` is then unspecified. Of several
/// reasons the first of scheme, length, control character, host is given.
pub fn normalize(url: &[u8], out: &mut Vec<u8>) -> Result<Split, Invalid> {
    let mut split = Split::default();
    normalize_behind(None, url, out, &mut split).map(|()| split)
}

/// As [`normalize`], for a URL that starts with this `origin`, which is known to come out as it goes in and to be a host
/// alone behind its scheme: nothing of it is looked at. Where its parts stand is written to `to`, which says nothing where
/// there is an error.
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
    if lower && plain && has_path && seen & SPACE == 0 && (seen & PERCENT == 0 || escapes_are_normal(url)) {
        let authority = (start as u32, end as u32);
        let split = Split { https, authority, host: authority, letters: seen & LETTERS, hash, ..Split::default() };
        let split = match seen & ODD {
            0 => marked(split, out, url.len()),
            _ => Parts::of(url, end).split(split, url.len()),
        };
        // Without escapes there is no dot segment unless a dot stands behind a slash.
        if !slash_dot(out, &split) {
            out.truncate(url.len());
            *to = split;
            return Ok(());
        }
    }
    out.clear();
    let parts = Parts::of(url, end);
    let escapes = seen & (PERCENT | SPACE) != 0;
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
    let mut write = |mark: u8, part: &[u8]| {
        out.push(mark);
        let from = out.len() as u32;
        if escapes {
            write_decoded(part, out)
        } else {
            out.extend_from_slice(part)
        }
        (from, out.len() as u32)
    };
    if let Some(query_start) = parts.query_start {
        split.query = Some(write(b'?', &url[query_start..parts.query_end]));
    }
    if let Some(fragment_start) = parts.fragment_start {
        split.fragment = Some(write(b'#', &url[fragment_start..]));
    }
    let seen = scan(&out[authority.0 as usize..]);
    split.letters = seen & LETTERS;
    split.hash = hash::hash(out, 0);
    if seen & ODD == 0 {
        let length = out.len();
        out.extend_from_slice(&[0; WIDTH]);
        split = marked(split, out, length);
        out.truncate(length);
    }
    *to = split;
    Ok(())
}

/// True where a dot stands behind a slash in the path of a URL behind which zeros stand.
#[inline(always)]
fn slash_dot(text: &[u8], split: &Split) -> bool {
    if split.marks.path {
        return split.marks.slashes << 1 & split.marks.dots != 0;
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

/// Where path, query and fragment stand in the input.
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

/// Writes an authority that is more than a plain host; gives the place of the host.
fn write_authority(authority: &[u8], https: bool, out: &mut Vec<u8>) -> Result<(u32, u32), Invalid> {
    if memchr(b' ', authority).is_some() {
        return Err(Invalid::Host);
    }
    let host_start = memrchr(b'@', authority).map_or(0, |at| at + 1);
    let (user, rest) = authority.split_at(host_start);
    out.extend_from_slice(user);
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

/// Writes `[address]` in lower case; a zone (`%25eth0`, RFC 6874) keeps its case.
fn write_address(inside: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let (address, zone) = inside.split_at(memchr(b'%', inside).unwrap_or(inside.len()));
    let text = std::str::from_utf8(address).map_err(|_| Invalid::Host)?;
    text.parse::<std::net::Ipv6Addr>().map_err(|_| Invalid::Host)?;
    out.push(b'[');
    out.extend(address.iter().map(u8::to_ascii_lowercase));
    out.extend_from_slice(zone);
    out.push(b']');
    Ok(())
}

/// Writes a host name: escapes as in a path, lower case, without the trailing dot.
fn write_host(name: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let start = out.len();
    write_decoded(name, out);
    if out.len() > start && out.last() == Some(&b'.') {
        out.pop();
    }
    let host = &mut out[start..];
    if host.split(|&b| b == b'.').any(<[u8]>::is_empty) {
        return Err(Invalid::Host);
    }
    let mut i = 0;
    while i < host.len() {
        if escape_at(&host[i..]).is_some() {
            i += 3;
        } else {
            host[i] = host[i].to_ascii_lowercase();
            i += 1;
        }
    }
    Ok(())
}

/// Writes a path (empty, or starting with `/`) decoded and without dot segments.
///
/// RFC 3986 section 5.2.4 on segments: `.` goes, `..` takes the segment before it along, and where either is the last
/// one the path ends in `/`.
fn write_path(path: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.push(b'/');
    let Some(mut rest) = path.get(1..) else { return };
    loop {
        let segment = out.len();
        let end = memchr(b'/', rest).unwrap_or(rest.len());
        write_decoded(&rest[..end], out);
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

/// Appends `part` with the escapes of unreserved characters decoded and the others in upper case; spaces, which no URL
/// may hold, are escaped.
///
/// `out` must not end in a malformed escape of another part; a delimiter stands between any two parts.
fn write_decoded(mut part: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr2(b'%', b' ', part) {
        out.extend_from_slice(&part[..at]);
        part = &part[at..];
        if part[0] == b' ' {
            out.extend_from_slice(b"%20");
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

/// The byte that the escape at the start of `bytes` stands for; `None` where there is none or a malformed one.
fn escape_at(bytes: &[u8]) -> Option<u8> {
    let &[b'%', high, low, ..] = bytes else { return None };
    let digit = |b: u8| (b as char).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// True where one or two more hex digits would make an escape of a `%` that is none. Escapes are written three bytes
/// at once, so a `%` this near to the end is a malformed one.
fn ends_in_malformed_escape(out: &[u8]) -> bool {
    matches!(out, [.., b'%'] | [.., b'%', b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F'])
}

#[cfg(test)]
mod tests;
