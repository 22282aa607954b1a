//! Constraints of a scope as look-aheads of a regular expression.
//!
//! Every look-ahead starts at the front of the URL, so any number of them can follow `^`. Segments,
//! heads and extensions are those of [`crate::url::segment`]; the forms of a literal head are computed
//! by the tokenizer itself, so that the two cannot diverge.

use super::left_out::no_constraint;
use crate::model::shown::is_hidden;
use crate::rules::origins;
use crate::rules::types::{Constraint, SECTION, Test, Tokens};
use crate::url::segment::{self, INDEX_STEMS, KNOWN_EXTENSIONS, KNOWN_INDEX_EXTENSIONS};
use crate::url::{Fixed, Key, Part, section};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A byte of a path segment.
pub const SEG: &str = "[^/?#]";
/// Behind the last segment.
pub const END: &str = "(?=[?#]|$)";
/// Behind any segment.
pub const SEG_END: &str = "(?=[/?#]|$)";
/// Anything to the end of the URL.
pub const REST: &str = r"[^\n]*";
/// Query and fragment.
pub const QUERY_FRAGMENT: &str = r"(?:\?[^#]*)?(?:#[^\n]*)?";
/// Known extension of a segment.
pub static EXTENSION: LazyLock<String> = LazyLock::new(|| format!(r"\.(?i:{})", KNOWN_EXTENSIONS.join("|")));
/// A directory index.
pub static INDEX: LazyLock<String> =
    LazyLock::new(|| format!(r"(?i:(?:{})\.(?:{}))", INDEX_STEMS.join("|"), KNOWN_INDEX_EXTENSIONS.join("|")));
/// Look-aheads of URLs in normal form, as far as a pattern can test it: characters that a URL may hold,
/// escapes in upper case and of characters that must be one, no dot segment. On other URLs the absence
/// of a key, which patterns test, is no evidence.
pub const NORMAL_FORM: &str = concat!(
    r"(?=[!\x23-;=?-~]*$)(?![^?#]*(?:[{}\x5c\x60]|/\.{1,2}(?:[/?#]|$))|[^#]*#[^\x60]*\x60)",
    "(?![^%]*(?:%[^%]*)*?%(?:[a-f][0-9A-Fa-f]|[0-9A-F][a-f]|2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE]))"
);
/// A word in front of a number.
const WORD: &str = r"[A-Za-z][A-Za-z_.\-]{0,20}";

/// The kind of text that the patterns read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// URLs.
    Url,
    /// Keys of an index in SURT form: `com,example)/path?query`, in lower case, without scheme, fragment,
    /// `www.` and trailing slash.
    Surt,
}

impl Space {
    /// Pattern of the part before the path, on any host.
    pub fn front(self) -> &'static str {
        match self {
            Space::Url => "https?://[^/?#]*",
            Space::Surt => r"[^)]*\)",
        }
    }

    /// Pattern of the part before the path, on these origins. A key in SURT form has no scheme.
    pub fn front_of(self, origins: &[&str]) -> String {
        match self {
            Space::Url => {
                let fronts = by_schemes(origins.iter().copied());
                let fronts: Vec<String> =
                    fronts.iter().map(|(scheme, hosts)| format!("{scheme}://{}", any_of(hosts))).collect();
                match &fronts[..] {
                    [front] => format!("{front}(?=/)"),
                    _ => format!("(?:{})(?=/)", fronts.join("|")),
                }
            }
            Space::Surt => {
                let mut keys: Vec<String> = origins.iter().map(|origin| surt_host(origins::parts(origin).1)).collect();
                keys.sort();
                keys.dedup();
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                format!(r"{}\)", any_of(&keys))
            }
        }
    }

    /// A literal of the rules in this space.
    pub fn literal(self, text: &str) -> String {
        match self {
            Space::Url => literal(text),
            Space::Surt => literal(&text.to_ascii_lowercase()),
        }
    }
}

