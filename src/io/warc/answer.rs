//! Conversion of a record of an archive to a record of the crawl.

use std::fmt::Write as _;

use crate::content::{Reader, charset, reference};
use crate::io::cdx::has_scheme;
use crate::io::http::{Fields, Head};
use crate::io::mime;
use crate::io::reason::{Reason, check_url};
use crate::model::{DocumentKind as Document, Facts, Record, RecordBatch, hash128};

/// Kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WarcType {
    /// An answer with its HTTP head.
    Response,
    /// A document without one.
    Resource,
    /// An answer whose body was archived before; perhaps its head.
    Revisit,
    /// A request.
    Request,
    /// A kind that undust does not read.
    Other,
}

impl WarcType {
    /// The kind by the value of `WARC-Type`.
    pub(super) fn of(value: &[u8]) -> WarcType {
        let is = |name: &[u8]| value.eq_ignore_ascii_case(name);
        match () {
            _ if is(b"response") => WarcType::Response,
            _ if is(b"resource") => WarcType::Resource,
            _ if is(b"revisit") => WarcType::Revisit,
            _ if is(b"request") => WarcType::Request,
            _ => WarcType::Other,
        }
    }
}

/// Turns records of an archive into records of the crawl, in reused buffers.
#[derive(Default)]
pub(super) struct Answers {
    page: Reader,
    text: String,
    bodies: [Vec<u8>; 2],
    base: Vec<u8>,
    redirect: Vec<u8>,
    canonical: Vec<u8>,
    header: Vec<u8>,
    digest: String,
}

impl Answers {
    /// Adds the record with these fields and this block to `batch`, if it is one of a crawl. A block that
    /// is `cut` gives its head only. What is about another scheme is no error.
    ///
    /// # Errors
    /// The reason why it is no record, and text that shows it.
    pub(super) fn take<'a>(
        &mut self,
        fields: &'a [u8],
        kind: WarcType,
        block: &'a [u8],
        cut: bool,
        url_limit: usize,
        batch: &mut RecordBatch,
    ) -> Result<(), (Reason, &'a [u8])> {
        let fields = About::of(fields);
        let url = fields.url;
        if url.len() > url_limit {
            return Err((Reason::OverLongLine, url));
        }
        if std::str::from_utf8(url).is_err() {
            return Err((Reason::InvalidUtf8, url));
        }
        match check_url(url) {
            Err(Reason::NotHttp) if has_scheme(url) => return Ok(()),
            Err(reason) => return Err((reason, url)),
            Ok(()) => {}
        }
        let (head, raw) = match (kind, Head::read(block)) {
            (WarcType::Resource, _) => {
                let head = Head { status: 200, content_type: fields.content_type, ..Head::default() };
                (head, block)
            }
            // An exchange by another protocol under an http URL.
            (WarcType::Response, _) if !fields.is_http() => return Ok(()),
            (_, Some(read)) => read,
            (WarcType::Revisit, None) => (Head::default(), &b""[..]),
            (_, None) => return Err((Reason::BrokenHttp, url)),
        };
        let known = std::str::from_utf8(fields.digest).is_ok() && !fields.digest.is_empty();
        self.digest.clear();
        let digest = match kind {
            _ if known => Some(fields.digest),
            WarcType::Revisit => None,
            _ if cut || raw.is_empty() => None,
            _ => {
                let _ = write!(self.digest, "xxh3:{:032x}", hash128(raw));
                Some(self.digest.as_bytes())
            }
        };
        let mut facts = Facts {
            // A revisit without a body of its own: the page is as it was.
            status: if kind == WarcType::Revisit && head.status == 304 { 200 } else { head.status },
            kind: mime::kind(head.content_type, url),
            mime: mime::named(head.content_type),
            size: raw.len() as u64,
            digest,
            ..Facts::default()
        };
        if facts.kind == Document::Unknown && kind != WarcType::Revisit && raw.trim_ascii_start().starts_with(b"<") {
            facts.kind = Document::Html;
        }
        self.base.clear();
        self.base.extend_from_slice(url);
        let moved = matches!(head.status, 301 | 302 | 303 | 307 | 308);
        if moved && !head.location.is_empty() && target(url, head.location, &mut self.redirect) {
            facts.redirect = Some(&self.redirect);
        }
        let mut declared = link_header(&head.links).is_some_and(|link| target(url, link, &mut self.canonical));
        let whole = (200..300).contains(&facts.status) && !cut && kind != WarcType::Revisit;
        if facts.kind == Document::Html
            && whole
            && let Some(body) = head.body(raw, &mut self.bodies)
        {
            let text = charset::decode(body, head.content_type, &mut self.text);
            let page = self.page.read(text);
            if let Some(base) = page.base
                && target(url, base, &mut self.header)
            {
                std::mem::swap(&mut self.base, &mut self.header);
            }
            if let Some(link) = page.canonical
                && target(&self.base, link, &mut self.header)
            {
                // A page and its head that contradict each other are no evidence.
                declared = !declared || self.canonical == self.header;
                std::mem::swap(&mut self.canonical, &mut self.header);
            }
            facts.title = Some(page.title.as_bytes());
            facts.text = Some(page.text);
        }
        facts.canonical = declared.then_some(&self.canonical[..]);
        let elsewhere = moved || facts.canonical.is_some_and(|canonical| canonical != url);
        batch.push_with(Record { url, cluster: None, site: None, elsewhere }, facts);
        Ok(())
    }
}

