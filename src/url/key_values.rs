//! A URL tokenized into its key-value pairs (WWW10 section 2, Figure 2); what the keys are:
//! [`keys`](super::keys).
//!
//! [`KeyValues`] holds the pairs of one URL as ranges into one text buffer; nothing is allocated a URL once
//! the buffers have grown. [`compose`](mod@super::compose) turns pairs back into a URL; composing what was
//! tokenized gives the same bytes.

use super::endings::Endings;
use super::keys::{
    Fixed, Key, KeyRef, MAX_PARAMETERS, MAX_SEGMENTS, PARAM_SEED, Part, QUERY_SEED, fixed_seed, push_number,
};
use super::positions::{self, Positions};
use super::scan;
use super::segment::{self, Groups};
use super::syntax::{Split, is_route};
use super::value_ends::ValueEnds;
use super::window::{below, highest, lowest};
use crate::model::hash64_seeded;
use serde::{Deserialize, Serialize};

/// One key-value pair; the value is a range of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The key.
    pub key: KeyRef,
    /// Start of the value in [`KeyValues::text`].
    pub start: u32,
    /// End of the value.
    pub end: u32,
}

/// Start and end in [`KeyValues::text`].
pub(crate) type Range = (u32, u32);

/// How a site's URLs are tokenized, compiled from [`Tokens`](crate::rules::Tokens).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokenizer {
    /// `:`, `,`, `=`, `!` that split segments, as bits 0 to 3.
    pub delimiters: u8,
    /// `;` separates query parameters, too; their positions are the key [`Fixed::SEPARATOR`].
    pub semicolons: bool,
    /// The usual separator is `;`, not `&`.
    pub joined_by_semicolons: bool,
    /// A `?` within the query separates parameters, as `;` may.
    pub nested_queries: bool,
    /// A list at the start of a query is cut at its names: see `KeyValues::tokenize_list`.
    pub commas: bool,
    /// Fragments are keys; else only routes ([`is_route`]) are.
    pub fragments: bool,
    /// True where the role of fragments was learned: they are left out even where the site has no rules.
    pub learned: bool,
    /// A path in a query is tokenized as the path is: see [`KeyValues::path_of`].
    pub query_path: bool,
    /// A last segment such as `start-30` is a path parameter `/start-`: see [`segment::numbered`].
    pub numbered_end: bool,
    /// Last segments that are a path parameter `/`, at any depth, and words joined to the last segment by a character,
    /// which are a parameter of its name and a slash, `-/`, or two behind a known extension, `.//`.
    pub endings: Endings,
    /// A number inside a segment is a key: see [`segment::inner_number`].
    pub inner_numbers: bool,
    /// Names of query keys that hold digits are tokenized as families: see [`family`](super::keys::family).
    pub name_families: bool,
    /// The ends of the values of these parameters are path parameters: see [`value_ends`](super::value_ends).
    pub value_ends: ValueEnds,
}

impl Tokenizer {
    /// True where queries are tokenized as on most sites: at `&`, each name a key, none a path or a list; and, where it
    /// matters, paths: at slashes.
    pub fn is_usual(&self, path: bool) -> bool {
        let is_query = self.separator().is_none() && !self.commas && !self.name_families && !self.query_path;
        is_query && self.value_ends.is_empty() && !(path && self.extends_paths())
    }

    /// What separates parameters beside `&`.
    pub fn separator(&self) -> Option<u8> {
        let question_mark = self.nested_queries.then_some(b'?');
        if self.semicolons { Some(b';') } else { question_mark }
    }

    /// True where paths may be cut otherwise than at slashes and within segments.
    fn extends_paths(&self) -> bool {
        self.query_path || self.numbered_end || self.inner_numbers || !self.endings.is_empty()
    }

    /// True where this path may be.
    fn extends_path(&self, path: &[u8]) -> bool {
        let last = || {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            &path[memchr::memrchr(b'/', path).map_or(0, |at| at + 1)..]
        };
        self.query_path
            || self.inner_numbers
            || self.numbered_end && segment::numbered(last()).is_some()
            || !self.endings.is_empty() && self.endings.splits(last())
    }
}

