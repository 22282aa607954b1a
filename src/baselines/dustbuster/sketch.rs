//! Sketches of documents by shingling (Broder et al., WWW 1997), as the paper uses them: four shingles
//! a document.
//!
//! A document is the words of its text; tags, scripts and styles are left out. A shingle is four words;
//! the sketch is the least hash of the shingles under each of four seeds, taken together, so that two
//! sketches are equal where all four are (Figure 3 compares sketches for equality).

use crate::model::{hash64, hash64_seeded};

const WORDS: usize = 4;
const SHINGLES: u64 = 4;

/// The sketch of a page as it came from the server.
pub fn sketch(page: &[u8]) -> u64 {
    let words = words(page);
    let mut all = Vec::new();
    for seed in 0..SHINGLES {
        let shingle = |window: &[u64]| {
            let bytes: Vec<u8> = window.iter().flat_map(|word| word.to_le_bytes()).collect();
            hash64_seeded(&bytes, seed)
        };
        let least = match words.len() < WORDS {
            true => shingle(&words),
            false => words.windows(WORDS).map(shingle).min().expect("there is one window at least"),
        };
        all.extend_from_slice(&least.to_le_bytes());
    }
    hash64(&all)
}

/// Hashes of the words of a page's text.
fn words(page: &[u8]) -> Vec<u64> {
    let mut text = Vec::with_capacity(page.len());
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'<', &page[at..]).map(|i| at + i) {
        text.extend_from_slice(&page[at..open]);
        text.push(b' ');
        let rest = &page[open..];
        let hidden = [&b"script"[..], b"style"]
            .into_iter()
            .find(|name| rest.get(1..=name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)));
        let end = match hidden {
            Some(name) => {
                let closes = |w: &[u8]| w.starts_with(b"</") && w[2..].eq_ignore_ascii_case(name);
                rest.windows(name.len() + 2).position(closes).unwrap_or(rest.len())
            }
            None => 0,
        };
        let close = memchr::memchr(b'>', &rest[end..]).map_or(rest.len(), |i| end + i + 1);
        at = open + close;
    }
    text.extend_from_slice(&page[at..]);
    let word = |b: &u8| !(b.is_ascii_alphanumeric() || *b >= 0x80);
    text.split(word).filter(|w| !w.is_empty()).map(|w| hash64(&w.to_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_scripts_do_not_count_and_words_do() {
        let page = b"<html><script>var t=1;</script><p class=a>One two three four five</p>";
        let other = b"<HTML><SCRIPT>var t=2;</SCRIPT><div>one  TWO three, four five";
        assert_eq!(sketch(page), sketch(other));
        assert_ne!(sketch(page), sketch(b"<p>One two three four six</p>"));
        assert_ne!(sketch(b""), sketch(b"one"));
        assert_eq!(sketch(b"<script"), sketch(b""));
    }
}
