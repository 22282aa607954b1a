//! Which programs a site runs, from its URLs alone.
//!
//! A signature is a list of scopes: scripts and keys that go together. Each scope is tried at each
//! directory of a URL where it can stand. A program is recognised in a directory, on the hosts of which
//! a share of the URLs there meets its signature, if enough URLs do, by two scopes at least, one of
//! them a mark where the program has marks.
//!
//! Cost: of a site at most [`SAMPLE`] URLs are looked at. A URL is tokenized once, and each of its values and
//! names is looked up in a table of the catalogue; few scopes are compared.

use super::read::{Catalogue, TOKENIZER};
use crate::model::hash64_seeded;
use crate::rules::platforms::{Platforms, Recognised};
use crate::rules::{Constraint, Test};
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Fixed, Key, KeyRef, KeyValues, NormalRef, Part};
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// URLs of a site that are looked at. They come in the order of hashes, so that the first are a random
/// sample.
pub const SAMPLE: usize = 1_000;
/// Scopes of a signature that URLs must meet: what makes it one of scripts and keys that go together.
const MIN_SCOPES: usize = 2;

/// A catalogue in the form in which URLs are compared with it.
#[derive(Debug)]
pub struct Signatures {
    scopes: Vec<Scope>,
    /// Scopes by their anchor.
    anchors: HashMap<u64, Vec<u32>, FixedState>,
    /// Program and whether it has marks.
    programs: Vec<(String, bool)>,
}

#[derive(Debug)]
struct Scope {
    program: u32,
    role: Role,
    anchor: Anchor,
    tests: Vec<(At, Test)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Counts,
    Mark,
    Against,
}

/// Evidence for the directory of a scope.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    /// A value of this segment.
    Segment(usize),
    /// The depth below the directory.
    Depth(usize),
}

/// A key of a scope.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Part of a segment below the directory.
    Path(usize, Part),
    Depth,
    /// Any other key, by its seed.
    Seed(u64),
}

impl Signatures {
    /// Signatures of a catalogue.
    pub fn new(catalogue: &Catalogue) -> Signatures {
        let mut out = Signatures { scopes: Vec::new(), anchors: HashMap::default(), programs: Vec::new() };
        for program in &catalogue.programs {
            let index = out.programs.len() as u32;
            out.programs.push((program.id.clone(), !program.marks.is_empty()));
            let roles =
                [(&program.counts, Role::Counts), (&program.marks, Role::Mark), (&program.against, Role::Against)];
            for (scope, role) in roles.iter().flat_map(|(scopes, role)| scopes.iter().map(move |scope| (scope, *role)))
            {
                let Some((anchor, hashes)) = anchor(scope) else { continue };
                let tests = scope.iter().filter_map(|constraint| Some((at(&constraint.key)?, constraint.test.clone())));
                let number = out.scopes.len() as u32;
                out.scopes.push(Scope { program: index, role, anchor, tests: tests.collect() });
                hashes.into_iter().for_each(|hash| out.anchors.entry(hash).or_default().push(number));
            }
        }
        out
    }
}

/// True for a scope whose directory follows from a URL: see [`anchor`].
pub fn is_anchored(scope: &[Constraint]) -> bool {
    anchor(scope).is_some() && scope.iter().all(|constraint| at(&constraint.key).is_some())
}

/// The anchor of a scope, and the hashes under which it is found: a value of a part of the path; else,
/// with a value of the depth, the name of a parameter or a value of the index.
fn anchor(scope: &[Constraint]) -> Option<(Anchor, Vec<u64>)> {
    let values = |test: &Test| match test {
        Test::Equals(value) => vec![value.clone()],
        Test::OneOf(values) => values.clone(),
        _ => Vec::new(),
    };
    let path = scope.iter().find_map(|Constraint { key, test }| match at(key)? {
        At::Path(segment, part) if part == Part::Head && !values(test).is_empty() => {
            Some((Anchor::Segment(segment), values(test).iter().map(|value| of_segment(value.as_bytes())).collect()))
        }
        _ => None,
    });
    let depth = scope.iter().find_map(|Constraint { key, test }| match (key.as_str(), test) {
        ("depth", Test::Equals(value)) => value.parse::<usize>().ok(),
        _ => None,
    });
    let name = scope.iter().find_map(|Constraint { key, test }| match (Key::parse(key)?, test) {
        (_, Test::Absent | Test::Not(_)) => None,
        (key @ Key::Query(_), _) => Some(vec![key.seed()]),
        _ => None,
    });
    let index = scope.iter().find_map(|Constraint { key, test }| {
        (key == "index" && !values(test).is_empty())
            .then(|| values(test).iter().map(|value| of_index(value.as_bytes())).collect())
    });
    path.or_else(|| Some((Anchor::Depth(depth?), name.or(index)?)))
}

