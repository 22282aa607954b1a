//! Text to tokens: words in lower case, as hashes.
//!
//! A word is a run of letters and digits; where no spaces separate words (Han, kana, Hangul, Thai and
//! their like) each character is one. Left out is what differs between two copies of a page and says
//! nothing of it: times of day, dates with a time, nonces (hexadecimal or mixed runs of 16 characters
//! and more with digits in them), and counts of seconds. Counters (a piece of text between two tags
//! that is a number and nothing else: views, replies, votes) are tokens, but one can leave them out
//! ([`Tokens::steady`]).

use crate::model::hash64;

/// Cuts text into tokens, kept as hashes.
#[derive(Debug, Default)]
pub struct Tokens {
    /// Hashes of the tokens, in order.
    pub list: Vec<u64>,
    /// Positions of the counters in the list, ascending.
    counters: Vec<usize>,
    word: String,
}

/// One token in so many may be a counter; where there are more, the page is a table whose numbers are
/// what it says.
const COUNTERS: usize = 4;

/// A run of letters and digits this long with digits in it is a nonce and no word.
const NONCE: usize = 16;

impl Tokens {
    /// Forgets the tokens, keeps the memory.
    pub fn clear(&mut self) {
        self.list.clear();
        self.counters.clear();
    }

    /// Takes the tokens of another list behind its own.
    pub fn append(&mut self, other: &mut Tokens) {
        let start = self.list.len();
        self.counters.extend(other.counters.drain(..).map(|at| start + at));
        self.list.append(&mut other.list);
    }

    /// The tokens that stay the same from one visit to the next: all but the counters, in `kept`, or all
    /// where counters are more than a quarter of them.
    pub fn steady<'a>(&'a self, kept: &'a mut Vec<u64>) -> &'a [u64] {
        if self.counters.is_empty() || self.counters.len() * COUNTERS > self.list.len() {
            return &self.list;
        }
        kept.clear();
        let mut start = 0;
        for &at in &self.counters {
            kept.extend_from_slice(&self.list[start..at]);
            start = at + 1;
        }
        kept.extend_from_slice(&self.list[start..]);
        kept
    }

    /// Adds the tokens of `text`, a piece of text between two tags. Words do not go on from one call to the
    /// next.
    pub fn add(&mut self, text: &str) {
        let bare = text.trim_ascii();
        if is_counter(bare.as_bytes()) {
            self.counters.push(self.list.len());
            self.list.push(hash64(bare.as_bytes()));
            return;
        }
        for piece in text.split(|c: char| c.is_ascii_whitespace() || c == '\u{a0}') {
            if piece.is_empty() || is_time(piece.as_bytes()) {
                continue;
            }
            if piece.is_ascii() {
                self.add_ascii(piece.as_bytes());
            } else {
                self.add_any(piece);
            }
        }
    }

    fn add_ascii(&mut self, piece: &[u8]) {
        for word in piece.split(|b| !b.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            if is_nonce(word) {
                continue;
            }
            // Most words are in lower case and short.
            let mut lower = [0; 32];
            let hash = match lower.get_mut(..word.len()) {
                Some(lower) => {
                    lower.copy_from_slice(word);
                    lower.make_ascii_lowercase();
                    hash64(lower)
                }
                None => hash64(&word.to_ascii_lowercase()),
            };
            self.list.push(hash);
        }
    }

    fn add_any(&mut self, piece: &str) {
        for c in piece.chars() {
            if is_alone(c) {
                self.end_word();
                self.list.push(hash64(c.encode_utf8(&mut [0; 4]).as_bytes()));
            } else if c.is_alphanumeric() {
                self.word.extend(c.to_lowercase());
            } else {
                self.end_word();
            }
        }
        self.end_word();
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() && !is_nonce(self.word.as_bytes()) {
            self.list.push(hash64(self.word.as_bytes()));
        }
        self.word.clear();
    }
}

/// Characters of scripts that write words without spaces between them.
fn is_alone(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        && c.is_alphanumeric()
}

/// Up to a dozen digits, with commas between them or without.
fn is_counter(text: &[u8]) -> bool {
    let digits = |b: Option<&u8>| b.is_some_and(u8::is_ascii_digit);
    text.len() <= 16
        && digits(text.first())
        && digits(text.last())
        && text.iter().all(|b| b.is_ascii_digit() || *b == b',')
}

