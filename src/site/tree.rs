//! The pattern tree (WWW10 5.1, Algorithm 1, Build-Pattern-Tree), of undust and of the published method.
//!
//! A node is a set of rows. It is split on the key not yet done whose values have the least entropy (eq. 4):
//! each salient value gets a child, all trivial ones share one. [`Reading`] says how the paper is read, and
//! which departures are made.
//!
//! Readings that both methods share:
//! * Eq. 5 as printed, the greatest `log f_i - log f_(i-1)` of a falling curve, names the *smallest*
//!   drop. The text and Figure 6 mean the largest: values up to the greatest `log f_i - log f_(i+1)`
//!   (the first one on ties) are salient. A curve without any drop has no salient value.
//! * A key with one value has entropy 0 and would be taken first, with one child each time. Such keys
//!   make no node, there and below.
//! * An absent key is a value of its own, with the frequency of the rows without it (a switch).
//!
//! Cost: O(rows x keys) a level, whatever the sizes of dictionaries.

use std::cmp::Reverse;

/// No parent.
pub const NONE: u32 = u32::MAX;
/// Code of the absent key.
const ABSENT: u32 = 0;

/// Rows and codes that a tree is grown over.
#[derive(Clone, Debug)]
pub struct TreeTable<'c> {
    /// Code of each row, a column a key; 0 where the key is absent.
    pub columns: Vec<&'c [u32]>,
    /// Cluster of each row.
    pub clusters: &'c [u32],
    /// Codes are smaller than this.
    pub codes: usize,
}

/// Which values of a key are salient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Salient {
    /// Those before the largest drop of the log frequency (eq. 5, sign mended).
    Decline,
    /// Those in at least `least` clusters of the node and `permille` thousandths of them, but for the values
    /// that [`Reading::is_trivial`] names.
    Clusters {
        /// Clusters.
        least: u32,
        /// Share of the clusters of the node, in thousandths.
        permille: u64,
    },
}

/// How Algorithm 1 is read.
pub struct Reading<'r> {
    /// Rows under which a node is a leaf.
    pub min_rows: usize,
    /// Most nodes: nodes beyond stay unsplit, in breadth-first order.
    pub max_nodes: usize,
    /// The key of least entropy among those with a salient value splits a node; else a node whose key of least
    /// entropy has none is a leaf.
    pub tries_others: bool,
    /// The absent key is a value.
    pub presence: bool,
    /// Which values are salient.
    pub salient: Salient,
    /// Values that are never salient where clusters are counted, by key and code.
    pub is_trivial: &'r dyn Fn(usize, u32) -> bool,
}

/// How a node differs from its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// The root.
    Root,
    /// The split key has this code (0: it is absent).
    Is(u32),
    /// The split key has none of these codes, which are the salient ones.
    NoneOf(Vec<u32>),
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
}

/// The pattern tree of a site. Nodes are in breadth-first order: parents come before their children,
/// salient children by falling frequency (ties by code), the trivial one last.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The nodes; the root is the first.
    pub nodes: Vec<Node>,
    /// The rows, those of a node next to each other, those of a leaf rising.
    rows: Vec<u32>,
}

impl Tree {
    /// Grows the tree over `rows`; `keys` may split.
    pub fn grow(table: &TreeTable<'_>, mut rows: Vec<u32>, keys: Vec<usize>, reading: &Reading<'_>) -> Tree {
        // By cluster, so that the clusters of a value are counted without a table.
        rows.sort_unstable_by_key(|&row| (table.clusters[row as usize], row));
        let end = rows.len() as u32;
        let root = Node { parent: NONE, depth: 0, key: 0, branch: Branch::Root, start: 0, end };
        let mut tree = Tree { nodes: vec![root], rows };
        let mut counter = Counter::new(table, reading);
        // Keys that may split each node: those that vary in its parent and have not split on the way.
        let mut open = std::collections::VecDeque::from([keys]);
        let mut next = 0;
        while let Some(keys) = open.pop_front() {
            let before = tree.nodes.len();
            let keys = tree.split(next, keys, &mut counter);
            open.extend((before..tree.nodes.len()).map(|_| keys.clone()));
            if tree.nodes.len() == before {
                let Node { start, end, .. } = tree.nodes[next];
                tree.rows[start as usize..end as usize].sort_unstable();
            }
            next += 1;
        }
        tree
    }

