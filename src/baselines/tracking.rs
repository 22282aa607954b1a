//! Superfluous parameters by name: those that marketing and session software adds to links and that its
//! own vendors document. What a crawler without learning can do.
//!
//! The well-known lists come under licences that this program could not carry (ClearURLs: LGPL-3.0,
//! AdGuard: GPL-3.0; Brave and Firefox: MPL-2.0), so nothing is taken from them: these are the names
//! that the vendors' own pages, given at each group, say are added to links. The list is short, and
//! under this program's licence. Names are compared without case, as vendors' scripts do not agree on
//! it.
//!
//! Departure from the "w3lib + tracking list" of the prototype: order, escapes and fragments of URLs
//! stay, except for the normalization of RFC 3986.

use super::{Constant, Learned, Method, Sample, normalize_into};

/// Vendors with the names that they document; a `*` at the end matches any rest.
pub const PARAMETERS: &[(&str, &[&str])] = &[
    ("Google Analytics, custom campaigns: support.google.com/analytics/answer/10917952", &["utm_*"]),
    ("Google Ads, click identifier: support.google.com/google-ads/answer/9744275", &["gclid"]),
    (
        "Meta, click identifier: developers.facebook.com/docs/marketing-api/conversions-api/parameters/fbp-and-fbc",
        &["fbclid"],
    ),
    ("Microsoft Advertising, click identifier: help.ads.microsoft.com/apex/index/3/en/60125", &["msclkid"]),
    (
        "Matomo, campaigns: matomo.org/faq/how-to/faq_120",
        &["mtm_*", "matomo_campaign", "pk_campaign", "pk_kwd", "pk_keyword", "piwik_campaign", "piwik_kwd"],
    ),
    ("Jakarta Servlet specification, session tracking by URL rewriting", &["jsessionid"]),
    ("PHP manual, session.name", &["phpsessid"]),
    ("Adobe ColdFusion documentation, client and session variables", &["cfid", "cftoken"]),
];

/// True for a parameter of the list.
pub fn is_superfluous(name: &[u8]) -> bool {
    let matches = |listed: &&str| match listed.strip_suffix('*') {
        Some(head) => name.get(..head.len()).is_some_and(|n| n.eq_ignore_ascii_case(head.as_bytes())),
        None => name.eq_ignore_ascii_case(listed.as_bytes()),
    };
    PARAMETERS.iter().any(|(_, names)| names.iter().any(&matches))
}

/// Writes `query` without superfluous parameters; true where any is left.
pub fn without(query: &[u8], drop: impl Fn(&[u8], &[u8]) -> bool, out: &mut Vec<u8>) -> bool {
    let mut any = false;
    for item in query.split(|&b| b == b'&') {
        let (name, value) = match memchr::memchr(b'=', item) {
            Some(at) => (&item[..at], &item[at + 1..]),
            None => (item, &b""[..]),
        };
        if drop(name, value) {
            continue;
        }
        if any {
            out.push(b'&');
        }
        out.extend_from_slice(item);
        any = true;
    }
    any
}

/// The method.
#[derive(Clone, Copy, Debug)]
pub struct Tracking;

impl Method for Tracking {
    fn learn(&self, _: &Sample<'_>) -> Box<dyn Learned> {
        let rules = PARAMETERS.iter().map(|(who, names)| format!("leave out {} ({who})", names.join(", "))).collect();
        Box::new(Constant { function: strip, rules })
    }
}

fn strip(url: &[u8], out: &mut Vec<u8>) {
    let Some(split) = normalize_into(url, out) else { return };
    let whole = out.clone();
    let range = |(a, b): (u32, u32)| &whole[a as usize..b as usize];
    out.truncate(split.path.0 as usize);
    let path = range(split.path);
    // Path parameters, as Java servers write their sessions: `/a;jsessionid=1`.
    let mut pieces = path.split(|&b| b == b';');
    out.extend_from_slice(pieces.next().unwrap_or_default());
    for piece in pieces {
        let name = piece.split(|&b| b == b'=').next().unwrap_or_default();
        match is_superfluous(name) {
            true => out.extend_from_slice(&piece[memchr::memchr(b'/', piece).unwrap_or(piece.len())..]),
            false => {
                out.push(b';');
                out.extend_from_slice(piece);
            }
        }
    }
    if let Some(query) = split.query {
        let at = out.len();
        out.push(b'?');
        let query = range(query);
        if !without(query, |name, _| is_superfluous(name), out) && !query.is_empty() {
            out.truncate(at);
        }
    }
    if let Some((start, _)) = split.fragment {
        out.extend_from_slice(&whole[start as usize - 1..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(url: &str) -> String {
        let mut out = Vec::new();
        strip(url.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn listed_parameters_go_and_others_stay() {
        assert_eq!(stripped("http://a.org/?utm_source=x&id=1&GCLID=2"), "http://a.org/?id=1");
        assert_eq!(stripped("http://a.org/x?fbclid=1#top"), "http://a.org/x#top");
        assert_eq!(stripped("http://a.org/x;jsessionid=1F;v=2/y?utm=1"), "http://a.org/x;v=2/y?utm=1");
        assert_eq!(stripped("http://a.org/x?"), "http://a.org/x?");
        assert_eq!(stripped("mailto:x"), "mailto:x");
    }
}
