//! Algorithm 1, Build-Pattern-Tree (WWW10 section 5.1).
//!
//! A node is a set of rows and its pattern: for every key either the one value all its rows have, or
//! `*`. A node is split on the key not yet done whose values have the least entropy (eq. 4): each
//! salient value gets a child, all trivial ones share the child `*`. Where the chosen key has no
//! salient value the node stays a leaf; no other key is tried.
//!
//! Readings:
//! * Eq. 5 as printed, the greatest `log f_i - log f_(i-1)` of a falling curve, names the *smallest*
//!   drop. The text and Figure 6 mean the largest: values up to the greatest `log f_i - log f_(i+1)`
//!   (the first one on ties) are salient. A curve without any drop has no salient value.
//! * A key with one value has entropy 0 and would be taken first, with one child each time. Such keys
//!   go into the pattern at once and make no node.
//! * An absent key is a value of its own, with the frequency of the rows without it (a switch).

use super::keys::{ABSENT, Columns};
use super::{Salient, Switches};

/// No parent.
pub const NONE: u32 = u32::MAX;
/// Most nodes of a tree: nodes beyond stay unsplit, in breadth-first order. The paper's largest tree
/// has 634 nodes (Table 2).
pub const MAX_NODES: usize = 4096;

/// Values of the rows of a node under one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// All have this value; [`ABSENT`] where none has the key.
    One(u32),
    /// `*`: several values. True where some rows lack the key.
    Many(bool),
}

/// How a node differs from its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// The root.
    Root,
    /// The split key has this value (or is absent).
    Value(u32),
    /// The split key has none of these values, which are the salient ones; they may hold [`ABSENT`].
    Trivial(Vec<u32>),
}

/// A node of the pattern tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index of the parent, [`NONE`] for the root.
    pub parent: u32,
    /// Edges to the root.
    pub depth: u32,
    /// The key on which the parent was split; 0 for the root.
    pub key: u32,
    /// Which of the parent's rows are here.
    pub branch: Branch,
    start: u32,
    end: u32,
    /// Keys done on the way here, a bit a key.
    done: u128,
}

/// The pattern tree of a site. Nodes are in breadth-first order: parents come before their children,
/// salient children by falling frequency (ties by value id), the trivial one last.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The nodes; the root is the first. Empty only without rows.
    pub nodes: Vec<Node>,
    rows: Vec<u32>,
    slots: Vec<Slot>,
    keys: usize,
}

impl Tree {
    /// Algorithm 1 over all rows. Costs rows x keys a level.
    pub fn build(columns: &Columns, switches: &Switches) -> Tree {
        let mut tree = Tree { rows: (0..columns.len() as u32).collect(), keys: columns.keys.len(), ..Tree::default() };
        if columns.is_empty() {
            return tree;
        }
        let end = columns.len() as u32;
        tree.nodes.push(Node { parent: NONE, depth: 0, key: 0, branch: Branch::Root, start: 0, end, done: 0 });
        let mut counter = Counter::new(columns);
        let mut next = 0;
        while next < tree.nodes.len() {
            tree.split(next, columns, switches, &mut counter);
            next += 1;
        }
        tree
    }

    /// Rows of a node.
    pub fn rows(&self, node: u32) -> &[u32] {
        let node = &self.nodes[node as usize];
        &self.rows[node.start as usize..node.end as usize]
    }

    /// Rows of a node that are not rows of another one: those before and after it.
    pub fn rows_without(&self, node: u32, other: u32) -> [&[u32]; 2] {
        let (n, o) = (&self.nodes[node as usize], &self.nodes[other as usize]);
        let cut = |a: u32, b: u32| &self.rows[a as usize..b.max(a) as usize];
        [cut(n.start, n.end.min(o.start)), cut(n.start.max(o.end), n.end)]
    }

    /// Number of rows of a node: its volume (WWW10 5.3).
    pub fn volume(&self, node: u32) -> u32 {
        self.rows(node).len() as u32
    }

    /// The pattern of a node, a slot a key.
    pub fn pattern(&self, node: u32) -> &[Slot] {
        &self.slots[node as usize * self.keys..][..self.keys]
    }

    /// True where `above` lies on the way from `node` to the root; false for the node itself.
    pub fn is_ancestor(&self, above: u32, node: u32) -> bool {
        // A node and its only child would have the same rows; every split makes at least two children.
        let (a, n) = (&self.nodes[above as usize], &self.nodes[node as usize]);
        above != node && a.start <= n.start && n.end <= a.end
    }

