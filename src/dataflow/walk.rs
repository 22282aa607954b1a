//! The energy walk of the sites under way, as a loop of the dataflow over vertices and edges (WWW10 5.3).
//!
//! ```text
//! start -> step -> end    start: the vertices of each site with their edges, at their owners
//!          ^  |           step:  adds up what comes to a vertex in a round, and sends parts of its new energy
//!          +--+                  along its edges, to the owners of the targets, for the next round
//!                         end:   the energies of all vertices of a site, at the worker of the site
//! ```
//! A vertex goes on when each of its edges has brought its part, so that no site waits for another, nor for the
//! frontier. Sums of integers have no order: the loop is [`energy::walk`](crate::site::energy::walk) to the bit, with
//! any number of workers. The vertices of a site are at its worker, unless it has [`SPREAD`] or more.

use super::types::{Epoch, Flow};
use crate::site::energy::{Graph, Share, Transition};
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use timely::dataflow::StreamVec;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::core::{Enter, Feedback, Leave, Map, OkErr};
use timely::dataflow::operators::{Concat, ConnectLoop, Operator};
use timely::order::Product;

/// Vertices of a site from which on they are spread over all workers. Messages between workers cost more than
/// sums: fewer vertices are faster at one.
const SPREAD: usize = 4096;

/// Something with a graph to walk on: a site before the energy walk.
pub trait HasGraph: 'static {
    /// The graph.
    fn graph(&self) -> &Graph;
}

/// The walk on a stream of sites.
pub trait EnergyWalk<'scope, S> {
    /// Each site with its energies, one a vertex, in units of [`URL`](crate::site::energy::URL).
    fn energy_walk(self) -> Flow<'scope, (Box<S>, Vec<u128>)>;
}

impl<'scope, S: HasGraph> EnergyWalk<'scope, S> for Flow<'scope, Box<S>> {
    fn energy_walk(self) -> Flow<'scope, (Box<S>, Vec<u128>)> {
        let (scope, sites) = (self.scope(), Rc::default());
        let is_still = |site: Box<S>| if site.graph().volume.is_empty() { Ok(site) } else { Err(site) };
        let (still, walking): (Flow<'scope, Box<S>>, Flow<'scope, Box<S>>) = self.ok_err(is_still);
        let starts = start(walking, Rc::clone(&sites));
        let whole = scope.scoped::<Product<Epoch, u32>, _, _>("EnergyWalk", |rounds| {
            let (next, parts) = rounds.feedback(Product::new(Default::default(), 1));
            let sent = step(starts.enter(rounds), parts);
            let (parts, whole) = sent.ok_err(|energy| if energy.round > 0 { Ok(energy) } else { Err(energy) });
            parts.connect_loop(next);
            whole.leave(scope)
        });
        end(whole, sites).concat(still.map(|site| (site, Vec::new())))
    }
}

/// A vertex: a form of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Vertex {
    /// Worker of the site, and number of the site there.
    site: (u32, u32),
    form: u32,
    /// Worker that adds up its energies.
    owner: u32,
}

/// A vertex before the first round.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Start {
    vertex: Vertex,
    energy: u128,
    restart: u128,
    rounds: u32,
    /// Number of edges that end here.
    incoming: u32,
    edges: Vec<(Vertex, Share)>,
}

/// Energy of a vertex.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Energy {
    vertex: Vertex,
    energy: u128,
    /// The round for which one edge brings it, from 1 on; 0 for all energy after the last.
    round: u32,
}

/// A vertex on its walk.
#[derive(Debug, Default)]
struct Walking {
    /// `None` while it is known by its parts alone.
    start: Option<Start>,
    /// Rounds that are over.
    over: u32,
    /// Number and sum of the parts for each of the next rounds: vertices that need none of this one are ahead.
    parts: VecDeque<(u32, u128)>,
}

/// Sites of a worker on their walk.
struct Sites<S> {
    /// Number of the next site.
    next: u32,
    /// Sites by number, with their energies and the number of those that are not there yet.
    walking: HashMap<u32, (Box<S>, Vec<u128>, usize), FixedState>,
}

