//! Text of others (URLs, labels, file names, what a peer sent) as people are shown it: on a terminal,
//! in comments of exports, in tables.
//!
//! Such text may hold controls that move the cursor, retitle the window, turn the direction of writing,
//! or are not seen at all. [`visible`] writes each of them as an escape, `\u{1b}`; it is the one place
//! that decides which they are. A backslash stays as it is, so that paths and patterns can be copied
//! and text that was escaped once stays so; hence `\u{1b}` on a terminal may also be these six
//! characters of the text. Data (canonical URLs, JSON lines, exported rules) are not text for people
//! and pass unchanged.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// Longest run of characters without a space that [`brief`] leaves whole.
const LONGEST_WORD: usize = 1_024;
/// Longest line that [`brief`] leaves whole, in characters.
const LONGEST_LINE: usize = 8_192;

/// True for a character without a glyph of its own: controls (C0, DEL, C1), format characters
/// (bidirectional controls, zero-width characters, tags), line and paragraph separators, spaces other
/// than U+0020, fillers, variation selectors, private and unassigned code points.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    // The tables of the standard library: `str::escape_debug` escapes the general categories Cc, Cf, Cn,
    // Co, Zl, Zp and Zs, and, unlike `char::escape_debug`, no combining mark that follows a character.
    let mut pair = [b'a'; 5];
    let end = 1 + c.encode_utf8(&mut pair[1..]).len();
    let escaped = std::str::from_utf8(&pair[..end]).is_ok_and(|pair| pair.escape_debug().nth(1) == Some('\\'));
    // Letters, marks and symbols that are drawn as nothing (Default_Ignorable_Code_Point, and the empty
    // Braille cell).
    escaped
        || matches!(c, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}')
}

/// `text` with each hidden character ([`is_hidden`]; line ends are among them) as `\u{hex}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_hidden) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        match is_hidden(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// [`visible`], for one line on a terminal or in a comment: of a run of more than 1,024 characters
/// without a space, and of a line of more than 8,192 characters, the middle is left out, and said how
/// much.
pub fn brief(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_WORD {
        return visible(text);
    }
    let words: String = text.split_inclusive(' ').map(|word| without_middle(word, LONGEST_WORD)).collect();
    Cow::Owned(visible(&without_middle(&words, LONGEST_LINE)).into_owned())
}

/// [`visible`], of which the middle is left out, and said how much, where it is longer than `longest`
/// characters.
pub fn within(text: &str, longest: usize) -> String {
    without_middle(&visible(text), longest).into_owned()
}

/// The first two thirds and the last third of `longest` characters, where there are more.
fn without_middle(text: &str, longest: usize) -> Cow<'_, str> {
    let count = if text.len() <= longest { 0 } else { text.chars().count() };
    if count <= longest {
        return Cow::Borrowed(text);
    }
    let place = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(place, _)| place);
    let (head, tail) = (longest - longest / 3, longest / 3);
    let (before, behind) = (&text[..place(head)], &text[place(count - tail)..]);
    Cow::Owned(format!("{before}[... {} of {count} characters left out ...]{behind}", count - head - tail))
}

/// `text` as a cell of a table that a spreadsheet may open: [`visible`], and behind an apostrophe where
/// it would be taken for a formula.
pub fn cell(text: &str) -> Cow<'_, str> {
    let figure = text == "-" || (text.starts_with('-') && text.parse::<f64>().is_ok());
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && !figure;
    match formula {
        true => Cow::Owned(format!("'{}", visible(text))),
        false => visible(text),
    }
}

/// Lines for people. A line is all that one `writeln!` writes: a line end inside it is shown as an
/// escape, so that no value can make a line of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    text: String,
}

