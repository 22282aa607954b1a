//! Translation of adopted operations on codes into rules, and the order of those of scheme and host.

use super::Training;
use super::covering::Covering;
use super::evidence::upper_bound_ppm;
use super::operations::Map;
use super::proposal::{Action, Adopted, AdoptedLine, Condition};
use super::section_set::SectionSet;
use crate::platforms::read;
use crate::rules::{Constraint, Evidence, Kind, Operation, Representative, Rule, SECTION, Test, functions};
use crate::url::{Fixed, Key};
use std::collections::BTreeSet;

/// The rules of the adopted operations, in the order in which they act; their ids are still empty.
pub fn rules(covering: &Covering, training: &Training) -> Vec<Rule> {
    let mut rules: Vec<Rule> = covering.rules.iter().map(|adopted| rule(covering, training, adopted)).collect();
    order_scheme_and_hosts(&mut rules, &training.origins);
    rules
}

/// Moves the rule of the scheme behind rules of hosts, or before them, where it can act only there. No rule
/// leads to an origin that was not met: of `http://a`, `https://a` and `http://b`, the last becomes
/// `http://a` and then `https://a`, and never the other way round; of `https://a`, `http://b` and `https://b`
/// it is the second that takes the other way. Nothing moves past a rule of hosts that needs the order as it is.
fn order_scheme_and_hosts(rules: &mut [Rule], origins: &BTreeSet<String>) {
    let one = |rule: &Rule| match &rule.operations[..] {
        [(key, operation)] => Some((key.clone(), operation.clone())),
        _ => None,
    };
    let scheme_of = |rule: &Rule| match one(rule)? {
        (key, Operation::Ignore(Representative::WherePresent(scheme))) if key == "scheme" => Some(scheme),
        _ => None,
    };
    let Some((at, scheme)) = rules.iter().enumerate().find_map(|(at, rule)| Some((at, scheme_of(rule)?))) else {
        return;
    };
    let is_met = |scheme: &str, host: &str| origins.contains(&format!("{scheme}://{host}"));
    // Whether some origin can move only where the host changes first, and some only where the scheme does.
    let needs = |rule: &Rule| {
        let Some((_, operation)) = one(rule).filter(|(key, _)| key == "host") else { return (false, false) };
        let ways = origins.iter().filter_map(|origin| {
            let (from, host) = origin.split_once("://").filter(|(from, _)| *from != scheme)?;
            Some((is_met(from, &host_under(&operation, host)?), is_met(&scheme, host)))
        });
        ways.fold((false, false), |needs, (host, by_scheme)| (needs.0 | host & !by_scheme, needs.1 | by_scheme & !host))
    };
    let needs: Vec<(bool, bool)> = rules.iter().map(needs).collect();
    let behind = (at + 1..rules.len()).take_while(|&place| !needs[place].1).filter(|&place| needs[place].0).last();
    let before = (0..at).rev().take_while(|&place| !needs[place].0).filter(|&place| needs[place].1).last();
    match (behind, before) {
        (Some(behind), _) => rules[at..=behind].rotate_left(1),
        (None, Some(before)) => rules[before..=at].rotate_right(1),
        (None, None) => {}
    }
}

/// The host that an operation makes of another; `None` where it leaves it.
fn host_under(operation: &Operation, host: &str) -> Option<String> {
    let to = match operation {
        Operation::Ignore(Representative::WherePresent(to)) => to.clone(),
        Operation::Classes(pairs) => pairs.iter().find(|pair| pair.0.as_deref() == Some(host))?.1.clone()?,
        Operation::Apply(function) => {
            let mut to = Vec::new();
            functions::apply(*function, host.as_bytes(), &mut to).then_some(())?;
            String::from_utf8(to).ok()?
        }
        _ => return None,
    };
    (to != host).then_some(to)
}

/// The rule of one adopted operation; its id is still empty.
fn rule(covering: &Covering, training: &Training, adopted: &Adopted) -> Rule {
    if let Some(AdoptedLine { placed, provisional }) = &adopted.line {
        let counts = (adopted.good, adopted.bad, adopted.prior);
        let evidence = evidence(training, counts, adopted.pairs, adopted.clusters, &adopted.examples);
        return Rule { provisional: *provisional, evidence, ..read::rule(placed) };
    }
    let columns = &covering.columns;
    let key = |k: usize| columns.keys[k].to_string();
    let mut operations: Vec<(String, Operation)> =
        adopted.maps.iter().map(|(k, map)| (key(*k), operation(covering, adopted, *k, map))).collect();
    // A table whose entries all went, one by one, moves nothing.
    operations.retain(|(_, operation)| *operation != Operation::Classes(Vec::new()));
    operations.sort();
    let kind = match adopted.action {
        Action::Ignore | Action::Prefix(_) => Kind::Ignore,
        Action::Classes => Kind::Classes,
        Action::Function(_) if operations.iter().any(|of| matches!(of.1, Operation::Apply(_))) => Kind::Function,
        Action::Function(_) => Kind::Classes,
    };
    Rule {
        kind,
        evidence: evidence(
            training,
            (adopted.good, adopted.bad, adopted.prior),
            adopted.pairs,
            adopted.clusters,
            &adopted.examples,
        ),
        ..Rule::of("", of_files(covering, adopted, scope(covering, adopted)), operations)
    }
}

