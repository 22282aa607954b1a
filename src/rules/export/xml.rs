//! XML 1.0, the common format of nutch and heritrix.

use super::comments::{command, comment};
use super::rewritten::Rewrite;
use crate::model::shown::is_hidden;
use quick_xml::Writer;
use quick_xml::escape::escape;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesDecl, BytesEnd, BytesPI, BytesStart, BytesText, Event};
use quick_xml::name::QName;

/// An XML document under construction.
pub struct Document {
    out: Writer<Vec<u8>>,
}

impl Document {
    /// Starts with the declaration, comments, and the command that makes the file, as a processing
    /// instruction: a comment of XML cannot hold the two hyphens of an option.
    pub fn new(head: &[String], format: &str) -> Document {
        let mut new = Document { out: Writer::new_with_indent(Vec::new(), b' ', 2) };
        new.event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
        head.iter().for_each(|line| new.comment(line));
        new.event(Event::PI(BytesPI::new(command(format))));
        new
    }

    /// A comment on a line.
    pub fn comment(&mut self, text: &str) {
        // The second of two hyphens is written as an escape.
        let text = format!(" {} ", comment(text).replace("--", "-\\u{2d}"));
        self.event(Event::Comment(BytesText::from_escaped(text)));
    }

    /// Opens an element.
    pub fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.event(Event::Start(start(name, attributes)));
    }

    /// Closes the last element opened, which has this name.
    pub fn close(&mut self, name: &str) {
        self.event(Event::End(BytesEnd::new(name)));
    }

    /// An element without content.
    pub fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.event(Event::Empty(start(name, attributes)));
    }

    /// An element of text.
    pub fn text(&mut self, name: &str, text: &str) {
        self.open(name, &[]);
        self.event(Event::Text(BytesText::from_escaped(escaped(text))));
        self.close(name);
    }

    /// Text of the finished document.
    pub fn finish(self) -> String {
        String::from_utf8(self.out.into_inner()).expect("made of strings") + "\n"
    }

    fn event(&mut self, event: Event<'_>) {
        self.out.write_event(event).expect("memory takes all");
    }
}

fn start<'a>(name: &'a str, attributes: &[(&'a str, &'a str)]) -> BytesStart<'a> {
    let attribute = |(name, value): &(&'a str, &'a str)| Attribute { key: QName(name), value: escaped(value).into() };
    BytesStart::new(name).with_attributes(attributes.iter().map(attribute))
}

/// Text of an element or an attribute. Hidden characters are references, so that no reader normalizes
/// line ends and tabs.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text).chars() {
        match is_hidden(c) {
            true => out.push_str(&format!("&#x{:x};", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

/// These rewrites, if XML can hold their replacements. Patterns have hidden characters as escapes of
/// their own.
///
/// # Errors
/// The character that XML 1.0 has no way to write, in words.
pub fn carries(rewrites: Vec<Rewrite>) -> Result<Vec<Rewrite>, String> {
    let legal = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    let illegal = rewrites.iter().flat_map(Rewrite::texts).flat_map(str::chars).find(|&c| !legal(c));
    match illegal {
        Some(c) => Err(format!("XML cannot write the character U+{:04X}", u32::from(c))),
        None => Ok(rewrites),
    }
}
