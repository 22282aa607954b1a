//! Lines in the directory in which their program was recognised.

use crate::rules::platforms::{Line, Recognised, Status};
use crate::rules::{Constraint, Operation, Test};
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Fixed, Key, KeyValues, NormalUrl, Tokenizer};

/// A line in a directory of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Name of the line.
    pub line: String,
    /// True if it is a candidate by default.
    pub tested: bool,
    /// Its scope, sorted.
    pub scope: Vec<Constraint>,
    /// Its operations, sorted by key.
    pub operations: Vec<(String, Operation)>,
}

/// The line in the directory that was recognised, for URLs that are tokenized like this; `None` where the
/// path is too deep for keys, or the line needs the whole values of parameters whose ends are keys.
pub fn place(line: &Line, found: &Recognised, tokenizer: Tokenizer) -> Option<Placed> {
    let of_scope = line.scope.iter().filter(|of| !matches!(of.test, Test::Present | Test::Absent)).map(|of| &of.key);
    let mut keys = of_scope.chain(line.operations.iter().map(|of| &of.0));
    if keys.any(|key| key.strip_prefix("query ").is_some_and(|name| tokenizer.value_ends.has(name.as_bytes()))) {
        return None;
    }
    let directory = directory(&found.directory, tokenizer)?;
    let by = directory.depth;
    let mut scope = directory.scope;
    for Constraint { key, test } in &line.scope {
        scope.push(Constraint {
            key: moved(key, by)?,
            test: if key == "depth" { deeper(test, by)? } else { test.clone() },
        });
    }
    match &found.hosts[..] {
        [] => {}
        [host] => scope.push(Constraint { key: "host".to_owned(), test: Test::Equals(host.clone()) }),
        hosts => scope.push(Constraint { key: "host".to_owned(), test: Test::OneOf(hosts.to_vec()) }),
    }
    scope.sort();
    let mut operations = line.operations.clone();
    operations.sort();
    Some(Placed { line: line.name(), tested: line.status == Status::Tested, scope, operations })
}

/// A directory as constraints.
struct Directory {
    scope: Vec<Constraint>,
    depth: usize,
}

fn directory(path: &str, tokenizer: Tokenizer) -> Option<Directory> {
    let url = NormalUrl::new(["http://h", path].concat().as_bytes()).ok()?;
    let mut pairs = KeyValues { text: url.as_bytes().to_vec(), ..KeyValues::default() };
    pairs.tokenize(url.split(), tokenizer);
    let mut out = Directory { scope: Vec::new(), depth: 0 };
    for pair in &pairs.list {
        let (key, value) = (pairs.key(pair), String::from_utf8_lossy(pairs.value(pair)).into_owned());
        if key.is(Fixed::DEPTH) {
            out.depth = value.parse().ok()?;
        } else if key.as_path().is_some() {
            out.scope.push(Constraint { key: key.to_string(), test: Test::Equals(value) });
        }
    }
    Some(out)
}

/// A key of an installation at the root, so many segments further down.
fn moved(key: &str, by: usize) -> Option<String> {
    match Key::parse(key)?.as_path() {
        None => Some(key.to_owned()),
        Some((segment, _)) if segment + by >= MAX_SEGMENTS => None,
        Some((segment, part)) => Some(Key::Fixed(Fixed::path(segment + by, part)).to_string()),
    }
}

/// A test of the depth, so many segments further down.
fn deeper(test: &Test, by: usize) -> Option<Test> {
    let one = |value: &String| Some((value.parse::<usize>().ok()? + by).to_string());
    let all = |values: &[String]| {
        let mut values = values.iter().map(one).collect::<Option<Vec<String>>>()?;
        values.sort();
        Some(values)
    };
    Some(match test {
        Test::Equals(value) => Test::Equals(one(value)?),
        Test::OneOf(values) => Test::OneOf(all(values)?),
        Test::NoneOf(values) => Test::NoneOf(all(values)?),
        Test::Not(values) => Test::Not(all(values)?),
        Test::Present | Test::Absent => test.clone(),
    })
}