/// The key-value pairs of one URL.
#[derive(Clone, Debug, Default)]
pub struct KeyValues {
    /// The normal URL, then values that are no single range of it.
    pub text: Vec<u8>,
    /// The pairs: fixed keys first, then parameters, then query keys in the order found, each key once.
    pub list: Vec<KeyValue>,
    /// First query key in `list`.
    pub query_from: usize,
    /// The names of the query, one range a parameter, in the order found, repeats included.
    pub names: Vec<(u32, u32)>,
    /// The `?` may be part of a path segment, as [`Tokenizer::query_path`] tokenizes it.
    pub query_path: bool,
    /// Parameters are joined by `;` unless the key for separators says otherwise:
    /// [`Tokenizer::joined_by_semicolons`].
    pub joined_by_semicolons: bool,
    /// Values may have ends that are pairs of their own: [`Tokenizer::value_ends`].
    pub value_ends: bool,
}

impl KeyValues {
    /// The bytes of a range.
    pub fn bytes(&self, start: u32, end: u32) -> &[u8] {
        &self.text[start as usize..end as usize]
    }

    /// Value of a pair.
    pub fn value(&self, pair: &KeyValue) -> &[u8] {
        self.bytes(pair.start, pair.end)
    }

    /// The key of a pair, owned.
    pub fn key(&self, pair: &KeyValue) -> Key {
        let name = |(a, b): (u32, u32)| String::from_utf8_lossy(self.bytes(a, b)).into_owned();
        match pair.key {
            KeyRef::Fixed(fixed) => Key::Fixed(fixed),
            KeyRef::Query(a, b) => Key::Query(name((a, b))),
            KeyRef::Param(a, b) => Key::Param(name((a, b))),
        }
    }

    /// The seed of the key of a pair; equals [`Key::seed`] of the same key.
    pub fn seed(&self, key: KeyRef) -> u64 {
        match key {
            KeyRef::Fixed(fixed) => fixed_seed(fixed),
            KeyRef::Query(a, b) => hash64_seeded(self.bytes(a, b), QUERY_SEED),
            KeyRef::Param(a, b) => hash64_seeded(self.bytes(a, b), PARAM_SEED),
        }
    }

    /// Tokenizes the normal URL that is already in [`text`](Self::text).
    pub fn tokenize(&mut self, split: &Split, tokenizer: Tokenizer) {
        self.list.clear();
        self.names.clear();
        let scheme_end = split.authority.0 - 3;
        self.fixed(Fixed::SCHEME, scheme_end - if split.https { 5 } else { 4 }, scheme_end);
        self.fixed(Fixed::HOST, split.authority.0, split.authority.1);
        (self.query_path, self.joined_by_semicolons) = (tokenizer.query_path, tokenizer.joined_by_semicolons);
        self.value_ends = !tokenizer.value_ends.is_empty();
        let is_plain = !tokenizer.extends_path(self.bytes(split.path.0, split.path.1));
        let (path, query) = if is_plain { (split.path, split.query) } else { self.path_of(split, tokenizer) };
        if !(is_plain && split.positions.path && self.tokenize_short_path(split, tokenizer)) {
            self.tokenize_path(path, tokenizer);
        }
        if let Some((start, end)) = split.fragment
            && (tokenizer.fragments || is_route(self.bytes(start, end)))
        {
            self.fixed(Fixed::FRAGMENT, start, end);
        }
        self.query_from = self.list.len();
        match query {
            Some((start, end)) if start == end && query == split.query => {
                self.fixed(Fixed::EMPTY_QUERY, start, end);
                self.query_from = self.list.len();
            }
            Some((start, end))
                if split.positions.query
                    && tokenizer.separator().is_none()
                    && !tokenizer.commas
                    && !tokenizer.name_families
                    && query == split.query =>
            {
                self.tokenize_short_query(start, end, split.positions);
            }
            Some((start, end)) => {
                let rest = if tokenizer.commas { self.tokenize_list(start, end) } else { Some((start, end)) };
                self.query_from = self.list.len();
                let Some((start, end)) = rest else { return };
                if let Some(separator) = tokenizer.separator() {
                    self.tokenize_separators(start, end, separator);
                    self.query_from = self.list.len();
                }
                self.tokenize_query(start, end, tokenizer);
            }
            None => {}
        }
        if self.value_ends {
            self.tokenize_value_ends(tokenizer.value_ends);
        }
    }

