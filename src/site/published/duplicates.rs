//! Algorithm 2, Identify-Duplicate-Nodes (WWW10 section 5.2.1).
//!
//! An inverted index, cluster to nodes, gives for every node the nodes it shares a cluster with; pairs
//! with an overlap (eq. 6) of at least `o_min` are possible duplicates. For a node with itself the
//! duplicate rate counts instead: `1 - clusters / rows`.
//!
//! Readings: eq. 6 counts the rows of *either* node in the common clusters, so of a node and its
//! ancestor the rows of the ancestor in the clusters of the node, once; the denominator stays `|s| +
//! |t|`. It is symmetric, so a pair comes in both directions. Taking a pair up costs work with its
//! rows: the pairs of greatest overlap are taken, at most [`MAX_PAIRS`] of them and [`MAX_VISITS`]
//! rows.

use super::keys::PublishedColumns;
use super::{Overlap, Switches};
use crate::site::tree::Tree;

/// Pairs of nodes at most, of greatest overlap.
pub const MAX_PAIRS: usize = 20_000;
/// Rows in all pairs taken, at most.
pub const MAX_VISITS: u64 = 1 << 25;

/// Two nodes that are possibly duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The node whose URLs are rewritten.
    pub source: u32,
    /// The node whose format they get.
    pub target: u32,
    /// Eq. 6, or the duplicate rate where source and target are one.
    pub overlap: f64,
}

/// Rows of a node a cluster, both ways.
struct Index {
    /// `(cluster, rows)` of a node, by cluster.
    of_node: Vec<Vec<(u32, u32)>>,
    /// `(node, rows)` of a cluster, by node.
    of_cluster: Vec<Vec<(u32, u32)>>,
}

impl Index {
    fn new(columns: &PublishedColumns, tree: &Tree) -> Index {
        let mut of_cluster = vec![Vec::new(); columns.cluster_count as usize];
        let of_node = (0..tree.nodes.len() as u32)
            .map(|node| {
                let mut clusters: Vec<u32> =
                    tree.rows(node).iter().map(|&row| columns.clusters[row as usize]).collect();
                clusters.sort_unstable();
                let counts = clusters.chunk_by(|a, b| a == b).map(|c| (c[0], c.len() as u32));
                counts.inspect(|&(cluster, rows)| of_cluster[cluster as usize].push((node, rows))).collect()
            })
            .collect();
        Index { of_node, of_cluster }
    }
}

/// All possible duplicate nodes, by falling overlap, then by source and target.
pub fn identify(columns: &PublishedColumns, tree: &Tree, switches: &Switches) -> Vec<Pair> {
    let index = Index::new(columns, tree);
    let sizes = sizes(columns, &index, switches);
    let mut found = Vec::new();
    // Rows of source and target in their common clusters, by target; all zero between sources.
    let mut common = vec![0u64; tree.nodes.len()];
    let mut touched = Vec::new();
    for source in 0..tree.nodes.len() as u32 {
        for &(cluster, here) in &index.of_node[source as usize] {
            for &(target, there) in &index.of_cluster[cluster as usize] {
                let rows = &mut common[target as usize];
                if *rows == 0 {
                    touched.push(target);
                }
                let nested = tree.is_ancestor(source, target) || tree.is_ancestor(target, source);
                *rows += u64::from(if nested { here.max(there) } else { here + there });
            }
        }
        for target in touched.drain(..) {
            let rows = std::mem::take(&mut common[target as usize]);
            let (s, t) = (sizes[source as usize], sizes[target as usize]);
            let overlap = if source == target {
                1.0 - s.0 as f64 / s.1 as f64
            } else if !switches.nested && (tree.is_ancestor(source, target) || tree.is_ancestor(target, source)) {
                continue;
            } else {
                rows as f64 / (s.1 + t.1) as f64
            };
            if overlap >= switches.overlap_min {
                found.push(Pair { source, target, overlap });
            }
        }
    }
    found
        .sort_unstable_by(|a, b| b.overlap.total_cmp(&a.overlap).then((a.source, a.target).cmp(&(b.source, b.target))));
    let mut visits = 0;
    let affordable = found.iter().take(MAX_PAIRS).take_while(|p| {
        visits += u64::from(tree.volume(p.source) + tree.volume(p.target));
        visits <= MAX_VISITS
    });
    let count = affordable.count();
    found.truncate(count);
    found
}

/// Clusters and rows of each node, for the denominators of eq. 6 and of the duplicate rate.
fn sizes(columns: &PublishedColumns, index: &Index, switches: &Switches) -> Vec<(u64, u64)> {
    let mut members = vec![0u32; columns.cluster_count as usize];
    columns.clusters.iter().for_each(|&c| members[c as usize] += 1);
    let counts = |cluster: u32| match switches.overlap {
        Overlap::AllUrls => true,
        Overlap::Duplicated => members[cluster as usize] > 1,
    };
    let size = |of: &Vec<(u32, u32)>| {
        let counted = of.iter().filter(|c| counts(c.0));
        let (clusters, rows) = counted.fold((0, 0), |sum, c| (sum.0 + 1, sum.1 + u64::from(c.1)));
        // A node without a counted row overlaps nothing: rate 0, not 0 / 0.
        if rows == 0 { (1, 1) } else { (clusters, rows) }
    };
    index.of_node.iter().map(size).collect()
}