/// The hosts of origins by their schemes, as a pattern: `https?`, `http` or `https`. Hosts are sorted.
pub fn by_schemes<'o>(origins: impl Iterator<Item = &'o str>) -> Vec<(&'static str, Vec<&'o str>)> {
    let mut schemes: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
    for (scheme, host) in origins.map(origins::parts) {
        schemes.entry(host).or_default()[usize::from(scheme == "https")] = true;
    }
    let of = |want: [bool; 2]| -> Vec<&str> {
        schemes.iter().filter(|(_, found)| **found == want).map(|(host, _)| *host).collect()
    };
    let all = [("https?", of([true, true])), ("http", of([true, false])), ("https", of([false, true]))];
    all.into_iter().filter(|(_, hosts)| !hosts.is_empty()).collect()
}

/// One of these texts, which are literals.
pub fn any_of(texts: &[&str]) -> String {
    match texts {
        [text] => literal(text),
        _ => format!("(?:{})", texts.iter().map(|text| literal(text)).collect::<Vec<_>>().join("|")),
    }
}

/// Labels from the top-level domain inwards, without a leading `www` and the dot at the end, then the
/// port, as SURT writes a host.
pub fn surt_host(host: &str) -> String {
    let (host, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, format!(":{port}")),
        _ => (host, String::new()),
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    let numbered = |label: &str| label.strip_prefix("www").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let bare = match host.split_once('.') {
        Some((first, rest)) if numbered(first) => rest,
        _ => host,
    };
    bare.split('.').rev().collect::<Vec<_>>().join(",") + &port
}

/// A text as a regular expression that matches it alone. Characters that quoting in XML, YAML or nginx
/// would change are written as `\xHH`.
pub fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '.' | '^' | '$' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' => {
                out.push('\\');
                out.push(c);
            }
            '\\' | '"' | '\'' | ' ' | '#' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// A regular expression engine that reads patterns from a text file. Hidden characters ([`is_hidden`]),
/// which only literals have, are written by number, so that the file is readable text in any format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// `java.util.regex`.
    Java,
    /// Python's `re`, on strings.
    Python,
    /// PCRE on bytes, as nginx has it.
    Bytes,
}

impl Engine {
    /// The pattern as this engine reads it.
    pub fn pattern(self, pattern: &str) -> String {
        let mut out = String::with_capacity(pattern.len());
        for c in pattern.chars() {
            let number = u32::from(c);
            match self {
                _ if !is_hidden(c) => out.push(c),
                Engine::Java => out.push_str(&format!("\\x{{{number:x}}}")),
                Engine::Python if number <= 0xffff => out.push_str(&format!("\\u{number:04x}")),
                Engine::Python => out.push_str(&format!("\\U{number:08x}")),
                Engine::Bytes => {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")))
                }
            }
        }
        out
    }
}

/// The start of a query parameter of this key: name and `=`, or a name alone. `None` for the empty
/// name.
pub fn parameter(space: Space, name: &str) -> Option<String> {
    match name.strip_suffix('=') {
        Some("") => None,
        Some(_) => Some(space.literal(name)),
        None if name.is_empty() => None,
        None => Some(format!("{}(?=[&#]|$)", space.literal(name))),
    }
}

/// No URL with 64 separators in its query: undust takes such a query for one opaque value.
pub const FEW_PARAMETERS: &str = r"(?![^?#]*\?(?:[^&#]*&){64})";

/// No path parameters, and not so deep that undust takes the rest of the path for one segment.
pub fn plain_path(space: Space) -> String {
    format!(r"(?![^?#]*;)(?!{}(?:/+{SEG}+){{23}})", space.front())
}

/// At most one parameter of this key.
pub fn single(parameter: &str) -> String {
    format!(r"(?![^?#]*\?(?:[^#]*&)?{parameter}[^#]*&{parameter})")
}

/// The look-aheads of a scope.
///
/// # Errors
/// The first constraint that they cannot express, in words.
pub fn scope(space: Space, scope: &[Constraint], tokens: &Tokens) -> Result<String, String> {
    let mut out = String::new();
    let (mut query, mut path) = (false, false);
    for constraint in scope {
        if constraint.key == SECTION {
            out.push_str(&sections(space, &constraint.test, tokens));
            continue;
        }
        let key = Key::parse(&constraint.key).ok_or_else(|| no_constraint(constraint))?;
        query |= matches!(key, Key::Query(_));
        path |= key.as_path().is_some() || matches!(&key, Key::Fixed(f) if IN_PATH.contains(f));
        let is_cut = key.as_path().is_some() || matches!(&key, Key::Fixed(Fixed::EXTENSION));
        if !tokens.delimiters.is_empty() && is_cut {
            return Err(SPLIT_SEGMENTS.to_owned());
        }
        out.push_str(&one(space, &key, &constraint.test).ok_or_else(|| no_constraint(constraint))?);
    }
    let mut guards = String::new();
    if query {
        guards.push_str(FEW_PARAMETERS);
    }
    if path {
        guards.push_str(&plain_path(space));
    }
    Ok(guards + &out)
}