impl Page {
    /// Adds one line, as [`brief`] writes it; `write!` and `writeln!` call this.
    ///
    /// # Errors
    /// None; the type is that of the macros.
    pub fn write_fmt(&mut self, line: fmt::Arguments<'_>) -> fmt::Result {
        let line = line.to_string();
        self.text.push_str(&brief(line.strip_suffix('\n').unwrap_or(&line)));
        self.text.write_char('\n')
    }

    /// Adds the lines of another page.
    pub fn append(&mut self, page: &Page) {
        self.text.push_str(&page.text);
    }

    /// The lines, each with its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_glyph_is_escaped() {
        let hidden = [
            0..=0x1f,
            0x7f..=0xa0,
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x180e..=0x180e,
            0x2000..=0x200f,
            0x2028..=0x202f,
            0x205f..=0x206f,
            0x2800..=0x2800,
            0x3000..=0x3000,
            0x3164..=0x3164,
            0xe000..=0xf8ff,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xfff9..=0xfffb,
            0xfffe..=0xffff,
            0xe0000..=0xe01ef,
            0xf0000..=0x10ffff,
        ];
        for c in hidden.into_iter().flatten().filter_map(char::from_u32) {
            assert!(is_hidden(c), "{:x}", u32::from(c));
            assert_eq!(visible(&format!("a{c}b")), format!("a\\u{{{:x}}}b", u32::from(c)));
        }
    }

    #[test]
    fn what_is_read_stays() {
        let ascii: String = (' '..='~').collect();
        let letters = "äöü ñ Ж α 中文 日本 한국 ال עב हिन्दी ไทย e\u{301} 😀 € → “”";
        for text in [ascii.as_str(), letters, "", "C:\\dir\\u{1b}", "\u{fffd}"] {
            assert_eq!(visible(text), text);
            assert!(matches!(brief(text), Cow::Borrowed(_)), "no copy");
        }
        // Escaped twice is escaped once.
        assert_eq!(visible(&visible("\u{1b}[2J\\")), "\\u{1b}[2J\\");
    }

    #[test]
    fn the_middle_of_long_text_is_left_out_and_counted() {
        let url = format!("http://a.example/{}?end", "x".repeat(65_536));
        let line = format!("{url}: cannot be read: {url}");
        let shown = brief(&line);
        assert!(shown.len() < 2_400, "{}", shown.len());
        assert!(shown.starts_with("http://a.example/xxx") && shown.ends_with("xxx?end"), "{shown}");
        assert_eq!(shown.matches("x?end").count(), 2);
        assert!(shown.contains("[... 64533 of 65557 characters left out ...]"), "{shown}");
        assert!(shown.contains("?end: cannot be read: http://"), "{shown}");
        let words = brief(&"ab ".repeat(20_000)).into_owned();
        assert!(words.len() < 8_300 && words.contains("[... 51808 of 60000 characters left out ...]"), "{words}");
        // Characters, not bytes, and the escapes come on top.
        assert_eq!(brief(&"ж".repeat(LONGEST_WORD)), "ж".repeat(LONGEST_WORD));
        assert_eq!(brief(&"\n".repeat(600)), "\\u{a}".repeat(600));
    }

    #[test]
    fn a_value_makes_no_line() {
        let mut page = Page::default();
        let value = "x\nundust: done\n";
        writeln!(page, "  url {value}").unwrap();
        write!(page, "{value}").unwrap();
        writeln!(page).unwrap();
        assert_eq!(page.as_str(), "  url x\\u{a}undust: done\\u{a}\nx\\u{a}undust: done\n\n");
    }

    #[test]
    fn a_cell_is_no_formula() {
        assert_eq!(cell("=1+2"), "'=1+2");
        assert_eq!(cell("\t=1"), "'\\u{9}=1");
        assert_eq!(cell("-0.5"), "-0.5");
        assert_eq!(cell("-"), "-");
        assert_eq!(cell("-1+2"), "'-1+2");
        assert_eq!(cell("+1"), "'+1");
        assert_eq!(cell("@a\u{2028}"), "'@a\\u{2028}");
    }
}
