//! Key-value pairs back into a URL, and the order of query keys.
//!
//! Composing the pairs that [`KeyValues::tokenize`] made gives the URL they were tokenized from, byte for byte
//! (checked by a property test). Pairs that a rule left out are absent. The order of parameters is not
//! visible in key-value pairs: a URL whose parameters are not in the site's usual order carries them in
//! the key [`ORDER`](super::keys::Fixed::ORDER); ignoring that key is the catalogue's "sorting the
//! variables".

use super::key_values::{KeyValue, KeyValues};
use super::keys::{Fixed, KeyRef, MAX_SEGMENTS, is_family};
use super::query::LIST;

/// Adds the key for an unusual order of parameters, before the first query pair, where it is one; true
/// where it did. `rank` as in [`is_usual_order`].
pub fn set_order(pairs: &mut KeyValues, rank: impl Fn(&KeyValues, usize) -> u32) -> bool {
    let unusual = !is_usual_order(pairs, rank);
    if unusual {
        write_order(pairs);
    }
    unusual
}

/// True where the parameters are in the usual order. `rank` returns the place of a query pair (by its
/// index in the list) in that order; pairs of the same rank order by name.
pub fn is_usual_order(pairs: &KeyValues, rank: impl Fn(&KeyValues, usize) -> u32) -> bool {
    if pairs.names.len() < 2 {
        return true;
    }
    let mut at = 0;
    let mut previous: Option<(u32, (u32, u32))> = None;
    let mut usual = true;
    // In the usual order, the pairs are sorted by rank and each takes all its repeats in one run.
    let repeats = pairs.list.len() - pairs.query_from != pairs.names.len();
    for (i, pair) in pairs.list.iter().enumerate().skip(pairs.query_from) {
        let KeyRef::Query(a, b) = pair.key else { continue };
        let mine = (rank(pairs, i), (a, b));
        let name = |(a, b): (u32, u32)| pairs.bytes(a, b);
        usual &= previous.is_none_or(|p| p.0 < mine.0 || p.0 == mine.0 && name(p.1) < name(mine.1));
        previous = Some(mine);
        let from = at;
        // Without repeats the names are those of the pairs one by one.
        at += usize::from(!repeats);
        while repeats && at < pairs.names.len() && name(pairs.names[at]) == name((a, b)) {
            at += 1;
        }
        usual &= at > from;
    }
    usual && at == pairs.names.len()
}

/// Adds the key that holds the order of parameters, before the first query pair.
pub fn write_order(pairs: &mut KeyValues) {
    let start = pairs.text.len() as u32;
    for i in 0..pairs.names.len() {
        let (a, b) = pairs.names[i];
        if i > 0 {
            pairs.text.push(b'&');
        }
        pairs.text.extend_from_within(a as usize..b as usize);
    }
    let end = pairs.text.len() as u32;
    pairs.list.insert(pairs.query_from, KeyValue { key: KeyRef::Fixed(Fixed::ORDER), start, end });
    pairs.query_from += 1;
}

