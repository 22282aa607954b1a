//! Learning one site in stages: functions from one state of the site to the next, by value.
//!
//! ```text
//! Training -> tokenize -> Tokenized -> cover -> Covered -> grow_tree -> WithTree -> find_candidates -> Prepared
//!          -> energy walk on Prepared::graph -> select_rules -> Selected -> refine_rules -> Outcome
//! ```
//! The operators of the dataflow run these functions; [`prepare`] and [`learn`] run them in sequence. A stage
//! that a method does not have leaves its state as it is.

use super::{Method, Outcome, Params, Stage, Training};
use super::{energy, fragments, lines, profile, published, tokens, undust};
use crate::rules::Tokens;

/// State of a site between two stages, by the method that learns it.
#[derive(Debug)]
pub enum ByMethod<U, P> {
    /// The undust method.
    Undust(U),
    /// The published method.
    Published(P),
}

impl<U, P> ByMethod<U, P> {
    /// The next state, by the stage of each method.
    fn next<V, Q>(self, undust: impl FnOnce(U) -> V, published: impl FnOnce(P) -> Q) -> ByMethod<V, Q> {
        match self {
            ByMethod::Undust(state) => ByMethod::Undust(undust(state)),
            ByMethod::Published(state) => ByMethod::Published(published(state)),
        }
    }
}

/// A site whose URLs are columns, a key each.
pub type Tokenized = ByMethod<undust::Tokenized, published::Tokenized>;

/// A site after sequential covering.
pub type Covered = ByMethod<undust::Covered, published::Tokenized>;

/// A site with its pattern tree.
pub type WithTree = ByMethod<undust::WithTree, published::WithTree>;

/// A site with the rules that were selected after the energy walk.
pub type Selected = ByMethod<undust::Selected, Outcome>;

/// A site whose candidates are found and whose energy walk has not run.
#[derive(Debug)]
pub struct Prepared {
    graph: energy::Graph,
    state: ByMethod<undust::Candidates, published::PublishedCandidates>,
}

/// Decides how the URLs of a site become pairs of keys and values, recognises its programs, and makes columns.
pub fn tokenize(mut training: Training, params: &Params) -> Tokenized {
    if params.method != Method::Undust {
        let tokenized = published::Tokenized::new(&training, params, &published::Switches::default());
        return ByMethod::Published(tokenized);
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
    ByMethod::Undust(undust::Tokenized::new(training, tokens, platforms, params.clone()))
}

impl ByMethod<undust::Tokenized, published::Tokenized> {
    /// Runs sequential covering, which the published method does not have.
    pub fn cover(self) -> Covered {
        self.next(undust::Tokenized::cover, |published| published)
    }
}

impl ByMethod<undust::Covered, published::Tokenized> {
    /// Grows the pattern tree.
    pub fn grow_tree(self) -> WithTree {
        self.next(undust::Covered::grow_tree, published::Tokenized::grow_tree)
    }
}

impl ByMethod<undust::WithTree, published::WithTree> {
    /// Finds candidate rules by the inverted index of clusters, and the graph that they make.
    pub fn find_candidates(self) -> Prepared {
        match self {
            ByMethod::Undust(site) => {
                let (graph, candidates) = site.find_candidates();
                Prepared { graph, state: ByMethod::Undust(candidates) }
            }
            ByMethod::Published(site) => {
                let (graph, state) = site.find_candidates();
                Prepared { graph, state: ByMethod::Published(state) }
            }
        }
    }
}

impl Prepared {
    /// The graph of forms and candidate rules, for the walk.
    pub fn graph(&self) -> &energy::Graph {
        &self.graph
    }

    /// Profile of the training URLs, beside the rules; empty for the published method.
    pub fn profile(&self) -> profile::Profile {
        match &self.state {
            ByMethod::Undust(candidates) => candidates.profile(),
            ByMethod::Published(_) => profile::Profile::default(),
        }
    }

    /// Selects rules by the energies after the walk, one a vertex of the graph.
    pub fn select_rules(self, energy: &[u128]) -> Selected {
        self.state.next(|candidates| candidates.select_rules(energy), |state| published::finish(state, energy))
    }
}

impl ByMethod<undust::Selected, Outcome> {
    /// Adds mirror rules, withdraws what does not hold, and adds what is learned page by page; the rules of the
    /// published method are whole.
    pub fn refine_rules(self) -> Outcome {
        match self {
            ByMethod::Undust(site) => site.refine_rules(),
            ByMethod::Published(outcome) => outcome,
        }
    }
}

/// Runs all stages before the energy walk.
pub fn prepare(training: Training, params: &Params) -> Prepared {
    tokenize(training, params).cover().grow_tree().find_candidates()
}

/// Learns one site in plain code: the oracle of the dataflow.
pub fn learn(training: Training, params: &Params) -> Outcome {
    let prepared = prepare(training, params);
    let energy = energy::walk(prepared.graph());
    prepared.select_rules(&energy).refine_rules()
}