/// The look-ahead of a condition on the section.
fn sections(space: Space, test: &Test, tokens: &Tokens) -> String {
    let one = |value: &String| section(space, value, tokens);
    match test {
        Test::Equals(value) => format!("(?={})", one(value)),
        Test::OneOf(values) => format!("(?={})", values.iter().map(one).collect::<Vec<_>>().join("|")),
        Test::NoneOf(values) | Test::Not(values) => {
            format!("(?!{})", values.iter().map(one).collect::<Vec<_>>().join("|"))
        }
        Test::Present => String::new(),
        Test::Absent => "(?!)".to_owned(),
    }
}

/// The front of a URL of this section.
fn section(space: Space, value: &str, tokens: &Tokens) -> String {
    let front = format!("{}/+", space.front());
    // A key in SURT form has lost the slash of a directory without more behind it.
    let behind = if space == Space::Surt { SEG_END } else { "/" };
    let is_named = |name: &str| tokens.sections.iter().any(|of| of == name);
    let directories =
        tokens.sections.iter().filter(|of| of.ends_with('/')).map(|of| format!("{}{SEG}", space.literal(of)));
    match value {
        section::NUMBER => format!("{front}[0-9]+/"),
        section::OTHER => {
            let words = tokens.sections.iter().filter(|of| !of.ends_with('/'));
            let words = words.map(|of| format!("{}{behind}", space.literal(of)));
            let fixed = [format!("[0-9]+{behind}"), format!("~{SEG}")];
            let others: Vec<String> = words.chain(directories).chain(fixed).collect();
            format!("{front}(?!/|{})", others.join("|"))
        }
        tenant if tenant.starts_with('~') => format!("{front}{}{SEG_END}", space.literal(tenant)),
        member if member.contains('/') => match member.split_once('/') {
            Some((directory, _)) if is_named(&format!("{directory}/")) => {
                format!("{front}{}{SEG_END}", space.literal(member))
            }
            _ => "(?!)".to_owned(),
        },
        word if is_named(word) => {
            let members = if is_named(&format!("{word}/")) { format!("(?!{SEG})") } else { String::new() };
            format!("{front}{}/{members}", space.literal(word))
        }
        _ => "(?!)".to_owned(),
    }
}

/// Keys whose presence depends on how the path is tokenized.
pub const IN_PATH: [Fixed; 5] =
    [Fixed::DEPTH, Fixed::EXTENSION, Fixed::INDEX, Fixed::TRAILING_SLASH, Fixed::DOUBLE_SLASH];

/// One constraint; `None` where it cannot be expressed.
fn one(space: Space, key: &Key, test: &Test) -> Option<String> {
    let surt_knows = !matches!(
        key,
        Key::Fixed(
            Fixed::SCHEME
                | Fixed::FRAGMENT
                | Fixed::TRAILING_SLASH
                | Fixed::DOUBLE_SLASH
                | Fixed::EMPTY_QUERY
                | Fixed::EXTENSION
                | Fixed::INDEX
        )
    );
    if space == Space::Surt && !surt_knows {
        return None;
    }
    Some(match test {
        Test::Present => format!("(?={})", present(space, key)?),
        Test::Absent => format!("(?!{})", present(space, key)?),
        Test::Equals(value) => equals(space, key, value)?,
        Test::OneOf(values) => {
            let each: Option<Vec<String>> = values.iter().map(|value| equals(space, key, value)).collect();
            format!("(?:{})", each?.join("|"))
        }
        Test::NoneOf(values) | Test::Not(values) => {
            let is_there = matches!(test, Test::NoneOf(_));
            let mut out = if is_there { format!("(?={})", present(space, key)?) } else { String::new() };
            for value in values {
                out.push_str(&format!("(?!{})", equals(space, key, value)?));
            }
            out
        }
    })
}

