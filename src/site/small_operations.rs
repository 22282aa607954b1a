//! Operations for which a small sample has too little evidence, refused while they are adopted;
//! [`small_samples`](super::small_samples) withdraws rules once all are there.

use super::columns::Columns;
use super::evidence::Groups;
use super::operations::{self, Map};
use super::profile::names::{is_action, is_flag, is_length, is_locale, is_of_lists_or_versions};
use super::proposal::Action;
use super::random_tokens::holds_token;
use super::{Stage, Thresholds, Without};
use crate::url::Part;
use std::collections::BTreeSet;

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
/// constant pages, or, where it leaves out a key, too few [that differ in it](differing): under `small_min_numbered`
/// of numbers that each lead to one cluster, `small_min_of_lists` of parameters of lists and versions,
/// `small_min_of_numbers` of other numbers. Of parameters of lists and versions one wrong merge of
/// `small_wrong_of_lists` is too many: a sample of a tenth of the clusters has one of a hundred.
pub fn says_too_little(
    (columns, thresholds, without): (&Columns, &Thresholds, Without),
    groups: &Groups,
    action: Action,
    maps: &[(usize, Map)],
    rows: &[u32],
) -> bool {
    let is_page = groups.clusters() < thresholds.min_clusters as u64;
    if is_page && groups.totals().0 < thresholds.min_constant_small {
        return true;
    }
    let (good, bad) = groups.totals();
    let is_wrong = bad * thresholds.small_wrong_of_lists > good && !without.has(Stage::SmallSamples);
    if is_wrong
        && matches!(action, Action::Ignore | Action::Classes)
        && maps.iter().any(|map| is_of_lists_or_versions(&columns.keys[map.0]))
    {
        return true;
    }
    let least = |key: usize| {
        let of = &columns.keys[key];
        let is_text = matches!(of.as_path(), Some((_, part)) if part != Part::Number);
        let names = || (of.optional() || is_text) && names_clusters(columns, key, rows, thresholds);
        match () {
            () if without.has(Stage::SmallSamples) => 0,
            () if names() || is_length(of) || is_action(of) => thresholds.small_min_numbered,
            () if is_of_lists_or_versions(of) || are_locales(columns, key) => thresholds.small_min_of_lists,
            () if !is_page && of.optional() && are_numbers(columns, key) => thresholds.small_min_of_numbers,
            () => 0,
        }
    };
    let few = |key: usize| {
        let least = least(key);
        least > 0 && differing(columns, groups, key) < least
    };
    action == Action::Ignore && maps.iter().any(|map| few(map.0))
}

/// Clusters of which a group holds two values of a key: of a set of keys that are left out together, those that differ
/// in another one alone say nothing of this one. O(members).
fn differing(columns: &Columns, groups: &Groups, key: usize) -> u64 {
    let differs = |&group: &usize| {
        let of_majority = |row: &&u32| columns.label[**row as usize] == groups.majority[group];
        let mut codes = groups.members(group).iter().filter(of_majority).map(|&row| columns.code(key, row));
        codes.next().is_some_and(|first| codes.any(|code| code != first))
    };
    let clusters: BTreeSet<u32> = (0..groups.len()).filter(differs).map(|group| groups.majority[group]).collect();
    clusters.len() as u64
}

/// True where most values of a key are numbers.
fn are_numbers(columns: &Columns, key: usize) -> bool {
    are(columns, key, |code| operations::is_number(columns, key, code))
}

/// True where most values of a key, two at least, name languages or countries.
fn are_locales(columns: &Columns, key: usize) -> bool {
    columns.codes_len(key) > 2 && are(columns, key, |code| is_locale(columns.value(key, code)))
}

/// True where most values of a key, two at least, switch something on or off.
pub fn are_flags(columns: &Columns, key: usize) -> bool {
    columns.codes_len(key) > 2 && are(columns, key, |code| is_flag(columns.value(key, code)))
}

/// True where most values of a key are of this kind.
fn are(columns: &Columns, key: usize, is: impl Fn(u32) -> bool) -> bool {
    let codes = 1..columns.codes_len(key) as u32;
    codes.clone().filter(|&code| is(code)).count() * 2 > codes.count()
}

/// Clusters that must support leaving out a parameter that [`names_clusters`] where the sample is
/// small.
pub fn least_numbered(without: Without, thresholds: &Thresholds) -> u64 {
    if without.has(Stage::SmallSamples) { 0 } else { thresholds.small_min_numbered }
}
