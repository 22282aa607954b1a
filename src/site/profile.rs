//! Profile of a site for people, beside its rules: keys with their effect on the training URLs, the
//! pattern tree, crawler traps.
//!
//! A profile decides nothing: rules are the same with and without. It is made once a site, from the
//! state before the energy walk, and never while [`held_out`](super::held_out) learns without a fold.
//! Cost: one evidence table for each key that still varies, over the rows that the rules have left.

pub mod file;
pub mod keys;
pub(in crate::site) mod names;
pub mod traps;
pub mod tree;

use serde::{Deserialize, Serialize};

pub use keys::{Effect, KeyProfile};
pub use traps::{Trap, TrapKind};
pub use tree::Node;

/// The profile of one site. Bounded: a site has at most [`MAX_COLUMNS`](super::columns::MAX_COLUMNS)
/// keys, of its tree [`tree::MAX_NODES`] nodes are kept, and of its traps [`traps::MAX_TRAPS`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Query keys and path parameters that two training URLs or more have, those of most URLs first.
    pub keys: Vec<KeyProfile>,
    /// Nodes of the pattern tree, parents before children; the largest ones.
    pub tree: Vec<Node>,
    /// Nodes that the tree has, those that are not kept included.
    pub tree_nodes: u64,
    /// Families of URLs that bring few new pages, those of most wasted fetches first. Files of earlier
    /// releases have none.
    #[serde(default)]
    pub traps: Vec<Trap>,
}
