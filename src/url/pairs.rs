//! The key-value pairs of a URL as owned values, for code that is read rather than timed; [`KeyValues`]
//! holds the same pairs as ranges of one text.

use super::keys::{Key, KeyRef};
use super::{KeyValue, KeyValues, NormalUrl, Tokenizer, compose, set_order};
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
    tokenizer: Tokenizer,
}

impl<'o> Pairs<'o> {
    /// Tokenizes a URL. `order` is the site's usual order of query names; a URL that has another one holds its
    /// names, joined by `&`, under the key `order`.
    pub fn tokenize(url: &NormalUrl, tokenizer: Tokenizer, order: &'o [String]) -> Pairs<'o> {
        let mut pairs = KeyValues { text: url.as_bytes().to_vec(), ..KeyValues::default() };
        pairs.tokenize(url.split(), tokenizer);
        set_order(&mut pairs, |pairs, at| rank(order, &pairs.key(&pairs.list[at])));
        let pair = |pair: &KeyValue| (pairs.key(pair), pairs.value(pair).to_vec());
        let mut pairs = Pairs { list: pairs.list.iter().map(pair).collect(), order, tokenizer };
        pairs.sort();
        pairs
    }

    /// No pair, of the same site.
    pub fn without_pairs(&self) -> Pairs<'o> {
        Pairs { list: Vec::new(), order: self.order, tokenizer: self.tokenizer }
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

    /// The URL that the pairs compose: of pairs that were tokenized and not changed, the URL that they were tokenized
    /// from.
    pub fn compose(&self) -> Vec<u8> {
        let Tokenizer { query_path, joined_by_semicolons, value_ends, .. } = self.tokenizer;
        let value_ends = !value_ends.is_empty();
        let mut pairs = KeyValues { query_path, joined_by_semicolons, value_ends, ..KeyValues::default() };
        let mut out = Vec::new();
        for (key, value) in &self.list {
            let mut range = |bytes: &[u8]| {
                let start = pairs.text.len() as u32;
                pairs.text.extend_from_slice(bytes);
                (start, pairs.text.len() as u32)
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
            pairs.list.push(KeyValue { key, start, end });
        }
        compose(&pairs, &mut out);
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