/// A URL with this key, from its front.
fn present(space: Space, key: &Key) -> Option<String> {
    let front = space.front();
    Some(match key {
        Key::Query(name) => format!(r"[^?#]*\?(?:[^#]*&)?{}", parameter(space, name)?),
        Key::Param(_) => return None,
        Key::Fixed(fixed) => match *fixed {
            Fixed::SCHEME | Fixed::HOST | Fixed::DEPTH => String::new(),
            Fixed::FRAGMENT => "[^#]*#".to_owned(),
            Fixed::EMPTY_QUERY => r"[^?#]*\?(?:#|$)".to_owned(),
            Fixed::DOUBLE_SLASH => format!("{front}[^?#]*//"),
            Fixed::TRAILING_SLASH => format!("{front}(?:/+{SEG}+)+/+(?:{})?{END}", *INDEX),
            Fixed::INDEX => format!("{front}(?:/+{SEG}+)*/+{}{END}", *INDEX),
            Fixed::EXTENSION => format!("{}{SEG}+{}{END}", last(space), *EXTENSION),
            fixed => match fixed.as_path()? {
                (segment, Part::Head) => format!("{}(?!{}){SEG}", at(space, segment), headless()),
                (segment, Part::Number) => format!("{}{}", at(space, segment), numbered()),
                _ => return None,
            },
        },
    })
}

/// A URL with this value of this key: look-aheads.
fn equals(space: Space, key: &Key, value: &str) -> Option<String> {
    let front = space.front();
    let text = space.literal(value);
    let ahead = |pattern: String| Some(format!("(?={pattern})"));
    match key {
        Key::Query(name) => {
            let parameter = parameter(space, name)?;
            // A value with a separator is that of a repeated key.
            if value.contains(['&', '#']) {
                return None;
            }
            Some(format!(r"(?=[^?#]*\?(?:[^#]*&)?{parameter}{text}(?:[&#]|$)){}", single(&parameter)))
        }
        Key::Param(_) => None,
        Key::Fixed(fixed) => match *fixed {
            Fixed::SCHEME => ahead(format!("{text}:")),
            Fixed::HOST if space == Space::Url => ahead(format!("https?://{text}/")),
            Fixed::HOST => ahead(format!(r"{}\)", literal(&surt_host(value)))),
            Fixed::DEPTH => ahead(depth(space, value.parse().ok().filter(|n| *n < 22)?)),
            Fixed::TRAILING_SLASH if value == "/" => ahead(present(space, key)?),
            Fixed::INDEX if !value.is_empty() => ahead(format!("{front}(?:/+{SEG}+)*/+{text}{END}")),
            Fixed::EXTENSION if is_extension(value) => ahead(format!("{}{SEG}+{text}{END}", last(space))),
            fixed => match fixed.as_path()? {
                (segment, Part::Head) => ahead(format!("{}{text}{}{SEG_END}", at(space, segment), behind_head(value)?)),
                _ => None,
            },
        },
    }
}

