//! Reasons why a line of an input is not a record.

use serde::{Deserialize, Serialize};

/// Reason why a line was rejected. Names (kebab-case) are part of the formats of `rejects.jsonl` and
/// `summary.json` and do not change within a major version. Of several reasons, the earliest of this
/// list is used, except that the shape of a JSON object is checked before its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Longer than the line limit; such a line is skipped without being held in memory.
    #[error("over-long-line")]
    OverLongLine,
    /// No byte but the line end.
    #[error("empty-line")]
    EmptyLine,
    /// Not UTF-8.
    #[error("invalid-utf8")]
    InvalidUtf8,
    /// Not one JSON object.
    #[error("not-a-json-object")]
    NotAJsonObject,
    /// A field that undust reads holds a value of the wrong type.
    #[error("wrong-type")]
    WrongType,
    /// No URL: the column or field is absent or empty.
    #[error("missing-url")]
    MissingUrl,
    /// An ASCII control character in the URL.
    #[error("control-character")]
    ControlCharacter,
    /// Not an absolute `http` or `https` URL.
    #[error("not-http")]
    NotHttp,
    /// No host in the URL.
    #[error("no-host")]
    NoHost,
    /// A host with an empty label or a space, an address in brackets that is none, or a port that is no
    /// number up to 65535.
    #[error("invalid-url")]
    InvalidUrl,
    /// A gzip member or zstd frame that is damaged or cut short; with its place in the compressed file.
    #[error("broken-member")]
    BrokenMember,
    /// Too few fields for a line of an index.
    #[error("missing-field")]
    MissingField,
    /// Not a line of an access log or of a crawl log.
    #[error("not-a-log-line")]
    NotALogLine,
    /// A record of an archive whose head or length is wrong.
    #[error("broken-record")]
    BrokenRecord,
    /// An archived answer whose HTTP head cannot be read.
    #[error("broken-http")]
    BrokenHttp,
    /// A row group of a Parquet file that cannot be decoded; with its number as the line.
    #[error("broken-row-group")]
    BrokenRowGroup,
    /// A CSV record with another number of fields than the header, or with a quote that does not end.
    #[error("broken-csv")]
    BrokenCsv,
}

impl Reason {
    /// Every reason, in the order of the type.
    pub const ALL: [Self; 17] = [
        Self::OverLongLine,
        Self::EmptyLine,
        Self::InvalidUtf8,
        Self::NotAJsonObject,
        Self::WrongType,
        Self::MissingUrl,
        Self::ControlCharacter,
        Self::NotHttp,
        Self::NoHost,
        Self::InvalidUrl,
        Self::BrokenMember,
        Self::MissingField,
        Self::NotALogLine,
        Self::BrokenRecord,
        Self::BrokenHttp,
        Self::BrokenRowGroup,
        Self::BrokenCsv,
    ];

    /// The stable name, for example `missing-url`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OverLongLine => "over-long-line",
            Self::EmptyLine => "empty-line",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::NotAJsonObject => "not-a-json-object",
            Self::WrongType => "wrong-type",
            Self::MissingUrl => "missing-url",
            Self::ControlCharacter => "control-character",
            Self::NotHttp => "not-http",
            Self::NoHost => "no-host",
            Self::InvalidUrl => "invalid-url",
            Self::BrokenMember => "broken-member",
            Self::MissingField => "missing-field",
            Self::NotALogLine => "not-a-log-line",
            Self::BrokenRecord => "broken-record",
            Self::BrokenHttp => "broken-http",
            Self::BrokenRowGroup => "broken-row-group",
            Self::BrokenCsv => "broken-csv",
        }
    }
}

impl From<crate::url::Invalid> for Reason {
    fn from(invalid: crate::url::Invalid) -> Self {
        match invalid {
            crate::url::Invalid::Scheme => Self::NotHttp,
            crate::url::Invalid::Host => Self::NoHost,
            crate::url::Invalid::Control => Self::ControlCharacter,
            _ => Self::InvalidUrl,
        }
    }
}

