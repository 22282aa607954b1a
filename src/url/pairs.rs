//! The key-value pairs of a URL as owned values, for code that is read rather than timed; [`Cells`]
//! holds the same pairs as ranges of one text.

use super::keys::{Key, KeyRef};
use super::{Cell, Cells, Cut, NormalUrl, compose, set_order};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Keys with their values, without regard to their order: equal for URLs that look-ups and exceptions
/// take for one.
pub type Identity = BTreeMap<Key, Vec<u8>>;

/// The key-value pairs of a URL, each key once: fixed keys in their order, then path parameters as
/// found, then query keys in the usual order of the site and else by name.
#[derive(Clone, Debug)]
pub struct Pairs<'o> {
    list: Vec<(Key, Vec<u8>)>,
    order: &'o [String],
    cut: Cut,
}

impl<'o> Pairs<'o> {
    /// Cuts a URL. `order` is the site's usual order of query names; a URL that has another one holds its
    /// names, joined by `&`, under the key `order`.
    pub fn cut(url: &NormalUrl, cut: Cut, order: &'o [String]) -> Pairs<'o> {
        let mut cells = Cells { text: url.as_bytes().to_vec(), ..Cells::default() };
        cells.cut(url.split(), cut);
        set_order(&mut cells, |cells, at| rank(order, &cells.key(&cells.list[at])));
        let pair = |cell: &Cell| (cells.key(cell), cells.value(cell).to_vec());
        let mut pairs = Pairs { list: cells.list.iter().map(pair).collect(), order, cut };
        pairs.sort();
        pairs
    }

    /// No pair, of the same site.
    pub fn without_pairs(&self) -> Pairs<'o> {
        Pairs { list: Vec::new(), order: self.order, cut: self.cut }
    }

    /// The value of a key; `None` where it is absent.
    pub fn get(&self, key: &Key) -> Option<&[u8]> {
        self.list.iter().find(|pair| pair.0 == *key).map(|pair| pair.1.as_slice())
    }

    /// Gives a key a value, or takes it out.
    pub fn set(&mut self, key: Key, value: Option<Vec<u8>>) {
        match (self.list.iter().position(|pair| pair.0 == key), value) {
            (Some(at), Some(value)) => self.list[at].1 = value,
            (Some(at), None) => drop(self.list.remove(at)),
            (None, Some(value)) => {
                self.list.push((key, value));
                self.sort();
            }
            (None, None) => {}
        }
    }

    /// The pairs in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &[u8])> {
        self.list.iter().map(|(key, value)| (key, value.as_slice()))
    }

    /// The keys in their order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.list.iter().map(|pair| &pair.0)
    }

    /// The pairs without regard to their order.
    pub fn identity(&self) -> Identity {
        self.list.iter().cloned().collect()
    }

    /// The URL that the pairs compose: of pairs that were cut and not changed, the URL that they were cut
    /// from.
    pub fn compose(&self) -> Vec<u8> {
        let Cut { query_path, joined_by_semicolons, .. } = self.cut;
        let mut cells = Cells { query_path, joined_by_semicolons, ..Cells::default() };
        let mut out = Vec::new();
        for (key, value) in &self.list {
            let mut range = |bytes: &[u8]| {
                let start = cells.text.len() as u32;
                cells.text.extend_from_slice(bytes);
                (start, cells.text.len() as u32)
            };
            let key = match key {
                Key::Fixed(fixed) => KeyRef::Fixed(*fixed),
                Key::Param(name) => {
                    let (start, end) = range(name.as_bytes());
                    KeyRef::Param(start, end)
                }
                Key::Query(name) => {
                    let (start, end) = range(name.as_bytes());
                    KeyRef::Query(start, end)
                }
            };
            let (start, end) = range(value);
            cells.list.push(Cell { key, start, end });
        }
        compose(&cells, &mut out);
        out
    }

    fn sort(&mut self) {
        let Pairs { list, order, .. } = self;
        list.sort_by(|(a, _), (b, _)| match (a, b) {
            (Key::Query(_), Key::Query(_)) => (rank(order, a), a).cmp(&(rank(order, b), b)),
            (Key::Param(_), Key::Param(_)) => Ordering::Equal,
            _ => a.cmp(b),
        });
    }
}

/// Place of a query key in the usual order; behind all others where it has none.
fn rank(order: &[String], key: &Key) -> u32 {
    let place = |name: &String| order.iter().rposition(|of| of == name);
    match key {
        Key::Query(name) => place(name).map_or(u32::MAX, |at| at as u32),
        Key::Fixed(_) | Key::Param(_) => u32::MAX,
    }
}