    /// The ancestors of a node, nearest first.
    pub fn ancestors(&self, node: u32) -> impl Iterator<Item = u32> {
        let parent = |n: u32| Some(self.nodes[n as usize].parent).filter(|&p| p != NONE);
        std::iter::successors(parent(node), move |&n| parent(n))
    }

    /// Finds the pattern of a node and splits it.
    fn split(&mut self, node: usize, columns: &Columns, switches: &Switches, counter: &mut Counter) {
        let Node { parent, depth, start, end, done, .. } = self.nodes[node];
        let rows = start as usize..end as usize;
        let mut best: Option<(f64, usize)> = None;
        for key in 0..self.keys {
            let inherited = if parent == NONE { Slot::Many(true) } else { self.pattern(parent)[key] };
            if let Slot::One(_) = inherited {
                self.slots.push(inherited);
                continue;
            }
            let counts = counter.count(&columns.values[key], &self.rows[rows.clone()]);
            let absent = counts.iter().any(|c| c.0 == ABSENT);
            if let &[(value, _)] = counts {
                self.slots.push(Slot::One(value));
                continue;
            }
            self.slots.push(Slot::Many(absent));
            if done >> key & 1 == 0 {
                let h = entropy(counts.iter().filter(|c| switches.presence || c.0 != ABSENT).map(|c| c.1));
                // Equal entropies differ by rounding: the first key of the URL wins.
                if best.is_none_or(|b| h < b.0 - 1e-12) {
                    best = Some((h, key));
                }
            }
        }
        let Some((_, key)) = best else { return };
        let salient = counter.salient(columns, key, &self.rows[rows.clone()], switches);
        if salient.is_empty() || self.nodes.len() + salient.len() + 1 > MAX_NODES {
            return;
        }
        let place = counter.partition(&columns.values[key], &mut self.rows[rows], &salient);
        let mut from = start;
        for (child, &size) in place.iter().enumerate().filter(|c| *c.1 > 0) {
            let branch = salient.get(child).map_or_else(|| Branch::Trivial(salient.clone()), |&v| Branch::Value(v));
            let done = done | 1 << key;
            let (parent, depth, key) = (node as u32, depth + 1, key as u32);
            self.nodes.push(Node { parent, depth, key, branch, start: from, end: from + size, done });
            from += size;
        }
    }
}

/// Eq. 4 over the frequencies of the values of a key: `sum of -(v/N) ln(v/N)`, N their sum.
pub fn entropy(frequencies: impl Iterator<Item = u32>) -> f64 {
    let (mut total, mut sum) = (0u64, 0.0);
    for v in frequencies {
        total += u64::from(v);
        sum += f64::from(v) * f64::from(v).ln();
    }
    if total == 0 { 0.0 } else { (total as f64).ln() - sum / total as f64 }
}

/// Eq. 5: how many of the values are salient, given their frequencies in falling order. A single value
/// is salient; of several, those before the largest drop of the log frequency (the first one on ties);
/// none on a flat curve.
pub fn decline(falling: &[u32]) -> usize {
    if falling.len() < 2 {
        return falling.len();
    }
    let mut best = (0, 0.0);
    for (i, pair) in falling.windows(2).enumerate() {
        let drop = f64::from(pair[0]).ln() - f64::from(pair[1]).ln();
        if drop > best.1 + 1e-12 {
            best = (i + 1, drop);
        }
    }
    best.0
}

