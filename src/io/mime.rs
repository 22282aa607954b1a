//! Media types of archived answers: pure.

use crate::model::{DocumentKind, Facts};

/// Kind of an answer by media type and URL: `text/html; charset=x` and XHTML are pages, everything else
/// is not; a robots file is none whatever its type. `-`, `unk` and an empty type are unknown.
pub(super) fn kind(mime: &[u8], url: &[u8]) -> DocumentKind {
    if is_robots(url) {
        return DocumentKind::Other;
    }
    let end = memchr::memchr2(b';', b' ', mime).unwrap_or(mime.len());
    let bare = mime[..end].trim_ascii();
    let is = |name: &[u8]| bare.eq_ignore_ascii_case(name);
    if bare.is_empty() || is(b"-") || is(b"unk") || is(b"warc/revisit") {
        DocumentKind::Unknown
    } else if is(b"text/html") || is(b"application/xhtml+xml") {
        DocumentKind::Html
    } else {
        DocumentKind::Other
    }
}

/// The media type without its parameters; `None` where it is unknown (empty, `-`, `unk`) or no UTF-8.
pub(super) fn named(mime: &[u8]) -> Option<&[u8]> {
    let bare = mime[..memchr::memchr(b';', mime).unwrap_or(mime.len())].trim_ascii();
    let says = !bare.is_empty() && bare != b"-" && bare != b"unk";
    (says && std::str::from_utf8(bare).is_ok()).then_some(bare)
}

/// The media type that is written for a record: that of the source, else one that is read as the same
/// kind.
pub(super) fn written(facts: Facts<'_>) -> Option<&[u8]> {
    facts.mime.or(match facts.kind {
        DocumentKind::Unknown => None,
        DocumentKind::Html => Some(b"text/html"),
        DocumentKind::Other => Some(b"application/octet-stream"),
    })
}

/// True for `/robots.txt` of any host.
pub(super) fn is_robots(url: &[u8]) -> bool {
    let Some(colon) = memchr::memchr(b':', url) else { return false };
    let rest = url.get(colon + 3..).unwrap_or_default();
    let path = &rest[memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len())..];
    let behind = path.strip_prefix(b"/robots.txt");
    behind.is_some_and(|behind| matches!(behind.first(), None | Some(b'?' | b'#')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_robots_files_are_known() {
        let of = |mime: &str| kind(mime.as_bytes(), b"http://a/");
        assert!(["text/html", "TEXT/HTML; charset=x", "application/xhtml+xml"].map(of) == [DocumentKind::Html; 3]);
        assert!(["", "-", "unk", "warc/revisit"].map(of) == [DocumentKind::Unknown; 4]);
        assert!(["image/png", "text/plain", "application/pdf"].map(of) == [DocumentKind::Other; 3]);
        assert_eq!(kind(b"text/html", b"http://a/robots.txt"), DocumentKind::Other);
        assert_eq!(kind(b"text/html", b"https://a:1/robots.txt?x"), DocumentKind::Other);
        assert_eq!(kind(b"text/html", b"http://a/b/robots.txt"), DocumentKind::Html);
        assert_eq!(kind(b"text/html", b"http://a/robots.txts"), DocumentKind::Html);
        assert_eq!(kind(b"text/html", b"http://a?/robots.txt"), DocumentKind::Html);
    }
}
