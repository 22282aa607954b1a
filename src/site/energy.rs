//! The energy walk (WWW10 5.3, eq. 7).
//!
//! Vertices are forms, edges are candidate rules with weight 1 - fpr. Eq. 7 divides by the out-degree
//! and then normalises the row: the division cancels, p = w / sum of w. As published the walk has no
//! limit (s to t and t to s swap for ever; dead ends lose their energy), so dead ends loop on themselves and
//! the walk restarts to the volumes: `e(n+1) = (1 - d) volume + d P^T e(n)`, d = 0.85. The published method
//! uses the lazy walk `(P + I) / 2` from the volumes instead.
//!
//! Both are one step, `e(n+1) = restart + shares e(n)` ([`Transition`]), in integers: sums do not depend on
//! the order of their terms, so the dataflow may add them up where and when they come
//! ([`EnergyWalk`](crate::dataflow::walk::EnergyWalk)). [`walk`] is the walk of one site in plain code, the
//! oracle of that loop.

use super::Thresholds;

/// The energy of one URL.
pub const URL: u128 = 1 << 40;
/// The whole of the energy of a vertex, in the units of shares.
const WHOLE: f64 = (1u64 << BITS) as f64;
/// As many as a float has, so that ties of energies are broken by no rounding.
const BITS: u32 = 52;
/// What is left of the difference between two walks at their end, as a share of the volume: a bound of work.
const TOLERANCE: f64 = 1e-9;
/// Most rounds of a walk: a bound of work.
pub const MAX_ROUNDS: u32 = 200;

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
    pub volume: Vec<u64>,
    /// `(source, target, weight)`, sorted; weights in (0, 1].
    pub edges: Vec<(u32, u32, f64)>,
    /// Probability of following an edge rather than restarting, under 1.
    pub damping: f64,
}

impl Default for Graph {
    fn default() -> Graph {
        let damping = Thresholds::default().energy_damping;
        Graph { walk: Walk::default(), volume: Vec::new(), edges: Vec::new(), damping }
    }
}

/// The step of the walk on one graph. Energies and restarts are in units of [`URL`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    /// Energy of each vertex before the first round.
    pub start: Vec<u128>,
    /// What each vertex gets in each round, whatever the others have.
    pub restart: Vec<u128>,
    /// `(source, target, share)`: the part of the energy of the source that goes to the target in each round.
    /// Each vertex has an edge to itself, were its share nothing.
    pub edges: Vec<(u32, u32, Share)>,
    /// Number of rounds.
    pub rounds: u32,
}

/// A part of an energy, in units of 2^-52.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Share(u64);

impl Share {
    /// The nearest share below `part` of 0 to 1.
    fn new(part: f64) -> Share {
        Share((part * WHOLE) as u64)
    }

    /// This part of `energy`, rounded down.
    pub fn of(self, energy: u128) -> u128 {
        (energy * u128::from(self.0)) >> BITS
    }
}

impl Graph {
    /// The step of the walk on this graph. O(vertices + edges).
    pub fn transition(&self) -> Transition {
        // Part of the energy that follows edges, and part that stays.
        let (followed_share, kept_share) = match self.walk {
            Walk::Restart => (self.damping, 0.0),
            Walk::Lazy => (0.5, 0.5),
        };
        let mut weight = vec![0.0; self.volume.len()];
        self.edges.iter().for_each(|edge| weight[edge.0 as usize] += edge.2);
        // Dead ends loop on themselves.
        let own = |&weight: &f64| if weight > 0.0 { kept_share } else { kept_share + followed_share };
        let loops = (0..).zip(&weight).map(|(vertex, weight)| (vertex, vertex, Share::new(own(weight))));
        let share = |&(source, target, own): &(u32, u32, f64)| {
            (source, target, Share::new(followed_share * own / weight[source as usize]))
        };
        let start: Vec<u128> = self.volume.iter().map(|&urls| u128::from(urls) * URL).collect();
        let restart = Share::new(1.0 - followed_share - kept_share);
        Transition {
            restart: start.iter().map(|&energy| restart.of(energy)).collect(),
            start,
            edges: loops.chain(self.edges.iter().map(share)).collect(),
            rounds: self.rounds(),
        }
    }

