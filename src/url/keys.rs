//! A URL as key-value pairs (WWW10 section 2, Figure 2), and back.
//!
//! Departures from Figure 2, each measured by the prototype: the host is one value (mirrors are classes
//! of hosts); a path segment is tokenized into head, number, tail and known extension, so that `story_123`
//! and `?story=123` can meet, but not at every hyphen (slugs stay whole); what a catalogue operation
//! would remove (trailing slash, directory index, doubled slash, fragment, lone `?`, unusual order of
//! parameters) is a key of its own, so that the operation is "ignore this key". Repeats of a query key
//! travel as one value; path parameters with a repeat are one value under the empty name. An absent key
//! is a value of its own.
//!
//! [`KeyValues`](super::KeyValues) holds the pairs of one URL.

use crate::model::hash64_seeded;
use serde::{Deserialize, Serialize};

/// Path segments that become keys; what follows stays in the head of the last one.
pub const MAX_SEGMENTS: usize = 24;
/// Parameters of a query, or of a path, that become keys; more of them are one opaque value.
pub const MAX_PARAMETERS: usize = 64;

/// What the name of a parameter follows in the name of the [end](super::value_ends) of its values. No path parameter
/// begins so: in a URL in normal form, `<` is escaped.
pub(super) const VALUE_END: &str = "<end>";

/// A key that every site has, or a part of a path segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fixed(pub u8);

impl Fixed {
    /// `http` or `https`.
    pub const SCHEME: Fixed = Fixed(0);
    /// User information, host and port.
    pub const HOST: Fixed = Fixed(1);
    /// Positions of doubled slashes in the path: the boundaries, one number an extra slash, joined by `.`.
    pub const DOUBLE_SLASH: Fixed = Fixed(2);
    /// Directory index, for example `index.php`.
    pub const INDEX: Fixed = Fixed(3);
    /// A slash at the end of a path that has segments.
    pub const TRAILING_SLASH: Fixed = Fixed(4);
    /// Number of path segments.
    pub const DEPTH: Fixed = Fixed(5);
    /// Known extension of the last segment, with its dot.
    pub const EXTENSION: Fixed = Fixed(6);
    /// A `?` with nothing behind it.
    pub const EMPTY_QUERY: Fixed = Fixed(7);
    /// Names of the query keys as found, where they are not in the site's usual order.
    pub const ORDER: Fixed = Fixed(8);
    /// Text behind `#`, where fragments are keys of the site or it is a route.
    pub const FRAGMENT: Fixed = Fixed(9);
    /// The whole query, where it has more than [`MAX_PARAMETERS`] parameters.
    pub const WHOLE_QUERY: Fixed = Fixed(10);
    /// The [section](super::section) of the URL as it came: a condition of rules, and no part of what is
    /// composed.
    pub const SECTION: Fixed = Fixed(11);
    /// Separators of the query parameters, `&` and `;` or `?`, where they are not the site's usual one; a single
    /// one means all. Only where the site splits queries at `;` or `?`, too.
    pub const SEPARATOR: Fixed = Fixed(12);
    pub(super) const FIRST_PART: u8 = 16;

    /// Part of path segment `segment`.
    pub fn path(segment: usize, part: Part) -> Fixed {
        assert!(segment < MAX_SEGMENTS);
        Fixed(Self::FIRST_PART + segment as u8 * 8 + part as u8)
    }

    /// Segment and part, where this key is a part of the path.
    pub fn as_path(self) -> Option<(usize, Part)> {
        let at = self.0.checked_sub(Self::FIRST_PART)?;
        Some((usize::from(at / 8), Part::ALL[usize::from(at % 8)]))
    }
}

