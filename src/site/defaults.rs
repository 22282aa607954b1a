//! Defaults that are written out together: `t=7&start=0&postdays=0&postorder=asc` is the page of `t=7`.
//!
//! A value class of one key needs URLs that differ in that key alone. Software that writes its defaults
//! out writes them all, so such pairs are rare; the pairs that exist differ in all of them at once. The
//! table that ignores those keys together gives the values with which they come, against none of them. Where the
//! parameters have another order or other separators as well, these are left out with them, be it one parameter.
//! Saved share of phpbb-forum, mean of six samples of 20 %: .848 with classes of one key only, .983
//! with these; recall .9972 and .9971.

use super::columns::Columns;
use super::covering::Covering;
use super::evidence::Bound;
use super::proposal::{Action, Condition, EvidenceTable, Proposal, Scope, is_arrangement};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Proposals of one table in one pass, a bound of work: the next pass searches again.
const TOP: usize = 2;

/// Values of the keys of `table` that mean the same as none of these keys, those of most good first;
/// empty where a key cannot be left out. Whatever order and separators the parameters of the URLs with them have,
/// those without have the usual ones, which are those of the result.
///
/// O(members of groups x keys).
pub fn find(covering: &Covering, table: &EvidenceTable) -> Vec<Proposal> {
    let columns = &covering.columns;
    let is_arranging = |&&k: &&usize| is_arrangement(&columns.keys[k]);
    let (arrangement, keys): (Vec<usize>, Vec<usize>) = table.keys.iter().partition(is_arranging);
    let is_set = table.keys.len() > 1 && !keys.is_empty() && keys.iter().all(|&k| columns.keys[k].optional());
    if table.action != Action::Ignore || !is_set {
        return Vec::new();
    }
    let code = |k: usize, row: u32| columns.codes[k][row as usize];
    // Values to pairs of one cluster, and of different clusters.
    let mut pairs: HashMap<Vec<u32>, (u64, u64), FixedState> = HashMap::default();
    let mut values = Vec::new();
    for group in 0..table.groups.len() {
        let members = table.groups.members(group);
        let is_plain = |&&row: &&u32| table.keys.iter().all(|&k| code(k, row) == 0);
        let Some(&plain) = members.iter().find(is_plain) else { continue };
        for &row in members.iter().filter(|&&row| keys.iter().all(|&k| code(k, row) != 0)) {
            // A URL that redirects to the defaults is no page to leave them out for.
            if !columns.fetchable[plain as usize] && columns.fetchable[row as usize] {
                continue;
            }
            values.clear();
            values.extend(keys.iter().map(|&k| code(k, row)));
            if !pairs.contains_key(&values) {
                pairs.insert(values.clone(), (0, 0));
            }
            let counts = pairs.get_mut(&values).expect("it is there now");
            let same = columns.label[plain as usize] == columns.label[row as usize];
            (counts.0, counts.1) = (counts.0 + u64::from(same), counts.1 + u64::from(!same));
        }
    }
    let bound = Bound::classes(&covering.thresholds).allowing(covering.noise);
    let mut found: Vec<(Vec<u32>, (u64, u64))> =
        pairs.into_iter().filter(|(_, (same, different))| bound.holds(*same, *different, 0)).collect();
    found.sort_unstable_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
    found.truncate(TOP);
    found
        .into_iter()
        .map(|(values, (same, _))| proposal(columns, (&keys, &arrangement), &values, same as i64))
        .collect()
}

fn proposal(columns: &Columns, (keys, arrangement): (&[usize], &[usize]), values: &[u32], score: i64) -> Proposal {
    let left_out = |(&k, &value): (&usize, &u32)| {
        let mut table: Vec<u32> = (0..columns.codes_len(k) as u32).collect();
        table[value as usize] = 0;
        table
    };
    let any = arrangement.iter().map(|&k| vec![0; columns.codes_len(k)]);
    Proposal {
        scope: keys.iter().zip(values).map(|(&k, &value)| (k, Condition::Is(value))).collect(),
        action: Action::Classes,
        keys: keys.iter().chain(arrangement).copied().collect(),
        classes: Some(keys.iter().zip(values).map(left_out).chain(any).collect()),
        prior: 0,
        score,
    }
}

/// The rows of a proposal of defaults: those with the values, and those without any of the keys.
pub fn rows(columns: &Columns, alive: &[u32], scope: &Scope, keys: &[usize]) -> Vec<u32> {
    let code = |k: usize, row: u32| columns.codes[k][row as usize];
    let with = |row: u32| scope.iter().all(|(k, condition)| condition.holds(code(*k, row)));
    let without = |row: u32| keys.iter().all(|&k| code(k, row) == 0);
    alive.iter().copied().filter(|&row| with(row) || without(row)).collect()
}
