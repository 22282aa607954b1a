//! Extraction of the relevant parts of an HTML page, in one pass over its tags.
//!
//! The main text is what is left without: scripts, styles and other text that is not shown; navigation,
//! headers and footers of the page (by element and by ARIA role), menus, buttons and choices, hidden
//! elements; times; the values of form fields. Counters are part of the exact text and not of the
//! fingerprint ([`super::tokens`]). Titles of articles stay. An element that is left out and never
//! closed takes nothing with it: its text counts as shown.

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::simhash::{sequence, simhash};
use super::tokens::Tokens;
use crate::model::{Fingerprint, hash64};

/// Content of a page, borrowed from its [`Reader`].
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its title, white space collapsed; empty without one.
    pub title: &'a str,
    /// The reference in its `link rel=canonical`, as written; `None` without one, or with two that differ.
    pub canonical: Option<&'a [u8]>,
    /// The reference in its `base`, as written.
    pub base: Option<&'a [u8]>,
    /// Fingerprint of its main text.
    pub text: Fingerprint,
}

/// Reads pages, in reused buffers. Memory: about the size of the page's text, eight bytes a word.
#[derive(Debug, Default)]
pub struct Reader {
    state: TagState,
    kept: Vec<u64>,
    shingles: Vec<u64>,
}

impl Reader {
    /// Reads a page. Any text is a page; nothing makes this fail.
    pub fn read(&mut self, html: &str) -> Page<'_> {
        let state = &mut self.state;
        state.clear();
        let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<()> {
            state.on(event);
            None
        });
        emitter.naively_switch_states(true);
        // No token is ever given back: the loop ends with the text.
        Tokenizer::new_with_emitter(html, emitter).for_each(drop);
        let state = &mut self.state;
        if state.left_out.is_some() {
            state.main.append(&mut state.spare);
        }
        let tokens = &state.main.list;
        let text = Fingerprint {
            simhash: simhash(state.main.steady(&mut self.kept), &mut self.shingles),
            text: sequence(tokens),
            tokens: u32::try_from(tokens.len()).unwrap_or(u32::MAX - 1),
            edits: state.edits,
        };
        Page { title: state.title.trim_end(), canonical: state.canonical.found(), base: state.base.found(), text }
    }
}

/// A reference in a page.
#[derive(Debug, Default)]
struct Reference {
    given: bool,
    differs: bool,
    text: Vec<u8>,
}

impl Reference {
    fn clear(&mut self) {
        self.given = false;
        self.differs = false;
    }

    fn put(&mut self, text: &[u8]) {
        if self.given {
            self.differs |= self.text != text;
        } else {
            self.text.clear();
            self.text.extend_from_slice(text);
            self.given = true;
        }
    }

    fn found(&self) -> Option<&[u8]> {
        (self.given && !self.differs).then_some(&self.text)
    }
}

/// An element that is left out, until it is closed.
#[derive(Clone, Copy, Debug)]
struct LeftOut {
    /// Hash of its name.
    name: u64,
    /// Elements of that name open in it, itself included.
    depth: u32,
}

/// Kind of a start tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Element {
    #[default]
    Other,
    /// Never has an end tag.
    Void,
    Title,
    Link,
    Base,
    Body,
    /// Its text is a value: one can write into it.
    Area,
    /// Holds the page itself: headers within are those of an article.
    Main,
    Header,
    /// Left out wherever it is.
    Aside,
}

/// Attributes of the start tag being read that matter.
#[derive(Debug, Default)]
struct Tag {
    element: Element,
    name: u64,
    attribute: Attribute,
    hidden: bool,
    canonical: bool,
    href: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attribute {
    #[default]
    Other,
    Rel,
    Href,
    Role,
    Style,
}

#[derive(Debug, Default)]
struct TagState {
    main: Tokens,
    /// Text of the element that is left out.
    spare: Tokens,
    left_out: Option<LeftOut>,
    /// Open elements that hold the page itself.
    inner: u32,
    title: String,
    title_seen: bool,
    in_title: bool,
    in_body: bool,
    canonical: Reference,
    base: Reference,
    edits: bool,
    tag: Tag,
}

impl TagState {
    fn clear(&mut self) {
        self.main.clear();
        self.spare.clear();
        self.title.clear();
        self.canonical.clear();
        self.base.clear();
        (self.left_out, self.inner, self.edits) = (None, 0, false);
        (self.title_seen, self.in_title, self.in_body) = (false, false, false);
        self.tag = Tag::default();
    }

