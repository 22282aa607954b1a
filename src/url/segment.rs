//! Parts of one path segment: head, number, tail, known extension.
//!
//! `story_123.html` is head `story_`, number `123`, extension `.html`; `123-some-slug` is number and
//! tail; everything else is one head. Not every hyphen splits: slugs stay whole. A list of known
//! extensions is needed, since `os.path` is not `os` with an extension.

use super::scan;

/// Ends of the parts within the segment; a part is empty where two ends are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// End of the head.
    pub head: usize,
    /// End of the number.
    pub number: usize,
    /// End of the tail; the extension follows.
    pub tail: usize,
}

/// Extensions that are a key of their own, in lower case; any case counts.
pub const KNOWN_EXTENSIONS: [&str; 42] = [
    "html", "htm", "php", "php3", "php4", "php5", "asp", "aspx", "jsp", "jspx", "cgi", "cfm", "shtml", "xhtml", "do",
    "action", "pl", "txt", "md", "rst", "pdf", "json", "xml", "rss", "atom", "png", "jpg", "jpeg", "gif", "svg", "css",
    "js", "zip", "gz", "bz2", "patch", "diff", "phtml", "webp", "ico", "mp3", "mp4",
];
/// Names of a directory index, without its extension, in lower case; any case counts.
pub const INDEX_STEMS: [&str; 4] = ["index", "default", "home", "main"];
/// Extensions of directory indexes, in lower case; any case counts.
pub const KNOWN_INDEX_EXTENSIONS: [&str; 13] =
    ["html", "htm", "php", "php3", "php4", "php5", "asp", "aspx", "jsp", "cgi", "cfm", "shtml", "phtml"];
static EXTENSIONS: [u64; 42] = as_numbers(KNOWN_EXTENSIONS);
static INDEX_EXTENSIONS: [u64; 13] = as_numbers(KNOWN_INDEX_EXTENSIONS);
/// A head in front of a number is a word of at most this many bytes; longer ones must end in a
/// separator.
const MAX_WORD: usize = 21;

/// Up to six bytes in one number, ASCII letters in lower case.
const fn as_number(word: &[u8]) -> u64 {
    let (mut out, mut i) = (0, 0);
    while i < word.len() {
        out = out << 8 | word[i].to_ascii_lowercase() as u64;
        i += 1;
    }
    out
}

const fn as_numbers<const N: usize>(words: [&str; N]) -> [u64; N] {
    let (mut out, mut i) = ([0; N], 0);
    while i < N {
        out[i] = as_number(words[i].as_bytes());
        i += 1;
    }
    out
}

/// True if `word` is in `list`. Branch-free: every URL with a dot in its path runs this.
fn among(list: &[u64], word: &[u8]) -> bool {
    if word.len() > 6 || word.is_empty() {
        return false;
    }
    let word = as_number(word);
    list.iter().fold(false, |found, &e| found | (e == word))
}

/// The place of the last dot of a segment; 0 where there is none.
pub fn last_dot(segment: &[u8]) -> usize {
    memchr::memrchr(b'.', segment).unwrap_or(0)
}

/// True for a directory index such as `index.php` or `Default.asp`; `dot` is the place of the last dot,
/// 0 where there is none.
pub fn is_index(segment: &[u8], dot: usize) -> bool {
    (4..=7).contains(&dot) && is_index_name(&segment[..dot], &segment[dot + 1..])
}

fn is_index_name(stem: &[u8], extension: &[u8]) -> bool {
    INDEX_STEMS.iter().any(|s| stem.eq_ignore_ascii_case(s.as_bytes())) && among(&INDEX_EXTENSIONS, extension)
}

/// Splits a segment (or what is left of it behind delimiters, then `grouped`); `dot` as in [`is_index`].
pub fn split(segment: &[u8], dot: usize, grouped: bool) -> Parts {
    let whole = segment.len();
    let body = if dot > 0 && among(&EXTENSIONS, &segment[dot + 1..]) { dot } else { whole };
    let bytes = &segment[..body];
    // Most segments: no number at either end.
    if let (Some(first), Some(last)) = (bytes.first(), bytes.last())
        && !first.is_ascii_digit()
        && !last.is_ascii_digit()
    {
        return Parts { head: body, number: body, tail: body };
    }
    // `12.0` behind a delimiter stays one value, as it is in `?topic=12.0`.
    if grouped && is_decimal(bytes) {
        return Parts { head: body, number: body, tail: body };
    }
    let digits_from = bytes.iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |i| i + 1);
    if digits_from < body && (digits_from == 0 || is_word(&bytes[..digits_from])) {
        return Parts { head: digits_from, number: body, tail: body };
    }
    let digits_to = bytes.iter().position(|b| !b.is_ascii_digit()).unwrap_or(body);
    if digits_to > 0 && digits_to < body && matches!(bytes[digits_to], b'-' | b'_') {
        return Parts { head: 0, number: digits_to, tail: body };
    }
    if digits_from < body && matches!(bytes[digits_from - 1], b'-' | b'_') {
        return Parts { head: digits_from, number: body, tail: body };
    }
    Parts { head: body, number: body, tail: body }
}

