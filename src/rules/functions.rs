//! String functions of the normalization catalogue on the value of one key.
//!
//! Each keeps text of a normal form in normal form: escapes keep their upper-case hex digits, and no
//! decoded character has a meaning of its own in its place.

use super::types::Function;
use crate::url::scan::has_capital;
use crate::url::{CAPITAL, Fixed, KeyKind, PERCENT, PLUS};
use std::collections::BTreeSet;

/// Property of an empty value, beside those of [`Split::letters`](crate::url::Split::letters).
pub(super) const EMPTY: u8 = 8;
/// Property of the value of a repeated query key: it holds a `&`.
pub(super) const REPEATED: u8 = 16;
/// Property of every URL.
pub(super) const ANY: u8 = 0x80;

/// Properties of which a URL must have one for the function to change a value in it, as bits.
pub(super) fn needs(function: Function) -> u8 {
    match function {
        Function::DropWww
        | Function::DropLeadingZeros
        | Function::DropTitle
        | Function::HashTo7
        | Function::HashTo8
        | Function::HashTo10
        | Function::HashTo12 => ANY,
        Function::FirstRepeat | Function::LastRepeat | Function::SortRepeats | Function::SortFamily => REPEATED,
        Function::DropEmpty => EMPTY,
        Function::PlusIsSpace => PLUS,
        Function::LowerCase => CAPITAL,
        Function::DecodeSubDelimiters | Function::DecodeSlash => PERCENT,
    }
}

/// Properties that the output of the function may have and its input did not, as bits.
pub(super) fn brings(function: Function) -> u8 {
    match function {
        Function::PlusIsSpace => PERCENT,
        _ if function.is_on_repeats() => EMPTY,
        _ => 0,
    }
}

/// Properties of a value, as bits.
pub(super) fn holds(value: &[u8]) -> u8 {
    let bit = |is: bool, bit: u8| if is { bit } else { 0 };
    bit(has_capital(value), CAPITAL)
        | bit(value.contains(&b'%'), PERCENT)
        | bit(value.contains(&b'+'), PLUS)
        | bit(value.is_empty(), EMPTY)
        | bit(value.contains(&b'&'), REPEATED)
}

/// A host without `www.`, where it keeps at least two labels.
pub(super) fn without_www(host: &[u8]) -> Option<&[u8]> {
    host.strip_prefix(b"www.").filter(|rest| rest.contains(&b'.'))
}

/// True for two hosts of which one is the other with `www.`.
pub fn are_www_pair(one: &[u8], other: &[u8]) -> bool {
    without_www(one) == Some(other) || without_www(other) == Some(one)
}

/// Writes the value after `function` to `out` (cleared first); false where the value does not change.
pub fn apply(function: Function, value: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    match function {
        Function::DropWww => {
            let Some(rest) = without_www(value) else { return false };
            out.extend_from_slice(rest);
            true
        }
        Function::DropEmpty => value.is_empty(),
        Function::PlusIsSpace => {
            if memchr::memchr(b'+', value).is_none() {
                return false;
            }
            for &b in value {
                if b == b'+' { out.extend_from_slice(b"%20") } else { out.push(b) }
            }
            true
        }
        Function::LowerCase => {
            if !has_capital(value) {
                return false;
            }
            let mut at = 0;
            while at < value.len() {
                if let Some(escape) = escape_at(value, at) {
                    out.extend_from_slice(escape);
                    at += 3;
                } else {
                    out.push(value[at].to_ascii_lowercase());
                    at += 1;
                }
            }
            out != value
        }
        Function::DecodeSubDelimiters => decode_some(value, b"()!*',:@$", out),
        Function::DecodeSlash => decode_some(value, b"/?", out),
        Function::DropLeadingZeros => without_zeros(value, out),
        Function::DropTitle => without_title(value, out),
        Function::HashTo7 | Function::HashTo8 | Function::HashTo10 | Function::HashTo12 => {
            let Some(digits) = function.hash_digits().filter(|_| is_hash(value)) else { return false };
            out.extend_from_slice(&value[..digits]);
            true
        }
        Function::FirstRepeat | Function::LastRepeat | Function::SortRepeats => of_repeats(function, value, out),
        Function::SortFamily => of_family(value, out),
    }
}

