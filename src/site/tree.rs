//! The pattern tree (WWW10 5.1, Algorithm 1) over the reduced rows of a site.
//!
//! A node is split on the key with the least entropy (eq. 4) that has a salient value; one child a
//! salient value, one for all trivial ones. Departures, each measured (docs/method.md, "Departures from
//! WWW10"): rows are clusters' rows after the operations of the covering loop, and salience counts clusters, not
//! URLs: a value is salient when it is in at least max(8, 1 %) of the clusters of the node and is not a
//! bare number (eq. 5 makes a node of every popular id). The absent key is a value. Query keys and path
//! parameters do not split: their presence is part of the form of a URL. A node under 40 rows is a
//! leaf.
//!
//! Cost: O(rows x keys) a level, whatever the sizes of dictionaries; a key splits once on a path from
//! the root, and one that has a single value in a node is not looked at below it.

use super::Thresholds;
use super::columns::Columns;
use super::operations::is_number;
use crate::url::Fixed;

/// One branch on the way to a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// The key has this code (0: it is absent).
    Is(usize, u32),
    /// The key has none of these codes.
    None(usize, Vec<u32>),
}

/// A node: the rows that follow its branches.
#[derive(Clone, Debug)]
pub struct Node {
    /// Parent; the root is its own.
    pub parent: u32,
    /// How the node was reached; all branches from the root.
    pub path: Vec<Branch>,
    /// Reduced rows in the node.
    pub rows: u32,
    /// No children.
    pub leaf: bool,
}

/// The pattern tree of a site.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Nodes in the order of their making, root first.
    pub nodes: Vec<Node>,
    /// Leaf of each row of `rows` as given to [`grow`].
    pub leaf_of: Vec<u32>,
}

/// Rows on their way to a leaf.
struct Work {
    node: u32,
    /// Places in the rows given to [`grow`], by cluster, then rising.
    members: Vec<u32>,
    /// Keys that may still split: those that vary in the parent and have not split on the way.
    keys: Vec<usize>,
}

/// Grows the tree over `rows`.
pub fn grow(columns: &Columns, rows: &[u32], thresholds: &Thresholds) -> Tree {
    let mut tree = Tree { nodes: Vec::new(), leaf_of: vec![0; rows.len()] };
    tree.nodes.push(Node { parent: 0, path: Vec::new(), rows: rows.len() as u32, leaf: true });
    let mut members: Vec<u32> = (0..rows.len() as u32).collect();
    members.sort_by_key(|&m| columns.label[rows[m as usize] as usize]);
    let splits = |key: &usize| {
        let name = &columns.keys[*key];
        !(name.optional() || [Fixed::FRAGMENT, Fixed::ORDER, Fixed::SEPARATOR].iter().any(|&fixed| name.is(fixed)))
    };
    let mut chooser = Chooser::new(columns, thresholds);
    let keys = (0..columns.keys.len()).filter(splits).collect();
    let mut work = vec![Work { node: 0, members, keys }];
    while let Some(Work { node, members, mut keys }) = work.pop() {
        for &m in &members {
            tree.leaf_of[m as usize] = node;
        }
        if members.len() < thresholds.tree_min_rows {
            continue;
        }
        let Some((key, salient)) = chooser.choose(columns, rows, &members, &mut keys) else { continue };
        keys.retain(|&k| k != key);
        tree.nodes[node as usize].leaf = false;
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); salient.len() + 1];
        for m in members {
            let code = columns.codes[key][rows[m as usize] as usize];
            let child = salient.iter().position(|&s| s == code).unwrap_or(salient.len());
            children[child].push(m);
        }
        for (i, members) in children.into_iter().enumerate().filter(|(_, m)| !m.is_empty()) {
            let branch =
                if i < salient.len() { Branch::Is(key, salient[i]) } else { Branch::None(key, salient.clone()) };
            let mut path = tree.nodes[node as usize].path.clone();
            path.push(branch);
            let id = tree.nodes.len() as u32;
            tree.nodes.push(Node { parent: node, path, rows: members.len() as u32, leaf: true });
            work.push(Work { node: id, members, keys: keys.clone() });
        }
    }
    tree
}

