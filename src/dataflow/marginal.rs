//! Marginal evidence of a rule: the merges that would not exist without it (docs/method.md, "The
//! proof").
//!
//! A page here is the set of URLs with one canonical URL under all rules, with all memory off. Without
//! the rule, and without others that do the same to the same keys, the page falls into parts, each of
//! which the other rules still join; URLs on which leaving it out has no effect are one part together.
//! The cluster of a part is its largest (ties: the page's, then the smaller hash). A part whose cluster
//! is not the page's largest is merged wrongly; a part whose cluster other parts have, too, is merged
//! rightly to them, whichever cluster it is: both hold for a part of a page that another rule has
//! spoiled.
//!
//! A cluster on the page that is that of no part of any rule was joined by several rules, each of which
//! suffices. It counts as one wrong merge, in [`joint`](Marginal::joint), of each rule that acted on it
//! or on at least half of the page's largest cluster.
//!
//! Counts of parts of a site add up in any order to the same.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Parts of one page and one rule that are counted, a bound of memory: those of the smallest hashes, a
/// random sample. Memory of a page: as many for each rule.
pub const MAX_PARTS: usize = 1 << 14;
/// Merges of each kind that are kept of a rule, to find a test that separates them, a bound of memory:
/// those of the smallest hashes.
pub const MAX_SAMPLE: usize = 256;
/// Distinct clusters of wrong merges that are counted in a cell: a bound of memory.
pub const MAX_CLUSTERS: usize = 4;
/// Pages with wrong merges that are kept of a rule, to find the rules that share them, a bound of memory:
/// those of the smallest hashes.
pub const MAX_PAGES: usize = 64;

/// Place where a rule acted on a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// The section of the URL.
    pub section: String,
    /// The URL's value of the key by which the rule has a table or a list, where it has one.
    pub value: Option<String>,
}

/// The smallest `N` of the distinct numbers that were added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Smallest<T: Ord>(pub Vec<T>);

impl<T: Ord> Smallest<T> {
    /// Adds a number and keeps the smallest `most`.
    pub fn add(&mut self, number: T, most: usize) {
        if let Err(at) = self.0.binary_search(&number)
            && at < most
        {
            self.0.insert(at, number);
            self.0.truncate(most);
        }
    }
}

/// Merges in one cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellCounts {
    /// Right merges.
    pub good: u64,
    /// Wrong merges.
    pub bad: u64,
    /// Clusters of the wrong ones, at most [`MAX_CLUSTERS`].
    pub clusters: Smallest<u64>,
}

/// A merge that is kept: hash of its URL under the other rules, and the hash of its cluster.
pub type Kept = (u64, u64);

/// Marginal evidence of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marginal {
    /// Right merges.
    pub good: u64,
    /// Wrong merges.
    pub bad: u64,
    /// Wrong merges that several rules make, each of which would suffice.
    pub joint: u64,
    /// Right merges of parts without a URL that trained.
    pub apart_good: u64,
    /// Wrong merges of such parts.
    pub apart_bad: u64,
    /// Merges by the cell in which the rule acted.
    pub cells: BTreeMap<Cell, CellCounts>,
    /// Some of the right merges.
    pub good_sample: Smallest<Kept>,
    /// Some of the wrong merges.
    pub bad_sample: Smallest<Kept>,
    /// Some of the pages with wrong merges, by hash.
    pub bad_pages: Smallest<u64>,
    /// Values, removed by the suspected rules, that occur twice or more on a page with wrong merges of this
    /// rule, page by page.
    pub recurring: u64,
    /// Those among them that meet several clusters.
    pub recurring_several: u64,
}

impl Marginal {
    /// All wrong merges.
    pub fn wrong(&self) -> u64 {
        self.bad + self.joint
    }