/// True for a SHA-1 hash in lower-case hexadecimal digits, as programs write it.
fn is_hash(value: &[u8]) -> bool {
    value.len() == 40 && value.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Writes a number without the zeros before it; false where there are none, or the value is no
/// number alone: what holds for `007` says nothing of `AB007` or `2016-07-16`.
fn without_zeros(value: &[u8], out: &mut Vec<u8>) -> bool {
    let zeros = value[..value.len().saturating_sub(1)].iter().take_while(|b| **b == b'0').count();
    if zeros == 0 || !value.iter().all(u8::is_ascii_digit) {
        return false;
    }
    out.extend_from_slice(&value[zeros..]);
    true
}

/// Writes the number before a title; false where the value is no such two.
fn without_title(value: &[u8], out: &mut Vec<u8>) -> bool {
    let (number, rest) = value.split_at(value.iter().take_while(|b| b.is_ascii_digit()).count());
    let title = match rest {
        [b':' | b'-' | b'_', title @ ..] | [b'%', b'3', b'A', title @ ..] => title,
        _ => return false,
    };
    let is_title = title.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'%') && !title.contains(&b'&');
    if number.is_empty() || !is_title {
        return false;
    }
    out.extend_from_slice(number);
    true
}

/// Writes the result of `function` on the values of a repeated query key, which are joined by `&` and
/// the name of the key; false where the key is not repeated, or the values do not change.
fn of_repeats(function: Function, value: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(joint) = memchr::memchr(b'&', value) else { return false };
    // A name ends in the first `=`, or has none.
    let behind_name = |part: &[u8]| memchr::memchr(b'=', part).map_or(part.len(), |at| at + 1);
    let name =
        &value[joint..joint + 1 + behind_name(value[joint + 1..].split(|&b| b == b'&').next().unwrap_or_default())];
    let first = &value[..joint];
    let mut others = value[joint + 1..].split(|&b| b == b'&').map(|part| &part[behind_name(part)..]);
    match function {
        Function::FirstRepeat => out.extend_from_slice(first),
        Function::LastRepeat => out.extend_from_slice(others.next_back().unwrap_or_default()),
        _ => {
            let values: BTreeSet<&[u8]> = others.chain([first]).collect();
            for (at, value) in values.into_iter().enumerate() {
                out.extend_from_slice(if at == 0 { b"" } else { name });
                out.extend_from_slice(value);
            }
        }
    }
    out != value
}

/// Writes the parameters of a family with its values sorted; false where its names are not, or nothing changes.
fn of_family(value: &[u8], out: &mut Vec<u8>) -> bool {
    let parts = value.split(|&b| b == b'&');
    let cut = parts.map(|part| part.split_at(memchr::memchr(b'=', part).map_or(part.len(), |at| at + 1)));
    let (names, mut values): (Vec<&[u8]>, Vec<&[u8]>) = cut.unzip();
    if names.windows(2).any(|two| two[0] >= two[1]) {
        return false;
    }
    values.sort_unstable();
    for (at, (name, value)) in names.into_iter().zip(values).enumerate() {
        out.extend_from_slice(if at == 0 { b"" } else { b"&" });
        out.extend_from_slice(name);
        out.extend_from_slice(value);
    }
    out != value
}

/// True for a value that can be copied to `key` as it is: it holds no delimiter that has a meaning
/// there.
pub fn fits(value: &[u8], key: KeyKind) -> bool {
    let free_of = |bytes: &[u8]| !value.iter().any(|b| bytes.contains(b));
    match key {
        KeyKind::Query => free_of(b"&#+"),
        KeyKind::Param => !value.is_empty() && free_of(b"/?#;"),
        KeyKind::Fixed(Fixed::HOST) => {
            let is_label = |label: &[u8]| {
                let is_plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
                label.first().is_some_and(|&first| first != b'-') && label.iter().all(is_plain)
            };
            value.split(|&b| b == b'.').all(is_label)
        }
        KeyKind::Fixed(_) => !value.is_empty() && value != b"." && value != b".." && free_of(b"/?#;&+"),
    }
}

/// Decodes the escapes of `bytes`; false where there are none.
fn decode_some(value: &[u8], bytes: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr(b'%', value).is_none() {
        return false;
    }
    let mut at = 0;
    while at < value.len() {
        match escape_at(value, at).map(decode) {
            Some(b) if bytes.contains(&b) => {
                out.push(b);
                at += 3;
            }
            _ => {
                out.push(value[at]);
                at += 1;
            }
        }
    }
    out != value
}

fn escape_at(value: &[u8], at: usize) -> Option<&[u8]> {
    let escape = value.get(at..at + 3)?;
    (escape[0] == b'%' && escape[1].is_ascii_hexdigit() && escape[2].is_ascii_hexdigit()).then_some(escape)
}

