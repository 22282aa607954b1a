//! References to absolute URLs (RFC 3986, section 5.2), as bytes. Dot segments are left to the
//! syntax-based normalization of `url`.

/// Writes the absolute URL of `reference`, found on the page `base` (an absolute http or https URL), to
/// `out` (cleared first). White space around it, and line ends and tabs in it, are dropped, as browsers
/// do. `false` where it leads to no http or https URL; `out` is then empty.
pub fn resolve(base: &[u8], reference: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    let reference: Vec<u8> =
        reference.trim_ascii().iter().copied().filter(|b| !matches!(b, b'\t' | b'\n' | b'\r')).collect();
    let reference = &reference[..reference.iter().position(|&b| b == b'#').unwrap_or(reference.len())];
    let Some(colon) = memchr::memchr(b':', base) else { return false };
    let scheme = &base[..colon];
    let Some(after) = base.get(colon + 3..).filter(|_| base[colon..].starts_with(b"://")) else { return false };
    let authority = memchr::memchr3(b'/', b'?', b'#', after).unwrap_or(after.len());
    let path_start = colon + 3 + authority;
    let rest = &base[path_start..];
    let path = &rest[..memchr::memchr2(b'?', b'#', rest).unwrap_or(rest.len())];
    let without_fragment = &base[..memchr::memchr(b'#', base).unwrap_or(base.len())];
    match reference {
        _ if is_http(reference) => out.extend_from_slice(reference),
        _ if has_scheme(reference) => return false,
        [b'/', b'/', ..] => {
            out.extend_from_slice(scheme);
            out.push(b':');
            out.extend_from_slice(reference);
        }
        [b'/', ..] => {
            out.extend_from_slice(&base[..path_start]);
            out.extend_from_slice(reference);
        }
        [] => out.extend_from_slice(without_fragment),
        [b'?', ..] => {
            out.extend_from_slice(&base[..path_start + path.len()]);
            out.extend_from_slice(reference);
        }
        _ => {
            let folder = memchr::memrchr(b'/', path).map_or(0, |at| at + 1);
            out.extend_from_slice(&base[..path_start + folder]);
            if folder == 0 {
                out.push(b'/');
            }
            out.extend_from_slice(reference);
        }
    }
    true
}

fn is_http(reference: &[u8]) -> bool {
    let scheme = |name: &[u8]| reference.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    scheme(b"http://") || scheme(b"https://")
}

fn has_scheme(reference: &[u8]) -> bool {
    let end = reference.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')));
    reference.first().is_some_and(u8::is_ascii_alphabetic) && end.is_some_and(|end| reference[end] == b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_absolute() {
        let cases = [
            ("http://a/b/c?d#e", "x", Some("http://a/b/x")),
            ("http://a/b/c?d#e", " /x\n?y#z ", Some("http://a/x?y")),
            ("http://a/b/c?d#e", "?y", Some("http://a/b/c?y")),
            ("http://a/b/c?d#e", "", Some("http://a/b/c?d")),
            ("http://a/b/c?d#e", "#f", Some("http://a/b/c?d")),
            ("https://a:8/b", "//c/d", Some("https://c/d")),
            ("http://a", "x", Some("http://a/x")),
            ("http://a?q", "x", Some("http://a/x")),
            ("http://a/b/c", "../x", Some("http://a/b/../x")),
            ("http://a/b", "HTTPS://c/", Some("HTTPS://c/")),
            ("http://a/b", "javascript:void(0)", None),
            ("http://a/b", "mailto:x@y", None),
            ("urn:x", "/y", None),
        ];
        for (base, reference, expected) in cases {
            let mut out = Vec::new();
            let found = resolve(base.as_bytes(), reference.as_bytes(), &mut out);
            assert_eq!(found.then(|| String::from_utf8(out).unwrap()).as_deref(), expected, "{base} {reference}");
        }
        // What browsers agree on against the letter, against an independent reader.
        for (base, reference, _) in cases.iter().filter(|case| case.2.is_some()) {
            let mut out = Vec::new();
            resolve(base.as_bytes(), reference.as_bytes(), &mut out);
            let mut expected = url::Url::parse(base).unwrap().join(reference).unwrap();
            expected.set_fragment(None);
            assert_eq!(url::Url::parse(std::str::from_utf8(&out).unwrap()).unwrap(), expected, "{base} {reference}");
        }
    }
}
