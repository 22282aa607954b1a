//! Selecting deployable rules (WWW10 section 5.3): the naive way by the three cases of Figure 7, and
//! the way by graph of Figure 8. Both end with one rule a source node, chains concatenated into direct
//! rules.

use super::Switches;
use super::candidates::{Maker, NodeRule};
use super::evidence::Operation;
use crate::site::energy::{self, Graph, Walk};
use crate::site::tree::Tree;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// Naive selection.
///
/// * Case (a): of the rules of one source the one of smallest false-positive rate stays. Ties: more
///   support pairs, then the first target.
/// * Case (b): the rule of an ancestor stays, those of its descendants go.
/// * Case (c): of a circle the rule of least support goes, where support is the number of URLs that it
///   can normalize: the volume of its source. Ties: fewer support pairs, then the later source. A rule
///   of a node to itself is no circle, as each rule fires once.
///
/// The cases are settled in this order (the paper gives none). Returns the next rule of every source.
pub fn naive<'c>(rules: &'c [NodeRule], tree: &Tree) -> BTreeMap<u32, &'c NodeRule> {
    let mut kept: BTreeMap<u32, &NodeRule> = BTreeMap::new();
    for rule in rules {
        let best = kept.entry(rule.source).or_insert(rule);
        if preference(rule, best).is_lt() {
            *best = rule;
        }
    }
    let covered = |node: &u32| tree.ancestors(*node).any(|above| kept.contains_key(&above));
    let covered: Vec<u32> = kept.keys().copied().filter(covered).collect();
    covered.iter().for_each(|node| _ = kept.remove(node));
    while let Some(circle) = circle(&kept) {
        let weakest =
            circle.into_iter().min_by_key(|node| (tree.volume(*node), kept[node].counts.support_pairs, Reverse(*node)));
        weakest.iter().for_each(|node| _ = kept.remove(node));
    }
    kept
}

/// Smaller false-positive rate, then more support pairs, then the first source and target.
fn preference(a: &NodeRule, b: &NodeRule) -> std::cmp::Ordering {
    let rest = |c: &NodeRule| (Reverse(c.counts.support_pairs), c.source, c.target);
    a.fpr.total_cmp(&b.fpr).then_with(|| rest(a).cmp(&rest(b)))
}

/// The sources on a circle of two or more rules, if there is one: the one met first from the first
/// source.
fn circle(next: &BTreeMap<u32, &NodeRule>) -> Option<Vec<u32>> {
    // Nodes from which no circle is reached.
    let mut free = std::collections::BTreeSet::new();
    for &start in next.keys() {
        let mut way: Vec<u32> = Vec::new();
        let mut at = start;
        while !free.contains(&at) {
            if let Some(from) = way.iter().position(|&node| node == at) {
                return Some(way.split_off(from));
            }
            way.push(at);
            match next.get(&at) {
                Some(rule) if rule.target != at => at = rule.target,
                _ => break,
            }
        }
        free.extend(way);
    }
    None
}

