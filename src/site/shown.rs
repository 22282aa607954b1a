//! The values of the keys that a rule between forms takes away, where it was shown for some of them alone.
//!
//! A form has a slot for each key that varies, and its rule asks that the key is there. Where the
//! destination has no slot for it, each value is lost, and only pages that the two forms share show that it
//! says nothing: `/cgi-bin/trac.cgi/wiki/X` on `/wiki/X` is no evidence about `/cgi-bin/trac.cgi/browser/X`,
//! and a page of a topic that is the topic itself is none about its other pages. So a lost key is held to
//! the values with evidence, unless these are many (`breadth_links`) or hardly come twice
//! (`breadth_repeated_permille`), and as many as an equal chance for each row predicts.

use super::Thresholds;
use super::breadth;
use super::columns::Columns;
use super::evidence::Groups;
use super::forms::{Form, Mapping};
use std::collections::BTreeMap;

/// Keys that a move loses, each with the only values that it was shown for, sorted.
pub type Held = Vec<(usize, Vec<u32>)>;

/// The keys of `form` that a move with this mapping is held to. `groups` are those of its test. O(rows x
/// lost keys x log rows).
pub fn held(columns: &Columns, form: &Form, mapping: &Mapping, groups: &Groups, thresholds: &Thresholds) -> Held {
    let lost: Vec<usize> = form.slots.iter().copied().filter(|key| mapping.iter().all(|of| of.1 != *key)).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let is_own = own(columns, form);
    lost.into_iter().filter_map(|key| Some((key, values(columns, form, key, groups, &is_own, thresholds)?))).collect()
}

/// The rows of a form.
fn own(columns: &Columns, form: &Form) -> Vec<bool> {
    let mut is_own = vec![false; columns.len()];
    form.rows.iter().for_each(|&row| is_own[row as usize] = true);
    is_own
}

/// The values of a lost key with evidence, where these do not speak for the others.
fn values(
    columns: &Columns,
    form: &Form,
    key: usize,
    groups: &Groups,
    is_own: &[bool],
    thresholds: &Thresholds,
) -> Option<Vec<u32>> {
    // Rows of each value, and those of them that meet a row of their cluster without that value.
    let mut seen: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
    form.rows.iter().for_each(|&row| seen.entry(columns.code(key, row)).or_default()[0] += 1);
    // Label and value of the members; those of other forms have none.
    let mut members: Vec<(u32, Option<u32>)> = Vec::new();
    for group in 0..groups.len() {
        let value = |row: u32| is_own[row as usize].then(|| columns.code(key, row));
        members.clear();
        members.extend(groups.members(group).iter().map(|&row| (columns.label[row as usize], value(row))));
        members.sort_unstable();
        for page in members.chunk_by(|a, b| a.0 == b.0).filter(|page| page[0].1 != page[page.len() - 1].1) {
            let values = page.iter().filter_map(|of| of.1);
            values.for_each(|code| seen.entry(code).or_default()[1] += 1);
        }
    }
    let shown: Vec<u32> = seen.iter().filter(|of| of.1[1] > 0).map(|of| *of.0).collect();
    let counts = || seen.values().copied();
    let rows = |least: u32| counts().map(|[rows, _]| rows).filter(|&rows| rows >= least).map(u64::from).sum::<u64>();
    let hardly_come_twice = rows(2) * 1_000 <= thresholds.breadth_repeated_permille * rows(1);
    let are_many = shown.len() >= thresholds.breadth_links || hardly_come_twice;
    (!are_many || !breadth::are_alike(counts(), thresholds.breadth_slack_ppm)).then_some(shown)
}
