//! Key-value pairs back into a URL, and the order of query keys.
//!
//! Composing the pairs that [`Cells::cut`] made gives the URL they were cut from, byte for byte
//! (checked by a property test). Pairs that a rule left out are absent. The order of parameters is not
//! visible in key-value pairs: a URL whose parameters are not in the site's usual order carries them in
//! the key [`ORDER`](super::keys::Fixed::ORDER); ignoring that key is the catalogue's "sorting the
//! variables".

use super::cells::{Cell, Cells};
use super::keys::{Fixed, KeyRef, MAX_SEGMENTS, is_family};

/// Adds the key for an unusual order of parameters, before the first query cell, where it is one; true
/// where it did. `rank` as in [`is_usual_order`].
pub fn set_order(cells: &mut Cells, rank: impl Fn(&Cells, usize) -> u32) -> bool {
    let unusual = !is_usual_order(cells, rank);
    if unusual {
        write_order(cells);
    }
    unusual
}

/// True where the parameters are in the usual order. `rank` returns the place of a query cell (by its
/// index in the list) in that order; cells of the same rank order by name.
pub fn is_usual_order(cells: &Cells, rank: impl Fn(&Cells, usize) -> u32) -> bool {
    if cells.names.len() < 2 {
        return true;
    }
    let mut at = 0;
    let mut previous: Option<(u32, (u32, u32))> = None;
    let mut usual = true;
    // In the usual order, the cells are sorted by rank and each takes all its repeats in one run.
    let repeats = cells.list.len() - cells.query_from != cells.names.len();
    for (i, cell) in cells.list.iter().enumerate().skip(cells.query_from) {
        let KeyRef::Query(a, b) = cell.key else { continue };
        let mine = (rank(cells, i), (a, b));
        let name = |(a, b): (u32, u32)| cells.bytes(a, b);
        usual &= previous.is_none_or(|p| p.0 < mine.0 || p.0 == mine.0 && name(p.1) < name(mine.1));
        previous = Some(mine);
        let from = at;
        // Without repeats the names are those of the cells one by one.
        at += usize::from(!repeats);
        while repeats && at < cells.names.len() && name(cells.names[at]) == name((a, b)) {
            at += 1;
        }
        usual &= at > from;
    }
    usual && at == cells.names.len()
}

/// Adds the key that holds the order of parameters, before the first query cell.
pub fn write_order(cells: &mut Cells) {
    let start = cells.text.len() as u32;
    for i in 0..cells.names.len() {
        let (a, b) = cells.names[i];
        if i > 0 {
            cells.text.push(b'&');
        }
        cells.text.extend_from_within(a as usize..b as usize);
    }
    let end = cells.text.len() as u32;
    cells.list.insert(cells.query_from, Cell { key: KeyRef::Fixed(Fixed::ORDER), start, end });
    cells.query_from += 1;
}