/// Fields of the head of a record.
struct About<'a> {
    url: &'a [u8],
    content_type: &'a [u8],
    digest: &'a [u8],
}

impl<'a> About<'a> {
    fn of(head: &'a [u8]) -> About<'a> {
        let mut about = About { url: b"", content_type: b"", digest: b"" };
        let Some(mut fields) = Fields::of(head) else { return about };
        while let Some((name, value)) = fields.next_field() {
            match () {
                _ if name.eq_ignore_ascii_case(b"warc-target-uri") => about.url = value,
                _ if name.eq_ignore_ascii_case(b"content-type") => about.content_type = value,
                _ if name.eq_ignore_ascii_case(b"warc-payload-digest") => about.digest = value,
                _ => {}
            }
        }
        // WARC 1.0 had the URL in angle brackets by an error of its grammar.
        about.url = about.url.strip_prefix(b"<").and_then(|url| url.strip_suffix(b">")).unwrap_or(about.url);
        about
    }

    fn is_http(&self) -> bool {
        let kind = self.content_type;
        kind.is_empty() || kind.get(..16).is_some_and(|head| head.eq_ignore_ascii_case(b"application/http"))
    }
}

/// Resolves a reference; `false` where it leads to no URL of a record.
fn target(base: &[u8], link: &[u8], out: &mut Vec<u8>) -> bool {
    reference::resolve(base, link, out) && std::str::from_utf8(out).is_ok() && check_url(out).is_ok()
}

/// The target of `<target>; rel="canonical"` in `Link` fields (RFC 8288); none where two differ.
fn link_header<'a>(links: &[&'a [u8]]) -> Option<&'a [u8]> {
    let mut found: Option<&[u8]> = None;
    for &link in links {
        let mut rest = link;
        while let Some(open) = memchr::memchr(b'<', rest) {
            let Some(close) = memchr::memchr(b'>', &rest[open..]) else { break };
            let uri = &rest[open + 1..open + close];
            rest = &rest[open + close + 1..];
            // A comma before the next `<` begins the next link.
            let parameters = &rest[..memchr::memmem::find(rest, b"<").unwrap_or(rest.len())];
            let canonical = parameters.split(|&b| b == b';' || b == b',').any(|parameter| {
                let Some(equals) = memchr::memchr(b'=', parameter) else { return false };
                let value = parameter[equals + 1..].trim_ascii();
                let value = value.strip_prefix(b"\"").unwrap_or(value);
                let value = value.strip_suffix(b"\"").unwrap_or(value);
                let mut words = value.split(u8::is_ascii_whitespace);
                parameter[..equals].trim_ascii().eq_ignore_ascii_case(b"rel")
                    && words.any(|word| word.eq_ignore_ascii_case(b"canonical"))
            });
            if canonical {
                match found {
                    Some(other) if other != uri => return None,
                    _ => found = Some(uri),
                }
            }
        }
    }
    found
}
