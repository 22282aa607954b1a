//! Lines of CDXJ indexes (`key time {json}`), as pywb, OpenWayback and Common Crawl write them: pure.
//!
//! Fields read: `url` (or `uri`), `status`, `mime` and `mime-detected` (which has precedence),
//! `digest`, `redirect`. Keys are not read, so a malformed one does no harm; a time is optional.

use std::borrow::Cow;

use super::cdx::{fetches_a_page, has_scheme, is_posted, status};
use super::jsonl::scan;
use super::mime;
use super::reason::{Reason, check_url};
use crate::model::{DocumentKind, Facts, Record, RecordBatch};

/// Adds the record of one line. Revisits are records, errors and documents that are no page are records
/// without evidence; lines about other schemes, and those of answers to a request that fetches no page
/// (`"method": "POST"`, `__wb_method=post` in the key), are good lines without a record. Plain objects
/// are scanned directly, others go through serde_json.
///
/// # Errors
/// The reason why the line is no record; `batch` is then as it was.
pub fn parse(line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
    if line.is_empty() {
        return Err(Reason::EmptyLine);
    }
    let text = std::str::from_utf8(line).map_err(|_| Reason::InvalidUtf8)?;
    // A key may hold a brace; the object begins behind a space.
    let object = match memchr::memmem::find(line, b" {") {
        Some(at) => &text[at + 1..],
        None if line[0] == b'{' => text,
        None => return Err(Reason::MissingField),
    };
    let mut row = CdxjFields::default();
    if scan::fields(object, |name, value| row.take(name, value.label()?)).is_none() {
        row = CdxjFields::default();
        row.take_any(object)?;
    }
    let url = row.url.as_deref().ok_or(Reason::MissingUrl)?.as_bytes();
    let key = &line[..line.len() - object.len()];
    if row.method.as_deref().is_some_and(|method| !fetches_a_page(method.as_bytes())) || is_posted(key) {
        return Ok(());
    }
    match check_url(url) {
        Err(Reason::NotHttp) if has_scheme(url) => return Ok(()),
        other => other?,
    }
    let known = |field: &'_ Option<Cow<'_, str>>| field.as_deref().is_some_and(|text| !text.is_empty() && text != "-");
    let status = row.status.as_deref().and_then(|text| status(text.as_bytes())).unwrap_or(0);
    let mime = row.detected.as_deref().filter(|_| known(&row.detected)).or(row.mime.as_deref());
    let redirect = row.redirect.as_deref().map(str::as_bytes).filter(|&to| to != url && check_url(to).is_ok());
    let facts = Facts {
        status,
        kind: mime.map_or(DocumentKind::Unknown, |mime| mime::kind(mime.as_bytes(), url)),
        mime: mime.and_then(|mime| mime::named(mime.as_bytes())),
        digest: row.digest.as_deref().map(str::as_bytes).filter(|_| known(&row.digest)),
        redirect,
        ..Facts::default()
    };
    let moved = matches!(status, 301 | 302 | 303 | 307 | 308);
    batch.push_with(Record { url, cluster: None, site: None, elsewhere: moved || redirect.is_some() }, facts);
    Ok(())
}

/// True for a header line of the file: `!meta {...}`, as sorted CDXJ files begin.
pub(super) fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"!")
}

/// True for text that looks like a line of an index.
pub(super) fn is_line(line: &[u8]) -> bool {
    let mut words = line.splitn(3, |&b| b == b' ');
    let (Some(key), Some(time), Some(object)) = (words.next(), words.next(), words.next()) else { return false };
    let digits = time.len() >= 8 && time.iter().all(u8::is_ascii_digit);
    !key.is_empty() && digits && object.starts_with(b"{")
}

#[derive(Default)]
struct CdxjFields<'a> {
    url: Option<Cow<'a, str>>,
    status: Option<Cow<'a, str>>,
    mime: Option<Cow<'a, str>>,
    detected: Option<Cow<'a, str>>,
    digest: Option<Cow<'a, str>>,
    redirect: Option<Cow<'a, str>>,
    method: Option<Cow<'a, str>>,
}

