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
pub mod tree;

use super::energy::{self, Graph};
use super::{Method, Outcome, Params, Training};
use candidates::{Candidates, Maker};
use keys::Columns;
use serde::{Deserialize, Serialize};
use tree::Patterns;

/// Which values of a key are salient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Salient {
    /// Those before the largest drop of the log frequency (eq. 5, sign mended).
    #[default]
    Eq5,
    /// Those in at least max(8, 1 %) of the clusters of the node, no bare numbers.
    Frequency,
}

/// The denominators of eq. 6 and of the duplicate rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// All URLs of the nodes.
    #[default]
    AllUrls,
    /// URLs of clusters with at least two training URLs, so that the overlap does not shrink with the
    /// sampling rate.
    Duplicated,
}

/// Similarity measure of two keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sigma {
    /// The share of common values (Algorithm 3).
    #[default]
    ValueSets,
    /// The share of common clusters in which the keys share a value.
    Agreement,
}

/// The false-positive rate that qualifies a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fpr {
    /// Pairs (eq. 3).
    #[default]
    Pair,
    /// URLs that fall to another cluster's.
    Url,
    /// Upper Wilson bound (z = 1) of the per-URL rate.
    Wilson,
}

/// The departures of undust from WWW10 that can be made one by one, and the thresholds of the paper.
/// The default is the literal reading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switches {
    /// Which values get a node of their own.
    pub salient: Salient,
    /// An absent key is a value of its own when a node is split; otherwise URLs without it count as
    /// trivial.
    pub presence: bool,
    /// A node and its ancestor may be a pair of duplicate nodes.
    pub nested: bool,
    /// Denominators of the overlap.
    pub overlap: Overlap,
    /// Similarity measure of keys.
    pub sigma: Sigma,
    /// False-positive rate that qualifies a candidate.
    pub fpr: Fpr,
    /// Rules from a destination to itself are kept, against "remove those rules which start from the
    /// destinations".
    pub self_rules: bool,
    /// Concatenated rules must qualify again.
    pub revalidate: bool,
    /// Least overlap of duplicate nodes (0.5 in the paper).
    pub overlap_min: f64,
    /// A mapping needs a rate of common values above this (0.5 in the paper).
    pub sigma_min: f64,
    /// A replace is fake when more than this share of the common clusters shows several values (no figure
    /// in the paper).
    pub fake_max: f64,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches {
            salient: Salient::Eq5,
            presence: true,
            nested: true,
            overlap: Overlap::AllUrls,
            sigma: Sigma::ValueSets,
            fpr: Fpr::Pair,
            self_rules: false,
            revalidate: false,
            overlap_min: 0.5,
            sigma_min: 0.5,
            fake_max: 0.5,
        }
    }
}

impl Switches {
    /// Names of the departures that are on, for [`crate::rules::types::Rule::departures`].
    pub fn departures(&self) -> Vec<String> {
        let literal = Switches::default();
        let all = [
            ("salient-by-frequency", self.salient != literal.salient),
            ("absence-no-value", self.presence != literal.presence),
            ("no-nested-pairs", self.nested != literal.nested),
            ("overlap-of-duplicated", self.overlap != literal.overlap),
            ("mapping-by-agreement", self.sigma != literal.sigma),
            ("fpr-per-url", self.fpr == Fpr::Url),
            ("fpr-wilson", self.fpr == Fpr::Wilson),
            ("self-rules-kept", self.self_rules != literal.self_rules),
            ("chains-proven-again", self.revalidate != literal.revalidate),
        ];
        all.into_iter().filter(|d| d.1).map(|d| d.0.to_owned()).collect()
    }
}

/// A site with its candidates, before the energy walk.
#[derive(Debug, Default)]
pub struct State {
    site: String,
    naive: bool,
    fpr_max: f64,
    switches: Switches,
    columns: Columns,
    patterns: Patterns,
    candidates: Candidates,
    /// Nodes of the vertices of the graph.
    vertices: Vec<u32>,
}

impl State {
    /// The training URLs.
    pub fn columns(&self) -> &Columns {
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

/// Runs everything before the energy walk; returns its graph (empty for naive selection) and the state.
///
/// Selection is naive for [`Method::PublishedNaive`], by graph otherwise; `fpr_max_ppm` of the
/// parameters is the paper's `fpr_max` (0.05 in its Table 3).
pub fn prepare(training: &Training, params: &Params, switches: &Switches) -> (Graph, State) {
    let columns = Columns::new(training);
    let patterns = Patterns::build(&columns, switches);
    let fpr_max = f64::from(params.fpr_max_ppm) / 1e6;
    let candidates = candidates::generate(&columns, &patterns, switches, fpr_max);
    let naive = params.method == Method::PublishedNaive;
    let (graph, vertices) =
        if naive { Default::default() } else { select::graph(&candidates.rules, &patterns.tree, switches) };
    let (site, switches) = (training.site.clone(), *switches);
    (graph, State { site, naive, fpr_max, switches, columns, patterns, candidates, vertices })
}

/// Selects rules from the energies after the walk (one a vertex; none for naive selection).
pub fn finish(state: State, energy: &[u64]) -> Outcome {
    let State { columns, patterns, switches, candidates, .. } = &state;
    let next = if state.naive {
        select::naive(&candidates.rules, &patterns.tree)
    } else {
        select::by_energy(&candidates.rules, &patterns.tree, &state.vertices, energy, switches)
    };
    let mut maker = Maker::new(columns, patterns, switches);
    let deployed = select::direct(&next, &mut maker, switches, state.fpr_max);
    let rules = emit::rules(&state.site, columns, patterns, &deployed, &mut maker, switches);
    let counts = [
        ("published-rows", columns.len() as u64),
        ("published-left-out", columns.left_out),
        ("published-nodes", patterns.tree.nodes.len() as u64),
        ("published-candidates", candidates.raw),
        ("published-qualified", candidates.rules.len() as u64),
        ("published-deployed", deployed.len() as u64),
    ];
    Outcome { rules, counts: counts.map(|(name, n)| (name.to_owned(), n)).into() }
}

/// Runs both halves with the walk between them: the oracle of the dataflow.
pub fn learn(training: &Training, params: &Params, switches: &Switches) -> Outcome {
    let (graph, state) = prepare(training, params, switches);
    finish(state, &energy::walk(&graph))
}
