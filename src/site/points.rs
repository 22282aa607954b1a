//! Points: the URLs that rules make, tokenized, and grouped by all their keys but one. Input of
//! [`super::value_ranges`].

use super::columns::Ranks;
use super::reduced::Identity;
use crate::model::hash64_seeded;
use crate::rules::Tokens;
use crate::rules::value_ranges::{inner_number, number, range_group};
use crate::url::keys::is_family;
use crate::url::{Fixed, Key, KeyRef, KeyValue, KeyValues, NormalRef, Tokenizer, set_order};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Value of the subject in one URL, with a hash in place of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Absent,
    Number(u64),
    Text(u64),
}

/// One reduced URL in one group: all of it but one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    /// Hash of all other keys.
    pub(super) group: u64,
    pub(super) value: Value,
    /// Its cluster; `None` for a page of several.
    pub(super) label: Option<u32>,
    /// Index among the identities.
    pub(super) identity: u32,
}

/// The part by which URLs of one group differ: the value of a key, or the number at the end of the
/// value, behind text that is common to the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject {
    pub(super) key: Key,
    pub(super) inner: bool,
}

impl Subject {
    /// The group of a URL of this identity, the sum of the hashes of its pairs, and the value of the
    /// subject in it. `pair` is the hash and the value of the key.
    fn group(&self, identity: u64, pair: Option<(u64, &[u8])>) -> Option<(u64, Value)> {
        let seed = self.key.seed();
        match pair {
            Some((hash, value)) if self.inner => inner_point(identity, hash, value, seed),
            Some((hash, value)) => {
                let value = number(value).map_or(Value::Text(hash), Value::Number);
                Some((range_group(identity, hash, seed), value))
            }
            None if self.key.optional() && !self.inner => Some((range_group(identity, 0, seed), Value::Absent)),
            None => None,
        }
    }
}

/// The group of a value with an inner number, and the number.
fn inner_point(identity: u64, hash: u64, value: &[u8], seed: u64) -> Option<(u64, Value)> {
    let (text, number) = inner_number(value)?;
    // Another seed than that of whole values: the text may be one.
    let group = range_group(identity, hash, seed).wrapping_add(hash64_seeded(text, seed.rotate_left(7)));
    Some((group, Value::Number(number)))
}

/// The values of a URL, by key in the notation of rules.
pub type Values = HashMap<String, Vec<u8>, FixedState>;

/// Cuts reduced URLs.
pub struct Reader {
    tokenizer: Tokenizer,
    ranks: Ranks,
    pairs: KeyValues,
}

impl Reader {
    /// A reader for URLs of a site that is tokenized with these tokens.
    pub fn new(tokens: &Tokens) -> Reader {
        Reader { tokenizer: tokens.tokenizer(), ranks: Ranks::new(tokens), pairs: KeyValues::default() }
    }

    /// The values of parameters, repeats and members of a family each, and those of parts of the path, that are
    /// numbers; sorted.
    pub fn numbers(&mut self, url: NormalRef<'_>) -> Vec<Vec<u8>> {
        let mut pairs = std::mem::take(&mut self.pairs);
        let mut out = Vec::new();
        self.read(url, &mut pairs);
        let counts = |key: KeyRef| !matches!(key, KeyRef::Fixed(fixed) if fixed.as_path().is_none());
        let values = pairs.list.iter().filter(|pair| counts(pair.key)).flat_map(|pair| {
            let is_named = matches!(pair.key, KeyRef::Query(a, b) if is_family(pairs.bytes(a, b)));
            let behind_name = |part: &'_ [u8]| memchr::memchr(b'=', part).map_or(0, |at| at + 1);
            let parts = pairs.value(pair).split(|&byte| byte == b'&').enumerate();
            parts.map(move |(at, part)| &part[if is_named || at > 0 { behind_name(part) } else { 0 }..])
        });
        out.extend(
            values.filter(|value| !value.is_empty() && value.iter().all(u8::is_ascii_digit)).map(<[u8]>::to_vec),
        );
        out.sort_unstable();
        self.pairs = pairs;
        out
    }

    /// The values of a URL, by key; of a key that comes again the last.
    pub fn values(&mut self, url: NormalRef<'_>) -> Values {
        let mut pairs = std::mem::take(&mut self.pairs);
        self.read(url, &mut pairs);
        let text = |pair| (pairs.key(pair).to_string(), pairs.value(pair).to_vec());
        let out = pairs.list.iter().map(text).collect();
        self.pairs = pairs;
        out
    }

    /// Calls `found` with the seed and the value of each key of a URL, of a key that comes again each time.
    /// The seed is that of [`Key::seed`].
    pub fn each(&mut self, url: NormalRef<'_>, mut found: impl FnMut(u64, &[u8])) {
        let mut pairs = std::mem::take(&mut self.pairs);
        self.read(url, &mut pairs);
        pairs.list.iter().for_each(|pair| found(pairs.seed(pair.key), pairs.value(pair)));
        self.pairs = pairs;
    }

    fn read(&self, url: NormalRef<'_>, pairs: &mut KeyValues) {
        url.tokenize(self.tokenizer, pairs);
        set_order(pairs, |pairs, at| self.ranks.of(pairs.seed(pairs.list[at].key)));
    }