/// Writes the URL of the pairs in `pairs.list` to `out` (cleared first). Path pairs are in rising
/// order; query pairs are written in the order of the list unless the list holds an order of its own.
pub fn compose(pairs: &KeyValues, out: &mut Vec<u8>) {
    out.clear();
    let whole = if pairs.value_ends { pairs.with_whole_values() } else { None };
    let pairs = whole.as_ref().unwrap_or(pairs);
    let mut to = Pieces::new(&pairs.text, out);
    // Positions of the keys, branch-free: their sequence differs from URL to URL.
    let mut places = [usize::MAX; Fixed::FIRST_PART as usize];
    let (mut path, mut path_end, mut named, mut queries) = (usize::MAX, 0, pairs.list.len(), pairs.list.len());
    for (i, pair) in pairs.list.iter().enumerate() {
        match pair.key {
            KeyRef::Fixed(Fixed(number)) => match places.get_mut(usize::from(number)) {
                Some(place) => *place = i,
                None => (path, path_end) = (path.min(i), i + 1),
            },
            KeyRef::Param(..) => named = named.min(i),
            KeyRef::Query(..) => queries = queries.min(i),
        }
    }
    let pair = |key: Fixed| pairs.list.get(places[usize::from(key.0)]);
    if let Some(pair) = pair(Fixed::SCHEME) {
        to.piece(pair);
        to.bytes(b"://");
    }
    if let Some(pair) = pair(Fixed::HOST) {
        to.piece(pair);
    }
    let depth = pair(Fixed::DEPTH).map_or(0, |pair| number(pairs.value(pair)));
    let [slash, index, extension] = [Fixed::TRAILING_SLASH, Fixed::INDEX, Fixed::EXTENSION].map(pair);
    let doubled = pair(Fixed::DOUBLE_SLASH);
    let extra = doubled.map_or(&b""[..], |pair| pairs.value(pair));
    let mut parts = pairs.list.get(path..path_end).unwrap_or_default().iter().filter_map(|c| match c.key {
        KeyRef::Fixed(fixed) => fixed.as_path().map(|(segment, _)| (segment, c)),
        _ => None,
    });
    let mut next = parts.next();
    for segment in 0..depth {
        to.slashes(extra, segment);
        while let Some((_, pair)) = next.filter(|(at, _)| *at == segment) {
            to.piece(pair);
            next = parts.next();
        }
    }
    // Parameters of the path come before those of the query.
    let (queries, named) = (&pairs.list[queries..], pairs.list.get(named..queries).unwrap_or_default());
    // The name of a last segment begins with its slash, that of a word joined to one ends in one or two; no other
    // name of a path parameter holds one.
    let is_last = |a, b| pairs.bytes(a, b).starts_with(b"/");
    let is_listed = |a, b| pairs.bytes(a, b).starts_with(LIST);
    let joint = |a, b| {
        let name = pairs.bytes(a, b);
        let at = memchr::memchr(b'/', name).filter(|&at| at > 0)?;
        matches!(&name[at..], b"/" | b"//").then(|| (&name[..at], name.len() - at > 1))
    };
    let join = |to: &mut Pieces<'_>, behind: bool| {
        for pair in named {
            if let KeyRef::Param(a, b) = pair.key
                && let Some((joint, is_behind)) = joint(a, b)
                && is_behind == behind
            {
                to.bytes(joint);
                to.piece(pair);
            }
        }
    };
    join(&mut to, false);
    if let Some(pair) = extension {
        to.piece(pair);
    }
    join(&mut to, true);
    let write = |to: &mut Pieces<'_>, last: bool| {
        for pair in named {
            if let KeyRef::Param(a, b) = pair.key
                && is_last(a, b) == last
                && (last || joint(a, b).is_none() && !is_listed(a, b))
            {
                to.bytes(if last { b"" } else { b";" });
                to.range(a, b);
                to.piece(pair);
            }
        }
    };
    let is_file = |pair: &KeyValue| match pair.key {
        KeyRef::Param(a, b) => is_last(a, b) && memchr::memchr(b'.', pairs.value(pair)).is_some(),
        _ => false,
    };
    let is_before = depth == 0 || index.is_some();
    if !is_before {
        write(&mut to, true);
    }
    // A slash that a rule adds does not go behind an extension: `/a.html/` is another URL on every server.
    if is_before || slash.is_some() && extension.is_none() && !named.iter().any(is_file) {
        to.slashes(extra, depth);
    }
    if let Some(pair) = index {
        to.piece(pair);
    }
    if is_before {
        write(&mut to, true);
    }
    write(&mut to, false);
    let mut mark = if pairs.query_path && to.holds(b'?') { b'&' } else { b'?' };
    let mut is_first = true;
    for is_named in [false, true] {
        for pair in named {
            if let KeyRef::Param(a, b) = pair.key
                && is_listed(a, b)
                && is_named == (pairs.bytes(a, b) != LIST)
            {
                if std::mem::take(&mut is_first) {
                    to.bytes(&[std::mem::replace(&mut mark, b'&')]);
                }
                to.range(a + LIST.len() as u32, b);
                to.piece(pair);
            }
        }
    }
    let separators = pair(Fixed::SEPARATOR).map_or(&b""[..], |pair| pairs.value(pair));
    let usual = if pairs.joined_by_semicolons { b';' } else { b'&' };
    let query = (usual != b'&' || !separators.is_empty()).then(|| to.written());
    match pair(Fixed::ORDER) {
        Some(order) => ordered_query(pairs, pairs.value(order), |name, value| {
            to.bytes(&[std::mem::replace(&mut mark, b'&')]);
            if !is_family(name) {
                to.bytes(name);
            }
            to.bytes(value);
        }),
        None => {
            for pair in queries {
                if let KeyRef::Query(a, b) = pair.key {
                    to.bytes(&[std::mem::replace(&mut mark, b'&')]);
                    if !is_family(pairs.bytes(a, b)) {
                        to.range(a, b);
                    }
                    to.piece(pair);
                }
            }
        }
    }
    if let Some(from) = query {
        let end = to.written();
        separate(to.out.get_mut(from + 1..end).unwrap_or_default(), separators, usual);
    }
    if let Some(pair) = pair(Fixed::WHOLE_QUERY) {
        to.bytes(&[std::mem::replace(&mut mark, b'&')]);
        to.piece(pair);
    }
    if pair(Fixed::EMPTY_QUERY).is_some() && mark == b'?' {
        to.bytes(b"?");
    }
    if let Some(pair) = pair(Fixed::FRAGMENT) {
        to.bytes(b"#");
        to.piece(pair);
    }
    to.flush();
}