    /// The path and the query as they are tokenized. With [`Tokenizer::query_path`], `/index.php?/category/3` and
    /// `/index.php?threads/3` are paths: of segments `index.php?`, `category`, `3`, and of
    /// `index.php?threads` and `3`; what follows the first `&` is the query. A first parameter with a `=`,
    /// or without a segment behind a slash, is none of the path.
    pub(crate) fn path_of(&self, split: &Split, tokenizer: Tokenizer) -> (Range, Option<Range>) {
        let plain = (split.path, split.query);
        let Some((start, end)) = split.query.filter(|_| tokenizer.query_path) else { return plain };
        let query = self.bytes(start, end);
        let stop = memchr::memchr(b'&', query);
        let first = &query[..stop.unwrap_or(query.len())];
        let segment = memchr::memchr(b'/', first).and_then(|at| first[at..].iter().find(|&&b| b != b'/'));
        if segment.is_none_or(|&b| b == b';') || memchr::memchr(b'=', first).is_some() {
            return plain;
        }
        let path = (split.path.0, start + first.len() as u32);
        (path, stop.map(|_| (path.1 + 1, end)))
    }

    pub(super) fn fixed(&mut self, key: Fixed, start: u32, end: u32) {
        self.list.push(KeyValue { key: KeyRef::Fixed(key), start, end });
    }

    /// Appends a value that is not a range of the URL and adds its pair.
    pub fn fixed_text(&mut self, key: Fixed, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len() as u32;
        write(&mut self.text);
        self.fixed(key, start, self.text.len() as u32);
    }

    /// Tokenizes a path whose positions are known; false, and nothing is tokenized, where its depth has more
    /// than a digit.
    #[inline(always)]
    fn tokenize_short_path(&mut self, split: &Split, tokenizer: Tokenizer) -> bool {
        let ((start, end), Positions { slashes, dots, .. }) = (split.path, split.positions);
        let length = (end - start) as usize;
        let last = highest(slashes);
        // The last dot of a segment, 0 for none, counted from the start of the path as its ends are.
        let dot = |from: usize, to: usize| highest(dots & below(to) & !below(from));
        // Where segments end.
        let mut ends = slashes & !1;
        let mut slash = ends != 0;
        if last + 1 != length {
            let at = dot(last + 1, length);
            if at > 0 && segment::is_index(self.bytes(start + last as u32 + 1, end), at - last - 1) {
                self.fixed(Fixed::INDEX, start + last as u32 + 1, end);
            } else {
                ends |= 1 << length;
                slash = false;
            }
        }
        if slash {
            // With an index the last byte is not the slash; any one-byte slash serves as the value.
            self.fixed(Fixed::TRAILING_SLASH, start, start + 1);
        }
        // How deep it is shows when it is tokenized.
        let depth = self.text.len();
        self.fixed_text(Fixed::DEPTH, |text| text.push(b'0'));
        let delimiters = positions::delimiters(&mut self.text, start as usize, tokenizer.delimiters);
        let (mut from, mut segments) = (1, 0);
        while ends != 0 {
            if segments == 9 {
                self.text.truncate(depth);
                self.list.truncate(2);
                return false;
            }
            let to = lowest(ends, length);
            ends &= ends - 1;
            let segment = (start + from as u32, start + to as u32, start + dot(from, to) as u32);
            let groups = positions::groups(delimiters, from, to);
            self.tokenize_segment(segments, segment, ends == 0 && !slash, groups);
            from = to + 1;
            segments += 1;
        }
        self.text[depth] += segments as u8;
        true
    }

