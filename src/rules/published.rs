//! Applying the rules of `--method published` (WWW10 section 3).
//!
//! Such a site ([`Tokens::published`](super::types::Tokens::published)) has keys of its own, those of
//! [`keys`], and rules that are all closed: a rule goes from one pattern to another. Its scope and
//! operations name all keys that a URL of the source may have; a key that only an operation names may
//! be there or not. The first rule that matches is the only one that fires (the learner puts those of
//! deeper tree nodes first). The target gets a value where an operation gives one: keep, replace
//! (absent where the source key is absent), or the representative of an ignore, which as published is
//! `*`.
//!
//! A rule does not fire where its target would not be a URL: a label or segment missing below another,
//! or a copied value that would change the shape of the URL in its new place. Where no rule fires the
//! URL is unchanged.
//!
//! Compiled: rules with the same set of fixed keys share one hash table from the values of those keys,
//! so that a URL costs a look-up for each such set, and the other tests run only on the rules found.

pub mod keys;

use super::types::{Operation, Representative, Rule, SiteRules, Test};
use keys::{KeyPosition, KeyTable, PublishedKey, compose, parts};
use std::collections::{BTreeMap, HashMap};

/// Most keys of a site: sets of keys are bits of a `u128`. Rules that need more never match; the
/// learner makes none.
pub const MAX_KEYS: usize = 128;

/// The rules of one site, compiled. `Send + Sync`; applying allocates nothing once the buffers have
/// grown.
#[derive(Clone, Debug, Default)]
pub struct PublishedSite {
    keys: Vec<PublishedKey>,
    table: KeyTable,
    rules: Vec<Compiled>,
    shapes: Vec<Shape>,
}

#[derive(Clone, Debug, Default)]
struct Compiled {
    /// Keys a URL may have, a bit a key.
    named: u128,
    equals: Vec<(usize, Vec<u8>)>,
    tests: Vec<(usize, Test)>,
    writes: Vec<(usize, Write)>,
}

#[derive(Clone, Debug)]
enum Write {
    Value(Vec<u8>),
    WherePresent(Vec<u8>),
    Copy(usize),
}

/// Rules whose `equals` name the same keys.
#[derive(Clone, Debug)]
struct Shape {
    keys: Vec<usize>,
    /// First and following rules, ascending, by the hash of the values.
    rules: HashMap<u64, Vec<u16>, foldhash::fast::FixedState>,
}

/// Values of one URL, by key.
struct Values<'u> {
    of: [Option<&'u [u8]>; MAX_KEYS],
    present: u128,
}

impl PublishedSite {
    /// Compiles the rules of a site. A rule that is not of this method's form (not closed, an unknown key,
    /// more than [`MAX_KEYS`] keys or 65,535 rules) never matches.
    pub fn new(site: &SiteRules) -> PublishedSite {
        let mut keys: Vec<PublishedKey> = site.rules.iter().flat_map(named).filter_map(PublishedKey::parse).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.truncate(MAX_KEYS);
        let rules: Vec<Compiled> = site.rules.iter().map(|rule| compile(rule, &keys).unwrap_or_default()).collect();
        let mut shapes: BTreeMap<Vec<usize>, HashMap<u64, Vec<u16>, _>> = BTreeMap::new();
        for (index, rule) in rules.iter().enumerate().take(usize::from(u16::MAX)) {
            // A rule that names no scheme and host matches no URL.
            if rule.named != 0 {
                let fixed = rule.equals.iter().map(|e| e.0).collect();
                let hash = rule.equals.iter().fold(0, |hash, (_, value)| chain(hash, value));
                shapes.entry(fixed).or_default().entry(hash).or_default().push(index as u16);
            }
        }
        let shapes = shapes.into_iter().map(|(keys, rules)| Shape { keys, rules }).collect();
        PublishedSite { table: KeyTable::new(&keys), keys, rules, shapes }
    }

    /// Writes the canonical form of a normal URL into `out` (cleared first); returns the index of
    /// the rule that fired. Total: a URL that no rule matches is copied.
    pub fn canonicalize(&self, url: &[u8], out: &mut Vec<u8>) -> Option<u16> {
        out.clear();
        if let Some(values) = self.values(url)
            && let Some(index) = self.first_match(&values)
        {
            if self.rules[usize::from(index)].write(&self.keys, &values, out) {
                return Some(index);
            }
            out.clear();
        }
        out.extend_from_slice(url);
        None
    }

    /// The values of a URL; `None` where it has a key that no rule names.
    fn values<'u>(&self, url: &'u [u8]) -> Option<Values<'u>> {
        let mut values = Values { of: [None; MAX_KEYS], present: 0 };
        let mut known = true;
        let mut numbers = [0u32; MAX_KEYS];
        let whole = parts(url, |place, name, value| {
            match known.then(|| self.table.find_in(place, name, &mut numbers)).flatten() {
                Some(key) => {
                    values.of[key as usize] = Some(value);
                    values.present |= 1 << key;
                }
                None => known = false,
            }
        });
        (whole && known).then_some(values)
    }

    fn first_match(&self, values: &Values<'_>) -> Option<u16> {
        let mut best = None;
        for shape in &self.shapes {
            let hash = shape.keys.iter().try_fold(0, |hash, &key| Some(chain(hash, values.of[key]?)));
            let found = hash.and_then(|hash| shape.rules.get(&hash)).into_iter().flatten().copied();
            let mut below = found.take_while(|&rule| best.is_none_or(|b| rule < b));
            best = below.find(|&rule| self.rules[usize::from(rule)].matches(values)).or(best);
        }
        best
    }
}

