//! Deployed rules in the one rule type.
//!
//! The source pattern becomes the scope: a key with one concrete value must have it, a key that all
//! URLs of the node have must be there, and where the node is the `*` branch of a split the salient
//! values are excluded. A rule is closed: a URL with a key that neither scope nor operations name does
//! not match. What `*` leaves free and optional has no constraint, so it is named by its operation:
//! left out where the target has no such key. A branch that is "absent or any but these" is no single
//! test; it is written as two rules, at most [`MAX_FREE`] times a node (beyond that the key stays
//! unconstrained).
//!
//! Rules are sorted by falling depth of their source, then by node: the first that matches is the most
//! specific one.

use super::candidates::{Maker, NodeRule};
use super::evidence::Operation as Op;
use super::keys::{ABSENT, PublishedColumns};
use super::tree::{Patterns, Slot};
use super::{Fpr, Switches};
use crate::model::hash64;
use crate::rules::types::{Constraint, Evidence, Kind, Operation, Representative, Rule, SiteRules, Test, Tokens};
use crate::site::tree::Branch;
use std::collections::BTreeMap;

/// Branches of one node that are written as two rules each, at most.
pub const MAX_FREE: usize = 4;

/// The rules of a site, in the order in which they are tried.
pub fn rules(
    site: &str,
    columns: &PublishedColumns,
    patterns: &Patterns,
    deployed: &[NodeRule],
    maker: &mut Maker<'_>,
    switches: &Switches,
) -> SiteRules {
    let mut order: Vec<&NodeRule> = deployed.iter().collect();
    order.sort_by_key(|c| (std::cmp::Reverse(patterns.tree.nodes[c.source as usize].depth), c.source));
    let mut rules = Vec::new();
    for candidate in order {
        // The counts are known; running again finds the examples.
        maker.run(candidate.source, candidate.target, &candidate.operations);
        let examples = maker.examples().iter().map(|pair| pair.map(|row| columns.url(row))).collect();
        let evidence = evidence(candidate, examples, switches);
        let operations = operations(columns, patterns, candidate);
        for scope in scopes(columns, patterns, candidate) {
            let (operations, evidence) = (operations.clone(), evidence.clone());
            let id = format!("{:016x}", identity(site, &scope, &operations));
            let kind = if candidate.source == candidate.target { Kind::Ignore } else { Kind::Form };
            let departures = switches.departures();
            rules.push(Rule { kind, closed: true, evidence, departures, ..Rule::of(&id, scope, operations) });
        }
    }
    let tokens = Tokens { published: true, ..Tokens::default() };
    SiteRules { site: site.to_owned(), origins: columns.origins.clone(), tokens, rules, ..SiteRules::default() }
}

fn identity(site: &str, scope: &[Constraint], operations: &[(String, Operation)]) -> u64 {
    let text = serde_json::to_vec(&(site, scope, operations));
    hash64(&text.expect("strings and lists of them always serialize"))
}

fn evidence(candidate: &NodeRule, examples: Vec<[String; 2]>, switches: &Switches) -> Evidence {
    let counts = candidate.counts;
    let bound = if switches.fpr == Fpr::Wilson { candidate.fpr } else { counts.upper_bound() };
    Evidence {
        good: counts.good,
        bad: counts.bad,
        prior: 0,
        support_pairs: counts.support_pairs,
        false_positive_pairs: counts.false_positive_pairs,
        upper_bound_ppm: (bound * 1e6).ceil() as u32,
        clusters: counts.clusters,
        examples,
    }
}

fn operations(columns: &PublishedColumns, patterns: &Patterns, candidate: &NodeRule) -> Vec<(String, Operation)> {
    let mut out: Vec<(usize, Operation)> = candidate
        .operations
        .iter()
        .map(|&(key, operation)| {
            let operation = match operation {
                Op::Keep(value) => Operation::Keep(columns.text(value)),
                Op::Replace(from) => Operation::Replace(columns.keys[from].to_string()),
                Op::Ignore => Operation::Ignore(Representative::Everywhere("*".to_owned())),
            };
            (key, operation)
        })
        .collect();
    for (key, slot) in patterns.of(candidate.source).iter().enumerate() {
        if *slot == Slot::Many(true) && candidate.operations.iter().all(|o| o.0 != key) {
            out.push((key, Operation::Ignore(Representative::LeftOut)));
        }
    }
    let mut named: Vec<(String, Operation)> = out.into_iter().map(|(k, o)| (columns.keys[k].to_string(), o)).collect();
    named.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    named
}

/// The scopes that together are the source pattern.
fn scopes(columns: &PublishedColumns, patterns: &Patterns, candidate: &NodeRule) -> Vec<Vec<Constraint>> {
    let tree = &patterns.tree;
    let node = candidate.source;
    let trivial: BTreeMap<usize, &[u32]> = std::iter::once(node)
        .chain(tree.ancestors(node))
        .map(|n| &tree.nodes[n as usize])
        .filter_map(|n| match &n.branch {
            Branch::NoneOf(salient) => Some((n.key as usize, salient.as_slice())),
            Branch::Root | Branch::Is(_) => None,
        })
        .collect();
    let mut scopes = vec![Vec::new()];
    let mut free = 0;
    for (key, slot) in patterns.of(node).iter().enumerate() {
        let name = columns.keys[key].to_string();
        let written = candidate.operations.iter().any(|o| o.0 == key || o.1 == Op::Replace(key));
        let salient = trivial.get(&key).copied().unwrap_or_default();
        let mut values: Vec<String> = salient.iter().filter(|&&v| v != ABSENT).map(|&v| columns.text(v)).collect();
        values.sort_unstable();
        let tests = match *slot {
            // What a closed rule does not name is absent anyway.
            Slot::One(ABSENT) if !written => continue,
            Slot::One(ABSENT) => vec![Test::Absent],
            Slot::One(value) => vec![Test::Equals(columns.text(value))],
            Slot::Many(false) if values.is_empty() => vec![Test::Present],
            Slot::Many(false) => vec![Test::NoneOf(values)],
            Slot::Many(true) if values.is_empty() || free == MAX_FREE => continue,
            Slot::Many(true) => {
                free += 1;
                vec![Test::NoneOf(values), Test::Absent]
            }
        };
        scopes = scopes
            .into_iter()
            .flat_map(|scope: Vec<Constraint>| {
                let name = &name;
                tests.iter().map(move |test| {
                    let mut scope = scope.clone();
                    scope.push(Constraint { key: name.clone(), test: test.clone() });
                    scope
                })
            })
            .collect();
    }
    scopes
}