/// Counts values of the rows of a node in time linear in the rows.
struct Counter {
    /// Per value: its count, or its place among the salient ones. All zero between calls.
    dense: Vec<u32>,
    counts: Vec<(u32, u32)>,
    moved: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl Counter {
    fn new(columns: &Columns) -> Counter {
        let dense = vec![0; columns.value_count()];
        Counter { dense, counts: Vec::new(), moved: Vec::new(), pairs: Vec::new() }
    }

    /// `(value, rows)` of each value, in order of first appearance.
    fn count(&mut self, column: &[u32], rows: &[u32]) -> &[(u32, u32)] {
        self.counts.clear();
        for &row in rows {
            let value = column[row as usize];
            let n = &mut self.dense[value as usize];
            *n += 1;
            if *n == 1 {
                self.counts.push((value, 0));
            }
        }
        for (value, n) in &mut self.counts {
            *n = std::mem::take(&mut self.dense[*value as usize]);
        }
        &self.counts
    }

    /// The salient values of a key, by falling frequency, ties by value id.
    fn salient(&mut self, columns: &Columns, key: usize, rows: &[u32], switches: &Switches) -> Vec<u32> {
        let column = &columns.values[key];
        match switches.salient {
            Salient::Eq5 => {
                self.count(column, rows);
                let counts = &mut self.counts;
                counts.retain(|c| switches.presence || c.0 != ABSENT);
                counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
                let falling: Vec<u32> = counts.iter().map(|c| c.1).collect();
                counts[..decline(&falling)].iter().map(|c| c.0).collect()
            }
            Salient::Frequency => {
                // The departure of undust: clusters are counted, not URLs, and a bare number is never salient.
                self.pairs.clear();
                self.pairs.extend(rows.iter().map(|&r| (column[r as usize], columns.clusters[r as usize])));
                self.pairs.sort_unstable();
                self.pairs.dedup();
                let mut found: Vec<(u32, u32)> =
                    self.pairs.chunk_by(|a, b| a.0 == b.0).map(|c| (c[0].0, c.len() as u32)).collect();
                let mut clusters: Vec<u32> = self.pairs.iter().map(|p| p.1).collect();
                clusters.sort_unstable();
                clusters.dedup();
                let least = (clusters.len() as u32).div_ceil(100).max(8);
                let number = |v: u32| v != ABSENT && columns.value(v).iter().all(u8::is_ascii_digit);
                found.retain(|f| f.1 >= least && !number(f.0) && (switches.presence || f.0 != ABSENT));
                found.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
                found.iter().map(|f| f.0).collect()
            }
        }
    }

    /// Orders `rows` by their place among `salient` (all others last), keeping their order within a place;
    /// returns the number of rows a place.
    fn partition(&mut self, column: &[u32], rows: &mut [u32], salient: &[u32]) -> Vec<u32> {
        for (place, &value) in salient.iter().enumerate() {
            self.dense[value as usize] = place as u32 + 1;
        }
        let place = |dense: &[u32], row: u32| match dense[column[row as usize] as usize] {
            0 => salient.len(),
            place => place as usize - 1,
        };
        let mut sizes = vec![0u32; salient.len() + 1];
        rows.iter().for_each(|&row| sizes[place(&self.dense, row)] += 1);
        let mut ends: Vec<u32> = sizes.iter().scan(0, |at, &n| Some(std::mem::replace(at, *at + n))).collect();
        self.moved.clear();
        self.moved.resize(rows.len(), 0);
        for &row in rows.iter() {
            let end = &mut ends[place(&self.dense, row)];
            self.moved[*end as usize] = row;
            *end += 1;
        }
        rows.copy_from_slice(&self.moved);
        salient.iter().for_each(|&value| self.dense[value as usize] = 0);
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, eq. 4 with the natural logarithm: frequencies 2, 1, 1 of N = 4 give
    /// -(1/2) ln(1/2) - 2 (1/4) ln(1/4) = 0.5 ln 2 + 0.5 ln 4 = 1.5 ln 2.
    #[test]
    fn entropy_is_equation_four() {
        assert!((entropy([2, 1, 1].into_iter()) - 1.5 * 2f64.ln()).abs() < 1e-12);
        assert_eq!(entropy([7].into_iter()), 0.0);
        assert!((entropy([3, 3, 3].into_iter()) - 3f64.ln()).abs() < 1e-12);
    }

    /// By hand, eq. 5 with the sign mended: 100, 80, 9, 8 drop by ln 1.25 = 0.22, ln 8.89 = 2.18, ln 1.125
    /// = 0.12: two values are salient. 1000, 400, 390, 380 drop most after the first. 30, 1, 1 makes one
    /// popular id salient. Of equal drops (8, 4, 2) the first counts. A flat curve has no decline.
    #[test]
    fn the_largest_drop_ends_the_salient_values() {
        for (falling, salient) in [
            (&[100, 80, 9, 8][..], 2),
            (&[1000, 400, 390, 380], 1),
            (&[30, 1, 1], 1),
            (&[8, 4, 2], 1),
            (&[5, 5, 5], 0),
            (&[4], 1),
            (&[], 0),
        ] {
            assert_eq!(decline(falling), salient, "{falling:?}");
        }
    }
}