/// Refuses the URLs that syntax-based normalization ([`crate::url::normalize`]) refuses: anything but an
/// absolute `http` or `https` URL with a valid host and port, no ASCII control character, and no backslash
/// before the query. One pass without allocation where the authority is a plain host name, with or without a
/// port; other authorities go through syntax-based normalization itself.
///
/// # Errors
/// The reason to reject the line.
pub fn check_url(url: &[u8]) -> Result<(), Reason> {
    if url.is_empty() {
        return Err(Reason::MissingUrl);
    }
    // A fold without an early exit, which the compiler vectorizes.
    if url.iter().fold(false, |bad, &b| bad | (b < 0x20) | (b == 0x7f)) {
        return Err(Reason::ControlCharacter);
    }
    let rest = strip_scheme(url).ok_or(Reason::NotHttp)?;
    if memchr::memchr(b'\\', rest).is_some_and(|at| memchr::memchr2(b'?', b'#', &rest[..at]).is_none()) {
        return Err(Reason::InvalidUrl);
    }
    let authority = &rest[..memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len())];
    let host = &authority[memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)..];
    if host.is_empty() || host[0] == b':' {
        return Err(Reason::NoHost);
    }
    if is_plain(authority) {
        return Ok(());
    }
    // If more follows, with a path, so that space at its end does not count as space behind the URL.
    let behind: &[u8] = if authority.len() < rest.len() { b"/" } else { b"" };
    let origin = [&url[..url.len() - rest.len() + authority.len()], behind].concat();
    crate::url::normalize(&origin, &mut Vec::with_capacity(origin.len())).map(drop).map_err(|_| Reason::InvalidUrl)
}

/// True for labels of letters, digits, `-` and `_` between single dots, perhaps with a port of one to
/// four digits, that are neither Punycode nor a number at the end: syntax-based normalization refuses none of them.
fn is_plain(authority: &[u8]) -> bool {
    let colon = memchr::memchr(b':', authority).unwrap_or(authority.len());
    let (name, port) = (&authority[..colon], &authority[colon..]);
    let last = name.rsplit(|&b| b == b'.').next().unwrap_or_default();
    if last.first().is_some_and(u8::is_ascii_digit) || memchr::memmem::find(name, b"--").is_some() {
        return false;
    }
    let mut before = b'.';
    for &b in name {
        let fits = if b == b'.' { before != b'.' } else { b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_') };
        if !fits {
            return false;
        }
        before = b;
    }
    let counts = matches!(port, [] | [b':', _, ..]) && port.len() <= 5 && port.iter().skip(1).all(u8::is_ascii_digit);
    before != b'.' && counts
}

/// The text behind `http://` or `https://`, in any case.
fn strip_scheme(url: &[u8]) -> Option<&[u8]> {
    let rest = url.get(4..).filter(|_| url[..4].eq_ignore_ascii_case(b"http"))?;
    let rest = if rest.first().is_some_and(|b| b.eq_ignore_ascii_case(&b's')) { &rest[1..] } else { rest };
    rest.strip_prefix(b"://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_display_and_the_serde_names() {
        for reason in Reason::ALL {
            assert_eq!(reason.to_string(), reason.name());
            assert_eq!(serde_json::to_string(&reason).unwrap(), format!("\"{}\"", reason.name()));
        }
        assert!(Reason::ALL.iter().enumerate().all(|(i, &r)| r as usize == i));
    }

    #[test]
    fn urls_are_checked() {
        use Reason::*;
        let good = [
            "http://a",
            "HTTPS://a/",
            "http://u:p@a:80/x",
            "http://a?b",
            "https://[::1]/",
            "http://\u{e9}/ b",
            "http://a?b\\c",
        ];
        good.iter().for_each(|url| assert_eq!(check_url(url.as_bytes()), Ok(()), "{url}"));
        let bad = [
            ("", MissingUrl),
            ("http://a/\x01", ControlCharacter),
            ("http://a/\x7f", ControlCharacter),
            ("ftp://a/", NotHttp),
            ("httpx://a/", NotHttp),
            ("http:/a/", NotHttp),
            ("//a/", NotHttp),
            ("htt", NotHttp),
            ("http://", NoHost),
            ("http:///x", NoHost),
            ("https://:80/", NoHost),
            ("http://u@/", NoHost),
            ("http://?q=a@b", NoHost),
            ("http://a..b/", InvalidUrl),
            ("http://.a/", InvalidUrl),
            ("http://a b/", InvalidUrl),
            ("http://a:x/", InvalidUrl),
            ("http://a:65536/", InvalidUrl),
            ("http://u:p@a:8 /", InvalidUrl),
            ("http://[::1/", InvalidUrl),
            ("http://a%2E%2e/", InvalidUrl),
            ("http://1.2.3.4.5/", InvalidUrl),
            ("http://xn--a/", InvalidUrl),
            ("http://a/b\\c?d", InvalidUrl),
        ];
        bad.iter().for_each(|&(url, why)| assert_eq!(check_url(url.as_bytes()), Err(why), "{url}"));
    }

    proptest::proptest! {
        /// So every refused URL is counted where its file and line are known.
        #[test]
        fn normalization_takes_what_passes_and_nothing_else(url in "(?i:https?)://[a-z.:@%2E\\[\\]_ -]{0,12}(:[0-9]{0,6})?[/?#]?[ -~]{0,6}") {
            let taken = crate::url::normalize(url.as_bytes(), &mut Vec::new()).is_ok();
            proptest::prop_assert_eq!(check_url(url.as_bytes()).is_ok(), taken, "{}", url);
        }
    }
}
