//! The published method: WWW10 as far as its text defines it, with every departure of undust off.
//!
//! A baseline: [`keys`] cuts URLs into columns, [`tree`] reads Algorithm 1 ([`super::tree`] has it for both
//! methods), [`duplicates`] is Algorithm 2, [`mapping`] Algorithm 3, [`candidates`] makes and filters rules,
//! [`select`] picks those to deploy, [`emit`] writes them in the one rule type. Each module lists its readings
//! where the text is open.
//! Departures of undust that could be made here are fields of [`Switches`]; the literal reading is the
//! default.
//!
//! A pure function of the training records and parameters, in two halves around the energy walk:
//! [`prepare`] and [`finish`]; [`learn`] is both with the walk between them.
//!
//! Bounds, so that no site can hang the learner: [`crate::rules::published::MAX_KEYS`] keys,
//! [`tree::MAX_NODES`] nodes, [`duplicates::MAX_PAIRS`] pairs.

pub mod candidates;
pub mod duplicates;
pub mod emit;
pub mod evidence;
pub mod keys;
pub mod mapping;
pub mod select;
mod switches;
pub mod tree;

use super::energy::{self, Graph};
use super::{Count, Method, Outcome, Params, Training};
use candidates::{Candidates, Maker};
use keys::PublishedColumns;
pub use switches::{Fpr, Overlap, Salient, Sigma, Switches};
use tree::Patterns;

/// A site with its candidates, before the energy walk.
#[derive(Debug, Default)]
pub struct PublishedCandidates {
    site: String,
    naive: bool,
    fpr_max: f64,
    switches: Switches,
    columns: PublishedColumns,
    patterns: Patterns,
    candidates: Candidates,
    /// Nodes of the vertices of the graph.
    vertices: Vec<u32>,
}

impl PublishedCandidates {
    /// The training URLs.
    pub fn columns(&self) -> &PublishedColumns {
        &self.columns
    }

    /// The pattern tree.
    pub fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    /// The candidate rules.
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }
}

/// A site whose URLs are columns of keys.
#[derive(Debug)]
pub struct Tokenized {
    site: String,
    naive: bool,
    fpr_max: f64,
    switches: Switches,
    columns: PublishedColumns,
}

/// A site with its pattern tree.
#[derive(Debug)]
pub struct WithTree {
    of: Tokenized,
    patterns: Patterns,
}

impl Tokenized {
    /// Cuts the URLs of a site. Selection will be naive for [`Method::PublishedNaive`], by graph otherwise;
    /// `fpr_max_ppm` of the parameters is the paper's `fpr_max` (0.05 in its Table 3).
    pub fn new(training: &Training, params: &Params, switches: &Switches) -> Tokenized {
        Tokenized {
            site: training.site.clone(),
            naive: params.method == Method::PublishedNaive,
            fpr_max: f64::from(params.fpr_max_ppm) / 1e6,
            switches: *switches,
            columns: PublishedColumns::new(training),
        }
    }

    /// Grows the pattern tree (Algorithm 1).
    pub fn grow_tree(self) -> WithTree {
        let patterns = Patterns::build(&self.columns, &self.switches);
        WithTree { of: self, patterns }
    }
}

impl WithTree {
    /// Finds the candidate rules (Algorithms 2 and 3); returns their graph (empty for naive selection), too.
    pub fn find_candidates(self) -> (Graph, PublishedCandidates) {
        let WithTree { of: Tokenized { site, naive, fpr_max, switches, columns }, patterns } = self;
        let candidates = candidates::generate(&columns, &patterns, &switches, fpr_max);
        let (graph, vertices) =
            if naive { Default::default() } else { select::graph(&candidates.rules, &patterns.tree, &switches) };
        (graph, PublishedCandidates { site, naive, fpr_max, switches, columns, patterns, candidates, vertices })
    }
}

/// Runs everything before the energy walk; returns its graph and the state.
pub fn prepare(training: &Training, params: &Params, switches: &Switches) -> (Graph, PublishedCandidates) {
    Tokenized::new(training, params, switches).grow_tree().find_candidates()
}

/// Selects rules from the energies after the walk (one a vertex; none for naive selection).
pub fn finish(state: PublishedCandidates, energy: &[u128]) -> Outcome {
    let PublishedCandidates { columns, patterns, switches, candidates, .. } = &state;
    let next = if state.naive {
        select::naive(&candidates.rules, &patterns.tree)
    } else {
        select::by_energy(&candidates.rules, &patterns.tree, &state.vertices, energy, switches)
    };
    let mut maker = Maker::new(columns, patterns, switches);
    let deployed = select::direct(&next, &mut maker, switches, state.fpr_max);
    let rules = emit::rules(&state.site, columns, patterns, &deployed, &mut maker, switches);
    let counts = [
        (Count::PublishedRows, columns.len() as u64),
        (Count::PublishedLeftOut, columns.left_out),
        (Count::PublishedNodes, patterns.tree.nodes.len() as u64),
        (Count::PublishedCandidates, candidates.raw),
        (Count::PublishedQualified, candidates.rules.len() as u64),
        (Count::PublishedDeployed, deployed.len() as u64),
    ];
    Outcome { rules, counts: counts.into() }
}

/// Runs both halves with the walk between them: the oracle of the dataflow.
pub fn learn(training: &Training, params: &Params, switches: &Switches) -> Outcome {
    let (graph, state) = prepare(training, params, switches);
    finish(state, &energy::walk(&graph))
}
