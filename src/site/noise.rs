//! Label noise: how often labels contradict operations that are surely right.
//!
//! Fake duplicates and split clusters look like counter-evidence to every operation alike. With right
//! labels nothing contradicts the operations that are right beforehand (catalogue operations, names
//! that say they carry a session); with one label in twenty wrong, so is one in twenty observations of
//! each. What that share [explains](super::evidence::Bound::unexplained) is not counted against an
//! operation. Operations without a prior are heard only where labels are [shown](WrongLabels) to be wrong:
//! `ignore host` with 19 bad of 306 on a site whose mirrors differ in a few pages is wrong, not noisy.

use super::choices::Choices;
use super::columns::Columns;
use super::evidence::{Groups, upper_bound_ppm};
use super::proposal::EvidenceTable;
use super::{Thresholds, choices};
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Evidence of an operation tested on the untouched rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Good observations.
    pub good: u64,
    /// Bad observations.
    pub bad: u64,
    /// The operation's prior.
    pub prior: u64,
}

impl Witness {
    fn seen(self) -> u64 {
        self.good + self.bad
    }

    fn permille(self) -> u64 {
        self.bad * 1000 / self.seen().max(1)
    }

    /// False where so much is bad that the operation is wrong and says nothing of noise. Of few observations of an
    /// operation with a prior many are bad by chance, and leaving these out would leave those that show no noise: two
    /// standard deviations, twice the root of the bad, are taken off before the share is compared.
    pub fn may_be_noise(&self, of: &Thresholds) -> bool {
        let few = self.prior > 0 && self.seen() < of.noise_min_observations;
        let luck = if few { (4 * self.bad).isqrt() } else { 0 };
        self.bad.saturating_sub(luck) * 1000 <= of.noise_max_witness_permille * self.seen()
    }
}

/// Noise in thousandths from the operations tested on the untouched rows.
///
/// Operations without a prior show noise only where [labels are shown to be wrong](WrongLabels::are_shown): a parameter
/// that matters on 2 to 9 % of the pages, with right labels, contradicts as often as labels that are wrong. Of 27 made
/// sites of such parameters all had over 1 % of the merged URLs wrong when it was taken for noise, 13 have without.
/// The least of what they [show](shown) counts with each in turn left out that has a prior, or enough observations
/// where another has them, so that none is a witness for itself. Or, where labels are shown to be wrong, the share of
/// bad of all together, divided by `noise_factor`, if that is more; that is at most the Wilson upper bound of those
/// with a prior.
/// O(operations squared).
pub fn floor(seen: impl Iterator<Item = Witness>, wrong: &WrongLabels, thresholds: &Thresholds) -> u64 {
    let all: Vec<Witness> = seen.filter(|witness| witness.may_be_noise(thresholds)).collect();
    let is_shown = wrong.are_shown(thresholds);
    let (witnesses, others): (Vec<Witness>, Vec<Witness>) = all.iter().partition(|w| is_shown || w.prior > 0);
    let counts = |w: &Witness| w.seen() >= thresholds.noise_min_observations;
    let silent = sums(others.iter().filter(|w| counts(w)));
    let without = |at: usize| shown(&[&witnesses[..at], &witnesses[at + 1..]].concat(), silent, thresholds);
    let several = witnesses.iter().filter(|w| counts(w)).nth(1).is_some();
    let may_decide = |&at: &usize| witnesses[at].prior > 0 || several && counts(&witnesses[at]);
    let least = (0..witnesses.len()).filter(may_decide).map(without).min();
    let least = least.unwrap_or_else(|| shown(&witnesses, silent, thresholds));
    let (bad, seen) = if is_shown { sums(witnesses.iter()) } else { (0, 0) };
    let together =
        if seen < thresholds.noise_min_observations { 0 } else { bad * 1000 / seen / thresholds.noise_factor.max(1) };
    let sure = sums(witnesses.iter().filter(|w| w.prior > 0));
    let most = if sure.1 >= thresholds.noise_min_sure { bound(sure) } else { u64::MAX };
    least.max(together.min(most))
}

/// Bad and all observations.
fn sums<'w>(witnesses: impl Iterator<Item = &'w Witness>) -> (u64, u64) {
    witnesses.fold((0, 0), |sum, w| (sum.0 + w.bad, sum.1 + w.seen()))
}

/// Wilson upper bound of a share of bad, in thousandths.
fn bound((bad, seen): (u64, u64)) -> u64 {
    u64::from(upper_bound_ppm(bad, seen)).div_ceil(1000)
}

