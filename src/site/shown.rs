//! The values of the keys that a rule between forms takes away, where it was shown for some of them alone.
//!
//! A form has a slot for each key that varies, and its rule requires the key. Where the
//! destination has no slot for it, each value is lost, and only pages that the two forms share show that it
//! says nothing: `/cgi-bin/trac.cgi/wiki/X` on `/wiki/X` is no evidence about `/cgi-bin/trac.cgi/browser/X`,
//! and a page of a topic that is the topic itself is none about its other pages. So a lost key is held to
//! the values with evidence, unless these are many (`breadth_links`) or hardly come twice
//! (`breadth_repeated_permille`), and as many as an equal chance for each row predicts. In a small sample each value
//! needs as many clusters as a rule (`min_clusters_form_small`): pages that are missing are the same in every view, and
//! of the others it has one view each.

use super::Thresholds;
use super::columns::Columns;
use super::evidence::Groups;
use super::forms::{Form, Mapping};
use super::generalization;
use std::collections::{BTreeMap, BTreeSet};

/// Keys that a move loses, each with the only values that it was shown for, sorted.
pub type Held = Vec<(usize, Vec<u32>)>;

/// The keys of the form `from` that a move with this mapping to the form `to` is held to. `groups` are those of
/// its test, and `least` the clusters that it must have, 0 but in a small sample. What other forms show that moved
/// there before is no evidence: their rows may represent URLs that a rule wrote. O(rows x lost keys x log rows).
pub fn held(
    columns: &Columns,
    [from, to]: [&Form; 2],
    mapping: &Mapping,
    (groups, least): (&Groups, u64),
    thresholds: &Thresholds,
) -> Held {
    let lost: Vec<usize> = from.slots.iter().copied().filter(|key| mapping.iter().all(|of| of.1 != *key)).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let mut side = vec![Side::Other; columns.len()];
    from.rows.iter().for_each(|&row| side[row as usize] = Side::From);
    to.rows.iter().for_each(|&row| side[row as usize] = Side::To);
    // Without a mapping the form is one page.
    let least = if mapping.is_empty() { 1 } else { least.max(1) };
    let values = |key: usize| values(columns, (from, key), groups, &side, least, thresholds);
    lost.into_iter().filter_map(|key| Some((key, values(key)?))).collect()
}

/// The form of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    To,
    From,
    Other,
}

/// The values of a lost key with evidence from at least `least` clusters, where these do not speak for the others.
fn values(
    columns: &Columns,
    (form, key): (&Form, usize),
    groups: &Groups,
    side: &[Side],
    least: u64,
    thresholds: &Thresholds,
) -> Option<Vec<u32>> {
    // Rows of each value, and those of them that meet a row of the destination and of their cluster; these clusters.
    let mut clusters: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut seen: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
    form.rows.iter().for_each(|&row| seen.entry(columns.code(key, row)).or_default()[0] += 1);
    let mut members: Vec<(u32, Side, u32)> = Vec::new();
    for group in 0..groups.len() {
        members.clear();
        let member = |&row: &u32| (columns.label[row as usize], side[row as usize], row);
        members.extend(groups.members(group).iter().map(member));
        members.sort_unstable();
        for page in members.chunk_by(|a, b| a.0 == b.0).filter(|page| page[0].1 == Side::To) {
            let own = page.iter().filter(|of| of.1 == Side::From);
            own.for_each(|of| {
                let value = columns.code(key, of.2);
                seen.entry(value).or_default()[1] += 1;
                clusters.entry(value).or_default().insert(of.0);
            });
        }
    }
    let counts = || seen.values().copied();
    let rows = |least: u32| counts().map(|[rows, _]| rows).filter(|&rows| rows >= least).map(u64::from).sum::<u64>();
    let hardly_come_twice = rows(2) * 1_000 <= thresholds.breadth_repeated_permille * rows(1);
    let are_many = clusters.len() >= thresholds.breadth_links || hardly_come_twice;
    if are_many && generalization::are_alike(counts(), thresholds.breadth_slack_ppm) {
        return None;
    }
    Some(clusters.into_iter().filter(|of| of.1.len() as u64 >= least).map(|of| of.0).collect())
}
