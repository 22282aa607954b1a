//! Lines that are one JSON object each: pure.
//!
//! Fields read: `url`, `cluster`, `site`, `canonical`, `redirect`, `status`; others are skipped, whatever they hold. A
//! field given twice counts as its last.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::reason::{Reason, check_url};
use crate::model::{Record, RecordBatch};

/// Adds the record of one line (without its line end) to `batch`.
///
/// - `cluster` and `site` are strings or numbers; a number's label is its JSON text (`1` and `1.0` differ). Absent,
///   null and the empty string are no label.
/// - `elsewhere` is set where `redirect` or `canonical` is there, not empty and other than `url` by its bytes, or where
///   the status is a redirect (301, 302, 303, 307, 308) and `redirect` is absent.
/// - A record whose `status` (number, or string of digits) is neither 2xx nor 3xx keeps its URL and loses its cluster:
///   the pages of errors are no evidence.
///
/// Allocates only for strings with escapes.
///
/// # Errors
/// The reason why the line is no record; `batch` is then as it was.
pub fn parse(line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
    if line.is_empty() {
        return Err(Reason::EmptyLine);
    }
    let text = std::str::from_utf8(line).map_err(|_| Reason::InvalidUtf8)?;
    if !text.trim_ascii_start().starts_with('{') {
        return Err(Reason::NotAJsonObject);
    }
    let fields: Fields<'_> = serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Data => Reason::WrongType,
        _ => Reason::NotAJsonObject,
    })?;
    let cluster = label(fields.cluster)?;
    let site = label(fields.site)?;
    let status = status(fields.status)?;
    let url = fields.url.ok_or(Reason::MissingUrl)?.0;
    check_url(url.as_bytes())?;

    let target = |field: Option<Text<'_>>| field.filter(|t| !t.0.is_empty()).map(|t| t.0 != url);
    let redirects = target(fields.redirect).unwrap_or(matches!(status, Some(301 | 302 | 303 | 307 | 308)));
    let declares = target(fields.canonical).unwrap_or(false);
    let answered = status.is_none_or(|status| (200..400).contains(&status));
    batch.push(Record {
        url: url.as_bytes(),
        cluster: cluster.as_ref().map(|c| c.as_bytes()).filter(|_| answered),
        site: site.as_ref().map(|s| s.as_bytes()),
        elsewhere: redirects || declares,
    });
    Ok(())
}

/// The label in a raw value: the string, or the text of the number.
fn label(raw: Option<&RawValue>) -> Result<Option<Cow<'_, str>>, Reason> {
    let Some(raw) = raw else { return Ok(None) };
    let text = raw.get();
    match text.as_bytes()[0] {
        b'"' => string(text).map(|s| Some(s).filter(|s| !s.is_empty())),
        b'-' | b'0'..=b'9' => Ok(Some(Cow::Borrowed(text))),
        _ => Err(Reason::WrongType),
    }
}

/// The status code in a raw value; an empty string or `-` is none.
fn status(raw: Option<&RawValue>) -> Result<Option<i64>, Reason> {
    match label(raw)? {
        None => Ok(None),
        Some(text) if text == "-" => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| Reason::WrongType),
    }
}

/// The string that a JSON string stands for.
fn string(quoted: &str) -> Result<Cow<'_, str>, Reason> {
    let inner = &quoted[1..quoted.len() - 1];
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(inner));
    }
    // A lone surrogate passes the skipping of a raw value and fails here.
    serde_json::from_str(quoted).map(Cow::Owned).map_err(|_| Reason::NotAJsonObject)
}

/// A JSON string, borrowed from the line where it holds no escape.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrow;
        impl<'de> Visitor<'de> for Borrow {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrow)
    }
}

