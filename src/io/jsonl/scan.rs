//! A fast scan of plain lines: one flat object of strings without escapes, integers, `true`, `false`
//! and `null`.
//!
//! Most lines of a crawl are of that kind. The scan gives up on everything else, errors among it, and
//! leaves the line to serde_json; its results equal those of serde_json, as a property test checks.

use std::borrow::Cow;

use super::row::{Row, status};

/// A value of a plain line.
#[derive(Clone, Copy)]
pub(in super::super) enum Value<'a> {
    Text(&'a str),
    Number(&'a str),
    Bool,
    Null,
}

/// The row of a plain line; `None` for a line that needs the full parser.
pub(super) fn scan(text: &str) -> Option<Row<'_>> {
    let mut row = Row::default();
    fields(text, |name, value| {
        match name {
            "url" => row.url = value.text()?,
            "cluster" => row.cluster = value.label()?,
            "site" => row.site = value.label()?,
            "canonical" => row.canonical = value.text()?,
            "redirect" => row.redirect = value.text()?,
            "status" => row.status = value.label()?.map_or(Some(None), |text| status(&text).ok())?,
            _ => {}
        }
        Some(())
    })?;
    Some(row)
}

/// Passes the fields of a plain object to `take`, which may find one not to be plain.
pub(in super::super) fn fields<'a>(
    text: &'a str,
    mut take: impl FnMut(&'a str, Value<'a>) -> Option<()>,
) -> Option<()> {
    // Once over the whole line, in wide compares, instead of over each short string: no escape, and no
    // bare control character, which JSON allows between values (tabs) but not in strings.
    if text.bytes().fold(false, |bad, b| bad | (b < 0x20) | (b == b'\\')) {
        return None;
    }
    let mut rest = Remainder { text, at: 0 };
    rest.expect(b'{')?;
    if rest.peek()? == b'}' {
        rest.at += 1;
        return rest.is_over().then_some(());
    }
    loop {
        rest.expect(b'"')?;
        let name = rest.string()?;
        rest.expect(b':')?;
        let value = rest.value()?;
        take(name, value)?;
        match rest.next()? {
            b',' => {}
            b'}' => return rest.is_over().then_some(()),
            _ => return None,
        }
    }
}

impl<'a> Value<'a> {
    /// A string or null; else the line is not plain.
    pub(in super::super) fn text(self) -> Option<Option<Cow<'a, str>>> {
        match self {
            Self::Text(text) => Some(Some(Cow::Borrowed(text))),
            Self::Null => Some(None),
            Self::Number(_) | Self::Bool => None,
        }
    }

    /// A string, a number's text or null; else the line is not plain.
    pub(in super::super) fn label(self) -> Option<Option<Cow<'a, str>>> {
        match self {
            Self::Number(text) => Some(Some(Cow::Borrowed(text))),
            other => other.text(),
        }
    }
}

/// The rest of a line.
struct Remainder<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Remainder<'a> {
    /// The next byte that is not white space (of JSON), not consumed.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.as_bytes().get(self.at)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                other => return Some(other),
            }
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn is_over(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The string behind the opening quote.
    fn string(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let end = memchr::memchr(b'"', rest.as_bytes())?;
        let string = &rest[..end];
        self.at += end + 1;
        Some(string)
    }

    fn value(&mut self) -> Option<Value<'a>> {
        let first = self.peek()?;
        if first == b'"' {
            self.at += 1;
            return self.string().map(Value::Text);
        }
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|b| matches!(b, b',' | b'}' | b' ' | b'\t' | b'\r' | b'\n'))?;
        let word = &rest[..end];
        self.at += end;
        match word {
            "null" => Some(Value::Null),
            "true" | "false" => Some(Value::Bool),
            _ => is_integer(word).then_some(Value::Number(word)),
        }
    }
}

/// `-?(0|[1-9][0-9]*)`.
fn is_integer(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word).as_bytes();
    let leads = digits.first().is_some_and(|&first| first != b'0' || digits.len() == 1);
    leads && digits.iter().all(u8::is_ascii_digit)
}
