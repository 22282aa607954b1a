//! Why a line of an input is not a record.

use serde::{Deserialize, Serialize};

/// Why a line was rejected. Names (kebab-case) are part of the formats of `rejects.jsonl` and `summary.json` and do not
/// change within a major version. Where several apply, the earliest of this list is told, save that the shape of a
/// JSON object is judged before its URL.
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
    /// The URL is refused by stage 1 for another cause.
    #[error("invalid-url")]
    InvalidUrl,
    /// A gzip member or zstd frame that is damaged or cut short; told with its place in the compressed file.
    #[error("broken-member")]
    BrokenMember,
    /// Too few fields for a line of an index.
    #[error("missing-field")]
    MissingField,
    /// Not a line of an access log.
    #[error("not-a-log-line")]
    NotALogLine,
    /// A record of an archive whose head or length is wrong.
    #[error("broken-record")]
    BrokenRecord,
    /// An archived answer whose HTTP head cannot be read.
    #[error("broken-http")]
    BrokenHttp,
    /// A row group of a Parquet file that cannot be decoded; told with its number as the line.
    #[error("broken-row-group")]
    BrokenRowGroup,
}

impl Reason {
    /// Every reason, in the order of the type.
    pub const ALL: [Self; 16] = [
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

/// A cheap look at a URL: absolute `http` or `https`, a host, no ASCII control character. What passes may still be
/// refused by stage 1 ([`crate::url::normalize`]); what fails here is refused there too. One pass, no allocation.
///
/// # Errors
/// The reason to reject the line.
pub fn check_url(url: &[u8]) -> Result<(), Reason> {
    if url.is_empty() {
        return Err(Reason::MissingUrl);
    }
    // A fold without an early exit: the compiler makes wide compares of it.
    if url.iter().fold(false, |bad, &b| bad | (b < 0x20) | (b == 0x7f)) {
        return Err(Reason::ControlCharacter);
    }
    let rest = strip_scheme(url).ok_or(Reason::NotHttp)?;
    let authority = &rest[..memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len())];
    let host = &authority[memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)..];
    if host.is_empty() || host[0] == b':' { Err(Reason::NoHost) } else { Ok(()) }
}

/// What follows `http://` or `https://`, in any case.
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
        let good = ["http://a", "HTTPS://a/", "http://u:p@a:80/x", "http://a?b", "https://[::1]/", "http://\u{e9}/ b"];
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
        ];
        bad.iter().for_each(|&(url, why)| assert_eq!(check_url(url.as_bytes()), Err(why), "{url}"));
    }
}
