//! Generalization: a decision tree for each transformation, over the contexts in which it holds.

use super::pairs::Transformation;
use super::tokens::{Tokens, identity};
use crate::site::published::evidence::Counts;
use std::collections::{BTreeMap, HashMap};

/// Examples of a branch, at least.
pub const LEAST: usize = 3;
/// Keys that a context names, at most.
const DEEPEST: usize = 6;

/// A training URL that a transformation fits.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    row: u32,
    /// Identity of what it becomes.
    becomes: u64,
    /// True if it joins URLs of its own cluster, false if it moves to the page of another; `None`: it joins
    /// nothing.
    good: Option<bool>,
}

/// A generalized rule.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Index of the transformation.
    pub transformation: usize,
    /// Values of deep keys; all others are wildcards.
    pub context: Vec<(usize, u32)>,
    /// Positive examples.
    pub positive: u64,
    /// Counts of the groups that it joins.
    pub counts: Counts,
    /// Rows of one cluster that it joins.
    pub examples: Vec<[u32; 2]>,
}

/// The examples of each transformation.
pub fn examples(tokens: &Tokens, transformations: &[Transformation]) -> Vec<Vec<Example>> {
    transformations.iter().map(|transformation| of(tokens, transformation)).collect()
}

fn of(tokens: &Tokens, transformation: &Transformation) -> Vec<Example> {
    let applied = |row: usize| Some((row as u32, identity(&transformation.apply(tokens, &tokens.rows[row])?)));
    let fired: Vec<(u32, u64)> = (0..tokens.rows.len()).filter_map(applied).collect();
    let pages = pages(tokens, fired.iter().copied());
    fired
        .into_iter()
        .map(|(row, becomes)| {
            let page = &pages[&becomes];
            let own = tokens.clusters[row as usize];
            // The only URL of its cluster is on the page of another one, whoever has the majority.
            let good = (page.rows > 1).then(|| page.majority() == own && page.clusters[&own] > 1);
            Example { row, becomes, good }
        })
        .collect()
}

/// Rows on one page.
#[derive(Clone, Debug, Default)]
struct Page {
    rows: u64,
    clusters: BTreeMap<u32, u64>,
}

impl Page {
    fn add(&mut self, cluster: u32) {
        self.rows += 1;
        *self.clusters.entry(cluster).or_default() += 1;
    }

    fn majority(&self) -> u32 {
        let most = self.clusters.iter().max_by_key(|&(cluster, rows)| (*rows, std::cmp::Reverse(*cluster)));
        most.map_or(u32::MAX, |(cluster, _)| *cluster)
    }
}

/// Pages of the rows that became something, with the rows that were there before.
fn pages(tokens: &Tokens, fired: impl Iterator<Item = (u32, u64)>) -> HashMap<u64, Page, foldhash::fast::FixedState> {
    let mut pages: HashMap<u64, Page, foldhash::fast::FixedState> = HashMap::default();
    for (row, becomes) in fired {
        let page = pages.entry(becomes).or_insert_with(|| {
            let mut page = Page::default();
            let there = tokens.by_identity.get(&becomes).into_iter().flatten();
            there.for_each(|&row| page.add(tokens.clusters[row as usize]));
            page
        });
        page.add(tokens.clusters[row as usize]);
    }
    pages
}

/// The rules of a transformation at a highest false-positive rate, in the order of the tree.
pub fn leaves(tokens: &Tokens, transformation: usize, examples: &[Example], fpr_max: f64) -> Vec<Leaf> {
    let mut out = Vec::new();
    let grow = Grow { tokens, transformation, fpr_max };
    grow.node(examples.to_vec(), &mut Vec::new(), &mut out);
    out
}

struct Grow<'a> {
    tokens: &'a Tokens,
    transformation: usize,
    fpr_max: f64,
}