fn decode(escape: &[u8]) -> u8 {
    let digit = |b: u8| (b as char).to_digit(16).map_or(0, |d| d as u8);
    digit(escape[1]) << 4 | digit(escape[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_change_what_they_name_and_tell_so() {
        const HASH: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
        let cases: [(Function, &str, Option<&str>); 56] = [
            (Function::DropWww, "www.example.com", Some("example.com")),
            (Function::DropWww, "www.com", None),
            (Function::DropWww, "wwww.example.com", None),
            (Function::DropEmpty, "", Some("")),
            (Function::DropEmpty, "x", None),
            (Function::PlusIsSpace, "a+b", Some("a%20b")),
            (Function::LowerCase, "Caf%C3%A9", Some("caf%C3%A9")),
            (Function::LowerCase, "%C3%A9", None),
            (Function::DecodeSubDelimiters, "a%28b%29%2F", Some("a(b)%2F")),
            (Function::DecodeSubDelimiters, "%2", None),
            (Function::DecodeSlash, "a%2fb%3F%28", Some("a/b?%28")),
            (Function::DecodeSlash, "%252F", None),
            (Function::DropLeadingZeros, "0365", Some("365")),
            (Function::DropLeadingZeros, "000", Some("0")),
            (Function::DropLeadingZeros, "AB006", None),
            (Function::DropLeadingZeros, "2015-05-04", None),
            (Function::DropLeadingZeros, "1.05", None),
            (Function::DropLeadingZeros, "", None),
            (Function::DropLeadingZeros, "%00%A01", None),
            (Function::DropLeadingZeros, "00ff", None),
            (Function::DropLeadingZeros, "0", None),
            (Function::DropLeadingZeros, "100", None),
            (Function::DropLeadingZeros, "01&a01=02", None),
            (Function::DropTitle, "346:a-title", Some("346")),
            (Function::DropTitle, "346%3Aa-title", Some("346")),
            (Function::DropTitle, "346-%C3%A9", Some("346")),
            (Function::DropTitle, "346_t", Some("346")),
            (Function::DropTitle, "2016-07-16", None),
            (Function::DropTitle, "346:", None),
            (Function::DropTitle, ":a", None),
            (Function::DropTitle, "346", None),
            (Function::DropTitle, "1:a&id=2:b", None),
            (Function::HashTo7, HASH, Some("da39a3e")),
            (Function::HashTo8, HASH, Some("da39a3ee")),
            (Function::HashTo10, HASH, Some("da39a3ee5e")),
            (Function::HashTo12, HASH, Some("da39a3ee5e6b")),
            (Function::HashTo7, &HASH.to_uppercase(), None),
            (Function::HashTo7, &HASH[1..], None),
            (Function::HashTo7, &format!("{HASH}0"), None),
            (Function::HashTo7, &format!("{HASH}{}", &HASH[..24]), None),
            (Function::HashTo7, &HASH.replace('a', "g"), None),
            (Function::HashTo7, "da39a3ee", None),
            (Function::FirstRepeat, "1&a=2&a=3", Some("1")),
            (Function::LastRepeat, "1&a=2&a=3=4", Some("3=4")),
            (Function::LastRepeat, "1", None),
            (Function::SortRepeats, "3&a=1&a=3&a=2", Some("1&a=2&a=3")),
            (Function::SortRepeats, "1&a=1", Some("1")),
            (Function::SortFamily, "f[0]=b&f[1]=a", Some("f[0]=a&f[1]=b")),
            (Function::SortFamily, "f[0]=b&f[1]=a&f[2]=a", Some("f[0]=a&f[1]=a&f[2]=b")),
            (Function::SortFamily, "f[1]=a&f[0]=b", None),
            (Function::SortFamily, "f[0]=b&f[0]=a", None),
            (Function::SortFamily, "f[0]=a&f[1]=b=&f[2]=c", None),
            (Function::SortFamily, "f[0]=b", None),
            (Function::SortRepeats, "1&a=2", None),
            // A name without `=` has no values.
            (Function::SortRepeats, "&a&a", Some("")),
            (Function::LastRepeat, "&a", Some("")),
        ];
        for (function, value, expected) in cases {
            let mut out = Vec::new();
            let changed = apply(function, value.as_bytes(), &mut out);
            assert_eq!(changed.then_some(String::from_utf8(out).unwrap().as_str()), expected, "{function:?} {value}");
        }
    }

    #[test]
    fn functions_bring_what_they_say_and_change_nothing_without_what_they_need() {
        let pieces = ["", "www.", "A", "a.b", "+", "%2F", "%28", "&a=", "1-b", "%"];
        for (function, i) in Function::ALL.into_iter().flat_map(|function| (0..1000).map(move |i| (function, i))) {
            let value = [pieces[i % 10], pieces[i / 10 % 10], pieces[i / 100]].concat();
            let mut out = Vec::new();
            if apply(function, value.as_bytes(), &mut out) {
                let held = holds(value.as_bytes());
                assert!((held | ANY) & needs(function) != 0, "{function:?} {value}");
                // An empty value is left out with its key.
                let now = if function == Function::DropEmpty { 0 } else { holds(&out) };
                assert_eq!(now & !(held | brings(function)), 0, "{function:?} {value}");
            }
        }
    }
}