impl<'a> CdxjFields<'a> {
    fn take(&mut self, name: &str, value: Option<Cow<'a, str>>) -> Option<()> {
        match name {
            "url" => self.url = value,
            "uri" if self.url.is_none() => self.url = value,
            "status" => self.status = value,
            "mime" => self.mime = value,
            "mime-detected" => self.detected = value,
            "digest" => self.digest = value,
            "redirect" => self.redirect = value,
            "method" => self.method = value,
            _ => {}
        }
        Some(())
    }

    /// Any object, by serde_json.
    fn take_any(&mut self, object: &str) -> Result<(), Reason> {
        if !object.starts_with('{') {
            return Err(Reason::NotAJsonObject);
        }
        let value: serde_json::Value = serde_json::from_str(object).map_err(|_| Reason::NotAJsonObject)?;
        let serde_json::Value::Object(fields) = value else { return Err(Reason::NotAJsonObject) };
        for (name, value) in fields {
            let value = match value {
                serde_json::Value::String(text) => Some(Cow::Owned(text)),
                serde_json::Value::Number(number) => Some(Cow::Owned(number.to_string())),
                serde_json::Value::Null => None,
                _ if name == "url" => return Err(Reason::WrongType),
                _ => None,
            };
            self.take(&name, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// URL, status, digest, redirect and kind of a record.
    type CdxFacts = (String, u16, Option<String>, Option<String>, DocumentKind);

    fn one(line: &str) -> Result<Option<CdxFacts>, Reason> {
        let mut batch = RecordBatch::default();
        parse(line.as_bytes(), &mut batch)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ok((batch.len() == 1).then(|| {
            let facts = batch.facts(0);
            (text(batch.get(0).url), facts.status, facts.digest.map(text), facts.redirect.map(text), facts.kind)
        }))
    }

    #[test]
    fn lines_of_three_writers() {
        let crawl = r#"org,example)/ 20260101000000 {"url": "http://example.org/", "mime": "text/plain", "mime-detected": "text/html", "status": "200", "digest": "D", "length": "1", "offset": "2", "filename": "f", "languages": "eng"}"#;
        let expected = ("http://example.org/".to_owned(), 200, Some("D".to_owned()), None, DocumentKind::Html);
        assert_eq!(one(crawl), Ok(Some(expected.clone())));
        let escaped = crawl.replace("\"D\"", "\"\\u0044\"");
        assert_eq!(one(&escaped), Ok(Some(expected)));
        let moved = r#"k 2026 {"url": "http://example.org/a", "status": "301", "redirect": "http://example.org/b", "digest": "-"}"#;
        let expected = (
            "http://example.org/a".to_owned(),
            301,
            None,
            Some("http://example.org/b".to_owned()),
            DocumentKind::Unknown,
        );
        assert_eq!(one(moved), Ok(Some(expected)));
        let revisit =
            r#"((broken key{ 2026 {"uri":"http://example.org/","mime":"warc/revisit","status":"-","digest":"D"}"#;
        let expected = ("http://example.org/".to_owned(), 0, Some("D".to_owned()), None, DocumentKind::Unknown);
        assert_eq!(one(revisit), Ok(Some(expected)));
    }

    #[test]
    fn bad_lines_name_their_reason() {
        let cases = [
            ("", Reason::EmptyLine),
            ("org,example)/ 2026", Reason::MissingField),
            ("k 2026 {\"url\":\"http://a/\"", Reason::NotAJsonObject),
            ("k 2026 {}", Reason::MissingUrl),
            ("k 2026 {\"url\":[]}", Reason::WrongType),
            ("k 2026 {\"url\":\"/a\"}", Reason::NotHttp),
        ];
        cases.iter().for_each(|&(line, reason)| assert_eq!(one(line), Err(reason), "{line}"));
        assert_eq!(one(r#"k 2026 {"url":"dns:example.org"}"#), Ok(None));
    }
}