/// Noise in thousandths that these witnesses show.
///
/// The median share of bad over the operations with at least `noise_min_observations`, weighed by
/// observations, but at most the Wilson upper bound of the operations with a prior together. Under 5 %
/// split clusters the least share is often 0 by luck, and so is the share of a few operations; the median
/// is not: compression on noisy synthetic sites was 0.92 of the oracle's with the least share, 0.94 with
/// the median. Of a small site hardly any operation has so many: there the operations with a prior count
/// together, with their share of bad up to `noise_max_witness_permille`, divided by `noise_factor`, and no more than
/// the others allow (their Wilson upper bound). With the whole share one wrong label of 9,040 let a form pass
/// that is wrong on 6 % of its pages. Without operations with a prior the median alone counts. Of an operation
/// without a prior that is the only one with `noise_min_observations` the same part counts, so that it allows what
/// it shows and no more. `silent` are bad and all observations of operations that show no noise, and may
/// bound it.
fn shown(witnesses: &[Witness], silent: (u64, u64), thresholds: &Thresholds) -> u64 {
    let sure = sums(witnesses.iter().filter(|w| w.prior > 0));
    let counts = |w: &&Witness| w.seen() >= thresholds.noise_min_observations;
    let many: Vec<Witness> = witnesses.iter().filter(counts).copied().collect();
    let mut rates: Vec<(u64, u64)> = many.iter().map(|w| (w.permille(), w.seen())).collect();
    rates.sort_unstable();
    let half = rates.iter().map(|r| r.1).sum::<u64>() / 2;
    let mut below = 0;
    let mut reached = |r: &&(u64, u64)| {
        below += r.1;
        below >= half
    };
    let median = match &many[..] {
        [only] if only.prior == 0 => (only.permille() / thresholds.noise_factor.max(1))
            .max(thresholds.noise_min_alone_permille)
            .min(only.permille()),
        _ => rates.iter().find(&mut reached).map_or(0, |r| r.0),
    };
    if sure.1 < thresholds.noise_min_sure {
        return median;
    }
    let met = sums(many.iter());
    let met = (met.0 + silent.0, met.1 + silent.1);
    let of_all = (sure.0 * 1000 / sure.1).min(bound(met)).min(thresholds.noise_max_witness_permille);
    median.min(bound(sure)).max(of_all / thresholds.noise_factor.max(1))
}

/// Good and bad of an operation where its bad is noise: outside the condition on another key that holds
/// most of the bad, where there is one. The condition holds bad of at least `min_clusters` clusters.
pub fn unlocated(
    columns: &Columns,
    table: &EvidenceTable,
    conditions: &[Choices],
    thresholds: &Thresholds,
) -> (u64, u64) {
    let (good, bad) = table.groups.totals();
    if bad < thresholds.min_clusters as u64 {
        return (good, bad);
    }
    let others = conditions.iter().filter(|choices| !table.keys.contains(&choices.key));
    let totals = others.flat_map(|choices| {
        choices::totals(columns, table, choices, |_| true).into_iter().map(|found| (choices.key, found))
    });
    let located = totals.filter(|&(key, (condition, met_good, met_bad))| {
        let share = (met_good + met_bad) as f64 / (good + bad) as f64;
        let holds_most = met_bad * 100 >= thresholds.noise_min_held_percent * bad;
        holds_most && chance(met_bad, bad, share) <= thresholds.noise_max_chance && {
            let code = |group: u32| columns.codes[key][table.groups.first(group as usize) as usize];
            let groups = table.with_bad.iter().filter(|&&group| condition.holds(code(group)));
            let clusters: BTreeSet<u32> = groups.map(|&group| table.groups.majority[group as usize]).collect();
            clusters.len() >= thresholds.min_clusters
        }
    });
    let most = located.max_by_key(|(_, (_, met_good, met_bad))| (*met_bad, Reverse(*met_good)));
    most.map_or((good, bad), |(_, (_, met_good, met_bad))| (good - met_good, bad - met_bad))
}

/// Upper bound (Chernoff) of the probability that at least `held` of `of` lie where each lies with
/// probability `share`. By multiplication alone, the same on every machine; beyond 1,000 as for 1,000.
/// O(`of`).
fn chance(held: u64, of: u64, share: f64) -> f64 {
    let scale = of.div_ceil(1_000).max(1);
    let (held, of) = (held / scale, of / scale);
    let seen = held as f64 / of.max(1) as f64;
    if seen <= share {
        return 1.0;
    }
    let outside = if held < of { (1.0 - share) / (1.0 - seen) } else { 1.0 };
    // The factors below and above one in turn: neither product alone is within range.
    let (mut product, mut below, mut above) = (1.0, 0, 0);
    while below < held || above < of - held {
        if below < held && (product > 1.0 || above == of - held) {
            (product, below) = (product * share / seen, below + 1);
        } else if above < of - held {
            (product, above) = (product * outside, above + 1);
        } else {
            (product, below) = (product * share / seen, below + 1);
        }
    }
    product
}