/// Scratch for choosing keys: as big as the largest dictionary, and clean between nodes, so that a node
/// costs its own rows and not the dictionaries of the site.
struct Chooser {
    counts: Vec<u32>,
    /// Codes of the key under trial that come in the node.
    seen: Vec<u32>,
    /// Clusters of the members, in their order.
    labels: Vec<u32>,
    /// Last cluster and number of clusters in which a code came.
    met: Vec<(u32, u32)>,
    /// Clusters that a salient value needs, and their share among those of the node, in thousandths.
    least: (u32, u64),
}

impl Chooser {
    fn new(columns: &Columns, thresholds: &Thresholds) -> Chooser {
        let most = (0..columns.keys.len()).map(|k| columns.codes_len(k)).max().unwrap_or(0);
        let least = (thresholds.tree_min_salient, thresholds.tree_salient_permille);
        Chooser { counts: vec![0; most], seen: Vec::new(), labels: Vec::new(), met: vec![(0, 0); most], least }
    }

    /// The key to split on, and its salient values by falling count of rows. Keys with one value leave
    /// `keys`.
    fn choose(
        &mut self,
        columns: &Columns,
        rows: &[u32],
        members: &[u32],
        keys: &mut Vec<usize>,
    ) -> Option<(usize, Vec<u32>)> {
        self.labels.clear();
        self.labels.extend(members.iter().map(|&m| columns.label[rows[m as usize] as usize]));
        let clusters = self.labels.chunk_by(|a, b| a == b).count();
        let needed = self.least.0.max((clusters as u64 * self.least.1 / 1_000) as u32);
        let mut best: Option<(f64, usize, Vec<u32>)> = None;
        keys.retain(|&key| {
            let codes = members.iter().map(|&m| columns.codes[key][rows[m as usize] as usize]);
            self.seen.clear();
            for code in codes.clone() {
                let count = &mut self.counts[code as usize];
                if *count == 0 {
                    self.seen.push(code);
                }
                *count += 1;
            }
            let varies = self.seen.len() > 1;
            if varies && self.seen.iter().any(|&c| self.counts[c as usize] >= needed) {
                let least = best.as_ref().map_or(f64::INFINITY, |b| b.0);
                if let Some(entropy) = self.entropy(members.len(), least) {
                    let salient = self.salient(columns, key, codes, needed);
                    if !salient.is_empty() {
                        best = Some((entropy, key, salient));
                    }
                }
            }
            self.seen.iter().for_each(|&code| self.counts[code as usize] = 0);
            varies
        });
        best.map(|(_, key, salient)| (key, salient))
    }

    /// Entropy (eq. 4) of the codes seen, where it is under `least`. Summed by rising code, so that it does
    /// not depend on the order of rows; a sum in any order rules out most keys before that.
    fn entropy(&mut self, total: usize, least: f64) -> Option<f64> {
        let total = total as f64;
        let term = |count: u32| -f64::from(count) / total * (f64::from(count) / total).ln();
        let one = term(1);
        let sum = |seen: &[u32], counts: &[u32]| -> f64 {
            let each = |&code: &u32| if counts[code as usize] == 1 { one } else { term(counts[code as usize]) };
            seen.iter().map(each).sum()
        };
        // Rounding errors of any order are far below a millionth.
        if sum(&self.seen, &self.counts) > least + 1e-6 * (1.0 + least) {
            return None;
        }
        self.seen.sort_unstable();
        let entropy = sum(&self.seen, &self.counts);
        (entropy > 0.0 && entropy < least).then_some(entropy)
    }

    /// Values in at least `needed` clusters of the node, by falling count of rows. Members come cluster by
    /// cluster, so the last cluster in which a value was met identifies new ones.
    fn salient(&mut self, columns: &Columns, key: usize, codes: impl Iterator<Item = u32>, needed: u32) -> Vec<u32> {
        for (code, &label) in codes.zip(&self.labels) {
            let (last, clusters) = &mut self.met[code as usize];
            *clusters += u32::from(*clusters == 0 || *last != label);
            *last = label;
        }
        let depth = columns.keys[key].is(Fixed::DEPTH);
        let (met, counts) = (&self.met, &self.counts);
        let enough = |code: u32| met[code as usize].1 >= needed && (depth || !is_number(columns, key, code));
        let mut salient: Vec<u32> = self.seen.iter().copied().filter(|&code| enough(code)).collect();
        salient.sort_by_key(|&c| (std::cmp::Reverse(counts[c as usize]), c));
        self.seen.iter().for_each(|&code| self.met[code as usize] = (0, 0));
        salient
    }
}