    /// Adds the counts of another part of the site.
    pub fn add(&mut self, other: &Marginal) {
        self.good += other.good;
        self.bad += other.bad;
        self.joint += other.joint;
        self.apart_good += other.apart_good;
        self.apart_bad += other.apart_bad;
        self.recurring += other.recurring;
        self.recurring_several += other.recurring_several;
        for (cell, more) in &other.cells {
            let counts = self.cells.entry(cell.clone()).or_default();
            counts.good += more.good;
            counts.bad += more.bad;
            more.clusters.0.iter().for_each(|&cluster| counts.clusters.add(cluster, MAX_CLUSTERS));
        }
        other.good_sample.0.iter().for_each(|&kept| self.good_sample.add(kept, MAX_SAMPLE));
        other.bad_sample.0.iter().for_each(|&kept| self.bad_sample.add(kept, MAX_SAMPLE));
        other.bad_pages.0.iter().for_each(|&page| self.bad_pages.add(page, MAX_PAGES));
    }

    /// True where the wrong merges of the two are surely on different pages.
    pub fn is_apart_from(&self, other: &Marginal) -> bool {
        // A full sample has no pages above its largest.
        let known = |of: &Smallest<u64>| match of.0.last() {
            Some(&last) if of.0.len() == MAX_PAGES => last,
            _ => u64::MAX,
        };
        let most = known(&self.bad_pages).min(known(&other.bad_pages));
        let below = |of: &Smallest<u64>| of.0.partition_point(|&page| page <= most);
        let (a, b) = (&self.bad_pages.0[..below(&self.bad_pages)], &other.bad_pages.0[..below(&other.bad_pages)]);
        !a.is_empty() && !b.is_empty() && a.iter().all(|page| b.binary_search(page).is_err())
    }
}

/// URLs of one cluster in one part of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Portion {
    /// Index of the rule that is left out.
    pub rule: u16,
    /// The part: hash of the URL under the other rules; 0 for URLs on which the rule has no effect.
    pub part: u64,
    /// Hash of the label.
    pub cluster: u64,
    /// Index of the firing, which has the place where the rule acted.
    pub firing: u32,
    /// Number of URLs.
    pub urls: u64,
}

/// Sorts portions, adds up those of one kind, and keeps [`MAX_PARTS`] parts of a rule beside part 0.
pub fn consolidate(portions: &mut Vec<Portion>) {
    portions.sort_unstable();
    portions.dedup_by(|b, a| {
        let same = (a.rule, a.part, a.cluster, a.firing) == (b.rule, b.part, b.cluster, b.firing);
        if same {
            a.urls += b.urls;
        }
        same
    });
    let (mut parts, mut last) = (0, None);
    portions.retain(|portion| {
        let of = (portion.rule, portion.part);
        match last {
            Some(before) if before == of => {}
            Some((rule, _)) if rule == portion.rule => parts += 1,
            _ => parts = 0,
        }
        last = Some(of);
        parts <= MAX_PARTS
    });
}

/// Largest cluster of a part, with `of_page` before others of its size.
fn largest(portions: &[Portion], of_page: u64) -> u64 {
    let sizes = portions.chunk_by(|a, b| a.cluster == b.cluster).map(|cluster| {
        let size: u64 = cluster.iter().map(|portion| portion.urls).sum();
        (size, cluster[0].cluster)
    });
    sizes
        .max_by_key(|&(size, cluster)| (size, cluster == of_page, std::cmp::Reverse(cluster)))
        .map_or(of_page, |(_, cluster)| cluster)
}

/// Adds to `to` the values that all suspected rules remove on a page with wrong merges of one of them.
/// `values` are consolidated, with the hash of the values as their part.
///
/// URLs of the page with the same removed values differ in nothing that a suspected rule removes: where
/// they are of several clusters, none of these rules joined them. Values of one rule alone are not
/// evidence: of two wrong rules each would excuse the other.
pub fn count_values(values: &[Portion], to: &mut Marginal) {
    for value in values.chunk_by(|a, b| a.part == b.part) {
        let urls: u64 = value.iter().map(|portion| portion.urls).sum();
        to.recurring += u64::from(urls > 1);
        to.recurring_several += u64::from(value.first().map(|of| of.cluster) != value.last().map(|of| of.cluster));
    }
}

