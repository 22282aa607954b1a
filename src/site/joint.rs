//! Sets of keys that differ together: the difference of two URLs of one cluster is a candidate for a
//! joint ignore; and the values that represent such a set.

use super::Thresholds;
use super::clusters::Clusters;
use super::columns::Columns;
use super::operations::{self, Map};
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

/// Replaces representatives that were chosen key by key where no row of `rows` has them together: of
/// `/article/5`, `/blog/5.html` and `/news/5.html` the best directory and the best extension make `/news/5`,
/// which no record has. The values of one row take their place: of a row with as many of the representatives
/// as any has, met as often as the others or up to `times` less often, the plainest. Rows that cannot be
/// fetched do not count. A value that redirects, declarations or an earlier result decide
/// ([`operations::chosen`]) is kept. Parameters have no part: they are left out, or their values say nothing
/// about the page.
///
/// O(rows x keys), and as much again where the representatives were not met together.
pub fn choose_together(columns: &Columns, maps: &mut [(usize, Map)], rows: &[u32], times: u32) {
    let is_mark = |key: usize| [Fixed::EXTENSION, Fixed::TRAILING_SLASH].into_iter().any(|of| columns.keys[key].is(of));
    let is_segment = |key: usize| {
        let name = &columns.keys[key];
        name.as_path().is_some() || name.is(Fixed::HOST) || name.is(Fixed::SCHEME)
    };
    let is_part = |(key, map): &(usize, Map)| (is_mark(*key) || is_segment(*key)) && matches!(map, Map::To { .. });
    let mut parts: Vec<&mut (usize, Map)> = maps.iter_mut().filter(|of| is_part(of)).collect();
    if parts.len() < 2 {
        return;
    }
    let live: Vec<u32> =
        rows.iter().copied().filter(|&row| !columns.redirects || columns.fetchable[row as usize]).collect();
    let is_seen = |row: &u32| parts.iter().all(|(key, map)| columns.code(*key, *row) == map.get(1));
    if live.iter().any(is_seen) {
        return;
    }
    let is_kept = |(key, map): &&mut (usize, Map)| {
        operations::chosen(columns, *key, rows.iter().copied(), std::iter::once(map.get(1))) == Some(map.get(1))
    };
    let kept: Vec<bool> = parts.iter().map(is_kept).collect();
    let mut met: HashMap<Vec<u32>, u32, FixedState> = HashMap::default();
    for &row in &live {
        let own: Vec<u32> = parts.iter().map(|part| columns.code(part.0, row)).collect();
        let may = |((&own, (key, map)), &kept): ((&u32, &&mut (usize, Map)), &bool)| {
            if kept { own == map.get(1) } else { own != 0 || is_mark(*key) }
        };
        if own.iter().zip(&parts).zip(&kept).all(may) {
            *met.entry(own).or_default() += 1;
        }
    }
    let alike = |codes: &[u32]| codes.iter().zip(&parts).filter(|(code, part)| **code == part.1.get(1)).count();
    let nearest = met.keys().map(|codes| alike(codes)).max();
    met.retain(|codes, _| Some(alike(codes)) == nearest);
    let most = met.values().max().copied().unwrap_or(0);
    let text = |codes: &[u32]| -> Vec<u8> {
        let values = codes.iter().zip(&parts).flat_map(|(&code, part)| columns.value(part.0, code).iter().chain(b"/"));
        values.copied().collect()
    };
    let near = met.into_iter().filter(|(_, rows)| rows.saturating_mul(times) >= most);
    let texts = near.map(|(codes, _)| (text(&codes), codes));
    let Some((_, best)) = texts.min_by(|a, b| operations::plainness(&a.0).cmp(&operations::plainness(&b.0))) else {
        return;
    };
    for (part, code) in parts.iter_mut().zip(best) {
        let is_absent = |&row: &u32| columns.code(part.0, row) == 0;
        part.1 = Map::To { code, everywhere: is_mark(part.0) && (code == 0 || rows.iter().any(is_absent)) };
    }
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