fn of_segment(value: &[u8]) -> u64 {
    hash64_seeded(value, 0x7365_676d)
}

fn of_index(value: &[u8]) -> u64 {
    hash64_seeded(value, 0x696e_6478)
}

fn at(key: &str) -> Option<At> {
    let key = Key::parse(key)?;
    if key.is(Fixed::DEPTH) {
        return Some(At::Depth);
    }
    Some(key.as_path().map_or_else(|| At::Seed(key.seed()), |(segment, part)| At::Path(segment, part)))
}

/// A URL as keys and values.
struct Url<'c> {
    pairs: &'c KeyValues,
    keys: Vec<(u64, &'c [u8])>,
    depth: usize,
}

impl Url<'_> {
    fn get(&self, seed: u64) -> Option<&[u8]> {
        self.keys.iter().find(|(of, _)| *of == seed).map(|(_, value)| *value)
    }

    fn meets(&self, scope: &Scope, directory: usize) -> bool {
        scope.tests.iter().all(|(at, test)| match *at {
            At::Depth => {
                self.depth.checked_sub(directory).is_some_and(|depth| test.holds(Some(depth.to_string().as_bytes())))
            }
            At::Path(segment, part) if segment + directory < MAX_SEGMENTS => {
                test.holds(self.get(Key::Fixed(Fixed::path(segment + directory, part)).seed()))
            }
            At::Path(..) => false,
            At::Seed(seed) => test.holds(self.get(seed)),
        })
    }

    /// Scopes that it meets, and the directory of each: its number of segments.
    fn matches(&self, signatures: &Signatures, out: &mut BTreeSet<(u32, usize)>) {
        out.clear();
        let mut look = |hash: u64, segment: Option<usize>| {
            for &number in signatures.anchors.get(&hash).map_or(&[][..], Vec::as_slice) {
                let scope = &signatures.scopes[number as usize];
                let directory = match (scope.anchor, segment) {
                    (Anchor::Segment(of), Some(segment)) => segment.checked_sub(of),
                    (Anchor::Depth(of), _) => self.depth.checked_sub(of),
                    (Anchor::Segment(_), None) => None,
                };
                if let Some(directory) = directory.filter(|&directory| self.meets(scope, directory)) {
                    out.insert((number, directory));
                }
            }
        };
        for pair in &self.pairs.list {
            let value = self.pairs.value(pair);
            match pair.key {
                KeyRef::Fixed(Fixed::INDEX) => look(of_index(value), None),
                KeyRef::Fixed(fixed) => {
                    if let Some((segment, Part::Head)) = fixed.as_path() {
                        look(of_segment(value), Some(segment));
                    }
                }
                KeyRef::Query(..) => look(self.pairs.seed(pair.key), None),
                KeyRef::Param(..) => {}
            }
        }
    }
}

/// Evidence of a program in a directory on a host.
#[derive(Debug, Default)]
struct Hits {
    urls: u64,
    distinctive: u64,
    against: u64,
    scopes: BTreeSet<u32>,
}

