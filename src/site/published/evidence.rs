//! Effect of a rule on the training set: WWW10 eq. 3, and undust's per-URL counts.

use super::keys::{ABSENT, PublishedColumns};
use super::{Fpr, Switches};

/// One operation on a key of the target (WWW10 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// The target's concrete value.
    Keep(u32),
    /// The value of this key of the source.
    Replace(usize),
    /// `*`.
    Ignore,
}

/// Counts of the groups that a rule makes of the training set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sum over groups of size of the largest cluster - 1.
    pub good: u64,
    /// Sum over groups of group size - size of the largest cluster.
    pub bad: u64,
    /// Pairs that fall together.
    pub support_pairs: u64,
    /// Pairs among them of different clusters.
    pub false_positive_pairs: u64,
    /// Clusters with at least two rows in one group.
    pub clusters: u64,
}

impl Counts {
    /// Eq. 3; 1 where nothing falls together, since such a rule is of no use.
    pub fn pair_fpr(&self) -> f64 {
        share(self.false_positive_pairs, self.support_pairs)
    }

    /// Upper end of the Wilson interval (z = 1) of bad among good + bad; 1 without any.
    pub fn upper_bound(&self) -> f64 {
        let n = (self.good + self.bad) as f64;
        if n == 0.0 {
            return 1.0;
        }
        let p = self.bad as f64 / n;
        let half = (p * (1.0 - p) / n + 0.25 / (n * n)).sqrt();
        (p + 0.5 / n + half) / (1.0 + 1.0 / n)
    }

    /// The false-positive rate that the switch selects.
    pub fn fpr(&self, switches: &Switches) -> f64 {
        match switches.fpr {
            Fpr::Pair => self.pair_fpr(),
            Fpr::Url => share(self.bad, self.good + self.bad),
            Fpr::Wilson => self.upper_bound(),
        }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Runs operations over rows; reused from rule to rule.
#[derive(Debug)]
pub struct Evaluator<'c> {
    columns: &'c PublishedColumns,
    /// Identity of each row as it is: the sum of the hashes of its pairs.
    rows: Vec<u64>,
    found: Vec<(u64, u32, u32)>,
}

/// Identity of the wildcard as a value.
const STAR: u32 = u32::MAX;

/// Hash of one key-value pair. Mixed (splitmix64), since the sum of linear hashes gives `f=1&t=2` and
/// `f=2&t=1` one identity.
fn mix(key: usize, value: u32) -> u64 {
    let mut x = ((key as u64 + 1) << 32 | u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

impl<'c> Evaluator<'c> {
    /// Hashes all rows once.
    pub fn new(columns: &'c PublishedColumns) -> Evaluator<'c> {
        let mut rows = vec![0u64; columns.len()];
        for (key, column) in columns.values.iter().enumerate() {
            for (row, &value) in rows.iter_mut().zip(column) {
                *row = row.wrapping_add(if value == ABSENT { 0 } else { mix(key, value) });
            }
        }
        Evaluator { columns, rows, found: Vec::new() }
    }

    /// Rewrites `source` by `operations`, leaves `others` as they are, and counts what falls together.
    /// Costs a sort of the rows.
    pub fn run(
        &mut self,
        operations: &[(usize, Operation)],
        source: &[u32],
        others: impl Iterator<Item = u32>,
    ) -> Counts {
        self.rewrite(operations, source);
        self.found.extend(others.map(|row| (self.rows[row as usize], self.columns.clusters[row as usize], row)));
        self.found.sort_unstable();
        count(&self.found)
    }

    /// Up to three pairs of rows of one cluster that the last [`run`](Self::run) joined, in row order of
    /// the pairs.
    pub fn examples(&self) -> Vec<[u32; 2]> {
        let groups = self.found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|g| g.len() > 1);
        let mut pairs: Vec<[u32; 2]> = groups.map(|g| [g[0].2, g[1].2]).collect();
        pairs.sort_unstable();
        pairs.truncate(3);
        pairs
    }

    fn rewrite(&mut self, operations: &[(usize, Operation)], source: &[u32]) {
        let fixed = operations.iter().fold(0u64, |sum, &(key, operation)| {
            sum.wrapping_add(match operation {
                Operation::Keep(value) => mix(key, value),
                Operation::Ignore => mix(key, STAR),
                Operation::Replace(_) => 0,
            })
        });
        self.found.clear();
        self.found.extend(source.iter().map(|&row| (fixed, self.columns.clusters[row as usize], row)));
        for &(key, operation) in operations {
            let Operation::Replace(from) = operation else { continue };
            let column = &self.columns.values[from];
            for found in &mut self.found {
                let value = column[found.2 as usize];
                found.0 = found.0.wrapping_add(if value == ABSENT { 0 } else { mix(key, value) });
            }
        }
    }
}

fn pairs(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

/// Counts over `(identity, cluster, row)`, sorted.
fn count(rows: &[(u64, u32, u32)]) -> Counts {
    let mut counts = Counts::default();
    for group in rows.chunk_by(|a, b| a.0 == b.0).filter(|g| g.len() > 1) {
        let (mut largest, mut true_pairs) = (0, 0);
        for cluster in group.chunk_by(|a, b| a.1 == b.1) {
            let n = cluster.len() as u64;
            largest = largest.max(n);
            true_pairs += pairs(n);
            counts.clusters += u64::from(n > 1);
        }
        let size = group.len() as u64;
        counts.good += largest - 1;
        counts.bad += size - largest;
        counts.support_pairs += pairs(size);
        counts.false_positive_pairs += pairs(size) - true_pairs;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: group 1 has clusters a a a b (6 pairs, 3 of them of different clusters; good 2, bad 1),
    /// group 2 has c c (1 pair; good 1), group 3 is a single row. fpr = 3 / 7.
    #[test]
    fn pairs_are_counted_by_equation_three() {
        let rows = [(1, 0, 0), (1, 0, 1), (1, 0, 2), (1, 1, 3), (2, 2, 4), (2, 2, 5), (3, 0, 6)];
        let counts = count(&rows);
        let expected = Counts { good: 3, bad: 1, support_pairs: 7, false_positive_pairs: 3, clusters: 2 };
        assert_eq!(counts, expected);
        assert!((counts.pair_fpr() - 3.0 / 7.0).abs() < 1e-12);
    }

    /// By hand, z = 1, 9 good and none bad: (0 + 0.5/9 + 0.5/9) / (1 + 1/9) = 0.1, the bound of operations
    /// for nine.
    #[test]
    fn nine_good_ones_bound_the_rate_at_a_tenth() {
        let counts = Counts { good: 9, ..Counts::default() };
        assert!((counts.upper_bound() - 0.1).abs() < 1e-12);
        assert_eq!(Counts::default().upper_bound(), 1.0);
    }
}
