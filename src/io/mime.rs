//! Media types of archived answers: pure.

use crate::model::Kind;

/// What a media type and a URL say of an answer: `text/html; charset=x` and XHTML are pages, everything else is not; a
/// robots file is none whatever its type. `-`, `unk` and an empty type say nothing.
pub(super) fn kind(mime: &[u8], url: &[u8]) -> Kind {
    if is_robots(url) {
        return Kind::Other;
    }
    let end = memchr::memchr2(b';', b' ', mime).unwrap_or(mime.len());
    let bare = mime[..end].trim_ascii();
    let is = |name: &[u8]| bare.eq_ignore_ascii_case(name);
    if bare.is_empty() || is(b"-") || is(b"unk") || is(b"warc/revisit") {
        Kind::Unknown
    } else if is(b"text/html") || is(b"application/xhtml+xml") {
        Kind::Html
    } else {
        Kind::Other
    }
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
        assert!(["text/html", "TEXT/HTML; charset=x", "application/xhtml+xml"].map(of) == [Kind::Html; 3]);
        assert!(["", "-", "unk", "warc/revisit"].map(of) == [Kind::Unknown; 4]);
        assert!(["image/png", "text/plain", "application/pdf"].map(of) == [Kind::Other; 3]);
        assert_eq!(kind(b"text/html", b"http://a/robots.txt"), Kind::Other);
        assert_eq!(kind(b"text/html", b"https://a:1/robots.txt?x"), Kind::Other);
        assert_eq!(kind(b"text/html", b"http://a/b/robots.txt"), Kind::Html);
        assert_eq!(kind(b"text/html", b"http://a/robots.txts"), Kind::Html);
        assert_eq!(kind(b"text/html", b"http://a?/robots.txt"), Kind::Html);
    }
}