    fn tokenize_path(&mut self, (start, path_end): (u32, u32), tokenizer: Tokenizer) {
        // Start, end and last dot (0 for none) of each segment.
        let mut segments = [(0, 0, 0); MAX_SEGMENTS];
        let mut depth = 0;
        let first = start + 1;
        let mut at = first;
        // Boundaries where extra slashes stand; in the text they are joined by dots.
        let mut doubled = Doubled::default();
        let mut deep = false;
        let (mut dot, mut semicolon) = (0, 0);
        let path = &self.text[first.min(path_end) as usize..path_end as usize];
        scan::each(path, [b'/', b'.', b';'], |place, mark| {
            let here = first + place as u32;
            match mark {
                b'.' if semicolon == 0 => dot = here,
                b';' if semicolon == 0 => semicolon = here,
                b'/' => {
                    semicolon = 0;
                    if deep {
                        return;
                    }
                    if here == at {
                        doubled.push(depth);
                    } else if depth + 1 == MAX_SEGMENTS {
                        // Too deep: the rest is one opaque segment, slashes included.
                        deep = true;
                        return;
                    } else {
                        segments[depth] = (at, here, dot);
                        depth += 1;
                    }
                    dot = 0;
                    at = here + 1;
                }
                _ => {}
            }
        });
        // Path parameters of the last segment.
        let end = if semicolon == 0 { path_end } else { semicolon };
        if at < end {
            segments[depth] = (at, end, dot);
            depth += 1;
        }
        let trailing = depth > 0 && depth < MAX_SEGMENTS && self.text[end as usize - 1] == b'/';
        if doubled.count > 0 {
            self.fixed_text(Fixed::DOUBLE_SLASH, |text| doubled.write(text));
        }
        let mut slash = trailing;
        let is_whole = semicolon == 0 && depth < MAX_SEGMENTS && doubled.count == 0;
        let last = segments[..depth].last().filter(|_| is_whole && depth > 1).and_then(|&(a, b, dot)| {
            let segment = self.bytes(a, b);
            let numbered = || segment::numbered(segment).filter(|_| tokenizer.numbered_end && !trailing);
            let is_ending = (dot == 0 || !trailing) && tokenizer.endings.contains(segment);
            // The parent of a file is a directory.
            slash |= is_ending && dot > 0;
            let name = if is_ending { 0 } else { numbered()? as u32 };
            Some(KeyValue { key: KeyRef::Param(a - 1, a + name), start: a + name, end: b })
        });
        depth -= usize::from(last.is_some());
        let is_open = is_whole && last.is_none() && !slash;
        let tail =
            segments[..depth].last_mut().filter(|_| is_open).and_then(|segment| self.tokenize_tail(segment, tokenizer));
        if !slash && depth > 0 && {
            let (a, b, dot) = segments[depth - 1];
            segment::is_index(&self.text[a as usize..b as usize], dot.saturating_sub(a) as usize)
        } {
            depth -= 1;
            self.fixed(Fixed::INDEX, segments[depth].0, segments[depth].1);
            slash = depth > 0;
        }
        if slash {
            // With an index the last byte is not the slash; any one-byte slash serves as the value.
            self.fixed(Fixed::TRAILING_SLASH, start, first);
        }
        self.fixed_text(Fixed::DEPTH, |text| push_number(text, depth as u64));
        for (i, &segment) in segments[..depth].iter().enumerate() {
            let bytes = self.bytes(segment.0, segment.1);
            let groups = match segment::delimited_groups(bytes, tokenizer.delimiters) {
                (0, 0, 0) if tokenizer.inner_numbers => segment::inner_number(bytes),
                groups => groups,
            };
            self.tokenize_segment(i, segment, i + 1 == depth && !slash, groups);
        }
        if let Some((word, extension)) = tail {
            if extension.0 < extension.1 {
                self.fixed(Fixed::EXTENSION, extension.0, extension.1);
            }
            self.list.push(word);
        }
        self.list.extend(last);
        if semicolon != 0 {
            self.tokenize_params(semicolon, path_end);
        }
    }

