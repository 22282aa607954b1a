//! The site of a host: its registrable domain by the public suffix list, private section included.
//!
//! Rules are learned for sites, so a site must not join what belongs to different people:
//! `alice.github.io` and `bob.github.io` are two sites, since `github.io` is a suffix of the private
//! section. The list is compiled in (crate `psl`); its version is that of the crate, and the same build
//! always gives the same sites.

use crate::model::SiteBy;

/// The registrable domain of a host as syntax-based normalization writes it (lower case, in ASCII, no port, no user
/// information), without the trailing dot, or the host itself where there is none: an IPv4 address, an
/// IPv6 address in brackets, a single label, a bare suffix (`co.uk`, `github.io`).
///
/// A name under no listed suffix falls to the list's default rule `*`: its last two labels. No
/// allocation.
pub fn registrable_domain(host: &[u8]) -> &[u8] {
    let host = host.strip_suffix(b".").unwrap_or(host);
    // The list would take the last two numbers of an address for a domain, so addresses go first. No
    // top-level domain ends in a digit (RFC 3696 section 2), so one look at the last byte lets every name
    // pass.
    match host.last() {
        Some(b']') => return host,
        Some(b'0'..=b'9') if is_ipv4(host) => return host,
        _ => {}
    }
    psl::domain(host).map_or(host, |domain| domain.as_bytes())
}

/// The site of a record: its own label, else the part of the host that `by` selects. An empty label
/// counts as absent.
pub fn site_of<'a>(label: Option<&'a [u8]>, host: &'a [u8], by: SiteBy) -> &'a [u8] {
    match label {
        Some(label) if !label.is_empty() => label,
        _ => match by {
            SiteBy::Domain => registrable_domain(host),
            SiteBy::Host => host,
        },
    }
}

/// Four decimal numbers up to 255.
fn is_ipv4(host: &[u8]) -> bool {
    let mut parts = 0;
    host.split(|&b| b == b'.').all(|part| {
        parts += 1;
        let digits = (1..=3).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
        digits && part.iter().fold(0, |n, &b| n * 10 + u32::from(b - b'0')) <= 255
    }) && parts == 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrable_domains() {
        for (host, want) in [
            ("www.example.com", "example.com"),
            ("example.com", "example.com"),
            ("a.b.c.example.co.uk", "example.co.uk"),
            ("example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"),
            ("com", "com"),
            ("localhost", "localhost"),
            ("", ""),
            // Private section.
            ("alice.github.io", "alice.github.io"),
            ("www.alice.github.io", "alice.github.io"),
            ("github.io", "github.io"),
            ("bob.blogspot.com", "bob.blogspot.com"),
            // Wildcards and exceptions of the list.
            ("a.b.ck", "a.b.ck"),
            ("x.a.b.ck", "a.b.ck"),
            ("x.www.ck", "www.ck"),
            // Under no listed suffix.
            ("db.intranet.invalid", "intranet.invalid"),
            // Addresses, and what only looks like one.
            ("192.168.0.1", "192.168.0.1"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("1.2.3", "2.3"),
            ("1.2.3.256", "3.256"),
            ("1.2.3.99999999999999999999", "3.99999999999999999999"),
            ("10.20.example.com", "example.com"),
            // A trailing dot makes another host of the same site.
            ("www.example.co.uk.", "example.co.uk"),
            ("localhost.", "localhost"),
            ("xn--bcher-kva.xn--p1ai", "xn--bcher-kva.xn--p1ai"),
            ("a.b.xn--p1ai", "b.xn--p1ai"),
        ] {
            assert_eq!(registrable_domain(host.as_bytes()), want.as_bytes(), "{host}");
        }
    }

    #[test]
    fn any_bytes_have_a_site_that_ends_the_host() {
        for host in [&b"..."[..], b".", b"a..b", b"\xff.\xfe.com", b"a.", b".com", b"]", b"9", b"1.1.1.1."] {
            let name = host.strip_suffix(b".").unwrap_or(host);
            assert!(name.ends_with(registrable_domain(host)), "{host:?}");
        }
    }

    #[test]
    fn a_label_goes_before_the_host() {
        let host = b"www.example.com".as_slice();
        assert_eq!(site_of(Some(b"shop"), host, SiteBy::Domain), b"shop");
        assert_eq!(site_of(Some(b""), host, SiteBy::Domain), b"example.com");
        assert_eq!(site_of(None, host, SiteBy::Domain), b"example.com");
        assert_eq!(site_of(None, host, SiteBy::Host), host);
    }
}