/// The graph of the energy walk and the node of each vertex.
///
/// Vertices are the nodes that appear in candidate rules, by node; their volume is their number of
/// rows. Edges are the rules with weight 1 - fpr (one between a node and itself included, unless self
/// rules are exempt) and, where there is no rule, a link of weight 1 from every vertex to each of its
/// ancestors among them.
pub fn graph(rules: &[NodeRule], tree: &Tree, switches: &Switches) -> (Graph, Vec<u32>) {
    let mut nodes: Vec<u32> = rules.iter().flat_map(|r| [r.source, r.target]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let vertex = |node: u32| nodes.binary_search(&node).ok().map(|v| v as u32);
    let mut edges: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for (from, &node) in nodes.iter().enumerate() {
        edges.extend(tree.ancestors(node).filter_map(vertex).map(|to| ((from as u32, to), 1.0)));
    }
    for rule in rules.iter().filter(|r| r.source != r.target || !switches.self_rules) {
        if let (Some(from), Some(to)) = (vertex(rule.source), vertex(rule.target)) {
            edges.insert((from, to), 1.0 - rule.fpr);
        }
    }
    let edges = edges.into_iter().filter(|e| e.1 > 0.0).map(|((from, to), weight)| (from, to, weight)).collect();
    let volume = nodes.iter().map(|&node| u64::from(tree.volume(node))).collect();
    (Graph { walk: Walk::Lazy, volume, edges, ..Graph::default() }, nodes)
}

/// A millionth of the energy of a URL.
const MILLIONTH: u128 = energy::URL / 1_000_000;

/// Selection by energy, one energy a vertex of [`graph`].
///
/// The paper leaves open how destinations are chosen. Here: by falling energy (in millionths of a URL,
/// so that rounding decides nothing; ties: larger volume, then the first node) a node that has no
/// destination yet becomes one, and all nodes without one that reach it by rules, nearest first, get it
/// as theirs. Rules from a destination are removed; with `self_rules` its rule to itself stays. Returns
/// the next rule of every source.
pub fn by_energy<'c>(
    rules: &'c [NodeRule],
    tree: &Tree,
    nodes: &[u32],
    energy: &[u128],
    switches: &Switches,
) -> BTreeMap<u32, &'c NodeRule> {
    let mut into: BTreeMap<u32, Vec<&NodeRule>> = BTreeMap::new();
    let mut own: BTreeMap<u32, &NodeRule> = BTreeMap::new();
    for rule in rules {
        if rule.source == rule.target {
            own.insert(rule.source, rule);
        } else {
            into.entry(rule.target).or_default().push(rule);
        }
    }
    into.values_mut().for_each(|rules| rules.sort_unstable_by(|a, b| preference(a, b)));
    let mut order: Vec<(Reverse<u128>, Reverse<u32>, u32)> = nodes
        .iter()
        .zip(energy)
        .map(|(&node, &e)| (Reverse((e + MILLIONTH / 2) / MILLIONTH), Reverse(tree.volume(node)), node))
        .collect();
    order.sort_unstable();
    let mut next: BTreeMap<u32, Option<&NodeRule>> = BTreeMap::new();
    let mut queue = VecDeque::new();
    for (_, _, destination) in order {
        if next.contains_key(&destination) {
            continue;
        }
        next.insert(destination, own.get(&destination).copied().filter(|_| switches.self_rules));
        queue.push_back(destination);
        while let Some(node) = queue.pop_front() {
            for &rule in into.get(&node).into_iter().flatten() {
                next.entry(rule.source).or_insert_with(|| {
                    queue.push_back(rule.source);
                    Some(rule)
                });
            }
        }
    }
    next.into_iter().filter_map(|(node, rule)| Some((node, rule?))).collect()
}

/// One direct rule a source: its chain of rules concatenated (Figure 8 d and e) and run over the
/// training set again. A chain ends at a node without a rule or with a rule to itself. With
/// `revalidate` a rule whose false-positive rate exceeds `fpr_max` is dropped.
pub fn direct(
    next: &BTreeMap<u32, &NodeRule>,
    maker: &mut Maker<'_>,
    switches: &Switches,
    fpr_max: f64,
) -> Vec<NodeRule> {
    let mut out = Vec::new();
    for (&source, &rule) in next {
        let mut whole = rule.clone();
        while let Some(more) = next.get(&whole.target).filter(|more| more.source != source) {
            whole.operations = concatenate(&whole.operations, &more.operations);
            let end = more.target == more.source;
            whole.target = more.target;
            if end {
                break;
            }
        }
        if whole.target != rule.target || whole.operations != rule.operations {
            whole.counts = maker.run(source, whole.target, &whole.operations);
            whole.fpr = whole.counts.fpr(switches);
            if switches.revalidate && whole.fpr > fpr_max {
                continue;
            }
        }
        out.push(whole);
    }
    out
}

/// The operations that do at once what `first` and then `second` do.
pub fn concatenate(first: &[(usize, Operation)], second: &[(usize, Operation)]) -> Vec<(usize, Operation)> {
    let through = |&(key, operation): &(usize, Operation)| match operation {
        // A key that `first` does not write is absent when `second` reads it.
        Operation::Replace(from) => first.iter().find(|f| f.0 == from).map(|f| (key, f.1)),
        Operation::Keep(_) | Operation::Ignore => Some((key, operation)),
    };
    second.iter().filter_map(through).collect()
}
