//! Hosts in normal form: names in ASCII by UTS 46 (crate `idna`), addresses in the usual notation.
//!
//! Names follow the URL standard (WHATWG), as browsers and the `url` crate read them: escapes are
//! decoded, then the name is mapped to ASCII (non-transitional, no length limits). A trailing dot
//! stays: it is another name to a resolver, and often to a server. Invalid are: an empty label, a
//! malformed Punycode label, a name whose last label is a number and which is no IPv4 address, and, raw
//! or escaped, control characters, space, `"#%/:<>?@[\\]^{|}` and the backtick.
//!
//! Addresses: IPv4 in four decimal numbers (`0x7f.1` is `127.0.0.1`), IPv6 as in RFC 5952 (`[0::1]` is
//! `[::1]`), without a zone, which means something on one machine only.

use super::syntax::{Invalid, escape_at};
use idna::AsciiDenyList;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Characters that no host may hold: those of the URL standard, and those outside RFC 3986.
const DENIED: AsciiDenyList = AsciiDenyList::new(true, "%#/:<>?@[\\]^|\"`{}");

/// Writes the host `name` in normal form. Names of ASCII letters, digits, `_`, `-` and `.` are written
/// in lower case; others, and those with a Punycode label, go through the library, which may allocate.
///
/// # Errors
/// [`Invalid::Host`].
pub(super) fn write_host(name: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let start = out.len();
    let simple = |&b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    if name.iter().all(simple) && !memchr::memmem::find_iter(name, b"--").any(|at| is_punycode(name, at)) {
        out.extend(name.iter().map(u8::to_ascii_lowercase));
    } else {
        let name = decoded(name);
        let ascii = idna::domain_to_ascii_cow(&name, DENIED).map_err(|_| Invalid::Host)?;
        out.extend_from_slice(ascii.as_bytes());
    }
    let host = &out[start..];
    let labels = host.strip_suffix(b".").unwrap_or(host);
    if labels.split(|&b| b == b'.').any(<[u8]>::is_empty) {
        return Err(Invalid::Host);
    }
    let last = labels.rsplit(|&b| b == b'.').next().unwrap_or_default();
    if last.iter().all(u8::is_ascii_digit) || number(last).is_some() {
        let address = ipv4(labels).ok_or(Invalid::Host)?;
        out.truncate(start);
        write!(out, "{address}").expect("writing into memory cannot fail");
    }
    Ok(())
}

/// True where the two hyphens at `at` are those of a label `xn--...`.
fn is_punycode(name: &[u8], at: usize) -> bool {
    // Of the bytes before it three are enough: a host of hyphens alone would else take quadratic time.
    let before = &name[at.saturating_sub(3)..at];
    let (dot, label) = before.split_at(before.len().saturating_sub(2));
    label.eq_ignore_ascii_case(b"xn") && matches!(dot, b"" | b".")
}

/// The name without its escapes. A malformed one keeps its `%`, which no host may hold.
fn decoded(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(&first) = rest.first() {
        let escape = escape_at(rest);
        out.push(escape.unwrap_or(first));
        rest = &rest[if escape.is_some() { 3 } else { 1 }..];
    }
    out
}

/// A part of an IPv4 address: decimal, octal behind `0`, hexadecimal behind `0x`, in lower case.
fn number(digits: &[u8]) -> Option<u64> {
    let (digits, radix) = match digits {
        [b'0', b'x'] => return Some(0),
        [b'0', b'x', rest @ ..] => (rest, 16),
        [b'0', rest @ ..] if !rest.is_empty() => (rest, 8),
        _ => (digits, 10),
    };
    // A sign is no digit; numbers beyond 64 bits are too large for an address, whatever they are.
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    match u64::from_str_radix(text, radix) {
        Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => Some(u64::MAX),
        number => number.ok(),
    }
}

/// One to four numbers, of which the last fills the bytes that are left.
fn ipv4(labels: &[u8]) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = labels.split(|&b| b == b'.').map(number).collect::<Option<_>>()?;
    let (&last, first) = numbers.split_last()?;
    let fits = first.len() < 4 && first.iter().all(|&n| n < 256) && last < 1 << (8 * (4 - first.len()));
    fits.then(|| {
        let shifted = first.iter().zip([24, 16, 8]).map(|(&n, bits)| n << bits).sum::<u64>();
        Ipv4Addr::from((shifted + last) as u32)
    })
}

/// Writes the IPv6 address between brackets, with the brackets.
///
/// # Errors
/// [`Invalid::Host`].
pub(super) fn write_address(inside: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let text = std::str::from_utf8(inside).map_err(|_| Invalid::Host)?;
    let address: Ipv6Addr = text.parse().map_err(|_| Invalid::Host)?;
    write!(out, "[{address}]").expect("writing into memory cannot fail");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> Option<String> {
        let mut out = Vec::new();
        write_host(name.as_bytes(), &mut out).ok().map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn punycode_is_known_by_the_beginning_of_a_label() {
        for name in ["xn--", "XN--a", "a.xn--a", "a.b--c.xn--"] {
            assert_eq!(host(name), None, "{name}: malformed");
        }
        for name in ["axn--a", "a--b", "x--", "n--a", "a.axn--a", "xn-a", "xn.--"] {
            assert_eq!(host(name).as_deref(), Some(name));
        }
        assert_eq!(host("a.XN--bcher-KVA").as_deref(), Some("a.xn--bcher-kva"));
    }
}
