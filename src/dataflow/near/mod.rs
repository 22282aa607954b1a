//! Near-duplicates as a dataflow: fingerprints to pairs through block permutations exchanged by block,
//! pairs to components ([`components`]).

use super::grouped::Grouped;
use super::types::{Flow, Shared};
use crate::content::near::{BLOCKS, block, join_within};
use crate::model::hash64_seeded;
use std::sync::Arc;
use timely::dataflow::operators::vec::Map;

pub mod components;

pub use components::Components;

/// A fingerprint: `[hash of equal parts, simhash, owner]`. The first word is a hash of everything that
/// near-duplicates must share whole (site, title, kind of page).
pub type Print = [u64; 3];

/// Two vertices of a graph that belong together.
pub type Edge = (u64, u64);

/// Pairs of near fingerprints.
pub trait NearPairs<'scope> {
    /// Edges enough to connect all fingerprints within [`crate::content::near::NEAR`] bits of each other
    /// that agree in their first word. Each fingerprint goes once to each of the tables, to the worker of
    /// its block.
    fn near_pairs(self, budget: usize, shared: &Arc<Shared>) -> Flow<'scope, Edge>;
}

impl<'scope> NearPairs<'scope> for Flow<'scope, Print> {
    fn near_pairs(self, budget: usize, shared: &Arc<Shared>) -> Flow<'scope, Edge> {
        let mut entries = Vec::new();
        self.flat_map(|[agree, simhash, whose]: Print| {
            (0..BLOCKS).map(move |table| {
                let key = [agree, u64::from(table), block(simhash, table)].map(u64::to_le_bytes).concat();
                [hash64_seeded(&key, u64::from(table)), u64::from(table), simhash, whose]
            })
        })
        .grouped("NearPairs", budget, shared, move |group: &[[u64; 4]], edges| {
            if group.len() < 2 {
                return;
            }
            entries.clear();
            entries.extend(group.iter().map(|row| (row[2], row[3])));
            join_within(&mut entries, group[0][1] as u32, &mut |a, b| edges.push((a, b)));
        })
    }
}