/// A URL that is put together from pieces of a text. Text that is equal in the URL is copied at once:
/// most of a URL that lost a parameter is one run.
struct Pieces<'t> {
    text: &'t [u8],
    out: &'t mut Vec<u8>,
    /// The run that is not copied yet.
    from: usize,
    end: usize,
}

impl<'t> Pieces<'t> {
    /// Pieces of this text, appended to `out`.
    fn new(text: &'t [u8], out: &'t mut Vec<u8>) -> Pieces<'t> {
        Pieces { text, out, from: 0, end: 0 }
    }

    /// The value of a pair.
    fn piece(&mut self, pair: &KeyValue) {
        self.range(pair.start, pair.end);
    }

    /// A range of the text.
    fn range(&mut self, start: u32, end: u32) {
        if start as usize != self.end {
            self.flush();
            self.from = start as usize;
        }
        self.end = end as usize;
    }

    /// Writes bytes that may be in the text behind the last piece.
    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        if self.text[self.end..].starts_with(bytes) {
            self.end += bytes.len();
        } else {
            self.flush();
            self.from = self.end;
            self.out.extend_from_slice(bytes);
        }
    }

    /// True where a byte was written.
    fn holds(&self, byte: u8) -> bool {
        [&self.out[..], &self.text[self.from..self.end]].iter().any(|part| memchr::memchr(byte, part).is_some())
    }

    /// Length of what was added, all of it copied.
    fn written(&mut self) -> usize {
        self.flush();
        self.from = self.end;
        self.out.len()
    }

    /// Copies what was not copied yet.
    fn flush(&mut self) {
        self.out.extend_from_slice(&self.text[self.from..self.end]);
    }

    /// Writes the slash at a boundary, and its extra ones.
    fn slashes(&mut self, extra: &[u8], boundary: usize) {
        self.bytes(b"/");
        if !extra.is_empty() {
            let here = extra.split(|&b| b == b'.').filter(|digits| number(digits) == boundary).count();
            (0..here).for_each(|_| self.bytes(b"/"));
        }
    }
}

/// A depth or a boundary. A rule may have written anything: other bytes count for nothing, large
/// numbers for one more than there can be.
fn number(digits: &[u8]) -> usize {
    let digits = digits.iter().filter(|b| b.is_ascii_digit());
    digits.fold(0, |n, b| (n * 10 + usize::from(b - b'0')).min(MAX_SEGMENTS + 1))
}

/// Writes the separators of a site that has two into parameters that are joined by `&`: `own` in their
/// order, the last of them again where there are too few, and `usual` for what is none.
fn separate(parameters: &mut [u8], own: &[u8], usual: u8) {
    for (place, byte) in parameters.iter_mut().filter(|byte| **byte == b'&').enumerate() {
        let separator = own.get(place).or(own.last()).copied();
        *byte = separator.filter(|b| matches!(b, b'&' | b';' | b'?')).unwrap_or(usual);
    }
}

/// Parameters in the order found; those left out are skipped, new ones follow.
fn ordered_query(pairs: &KeyValues, order: &[u8], mut parameter: impl FnMut(&[u8], &[u8])) {
    let mut queries = pairs.list.iter().filter_map(|c| match c.key {
        KeyRef::Query(a, b) => Some((pairs.bytes(a, b), pairs.value(c))),
        _ => None,
    });
    let names = || order.split(|&b| b == b'&');
    for (i, name) in names().enumerate() {
        let Some((_, value)) = queries.clone().find(|(n, _)| *n == name) else { continue };
        // The value of a family holds its names.
        let written = if is_family(name) { &b""[..] } else { name };
        // The nth time a name comes, its nth value is due.
        let nth = names().take(i).filter(|n| *n == name).count();
        let last = names().skip(i + 1).all(|n| n != name);
        let mut start = 0;
        for _ in 0..nth {
            start = repeat(&value[start..], written).map_or(value.len(), |at| start + at + 1 + written.len());
        }
        let rest = &value[start..];
        let end = if last { rest.len() } else { repeat(rest, written).unwrap_or(rest.len()) };
        if nth == 0 || start < value.len() || value.ends_with(name) {
            parameter(name, &rest[..end]);
        }
    }
    for (name, value) in queries.by_ref() {
        if names().all(|n| n != name) {
            parameter(name, value);
        }
    }
}

/// Start of the next repeat of `name` in a joined value (at its `&`).
fn repeat(value: &[u8], name: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'&', value).find(|&at| value[at + 1..].starts_with(name))
}
