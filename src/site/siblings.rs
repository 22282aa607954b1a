//! Mirrors that are right by chance: of many directories beside each other some hold by chance only pages
//! of another one.
//!
//! `/rep/X` shows the newest issue of a report and `/920/X` its issue 920: of a thousand numbers some have
//! newest issues alone. So a directory with few twins is asked what those beside it show of the same other
//! directory, as a condition is asked what lies outside ([`is_by_chance`]).

use super::Thresholds;
use super::conditions::is_by_chance;
use super::evidence::Bound;
use super::reduced::{Reduced, is_below, urls_below};
use std::collections::BTreeMap;

/// URLs beside a directory that are looked at, evenly spread: a bound of work.
const LOOKED_AT: usize = 20_000;

/// What the directories of one parent show of one other directory: right and wrong twins of each.
#[derive(Default)]
pub struct Siblings(BTreeMap<(String, String), BTreeMap<String, [u64; 2]>>);

impl Siblings {
    /// True where the twins of `a` and `b`, right and wrong, are no better than chance makes those of one of the
    /// directories beside `a`, or beside `b`.
    ///
    /// O([`LOOKED_AT`] x log URLs) for each parent and other directory.
    pub fn explain(
        &mut self,
        reduced: &[Reduced],
        [a, b]: [&str; 2],
        twins: [u64; 2],
        bound: Bound,
        thresholds: &Thresholds,
    ) -> bool {
        [(a, b), (b, a)].into_iter().any(|(own, other)| {
            let Some((parent, name)) = own.rsplit_once('/').filter(|of| of.0.contains("://")) else { return false };
            let key = (parent.to_owned(), other.to_owned());
            let of = self.0.entry(key).or_insert_with(|| shown(reduced, parent, other));
            let beside = || of.iter().filter(|of| of.0 != name).map(|of| *of.1);
            let outside = beside().fold([0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
            let tried = beside().filter(|of| of[0] + of[1] >= thresholds.mirror_min_clusters as u64).count() + 1;
            is_by_chance(twins, outside, tried, bound, thresholds.condition_chance_permille)
        })
    }
}

/// Right and wrong twins below `other` of the URLs below each directory in `parent`.
fn shown(reduced: &[Reduced], parent: &str, other: &str) -> BTreeMap<String, [u64; 2]> {
    let mut out: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let below = urls_below(reduced, parent);
    for one in below.iter().step_by(below.len().div_ceil(LOOKED_AT).max(1)) {
        let rest = &one.url[parent.len() + 1..];
        let Some((name, _)) = rest.split_once('/') else { continue };
        if is_below(other, &one.url[..parent.len() + 1 + name.len()]) {
            continue;
        }
        let twin = format!("{other}{}", &rest[name.len()..]);
        if let Ok(at) = reduced.binary_search_by(|r| r.url.as_str().cmp(&twin)) {
            out.entry(name.to_owned()).or_default()[usize::from(reduced[at].cluster != one.cluster)] += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether chance explains that of numbers of issues, `wrong` in six of them wrong, one has six right ones.
    fn is_chance(numbers: u32, wrong: u32) -> bool {
        let issue = |i: u32| {
            let label = if i >= numbers && i % 6 < wrong { 100_000 + i } else { i };
            Reduced { url: format!("http://h/{}/r{i}", i % numbers), cluster: label, elsewhere: false }
        };
        let newest = |i: u32| Reduced { url: format!("http://h/rep/r{i}"), cluster: i, elsewhere: false };
        let mut reduced: Vec<Reduced> = (0..numbers * 6).flat_map(|i| [issue(i), newest(i)]).collect();
        reduced.sort_unstable();
        let thresholds = Thresholds::default();
        let ends = ["http://h/0", "http://h/rep"];
        Siblings::default().explain(&reduced, ends, [6, 0], Bound::form(&thresholds), &thresholds)
    }

    #[test]
    fn one_number_of_many_is_chance_and_a_mirror_is_none() {
        assert!(is_chance(60, 2) && !is_chance(60, 0) && !is_chance(60, 6));
    }
}