    /// The rounds after which what a walk began with is under [`TOLERANCE`] of its energy. A lazy walk has no such
    /// number.
    fn rounds(&self) -> u32 {
        let needed = TOLERANCE.ln() / self.damping.ln();
        match self.walk {
            Walk::Restart if needed < f64::from(MAX_ROUNDS) => needed.ceil().max(1.0) as u32,
            Walk::Restart | Walk::Lazy => MAX_ROUNDS,
        }
    }
}

impl Transition {
    /// One round: from the energies `now` to the next ones. O(edges).
    pub fn step(&self, now: &[u128]) -> Vec<u128> {
        let mut next = self.restart.clone();
        self.edges.iter().for_each(|&(source, target, share)| next[target as usize] += share.of(now[source as usize]));
        next
    }
}

/// Energies of one site after the whole walk, one a vertex, in units of [`URL`]. O(rounds x edges).
pub fn walk(graph: &Graph) -> Vec<u128> {
    let transition = graph.transition();
    (0..transition.rounds).fold(transition.start.clone(), |now, _| transition.step(&now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(walk: Walk, volume: &[u64], edges: &[(u32, u32, f64)]) -> Graph {
        Graph { walk, volume: volume.to_vec(), edges: edges.to_vec(), ..Graph::default() }
    }

    /// Energies in whole URLs.
    fn urls(graph: &Graph) -> Vec<u128> {
        walk(graph).into_iter().map(|energy| (energy + URL / 2) / URL).collect()
    }

    #[test]
    fn a_sink_collects_what_leads_to_it() {
        // A source keeps what restarts; a dead end gets its own and .85 of the source.
        assert_eq!(urls(&graph(Walk::Restart, &[1000, 100], &[(0, 1, 0.5)])), [150, 950]);
        assert_eq!(urls(&graph(Walk::Lazy, &[1000, 100], &[(0, 1, 0.5)])), [0, 1100]);
    }

    #[test]
    fn edges_share_by_weight_and_circles_are_even() {
        let shared = graph(Walk::Restart, &[1000, 0, 0], &[(0, 1, 0.9), (0, 2, 0.1)]);
        assert_eq!(urls(&shared), [150, 765, 85]);
        let circle = graph(Walk::Restart, &[600, 600], &[(0, 1, 1.0), (1, 0, 0.2)]);
        assert_eq!(urls(&circle), [600, 600]);
    }

    #[test]
    fn rounds_follow_from_the_damping() {
        let rounds = |damping| Graph { damping, ..Graph::default() }.rounds();
        assert_eq!([0.0, 0.5, 0.85, 0.99].map(rounds), [1, 30, 128, MAX_ROUNDS]);
        assert_eq!(graph(Walk::Lazy, &[], &[]).rounds(), MAX_ROUNDS);
        assert!(walk(&Graph::default()).is_empty());
    }

    #[test]
    fn rounding_breaks_no_tie() {
        // A dead end of its own, and three that share as much: apart by far less than a millionth of a URL.
        let thirds = |from: u32| (0..3).map(move |to| (from, 2 + to, 1.0 / 3.0));
        let tied = graph(Walk::Lazy, &[90_000, 270_000, 0, 0, 0], &thirds(1).collect::<Vec<_>>());
        let energy = walk(&tied);
        assert!(energy[2..].iter().all(|&of| energy[0].abs_diff(of) < URL / 10_000_000), "{energy:?}");
    }

    #[test]
    fn no_energy_comes_from_nowhere_and_hardly_any_is_lost() {
        let edges: Vec<(u32, u32, f64)> =
            (0..7).flat_map(|s| (0..7).filter(move |t| s != *t).map(move |t| (s, t, 1.0 / f64::from(s + t)))).collect();
        for way in [Walk::Restart, Walk::Lazy] {
            let sum: u128 = walk(&graph(way, &[9; 7], &edges)).iter().sum();
            assert!(sum <= 63 * URL && sum > 63 * URL - URL / 1_000_000, "{sum}");
        }
    }
}
