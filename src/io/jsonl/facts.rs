//! The facts of a JSON line: properties that distinguish pages without a label.
//!
//! | field | value |
//! |---|---|
//! | `digest`, `title` | strings |
//! | `simhash` | 16 hexadecimal digits |
//! | `text` | 16 hexadecimal digits: hash of the main text |
//! | `tokens` | number of tokens of the main text |
//! | `edits` | true where the page holds a form to write text into |
//! | `size` | bytes of the answer |
//! | `mime` | media type |
//!
//! `undust clusters` writes them in this form. A value of another type is no fact; it does not make a
//! bad record.

use std::borrow::Cow;

use super::scan::{self, Value};
use crate::io::mime;
use crate::io::reason::Reason;
use crate::model::{Facts, Fingerprint, RecordBatch};

/// Adds the record of one line to `batch` with its facts, as [`super::parse`] does without.
///
/// # Errors
/// The reason why the line is no record; `batch` is then as it was.
pub fn parse(line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
    let row = batch.len();
    super::parse(line, batch)?;
    // Whatever made a record is UTF-8.
    let Ok(text) = std::str::from_utf8(line) else { return Ok(()) };
    let mut found = FactFields::default();
    if scan::fields(text, |name, value| found.take(name, value)).is_none() {
        found = FactFields::default();
        found.take_all(text);
    }
    found.note(batch, row);
    Ok(())
}

/// The fields of a record that are facts.
#[derive(Default)]
pub(in super::super) struct FactFields<'a> {
    digest: Option<Cow<'a, str>>,
    title: Option<Cow<'a, str>>,
    canonical: Option<Cow<'a, str>>,
    redirect: Option<Cow<'a, str>>,
    mime: Option<Cow<'a, str>>,
    simhash: Option<u64>,
    text: Option<u64>,
    tokens: Option<u32>,
    edits: bool,
    status: u16,
    size: u64,
}

impl<'a> FactFields<'a> {
    /// Takes a field of a plain line.
    fn take(&mut self, name: &str, value: Value<'a>) -> Option<()> {
        self.set(name, value.label().flatten());
        Some(())
    }

    /// Takes the fields of any line.
    fn take_all(&mut self, text: &str) {
        let Ok(serde_json::Value::Object(object)) = serde_json::from_str(text) else { return };
        for (name, value) in object {
            let text = match value {
                serde_json::Value::String(text) => Some(Cow::Owned(text)),
                serde_json::Value::Number(number) => Some(Cow::Owned(number.to_string())),
                _ => None,
            };
            self.set(&name, text);
        }
    }

    /// Sets the field of this name, a string or the text of a number; others are ignored.
    pub(in super::super) fn set(&mut self, name: &str, text: Option<Cow<'a, str>>) {
        match name {
            "digest" => self.digest = text,
            "title" => self.title = text,
            "canonical" => self.canonical = text,
            "redirect" => self.redirect = text,
            "mime" => self.mime = text,
            "simhash" => self.simhash = text.and_then(|t| hex(&t)),
            "text" => self.text = text.and_then(|t| hex(&t)),
            "tokens" => self.tokens = text.and_then(|t| t.parse().ok()),
            "edits" => self.edits = text.is_some_and(|t| t == "1"),
            "status" => self.status = text.and_then(|t| t.parse().ok()).unwrap_or(0),
            "size" => self.size = text.and_then(|t| t.parse().ok()).unwrap_or(0),
            _ => {}
        }
    }

    /// Records the facts of the record at `row`, the last one of `batch`.
    pub(in super::super) fn note(&self, batch: &mut RecordBatch, row: usize) {
        let url = batch.get(row).url;
        let redirect = some(&self.redirect).filter(|&to| to != url);
        let facts = Facts {
            status: self.status,
            kind: self.mime.as_deref().map_or_else(Default::default, |mime| mime::kind(mime.as_bytes(), url)),
            mime: some(&self.mime),
            size: self.size,
            digest: some(&self.digest),
            title: self.title.as_deref().map(str::as_bytes),
            // A canonical URL equal to the URL is a declaration too: this page is its own.
            canonical: some(&self.canonical),
            redirect,
            text: self.fingerprint(),
        };
        batch.note(facts);
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        let simhash = self.simhash?;
        let tokens = self.tokens.unwrap_or(u32::MAX);
        Some(Fingerprint { simhash, text: self.text.unwrap_or(0), tokens, edits: self.edits })
    }
}

/// The text of a field that is there and not empty.
fn some<'f>(field: &'f Option<Cow<'_, str>>) -> Option<&'f [u8]> {
    field.as_deref().map(str::as_bytes).filter(|text| !text.is_empty())
}

/// Up to 16 hexadecimal digits.
fn hex(text: &str) -> Option<u64> {
    let digits = text.len() <= 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DocumentKind;

    #[test]
    fn facts_are_read_from_plain_and_other_lines() {
        let plain = r#"{"url":"http://a/","digest":"sha1:X","simhash":"00ff","tokens":70,"title":"T","status":200,"size":9,"mime":"text/html","canonical":"http://a/","redirect":"http://b/"}"#;
        let escaped = plain.replace("\"T\"", "\"\\u0054\"");
        for line in [plain, &escaped] {
            let mut batch = RecordBatch::default();
            parse(line.as_bytes(), &mut batch).unwrap();
            let expected = Facts {
                status: 200,
                kind: DocumentKind::Html,
                mime: Some(b"text/html"),
                size: 9,
                digest: Some(b"sha1:X"),
                title: Some(b"T"),
                canonical: Some(b"http://a/"),
                redirect: Some(b"http://b/"),
                text: Some(Fingerprint { simhash: 255, text: 0, tokens: 70, edits: false }),
            };
            assert_eq!(batch.facts(0), expected, "{line}");
        }
    }

    #[test]
    fn a_fact_of_another_type_is_none() {
        let mut batch = RecordBatch::default();
        let line = r#"{"url":"http://a/","digest":[1],"simhash":"xyz","title":null,"size":-1}"#;
        parse(line.as_bytes(), &mut batch).unwrap();
        assert_eq!(batch.facts(0), Facts::default());
    }
}
