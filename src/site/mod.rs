//! Learning one site: a pure function of the site's training records and parameters.
//!
//! The stages are listed in docs/method.md, "What undust does".
pub mod adopt;
mod breadth;
mod candidates;
mod carried;
mod chance;
pub mod choices;
pub mod classes;
mod clusters;
pub mod columns;
pub mod conditions;
pub mod covering;
mod defaults;
mod earlier;
mod encode;
pub mod energy;
pub mod evidence;
mod extend;
pub mod forms;
mod fragments;
mod fronts;
pub mod held_out;
pub mod hints;
mod joint;
mod leads;
mod lines;
pub mod lookups;
mod lower;
pub mod mirrors;
mod moves;
pub mod noise;
pub mod operations;
mod order;
mod outcome;
mod overlap;
mod pages;
mod parts;
mod passes;
mod points;
mod preferred;
mod prefixes;
pub mod profile;
pub mod proposal;
pub mod published;
mod reach;
mod reduced;
mod scopes;
mod sections;
pub mod select;
mod shown;
mod siblings;
mod sinks;
mod small_operations;
pub mod small_samples;
mod spans;
pub mod tokens;
mod training;
pub mod tree;
mod trials;
mod undust;

use crate::rules::Tokens;
pub use crate::rules::{Method, Params, Stage, Thresholds, Without};
pub use outcome::{MOVES, Outcome};
pub use training::Training;

/// A site whose candidates are found and whose energy walk has not run.
#[derive(Debug)]
pub struct Prepared {
    graph: energy::Graph,
    stage: State,
}

/// State of the method that the walk does not use.
#[derive(Debug)]
enum State {
    Undust(Box<undust::Candidates>),
    Published(Box<published::State>),
}

impl Prepared {
    /// The graph of forms and candidate rules, for the walk.
    pub fn graph(&self) -> &energy::Graph {
        &self.graph
    }

    /// Profile of the training URLs, beside the rules; empty for the published method.
    pub fn profile(&self) -> profile::Profile {
        let State::Undust(state) = &self.stage else { return profile::Profile::default() };
        let undust::Candidates { training, covering, met, tree, .. } = &**state;
        profile::Profile {
            keys: profile::keys::profile(covering, met),
            tree: profile::tree::profile(&covering.columns, tree),
            tree_nodes: tree.nodes.len() as u64,
            traps: profile::traps::find(training),
        }
    }
}

/// Runs everything before the energy walk.
pub fn prepare(mut training: Training, params: &Params) -> Prepared {
    if params.method != Method::Undust {
        let (graph, state) = published::prepare(&training, params, &published::Switches::default());
        return Prepared { graph, stage: State::Published(Box::new(state)) };
    }
    let fragments = fragments::decide(&training, params.fragment_clusters);
    let mut tokens = Tokens { fragments, ..Tokens::default() };
    if !params.without.has(Stage::Tokens) {
        tokens = tokens::choose(&training, tokens, params);
    }
    let platforms = match params.without.has(Stage::Platforms) {
        true => lines::Lines::default(),
        false => {
            if params.platforms.provisional {
                training.act_without_labels();
            }
            let (found, semicolons) = lines::programs(&training, &params.platforms);
            tokens.semicolons |= semicolons;
            lines::place_all(found, &params.platforms, &tokens)
        }
    };
    let (graph, state) = undust::prepare(training, tokens, platforms, params.clone());
    Prepared { graph, stage: State::Undust(Box::new(state)) }
}

/// Runs everything after the energy walk, from its energies (one a vertex of the graph).
pub fn finish(prepared: Prepared, energy: &[u128]) -> Outcome {
    match prepared.stage {
        State::Undust(state) => undust::finish(*state, energy),
        State::Published(state) => published::finish(*state, energy),
    }
}

/// Learns one site in plain code: the oracle of the dataflow.
pub fn learn(training: Training, params: &Params) -> Outcome {
    let prepared = prepare(training, params);
    let energy = energy::walk(prepared.graph());
    finish(prepared, &energy)
}
