//! The pattern tree of the published method: [`crate::site::tree`] as WWW10 reads, and the pattern of each
//! node.
//!
//! A pattern has for every key either the one value all rows of the node have, or `*`. Where the key of
//! least entropy has no salient value the node stays a leaf; no other key is tried.

use super::keys::{ABSENT, PublishedColumns};
use super::{Salient, Switches};
use crate::site::tree::{self, NONE, Reading, Tree, TreeTable};

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

/// The pattern tree of a site and the patterns of its nodes.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    /// The tree; without nodes where there is no row.
    pub tree: Tree,
    slots: Vec<Slot>,
    keys: usize,
}

impl Patterns {
    /// Algorithm 1 over all rows. O(rows x keys) a level.
    pub fn build(columns: &PublishedColumns, switches: &Switches) -> Patterns {
        if columns.is_empty() {
            return Patterns::default();
        }
        let keys = columns.keys.len();
        let table = TreeTable {
            columns: columns.values.iter().map(Vec::as_slice).collect(),
            clusters: &columns.clusters,
            codes: columns.value_count(),
        };
        let reading = Reading {
            min_rows: 1,
            max_nodes: MAX_NODES,
            tries_others: false,
            presence: switches.presence,
            salient: match switches.salient {
                Salient::Eq5 => tree::Salient::Decline,
                // The departure of undust: clusters are counted, not URLs, and a bare number is never salient.
                Salient::Frequency => tree::Salient::Clusters { least: 8, permille: 10 },
            },
            is_trivial: &|_, value| value != ABSENT && columns.value(value).iter().all(u8::is_ascii_digit),
        };
        let tree = Tree::grow(&table, (0..columns.len() as u32).collect(), (0..keys).collect(), &reading);
        let mut slots = Vec::with_capacity(tree.nodes.len() * keys);
        for (at, node) in (0..).zip(&tree.nodes) {
            for (key, column) in table.columns.iter().enumerate() {
                let inherited = if node.parent == NONE { None } else { slots.get(node.parent as usize * keys + key) };
                slots.push(match inherited {
                    Some(one @ Slot::One(_)) => *one,
                    _ => slot(tree.rows(at).iter().map(|&row| column[row as usize])),
                });
            }
        }
        Patterns { tree, slots, keys }
    }

    /// The pattern of a node, a slot a key.
    pub fn of(&self, node: u32) -> &[Slot] {
        &self.slots[node as usize * self.keys..][..self.keys]
    }
}

fn slot(mut values: impl Iterator<Item = u32> + Clone) -> Slot {
    let absent = values.clone().any(|value| value == ABSENT);
    let first = values.next().unwrap_or(ABSENT);
    if values.all(|value| value == first) { Slot::One(first) } else { Slot::Many(absent) }
}
