//! Mirrors that are right by chance: of many directories beside each other some hold by chance only pages
//! of another one.
//!
//! `/rep/X` shows the newest issue of a report and `/920/X` its issue 920: of a thousand numbers some have
//! newest issues alone. So a directory with few twins is asked what those beside it show of the same other
//! directory, as a condition is asked what lies outside ([`is_by_chance`]). Directories above it are asked alike:
//! beside `/en/2.0` lie `/en/1.2` and `/fr/2.0`.

use super::Thresholds;
use super::conditions::is_by_chance;
use super::evidence::Bound;
use super::reduced::{Reduced, is_below, urls_below};
use std::collections::BTreeMap;

/// URLs beside a directory that are looked at, evenly spread: a bound of work.
const LOOKED_AT: usize = 20_000;

/// Directories of a path, from its end, whose other names are asked: a bound of work.
const LEVELS: usize = 3;

/// What directories that differ in one name show of one other directory: right and wrong twins of each name, by
/// what stands before it, what follows, and the other directory.
#[derive(Default)]
pub struct Siblings(BTreeMap<[String; 3], BTreeMap<String, [u64; 2]>>);

impl Siblings {
    /// True where the twins of `a` and `b`, right and wrong, are no better than chance makes those of one of the
    /// directories beside `a`, or beside `b`.
    ///
    /// O([`LOOKED_AT`] x log URLs) for each of [`LEVELS`] names and other directory.
    pub fn explain(
        &mut self,
        reduced: &[Reduced],
        [a, b]: [&str; 2],
        twins: [u64; 2],
        bound: Bound,
        thresholds: &Thresholds,
    ) -> bool {
        [(a, b), (b, a)].into_iter().any(|(own, other)| {
            levels(own).any(|[parent, name, tail]| {
                let key = [parent, tail, other].map(str::to_owned);
                let of = self.0.entry(key).or_insert_with(|| shown(reduced, [parent, tail], other));
                let beside = || of.iter().filter(|of| of.0 != name).map(|of| *of.1);
                let outside = beside().fold([0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
                let tried = beside().filter(|of| of[0] + of[1] >= thresholds.mirror_min_clusters as u64).count() + 1;
                is_by_chance(twins, outside, tried, bound, thresholds.condition_chance_permille)
            })
        })
    }
}

/// Each of the last [`LEVELS`] names of a directory's path: what stands before it, the name, and what follows it
/// with its slash.
fn levels(own: &str) -> impl Iterator<Item = [&str; 3]> {
    let ends = own.rmatch_indices('/').map(|of| of.0).take(LEVELS);
    ends.take_while(|&at| own[..at].contains("://")).map(|at| {
        let name = own[at + 1..].split('/').next().unwrap_or_default();
        [&own[..at], name, &own[at + 1 + name.len()..]]
    })
}

/// Right and wrong twins below `other` of the URLs below `parent/NAME` + `tail`, by NAME.
fn shown(reduced: &[Reduced], [parent, tail]: [&str; 2], other: &str) -> BTreeMap<String, [u64; 2]> {
    let mut out: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let below = urls_below(reduced, parent);
    for one in below.iter().step_by(below.len().div_ceil(LOOKED_AT).max(1)) {
        let Some((name, _)) = one.url[parent.len() + 1..].split_once('/') else { continue };
        let own = format!("{parent}/{name}{tail}");
        if !is_below(&one.url, &own) || is_below(other, &own) {
            continue;
        }
        let twin = format!("{other}{}", &one.url[own.len()..]);
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

    #[test]
    fn names_further_up_are_asked_as_well() {
        // Of a release in ten languages, a third of the pages stand in German as they do in an older one.
        let page = |language: u32, release: &str, page: u32, label: u32| Reduced {
            url: format!("http://h/l{language}/{release}/p{page}"),
            cluster: label,
            elsewhere: false,
        };
        let is_chance = |wrong: u32| {
            let pages = (0..10).flat_map(|language| (0..9).map(move |at| (language, at)));
            let label =
                |(language, at): (u32, u32)| if language > 0 && at < wrong { 1_000 + language * 9 + at } else { at };
            let mut reduced: Vec<Reduced> = pages.map(|of| page(of.0, "2.0", of.1, label(of))).collect();
            reduced.extend((0..9).map(|at| page(10, "1.2", at, at)));
            reduced.sort_unstable();
            let thresholds = Thresholds::default();
            let ends = ["http://h/l0/2.0", "http://h/l10/1.2"];
            Siblings::default().explain(&reduced, ends, [6, 0], Bound::form(&thresholds), &thresholds)
        };
        assert!(is_chance(3) && !is_chance(0) && !is_chance(9));
    }
}
