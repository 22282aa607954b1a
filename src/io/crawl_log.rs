//! Lines of the `crawl.log` of Heritrix: pure.
//!
//! ```text
//! 2026-11-20T19:21:08.123Z   200    1299 http://a.example/b LR http://a.example/a text/html #014 20261120192108100+22 sha1:X - -
//! ```
//! Columns, by white space: time, status, size, URL, discovery path, via (the URL it was found at),
//! media type, thread, time of the fetch, digest, source tag, annotations. Read are status, size, URL,
//! path, via, media type and digest.
//!
//! A redirect has no column. Its target has a line of its own, whose path ends in `R` and whose via is
//! the URL that redirected: such a line gives two records, that of the via with the redirect, and its
//! own. A target that the crawler had met before has no such line, so not every redirect is known.

use super::cdx::has_scheme;
use super::mime;
use super::reason::{Reason, check_url};
use crate::model::{Facts, Record, RecordBatch};

/// Adds the records of one line. Fetches without an answer (status 0 or negative: no connection,
/// refused by robots rules, out of scope), robots files and other schemes (`dns:`) are good lines
/// without a record.
///
/// # Errors
/// The reason why the line is no record; `batch` is then as it was.
pub fn parse(line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
    if line.is_empty() {
        return Err(Reason::EmptyLine);
    }
    if !line.is_ascii() && std::str::from_utf8(line).is_err() {
        return Err(Reason::InvalidUtf8);
    }
    let line = CrawlLogLine::of(line).ok_or(Reason::NotALogLine)?;
    match check_url(line.url) {
        Err(Reason::NotHttp) if has_scheme(line.url) => return Ok(()),
        other => other?,
    }
    let Some(status) = line.status else { return Ok(()) };
    if mime::is_robots(line.url) {
        return Ok(());
    }
    if line.path.ends_with(b"R") && line.via != line.url && check_url(line.via).is_ok() {
        let facts = Facts { redirect: Some(line.url), ..Facts::default() };
        batch.push_with(Record { url: line.via, cluster: None, site: None, elsewhere: true }, facts);
    }
    let facts = Facts {
        status,
        kind: mime::kind(line.mime, line.url),
        mime: mime::named(line.mime),
        size: line.size,
        digest: Some(line.digest).filter(|digest| !matches!(*digest, b"" | b"-")),
        ..Facts::default()
    };
    let elsewhere = matches!(status, 301 | 302 | 303 | 307 | 308);
    batch.push_with(Record { url: line.url, cluster: None, site: None, elsewhere }, facts);
    Ok(())
}

/// True for text that looks like a line of a crawl log.
pub(super) fn is_line(line: &[u8]) -> bool {
    CrawlLogLine::of(line).is_some()
}

struct CrawlLogLine<'a> {
    /// `None` without an answer.
    status: Option<u16>,
    size: u64,
    url: &'a [u8],
    path: &'a [u8],
    via: &'a [u8],
    mime: &'a [u8],
    digest: &'a [u8],
}

impl<'a> CrawlLogLine<'a> {
    fn of(line: &'a [u8]) -> Option<CrawlLogLine<'a>> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut word = || words.next();
        if !is_time(word()?) {
            return None;
        }
        let status: i32 = std::str::from_utf8(word()?).ok()?.parse().ok()?;
        let size = match word()? {
            b"-" => 0,
            size => std::str::from_utf8(size).ok()?.parse().ok()?,
        };
        let (url, path, via, mime) = (word()?, word()?, word()?, word()?);
        let (_thread, _fetched, digest) = (word()?, word()?, word()?);
        let status = u16::try_from(status).ok().filter(|status| (100..=999).contains(status));
        has_scheme(url).then_some(CrawlLogLine { status, size, url, path, via, mime, digest })
    }
}

/// `2026-11-20T19:21:08.123Z`, with or without the fraction.
fn is_time(word: &[u8]) -> bool {
    let digit = |at: usize| word[at].is_ascii_digit();
    word.len() >= 20
        && word.ends_with(b"Z")
        && [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')].iter().all(|&(at, mark)| word[at] == mark)
        && [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18].into_iter().all(digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DocumentKind;

    const TIME: &str = "2026-11-20T19:21:08.123Z";

    /// URL, status, digest and redirect of a record.
    type Seen = (String, u16, Option<String>, Option<String>);

    fn all(line: &str) -> Result<Vec<Seen>, Reason> {
        let mut batch = RecordBatch::default();
        parse(line.as_bytes(), &mut batch)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let row = |at: usize| {
            let facts = batch.facts(at);
            (text(batch.get(at).url), facts.status, facts.digest.map(text), facts.redirect.map(text))
        };
        Ok((0..batch.len()).map(row).collect())
    }

    #[test]
    fn status_digest_and_redirect_are_read() {
        let line = |status: &str, url: &str, path: &str, via: &str| {
            format!(
                "{TIME} {status:>5} {:>10} {url} {path} {via} text/html #014 20261120192108100+225 sha1:X - -",
                1299
            )
        };
        let digest = Some("sha1:X".to_owned());
        let own = |status| ("http://a.example/b".to_owned(), status, digest.clone(), None);
        assert_eq!(all(&line("200", "http://a.example/b", "L", "http://a.example/")), Ok(vec![own(200)]));
        assert_eq!(all(&line("200", "http://a.example/b", "-", "-")), Ok(vec![own(200)]));
        let via = ("http://a.example/a".to_owned(), 0, None, Some("http://a.example/b".to_owned()));
        assert_eq!(all(&line("404", "http://a.example/b", "3+LR", "http://a.example/a")), Ok(vec![via, own(404)]));
        let none = [
            line("-9998", "http://a.example/b", "LR", "http://a.example/a"),
            line("0", "http://a.example/b", "L", "http://a.example/a"),
            line("200", "http://a.example/robots.txt", "LP", "http://a.example/a"),
            line("1", "dns:a.example", "LP", "http://a.example/a"),
        ];
        none.iter().for_each(|line| assert_eq!(all(line), Ok(Vec::new()), "{line}"));
        let mut batch = RecordBatch::default();
        parse(line("200", "http://a.example/b", "L", "-").as_bytes(), &mut batch).unwrap();
        let facts = batch.facts(0);
        assert_eq!((facts.kind, facts.mime, facts.size), (DocumentKind::Html, Some(&b"text/html"[..]), 1299));
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "192.0.2.7 - - [20/Nov/2026:19:21:08 +0000] \"GET / HTTP/1.1\" 200 1",
            "2026-11-20T19:21:08.123Z 200 1 http://a.example/ L",
            "2026-11-20 19:21:08.123Z 200 1 http://a.example/ L - text/html #1 - - - -",
            "2026-11-20T19:21:08.123Z ok 1 http://a.example/ L - text/html #1 - - - -",
            "http://a.example/",
        ] {
            assert_eq!(all(line), Err(Reason::NotALogLine), "{line}");
            assert!(!is_line(line.as_bytes()));
        }
    }
}