/// A run with digits in it that is too long for a number or a word.
fn is_nonce(word: &[u8]) -> bool {
    word.len() >= NONCE && word.is_ascii() && word.iter().any(u8::is_ascii_digit)
}

/// `12:34`, `12:34:56.789`, `2026-01-31T12:34:56Z`, `0.123s`: digits around a colon, or decimals with
/// the sign of seconds.
fn is_time(piece: &[u8]) -> bool {
    if !piece[0].is_ascii_digit() && piece[0] != b'(' && piece[0] != b'[' {
        return false;
    }
    let piece = piece.trim_ascii();
    let strip = |bytes: &'_ [u8]| {
        let start = bytes.iter().position(u8::is_ascii_digit).unwrap_or(bytes.len());
        let end = bytes.iter().rposition(|b| b.is_ascii_alphanumeric()).map_or(start, |at| at + 1);
        (start, end.max(start))
    };
    let (start, end) = strip(piece);
    let core = &piece[start..end];
    let of_time = |b: &u8| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'-' | b'+' | b'/' | b'T' | b'Z');
    let clock = |at: usize| {
        at > 0
            && core[at - 1].is_ascii_digit()
            && core.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_digit))
    };
    let clocks = memchr::memchr(b':', core).is_some_and(clock) && core.iter().all(of_time);
    let seconds = core.strip_suffix(b"ms").or(core.strip_suffix(b"s"));
    let seconds = seconds.is_some_and(|n| n.contains(&b'.') && n.iter().all(|b| b.is_ascii_digit() || *b == b'.'));
    clocks || seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<u64> {
        let mut tokens = Tokens::default();
        tokens.add(text);
        tokens.list
    }

    #[test]
    fn words_in_lower_case_whatever_is_between_them() {
        assert_eq!(tokens("The quick-brown\u{a0}FOX's"), tokens(" the QUICK brown fox s "));
        assert_eq!(tokens("Émile ÉTÉ"), tokens("émile été"));
        assert_eq!(tokens("日本語 text").len(), 4);
        assert_eq!(tokens("日本"), tokens("日 本"));
        assert_ne!(tokens("page 2"), tokens("page 3"));
        assert_eq!(tokens("page 2"), [tokens("page"), tokens(" 2 ")].concat());
        assert_eq!(tokens("x".repeat(40).as_str()), tokens("X".repeat(40).as_str()));
    }

    #[test]
    fn times_and_nonces_are_left_out() {
        let same = tokens("posted by ivy");
        for text in [
            "posted 12:34 by ivy",
            "posted (12:34:56) by ivy",
            "posted 2026-11-20T19:42:50Z by ivy",
            "posted 0.123s by ivy",
            "posted 8b6f777eec2885a2a406da8675 by ivy",
            "posted xltbk7w7a7p1v049wc0bacpruigle6oy by ivy",
        ] {
            assert_eq!(tokens(text), same, "{text}");
        }
        assert_eq!(tokens("2026-11-20 1.5 3:1 incomprehensibilities").len(), 8);
    }

    /// Hashes of pieces of text without their counters.
    fn steady(pieces: &[&str]) -> Vec<u64> {
        let (mut tokens, mut spare) = (Tokens::default(), Tokens::default());
        let (first, last) = pieces.split_at(pieces.len() / 2);
        first.iter().for_each(|text| tokens.add(text));
        last.iter().for_each(|text| spare.add(text));
        tokens.append(&mut spare);
        tokens.steady(&mut Vec::new()).to_vec()
    }

    #[test]
    fn counters_are_no_part_of_what_is_steady() {
        let page = steady(&["Salt and other topics", "598", "12", "Views of it", " 1,234 ", "the last of many words"]);
        assert_eq!(page, steady(&["Salt and other topics", "Views of it", "the last of many words"]));
        assert_ne!(page, steady(&["Salt and 598 other topics", "Views of it", "the last of many words"]));
        assert_ne!(page, steady(&["Salt and other topics", "Views of it", "3.11", "the last of many words"]));
        // A table of numbers is its numbers.
        let table = |value| steady(&["Rain", value, "2", "Sun", "3", "4"]);
        assert_ne!(table("598"), table("599"));
    }
}
