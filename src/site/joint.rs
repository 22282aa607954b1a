//! Sets of keys that differ together: the difference of two URLs of one cluster is a candidate for a
//! joint ignore.

use super::Thresholds;
use super::clusters::Clusters;
use super::columns::Columns;
use crate::url::Fixed;
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Most sets, a bound of work: those of most clusters.
const MAX_SETS: usize = 80;
/// Keys of a set at most: a bound of work.
const MAX_KEYS: usize = 6;
/// Distance, in rows sorted by identity, up to which the rows of a cluster are compared: a bound of work.
const MAX_DISTANCE: usize = 3;

/// The sets of two to [`MAX_KEYS`] keys that tell apart rows of one cluster, in at least
/// `joint_min_clusters` clusters or `joint_min_pairs` pairs of one; sorted. `varying` are the keys that differ
/// at all, rising. URLs of different depth are not compared.
///
/// O(rows x keys); scratch of one cluster's rows x keys x 4 bytes (training keeps at most 1,000 URLs of
/// a cluster).
pub fn sets(columns: &Columns, varying: &[usize], clusters: &Clusters, thresholds: &Thresholds) -> Vec<Vec<usize>> {
    let depth = columns.fixed(Fixed::DEPTH);
    let mut codes = Vec::new();
    // Clusters, pairs in the cluster at hand and in the cluster of most, keys.
    let mut sets: HashMap<u64, Set, FixedState> = HashMap::default();
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
                let set = sets.entry(id).or_insert_with(|| Set { keys: differing.clone(), ..Set::default() });
                if set.clusters == 0 || set.last != label {
                    (set.clusters, set.last, set.pairs) = (set.clusters + 1, label, 0);
                }
                set.pairs += 1;
                set.most = set.most.max(set.pairs);
            }
        }
    }
    let enough = |set: &Set| set.clusters >= thresholds.joint_min_clusters || set.most >= thresholds.joint_min_pairs;
    let mut sets: Vec<Set> = sets.into_values().filter(enough).collect();
    let rank = |set: &Set| std::cmp::Reverse((set.clusters, set.most));
    sets.sort_unstable_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.keys.cmp(&b.keys)));
    sets.truncate(MAX_SETS);
    let mut sets: Vec<Vec<usize>> = sets.into_iter().map(|s| s.keys).collect();
    sets.sort_unstable();
    sets
}

/// Keys that differ together, and how often.
#[derive(Default)]
struct Set {
    keys: Vec<usize>,
    /// Clusters in which they do.
    clusters: u32,
    /// The last of them, and the pairs in it.
    last: u32,
    pairs: u32,
    /// Pairs in the cluster that has most.
    most: u32,
}
