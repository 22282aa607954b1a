//! The answer in an archive record: its head, and its body with transfer and content codings undone.
//! Pure.
//!
//! Archives hold the bytes that servers sent, which is not always HTTP to the letter: lines end in LF
//! alone, heads hold bytes that are no ASCII and hundreds of fields, bodies were stored decoded under
//! heads that still name the coding. So this is a reader of its own and not a parser for servers, which
//! refuses such heads; unreadable parts are `None`.

use std::io::Read;

/// Longest head, in bytes: status line and fields.
pub const HEAD_LIMIT: usize = 1 << 20;
/// Most bytes of a body, decoded: enough for a page of text. A longer one is cut off and counts as
/// unread.
pub const BODY_LIMIT: usize = 8 << 20;

/// The head of an answer, borrowed from the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head<'a> {
    /// Status code.
    pub status: u16,
    /// `Content-Type`, as written.
    pub content_type: &'a [u8],
    /// `Location`, as written.
    pub location: &'a [u8],
    /// All `Link` fields, as written.
    pub links: Vec<&'a [u8]>,
    /// `Content-Encoding`, as written.
    pub content_encoding: &'a [u8],
    /// `Transfer-Encoding` ends in `chunked`.
    pub chunked: bool,
}

impl<'a> Head<'a> {
    /// The head at the beginning of `block` and the bytes behind it; `None` where there is none within
    /// [`HEAD_LIMIT`]. A field given twice counts as its last, save `Link`.
    pub fn read(block: &'a [u8]) -> Option<(Head<'a>, &'a [u8])> {
        let mut fields = Fields::of(block)?;
        let status = status_line(fields.next_line()?)?;
        let mut head = Head { status, ..Head::default() };
        while let Some((name, value)) = fields.next_field() {
            match () {
                _ if name.eq_ignore_ascii_case(b"content-type") => head.content_type = value,
                _ if name.eq_ignore_ascii_case(b"location") => head.location = value,
                _ if name.eq_ignore_ascii_case(b"link") => head.links.push(value),
                _ if name.eq_ignore_ascii_case(b"content-encoding") => head.content_encoding = value,
                _ if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                    head.chunked = value.len() >= 7 && value[value.len() - 7..].eq_ignore_ascii_case(b"chunked");
                }
                _ => {}
            }
        }
        Some((head, fields.behind))
    }

    /// The body with its codings undone, in one of the buffers or unchanged; `None` where it cannot be read
    /// whole: an unknown coding (`br`), damaged data, over [`BODY_LIMIT`] bytes.
    pub fn body<'b>(&self, raw: &'b [u8], buffers: &'b mut [Vec<u8>; 2]) -> Option<&'b [u8]> {
        let [chunks, decoded] = buffers;
        let mut body = raw;
        // Stored decoded under a head that still names the coding: then the body does not begin as a chunk
        // does.
        if self.chunked && unchunk(raw, chunks)? {
            body = chunks;
        }
        let named = self.content_encoding.trim_ascii();
        let is = |name: &[u8]| named.eq_ignore_ascii_case(name);
        let gzip = body.starts_with(&[0x1f, 0x8b]);
        if gzip && !named.is_empty() && !is(b"identity") {
            return inflate(flate2::bufread::MultiGzDecoder::new(body), decoded);
        }
        if is(b"deflate") {
            // By the standard a zlib stream, in practice a raw one as often.
            if inflate(flate2::bufread::ZlibDecoder::new(body), decoded).is_some()
                || inflate(flate2::bufread::DeflateDecoder::new(body), decoded).is_some()
            {
                return Some(decoded);
            }
        }
        if is(b"zstd") && body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            return inflate(zstd::Decoder::with_buffer(body).ok()?, decoded);
        }
        // Anything else that reads as text was stored decoded.
        let plain = named.is_empty() || is(b"identity") || looks_like_markup(body);
        (plain && body.len() <= BODY_LIMIT).then_some(body)
    }
}

/// Lines of fields up to a blank one.
pub(super) struct Fields<'a> {
    head: &'a [u8],
    /// Bytes behind the blank line.
    pub(super) behind: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields at the beginning of `bytes`; `None` without a blank line within [`HEAD_LIMIT`].
    pub(super) fn of(bytes: &'a [u8]) -> Option<Fields<'a>> {
        let (end, behind) = blank_line(&bytes[..bytes.len().min(HEAD_LIMIT)])?;
        Some(Fields { head: &bytes[..end], behind: &bytes[behind..] })
    }

    pub(super) fn next_line(&mut self) -> Option<&'a [u8]> {
        if self.head.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.head).unwrap_or(self.head.len());
        let line = &self.head[..end];
        self.head = self.head.get(end + 1..).unwrap_or_default();
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Name and value of the next line that is a field. A line folded onto the next is read up to the fold.
    pub(super) fn next_field(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        loop {
            let line = self.next_line()?;
            match memchr::memchr(b':', line) {
                Some(colon) if !line.starts_with(b" ") && !line.starts_with(b"\t") => {
                    return Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()));
                }
                _ => {}
            }
        }
    }
}

