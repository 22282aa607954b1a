//! The energy walk (WWW10 5.3, eq. 7).
//!
//! Vertices are forms, edges are candidate rules with weight 1 - fpr. Eq. 7 divides by the out-degree
//! and then normalises the row: the division cancels, p = w / sum of w. As published the walk has no
//! limit (s to t and t to s swap for ever; sinks lose their energy), so sinks loop on themselves and
//! the walk restarts to the volumes: `e(n+1) = (1 - d) volume + d P^T e(n)`, d = 0.85, until the L1
//! change of a site is under 1e-9 of its volume or 200 rounds. The published method uses the lazy walk
//! `(P + I) / 2` from the volumes instead.
//!
//! One site's walk always runs in one place and in one order, so floating point sums are the same in
//! every run; the dataflow loop and the sequential oracle both call [`step`].

use super::Thresholds;

/// How the walk moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walk {
    /// Restart to the volumes where no edge is followed.
    #[default]
    Restart,
    /// Stay with probability one half, no restart (`--method published`).
    Lazy,
}

/// Forms and candidate rules of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// How energy moves on it.
    pub walk: Walk,
    /// URLs of each vertex.
    pub volume: Vec<f64>,
    /// `(source, target, weight)`, sorted; weights in (0, 1].
    pub edges: Vec<(u32, u32, f64)>,
    /// Probability of following an edge rather than restarting.
    pub damping: f64,
}

impl Default for Graph {
    fn default() -> Graph {
        let damping = Thresholds::default().energy_damping;
        Graph { walk: Walk::default(), volume: Vec::new(), edges: Vec::new(), damping }
    }
}

/// A site has converged when the L1 change of a round is under this share of its volume: a bound of work.
pub const TOLERANCE: f64 = 1e-9;
/// Rounds after which a walk that has not converged ends: a bound of work.
pub const MAX_ROUNDS: u32 = 200;

/// One round: from the energies `now` to the next ones.
pub fn step(graph: &Graph, now: &[f64]) -> Vec<f64> {
    let mut out_weight = vec![0.0; graph.volume.len()];
    for &(source, _, weight) in &graph.edges {
        out_weight[source as usize] += weight;
    }
    // Sinks loop on themselves.
    let mut flow: Vec<f64> = now.iter().zip(&out_weight).map(|(&e, &w)| if w > 0.0 { 0.0 } else { e }).collect();
    for &(source, target, weight) in &graph.edges {
        flow[target as usize] += now[source as usize] * weight / out_weight[source as usize];
    }
    match graph.walk {
        Walk::Restart => {
            let damping = graph.damping;
            flow.iter().zip(&graph.volume).map(|(f, v)| (1.0 - damping) * v + damping * f).collect()
        }
        Walk::Lazy => flow.iter().zip(now).map(|(f, e)| 0.5 * (f + e)).collect(),
    }
}

/// True when the round from `now` to `next` ends the walk of a site.
pub fn converged(graph: &Graph, now: &[f64], next: &[f64], rounds: u32) -> bool {
    let volume: f64 = graph.volume.iter().sum();
    let change: f64 = now.iter().zip(next).map(|(a, b)| (a - b).abs()).sum();
    change <= TOLERANCE * volume || rounds >= MAX_ROUNDS
}

/// Energies of one site after the whole walk, one a vertex.
pub fn walk(graph: &Graph) -> Vec<f64> {
    let mut now = graph.volume.clone();
    for round in 1..=MAX_ROUNDS {
        let next = step(graph, &now);
        let done = converged(graph, &now, &next, round);
        now = next;
        if done {
            break;
        }
    }
    now
}
