//! Conditions on one key, and the evidence of an operation under each of them.

use super::columns::Columns;
use super::proposal::{Condition, EvidenceTable};

/// Most values of a key that are tried as conditions: a bound of work.
pub(super) const VALUES: usize = 14;

/// The conditions on one key that are worth trying.
#[derive(Clone, Debug)]
pub struct Choices {
    /// The key.
    pub key: usize,
    /// The conditions.
    pub list: Vec<Condition>,
    /// Slot of each code: 0 for the absent key, from 2 on for the values in `list`, the last for an empty value
    /// that is not, 1 for the others.
    pub(super) slot: Vec<u8>,
}

/// Slots of [`Choices::slot`].
pub(super) const SLOTS: usize = VALUES + 3;

/// Good and bad of the groups of a table by the code of another key.
pub fn by_value(columns: &Columns, table: &EvidenceTable, key: usize) -> Vec<(u32, u32)> {
    let mut sums = vec![(0, 0); columns.codes_len(key)];
    let codes = &columns.codes[key];
    for group in 0..table.groups.len() {
        let sum = &mut sums[codes[table.groups.first(group) as usize] as usize];
        sum.0 += table.groups.good[group];
        sum.1 += table.groups.bad[group];
    }
    sums
}

/// Good and bad of the groups of a table under each condition on one key whose good alone is `enough`.
///
/// Most groups of a table that fails have no good; they are read only where good is enough.
pub fn totals<'a>(
    columns: &Columns,
    table: &EvidenceTable,
    choices: &'a Choices,
    enough: impl Fn(u64) -> bool,
) -> Vec<(&'a Condition, u64, u64)> {
    let (codes, groups) = (&columns.codes[choices.key], &table.groups);
    // Codes made after the conditions were chosen are in no row yet.
    let slot = |group: usize| usize::from(choices.slot[codes[groups.first(group) as usize] as usize]);
    let of = |sums: &[u64; SLOTS], condition: &Condition| match condition {
        Condition::Is(code) => sums[usize::from(choices.slot[*code as usize])],
        Condition::Present => sums[1..].iter().sum(),
        Condition::Absent => sums[0],
        Condition::OneOf(codes) => codes.iter().map(|&code| sums[usize::from(choices.slot[code as usize])]).sum(),
        Condition::None(codes) | Condition::Not(codes) => {
            let without: u64 = codes.iter().map(|&code| sums[usize::from(choices.slot[code as usize])]).sum();
            let absent = if matches!(condition, Condition::Not(_)) { sums[0] } else { 0 };
            absent + sums[1..].iter().sum::<u64>() - without
        }
    };
    let mut good = [0u64; SLOTS];
    for &group in &table.with_good {
        good[slot(group as usize)] += u64::from(groups.good[group as usize]);
    }
    let mut found: Vec<(&Condition, u64, u64)> =
        choices.list.iter().map(|c| (c, of(&good, c), 0)).filter(|f| enough(f.1)).collect();
    if found.is_empty() {
        return found;
    }
    let mut bad = [0u64; SLOTS];
    for &group in &table.with_bad {
        bad[slot(group as usize)] += u64::from(groups.bad[group as usize]);
    }
    found.iter_mut().for_each(|f| f.2 = of(&bad, f.0));
    found
}
