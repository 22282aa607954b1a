//! Families of query names whose values may be a set: facets that are numbered.

use super::Thresholds;
use super::columns::Columns;
use super::evidence::Groups;
use crate::url::Key;
use std::collections::{BTreeMap, BTreeSet};

/// True where the groups that sorting the values of a family makes of `rows` show that these are a set: each frequent
/// name (`breadth_frequent_permille`) has another value in two URLs of enough clusters (`min_carriers`), since
/// `t1=40&t2=17&t3=1` may be two teams and a season. Not where a name has two numbers, or another family stands beside
/// this one: of `k1=from&v1=vie&k2=to&v2=lhr` each `v` belongs to its `k`.
///
/// O(rows x families).
pub fn is_set(columns: &Columns, groups: &Groups, key: usize, rows: &[u32], thresholds: &Thresholds) -> bool {
    let is_nested = matches!(&columns.keys[key], Key::Query(name) if name.matches('#').count() > 1);
    let others: Vec<usize> =
        (0..columns.keys.len()).filter(|&other| other != key && columns.keys[other].is_family()).collect();
    let several = || rows.iter().filter(|&&row| columns.value(key, columns.code(key, row)).contains(&b'&'));
    let has_other = |row: &&u32| others.iter().any(|&other| columns.code(other, **row) != 0);
    if is_nested || several().filter(has_other).count() >= thresholds.min_clusters {
        return false;
    }
    let mut met: BTreeMap<&[u8], usize> = BTreeMap::new();
    several().flat_map(|&row| parameters(columns, key, row)).for_each(|(name, _)| *met.entry(name).or_default() += 1);
    let mut moved: BTreeMap<&[u8], BTreeSet<u32>> = BTreeMap::new();
    for members in (0..groups.len()).map(|group| groups.members(group)) {
        for &row in &members[1..] {
            let label = columns.label[row as usize];
            let Some(&first) = members.iter().find(|&&of| columns.label[of as usize] == label) else { continue };
            let values: BTreeMap<&[u8], &[u8]> = parameters(columns, key, first).collect();
            let differ = parameters(columns, key, row).filter(|(name, of)| values.get(name).is_some_and(|v| v != of));
            differ.for_each(|(name, _)| _ = moved.entry(name).or_default().insert(label));
        }
    }
    let total: usize = met.values().sum();
    let is_rare = |count: usize| (count as u64) * 1_000 < thresholds.breadth_frequent_permille * total as u64;
    let is_moved = |name: &[u8]| moved.get(name).is_some_and(|of| of.len() >= thresholds.min_carriers);
    met.iter().all(|(&name, &count)| is_rare(count) || is_moved(name))
}

/// Names and values of the parameters of a family in a row.
fn parameters(columns: &Columns, key: usize, row: u32) -> impl Iterator<Item = (&[u8], &[u8])> {
    let all = columns.value(key, columns.code(key, row)).split(|&byte| byte == b'&');
    all.map(|parameter| parameter.split_at(memchr::memchr(b'=', parameter).map_or(parameter.len(), |at| at + 1)))
}