/// True for a head that, in a segment of it and a number, is the head, whatever the number is. It holds
/// no dot: behind one, a number may be part of a known extension (`.mp3`).
pub fn precedes_numbers(head: &[u8]) -> bool {
    match head {
        [] | [b'0'..=b'9', ..] => false,
        _ => !head.contains(&b'.') && (is_word(head) || matches!(head, [.., b'-' | b'_'])),
    }
}

/// Length of the name of a segment that is a name and a number, `start-` of `start-30`: letters, `-` or
/// `_`, digits.
pub fn numbered(segment: &[u8]) -> Option<usize> {
    let name = segment.iter().rposition(|b| !b.is_ascii_digit())?;
    let is_name =
        name > 0 && matches!(segment[name], b'-' | b'_') && segment[..name].iter().all(u8::is_ascii_alphabetic);
    (is_name && name + 1 < segment.len()).then_some(name + 1)
}

/// A word that is joined to the rest of a segment, before a known extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Place of the character that joins it.
    pub joint: usize,
    /// End of the word; the extension follows.
    pub end: usize,
    /// The word stands behind a known extension: `.en` of `a.html.en`.
    pub is_behind: bool,
}

/// The characters that join a word to a segment.
const JOINTS: [u8; 5] = [b'-', b'_', b'.', b',', b'~'];

/// The last word of a segment, `-print` of `a-title-print.html` or `.print` of `a.html.print`: one of
/// [`JOINTS`] and letters. None where the rest is a directory index, which is a key everywhere, or ends in no letter or
/// digit: a delimiter there would split it before an extension alone.
pub fn tail(segment: &[u8]) -> Option<Tail> {
    let dot = last_dot(segment);
    let end = if dot > 0 && among(&EXTENSIONS, &segment[dot + 1..]) { dot } else { segment.len() };
    let joint = segment[..end].iter().rposition(|b| !b.is_ascii_alphabetic())?;
    let is_joint = joint > 0 && segment[joint - 1].is_ascii_alphanumeric() && JOINTS.contains(&segment[joint]);
    if !is_joint || joint + 1 == end {
        return None;
    }
    let rest = &segment[..joint];
    let (own_dot, is_known) = (last_dot(rest), end < segment.len());
    let is_index = if is_known { is_index_name(rest, &segment[end + 1..]) } else { is_index(rest, own_dot) };
    let is_behind = !is_known && own_dot > 0 && among(&EXTENSIONS, &rest[own_dot + 1..]);
    (!is_index).then_some(Tail { joint, end, is_behind })
}

/// The groups of a segment such as `p-749-a-title`: the word before the number, with its separator, and the
/// number; the rest begins with a separator. No groups where the segment is none such.
pub fn inner_number(segment: &[u8]) -> Groups {
    let Some(word) = segment.iter().position(u8::is_ascii_digit) else { return (0, 0, 0) };
    let behind = &segment[word..];
    let number = behind.iter().take_while(|b| b.is_ascii_digit()).count();
    let is_between = |separator: Option<&u8>| matches!(separator, Some(b'-' | b'_'));
    let is_inner = word > 0 && is_between(segment[..word].last()) && is_between(behind.get(number));
    if is_inner && behind.len() > number + 1 && is_word(&segment[..word]) {
        (word, number, word + number)
    } else {
        (0, 0, 0)
    }
}

fn is_word(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_WORD
        && bytes[0].is_ascii_alphabetic()
        && bytes.iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'-'))
}

fn is_decimal(bytes: &[u8]) -> bool {
    let Some(dot) = memchr::memchr(b'.', bytes) else { return false };
    let digits = |b: &[u8]| !b.is_empty() && b.iter().all(u8::is_ascii_digit);
    digits(&bytes[..dot]) && digits(&bytes[dot + 1..])
}

/// Ends of the parts of a segment in the order of [`Part::ORDER`](super::keys::Part::ORDER); `dot` as
/// in [`is_index`].
pub fn ends(segment: &[u8], dot: usize, delimiters: u8) -> [usize; 6] {
    ends_behind(segment, dot, delimited_groups(segment, delimiters))
}

/// Ends of the parts of a segment behind its leading groups.
#[inline]
pub fn ends_behind(segment: &[u8], dot: usize, (groups, group, body): Groups) -> [usize; 6] {
    let split = |from: usize, grouped| split(&segment[from..], dot.saturating_sub(from), grouped);
    // Behind an inner number and a separator: another number, or the rest with its separator.
    let parts = match body.checked_sub(1).filter(|&at| segment[at].is_ascii_digit()).map(|_| split(body + 1, false)) {
        Some(Parts { head: 0, number, tail }) if number > 0 => Parts { head: 1, number: number + 1, tail: tail + 1 },
        _ => split(body, groups + group > 0),
    };
    [groups, groups + group, body + parts.head, body + parts.number, body + parts.tail, segment.len()]
}

/// The characters that may split segments, in the order of the bits of
/// [`Tokenizer::delimiters`](super::key_values::Tokenizer).
pub const DELIMITERS: [u8; 4] = [b':', b',', b'=', b'!'];