    /// Cuts a word that is joined to the last segment ([`Endings::tail`]) off it: its pair, and the known extension
    /// behind it.
    fn tokenize_tail(&mut self, (a, b, dot): &mut (u32, u32, u32), tokenizer: Tokenizer) -> Option<(KeyValue, Range)> {
        let segment::Tail { joint, end, is_behind } = tokenizer.endings.tail(self.bytes(*a, *b))?;
        let (joint, word, extension) = (*a + joint as u32, *a + end as u32, (*a + end as u32, *b));
        // What is left has one known extension: this one, or its own.
        let own_dot = if is_behind { *a + segment::last_dot(self.bytes(*a, joint)) as u32 } else { 0 };
        (*b, *dot) = (joint, own_dot);
        let name = self.text.len() as u32;
        self.text.extend([self.text[joint as usize], b'/']);
        self.text.extend(is_behind.then_some(b'/'));
        let key = KeyRef::Param(name, self.text.len() as u32);
        Some((KeyValue { key, start: joint + 1, end: word }, extension))
    }

    /// `groups` as [`segment::delimited_groups`] or [`segment::inner_number`] returns.
    #[inline(always)]
    fn tokenize_segment(&mut self, i: usize, (a, b, dot): (u32, u32, u32), last: bool, groups: Groups) {
        let bytes = &self.text[a as usize..b as usize];
        let dot = dot.saturating_sub(a) as usize;
        let digit_at_either_end = matches!(bytes, [b'0'..=b'9', ..] | [.., b'0'..=b'9']);
        if groups.2 == 0 && dot == 0 && !digit_at_either_end {
            self.fixed(Fixed::path(i, Part::Head), a, b);
            return;
        }
        let ends = segment::ends_behind(bytes, dot, groups);
        if ends[1] == 0 && ends[2] == bytes.len() {
            self.fixed(Fixed::path(i, Part::Head), a, b);
            return;
        }
        let mut at = a;
        for (part, end) in Part::ORDER.into_iter().zip(ends) {
            let end = a + end as u32;
            if end > at {
                let key = if last && part == Part::Extension { Fixed::EXTENSION } else { Fixed::path(i, part) };
                self.fixed(key, at, end);
                at = end;
            }
        }
    }

    fn tokenize_params(&mut self, semicolon: u32, end: u32) {
        let from = self.list.len();
        let mut at = semicolon + 1;
        loop {
            let rest = self.bytes(at, end);
            let stop = memchr::memchr(b';', rest).map_or(end, |i| at + i as u32);
            let name = memchr::memchr(b'=', self.bytes(at, stop)).map_or(stop, |i| at + i as u32 + 1);
            let same = |c: &KeyValue| matches!(c.key, KeyRef::Param(a, b) if self.bytes(a, b) == self.bytes(at, name));
            // A value for all repeats would lose their positions, so that composing gave another URL.
            if self.list.len() - from == MAX_PARAMETERS || self.list[from..].iter().any(same) {
                self.list.truncate(from);
                let first = semicolon + 1;
                self.list.push(KeyValue { key: KeyRef::Param(first, first), start: first, end });
                return;
            }
            self.list.push(KeyValue { key: KeyRef::Param(at, name), start: name, end: stop });
            if stop == end {
                return;
            }
            at = stop + 1;
        }
    }
}

/// Boundaries of a path with extra slashes, one number a slash.
#[derive(Default)]
struct Doubled {
    count: usize,
    /// The first of them; a boundary is below [`MAX_SEGMENTS`], and ever more slashes at the last one are
    /// counted.
    runs: [usize; MAX_SEGMENTS],
}

impl Doubled {
    fn push(&mut self, boundary: usize) {
        self.count += 1;
        self.runs[boundary] += 1;
    }

    fn write(&self, text: &mut Vec<u8>) {
        let boundaries = self.runs.iter().zip(0u64..).flat_map(|(&slashes, at)| std::iter::repeat_n(at, slashes));
        for (i, boundary) in boundaries.enumerate() {
            if i > 0 {
                text.push(b'.');
            }
            push_number(text, boundary);
        }
    }
}

#[cfg(test)]
mod tests;
