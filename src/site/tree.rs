//! The pattern tree (WWW10 5.1, Algorithm 1) over the reduced rows of a site.
//!
//! A node is split on the key with the least entropy (eq. 4) that has a salient value; one child a salient value, one
//! for all trivial ones. Departures, each measured: rows are clusters' rows after the operations of stage 4, and
//! salience counts clusters, not URLs: a value is salient when it is in at least max(8, 1 %) of the clusters of the node
//! and is not a bare number (eq. 5 makes a node of every popular id). The absent key is a value. Query keys and path
//! parameters do not split: whether they are there is the form of a URL. A node under 40 rows is a leaf.
//!
//! Cost: O(rows x keys) a level; a key splits once on a path from the root.

use super::columns::Columns;
use super::operations::{frequencies, is_number};
use crate::url::Fixed;

/// Rows below which a node is a leaf.
pub const MIN_NODE: usize = 40;
/// Clusters that a salient value needs, at least.
const MIN_SALIENT: u32 = 8;

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

/// Grows the tree over `rows`.
pub fn grow(columns: &Columns, rows: &[u32]) -> Tree {
    let mut tree = Tree { nodes: Vec::new(), leaf_of: vec![0; rows.len()] };
    tree.nodes.push(Node { parent: 0, path: Vec::new(), rows: rows.len() as u32, leaf: true });
    let members: Vec<u32> = (0..rows.len() as u32).collect();
    let mut work = vec![(0u32, members)];
    while let Some((node, members)) = work.pop() {
        for &m in &members {
            tree.leaf_of[m as usize] = node;
        }
        if members.len() < MIN_NODE {
            continue;
        }
        let Some((key, salient)) = choose(columns, rows, &members, &tree.nodes[node as usize].path) else { continue };
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
            work.push((id, members));
        }
    }
    tree
}

/// The key to split on, and its salient values by falling count of rows.
fn choose(columns: &Columns, rows: &[u32], members: &[u32], path: &[Branch]) -> Option<(usize, Vec<u32>)> {
    let done = |key: usize| path.iter().any(|b| matches!(b, Branch::Is(k, _) | Branch::None(k, _) if *k == key));
    let member_rows = || members.iter().map(|&m| rows[m as usize]);
    let mut clusters: Vec<u32> = member_rows().map(|r| columns.label[r as usize]).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let needed = MIN_SALIENT.max(clusters.len() as u32 / 100);
    let mut best: Option<(f64, usize, Vec<u32>)> = None;
    for key in 0..columns.keys.len() {
        let name = &columns.keys[key];
        if name.optional() || name.is(Fixed::FRAGMENT) || name.is(Fixed::ORDER) || done(key) {
            continue;
        }
        let counts = frequencies(columns, key, member_rows());
        let total = members.len() as f64;
        // Few values only: an id with thousands of values is never salient and its entropy never the least.
        let entropy: f64 =
            counts.iter().filter(|&&c| c > 0).map(|&c| -f64::from(c) / total * (f64::from(c) / total).ln()).sum();
        if entropy <= 0.0 || best.as_ref().is_some_and(|b| b.0 <= entropy) {
            continue;
        }
        let mut pairs: Vec<(u32, u32)> = member_rows()
            .map(|r| (columns.codes[key][r as usize], columns.label[r as usize]))
            .filter(|p| counts[p.0 as usize] >= needed)
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let depth = name.is(Fixed::DEPTH);
        let mut salient: Vec<u32> = pairs
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|run| run.len() as u32 >= needed && (depth || !is_number(columns, key, run[0].0)))
            .map(|run| run[0].0)
            .collect();
        if !salient.is_empty() {
            salient.sort_by_key(|&c| (std::cmp::Reverse(counts[c as usize]), c));
            best = Some((entropy, key, salient));
        }
    }
    best.map(|(_, key, salient)| (key, salient))
}
