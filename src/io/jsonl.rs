//! Lines that are one JSON object each: pure.
//!
//! Fields read: `url`, `cluster`, `site`, `canonical`, `redirect`, `status`; others are skipped,
//! whatever they hold. A field given twice counts as its last. Facts about pages without a label are
//! read too where requested ([`parse_facts`]).

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

pub use facts::parse as parse_facts;

use super::reason::Reason;
use crate::model::RecordBatch;
pub(super) use row::{Row, status};

pub(super) mod facts;
mod row;
pub(super) mod scan;
#[cfg(test)]
mod tests;

/// Adds the record of one line (without its line end) to `batch`.
///
/// - `cluster` and `site` are strings or numbers; a number's label is its JSON text (`1` and `1.0`
///   differ). Absent, null and the empty string are no label.
/// - `elsewhere` is set where `redirect` or `canonical` is there, not empty and other than `url` by its
///   bytes, or where the status is a redirect (301, 302, 303, 307, 308) and `redirect` is absent.
/// - A record whose `status` (number, or string of digits) is neither 2xx nor 3xx keeps its URL and
///   loses its cluster: the pages of errors are no evidence.
///
/// Plain lines are scanned at once ([`scan`]), others go through serde_json. Allocates only for strings
/// with escapes.
///
/// # Errors
/// The reason why the line is no record; `batch` is then as it was.
pub fn parse(line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
    if line.is_empty() {
        return Err(Reason::EmptyLine);
    }
    let text = std::str::from_utf8(line).map_err(|_| Reason::InvalidUtf8)?;
    let row = match scan::scan(text) {
        Some(row) => row,
        None => parse_any(text)?,
    };
    row.push(batch)
}

/// Parses any line, by serde_json: the lines that [`scan::scan`] leaves, with which it must agree.
fn parse_any(text: &str) -> Result<Row<'_>, Reason> {
    if !text.trim_ascii_start().starts_with('{') {
        return Err(Reason::NotAJsonObject);
    }
    let fields: Fields<'_> = serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Data => Reason::WrongType,
        _ => Reason::NotAJsonObject,
    })?;
    Ok(Row {
        cluster: label(fields.cluster)?,
        site: label(fields.site)?,
        status: label(fields.status)?.map_or(Ok(None), |text| status(&text))?,
        url: fields.url.map(|t| t.0),
        canonical: fields.canonical.map(|t| t.0),
        redirect: fields.redirect.map(|t| t.0),
    })
}

/// The label in a raw value: the string, or the text of the number.
fn label(raw: Option<&RawValue>) -> Result<Option<Cow<'_, str>>, Reason> {
    let Some(raw) = raw else { return Ok(None) };
    let text = raw.get();
    match text.as_bytes()[0] {
        b'"' => string(text).map(Some),
        b'-' | b'0'..=b'9' => Ok(Some(Cow::Borrowed(text))),
        _ => Err(Reason::WrongType),
    }
}

/// The value of a JSON string.
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