/// The fields undust reads. Labels stay raw, so that numbers keep their text.
#[derive(Default)]
struct Fields<'a> {
    url: Option<Text<'a>>,
    cluster: Option<&'a RawValue>,
    site: Option<&'a RawValue>,
    canonical: Option<Text<'a>>,
    redirect: Option<Text<'a>>,
    status: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Name {
    Url,
    Cluster,
    Site,
    Canonical,
    Redirect,
    Status,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            // Not derived: a derived visitor refuses a field that comes twice.
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Fields::default();
                while let Some(name) = map.next_key()? {
                    match name {
                        Name::Url => fields.url = map.next_value()?,
                        Name::Cluster => fields.cluster = map.next_value()?,
                        Name::Site => fields.site = map.next_value()?,
                        Name::Canonical => fields.canonical = map.next_value()?,
                        Name::Redirect => fields.redirect = map.next_value()?,
                        Name::Status => fields.status = map.next_value()?,
                        Name::Other => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Result<RecordBatch, Reason> {
        let mut batch = RecordBatch::default();
        parse(line.as_bytes(), &mut batch).map(|()| batch)
    }

    #[test]
    fn labels_are_strings_or_the_text_of_numbers() {
        let cases: [(&str, Option<&str>); 11] = [
            (r#""a""#, Some("a")),
            (r#""a\tb""#, Some("a\tb")),
            (r#""\u00e9""#, Some("é")),
            (r#""""#, None),
            ("null", None),
            (" 7 ", Some("7")),
            ("-7", Some("-7")),
            ("1.0", Some("1.0")),
            ("1e400", Some("1e400")),
            ("123456789012345678901234567890", Some("123456789012345678901234567890")),
            (r#""null""#, Some("null")),
        ];
        for (json, expected) in cases {
            let batch = one(&format!(r#"{{"cluster":{json},"url":"http://a/","site":{json}}}"#)).unwrap();
            assert_eq!(batch.get(0).cluster, expected.map(str::as_bytes), "{json}");
            assert_eq!(batch.get(0).site, expected.map(str::as_bytes), "{json}");
        }
    }

    #[test]
    fn urls_lose_their_escapes_and_the_last_of_two_counts() {
        let batch = one(r#" {"x":{"url":[1]},"url":"http://b/","url":"http:\/\/a\/\u00e9","y":[null]} "#).unwrap();
        assert_eq!(batch.get(0).url, "http://a/é".as_bytes());
    }

    #[test]
    fn other_targets_and_errors_are_seen() {
        let cases = [
            (r#""status":200"#, true, false),
            (r#""status":"200""#, true, false),
            (r#""status":null"#, true, false),
            (r#""status":"-""#, true, false),
            (r#""status":404"#, false, false),
            (r#""status":500"#, false, false),
            (r#""status":0"#, false, false),
            (r#""status":301"#, true, true),
            (r#""status":304"#, true, false),
            (r#""status":302,"redirect":"http://a/""#, true, false),
            (r#""redirect":"http://b/""#, true, true),
            (r#""redirect":null,"canonical":"""#, true, false),
            (r#""canonical":"http://b/""#, true, true),
            (r#""canonical":"http://a/""#, true, false),
        ];
        for (fields, labelled, elsewhere) in cases {
            let batch = one(&format!(r#"{{"url":"http://a/","cluster":1,{fields}}}"#)).unwrap();
            let record = batch.get(0);
            assert_eq!((record.cluster.is_some(), record.elsewhere), (labelled, elsewhere), "{fields}");
        }
    }

    #[test]
    fn bad_lines_name_their_reason() {
        use Reason::*;
        let cases = [
            ("", EmptyLine),
            (" ", NotAJsonObject),
            ("[1]", NotAJsonObject),
            ("http://a/\t1", NotAJsonObject),
            (r#"{"url":"http://a/""#, NotAJsonObject),
            (r#"{"url":"http://a/"} x"#, NotAJsonObject),
            (r#"{"url":"http://a/\ud800"}"#, NotAJsonObject),
            (r#"{"url":"http://a/","cluster":"\ud800"}"#, NotAJsonObject),
            (r#"{}"#, MissingUrl),
            (r#"{"url":null}"#, MissingUrl),
            (r#"{"url":""}"#, MissingUrl),
            (r#"{"url":7}"#, WrongType),
            (r#"{"url":"http://a/","cluster":true}"#, WrongType),
            (r#"{"url":"http://a/","site":{}}"#, WrongType),
            (r#"{"url":"http://a/","canonical":[]}"#, WrongType),
            (r#"{"url":"http://a/","status":"ok"}"#, WrongType),
            (r#"{"url":"http://a/\u0007"}"#, ControlCharacter),
            (r#"{"url":"/a"}"#, NotHttp),
        ];
        for (line, expected) in cases {
            assert_eq!(one(line), Err(expected), "{line}");
        }
        assert_eq!(parse(b"{\"url\":\"\xff\"}", &mut RecordBatch::default()), Err(InvalidUtf8));
    }

    #[test]
    fn deep_nesting_does_not_exhaust_the_stack() {
        let deep = "[".repeat(60_000);
        assert_eq!(one(&format!(r#"{{"x":{deep}"#)), Err(Reason::NotAJsonObject));
        let closed = format!("{deep}{}", "]".repeat(60_000));
        assert!(one(&format!(r#"{{"url":"http://a/","x":{closed}}}"#)).is_ok());
        assert_eq!(one(&format!(r#"{{"url":"http://a/","cluster":{closed}}}"#)), Err(Reason::WrongType));
    }
}
