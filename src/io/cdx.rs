//! Lines of CDX indexes: pure.
//!
//! The first line of a file may be a legend, ` CDX N b a m s k r M S V g`: the separator is the byte it
//! begins with, a letter names each field. Without one the order is that of the 9, 10 and 11 field
//! files of the field, whose first seven fields agree, and of the answers of index servers: key, time,
//! URL, media type, status, digest, redirect.

use super::mime;
use super::reason::{Reason, check_url};
use crate::model::{DocumentKind, Facts, Record, RecordBatch};

/// Positions of the fields of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Legend {
    separator: u8,
    /// Number of fields that the legend names; 0 without one.
    fields: usize,
    url: usize,
    mime: Option<usize>,
    status: Option<usize>,
    digest: Option<usize>,
    redirect: Option<usize>,
}

impl Default for Legend {
    fn default() -> Self {
        Legend {
            separator: b' ',
            fields: 0,
            url: 2,
            mime: Some(3),
            status: Some(4),
            digest: Some(5),
            redirect: Some(6),
        }
    }
}

/// Most fields a legend may name (the format has fewer letters).
const MAX_FIELDS: usize = 64;

impl Legend {
    /// Reads the legend in `line`; `false` where it is none. One without a URL field changes nothing.
    pub fn read(&mut self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (separator, letters) = match line {
            [separator, b'C', b'D', b'X', rest @ ..] if rest.first() == Some(separator) => (*separator, &rest[1..]),
            _ => return false,
        };
        let letters: Vec<&[u8]> =
            letters.split(|&b| b == separator).filter(|l| !l.is_empty()).take(MAX_FIELDS).collect();
        let at = |letter: &[u8]| letters.iter().position(|&l| l == letter);
        // `a` is the URL of the request, `u` the URL as written; `A` and `N` are keys.
        if let Some(url) = at(b"a").or(at(b"u")) {
            *self = Legend {
                separator,
                fields: letters.len(),
                url,
                mime: at(b"m"),
                status: at(b"s"),
                // New style, then old style.
                digest: at(b"k").or(at(b"c")),
                redirect: at(b"r").or(at(b"R")),
            };
        }
        true
    }

    /// Adds the record of one line. Spaces in the URL are tolerated: where a line has more fields than the
    /// legend, the URL takes them; without a legend the URL ends before text that looks like media type and
    /// status.
    ///
    /// Revisits are records: their digest is that of the page as it was. Errors and documents that are no
    /// page are records without evidence. Lines about other schemes (`dns:`, `warcinfo`) and those of
    /// answers to a request that fetches no page (`__wb_method=post` in the key) are good lines without a
    /// record.
    ///
    /// # Errors
    /// The reason why the line is no record; `batch` is then as it was.
    pub fn parse(&self, line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
        if line.is_empty() {
            return Err(Reason::EmptyLine);
        }
        if !line.is_ascii() && std::str::from_utf8(line).is_err() {
            return Err(Reason::InvalidUtf8);
        }
        let mut spots = [(0, 0); MAX_FIELDS];
        let mut count = 0;
        let mut start = 0;
        for end in memchr::memchr_iter(self.separator, line).chain([line.len()]) {
            // A leading space is no field of its own.
            if start == end && count == 0 {
                start = end + 1;
                continue;
            }
            if count < MAX_FIELDS {
                spots[count] = (start, end);
                count += 1;
            }
            start = end + 1;
        }
        let spots = &spots[..count];
        let least = if self.fields > 0 { self.fields } else { 6 };
        if count < least {
            return Err(Reason::MissingField);
        }
        let extra = match self.fields {
            0 => self.extra(line, spots).ok_or(Reason::MissingField)?,
            fields => count - fields,
        };
        let field = |at: usize| {
            let at = if at > self.url { at + extra } else { at };
            spots.get(at).map_or(&b""[..], |&(start, end)| &line[start..end])
        };
        let url = &line[spots[self.url].0..spots[self.url + extra].1];
        let known = |at: Option<usize>| at.map(field).filter(|&text| !text.is_empty() && text != b"-");
        match check_url(url) {
            Err(Reason::NotHttp) if has_scheme(url) => return Ok(()),
            other => other?,
        }
        if is_posted(&line[..spots[self.url].0]) {
            return Ok(());
        }
        let status = known(self.status).and_then(status).unwrap_or(0);
        let redirect = known(self.redirect).filter(|&target| target != url && check_url(target).is_ok());
        let moved = matches!(status, 301 | 302 | 303 | 307 | 308);
        let facts = Facts {
            status,
            kind: known(self.mime).map_or(DocumentKind::Unknown, |mime| mime::kind(mime, url)),
            mime: known(self.mime).and_then(mime::named),
            digest: known(self.digest),
            redirect,
            ..Facts::default()
        };
        batch.push_with(Record { url, cluster: None, site: None, elsewhere: moved || redirect.is_some() }, facts);
        Ok(())
    }