/// Writes the URL of the pairs in `cells.list` to `out` (cleared first). Path cells are in rising
/// order; query cells are written in the order of the list unless the list holds an order of its own.
pub fn compose(cells: &Cells, out: &mut Vec<u8>) {
    out.clear();
    let mut to = Pieces::new(&cells.text, out);
    // Positions of the keys, branch-free: their sequence differs from URL to URL.
    let mut places = [usize::MAX; Fixed::FIRST_PART as usize];
    let (mut path, mut path_end, mut named) = (usize::MAX, 0, usize::MAX);
    for (i, cell) in cells.list.iter().enumerate() {
        match cell.key {
            KeyRef::Fixed(Fixed(number)) => match places.get_mut(usize::from(number)) {
                Some(place) => *place = i,
                None => (path, path_end) = (path.min(i), i + 1),
            },
            KeyRef::Query(..) | KeyRef::Param(..) => named = named.min(i),
        }
    }
    let cell = |key: Fixed| cells.list.get(places[usize::from(key.0)]);
    if let Some(cell) = cell(Fixed::SCHEME) {
        to.piece(cell);
        to.bytes(b"://");
    }
    if let Some(cell) = cell(Fixed::HOST) {
        to.piece(cell);
    }
    let depth = cell(Fixed::DEPTH).map_or(0, |cell| number(cells.value(cell)));
    let [slash, index, extension] = [Fixed::TRAILING_SLASH, Fixed::INDEX, Fixed::EXTENSION].map(cell);
    let doubled = cell(Fixed::DOUBLE_SLASH);
    let extra = doubled.map_or(&b""[..], |cell| cells.value(cell));
    let mut parts = cells.list.get(path..path_end).unwrap_or_default().iter().filter_map(|c| match c.key {
        KeyRef::Fixed(fixed) => fixed.as_path().map(|(segment, _)| (segment, c)),
        _ => None,
    });
    let mut next = parts.next();
    for segment in 0..depth {
        to.slashes(extra, segment);
        while let Some((_, cell)) = next.filter(|(at, _)| *at == segment) {
            to.piece(cell);
            next = parts.next();
        }
    }
    if let Some(cell) = extension {
        to.piece(cell);
    }
    // A slash that a rule adds does not go behind an extension: `/a.html/` is another URL on every server.
    if depth == 0 || index.is_some() || slash.is_some() && extension.is_none() {
        to.slashes(extra, depth);
    }
    if let Some(cell) = index {
        to.piece(cell);
    }
    let named = cells.list.get(named..).unwrap_or_default();
    for cell in named {
        if let KeyRef::Param(a, b) = cell.key {
            // The name of a numbered end begins with its slash; no other name holds one.
            if cells.bytes(a, b).first() != Some(&b'/') {
                to.bytes(b";");
            }
            to.range(a, b);
            to.piece(cell);
        }
    }
    let mut mark = if cells.query_path && to.holds(b'?') { b'&' } else { b'?' };
    let separators = cell(Fixed::SEPARATOR).map_or(&b""[..], |cell| cells.value(cell));
    let usual = if cells.joined_by_semicolons { b';' } else { b'&' };
    let query = (usual != b'&' || !separators.is_empty()).then(|| to.written());
    match cell(Fixed::ORDER) {
        Some(order) => ordered_query(cells, cells.value(order), |name, value| {
            to.bytes(&[std::mem::replace(&mut mark, b'&')]);
            if !is_family(name) {
                to.bytes(name);
            }
            to.bytes(value);
        }),
        None => {
            for cell in named {
                if let KeyRef::Query(a, b) = cell.key {
                    to.bytes(&[std::mem::replace(&mut mark, b'&')]);
                    if !is_family(cells.bytes(a, b)) {
                        to.range(a, b);
                    }
                    to.piece(cell);
                }
            }
        }
    }
    if let Some(from) = query {
        let end = to.written();
        separate(to.out.get_mut(from + 1..end).unwrap_or_default(), separators, usual);
    }
    if let Some(cell) = cell(Fixed::WHOLE_QUERY) {
        to.bytes(&[std::mem::replace(&mut mark, b'&')]);
        to.piece(cell);
    }
    if cell(Fixed::EMPTY_QUERY).is_some() && mark == b'?' {
        to.bytes(b"?");
    }
    if let Some(cell) = cell(Fixed::FRAGMENT) {
        to.bytes(b"#");
        to.piece(cell);
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

    /// The value of a cell.
    fn piece(&mut self, cell: &Cell) {
        self.range(cell.start, cell.end);
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
        *byte = separator.filter(|b| matches!(b, b'&' | b';')).unwrap_or(usual);
    }
}

/// Parameters in the order found; those left out are skipped, new ones follow.
fn ordered_query(cells: &Cells, order: &[u8], mut parameter: impl FnMut(&[u8], &[u8])) {
    let mut queries = cells.list.iter().filter_map(|c| match c.key {
        KeyRef::Query(a, b) => Some((cells.bytes(a, b), cells.value(c))),
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
