//! Effect of each rule of the lattice on the training set: the false-positive filter of the paper.

use super::{Rule, Transform, cell};
use crate::site::published::evidence::Counts;
use crate::site::published::keys::{ABSENT, PublishedColumns};
use std::collections::HashMap;

/// Rules that are weighed, at most: the most general ones.
const WEIGHED_MAX: usize = 20_000;
/// Examples of a rule.
const EXAMPLES: usize = 3;

/// A rule of the lattice with what it joins.
#[derive(Clone, Debug)]
pub struct WeighedRule {
    /// The rule.
    pub rule: Rule,
    /// Counts of the groups that it joins.
    pub counts: Counts,
    /// Rows of one cluster that it joins.
    pub examples: Vec<[u32; 2]>,
}

/// True where `row` is in the context of `rule`.
pub fn matches(columns: &PublishedColumns, rule: &Rule, row: u32) -> bool {
    columns.values.iter().enumerate().all(|(key, values)| {
        let value = values[row as usize];
        match rule.open >> key & 1 {
            0 => value == values[rule.row as usize],
            _ => value != ABSENT || rule.optional >> key & 1 == 1,
        }
    })
}

/// True where every URL of `special`'s context is in that of `general`.
pub fn covers(columns: &PublishedColumns, general: &Rule, special: &Rule) -> bool {
    general.open & special.open == special.open
        && columns.values.iter().enumerate().all(|(key, values)| {
            let (open, value) = (general.open >> key & 1 == 1, values[special.row as usize]);
            match (open, special.open >> key & 1 == 1) {
                (false, _) => value == values[general.row as usize],
                (true, true) => special.optional & !general.optional & 1 << key == 0,
                (true, false) => value != ABSENT || general.optional >> key & 1 == 1,
            }
        })
}

/// Weighs the rules, the most general first. A rule that joins nothing is none; one that a more general
/// rule of the same transformation covers without a false positive is not needed.
pub fn weigh(columns: &PublishedColumns, rules: Vec<Rule>) -> Vec<WeighedRule> {
    let weigher = Weigher::new(columns);
    let mut out: Vec<WeighedRule> = Vec::new();
    let mut clean: HashMap<Transform, Vec<usize>, foldhash::fast::FixedState> = HashMap::default();
    for rule in rules.into_iter().take(WEIGHED_MAX) {
        let above = clean.entry(rule.transform).or_default();
        if above.iter().any(|&at| covers(columns, &out[at].rule, &rule)) {
            continue;
        }
        let (counts, examples) = weigher.weigh(&rule);
        if counts.support_pairs == 0 {
            continue;
        }
        if counts.false_positive_pairs == 0 {
            above.push(out.len());
        }
        out.push(WeighedRule { rule, counts, examples });
    }
    out
}

/// The training set by value and by identity.
struct Weigher<'a> {
    columns: &'a PublishedColumns,
    identity: Vec<u64>,
    row_of: HashMap<u64, u32, foldhash::fast::FixedState>,
    /// Rows of each key, by value.
    by_value: Vec<Vec<u32>>,
}

impl<'a> Weigher<'a> {
    fn new(columns: &'a PublishedColumns) -> Weigher<'a> {
        let rows = columns.len();
        let sum = |row: usize| {
            let cells = columns.values.iter().enumerate().map(|(key, values)| cell(key, values[row]));
            cells.fold(0u64, u64::wrapping_add)
        };
        let identity: Vec<u64> = (0..rows).map(sum).collect();
        let row_of = identity.iter().zip(0..).map(|(&hash, row)| (hash, row)).collect();
        let sorted = |values: &Vec<u32>| {
            let mut order: Vec<u32> = (0..rows as u32).collect();
            order.sort_by_key(|&row| values[row as usize]);
            order
        };
        Weigher { columns, identity, row_of, by_value: columns.values.iter().map(sorted).collect() }
    }

    /// Rows in the context of a rule.
    fn rows(&self, rule: &Rule) -> Vec<u32> {
        let posting = |key: usize| {
            let (values, order) = (&self.columns.values[key], &self.by_value[key]);
            let value = values[rule.row as usize];
            let from = order.partition_point(|&row| values[row as usize] < value);
            let to = order.partition_point(|&row| values[row as usize] <= value);
            &order[from..to]
        };
        let closed = (0..self.columns.keys.len()).filter(|key| rule.open >> key & 1 == 0);
        let fewest = closed.map(posting).min_by_key(|rows| rows.len());
        let all: Vec<u32>;
        let rows = match fewest {
            Some(rows) => rows,
            None => {
                all = (0..self.columns.len() as u32).collect();
                &all
            }
        };
        rows.iter().copied().filter(|&row| matches(self.columns, rule, row)).collect()
    }

    /// Identity of a row under a transformation.
    fn rewritten(&self, transform: Transform, row: u32) -> u64 {
        let value = |key: usize| self.columns.values[key][row as usize];
        let mut identity = self.identity[row as usize];
        match transform {
            Transform::Ignore(keys) => {
                for key in (0..self.columns.keys.len()).filter(|key| keys >> key & 1 == 1) {
                    identity = identity.wrapping_sub(cell(key, value(key))).wrapping_add(cell(key, u32::MAX));
                }
            }
            Transform::Set(key, to) => {
                let key = usize::from(key);
                identity = identity.wrapping_sub(cell(key, value(key))).wrapping_add(cell(key, to));
            }
            Transform::Move(from, to) => {
                let (from, to) = (usize::from(from), usize::from(to));
                let moved = value(from);
                identity = identity.wrapping_sub(cell(from, moved)).wrapping_add(cell(to, moved));
            }
        }
        identity
    }

    fn weigh(&self, rule: &Rule) -> (Counts, Vec<[u32; 2]>) {
        let rows = self.rows(rule);
        let mut joined: Vec<(u64, u32, u32)> = Vec::with_capacity(rows.len());
        for &row in &rows {
            joined.push((self.rewritten(rule.transform, row), self.columns.clusters[row as usize], row));
        }
        // URLs that have the new form already and stay as they are.
        let mut forms: Vec<u64> = joined.iter().map(|entry| entry.0).collect();
        forms.sort_unstable();
        forms.dedup();
        for form in forms {
            if let Some(&row) = self.row_of.get(&form)
                && !matches(self.columns, rule, row)
            {
                joined.push((form, self.columns.clusters[row as usize], row));
            }
        }
        joined.sort_unstable();
        let mut counts = Counts::default();
        let mut examples = Vec::new();
        let mut clusters: Vec<u32> = Vec::new();
        for page in joined.chunk_by(|a, b| a.0 == b.0).filter(|page| page.len() > 1) {
            let pairs = |n: usize| (n * (n - 1) / 2) as u64;
            let (mut largest, mut same) = (0, 0);
            for part in page.chunk_by(|a, b| a.1 == b.1) {
                largest = largest.max(part.len());
                same += pairs(part.len());
                if part.len() > 1 {
                    clusters.push(part[0].1);
                    if examples.len() < EXAMPLES {
                        examples.push([part[0].2, part[1].2]);
                    }
                }
            }
            counts.good += largest as u64 - 1;
            counts.bad += (page.len() - largest) as u64;
            counts.support_pairs += pairs(page.len());
            counts.false_positive_pairs += pairs(page.len()) - same;
        }
        clusters.sort_unstable();
        clusters.dedup();
        counts.clusters = clusters.len() as u64;
        (counts, examples)
    }
}