/// True where most groups of `least` rows or more that are not pure hold rows of two other clusters or more: a
/// wrong label hits one URL of a page and a split cluster makes one other, but where the operation is wrong
/// each variant of a page is a cluster.
pub fn is_of_variants(groups: &Groups, label: &[u32], least: usize) -> bool {
    let (mut several, mut mixed) = (0, 0);
    for group in (0..groups.len()).filter(|&group| groups.bad[group] > 0 && groups.members(group).len() >= least) {
        let labels = groups.members(group).iter().map(|&row| label[row as usize]);
        let others: BTreeSet<u32> = labels.filter(|&label| label != groups.majority[group]).collect();
        (several, mixed) = (several + usize::from(others.len() > 1), mixed + 1);
    }
    several * 2 > mixed
}

/// Pages of which some rows have other labels, of several operations on the same rows.
#[derive(Clone, Debug, Default)]
pub struct WrongLabels {
    /// Clusters of these pages.
    pages: BTreeSet<u32>,
    /// Those that hold other rows with the values that such a row has: the values are not what makes it another page.
    refuted: BTreeSet<u32>,
}

impl WrongLabels {
    /// Adds the pages of groups that ignore keys with these codes, a list of one code a row for each key. Rows of a
    /// tenant have no vote, and show nothing of the pages of others that they copy. O(rows x keys).
    pub fn add(&mut self, groups: &Groups, codes: &[&[u32]], label: &[u32], is_of_tenant: impl Fn(u32) -> bool) {
        let values = |row: usize| {
            // Exact for one key; of several, equal products are as rare as equal hashes.
            codes.iter().fold(0u64, |all, codes| all.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(codes[row]))
        };
        let mut known: HashSet<(u32, u64), FixedState> = HashSet::default();
        for group in (0..groups.len()).filter(|&group| groups.bad[group] > 0) {
            let members = groups.members(group);
            if members.iter().any(|&row| is_of_tenant(row)) {
                continue;
            }
            if known.is_empty() {
                let rows = (0..label.len()).filter(|&row| !is_of_tenant(row as u32));
                known = rows.map(|row| (label[row], values(row))).collect();
            }
            let mut sizes: BTreeMap<u32, u32> = BTreeMap::new();
            members.iter().for_each(|&row| *sizes.entry(label[row as usize]).or_default() += 1);
            let most = sizes.values().copied().max().unwrap_or_default();
            // Of clusters of as many rows each may be the page.
            let pages = || sizes.iter().filter(|of| *of.1 == most).map(|of| *of.0);
            let is_refuted =
                |row: usize| pages().any(|page| page != label[row] && known.contains(&(page, values(row))));
            self.pages.insert(groups.majority[group]);
            if members.iter().any(|&row| is_refuted(row as usize)) {
                self.refuted.insert(groups.majority[group]);
            }
        }
    }

