//! Connected components of a graph of edges: the least vertex of each.
//!
//! Each worker first joins the edges it holds by itself (union by least vertex) and ships a star a
//! component; components across workers are closed by a loop in differential dataflow, which passes
//! labels along edges until none gets smaller. So the loop runs over the vertices that have an edge at
//! all, a few rounds, and none with one worker.
//!
//! The one use of differential dataflow here: the loop stops by itself when nothing changes, which a
//! plain feedback loop would have to detect by counting, and it could keep labels up to date as crawls
//! arrive.

use super::super::types::{Epoch, Flow};
use super::Edge;
use differential_dataflow::AsCollection;
use differential_dataflow::algorithms::graphs::propagate::propagate_at;
use std::collections::HashMap;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::vec::Map;

/// Connected components.
pub trait Components<'scope> {
    /// `(vertex, least vertex of its component)` for every vertex of an edge, once each, in no order.
    fn components(self) -> Flow<'scope, Edge>;
}

impl<'scope> Components<'scope> for Flow<'scope, Edge> {
    fn components(self) -> Flow<'scope, Edge> {
        let stars = self.contract();
        // All edges carry one epoch: the loop runs once.
        let edges =
            stars.clone().flat_map(|(a, b)| [((a, b), Epoch::MIN, 1isize), ((b, a), Epoch::MIN, 1)]).as_collection();
        let vertices = stars.flat_map(|(a, b)| [((a, a), Epoch::MIN, 1isize), ((b, b), Epoch::MIN, 1)]).as_collection();
        // Small labels first: most of the later ones change nothing.
        propagate_at(edges, vertices.distinct(), |label| label >> 32)
            .consolidate()
            .inner
            .flat_map(|(pair, _, count)| (count > 0).then_some(pair))
    }
}

/// Stars of the components of this worker's edges.
trait Contract<'scope> {
    fn contract(self) -> Flow<'scope, Edge>;
}

impl<'scope> Contract<'scope> for Flow<'scope, Edge> {
    fn contract(self) -> Flow<'scope, Edge> {
        let mut least = Least::default();
        self.unary_frontier(Pipeline, "Contract", move |capability, _| {
            // That of the first epoch, in which all stars are.
            let mut capability = Some(capability);
            move |(input, frontier), output| {
                input.for_each_stamp(|_, batches| {
                    batches.flat_map(|batch: &mut Vec<Edge>| batch.drain(..)).for_each(|(a, b)| least.join(a, b));
                });
                if frontier.is_empty()
                    && let Some(cap) = capability.take()
                {
                    output.session(&cap).give_iterator(std::mem::take(&mut least).stars().into_iter());
                }
            }
        })
    }
}

/// Vertices with their parents: at the end the least vertex of their component.
#[derive(Debug, Default)]
pub struct Least {
    ids: HashMap<u64, u32, foldhash::fast::FixedState>,
    vertices: Vec<u64>,
    parent: Vec<u32>,
}

impl Least {
    /// Puts two vertices into one component.
    pub fn join(&mut self, a: u64, b: u64) {
        let (a, b) = (self.id(a), self.id(b));
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = if self.vertices[a as usize] <= self.vertices[b as usize] { (a, b) } else { (b, a) };
        self.parent[high as usize] = low;
    }

    /// `(least vertex, other vertex)` for every vertex that is not the least of its component, in order of
    /// arrival.
    pub fn stars(mut self) -> Vec<Edge> {
        let mut stars = Vec::with_capacity(self.vertices.len());
        for id in 0..self.vertices.len() as u32 {
            let root = self.root(id);
            if root != id {
                stars.push((self.vertices[root as usize], self.vertices[id as usize]));
            }
        }
        stars
    }

    fn id(&mut self, vertex: u64) -> u32 {
        let next = self.vertices.len() as u32;
        let id = *self.ids.entry(vertex).or_insert(next);
        if id == next {
            self.vertices.push(vertex);
            self.parent.push(id);
        }
        id
    }

    fn root(&mut self, mut id: u32) -> u32 {
        while self.parent[id as usize] != id {
            // Halving: paths stay short.
            let up = self.parent[self.parent[id as usize] as usize];
            self.parent[id as usize] = up;
            id = up;
        }
        id
    }
}
