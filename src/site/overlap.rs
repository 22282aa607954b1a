//! Whether the pages that a rule moves are found where it moves them.
//!
//! All merges of a rule that writes a value into the URL (`/users/ID` to `/devel/ID`) may be right, and
//! most of its URLs may still lead to a page that does not exist: a fifth of the messages of three lists
//! is on two of them, and the others have no counterpart. The merges do not show it, since nothing falls
//! together. Clusters with two known URLs or more do: if each page existed in both forms, few of these
//! clusters would be known in one form alone. The number expected by chance follows from the
//! frequencies of the forms; a rule needs seven tenths of it (`overlap_permille`).
//!
//! Limits. A cluster with one known URL is no evidence, so a site whose crawl has one URL a page is not
//! judged. Exempt are values that are left out, and values that are written where there was none: the
//! key is known to be optional there.

use super::Thresholds;
use super::binomial::power;
use super::columns::Columns;
use super::evidence::Groups;
use super::generalization;
use super::operations::{self, Map};
use super::proposal::Action;
use std::collections::BTreeMap;

/// Pages of two known URLs or more: how many are in the form that moves, and how many in that to which
/// they move.
#[derive(Clone, Debug, Default)]
pub(super) struct Overlap(Vec<[u32; 2]>);

impl Overlap {
    /// Counts the pages of an operation on `rows`. A page is a cluster, since what else differs between its
    /// URLs may not be joined yet. O(rows x keys).
    fn of(columns: &Columns, maps: &[(usize, Map)], rows: &[u32]) -> Overlap {
        let images: Vec<Vec<bool>> = maps.iter().map(|(key, map)| image(map, columns.codes_len(*key))).collect();
        let form = |row: u32| {
            let codes = || maps.iter().map(|(key, map)| (map, columns.code(*key, row)));
            match codes().any(|(map, code)| code != 0 && map.get(code) != code) {
                true => Some(0),
                false => codes().zip(&images).all(|((_, code), image)| image[code as usize]).then_some(1),
            }
        };
        Overlap::new(columns, rows.iter().filter_map(|&row| Some((row, form(row)?))))
    }

    /// Counts the pages of the rows of two forms.
    pub(super) fn between(columns: &Columns, source: &[u32], target: &[u32]) -> Overlap {
        let of = |rows: &[u32], form| rows.iter().map(|&row| (row, form)).collect::<Vec<_>>();
        Overlap::new(columns, of(source, 0).into_iter().chain(of(target, 1)))
    }

    /// True where as many pages are known in both ends of a chain of forms as chance predicts, seven tenths of them as
    /// elsewhere, or too few are known to tell; `between` are the rows of the forms that link them. Pages known
    /// in two of the three speak of this where no page has two URLs in the ends: `/devel/ID` and `/users/ID` are
    /// both `/raw?m=ID`, and a message is on one of the two lists. That none is in both shows with fewer pages
    /// (`overlap_none_pages`) than that few are.
    pub(super) fn holds_through(columns: &Columns, forms: [&[u32]; 3], thresholds: &Thresholds) -> bool {
        let mut pages: BTreeMap<u32, [bool; 3]> = BTreeMap::new();
        for (form, rows) in forms.into_iter().enumerate() {
            rows.iter().for_each(|&row| pages.entry(columns.label[row as usize]).or_default()[form] = true);
        }
        pages.retain(|_, forms| forms.iter().filter(|&&form| form).count() > 1);
        let count = |is_in: fn(&[bool; 3]) -> bool| pages.values().filter(|forms| is_in(forms)).count() as u64;
        let both = count(|forms| forms[0] && forms[2]);
        let expected = 1_000_000 * count(|forms| forms[0]) * count(|forms| forms[2]) / (pages.len() as u64).max(1);
        let none = both == 0 && expected >= 1_000_000 * thresholds.overlap_none_pages;
        !none && are_enough(both, expected, thresholds)
    }

    /// Counts the pages of rows in the form that moves (0) and in the other (1).
    fn new(columns: &Columns, rows: impl Iterator<Item = (u32, usize)>) -> Overlap {
        let mut pages: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
        for (row, form) in rows {
            let urls = &mut pages.entry(columns.label[row as usize]).or_default()[form];
            *urls = urls.saturating_add(columns.weight[row as usize]);
        }
        Overlap(pages.into_values().filter(|urls| urls[0].saturating_add(urls[1]) > 1).collect())
    }

    /// True where enough pages are known in both forms, or too few pages are known to tell.
    pub(super) fn holds(&self, thresholds: &Thresholds) -> bool {
        let (both, expected) = self.counts();
        are_enough(both, expected, thresholds)
    }

    /// Pages known in both forms, and in millionths as many as chance predicts. Were the forms one as good
    /// as the other, a page of w known URLs would be known in both with 1 - q^w - (1 - q)^w, where q is the
    /// share of either among all these URLs.
    fn counts(&self) -> (u64, u64) {
        let [source, target] = [0, 1].map(|form| self.0.iter().map(|urls| u64::from(urls[form])).sum::<u64>());
        let share = target as f64 / (source + target).max(1) as f64;
        let chance = |urls: &[u32; 2]| {
            let all = urls[0].saturating_add(urls[1]);
            1.0 - power(share, all) - power(1.0 - share, all)
        };
        // Integer sums do not depend on the order of pages.
        let expected = self.0.iter().map(|urls| (1e6 * chance(urls)) as u64).sum();
        (self.0.iter().filter(|urls| urls[0] > 0 && urls[1] > 0).count() as u64, expected)
    }
}

/// True where `both` is not under the share of the expected millionths that a rule needs, or these are too few.
fn are_enough(both: u64, expected: u64, thresholds: &Thresholds) -> bool {
    expected < 1_000_000 * thresholds.overlap_min_pages
        || both * 1_000_000_000 >= thresholds.overlap_permille * expected
}

/// The codes that a map leads to.
fn image(map: &Map, codes: usize) -> Vec<bool> {
    let mut image = vec![false; codes];
    (0..codes as u32).filter(|&code| map.get(code) != code).for_each(|code| image[map.get(code) as usize] = true);
    image
}

/// True where an operation on `rows` writes no value into a part of the path, the extension or a
/// parameter, or where the pages overlap. String functions and prefixes have tests of their own. Exempt are
/// values that are no directories: with at most `overlap_title_rows` URLs a value, and links between them
/// that prove that none matters (`groups` are those that the operation makes of the rows), where there are
/// more than `breadth_most_listed`. The title that stands for all others is on few pages, so hardly any page
/// is known both under it and under another title, and the test would refuse a right rule.
pub(super) fn allows(
    columns: &Columns,
    groups: &Groups,
    action: Action,
    maps: &[(usize, Map)],
    rows: &[u32],
    thresholds: &Thresholds,
) -> bool {
    let is_title = |key: usize| {
        let seen = operations::frequencies(columns, key, rows.iter().copied());
        let met: Vec<usize> = seen[1..].iter().filter(|&&n| n > 0).map(|&n| n as usize).collect();
        met.len() > thresholds.breadth_most_listed
            && met.iter().sum::<usize>() <= thresholds.overlap_title_rows * met.len()
            && generalization::is_of_any_value(columns, groups, key, thresholds)
    };
    let writes = |(key, map): &(usize, Map)| {
        columns.is_part(*key)
            && (1..columns.codes_len(*key) as u32).any(|code| map.get(code) != code && map.get(code) != 0)
            && !is_title(*key)
    };
    matches!(action, Action::Function(_) | Action::Prefix(_))
        || !maps.iter().any(writes)
        || Overlap::of(columns, maps, rows).holds(thresholds)
}