impl Grow<'_> {
    fn node(&self, examples: Vec<Example>, context: &mut Vec<(usize, u32)>, out: &mut Vec<Leaf>) {
        let positive = examples.iter().filter(|e| e.good == Some(true)).count();
        let negative = examples.iter().filter(|e| e.good == Some(false)).count();
        if positive < LEAST {
            return;
        }
        if negative as f64 <= self.fpr_max * (positive + negative) as f64 {
            let leaf = self.leaf(&examples, context.clone(), positive as u64);
            if leaf.counts.pair_fpr() <= self.fpr_max {
                out.push(leaf);
                return;
            }
        }
        if context.len() >= DEEPEST {
            return;
        }
        let Some(key) = self.split(&examples, context, positive, negative) else { return };
        let mut branches: BTreeMap<u32, Vec<Example>> = BTreeMap::new();
        for example in examples {
            branches.entry(self.tokens.rows[example.row as usize][key]).or_default().push(example);
        }
        for (value, branch) in branches {
            context.push((key, value));
            self.node(branch, context, out);
            context.pop();
        }
    }

    /// The key of most information gain; ties: the first. `None` where no key gains.
    fn split(&self, examples: &[Example], context: &[(usize, u32)], positive: usize, negative: usize) -> Option<usize> {
        let whole = (positive + negative) as f64;
        let base = entropy(positive as f64, negative as f64);
        let mut best: Option<(f64, usize)> = None;
        for key in (0..self.tokens.keys.len()).filter(|key| !context.iter().any(|c| c.0 == *key)) {
            let mut values: HashMap<u32, (f64, f64), foldhash::fast::FixedState> = HashMap::default();
            for example in examples {
                let value = values.entry(self.tokens.rows[example.row as usize][key]).or_default();
                match example.good {
                    Some(true) => value.0 += 1.0,
                    Some(false) => value.1 += 1.0,
                    None => {}
                }
            }
            // Values of few examples are one branch, so that a key of all different values gains nothing.
            let mut branches: Vec<(u32, (f64, f64))> = values.into_iter().collect();
            branches.sort_unstable_by_key(|branch| branch.0);
            let (mut rest, mut inside) = ((0.0, 0.0), 0.0);
            let mut named = 0;
            for (_, (good, bad)) in branches {
                if good + bad >= LEAST as f64 {
                    inside += (good + bad) / whole * entropy(good, bad);
                    named += 1;
                } else {
                    rest = (rest.0 + good, rest.1 + bad);
                }
            }
            inside += (rest.0 + rest.1) / whole * entropy(rest.0, rest.1);
            let gain = base - inside;
            if named > 0 && gain > 1e-9 && best.is_none_or(|(most, _)| gain > most + 1e-12) {
                best = Some((gain, key));
            }
        }
        best.map(|(_, key)| key)
    }

    fn leaf(&self, examples: &[Example], context: Vec<(usize, u32)>, positive: u64) -> Leaf {
        let clusters = &self.tokens.clusters;
        let pages = pages(self.tokens, examples.iter().map(|e| (e.row, e.becomes)));
        let mut counts = Counts::default();
        let pairs = |n: u64| n * n.saturating_sub(1) / 2;
        let mut all: Vec<(&u64, &Page)> = pages.iter().filter(|(_, page)| page.rows > 1).collect();
        all.sort_unstable_by_key(|(becomes, _)| **becomes);
        for (_, page) in all {
            let same: u64 = page.clusters.values().map(|&n| pairs(n)).sum();
            let most = page.clusters.values().copied().max().unwrap_or(0);
            counts.support_pairs += pairs(page.rows);
            counts.false_positive_pairs += pairs(page.rows) - same;
            counts.good += most - 1;
            counts.bad += page.rows - most;
            counts.clusters += page.clusters.values().filter(|&&n| n > 1).count() as u64;
        }
        let pair = |example: &Example| {
            let there = self.tokens.by_identity.get(&example.becomes)?;
            let same = there.iter().find(|&&row| clusters[row as usize] == clusters[example.row as usize])?;
            Some([example.row, *same])
        };
        let shown = examples.iter().filter_map(pair).take(3).collect();
        Leaf { transformation: self.transformation, context, positive, counts, examples: shown }
    }
}

/// Entropy of two counts in bits.
fn entropy(a: f64, b: f64) -> f64 {
    let part = |x: f64| if x > 0.0 { -(x / (a + b)) * (x / (a + b)).log2() } else { 0.0 };
    part(a) + part(b)
}