impl Compiled {
    fn matches(&self, values: &Values<'_>) -> bool {
        values.present & !self.named == 0
            && self.equals.iter().all(|(key, value)| values.of[*key] == Some(value.as_slice()))
            && self.tests.iter().all(|(key, test)| holds(test, values.of[*key]))
    }

    fn write(&self, keys: &[PublishedKey], values: &Values<'_>, out: &mut Vec<u8>) -> bool {
        let mut target = [None; MAX_KEYS];
        for (key, write) in &self.writes {
            target[*key] = match write {
                Write::Value(value) => Some(value.as_slice()),
                Write::WherePresent(value) => values.of[*key].map(|_| value.as_slice()),
                Write::Copy(from) => {
                    let value = values.of[*from];
                    if value.is_some_and(|v| !fits(v, &keys[*from], &keys[*key])) {
                        return false;
                    }
                    value
                }
            };
        }
        compose(keys, |key| target[key], out)
    }
}

/// All keys that a rule names.
fn named(rule: &Rule) -> impl Iterator<Item = &str> {
    let sources = rule.operations.iter().filter_map(|(_, operation)| match operation {
        Operation::Replace(from) => Some(from.as_str()),
        _ => None,
    });
    let targets = rule.operations.iter().map(|o| o.0.as_str());
    rule.scope.iter().map(|c| c.key.as_str()).chain(targets).chain(sources)
}

fn compile(rule: &Rule, keys: &[PublishedKey]) -> Option<Compiled> {
    let find = |text: &str| keys.binary_search(&PublishedKey::parse(text)?).ok();
    let mut out = Compiled::default();
    for key in named(rule) {
        out.named |= 1 << find(key)?;
    }
    for constraint in &rule.scope {
        let key = find(&constraint.key)?;
        match &constraint.test {
            Test::Equals(value) => out.equals.push((key, value.as_bytes().to_vec())),
            test => out.tests.push((key, test.clone())),
        }
    }
    for (name, operation) in &rule.operations {
        let write = match operation {
            Operation::Keep(value) => Write::Value(value.as_bytes().to_vec()),
            Operation::Replace(from) => Write::Copy(find(from)?),
            Operation::Ignore(Representative::Everywhere(value)) => Write::Value(value.as_bytes().to_vec()),
            Operation::Ignore(Representative::WherePresent(value)) => Write::WherePresent(value.as_bytes().to_vec()),
            Operation::Ignore(Representative::LeftOut) => continue,
            Operation::Classes(_) | Operation::Apply(_) => return None,
        };
        out.writes.push((find(name)?, write));
    }
    out.equals.sort_unstable();
    rule.closed.then_some(out)
}

fn holds(test: &Test, value: Option<&[u8]>) -> bool {
    let within = |list: &[String], value: &[u8]| list.binary_search_by(|item| item.as_bytes().cmp(value)).is_ok();
    match (test, value) {
        (Test::Absent, value) => value.is_none(),
        (Test::Not(list), value) => value.is_none_or(|value| !within(list, value)),
        (_, None) => false,
        (Test::Present, Some(_)) => true,
        (Test::Equals(wanted), Some(value)) => wanted.as_bytes() == value,
        (Test::OneOf(list), Some(value)) => within(list, value),
        (Test::NoneOf(list), Some(value)) => !within(list, value),
    }
}

/// True where a value may be written under another key without changing the shape of the URL.
fn fits(value: &[u8], from: &PublishedKey, to: &PublishedKey) -> bool {
    let free_of = |forbidden: &[u8]| !value.iter().any(|b| forbidden.contains(b));
    match (from.place, to.place) {
        (KeyPosition::Query, KeyPosition::Query) | (_, KeyPosition::Fragment) => true,
        (KeyPosition::Auth(_), KeyPosition::Auth(_))
        | (KeyPosition::Path(_), KeyPosition::Path(_))
        | (KeyPosition::Scheme, KeyPosition::Scheme) => true,
        (_, KeyPosition::Scheme) => value == b"http" || value == b"https",
        (_, KeyPosition::EmptyQuery) => value.is_empty(),
        (_, KeyPosition::Auth(_)) => {
            let label = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
            !value.is_empty() && value.iter().all(label)
        }
        (_, KeyPosition::Path(_)) => free_of(b"/?#") && !matches!(value, b"." | b".."),
        (_, KeyPosition::Query) => free_of(b"&#"),
    }
}

/// Hash of a list of values, one after the other.
fn chain(hash: u64, value: &[u8]) -> u64 {
    crate::model::hash64_seeded(value, hash)
}