/// The programs of a site, sorted. `urls` come in the order of hashes.
///
/// O(URLs x keys), of [`SAMPLE`] URLs.
pub fn recognise<'u>(
    urls: impl Iterator<Item = NormalRef<'u>>,
    signatures: &Signatures,
    params: &Platforms,
) -> Vec<Recognised> {
    let mut pairs = KeyValues::default();
    let mut seen: Vec<(&str, &[u8])> = Vec::new();
    // Program, directory, host.
    let mut hits: BTreeMap<(u32, &[u8]), BTreeMap<&str, Hits>> = BTreeMap::new();
    let mut scopes = BTreeSet::new();
    for url in urls.take(SAMPLE) {
        url.tokenize(TOKENIZER, &mut pairs);
        let (origin, path) = (url.origin(), url.path());
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        seen.push((host, path));
        let keys: Vec<(u64, &[u8])> = pairs.list.iter().map(|pair| (pairs.seed(pair.key), pairs.value(pair))).collect();
        let depth = keys.iter().find(|(seed, _)| *seed == Key::Fixed(Fixed::DEPTH).seed());
        let depth = depth.and_then(|(_, value)| std::str::from_utf8(value).ok()?.parse().ok()).unwrap_or(0);
        Url { pairs: &pairs, keys, depth }.matches(signatures, &mut scopes);
        let mut counted: BTreeSet<(u32, &[u8])> = BTreeSet::new();
        for &(number, segments) in &scopes {
            let scope = &signatures.scopes[number as usize];
            let Some(directory) = directory(path, segments) else { continue };
            let of = hits.entry((scope.program, directory)).or_default().entry(host).or_default();
            match scope.role {
                Role::Against => of.against += 1,
                role => {
                    of.distinctive += u64::from(role == Role::Mark);
                    of.urls += u64::from(counted.insert((scope.program, directory)));
                    of.scopes.insert(number);
                }
            }
        }
    }
    let mut out = Vec::new();
    for ((program, directory), hosts) in hits {
        let (id, has_distinctive) = &signatures.programs[program as usize];
        let within =
            |host: &str| seen.iter().filter(|(of, path)| *of == host && path.starts_with(directory)).count() as u64;
        let show = |(host, of): &(&&str, &Hits)| of.urls * 1000 >= u64::from(params.share_permille) * within(host);
        let hosts: BTreeMap<&str, &Hits> = hosts.iter().filter(show).map(|(host, of)| (*host, of)).collect();
        let sum = |count: &dyn Fn(&Hits) -> u64| hosts.values().map(|of| count(of)).sum::<u64>();
        let (urls, distinctive, against) = (sum(&|of| of.urls), sum(&|of| of.distinctive), sum(&|of| of.against));
        let scopes: BTreeSet<u32> = hosts.values().flat_map(|of| of.scopes.iter().copied()).collect();
        let enough = urls >= u64::from(params.urls) && scopes.len() >= MIN_SCOPES;
        if !enough || *has_distinctive && distinctive == 0 || against > distinctive {
            continue;
        }
        let all: BTreeSet<&str> =
            seen.iter().filter(|(_, path)| path.starts_with(directory)).map(|(host, _)| *host).collect();
        let named = if all.iter().all(|host| hosts.contains_key(host)) {
            Vec::new()
        } else {
            hosts.keys().map(|host| (*host).to_owned()).collect()
        };
        out.push(Recognised {
            program: id.clone(),
            directory: String::from_utf8_lossy(directory).into_owned(),
            urls: hosts.keys().map(|host| within(host)).sum(),
            hosts: named,
            met: urls,
        });
    }
    out.sort();
    // A program below itself: its directories also contain segments that look like its own.
    let mut kept: Vec<Recognised> = Vec::new();
    for found in out {
        let is_above =
            |above: &Recognised| above.program == found.program && found.directory.starts_with(&above.directory);
        if !kept.iter().any(is_above) {
            kept.push(found);
        }
    }
    kept
}

/// The first segments of a path, with the slash behind them; `None` where an empty segment is among
/// them.
fn directory(path: &[u8], segments: usize) -> Option<&[u8]> {
    let mut end = 1;
    for _ in 0..segments {
        let length = memchr::memchr(b'/', path.get(end..)?)?;
        if length == 0 {
            return None;
        }
        end += length + 1;
    }
    path.get(..end)
}