/// True for a text that can be the extension of a path segment.
pub fn is_extension(text: &str) -> bool {
    text.strip_prefix('.').is_some_and(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// From the front to the start of path segment `segment`, which is no directory index.
pub fn at(space: Space, segment: usize) -> String {
    format!("{}(?:/+{SEG}+){{{segment}}}/+(?!{}{END})", space.front(), *INDEX)
}

/// From the front to the start of the last path segment, which is no directory index.
fn last(space: Space) -> String {
    format!("{}(?:/+{SEG}+)*/+(?!{}{END})", space.front(), *INDEX)
}

/// A URL with so many path segments.
fn depth(space: Space, segments: usize) -> String {
    let (front, index) = (space.front(), &*INDEX);
    match segments {
        0 => format!("{front}/+(?:{index})?{END}"),
        n => format!("{front}(?:/+{SEG}+){{{}}}/+(?!{index}{END}){SEG}+(?:/+(?:{index})?)?{END}", n - 1),
    }
}

/// The rest of a segment without a head, from its start.
pub fn headless() -> String {
    format!("[0-9]+(?:[-_]{SEG}*|{})?{SEG_END}", *EXTENSION)
}

/// The rest of a segment with a number, from its start.
pub fn numbered() -> String {
    let extension = &*EXTENSION;
    let body = format!("(?:[0-9]+|{WORD}[0-9]+|[0-9]+[-_]{SEG}*|{SEG}*[-_][0-9]+)");
    format!(
        "(?:(?={SEG}+{extension}{SEG_END}){body}{extension}{SEG_END}|(?!{SEG}+{extension}{SEG_END}){body}{SEG_END})"
    )
}

/// Pattern of the rest of a segment behind this head: a number, a known extension, both or neither, as
/// the tokenizer cuts it. `None` for text that is never a head.
pub fn behind_head(head: &str) -> Option<String> {
    let is_head = |behind: &str| {
        let whole = format!("{head}{behind}");
        segment::split(whole.as_bytes(), segment::last_dot(whole.as_bytes()), false).head == head.len()
            && !head.is_empty()
    };
    // A head with a number behind it is recognized by the part before the number, however long that is.
    let extension = format!("(?:{})", *EXTENSION);
    let forms = [
        ("", String::new()),
        ("7", "[0-9]+".to_owned()),
        (".php", extension.clone()),
        ("7.php", format!("[0-9]+{extension}")),
    ];
    let forms: Vec<String> = forms.into_iter().filter(|(probe, _)| is_head(probe)).map(|(_, form)| form).collect();
    (!forms.is_empty() && !head.contains(['/', '?', '#', ';'])).then(|| format!("(?:{})", forms.join("|")))
}

/// The head of a segment, whatever it is, from its start.
pub fn any_head() -> String {
    let extension = &*EXTENSION;
    let one = |ext: &str| {
        let number = format!("(?:{WORD}|(?![0-9]+[-_]){SEG}*[-_])(?=[0-9]+{ext}{SEG_END})");
        let body = format!("(?:[0-9]+|{WORD}[0-9]+|[0-9]+[-_]{SEG}*|{SEG}*[-_][0-9]+)");
        format!("(?:{number}|(?!{body}{ext}{SEG_END}){SEG}+?(?={ext}{SEG_END}))")
    };
    format!("(?:(?={SEG}+{extension}{SEG_END}){}|(?!{SEG}+{extension}{SEG_END}){})", one(extension), one(""))
}

/// Most repeats of a parameter, or runs of slashes, that a rule removes; it does nothing where there
/// are more.
pub(super) const REPEATS: usize = 3;

/// Reason why rules on parts of a path segment are left out.
pub(super) const SPLIT_SEGMENTS: &str = "path segments of this site are cut at delimiters";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_match_themselves_alone() {
        assert_eq!(literal("a.b?c[d]"), r"a\.b\?c\[d\]");
        assert_eq!(literal("\"\\ '#"), r"\x22\x5c\x20\x27\x23");
        assert_eq!(surt_host("www.docs.example.org"), "org,example,docs");
        assert_eq!(surt_host("www2.example.org"), "org,example");
        assert_eq!(surt_host("wwwx.example.org"), "org,example,wwwx");
        assert_eq!(surt_host("www.a.example.:8443"), "example,a:8443");
    }

    #[test]
    fn hidden_characters_are_written_by_number() {
        let pattern = literal("a\n\u{7f}\u{2028}\u{e0001}é");
        assert_eq!(Engine::Java.pattern(&pattern), r"a\x{a}\x{7f}\x{2028}\x{e0001}é");
        assert_eq!(Engine::Python.pattern(&pattern), r"a\u000a\u007f\u2028\U000e0001é");
        assert_eq!(Engine::Bytes.pattern(&pattern), r"a\x0a\x7f\xe2\x80\xa8\xf3\xa0\x80\x81é");
    }

    #[test]
    fn what_may_stand_behind_a_head_is_what_the_cutter_says() {
        assert!(behind_head("privmsg").unwrap().starts_with("(?:|[0-9]+|"));
        assert!(behind_head("os2").is_none());
        assert!(behind_head("").is_none());
        assert!(behind_head("python-3.").unwrap().starts_with("(?:|"), "no word, so no number behind it");
    }
}