    /// What the URL of `best` has in place of the subject in that of `at`: nothing, or another key with a
    /// number. `None` where anything else differs.
    pub(super) fn lead(&self, identities: &[Identity], subject: &Subject, at: usize, best: usize) -> Option<Lead> {
        let [mut own, mut page] = [KeyValues::default(), KeyValues::default()];
        self.read(identities[at].composed.by_ref(), &mut own);
        self.read(identities[best].composed.by_ref(), &mut page);
        let [own, of_page] = [&own, &page].map(hashes);
        let differ = |pairs: &[(u64, u64)], others: &[(u64, u64)]| -> Vec<usize> {
            (0..pairs.len()).filter(|&i| !others.contains(&pairs[i])).collect()
        };
        match (&differ(&own, &of_page)[..], &differ(&of_page, &own)[..]) {
            (&[gone], added) if own[gone].0 == subject.key.seed() => match *added {
                [] => Some(Lead::default()),
                [at] => {
                    let pair = page.list[at];
                    let number = number(page.value(&pair)).filter(|_| page.key(&pair).optional())?;
                    Some(Lead { key: of_page[at].0, number: Some(number) })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Subjects in which at least `least` identities of one cluster differ alone; sorted.
    pub(super) fn repeating(&self, identities: &[Identity], least: u64) -> Vec<Subject> {
        let mut by_cluster: Vec<(u32, u32)> =
            (0..).zip(identities).filter(|(_, i)| i.pure).map(|(at, i)| (i.majority, at)).collect();
        by_cluster.sort_unstable();
        let mut pairs = KeyValues::default();
        let mut found: Vec<((u64, bool), u64)> = Vec::new();
        let mut repeats: HashMap<(u64, bool), (Key, u64), FixedState> = HashMap::default();
        let mut names: HashMap<u64, Key, FixedState> = HashMap::default();
        for cluster in by_cluster.chunk_by(|a, b| a.0 == b.0).filter(|c| c.len() > 1) {
            found.clear();
            for &(_, at) in cluster {
                self.read(identities[at as usize].composed.by_ref(), &mut pairs);
                let hashes: Vec<(u64, u64)> = hashes(&pairs);
                let identity = hashes.iter().fold(0u64, |sum, h| sum.wrapping_add(h.1));
                for (pair, &(seed, hash)) in pairs.list.iter().zip(&hashes) {
                    found.push(((seed, false), range_group(identity, hash, seed)));
                    let inner = inner_point(identity, hash, pairs.value(pair), seed);
                    found.extend(inner.map(|(group, _)| ((seed, true), group)));
                    names.entry(seed).or_insert_with(|| pairs.key(pair));
                }
            }
            found.sort_unstable();
            for same in found.chunk_by(|a, b| a == b).filter(|s| s.len() > 1) {
                let subject = same[0].0;
                repeats.entry(subject).or_insert_with(|| (names[&subject.0].clone(), 0)).1 += same.len() as u64 - 1;
            }
        }
        let mut subjects: Vec<Subject> = repeats
            .into_iter()
            .filter(|(_, (key, n))| eligible(key) && *n >= least)
            .map(|((_, inner), (key, _))| Subject { key, inner })
            .collect();
        subjects.sort_unstable();
        subjects
    }

    /// The points of each subject, sorted; groups that only URLs without the key are in have one.
    pub(super) fn points(&self, identities: &[Identity], subjects: &[Subject]) -> Vec<Vec<Point>> {
        let seeds: Vec<u64> = subjects.iter().map(|subject| subject.key.seed()).collect();
        let mut out: Vec<Vec<Point>> = vec![Vec::new(); subjects.len()];
        let mut pairs = KeyValues::default();
        for (at, identity) in (0..).zip(identities) {
            self.read(identity.composed.by_ref(), &mut pairs);
            let hashes = hashes(&pairs);
            let sum = hashes.iter().fold(0u64, |sum, h| sum.wrapping_add(h.1));
            let label = identity.pure.then_some(identity.majority);
            for (k, &seed) in seeds.iter().enumerate() {
                let at_key = hashes.iter().position(|h| h.0 == seed);
                let pair = at_key.map(|i| (hashes[i].1, pairs.value(&pairs.list[i])));
                let point = subjects[k].group(sum, pair);
                out[k].extend(point.map(|(group, value)| Point { group, value, label, identity: at }));
            }
        }
        out.iter_mut().for_each(|points| points.sort_unstable());
        out
    }
}

/// Seed of the key and hash of the value of each pair.
fn hashes(pairs: &KeyValues) -> Vec<(u64, u64)> {
    let pair = |pair: &KeyValue| {
        let seed = pairs.seed(pair.key);
        (seed, hash64_seeded(pairs.value(pair), seed))
    };
    pairs.list.iter().map(pair).collect()
}

/// Keys whose values may mean one page here and several there.
fn eligible(key: &Key) -> bool {
    key.optional() || key.as_path().is_some() || key.is(Fixed::EXTENSION) || key.is(Fixed::FRAGMENT)
}

/// The points of a group that are numbers, ascending: number, cluster, identity.
pub(super) fn numbers(group: &[Point]) -> Vec<(u64, Option<u32>, u32)> {
    let number = |p: &Point| match p.value {
        Value::Number(n) => Some((n, p.label, p.identity)),
        _ => None,
    };
    group.iter().filter_map(number).collect()
}

/// What the page of a cluster has in place of the key of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lead {
    /// Seed of the key with the number.
    pub(super) key: u64,
    /// The number; `None` where the page has no such key, as a first page.
    pub(super) number: Option<u64>,
}