/// Scope of a rule that gives an extension to URLs that have none, restricted to files: `/` and `/a/`
/// stay directories.
fn of_files(covering: &Covering, adopted: &Adopted, mut scope: Vec<Constraint>) -> Vec<Constraint> {
    let gives = |(k, map): &(usize, Map)| covering.columns.keys[*k].is(Fixed::EXTENSION) && map.get(0) != 0;
    if adopted.maps.iter().any(gives) {
        let is_root = Test::NoneOf(vec!["0".to_owned()]);
        for (key, test) in [(Fixed::DEPTH, is_root), (Fixed::TRAILING_SLASH, Test::Absent)] {
            let key = Key::Fixed(key).to_string();
            if !scope.iter().any(|constraint| constraint.key == key) {
                scope.push(Constraint { key, test });
            }
        }
        scope.sort();
    }
    scope
}

/// Evidence as a rule file records it.
pub fn evidence(
    training: &Training,
    (good, bad, prior): (u64, u64, u64),
    (support_pairs, false_positive_pairs): (u64, u64),
    clusters: u64,
    examples: &[[u32; 2]],
) -> Evidence {
    let url = |row: u32| String::from_utf8_lossy(training.url(row as usize)).into_owned();
    Evidence {
        good,
        bad,
        prior: prior as u32,
        support_pairs,
        false_positive_pairs,
        upper_bound_ppm: upper_bound_ppm(bad, good + bad + prior),
        clusters,
        examples: examples.iter().map(|pair| pair.map(url)).collect(),
    }
}

/// Constraints of a scope, sorted by key.
fn scope(covering: &Covering, Adopted { scope, sections, action, maps, .. }: &Adopted) -> Vec<Constraint> {
    let columns = &covering.columns;
    let texts = |k: usize, codes: &[u32]| {
        let mut values: Vec<String> = codes.iter().filter_map(|&code| columns.text(k, code)).collect();
        values.sort();
        values
    };
    let test = |k: usize, condition: &Condition| match condition {
        Condition::Is(code) => columns.text(k, *code).map_or(Test::Absent, Test::Equals),
        Condition::Present => Test::Present,
        Condition::Absent => Test::Absent,
        Condition::OneOf(codes) => Test::OneOf(texts(k, codes)),
        Condition::Not(codes) => Test::Not(texts(k, codes)),
        Condition::None(codes) => Test::NoneOf(texts(k, codes)),
    };
    let mut out: Vec<Constraint> =
        scope.iter().map(|(k, c)| Constraint { key: columns.keys[*k].to_string(), test: test(*k, c) }).collect();
    let names = |sections: &[u32]| sections.iter().map(|&at| columns.sections.names[at as usize].clone()).collect();
    let sections = match sections {
        SectionSet::Except(sections) if sections.is_empty() => None,
        SectionSet::Except(sections) => Some(Test::NoneOf(names(sections))),
        SectionSet::In(sections) => Some(Test::OneOf(names(sections))),
    };
    out.extend(sections.map(|test| Constraint { key: SECTION.to_owned(), test }));
    // A path deeper than any in training would keep its depth and lose its segments.
    let is_depth = |(key, _): &&(usize, Map)| columns.keys[*key].is(Fixed::DEPTH);
    if let (Action::Prefix(_), Some((key, map))) = (action, maps.iter().find(is_depth)) {
        let deeper = (0..columns.codes_len(*key) as u32).filter(|&code| map.get(code) != code);
        let depths: BTreeSet<String> = deeper.filter_map(|code| columns.text(*key, code)).collect();
        let key = columns.keys[*key].to_string();
        out.push(Constraint { key, test: Test::OneOf(depths.into_iter().collect()) });
    }
    out.sort();
    out
}

fn operation(covering: &Covering, adopted: &Adopted, key: usize, map: &Map) -> Operation {
    let columns = &covering.columns;
    match (adopted.action, map) {
        (Action::Ignore | Action::Prefix(_) | Action::Classes, Map::To { .. }) => {
            Operation::Ignore(map.representative(columns, key))
        }
        (Action::Function(family), _) if !adopted.listed.contains(&key) => Operation::Apply(family.function),
        (_, Map::Table(table)) => {
            let mut pairs: Vec<_> = (0..table.len() as u32)
                .filter(|&code| table[code as usize] != code)
                .map(|code| (columns.text(key, code), columns.text(key, table[code as usize])))
                .collect();
            pairs.sort();
            Operation::Classes(pairs)
        }
        (Action::Function(_), Map::To { .. }) => Operation::Classes(Vec::new()),
    }
}