/// Start and end of the first blank line.
pub(super) fn blank_line(bytes: &[u8]) -> Option<(usize, usize)> {
    memchr::memchr_iter(b'\n', bytes).find_map(|at| match &bytes[at + 1..] {
        [b'\n', ..] => Some((at, at + 2)),
        [b'\r', b'\n', ..] => Some((at, at + 3)),
        _ => None,
    })
}

/// The code in `HTTP/1.1 200 OK`.
fn status_line(line: &[u8]) -> Option<u16> {
    if !line.get(..5)?.eq_ignore_ascii_case(b"http/") {
        return None;
    }
    let code = line.split(|&b| b == b' ').filter(|word| !word.is_empty()).nth(1)?;
    super::cdx::status(code)
}

/// Joins the chunks in `raw`; `Some(false)` where it is not chunked after all, `None` where a chunk is
/// broken off.
fn unchunk(raw: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    out.clear();
    let mut rest = raw;
    loop {
        let end = memchr::memchr(b'\n', &rest[..rest.len().min(1 << 10)]);
        let size = end.and_then(|end| {
            let line = rest[..end].split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
            let digits = !line.is_empty() && line.len() <= 8 && line.iter().all(u8::is_ascii_hexdigit);
            let text = std::str::from_utf8(line).ok().filter(|_| digits)?;
            Some((end, usize::from_str_radix(text, 16).ok()?))
        });
        let Some((end, size)) = size else {
            return if out.is_empty() { Some(false) } else { None };
        };
        if size == 0 {
            return Some(true);
        }
        let chunk = rest.get(end + 1..end + 1 + size)?;
        if out.len() + chunk.len() > BODY_LIMIT {
            return None;
        }
        out.extend_from_slice(chunk);
        rest = &rest[end + 1 + size..];
        rest = rest.strip_prefix(b"\r").unwrap_or(rest);
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    }
}

/// The whole output of `decoder`, if it is not too long.
fn inflate(decoder: impl Read, out: &mut Vec<u8>) -> Option<&[u8]> {
    out.clear();
    decoder.take(BODY_LIMIT as u64 + 1).read_to_end(out).ok()?;
    (out.len() <= BODY_LIMIT).then_some(&out[..])
}

fn looks_like_markup(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn body(fields: &str, raw: &[u8]) -> Option<Vec<u8>> {
        let block = [format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes(), raw].concat();
        let (head, rest) = Head::read(&block).unwrap();
        head.body(rest, &mut Default::default()).map(<[u8]>::to_vec)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn heads_that_are_not_to_the_letter_are_read() {
        let block = b"HTTP/1.0  301\nlocation:/x \nno field\n folded: a\nX-\xff: \xff\nLink: a\nLINK: b\n\nrest";
        let (head, rest) = Head::read(block).unwrap();
        assert_eq!((head.status, head.location, rest), (301, &b"/x"[..], &b"rest"[..]));
        assert_eq!(head.links, [b"a", b"b"]);
        let many = format!("HTTP/1.1 200 OK\r\n{}Location: y\r\n\r\n", "X-A: b\r\n".repeat(5000));
        assert_eq!(Head::read(many.as_bytes()).unwrap().0.location, b"y");
        for bad in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 OK\r\n\r\n", "ICY 200 OK\r\n\r\n"] {
            assert_eq!(Head::read(bad.as_bytes()), None, "{bad:?}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(HEAD_LIMIT));
        assert_eq!(Head::read(endless.as_bytes()), None);
    }

    #[test]
    fn codings_are_undone() {
        let page = b"<p>page</p>".to_vec();
        let chunks = b"4;ext=1\r\n<p>p\r\n7\r\nage</p>\r\n0\r\n\r\n".to_vec();
        let compressed = gzip(&page);
        let mut both = format!("{:x}\r\n", compressed.len()).into_bytes();
        both.extend([&compressed[..], b"\r\n0\r\n\r\n"].concat());
        let raw = zlib(&page)[2..].to_vec();
        let cases = [
            ("", page.clone()),
            ("Transfer-Encoding: chunked\r\n", chunks),
            ("Transfer-Encoding: chunked\r\n", page.clone()),
            ("Content-Encoding: gzip\r\n", compressed.clone()),
            ("Content-Encoding: gzip\r\n", page.clone()),
            ("Content-Encoding: br\r\n", page.clone()),
            ("Content-Encoding: deflate\r\n", zlib(&page)),
            ("Content-Encoding: deflate\r\n", raw),
            ("Content-Encoding: zstd\r\n", zstd::encode_all(&page[..], 1).unwrap()),
            ("Content-Encoding: gzip\r\nTransfer-Encoding: gzip, chunked\r\n", both),
        ];
        for (fields, raw) in cases {
            assert_eq!(body(fields, &raw), Some(page.clone()), "{fields}");
        }
        assert_eq!(body("Content-Encoding: br\r\n", b"\x0b\x05"), None);
        assert_eq!(body("Content-Encoding: gzip\r\n", &compressed[..compressed.len() - 3]), None);
        assert_eq!(body("Transfer-Encoding: chunked\r\n", b"4\r\nabcd\r\n9\r\nab"), None);
    }

    #[test]
    fn a_bomb_is_left_alone() {
        let bomb = gzip(&vec![b' '; 64 << 20]);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(body("Content-Encoding: gzip\r\n", &bomb), None);
    }
}
