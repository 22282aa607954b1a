//! Sets of keys that differ together: what two URLs of one cluster differ in is a candidate for a joint ignore.

use super::clusters::Clusters;
use super::columns::Columns;
use crate::url::Fixed;
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};

/// Sets at most: those of most clusters.
const MAX_SETS: usize = 80;
/// Keys of a set at most.
const MAX_KEYS: usize = 6;
/// Clusters in which the keys of a set must differ together.
const MIN_CLUSTERS: u32 = 3;
/// Rows of a cluster are compared with those at most this far behind by identity.
const MAX_DISTANCE: usize = 3;

/// The sets of two to [`MAX_KEYS`] keys that tell apart rows of one cluster, in at least [`MIN_CLUSTERS`] clusters;
/// sorted. `varying` are the keys that differ at all, rising. URLs of different depth are not compared.
///
/// O(rows x keys); scratch of one cluster's rows x keys x 4 bytes (training keeps at most 1,000 URLs of a cluster).
pub fn sets(columns: &Columns, varying: &[usize], clusters: &Clusters) -> Vec<Vec<usize>> {
    let depth = columns.fixed(Fixed::DEPTH);
    let mut codes = Vec::new();
    let mut seen: HashSet<(u64, u32), FixedState> = HashSet::default();
    let mut sets: HashMap<u64, (u32, Vec<usize>), FixedState> = HashMap::default();
    let mut differing = Vec::new();
    for (label, cluster) in clusters.iter() {
        // Rows side by side, keys within: each pair is one run over two short slices.
        codes.clear();
        codes.extend(cluster.iter().flat_map(|&r| varying.iter().map(move |&k| columns.codes[k][r as usize])));
        let row = |at: usize| &codes[at * varying.len()..(at + 1) * varying.len()];
        for distance in 1..=MAX_DISTANCE.min(cluster.len() - 1) {
            for at in 0..cluster.len() - distance {
                differing.clear();
                let pairs = row(at).iter().zip(row(at + distance)).zip(varying);
                differing.extend(pairs.filter(|((a, b), _)| a != b).map(|(_, &k)| k).take(MAX_KEYS + 1));
                if !(2..=MAX_KEYS).contains(&differing.len()) || depth.is_some_and(|d| differing.contains(&d)) {
                    continue;
                }
                let id =
                    differing.iter().fold(0u64, |id, &k| crate::model::hash64_seeded(&(k as u64).to_le_bytes(), id));
                if seen.insert((id, label)) {
                    sets.entry(id).or_insert_with(|| (0, differing.clone())).0 += 1;
                }
            }
        }
    }
    let mut sets: Vec<(u32, Vec<usize>)> = sets.into_values().filter(|s| s.0 >= MIN_CLUSTERS).collect();
    sets.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    sets.truncate(MAX_SETS);
    let mut sets: Vec<Vec<usize>> = sets.into_iter().map(|s| s.1).collect();
    sets.sort_unstable();
    sets
}
