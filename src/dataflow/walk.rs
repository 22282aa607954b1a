//! The energy walk of all sites of an epoch as one loop of the dataflow (WWW10 5.3).
//!
//! A site circulates until it has converged and then leaves the loop; a round is [`energy::step`], the
//! end is [`energy::converged`], so that the loop and the sequential [`energy::walk`] are one
//! arithmetic. A site's walk stays at the worker that owns the site: its sums are made in one order.
//! Energies are floats, which have no differences in differential dataflow; hence a plain feedback
//! loop.

use super::types::Flow;
use crate::site::energy::{self, Graph};
use timely::dataflow::StreamVec;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::core::{Enter, Feedback, Leave, OkErr};
use timely::dataflow::operators::{Concat, ConnectLoop, Operator};
use timely::order::Product;

/// Something with a graph to walk on: a site before the energy walk.
pub trait HasGraph: 'static {
    /// The graph.
    fn graph(&self) -> &Graph;
}

/// A site on its walk.
pub struct Walking<S> {
    /// The walking site.
    pub site: S,
    /// Energy of each vertex.
    pub energy: Vec<f64>,
    rounds: u32,
    done: bool,
}

impl<S: HasGraph> Walking<S> {
    /// The state before the first round: the energies are the volumes.
    pub fn new(site: S) -> Walking<S> {
        let energy = site.graph().volume.clone();
        Walking { site, energy, rounds: 0, done: false }
    }

    /// Runs one round.
    fn step(&mut self) {
        let next = energy::step(self.site.graph(), &self.energy);
        self.rounds += 1;
        self.done = energy::converged(self.site.graph(), &self.energy, &next, self.rounds);
        self.energy = next;
    }
}

/// The walk on a stream of sites.
pub trait EnergyWalk<'scope, S> {
    /// Iterates each site until it has converged.
    fn energy_walk(self) -> Flow<'scope, Box<Walking<S>>>;
}

impl<'scope, S: HasGraph> EnergyWalk<'scope, S> for Flow<'scope, Box<Walking<S>>> {
    fn energy_walk(self) -> Flow<'scope, Box<Walking<S>>> {
        let outer = self.scope();
        outer.scoped::<Product<u64, u32>, _, _>("EnergyWalk", |rounds| {
            let (again, walking) = rounds.feedback(Product::new(Default::default(), 1));
            let stepped: StreamVec<'_, _, Box<Walking<S>>> =
                self.enter(rounds).concat(walking).unary(Pipeline, "Step", |_, _| {
                    |input, output| {
                        input.for_each_stamp(|time, sites| {
                            let mut session = output.session(&time);
                            for mut site in sites.flat_map(|batch: &mut Vec<_>| batch.drain(..)) {
                                site.step();
                                session.give(site);
                            }
                        });
                    }
                });
            let (going_on, converged) = stepped.ok_err(|site| if site.done { Err(site) } else { Ok(site) });
            going_on.connect_loop(again);
            converged.leave(outer)
        })
    }
}
