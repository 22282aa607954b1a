//! Candidate rules from possible duplicate nodes (WWW10 sections 5.2.2 and 5.2.3).
//!
//! A rule has one operation for every key of the target: *keep* where the target has one concrete
//! value, *replace* where a key of the source maps to it, *ignore* otherwise and where the replace is
//! fake.
//!
//! The fake-replace test ("if too many URLs with different values on this key are duplicate") is read
//! so: of the clusters that source and target have in common, the share whose URLs, those of the source
//! under the source key together with those of the target under the target key, show more than one
//! value (absence is one); above `fake_max` the replace becomes an ignore. Clusters count, not URLs: a
//! login page that a thousand URLs share is one witness.
//!
//! The false-positive filter runs the rule over the training set: the URLs of the source rewritten,
//! those of the target as they are (a URL in both is rewritten). A rule that joins nothing is dropped.

use super::Switches;
use super::duplicates::{Pair, identify};
use super::evidence::{Counts, Evaluator, Operation};
use super::keys::PublishedColumns;
use super::mapping::{Duplicates, Mapper};
use super::tree::{Patterns, Slot};

/// A rule between two nodes of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRule {
    /// The node whose URLs are rewritten.
    pub source: u32,
    /// The node whose format they get; may be the source.
    pub target: u32,
    /// One operation a key of the target, by key.
    pub operations: Vec<(usize, Operation)>,
    /// What it does on the training set.
    pub counts: Counts,
    /// Its false-positive rate by the switch.
    pub fpr: f64,
}

/// How many rules were made and how many qualified (WWW10 Table 3), and the latter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// Pairs of possible duplicate nodes taken up.
    pub raw: u64,
    /// The qualified ones, by falling overlap of their nodes.
    pub rules: Vec<NodeRule>,
}

/// Candidate rules with a false-positive rate of at most `fpr_max`.
pub fn generate(columns: &PublishedColumns, patterns: &Patterns, switches: &Switches, fpr_max: f64) -> Candidates {
    let mut maker = Maker::new(columns, patterns, switches);
    let pairs = identify(columns, &patterns.tree, switches);
    let rules = pairs.iter().filter_map(|&pair| maker.rule(pair)).filter(|c| c.fpr <= fpr_max).collect();
    Candidates { raw: pairs.len() as u64, rules }
}

/// Builder of rules; its buffers are reused from pair to pair.
pub struct Maker<'a> {
    columns: &'a PublishedColumns,
    patterns: &'a Patterns,
    switches: &'a Switches,
    mapper: Mapper,
    evaluator: Evaluator<'a>,
    /// Rows of a cluster in the source and in the target; all zero between pairs.
    members: Vec<[u32; 2]>,
    /// The first value of a cluster and whether there is another.
    shown: Vec<Option<(u32, bool)>>,
}

impl<'a> Maker<'a> {
    /// For the tree at hand.
    pub fn new(columns: &'a PublishedColumns, patterns: &'a Patterns, switches: &'a Switches) -> Maker<'a> {
        let clusters = columns.cluster_count as usize;
        Maker {
            columns,
            patterns,
            switches,
            mapper: Mapper::new(columns),
            evaluator: Evaluator::new(columns),
            members: vec![[0; 2]; clusters],
            shown: vec![None; clusters],
        }
    }

    /// The rule of a pair of nodes with its counts; `None` where it joins no two URLs.
    pub fn rule(&mut self, pair: Pair) -> Option<NodeRule> {
        let (source, target, clusters) = self.duplicates(pair);
        let rows = Duplicates { source: &source, target: &target, clusters };
        let operations = self.operations(pair.target, rows);
        let counts = self.run(pair.source, pair.target, &operations);
        let fpr = counts.fpr(self.switches);
        let Pair { source, target, .. } = pair;
        (counts.support_pairs > 0).then_some(NodeRule { source, target, operations, counts, fpr })
    }

    /// Runs operations over the training set.
    pub fn run(&mut self, source: u32, target: u32, operations: &[(usize, Operation)]) -> Counts {
        let [before, after] = self.patterns.tree.rows_without(target, source);
        let others = before.iter().chain(after).copied();
        self.evaluator.run(operations, self.patterns.tree.rows(source), others)
    }

    /// Pairs of rows that the last run joined.
    pub fn examples(&self) -> Vec<[u32; 2]> {
        self.evaluator.examples()
    }

    /// Rows of the pair in common clusters with two URLs, by cluster, and the number of those clusters.
    fn duplicates(&mut self, pair: Pair) -> (Vec<u32>, Vec<u32>, u32) {
        let cluster = |row: u32| self.columns.clusters[row as usize];
        let both = [self.patterns.tree.rows(pair.source), self.patterns.tree.rows(pair.target)];
        for (side, rows) in both.iter().enumerate() {
            rows.iter().for_each(|&row| self.members[cluster(row) as usize][side] += 1);
        }
        // A URL is no duplicate of itself: where one node holds the other, a cluster needs two rows in the
        // larger.
        let (s, t) = (pair.source, pair.target);
        let least =
            if s == t || self.patterns.tree.is_ancestor(s, t) || self.patterns.tree.is_ancestor(t, s) { 2 } else { 1 };
        let common = |row: &u32| {
            let [s, t] = self.members[cluster(*row) as usize];
            s.min(t) >= 1 && s.max(t) >= least
        };
        let [source, target] = both.map(|rows| {
            let mut rows: Vec<u32> = rows.iter().copied().filter(common).collect();
            rows.sort_unstable_by_key(|&row| (cluster(row), row));
            rows
        });
        let clusters = target.chunk_by(|&a, &b| cluster(a) == cluster(b)).count() as u32;
        both.iter().for_each(|rows| rows.iter().for_each(|&row| self.members[cluster(row) as usize] = [0; 2]));
        (source, target, clusters)
    }

    fn operations(&mut self, target: u32, rows: Duplicates<'_>) -> Vec<(usize, Operation)> {
        let pattern = self.patterns.of(target);
        let open: Vec<usize> = (0..pattern.len()).filter(|&key| matches!(pattern[key], Slot::Many(_))).collect();
        let mapped = self.mapper.find(self.columns, rows, &open, self.switches);
        let mut operations: Vec<(usize, Operation)> = (pattern.iter().enumerate())
            .filter_map(|(key, slot)| match *slot {
                Slot::One(value) if value != super::keys::ABSENT => Some((key, Operation::Keep(value))),
                _ => None,
            })
            .collect();
        for (&key, from) in open.iter().zip(mapped) {
            let real = from.filter(|&from| self.mixed(rows, from, key) <= self.switches.fake_max);
            operations.push((key, real.map_or(Operation::Ignore, Operation::Replace)));
        }
        operations.sort_unstable();
        operations
    }

    /// Share of the common clusters that show several values under `from` in the source and `key` in the
    /// target.
    fn mixed(&mut self, rows: Duplicates<'_>, from: usize, key: usize) -> f64 {
        let sides = [(rows.source, from), (rows.target, key)];
        let mut mixed = 0u32;
        for (rows, key) in sides {
            for &row in rows {
                let value = self.columns.values[key][row as usize];
                let shown = self.shown[self.columns.clusters[row as usize] as usize].get_or_insert((value, false));
                if shown.0 != value && !shown.1 {
                    shown.1 = true;
                    mixed += 1;
                }
            }
        }
        rows.source.iter().for_each(|&row| self.shown[self.columns.clusters[row as usize] as usize] = None);
        f64::from(mixed) / f64::from(rows.clusters.max(1))
    }
}
