//! Values of other keys beside which an operation was hardly ever shown.
//!
//! That a parameter says nothing beside `filter=status` says nothing of `filter=owner`, where each of its values may be
//! a page: where no two of them were met with the same rest, nothing falls together, right or wrong, and no bound on
//! wrong merges sees it.

use super::Thresholds;
use super::columns::Columns;
use super::evidence::Groups;
use super::generalization::meets;
use super::operations::Map;
use super::proposal::Condition;

/// A condition that leaves out the values of one key with hardly any of the merges that the rate of all rows predicts
/// (`breadth_host_rows`): of several keys, that whose such values have most rows, the first of equal ones. `groups` are
/// those that the operation makes of `rows`, `alive` all rows, `keys` those to look at.
///
/// Counted are rows that the operation changes and that meet another of their cluster, or are alone in it: others may
/// meet once further differences are removed.
///
/// O(rows x keys).
pub(super) fn find(
    (columns, thresholds): (&Columns, &Thresholds),
    groups: &Groups,
    maps: &[(usize, Map)],
    (rows, alive): (&[u32], &[u32]),
    keys: impl Iterator<Item = usize>,
) -> Option<(usize, Condition)> {
    let label = |row: u32| columns.label[row as usize] as usize;
    let mut members = vec![0u32; columns.label.iter().max().map_or(0, |&most| most as usize + 1)];
    alive.iter().for_each(|&row| members[label(row)] += 1);
    let meets = meets(columns, groups);
    let is_changed =
        |row: u32| maps.iter().any(|(key, map)| map.get(columns.code(*key, row)) != columns.code(*key, row));
    let is_counted = |&row: &u32| is_changed(row) && (meets[row as usize] || members[label(row)] == 1);
    let rows: Vec<u32> = rows.iter().copied().filter(is_counted).collect();
    let rate = rows.iter().filter(|&&row| meets[row as usize]).count() as f64 / rows.len().max(1) as f64;
    let least = thresholds.breadth_host_rows;
    let mut best: Option<(u32, usize, Vec<u32>)> = None;
    for key in keys {
        // Rows of each value, and those that meet.
        let mut seen = vec![(0u32, 0u32); columns.codes_len(key)];
        for &row in &rows {
            let of = &mut seen[columns.code(key, row) as usize];
            *of = (of.0 + 1, of.1 + u32::from(meets[row as usize]));
        }
        let expected = |code: u32| f64::from(seen[code as usize].0) * rate;
        let is_unshown =
            |&code: &u32| expected(code) >= least && f64::from(seen[code as usize].1) * least < expected(code);
        let unshown: Vec<u32> = (0..seen.len() as u32).filter(is_unshown).collect();
        let of = unshown.iter().map(|&code| seen[code as usize].0).sum();
        if of > best.as_ref().map_or(0, |best| best.0) {
            best = Some((of, key, unshown));
        }
    }
    best.map(|(_, key, mut unshown)| match unshown[..] {
        [0] => (key, Condition::Present),
        [0, ..] => (key, Condition::None(unshown.split_off(1))),
        _ => (key, Condition::Not(unshown)),
    })
}