/// Part of a path segment, in order of position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// All groups before the last two, delimiter included (only where the site splits at delimiters); or the
    /// word before a number inside the segment (where it splits [there](super::segment::inner_number)).
    Groups = 0,
    /// The group before the last, delimiter included (only where the site splits at delimiters); or the number
    /// inside the segment.
    Group = 1,
    /// Text before the number; the whole segment where it has none.
    Head = 2,
    /// Digits.
    Number = 3,
    /// Text behind a number at the front.
    Tail = 4,
    /// Known extension of a segment that is not the last.
    Extension = 5,
}

impl Part {
    const ALL: [Part; 8] = [
        Part::Groups,
        Part::Group,
        Part::Head,
        Part::Number,
        Part::Tail,
        Part::Extension,
        Part::Extension,
        Part::Extension,
    ];
    /// Parts in order of position in a segment.
    pub const ORDER: [Part; 6] = [Part::Groups, Part::Group, Part::Head, Part::Number, Part::Tail, Part::Extension];
}

/// A key of one URL; names are ranges of the text they were tokenized from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRef {
    /// A key without a name of its own.
    Fixed(Fixed),
    /// A query key; the name holds its `=` where there is one.
    Query(u32, u32),
    /// A path parameter (`;name=`) of the last segment.
    Param(u32, u32),
}

impl KeyRef {
    /// Kind of the key, without its name.
    pub fn kind(self) -> KeyKind {
        match self {
            KeyRef::Fixed(fixed) => KeyKind::Fixed(fixed),
            KeyRef::Param(..) => KeyKind::Param,
            KeyRef::Query(..) => KeyKind::Query,
        }
    }
}

/// Kind of a key, without its name; ordered as keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum KeyKind {
    /// A key without a name of its own.
    Fixed(Fixed),
    /// A path parameter.
    Param,
    /// A query key.
    Query,
}

/// A key, owned; orders fixed keys first, then path parameters, then query keys by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A key without a name of its own.
    Fixed(Fixed),
    /// A path parameter (`;name=`) of the last segment.
    Param(String),
    /// A query key; the name holds its `=` where there is one.
    Query(String),
}

impl Key {
    /// Kind of the key, without its name.
    pub fn kind(&self) -> KeyKind {
        match self {
            Key::Fixed(fixed) => KeyKind::Fixed(*fixed),
            Key::Param(_) => KeyKind::Param,
            Key::Query(_) => KeyKind::Query,
        }
    }

    /// A key that a URL may or may not have without changing its shape: query keys and path parameters.
    pub fn optional(&self) -> bool {
        !matches!(self, Key::Fixed(_))
    }

    /// True for a [`family`] of query keys.
    pub fn is_family(&self) -> bool {
        matches!(self, Key::Query(name) if is_family(name.as_bytes()))
    }

    /// True for the [end](super::value_ends) of the values of a parameter.
    pub fn is_value_end(&self) -> bool {
        matches!(self, Key::Param(name) if name.starts_with(VALUE_END))
    }

    /// Segment and part, where the key is a part of the path.
    pub fn as_path(&self) -> Option<(usize, Part)> {
        match self {
            Key::Fixed(fixed) => fixed.as_path(),
            _ => None,
        }
    }

    /// True for the fixed key `fixed`.
    pub fn is(&self, fixed: Fixed) -> bool {
        *self == Key::Fixed(fixed)
    }

    /// Seed of the hashes of this key's values.
    pub fn seed(&self) -> u64 {
        match self {
            Key::Fixed(fixed) => fixed_seed(*fixed),
            Key::Param(name) => hash64_seeded(name.as_bytes(), PARAM_SEED),
            Key::Query(name) => hash64_seeded(name.as_bytes(), QUERY_SEED),
        }
    }