    /// Number of surplus fields that the URL was cut into, in a line without a legend.
    fn extra(&self, line: &[u8], spots: &[(usize, usize)]) -> Option<usize> {
        let text = |&(start, end): &(usize, usize)| &line[start..end];
        let is_mime = |text: &[u8]| text == b"-" || text == b"unk" || text.contains(&b'/');
        let is_status = |text: &[u8]| text == b"-" || (text.len() == 3 && text.iter().all(u8::is_ascii_digit));
        let pairs = spots.windows(2).skip(self.url + 1);
        pairs.map(|pair| (text(&pair[0]), text(&pair[1]))).position(|(mime, code)| is_mime(mime) && is_status(code))
    }
}

/// True for methods that fetch the document of a URL.
pub(super) fn fetches_a_page(method: &[u8]) -> bool {
    method.eq_ignore_ascii_case(b"get") || method.eq_ignore_ascii_case(b"head")
}

/// True for the key of an answer to another method, which pywb puts behind the URL as
/// `__wb_method=post`.
pub(super) fn is_posted(key: &[u8]) -> bool {
    const FIELD: &[u8] = b"__wb_method=";
    let Some(at) = memchr::memmem::find(key, FIELD) else { return false };
    let method = &key[at + FIELD.len()..];
    let end = method.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(method.len());
    !fetches_a_page(&method[..end])
}

/// Three digits.
pub(super) fn status(text: &[u8]) -> Option<u16> {
    let digits = text.len() == 3 && text.iter().all(u8::is_ascii_digit);
    digits.then(|| text.iter().fold(0, |n, b| n * 10 + u16::from(b - b'0')))
}

/// True for `letters:` at the beginning, of whatever scheme.
pub(super) fn has_scheme(url: &[u8]) -> bool {
    let end = url.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')));
    url.first().is_some_and(u8::is_ascii_alphabetic) && end.is_some_and(|end| url[end] == b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// URL, status, digest, redirect and kind of a record.
    type CdxFacts = (String, u16, Option<String>, Option<String>, DocumentKind);

    fn one(legend: &str, line: &str) -> Result<Option<CdxFacts>, Reason> {
        let mut batch = RecordBatch::default();
        let mut fields = Legend::default();
        assert_eq!(fields.read(legend.as_bytes()), !legend.is_empty());
        fields.parse(line.as_bytes(), &mut batch)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ok((batch.len() == 1).then(|| {
            let facts = batch.facts(0);
            (text(batch.get(0).url), facts.status, facts.digest.map(text), facts.redirect.map(text), facts.kind)
        }))
    }

    const ELEVEN: &str = " CDX N b a m s k r M S V g";
    const TEN: &str = " CDX N b a m s k r M V g";
    const NINE: &str = " CDX N b a m s k r V g";

    #[test]
    fn nine_ten_and_eleven_fields_with_and_without_a_legend() {
        let head = "org,example)/a 20260101000000 http://example.org/a text/html 200 DIGEST -";
        let expected = ("http://example.org/a".to_owned(), 200, Some("DIGEST".to_owned()), None, DocumentKind::Html);
        for (legend, tail) in [(ELEVEN, "- 1 2 f"), (TEN, "- 2 f"), (NINE, "2 f")] {
            for legend in [legend, ""] {
                assert_eq!(one(legend, &format!("{head} {tail}")), Ok(Some(expected.clone())), "{legend:?} {tail}");
            }
        }
    }

    #[test]
    fn other_legends_are_honoured() {
        let line = "A\t20260101000000\t200\thttp://example.org/a b\thttp://example.org/c\tD";
        let expected = (
            "http://example.org/a b".to_owned(),
            200,
            Some("D".to_owned()),
            Some("http://example.org/c".to_owned()),
            DocumentKind::Unknown,
        );
        assert_eq!(one("\tCDX\tA\tb\ts\ta\tr\tk", line), Ok(Some(expected)));
        let old = one(" CDX A b a m s c", "k 1 http://a.example/ - 301 c").unwrap().unwrap();
        assert_eq!((old.1, old.2.as_deref()), (301, Some("c")));
    }

    #[test]
    fn spaces_dashes_revisits_and_malformed_keys() {
        for legend in [ELEVEN, ""] {
            let url = |line: &str| one(legend, line).map(|row| row.map(|row| (row.0, row.1, row.4)));
            let spaced = "org,example)/ 2026 http://example.org/a b c text/html 200 D - - 1 2 f";
            assert_eq!(url(spaced), Ok(Some(("http://example.org/a b c".to_owned(), 200, DocumentKind::Html))));
            let revisit = ")(org,,/ 2026 http://example.org/ warc/revisit - D - - 1 2 f";
            assert_eq!(url(revisit), Ok(Some(("http://example.org/".to_owned(), 0, DocumentKind::Unknown))));
            let dashes = "- - http://example.org/ - - - - - - - -";
            assert_eq!(url(dashes), Ok(Some(("http://example.org/".to_owned(), 0, DocumentKind::Unknown))));
            assert_eq!(url("dns:example.org 2026 dns:example.org text/dns - D - - 1 2 f"), Ok(None));
            assert_eq!(url("org,example)/ 2026 http://example.org/ text/html"), Err(Reason::MissingField));
            assert_eq!(url("org,example)/ 2026 /relative text/html 200 D - - 1 2 f"), Err(Reason::NotHttp));
        }
    }
}