    /// Splits a node, where it can be. Returns the keys that may split its children.
    fn split(&mut self, node: usize, mut keys: Vec<usize>, counter: &mut Counter<'_>) -> Vec<usize> {
        let Node { depth, start, end, .. } = self.nodes[node];
        let members = start as usize..end as usize;
        if members.len() < counter.reading.min_rows {
            return keys;
        }
        let Some((key, salient)) = counter.choose(&self.rows[members.clone()], &mut keys) else { return keys };
        if self.nodes.len() + salient.len() + 1 > counter.reading.max_nodes {
            return keys;
        }
        keys.retain(|&k| k != key);
        let sizes = counter.partition(key, &mut self.rows[members], &salient);
        let mut from = start;
        for (child, &size) in sizes.iter().enumerate().filter(|child| *child.1 > 0) {
            let branch = salient.get(child).map_or_else(|| Branch::NoneOf(salient.clone()), |&code| Branch::Is(code));
            let (parent, depth, key) = (node as u32, depth + 1, key as u32);
            self.nodes.push(Node { parent, depth, key, branch, start: from, end: from + size });
            from += size;
        }
        keys
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

    /// The nodes from a child of the root to `node`: its branches are those of its pattern.
    pub fn path(&self, node: u32) -> Vec<&Node> {
        let mut path: Vec<&Node> =
            std::iter::once(node).chain(self.ancestors(node)).map(|at| &self.nodes[at as usize]).collect();
        path.pop();
        path.reverse();
        path
    }

    /// Leaf of each row below `rows`; the root for those that are not in the tree.
    pub fn leaves(&self, rows: usize) -> Vec<u32> {
        let mut leaf = vec![0; rows];
        // Children come after their parents.
        for node in 0..self.nodes.len() as u32 {
            self.rows(node).iter().for_each(|&row| leaf[row as usize] = node);
        }
        leaf
    }
}

/// Eq. 4 over the frequencies of the values of a key: `sum of -(v/N) ln(v/N)`, N their sum.
pub fn entropy(frequencies: impl Iterator<Item = u32>) -> f64 {
    let (mut total, mut sum) = (0u64, 0.0);
    for v in frequencies {
        total += u64::from(v);
        if v > 1 {
            sum += f64::from(v) * f64::from(v).ln();
        }
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

/// Counts values of the rows of a node in time linear in the rows: its tables are as long as the largest
/// dictionary, and clean between calls.
struct Counter<'t> {
    table: &'t TreeTable<'t>,
    reading: &'t Reading<'t>,
    /// Of each code: its count, or its place among the salient ones.
    dense: Vec<u32>,
    /// Of each code: the last cluster in which it came, and the number of its clusters.
    seen_in: Vec<(u32, u32)>,
    counts: Vec<(u32, u32)>,
    moved: Vec<u32>,
}

impl<'t> Counter<'t> {
    fn new(table: &'t TreeTable<'t>, reading: &'t Reading<'t>) -> Counter<'t> {
        let (dense, seen_in) = (vec![0; table.codes], vec![(0, 0); table.codes]);
        Counter { table, reading, dense, seen_in, counts: Vec::new(), moved: Vec::new() }
    }

    /// The key to split on, and its salient values. Keys with one value leave `keys`.
    fn choose(&mut self, rows: &[u32], keys: &mut Vec<usize>) -> Option<(usize, Vec<u32>)> {
        let clusters = rows.chunk_by(|&a, &b| self.cluster(a) == self.cluster(b)).count();
        let (presence, tries_others) = (self.reading.presence, self.reading.tries_others);
        let mut best: Option<(f64, usize, Vec<u32>)> = None;
        keys.retain(|&key| {
            self.count(key, rows);
            if self.counts.len() == 1 {
                return false;
            }
            let entropy = entropy(self.counts.iter().filter(|c| presence || c.0 != ABSENT).map(|c| c.1));
            // Equal entropies differ by rounding: the first key wins.
            if best.as_ref().is_none_or(|best| entropy < best.0 - 1e-12) {
                let salient = if tries_others { self.salient(key, rows, clusters) } else { Vec::new() };
                if !tries_others || !salient.is_empty() {
                    best = Some((entropy, key, salient));
                }
            }
            true
        });
        let (_, key, mut salient) = best?;
        if !tries_others {
            self.count(key, rows);
            salient = self.salient(key, rows, clusters);
        }
        Some((key, salient)).filter(|of| !of.1.is_empty())
    }

    fn cluster(&self, row: u32) -> u32 {
        self.table.clusters[row as usize]
    }

    /// Fills `counts` with `(code, rows)` of each value, in order of first appearance.
    fn count(&mut self, key: usize, rows: &[u32]) {
        let column = self.table.columns[key];
        self.counts.clear();
        for &row in rows {
            let code = column[row as usize];
            let n = &mut self.dense[code as usize];
            *n += 1;
            if *n == 1 {
                self.counts.push((code, 0));
            }
        }
        for (code, n) in &mut self.counts {
            *n = std::mem::take(&mut self.dense[*code as usize]);
        }
    }

    /// The salient values of the key that was counted last, by falling frequency, ties by code.
    fn salient(&mut self, key: usize, rows: &[u32], clusters: usize) -> Vec<u32> {
        let mut found: Vec<(u32, u32)> =
            self.counts.iter().copied().filter(|of| self.reading.presence || of.0 != ABSENT).collect();
        if let Salient::Clusters { least, permille } = self.reading.salient {
            let needed = least.max((clusters as u64 * permille / 1_000) as u32);
            // A value is in no more clusters than rows.
            found.retain(|of| of.1 >= needed);
            if found.is_empty() {
                return Vec::new();
            }
            let column = self.table.columns[key];
            for &row in rows {
                let cluster = self.cluster(row);
                let (last, clusters) = &mut self.seen_in[column[row as usize] as usize];
                *clusters += u32::from(*clusters == 0 || *last != cluster);
                *last = cluster;
            }
            found.retain(|of| self.seen_in[of.0 as usize].1 >= needed && !(self.reading.is_trivial)(key, of.0));
            self.counts.iter().for_each(|of| self.seen_in[of.0 as usize] = (0, 0));
        }
        found.sort_unstable_by_key(|&(code, count)| (Reverse(count), code));
        if self.reading.salient == Salient::Decline {
            let falling: Vec<u32> = found.iter().map(|of| of.1).collect();
            found.truncate(decline(&falling));
        }
        found.into_iter().map(|of| of.0).collect()
    }

    /// Orders `rows` by their place among `salient` (all others last), keeping their order within a place;
    /// returns the number of rows a place.
    fn partition(&mut self, key: usize, rows: &mut [u32], salient: &[u32]) -> Vec<u32> {
        let column = self.table.columns[key];
        for (place, &code) in salient.iter().enumerate() {
            self.dense[code as usize] = place as u32 + 1;
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
        salient.iter().for_each(|&code| self.dense[code as usize] = 0);
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

    /// Key 0 halves the rows and key 1 is 1 on three of four; key 2 has one value in each half of key 0.
    fn grown(reading: &Reading<'_>) -> Tree {
        let half: Vec<u32> = (0..8).map(|row| 1 + row / 4).collect();
        let ids: Vec<u32> = (0..8).map(|row| if row % 4 == 3 { 3 + row } else { 1 }).collect();
        let clusters: Vec<u32> = (0..8).rev().collect();
        let table = TreeTable { columns: vec![&half, &ids, &half], clusters: &clusters, codes: 16 };
        Tree::grow(&table, (0..8).collect(), vec![0, 1, 2], reading)
    }

    #[test]
    fn a_key_without_salient_values_ends_the_published_tree_alone() {
        let salient = Salient::Clusters { least: 3, permille: 0 };
        let is_trivial: &dyn Fn(usize, u32) -> bool = &|key, _| key != 1;
        let reading = Reading { min_rows: 1, max_nodes: 99, tries_others: true, presence: true, salient, is_trivial };
        let tree = grown(&reading);
        let branches: Vec<(u32, &Branch)> = tree.nodes.iter().map(|node| (node.key, &node.branch)).collect();
        assert_eq!(branches, [(0, &Branch::Root), (1, &Branch::Is(1)), (1, &Branch::NoneOf(vec![1]))]);
        assert_eq!((tree.rows(1), tree.rows(2)), (&[0, 1, 2, 4, 5, 6][..], &[3, 7][..]));
        assert_eq!(tree.leaves(9), [1, 1, 1, 2, 1, 1, 1, 2, 0]);
        assert_eq!(tree.path(2), [&tree.nodes[2]]);
        assert_eq!(grown(&Reading { tries_others: false, ..reading }).nodes.len(), 1);
        let is_trivial: &dyn Fn(usize, u32) -> bool = &|_, _| false;
        let all = Reading { tries_others: false, is_trivial, ..reading };
        // Key 0 first, since key 2 has its entropy and comes behind it; then key 1, in both halves.
        assert_eq!(grown(&all).nodes.iter().map(|node| node.key).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(grown(&Reading { max_nodes: 4, ..all }).nodes.len(), 3);
        assert_eq!(grown(&Reading { min_rows: 5, ..all }).nodes.len(), 3);
        assert_eq!(grown(&Reading { min_rows: 9, ..all }).nodes.len(), 1);
    }

    #[test]
    fn absent_keys_are_values_only_with_presence() {
        let column: Vec<u32> = [0, 0, 0, 0, 1, 1, 2, 3].to_vec();
        let clusters: Vec<u32> = (0..8).collect();
        let table = TreeTable { columns: vec![&column], clusters: &clusters, codes: 4 };
        let grow = |presence| {
            let is_trivial: &dyn Fn(usize, u32) -> bool = &|_, _| false;
            let salient = Salient::Decline;
            let reading = Reading { min_rows: 1, max_nodes: 99, tries_others: false, presence, salient, is_trivial };
            let tree = Tree::grow(&table, (0..8).collect(), vec![0], &reading);
            tree.nodes.iter().map(|node| node.branch.clone()).collect::<Vec<_>>()
        };
        assert_eq!(grow(true), [Branch::Root, Branch::Is(0), Branch::NoneOf(vec![0])]);
        assert_eq!(grow(false), [Branch::Root, Branch::Is(1), Branch::NoneOf(vec![1])]);
    }
}