/// Lengths of the two leading groups (of [`delimited_groups`] each with its delimiter at the end) and the start of the
/// rest.
pub type Groups = (usize, usize, usize);

/// The leading groups of a segment. A delimiter at its very end does not split.
pub fn delimited_groups(segment: &[u8], delimiters: u8) -> Groups {
    if delimiters == 0 || segment.len() < 2 {
        return (0, 0, 0);
    }
    // One of them replaces those that do not split.
    let one = DELIMITERS[delimiters.trailing_zeros() as usize % DELIMITERS.len()];
    let wanted = std::array::from_fn(|bit| if delimiters >> bit & 1 == 1 { DELIMITERS[bit] } else { one });
    let (mut group, mut rest) = (0, 0);
    scan::each::<{ DELIMITERS.len() }>(&segment[..segment.len() - 1], wanted, |place, _| {
        group = rest;
        rest = place + 1;
    });
    (group, rest - group, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_dot(segment: &str) -> usize {
        segment.rfind('.').unwrap_or(0)
    }

    fn parts(segment: &str) -> Vec<&str> {
        let p = split(segment.as_bytes(), last_dot(segment), false);
        vec![&segment[..p.head], &segment[p.head..p.number], &segment[p.number..p.tail], &segment[p.tail..]]
    }

    #[test]
    fn segments_are_cut_at_numbers_and_known_extensions() {
        let cases: [(&str, [&str; 4]); 14] = [
            ("story_123.html", ["story_", "123", "", ".html"]),
            ("123", ["", "123", "", ""]),
            ("123-some-slug", ["", "123", "-some-slug", ""]),
            ("123-some-slug.php", ["", "123", "-some-slug", ".php"]),
            ("some-long-slug-with-many-words-456", ["some-long-slug-with-many-words-", "456", "", ""]),
            ("t3.5", ["t3.5", "", "", ""]),
            ("os.path", ["os.path", "", "", ""]),
            ("index.PHP", ["index", "", "", ".PHP"]),
            (".html", [".html", "", "", ""]),
            ("v2", ["v", "2", "", ""]),
            ("2x", ["2x", "", "", ""]),
            ("Caf%C3%A9", ["Caf%C3%A9", "", "", ""]),
            ("a.b.html", ["a.b", "", "", ".html"]),
            ("", ["", "", "", ""]),
        ];
        for (segment, expected) in cases {
            assert_eq!(parts(segment), expected, "{segment}");
        }
    }

    #[test]
    fn heads_before_numbers_are_cut_whatever_the_digits() {
        let heads = ["x", "x-", "t_", "-", "a1-", "a-long-slug-with-many-words-", "a-b", "v", "x%-"];
        let others = ["", "1x", "a.", "mp.", "a.mp", "%", "caf%", "a%4", "a1", "a-long-slug-with-many-words"];
        assert!(!others.iter().any(|head| precedes_numbers(head.as_bytes())));
        for head in heads {
            assert!(precedes_numbers(head.as_bytes()), "{head}");
            for number in ["0", "3", "41", "2024", "00000000000000000000000"] {
                assert_eq!(parts(&format!("{head}{number}")), [head, number, "", ""]);
            }
        }
    }

    #[test]
    fn numbers_inside_a_segment_stand_between_separators() {
        let cases = [
            ("p-749-a-title.aspx", "p-", "749", "-a-title.aspx"),
            ("thread-12-1-1.html", "thread-", "12", "-1-1.html"),
            ("view_story_7_page-2", "view_story_", "7", "_page-2"),
        ];
        for (segment, word, number, rest) in cases {
            let (a, b, c) = inner_number(segment.as_bytes());
            assert_eq!((&segment[..a], &segment[a..a + b], &segment[c..]), (word, number, rest));
        }
        let words = "a-word-that-has-too-many-letters-7-a";
        for none in ["", "a", "p-749", "p-749-", "p749-a", "749-a", "p-749a-b", "-7-a", "p-.7-a", words] {
            assert_eq!(inner_number(none.as_bytes()), (0, 0, 0), "{none}");
        }
    }

    #[test]
    fn directory_indexes_are_known() {
        for yes in ["index.html", "Default.asp", "HOME.PHP4", "main.cgi"] {
            assert!(is_index(yes.as_bytes(), last_dot(yes)), "{yes}");
        }
        for no in ["index", "indexes.html", "index.pdf", "myindex.html", ""] {
            assert!(!is_index(no.as_bytes(), last_dot(no)), "{no}");
        }
    }

    #[test]
    fn delimiters_cut_from_the_right() {
        let cut = |s: &str, d| {
            let (a, b, c) = delimited_groups(s.as_bytes(), d);
            (s[..a].to_owned(), s[a..a + b].to_owned(), s[c..].to_owned())
        };
        let own = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(cut("a:b:c:d", 1), own("a:b:", "c:", "d"));
        assert_eq!(cut("topic,12.0", 2), own("", "topic,", "12.0"));
        assert_eq!(cut("topic,", 2), own("", "", "topic,"));
        assert_eq!(cut("topic,12", 1), own("", "", "topic,12"));
    }
}