/// Adds the merges of one rule on the page of this hash to `to`. `portions` are those of the rule,
/// consolidated, with part 0 complete; `of_page` is the largest cluster of the page; `cell` returns the
/// cell of a firing and whether it trained. The clusters of the parts are pushed to `seen`.
pub fn count<'a>(
    page: u64,
    portions: &[Portion],
    of_page: u64,
    cell: impl Fn(u32) -> (&'a Cell, bool),
    seen: &mut Vec<u64>,
    to: &mut Marginal,
) {
    let mut parts: Vec<(u64, &[Portion])> =
        portions.chunk_by(|a, b| a.part == b.part).map(|part| (largest(part, of_page), part)).collect();
    seen.extend(parts.iter().map(|part| part.0));
    if parts.len() < 2 {
        return;
    }
    // The hash of a part, and the cell of the rule on its URLs: the smallest represents several, whatever the order of
    // firings.
    let acted =
        |part: &[Portion]| part.iter().map(|portion| cell(portion.firing).0).min().map(|cell| (part[0].part, cell));
    // No rule acted on part 0: the URLs that the rule brought to it stand for it.
    let brought = parts.iter().find(|part| part.1[0].part != 0).and_then(|part| acted(part.1));
    // By cluster; within a cluster part 0 first: it represents the cluster.
    parts.sort_by_key(|&(cluster, part)| (cluster, part[0].part));
    for same in parts.chunk_by(|a, b| a.0 == b.0) {
        for (at, &(cluster, part)) in same.iter().enumerate() {
            let Some((hash, acted)) = (if part[0].part == 0 { brought } else { acted(part) }) else { continue };
            let apart = u64::from(part.iter().all(|portion| !cell(portion.firing).1));
            let counts = to.cells.entry(acted.clone()).or_default();
            let kept = (hash, cluster);
            if at > 0 {
                to.good += 1;
                to.apart_good += apart;
                counts.good += 1;
                to.good_sample.add(kept, MAX_SAMPLE);
            }
            if cluster != of_page {
                to.bad += 1;
                to.apart_bad += apart;
                counts.bad += 1;
                counts.clusters.add(cluster, MAX_CLUSTERS);
                to.bad_sample.add(kept, MAX_SAMPLE);
                to.bad_pages.add(page, MAX_PAGES);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 7;

    /// Counts of a rule on a page: `(part, cluster, firing)` of each URL. Firing 0 is of no rule, others
    /// are of a section.
    fn counted(urls: &[(u64, u64, u32)]) -> (Marginal, Vec<u64>) {
        let mut portions: Vec<Portion> =
            urls.iter().map(|&(part, cluster, firing)| Portion { rule: 0, part, cluster, firing, urls: 1 }).collect();
        consolidate(&mut portions);
        let cells: Vec<Cell> =
            ["", "news", "shop"].map(|of| Cell { section: of.to_owned(), value: None }).into_iter().collect();
        let (mut seen, mut to) = (Vec::new(), Marginal::default());
        count(1, &portions, PAGE, |firing| (&cells[firing as usize], firing == 1), &mut seen, &mut to);
        (to, seen)
    }

    #[test]
    fn a_part_is_one_merge_whatever_its_size() {
        // Part 0 represents its cluster; part 3 is right, part 4 wrong.
        let page = [(0, PAGE, 0), (3, PAGE, 1), (3, PAGE, 1), (4, 9, 2), (4, 9, 2), (4, 9, 2)];
        let (counts, seen) = counted(&page);
        assert_eq!((counts.good, counts.bad, counts.apart_good, counts.apart_bad), (1, 1, 0, 1));
        let cell = |of: &str| &counts.cells[&Cell { section: of.to_owned(), value: None }];
        assert_eq!((cell("news").good, cell("news").bad, cell("shop").good, cell("shop").bad), (1, 0, 0, 1));
        assert_eq!(cell("shop").clusters.0, [9]);
        assert_eq!((counts.good_sample.0, counts.bad_sample.0), (vec![(3, PAGE)], vec![(4, 9)]));
        assert_eq!(seen, [PAGE, PAGE, 9]);
    }

    #[test]
    fn what_the_rule_brings_to_others_is_charged_where_it_acted() {
        // The rule brings two URLs of the page's cluster to one on which it has no effect.
        let (counts, _) = counted(&[(0, 9, 0), (3, PAGE, 2), (4, PAGE, 2)]);
        assert_eq!((counts.good, counts.bad), (1, 1));
        // A URL that the rule brought stands for those that it leaves, of which none is kept.
        assert_eq!(counts.bad_sample.0, vec![(3, 9)]);
        assert_eq!(counts.cells[&Cell { section: "shop".to_owned(), value: None }].bad, 1);
    }

    #[test]
    fn a_part_of_a_page_that_another_rule_spoiled_is_right_and_wrong() {
        // Three parts of each of two pages: four right merges, and three of the smaller page's parts are in
        // the wrong place.
        let page = [(1, PAGE, 1), (2, PAGE, 1), (3, PAGE, 1), (4, 9, 1), (5, 9, 1), (6, 9, 1)];
        let (counts, _) = counted(&page);
        assert_eq!((counts.good, counts.bad), (4, 3));
    }

    #[test]
    fn rules_whose_wrong_merges_are_on_different_pages_are_told_apart() {
        let on = |pages: std::ops::Range<u64>| Marginal {
            bad_pages: Smallest(pages.take(MAX_PAGES).collect()),
            ..Marginal::default()
        };
        assert!(on(0..5).is_apart_from(&on(5..9)) && !on(0..6).is_apart_from(&on(5..9)));
        // The first is full: it has no pages behind its last.
        assert!(!on(0..1000).is_apart_from(&on(500..505)));
        assert!(!on(0..5).is_apart_from(&on(0..0)));
    }

    #[test]
    fn one_part_is_no_merge() {
        assert_eq!(counted(&[(0, PAGE, 0), (0, 9, 0)]).0, Marginal::default());
        assert_eq!(counted(&[(5, PAGE, 1), (5, 9, 1)]).0, Marginal::default());
    }

    #[test]
    fn of_equal_clusters_a_part_has_that_of_the_page() {
        let (counts, _) = counted(&[(3, PAGE, 1), (4, 2, 1), (4, PAGE, 1)]);
        assert_eq!((counts.good, counts.bad), (1, 0));
    }

    #[test]
    fn parts_of_a_site_add_up_in_any_order() {
        let one = counted(&[(0, PAGE, 0), (3, PAGE, 1), (4, 9, 2)]).0;
        let two = counted(&[(0, PAGE, 0), (5, 8, 2), (6, PAGE, 1)]).0;
        let sum = |a: &Marginal, b: &Marginal| {
            let mut sum = a.clone();
            sum.add(b);
            sum
        };
        assert_eq!(sum(&one, &two), sum(&two, &one));
        assert_eq!((sum(&one, &two).good, sum(&one, &two).bad), (2, 2));
    }

    #[test]
    fn portions_are_bounded_by_the_smallest_parts_whatever_their_order() {
        let many = MAX_PARTS as u64 + 500;
        let portion = |part: u64| Portion { rule: 1, part, cluster: 1, firing: 0, urls: 1 };
        let mut ascending: Vec<Portion> = (0..many).map(portion).collect();
        let mut pieces: Vec<Portion> = Vec::new();
        for part in (0..many).rev() {
            pieces.push(portion(part));
            if part % 1000 == 0 {
                consolidate(&mut pieces);
            }
        }
        consolidate(&mut ascending);
        consolidate(&mut pieces);
        assert_eq!(ascending.len(), MAX_PARTS + 1);
        assert!(ascending == pieces);
    }
}
