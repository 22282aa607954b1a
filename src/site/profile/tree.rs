//! The pattern tree of a site for people: its largest nodes, branches in words.

use crate::site::columns::Columns;
use crate::site::tree::{self, Branch, Tree};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Nodes of a tree that are kept: those of most rows.
pub const MAX_NODES: usize = 48;
/// Characters of a branch that are kept.
const MAX_BRANCH: usize = 160;

/// A node of the pattern tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Place of the parent in the list; the root names itself.
    pub parent: u32,
    /// The branch that leads here, for example `path0 is "forum"`.
    pub branch: String,
    /// Distinct pages in the node: training URLs as operations on keys have reduced them.
    pub pages: u64,
}

/// The largest nodes of a tree, parents before children.
pub(in crate::site) fn profile(columns: &Columns, tree: &Tree) -> Vec<Node> {
    let mut order: Vec<usize> = (0..tree.nodes.len()).collect();
    // A parent has at least the rows of its child and comes before it, so its place is among the kept ones
    // too.
    order.sort_by_key(|&at| (Reverse(tree.volume(at as u32)), at));
    order.truncate(MAX_NODES);
    order.sort_unstable();
    let node = |&at: &usize| {
        let node = &tree.nodes[at];
        let parent = order.binary_search(&(node.parent as usize)).unwrap_or(0) as u32;
        Node { parent, branch: branch(columns, node), pages: u64::from(tree.volume(at as u32)) }
    };
    order.iter().map(node).collect()
}

fn branch(columns: &Columns, node: &tree::Node) -> String {
    let at = node.key as usize;
    let key = || columns.keys[at].to_string();
    let text = match &node.branch {
        Branch::Root => "all pages".to_owned(),
        Branch::Is(code) => match columns.text(at, *code) {
            None => format!("{} is absent", key()),
            Some(value) => format!("{} is {value:?}", key()),
        },
        Branch::NoneOf(codes) => match codes.len() {
            1 => format!("{} is another", key()),
            named => format!("{} is none of {named}", key()),
        },
    };
    crate::model::shown::within(&text, MAX_BRANCH)
}
