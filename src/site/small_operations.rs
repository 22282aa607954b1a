//! Operations for which a small sample has too little evidence, refused while they are adopted;
//! [`small_samples`](super::small_samples) withdraws rules once all are there.

use super::columns::Columns;
use super::evidence::Groups;
use super::operations::{self, Map};
use super::proposal::Action;
use super::{Stage, Thresholds, Without};
use crate::url::{Key, Part};

/// True where most values of a key, at least `small_min_numbers`, are numbers, and most are met in one cluster
/// alone. What follows a number inside a segment is one, too, where it holds digits that are none of a random
/// token (`-post-46-a-title`). O(rows x log).
pub(super) fn names_clusters(columns: &Columns, key: usize, rows: &[u32], thresholds: &Thresholds) -> bool {
    let of = |&row: &u32| (columns.code(key, row), columns.label[row as usize]);
    let mut pairs: Vec<(u32, u32)> = rows.iter().map(of).filter(|pair| pair.0 != 0).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let is_number = |code: u32| match columns.value(key, code) {
        rest @ [b'-' | b'_', ..] if columns.keys[key].as_path().is_some() => {
            rest.iter().any(u8::is_ascii_digit) && !holds_token(rest, thresholds.small_opaque)
        }
        _ => operations::is_number(columns, key, code),
    };
    let (mut values, mut alone, mut numbers) = (0, 0, 0);
    for value in pairs.chunk_by(|a, b| a.0 == b.0) {
        values += 1;
        alone += usize::from(value.len() == 1);
        numbers += usize::from(is_number(value[0].0));
    }
    values >= thresholds.small_min_numbers && alone * 2 > values && numbers * 2 > values
}

/// True where too few clusters support an operation in a small sample: under `min_clusters` that are no proven
/// constant pages, or, where it leaves out numbers that each lead to one cluster, under
/// `small_min_numbered`.
pub fn says_too_little(
    (columns, thresholds, without): (&Columns, &Thresholds, Without),
    groups: &Groups,
    action: Action,
    maps: &[(usize, Map)],
    rows: &[u32],
) -> bool {
    let clusters = groups.clusters();
    let is_numbered = || {
        let is_text = |key: &Key| matches!(key.as_path(), Some((_, part)) if part != Part::Number);
        let may_name = |key: usize| columns.keys[key].optional() || is_text(&columns.keys[key]);
        maps.iter().any(|map| may_name(map.0) && names_clusters(columns, map.0, rows, thresholds))
    };
    clusters < thresholds.min_clusters as u64 && groups.totals().0 < thresholds.min_constant_small
        || action == Action::Ignore && clusters < least_numbered(without, thresholds) && is_numbered()
}

/// Clusters that must support leaving out a parameter that [`names_clusters`] where the sample is
/// small.
pub fn least_numbered(without: Without, thresholds: &Thresholds) -> u64 {
    if without.has(Stage::SmallSamples) { 0 } else { thresholds.small_min_numbered }
}

/// True for a value with a run of `least` letters and digits or more, with a digit.
pub(super) fn holds_token(value: &[u8], least: usize) -> bool {
    let is_mixed = |run: &[u8]| run.len() >= least && run.iter().any(u8::is_ascii_digit);
    let is_hexadecimal = value.iter().all(|&b| b.is_ascii_hexdigit() || b == b'-');
    value.split(|b| !b.is_ascii_alphanumeric()).any(is_mixed) || is_hexadecimal && is_mixed(value)
}