    fn on(&mut self, event: CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = Tag { element: element(name), name: hash64(name), ..Tag::default() };
            }
            CallbackEvent::AttributeName { name } => {
                self.tag.attribute = match name {
                    b"rel" if self.tag.element == Element::Link => Attribute::Rel,
                    b"href" if matches!(self.tag.element, Element::Link | Element::Base) => Attribute::Href,
                    b"role" => Attribute::Role,
                    b"style" => Attribute::Style,
                    b"hidden" => {
                        self.tag.hidden = true;
                        Attribute::Other
                    }
                    _ => Attribute::Other,
                }
            }
            CallbackEvent::AttributeValue { value } => self.value(value),
            CallbackEvent::CloseStartTag { .. } => self.open(),
            CallbackEvent::EndTag { name } => self.close(name),
            CallbackEvent::String { value } => self.text(value),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
    }

    fn value(&mut self, value: &[u8]) {
        match self.tag.attribute {
            Attribute::Other => {}
            Attribute::Rel => {
                let mut words = value.split(u8::is_ascii_whitespace);
                self.tag.canonical = words.any(|word| word.eq_ignore_ascii_case(b"canonical"));
            }
            Attribute::Href => self.tag.href = Some(value.trim_ascii().to_vec()),
            Attribute::Role => {
                let roles: [&[u8]; 6] =
                    [b"navigation", b"banner", b"contentinfo", b"search", b"menu", b"complementary"];
                self.tag.hidden |= roles.iter().any(|role| value.eq_ignore_ascii_case(role));
            }
            Attribute::Style => {
                // `display:none`, with spaces anywhere.
                let bare = value.iter().filter(|b| !b.is_ascii_whitespace()).map(u8::to_ascii_lowercase);
                let bare: Vec<u8> = bare.take(256).collect();
                self.tag.hidden |= memchr::memmem::find(&bare, b"display:none").is_some();
            }
        }
    }

    /// The start tag is complete.
    fn open(&mut self) {
        let Tag { element, name, hidden, canonical, href, .. } = std::mem::take(&mut self.tag);
        match element {
            Element::Title if self.left_out.is_none() => self.in_title = !std::mem::replace(&mut self.title_seen, true),
            Element::Link => {
                // Below the head anyone may have written it.
                if let Some(href) = href.filter(|_| canonical && !self.in_body) {
                    self.canonical.put(&href);
                }
            }
            Element::Base => {
                if let Some(href) = href.filter(|_| !self.base.given) {
                    self.base.put(&href);
                }
            }
            Element::Body => self.in_body = true,
            Element::Area => self.edits = true,
            Element::Main => self.inner += 1,
            _ => {}
        }
        match &mut self.left_out {
            Some(out) if out.name == name => out.depth += 1,
            Some(_) => {}
            None => {
                let aside = match element {
                    Element::Aside | Element::Area => true,
                    Element::Header => self.inner == 0,
                    Element::Void | Element::Link | Element::Base | Element::Body => false,
                    _ => hidden,
                };
                if aside {
                    self.left_out = Some(LeftOut { name, depth: 1 });
                }
            }
        }
    }

    fn close(&mut self, name: &[u8]) {
        match name {
            b"title" => self.in_title = false,
            b"head" => self.in_body = true,
            b"main" | b"article" => self.inner = self.inner.saturating_sub(1),
            _ => {}
        }
        if let Some(out) = &mut self.left_out
            && out.name == hash64(name)
        {
            out.depth -= 1;
            if out.depth == 0 {
                self.left_out = None;
                self.spare.clear();
            }
        }
    }

    fn text(&mut self, value: &[u8]) {
        // Text between tags of UTF-8 is UTF-8.
        let Ok(text) = std::str::from_utf8(value) else { return };
        if self.in_title {
            for word in text.split_whitespace() {
                if self.title.len() < TITLE {
                    self.title.push_str(word);
                    self.title.push(' ');
                }
            }
            return;
        }
        if self.left_out.is_some() { &mut self.spare } else { &mut self.main }.add(text);
    }
}

/// Bytes of a title that are kept, about.
const TITLE: usize = 1 << 10;

fn element(name: &[u8]) -> Element {
    match name {
        b"title" => Element::Title,
        b"link" => Element::Link,
        b"base" => Element::Base,
        b"body" => Element::Body,
        b"textarea" => Element::Area,
        b"main" | b"article" => Element::Main,
        b"header" => Element::Header,
        b"script" | b"style" | b"noscript" | b"template" | b"iframe" | b"object" | b"svg" | b"math" | b"select"
        | b"button" | b"datalist" | b"canvas" | b"audio" | b"video" | b"nav" | b"footer" | b"aside" | b"menu"
        | b"dialog" | b"time" | b"noembed" | b"noframes" => Element::Aside,
        b"area" | b"br" | b"col" | b"embed" | b"hr" | b"img" | b"input" | b"meta" | b"source" | b"track" | b"wbr" => {
            Element::Void
        }
        _ => Element::Other,
    }
}

#[cfg(test)]
mod tests;
