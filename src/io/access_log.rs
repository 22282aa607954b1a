//! Lines of access logs in the common and the combined format, with or without a virtual host before
//! them: pure.
//!
//! ```text
//! 192.0.2.7 - - [20/Nov/2026:19:21:08 +0000] "GET /a HTTP/1.1" 200 309 "-" "agent"
//! example.org:443 192.0.2.7 - - [20/Nov/2026:19:21:08 +0000] "GET /a HTTP/1.1" 200 309
//! ```
//! The request, the status and the size are read, and the virtual host; address and agent of the
//! visitor are not. No address leaves this module, not even in the sample of bad lines ([`shown`]).

use super::reason::{Reason, check_url};
use crate::model::{DocumentKind, Facts, Record, RecordBatch};

/// Base for the paths of a log: a scheme and host.
#[derive(Debug)]
pub(super) struct Base {
    base: Vec<u8>,
    url: Vec<u8>,
}

impl Base {
    /// The base that the user gave, or none.
    pub(super) fn new(base: Option<&str>) -> Base {
        let base = base.unwrap_or_default().trim_end_matches('/').as_bytes().to_vec();
        Base { base, url: Vec::new() }
    }

    /// Adds the record of one line to `batch`. Requests that fetch no page (`POST`, `OPTIONS *`, a
    /// connection without a request) are good lines without a record. Escapes of the log (`\"`, `\x41`) are
    /// undone, as `%41` where the byte is not allowed in a URL.
    ///
    /// # Errors
    /// The reason why the line is no line of a log; `batch` is then as it was.
    pub(super) fn parse(&mut self, line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
        if line.is_empty() {
            return Err(Reason::EmptyLine);
        }
        if !line.is_ascii() && std::str::from_utf8(line).is_err() {
            return Err(Reason::InvalidUtf8);
        }
        let line = AccessLogLine::of(line).ok_or(Reason::NotALogLine)?;
        let mut words = line.request.split(|&b| b == b' ').filter(|word| !word.is_empty());
        let (Some(method), Some(_)) = (words.next(), words.next()) else { return Ok(()) };
        if !matches!(method, b"GET" | b"HEAD") {
            return Ok(());
        }
        // A target may hold spaces that the client sent: it ends at the protocol.
        let target = &line.request[method.len()..];
        let end = match memchr::memmem::rfind(target, b" HTTP/") {
            Some(end) => end,
            None => target.len(),
        };
        let target = target[..end].trim_ascii();
        self.url.clear();
        if target.starts_with(b"/") {
            match (self.base.is_empty(), line.host) {
                (_, Some((host, port))) => {
                    self.url.extend_from_slice(if port == Some(b"443") { b"https://" } else { b"http://" });
                    self.url.extend_from_slice(host);
                }
                (false, None) => self.url.extend_from_slice(&self.base),
                (true, None) => return Err(Reason::NoHost),
            }
        }
        unescape(target, &mut self.url);
        check_url(&self.url)?;
        let redirects = matches!(line.status, 301 | 302 | 303 | 307 | 308);
        let facts = Facts { status: line.status, size: line.size, kind: DocumentKind::Unknown, ..Facts::default() };
        batch.push_with(Record { url: &self.url, cluster: None, site: None, elsewhere: redirects }, facts);
        Ok(())
    }
}

/// True for a line that names its host, or its target in full.
pub(super) fn names_host(line: &[u8]) -> bool {
    AccessLogLine::of(line)
        .is_some_and(|line| line.host.is_some() || memchr::memmem::find(line.request, b" http").is_some())
}

/// True for text that looks like a line of a log.
pub(super) fn is_line(line: &[u8]) -> bool {
    AccessLogLine::of(line).is_some()
}

/// The request of a line, the only part that is kept of a bad one: addresses are before and, with
/// proxies, behind it.
pub(super) fn shown(line: &[u8]) -> &[u8] {
    let Some(start) = memchr::memchr(b'"', line) else { return b"" };
    closing_quote(&line[start + 1..]).map_or(b"", |end| &line[start..start + end + 2])
}

struct AccessLogLine<'a> {
    host: Option<(&'a [u8], Option<&'a [u8]>)>,
    request: &'a [u8],
    status: u16,
    size: u64,
}

impl<'a> AccessLogLine<'a> {
    fn of(line: &'a [u8]) -> Option<AccessLogLine<'a>> {
        // The user's name, before the time, may hold anything but a bracket in practice.
        let time = memchr::memmem::find(line, b" [")?;
        let head = &line[..time];
        let rest = &line[time..];
        let quote = memchr::memmem::find(rest, b"] \"")?;
        // day/month/year:hour:minute:second zone
        if rest[..quote].iter().filter(|&&b| b == b'/' || b == b':').count() < 5 {
            return None;
        }
        let rest = &rest[quote + 3..];
        let end = closing_quote(rest)?;
        let request = &rest[..end];
        let mut rest = rest[end + 1..].split(|&b| b == b' ').filter(|word| !word.is_empty());
        let status = number(rest.next()?).filter(|status| (100..=999).contains(status))? as u16;
        let size = match rest.next() {
            None | Some(b"-") => 0,
            Some(size) => number(size)?,
        };
        let mut words = head.split(|&b| b == b' ').filter(|word| !word.is_empty());
        let (first, count) = (words.next()?, 1 + words.count());
        if count < 3 {
            return None;
        }
        Some(AccessLogLine { host: if count > 3 { virtual_host(first) } else { None }, request, status, size })
    }
}

/// Host and port of the word before the address, where it is a name: an address there is a visitor's.
fn virtual_host(word: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let (host, port) = match memchr::memrchr(b':', word) {
        Some(colon) if word[colon + 1..].iter().all(u8::is_ascii_digit) => (&word[..colon], Some(&word[colon + 1..])),
        _ => (word, None),
    };
    let name = host.iter().any(u8::is_ascii_alphabetic) && !host.contains(&b':');
    (name && host.contains(&b'.')).then_some((host, port))
}

/// Position of the next quote that no backslash escapes.
fn closing_quote(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', &bytes[at..])?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
        if at > bytes.len() {
            return None;
        }
    }
}

fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 18 || !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(word.iter().fold(0, |n, b| n * 10 + u64::from(b - b'0')))
}

/// Undoes the escapes of a log.
fn unescape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = match &rest[at..] {
            [_, b'x', high, low, more @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.extend_from_slice(&[b'%', high.to_ascii_uppercase(), low.to_ascii_uppercase()]);
                more
            }
            [_, b'n', more @ ..] => {
                out.extend_from_slice(b"%0A");
                more
            }
            [_, b't', more @ ..] => {
                out.extend_from_slice(b"%09");
                more
            }
            [_, b'"', more @ ..] => {
                out.extend_from_slice(b"%22");
                more
            }
            [_, b'\\', more @ ..] => {
                out.extend_from_slice(b"%5C");
                more
            }
            [_, more @ ..] => {
                out.extend_from_slice(b"%5C");
                more
            }
            [] => break,
        };
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(base: Option<&str>, line: &str) -> Result<Vec<(String, u16, u64)>, Reason> {
        let mut batch = RecordBatch::default();
        Base::new(base).parse(line.as_bytes(), &mut batch)?;
        let row = |row: usize| {
            let (record, facts) = (batch.get(row), batch.facts(row));
            (String::from_utf8(record.url.to_vec()).unwrap(), facts.status, facts.size)
        };
        Ok((0..batch.len()).map(row).collect())
    }

    const TIME: &str = "[20/Nov/2026:19:21:08 +0000]";

    #[test]
    fn requests_become_urls() {
        let cases = [
            (r#"- - @ "GET /a?b HTTP/1.1" 200 309"#, Some(("http://h.example/a?b", 200, 309))),
            (r#"- a user @ "HEAD / HTTP/2.0" 301 - "-" "agent""#, Some(("http://h.example/", 301, 0))),
            (r#"- - @ "GET /a b HTTP/1.1" 404 5"#, Some(("http://h.example/a b", 404, 5))),
            (r#"- - @ "GET /a\"\xe9\\ HTTP/1.1" 200 5"#, Some(("http://h.example/a%22%E9%5C", 200, 5))),
            (r#"- - @ "GET https://o.example/ HTTP/1.1" 200 5"#, Some(("https://o.example/", 200, 5))),
            (r#"- - @ "GET /old" 200 5"#, Some(("http://h.example/old", 200, 5))),
            (r#"- - @ "POST /a HTTP/1.1" 200 5"#, None),
            (r#"- - @ "OPTIONS * HTTP/1.0" 200 5"#, None),
            (r#"- - @ "-" 408 -"#, None),
        ];
        for (line, expected) in cases {
            let line = format!("192.0.2.7 {}", line.replace('@', TIME));
            let expected: Vec<_> = expected.into_iter().map(|(url, s, n)| (url.to_owned(), s, n)).collect();
            assert_eq!(one(Some("http://h.example/"), &line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn hosts_come_from_the_line_or_the_user() {
        let line = |head: &str| format!(r#"{head} - - {TIME} "GET /a HTTP/1.1" 200 1"#);
        let url = |head: &str, base| one(base, &line(head)).map(|rows| rows[0].0.clone());
        assert_eq!(url("v.example:443 192.0.2.7", Some("http://h.example")), Ok("https://v.example/a".to_owned()));
        assert_eq!(url("v.example:80 2001:db8::7", None), Ok("http://v.example/a".to_owned()));
        assert_eq!(url("192.0.2.7", None), Err(Reason::NoHost));
        assert_eq!(url("192.0.2.9 192.0.2.7", None), Err(Reason::NoHost), "an address is no name of a site");
    }

    #[test]
    fn bad_lines_are_told_without_addresses() {
        let bad = [
            "192.0.2.7 - - [x] \"GET / HTTP/1.1\" 200 1",
            "192.0.2.7 - - [20/Nov/2026:19:21:08 +0000] \"GET / HTTP/1.1 200 1",
            "192.0.2.7 - - [20/Nov/2026:19:21:08 +0000] \"GET / HTTP/1.1\" ok 1 \"-\" \"a\" 192.0.2.8",
            "192.0.2.7 garbage",
        ];
        for line in bad {
            assert_eq!(one(None, line), Err(Reason::NotALogLine), "{line}");
            let shown = String::from_utf8(shown(line.as_bytes()).to_vec()).unwrap();
            assert!(!shown.contains("192.0.2"), "{shown}");
        }
        assert_eq!(shown(bad[2].as_bytes()), b"\"GET / HTTP/1.1\"");
    }
}