    /// True where labels are wrong, be the operations right or not: on enough pages, and on enough of all of which some
    /// rows have other labels.
    pub fn are_shown(&self, thresholds: &Thresholds) -> bool {
        let (refuted, pages) = (self.refuted.len(), self.pages.len());
        refuted >= thresholds.noise_min_refuted && refuted * 100 >= thresholds.noise_min_refuted_percent * pages
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Sorter;
    use super::{Thresholds, Witness, WrongLabels, chance, floor, is_of_variants};

    /// Labels that are shown to be wrong, or not.
    fn wrong(pages: u32) -> WrongLabels {
        WrongLabels { pages: (0..pages).collect(), refuted: (0..pages).collect() }
    }

    fn witnesses(seen: &[(u64, u64, u64)]) -> Vec<Witness> {
        seen.iter().map(|&(good, bad, prior)| Witness { good, bad, prior }).collect()
    }

    /// The noise where labels are shown to be wrong.
    fn of(seen: &[(u64, u64, u64)]) -> u64 {
        floor(witnesses(seen).into_iter(), &wrong(9), &Thresholds::default())
    }

    /// The noise where nothing shows that labels are wrong.
    fn of_right(seen: &[(u64, u64, u64)]) -> u64 {
        floor(witnesses(seen).into_iter(), &wrong(0), &Thresholds::default())
    }

    #[test]
    fn few_sure_observations_do_not_bound_the_median() {
        let seen = witnesses(&[(290, 10, 0), (290, 10, 0), (290, 10, 0), (50, 0, 8), (50, 0, 8)]);
        let with = |noise_min_sure| {
            floor(seen.iter().copied(), &wrong(9), &Thresholds { noise_min_sure, ..Thresholds::default() })
        };
        assert!(with(1) < with(101) && with(101) == 33);
    }

    #[test]
    fn operations_without_a_prior_show_noise_only_where_labels_are_shown_to_be_wrong() {
        let parameters = [(291, 9, 0), (340, 14, 0), (396, 22, 0)];
        assert_eq!([of_right(&parameters), of(&parameters)], [0, 39]);
        // Those with a prior need no other proof.
        let sure = [(95, 5, 8), (190, 10, 8), (285, 15, 8)];
        assert_eq!([of_right(&sure), of(&sure)], [50, 50]);
        // What shows no noise bounds that of a few observations with a prior.
        let few = [(14, 2, 8), (8, 0, 8), (25, 0, 8), (5, 2, 8)];
        assert_eq!([of_right(&few), of_right(&[&few[..], &[(900, 0, 0)]].concat())], [13, 0]);
    }

    /// 40 pages of four URLs each, two values of one key by two of another; the labels of some are other ones.
    fn labels(other: impl Fn(u32) -> Option<u32>, is_of_tenant: fn(u32) -> bool) -> WrongLabels {
        let label: Vec<u32> = (0..160).map(|row| other(row).unwrap_or(row / 4)).collect();
        let mut wrong = WrongLabels::default();
        let keys: [fn(u32) -> u32; 2] = [|row| row % 2, |row| row % 4 / 2];
        for (key, other) in [(keys[0], keys[1]), (keys[1], keys[0])] {
            let codes: Vec<u32> = (0..160).map(key).collect();
            // Ignoring a key joins the rows of a page that have the same value of the other one.
            let pairs = (0..160u32).map(|row| (u64::from(row / 4 * 2 + other(row)), row));
            wrong.add(&Sorter::default().group(pairs, &label), &[&codes], &label, is_of_tenant);
        }
        wrong
    }

    #[test]
    fn a_value_that_other_urls_of_the_page_have_is_not_what_makes_another_page() {
        let are_shown = |wrong: &WrongLabels| wrong.are_shown(&Thresholds::default());
        let nobody = |_: u32| false;
        // One URL of a page has a label of its own, above or below that of the page, or that of another page.
        for of_row in [|row: u32| 1_000 + row, |row: u32| u32::MAX - row, |row: u32| (row / 4 + 7) % 40] {
            let other = |row: u32| (row % 40 == 3).then(|| of_row(row));
            assert!(are_shown(&labels(other, nobody)));
            assert!(!are_shown(&labels(other, |_| true)), "tenants have no vote");
            // The row that has a value of the odd one and the label of the page; a page of its own has no others.
            let is_own = of_row(3) >= 40;
            assert_eq!(are_shown(&labels(other, |row| row % 4 == 1)), !is_own, "their copies refute nothing");
        }
        assert!(!are_shown(&labels(|_| None, nobody)));
        // One page is not enough.
        assert!(!are_shown(&labels(|row| (row == 3).then_some(1_000), nobody)));
        // One value of a key is another page, on all pages or on a tenth of them; so is it where one page has a wrong
        // label, too.
        for every in [1, 10] {
            let other = |row: u32| (row % 2 == 1 && (row / 4).is_multiple_of(every)).then_some(1_000 + row / 4);
            assert!(labels(other, nobody).refuted.is_empty());
            assert!(!are_shown(&labels(|row| if row == 23 { Some(2_000) } else { other(row) }, nobody)));
        }
    }

    #[test]
    fn all_keys_that_an_operation_changes_say_which_values_a_row_has() {
        // Of 20 pages in two spellings of two keys, two are other pages in the second spelling of the second key.
        let label: Vec<u32> = (0..40).map(|row| if row < 4 && row % 2 == 1 { 100 + row } else { row / 2 }).collect();
        let (first, second): (Vec<u32>, Vec<u32>) = (0..40u32).map(|row| (1, row)).unzip();
        let groups = Sorter::default().group((0..40u32).map(|row| (u64::from(row / 2), row)), &label);
        let refuted = |codes: &[&[u32]]| {
            let mut wrong = WrongLabels::default();
            wrong.add(&groups, codes, &label, |_| false);
            wrong.refuted.len()
        };
        assert_eq!([refuted(&[&first, &second]), refuted(&[&first])], [0, 2]);
    }

    #[test]
    fn groups_of_many_clusters_are_no_noise() {
        let is = |labels: &[u32]| {
            let identities: Vec<u64> = (0..labels.len() as u64).map(|at| at / 4).collect();
            let groups = Sorter::default().group(identities.into_iter().zip(0..), labels);
            is_of_variants(&groups, labels, Thresholds::default().noise_variants_rows)
        };
        // A wrong label, and a cluster that is split; a list that is another one in each order.
        assert!(!is(&[1, 1, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5]));
        assert!(is(&[1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 7, 8]));
        assert!(!is(&[1, 1, 2, 3, 4, 4, 4, 6, 7, 7, 7, 8]) && !is(&[1, 1, 1, 1]));
    }

    #[test]
    fn a_wrong_operation_is_no_noise_where_a_catalogue_operation_shows_none() {
        assert_eq!(of_right(&[(181, 0, 8), (287, 19, 0)]), 0);
        assert_eq!(of_right(&[(600, 0, 0), (90, 6, 0), (20, 2, 0)]), 0);
    }

    #[test]
    fn what_lies_under_one_condition_is_no_chance() {
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-9;
        assert!(near(chance(5, 5, 0.1), 1e-5) && near(chance(0, 0, 0.5), 1.0));
        // (.25 / .8)^8 (.75 / .2)^2
        assert!(near(chance(8, 10, 0.25), (0.25f64 / 0.8).powi(8) * (0.75f64 / 0.2).powi(2)));
        assert_eq!([chance(2, 10, 0.25), chance(0, 10, 0.25)], [1.0, 1.0]);
        assert!(chance(900, 1_000, 0.25) < 1e-5 && chance(9_000, 10_000, 0.25) < 1e-5);
        assert!(chance(260, 1_000, 0.25) > 0.5);
    }

    #[test]
    fn few_observations_with_a_prior_count_however_many_are_bad_by_chance() {
        assert_eq!(of_right(&[(14, 2, 8), (8, 0, 8), (25, 0, 8), (5, 2, 8)]), 13);
        // So much of them is bad that it is no chance.
        assert_eq!(of_right(&[(14, 2, 8), (8, 0, 8), (25, 0, 8), (5, 9, 8), (14, 2, 8)]), 13);
        // Without a prior the more likely cause is that the operation is wrong.
        assert_eq!(of(&[(63, 9, 0), (65, 0, 0), (63, 9, 0)]), 0);
    }

    #[test]
    fn an_operation_is_a_poor_witness_for_itself() {
        assert_eq!([of(&[(297, 3, 0)]), of(&[(294, 6, 0)]), of(&[(291, 9, 0)])], [10, 10, 10]);
        assert_eq!([of(&[(298, 2, 0)]), of(&[(290, 10, 0)]), of(&[(29, 1, 0)])], [6, 11, 0]);
        // Operations with a prior that show no noise bound it.
        assert_eq!([of(&[(685, 45, 0), (43, 0, 8)]), of(&[(685, 15, 0), (43, 0, 8)])], [20, 10]);
        // Another operation changes nothing: one of the two may vouch for the other. Two do.
        assert_eq!([of(&[(295, 5, 0), (20, 0, 0)]), of(&[(295, 5, 0), (200, 4, 0)])], [10, 10]);
        assert_eq!(of(&[(295, 5, 0), (200, 4, 0), (200, 4, 0)]), 16);
        assert_eq!(of(&[(95, 5, 0), (180, 20, 0)]), 27);
    }

    #[test]
    fn no_operation_with_a_prior_is_a_witness_for_itself() {
        assert_eq!(
            [of_right(&[(90, 8, 8)]), of_right(&[(90, 8, 8), (200, 0, 8)]), of_right(&[(90, 8, 8), (20, 0, 8)])],
            [0, 0, 0]
        );
        assert_eq!(of_right(&[(90, 8, 8), (180, 20, 8)]), 81);
    }

    #[test]
    fn noise_is_what_all_operations_show() {
        assert_eq!(of(&[(95, 5, 8), (190, 10, 0), (285, 15, 8), (60, 0, 0)]), 50);
        assert_eq!(of(&[(95, 5, 0), (180, 20, 0), (180, 20, 0)]), 100);
        assert_eq!(of(&[]), 0);
    }
}