    /// Reads the notation of rule files; `None` where it is not a key.
    pub fn parse(text: &str) -> Option<Key> {
        if let Some(name) = text.strip_prefix("query ") {
            return Some(Key::Query(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix("param ") {
            return Some(Key::Param(name.to_owned()));
        }
        if let Some(at) = NAMES.iter().position(|&n| n == text) {
            return Some(Key::Fixed(Fixed(at as u8)));
        }
        let rest = text.strip_prefix("path")?;
        let (number, part) = rest.split_once('.').unwrap_or((rest, ""));
        let segment: usize = number.parse().ok()?;
        let part = PART_NAMES.iter().position(|&n| n == part)?;
        (segment < MAX_SEGMENTS).then(|| Key::Fixed(Fixed::path(segment, Part::ORDER[part])))
    }
}

/// Appends the family of a query name, a range of `text`, where it is of one: a name with `=` and
/// digits, each run of which becomes `#` (`w17_page=`, `w23_page=`: `w#_page=`), escapes apart; a name
/// without `=` that holds a digit (`?1719847`) is of the family `#`. Else false, and nothing is
/// appended. No name of a URL holds a `#`.
///
/// The value of a family is the whole parameter, so that what is composed is what was tokenized.
pub fn family(text: &mut Vec<u8>, name: std::ops::Range<usize>) -> bool {
    let length = text.len();
    let is_bare = !text[name.clone()].ends_with(b"=");
    let (mut digits, mut escape) = (false, 0);
    for at in name {
        let byte = text[at];
        escape = if byte == b'%' { 3 } else { usize::saturating_sub(escape, 1) };
        let is_digit = byte.is_ascii_digit() && escape == 0;
        match (is_digit, text.len() > length && text.ends_with(b"#")) {
            (true, true) => {}
            (true, false) => text.push(b'#'),
            (false, _) => text.push(byte),
        }
        digits |= is_digit;
    }
    text.truncate(if digits { text.len() } else { length });
    if digits && is_bare {
        text.truncate(length);
        text.push(b'#');
    }
    digits
}

/// True for the name of a [`family`].
pub fn is_family(name: &[u8]) -> bool {
    memchr::memchr(b'#', name).is_some()
}

pub(super) const PARAM_SEED: u64 = 0x3b61_6d3b;
pub(super) const QUERY_SEED: u64 = 0x3f71_733f;
const NAMES: [&str; 13] = [
    "scheme",
    "host",
    "double slash",
    "index",
    "trailing slash",
    "depth",
    "ext",
    "empty query",
    "order",
    "fragment",
    "whole query",
    "section",
    "separator",
];
const PART_NAMES: [&str; 6] = ["groups", "group", "", "number", "tail", "ext"];

pub(super) fn fixed_seed(fixed: Fixed) -> u64 {
    0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(fixed.0) + 1)
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Key::Query(name) => write!(f, "query {name}"),
            Key::Param(name) => write!(f, "param {name}"),
            Key::Fixed(fixed) => match fixed.as_path() {
                None => f.write_str(NAMES[usize::from(fixed.0)]),
                Some((segment, Part::Head)) => write!(f, "path{segment}"),
                Some((segment, part)) => write!(f, "path{segment}.{}", PART_NAMES[part as usize]),
            },
        }
    }
}

/// Pseudo-key of rules between forms: the labels of the host below its registrable domain.
pub const HOST_SUB: &str = "host.sub";

/// Length of the labels of `host` below its registrable domain, without the dot between; 0 where there
/// are none, and for a host with user, port or trailing dot: these cannot move with its labels.
pub fn host_sub(host: &[u8]) -> usize {
    if memchr::memchr2(b'@', b':', host).is_some() || host.ends_with(b".") {
        return 0;
    }
    let domain = super::site::registrable_domain(host);
    (host.len() - domain.len()).saturating_sub(1)
}

/// Writes a number in decimal.
#[inline]
pub fn push_number(out: &mut Vec<u8>, number: u64) {
    if number >= 10 {
        push_tens(out, number / 10);
        return out.push(b'0' + (number % 10) as u8);
    }
    out.push(b'0' + number as u8);
}

#[cold]
fn push_tens(out: &mut Vec<u8>, tens: u64) {
    push_number(out, tens);
}