/// The vertices of each site, which waits in `sites` for their energies.
fn start<'scope, S: HasGraph>(from: Flow<'scope, Box<S>>, sites: Rc<RefCell<Sites<S>>>) -> Flow<'scope, Start> {
    let (own, workers) = (from.scope().index() as u32, from.scope().peers() as u32);
    from.flat_map(move |site| {
        let Transition { start, restart, edges, rounds } = site.graph().transition();
        let (count, mut sites) = (start.len(), sites.borrow_mut());
        let number = sites.next;
        sites.next += 1;
        sites.walking.insert(number, (site, vec![0; count], count));
        let owner = |form: u32| if count < SPREAD { own } else { (own + form) % workers };
        let vertex = |form| Vertex { site: (own, number), form, owner: owner(form) };
        let new = |(form, (energy, restart))| {
            let vertex = vertex(form);
            Start { vertex, energy, restart, rounds, incoming: 0, edges: Vec::new() }
        };
        let mut vertices: Vec<Start> = (0..).zip(start.into_iter().zip(restart)).map(new).collect();
        for (source, target, share) in edges {
            vertices[target as usize].incoming += 1;
            vertices[source as usize].edges.push((vertex(target), share));
        }
        vertices
    })
}

/// One round of each vertex, when all parts for it are there.
fn step<'scope>(
    starts: StreamVec<'scope, Product<Epoch, u32>, Start>,
    parts: StreamVec<'scope, Product<Epoch, u32>, Energy>,
) -> StreamVec<'scope, Product<Epoch, u32>, Energy> {
    let to_owner = Exchange::new(|start: &Start| start.vertex.owner.into());
    let to_target = Exchange::new(|part: &Energy| part.vertex.owner.into());
    starts.binary(parts, to_owner, to_target, "Step", |_, _| {
        let mut vertices: HashMap<Vertex, Walking, FixedState> = HashMap::default();
        move |starts, parts, output| {
            starts.for_each_stamp(|time, batches| {
                let mut session = output.session(&time);
                for start in batches.flat_map(|batch| batch.drain(..)) {
                    session.give_iterator(start.sends(start.energy, 0));
                    let vertex = start.vertex;
                    vertices.entry(vertex).or_default().start = Some(start);
                }
            });
            parts.for_each_stamp(|time, batches| {
                let mut session = output.session(&time);
                for part in batches.flat_map(|batch| batch.drain(..)) {
                    let walking = vertices.entry(part.vertex).or_default();
                    walking.add(part);
                    let Some((start, energy, over)) = walking.end_round() else { continue };
                    if over < start.rounds {
                        session.give_iterator(start.sends(energy, over));
                    } else {
                        session.give(Energy { energy, round: 0, ..part });
                        vertices.remove(&part.vertex);
                    }
                }
            });
        }
    })
}

/// Sites whose vertices all have an energy, with these.
fn end<'scope, S: 'static>(
    whole: Flow<'scope, Energy>,
    sites: Rc<RefCell<Sites<S>>>,
) -> Flow<'scope, (Box<S>, Vec<u128>)> {
    whole.unary(Exchange::new(|whole: &Energy| whole.vertex.site.0.into()), "End", |_, _| {
        move |input, output| {
            input.for_each_stamp(|time, batches| {
                let mut session = output.session(&time);
                for Energy { vertex, energy, .. } in batches.flat_map(|batch| batch.drain(..)) {
                    let walking = &mut sites.borrow_mut().walking;
                    if let Entry::Occupied(mut site) = walking.entry(vertex.site.1) {
                        let (_, energies, missing) = site.get_mut();
                        energies[vertex.form as usize] = energy;
                        *missing -= 1;
                        if *missing == 0 {
                            let (site, energies, _) = site.remove();
                            session.give((site, energies));
                        }
                    }
                }
            });
        }
    })
}

impl Start {
    /// Energy that the vertex sends along its edges when it has this energy after so many rounds.
    fn sends(&self, energy: u128, over: u32) -> impl Iterator<Item = Energy> {
        let part = move |&(vertex, share): &(_, Share)| Energy { vertex, energy: share.of(energy), round: over + 1 };
        self.edges.iter().map(part)
    }
}

impl Walking {
    /// Adds a part for a round that is not over.
    fn add(&mut self, part: Energy) {
        let ahead = (part.round - self.over) as usize;
        self.parts.resize(self.parts.len().max(ahead), (0, 0));
        let (count, sum) = &mut self.parts[ahead - 1];
        (*count, *sum) = (*count + 1, *sum + part.energy);
    }

    /// Ends a round when all its parts are there; returns the energy and the number of rounds that are over.
    fn end_round(&mut self) -> Option<(&Start, u128, u32)> {
        let start = self.start.as_ref()?;
        let (_, sum) = self.parts.pop_front_if(|(count, _)| *count == start.incoming)?;
        self.over += 1;
        Some((start, start.restart + sum, self.over))
    }
}

impl<S> Default for Sites<S> {
    fn default() -> Sites<S> {
        Sites { next: 0, walking: HashMap::default() }
    }
}
