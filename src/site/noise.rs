//! Label noise: how often labels contradict operations that are surely right.
//!
//! Fake duplicates and split clusters look like counter-evidence to every operation alike. With right
//! labels nothing contradicts the operations that are right beforehand (catalogue operations, names
//! that say they carry a session); with one label in twenty wrong, so is one in twenty observations of
//! each. What that share [explains](super::evidence::Bound::unexplained) is not counted against an
//! operation. Operations without a prior are excluded when better evidence exists: `ignore host` with 19
//! bad of 306 on a site whose mirrors differ in a few pages is wrong, not noisy.

use super::Thresholds;
use super::conditions::{self, Choices};
use super::covering::{Covering, Table};
use super::evidence::{Groups, upper_bound_ppm};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Evidence of an operation tested on the untouched rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The first key that the operation changes.
    pub key: usize,
    /// Good observations.
    pub good: u64,
    /// Bad observations.
    pub bad: u64,
    /// The operation's prior.
    pub prior: u64,
    /// Its bad is spread over the values as noise would be ([`is_spread`]).
    pub spread: bool,
    /// Its bad has labels of other pages, as no right label has ([`are_wrong_labels`]).
    pub proven: bool,
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
    fn may_be_noise(&self, of: &Thresholds) -> bool {
        let few = self.prior > 0 && self.seen() < of.noise_min_observations;
        let luck = if few { (4 * self.bad).isqrt() } else { 0 };
        self.bad.saturating_sub(luck) * 1000 <= of.noise_max_witness_permille * self.seen()
    }

    /// True where the spread of the bad matters.
    pub fn may_be_alone(self, of: &Thresholds) -> bool {
        let share = of.noise_min_alone_permille..=of.noise_max_alone_permille;
        self.seen() >= of.noise_min_observations && share.contains(&self.permille())
    }
}

/// Noise in thousandths from the operations tested on the untouched rows.
/// The least of what they [show](shown) with each in turn left out that has a prior, or enough observations where
/// another has them, so that none is a witness for itself: `ref=` that names a revision on 15 % of the files of a
/// site would else be the noise of its labels, and all revisions be merged. Or, if more, a third of what they show
/// [together](pooled) or [prove](are_wrong_labels); that is at most the Wilson upper bound of those with a prior.
/// O(operations squared).
pub fn floor(seen: impl Iterator<Item = Witness>, thresholds: &Thresholds) -> u64 {
    let witnesses: Vec<Witness> = seen.filter(|witness| witness.may_be_noise(thresholds)).collect();
    let without = |at: usize| shown(&[&witnesses[..at], &witnesses[at + 1..]].concat(), thresholds);
    let counts = |w: &Witness| w.seen() >= thresholds.noise_min_observations;
    let several = witnesses.iter().filter(|w| counts(w)).nth(1).is_some();
    let may_decide = |&at: &usize| witnesses[at].prior > 0 || several && counts(&witnesses[at]);
    let least = (0..witnesses.len()).filter(may_decide).map(without).min();
    let least = least.unwrap_or_else(|| shown(&witnesses, thresholds));
    let (bad, seen) = sums(witnesses.iter().filter(|w| w.proven));
    let together = (bad * 1000 / seen.max(1)).max(pooled(&witnesses, thresholds)) / 3;
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

/// Share of bad in thousandths over all witnesses together, the least with each in turn left out; 0 where fewer than
/// `noise_min_pooled` have any bad, or the others have too few observations to count as one. That several operations
/// are wrong on a few pages each is less likely than that labels are. Of operations on one key, which are wrong on
/// the same pages, the one with most observations counts.
fn pooled(witnesses: &[Witness], thresholds: &Thresholds) -> u64 {
    let mut by_key: BTreeMap<usize, Witness> = BTreeMap::new();
    for &witness in witnesses {
        let of_key = by_key.entry(witness.key).or_insert(witness);
        *of_key = if witness.seen() > of_key.seen() { witness } else { *of_key };
    }
    if by_key.values().filter(|w| w.bad > 0).count() < thresholds.noise_min_pooled {
        return 0;
    }
    let all = sums(by_key.values());
    let others = by_key.values().map(|w| (all.0 - w.bad, all.1 - w.seen()));
    let share = |(bad, seen): (u64, u64)| if seen < thresholds.noise_min_observations { 0 } else { bad * 1000 / seen };
    others.map(share).min().unwrap_or(0)
}

/// Noise in thousandths that these witnesses show.
///
/// The median share of bad over the operations with at least `noise_min_observations`, weighed by
/// observations, but at most the Wilson upper bound of the operations with a prior together. Under 5 %
/// split clusters the least share is often 0 by luck, and so is the share of a few operations; the median
/// is not: compression on noisy synthetic sites was 0.92 of the oracle's with the least share, 0.94 with
/// the median. Of a small site hardly any operation has so many: there the operations with a prior count
/// together, with a third of their share of bad up to `noise_max_witness_permille`, and no more than the
/// others allow (their Wilson upper bound). With the whole share one wrong label of 9,040 let a form pass
/// that is wrong on 6 % of its pages. Without operations with a prior the median alone counts. An operation
/// without a prior that is the only one with `noise_min_observations` is weak evidence for itself (`ignore
/// sort=`, contradicted on 8 pages of 60, would be kept at a pair fpr of 0.044): it counts only up to
/// `noise_max_alone_permille`, only where its bad is spread over the values, and with a third, so that it
/// allows what it shows, not three times that.
fn shown(witnesses: &[Witness], thresholds: &Thresholds) -> u64 {
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
    let alone = |w: &Witness| match w.prior {
        0 if !w.spread || !w.may_be_alone(thresholds) => 0,
        0 => (w.permille() / 3).max(thresholds.noise_min_alone_permille),
        _ => w.permille(),
    };
    let median = match &many[..] {
        [only] => alone(only),
        _ => rates.iter().find(&mut reached).map_or(0, |r| r.0),
    };
    if sure.1 < thresholds.noise_min_sure {
        return median;
    }
    let met = sums(many.iter());
    let of_all = (sure.0 * 1000 / sure.1).min(bound(met)).min(thresholds.noise_max_witness_permille) / 3;
    median.min(bound(sure)).max(of_all)
}

/// Good and bad of an operation where its bad is noise: outside the condition on another key that holds
/// most of the bad, where there is one. The condition holds bad of at least `min_clusters` clusters.
pub fn unlocated(covering: &Covering, table: &Table, conditions: &[Choices]) -> (u64, u64) {
    let Covering { columns, thresholds, .. } = covering;
    let (good, bad) = table.groups.totals();
    if bad < thresholds.min_clusters as u64 {
        return (good, bad);
    }
    let others = conditions.iter().filter(|choices| !table.keys.contains(&choices.key));
    let totals = others.flat_map(|choices| {
        conditions::totals(columns, table, choices, |_| true).into_iter().map(|found| (choices.key, found))
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

/// True where most groups of four rows or more that are not pure hold rows of two other clusters or more: a
/// wrong label hits one URL of a page and a split cluster makes one other, but where the operation is wrong
/// each variant of a page is a cluster.
pub fn is_of_variants(groups: &Groups, label: &[u32]) -> bool {
    let (mut several, mut mixed) = (0, 0);
    for group in (0..groups.len()).filter(|&group| groups.bad[group] > 0 && groups.members(group).len() > 3) {
        let labels = groups.members(group).iter().map(|&row| label[row as usize]);
        let others: BTreeSet<u32> = labels.filter(|&label| label != groups.majority[group]).collect();
        (several, mixed) = (several + usize::from(others.len() > 1), mixed + 1);
    }
    several * 2 > mixed
}

/// True where what is bad are wrong labels, be the operation right or not: of the impure groups of four rows or
/// more nearly all have at most a quarter of their rows outside the largest cluster, and enough of these rows
/// have the label of another group of which two rows or more share it, nearly each of another: a login that shows
/// itself in place of many pages is one. A page that a parameter turns into another is alone in its cluster, or
/// the most of its group are such. To be asked where the bad [is spread](is_spread) over values that [repeat](repeats):
/// `goto=next` shows another page wherever it stands.
pub fn are_wrong_labels(groups: &Groups, label: &[u32], thresholds: &Thresholds) -> bool {
    let with_good = (0..groups.len()).filter(|&group| groups.good[group] > 0);
    let pages: BTreeSet<u32> = with_good.map(|group| groups.majority[group]).collect();
    let (mut impure, mut mostly_pure, mut outside, mut foreign) = (0u64, 0u64, 0u64, 0u64);
    let mut of_pages: BTreeSet<u32> = BTreeSet::new();
    for group in (0..groups.len()).filter(|&group| groups.bad[group] > 0 && groups.members(group).len() > 3) {
        impure += 1;
        if groups.bad[group] as usize * 4 > groups.members(group).len() {
            continue;
        }
        mostly_pure += 1;
        outside += u64::from(groups.bad[group]);
        let labels = groups.members(group).iter().map(|&row| label[row as usize]);
        for label in labels.filter(|label| *label != groups.majority[group] && pages.contains(label)) {
            foreign += 1;
            of_pages.insert(label);
        }
    }
    mostly_pure * 100 >= thresholds.noise_min_pure_percent * impure
        && foreign >= thresholds.noise_min_foreign
        && foreign * 100 >= thresholds.noise_min_foreign_percent * outside
        && of_pages.len() as u64 * 2 > foreign
}

/// True where the rows of these groups have each value of a key twice or more on average: of values met once each
/// nothing says whether what is bad [is spread](is_spread) over them, and the number of a post leads to another page
/// of its topic.
pub fn repeats(groups: &Groups, codes: &[u32]) -> bool {
    let values: BTreeSet<u32> = groups.rows.iter().map(|&row| codes[row as usize]).collect();
    values.len() * 2 <= groups.rows.len()
}

/// True where the rows outside the largest clusters of their groups have the values of a key about as
/// often as all rows of the groups: no value has more of them than `noise_spread` standard deviations, and
/// one, above its share. Labels that are wrong at random hit every value; a value that is another page is
/// hit alone. `codes` and `label` are by row.
pub fn is_spread(groups: &Groups, codes: &[u32], label: &[u32], thresholds: &Thresholds) -> bool {
    let mut by_value: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let (mut all, mut bad) = (0u64, 0u64);
    for (&row, &group) in groups.rows.iter().zip(&groups.group) {
        let outside = u64::from(label[row as usize] != groups.majority[group as usize]);
        let value = by_value.entry(codes[row as usize]).or_default();
        *value = (value.0 + 1, value.1 + outside);
        (all, bad) = (all + 1, bad + outside);
    }
    by_value.values().all(|&(rows, outside)| {
        let share = rows as f64 / all.max(1) as f64;
        let mean = bad as f64 * share;
        outside as f64 <= mean + thresholds.noise_spread * (mean * (1.0 - share)).sqrt() + 1.0
    })
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Sorter;
    use super::{Thresholds, Witness, are_wrong_labels, chance, floor, is_of_variants, is_spread};

    fn of(seen: &[(u64, u64, u64)]) -> u64 {
        let seen = seen.iter().enumerate().map(|(key, &(good, bad, prior))| {
            let (spread, proven) = (true, false);
            Witness { key, good, bad, prior, spread, proven }
        });
        floor(seen, &Thresholds::default())
    }

    #[test]
    fn few_sure_observations_do_not_bound_the_median() {
        let witness = |good, bad, prior| Witness { key: 0, good, bad, prior, spread: true, proven: false };
        let many = [witness(290, 10, 0); 3];
        let seen = many.into_iter().chain([witness(50, 0, 8); 2]);
        let with = |least| floor(seen.clone(), &Thresholds { noise_min_sure: least, ..Thresholds::default() });
        assert!(with(1) < with(101) && with(101) == 33);
    }

    #[test]
    fn labels_of_other_pages_among_those_of_one_are_wrong() {
        // 20 pages of four URLs each; of the first pages the last URL has another label.
        let are = |others: &dyn Fn(u32) -> u32, of: u32| {
            let label: Vec<u32> =
                (0..80).map(|row| if row % 4 == 3 && row / 4 < of { others(row / 4) } else { row / 4 }).collect();
            let groups = Sorter::default().group((0..80u64).map(|row| row / 4).zip(0..), &label);
            are_wrong_labels(&groups, &label, &Thresholds::default())
        };
        assert!(are(&|page| page + 10, 5) && !are(&|page| page + 10, 4));
        // Pages that nobody else shows, and one that shows itself in place of many.
        assert!(!are(&|page| page + 100, 10) && !are(&|_| 19, 10));
        // One of five such pages at least.
        assert!(are(&|page| if page < 5 { page + 10 } else { page + 100 }, 15));
        assert!(!are(&|page| if page < 4 { page + 10 } else { page + 100 }, 20));
        // Of pages whose variants are pages of their own no row says anything.
        let label: Vec<u32> = (0..80).map(|row| if row % 4 > 1 { (row / 4 + row % 4) % 20 } else { row / 4 }).collect();
        let groups = Sorter::default().group((0..80u64).map(|row| row / 4).zip(0..), &label);
        assert!(!are_wrong_labels(&groups, &label, &Thresholds::default()));
    }

    #[test]
    fn several_operations_with_a_few_bad_show_noise_together() {
        // A third of the share without the one that has most of it.
        assert_eq!(of(&[(50, 3, 0), (29, 3, 0), (50, 2, 0)]), 15);
        assert_eq!([of(&[(50, 3, 0), (29, 3, 0), (50, 0, 0)]), of(&[(50, 3, 0)])], [0, 0]);
        // No more than operations with a prior can have missed.
        assert_eq!(of(&[(50, 3, 0), (29, 3, 0), (50, 2, 0), (400, 0, 8)]), 3);
        // Three of thirty observations are chance, and three functions of one key one operation.
        assert_eq!(of(&[(10, 1, 0), (10, 1, 0), (10, 1, 0)]), 0);
        let (spread, proven) = (true, false);
        let of_one = [Witness { key: 7, good: 50, bad: 3, prior: 0, spread, proven }; 3];
        assert_eq!(floor(of_one.into_iter(), &Thresholds::default()), 0);
    }

    #[test]
    fn proven_noise_needs_no_other_operation() {
        let alone = |proven| {
            floor(
                [Witness { key: 0, good: 930, bad: 70, prior: 0, spread: true, proven }].into_iter(),
                &Thresholds::default(),
            )
        };
        assert_eq!([alone(true), alone(false)], [23, 0]);
    }

    #[test]
    fn groups_of_many_clusters_are_no_noise() {
        let is = |labels: &[u32]| {
            let identities: Vec<u64> = (0..labels.len() as u64).map(|at| at / 4).collect();
            let groups = Sorter::default().group(identities.into_iter().zip(0..), labels);
            is_of_variants(&groups, labels)
        };
        // A wrong label, and a cluster that is split; a list that is another one in each order.
        assert!(!is(&[1, 1, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5]));
        assert!(is(&[1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 7, 8]));
        assert!(!is(&[1, 1, 2, 3, 4, 4, 4, 6, 7, 7, 7, 8]) && !is(&[1, 1, 1, 1]));
    }

    #[test]
    fn a_wrong_operation_is_no_noise_where_a_catalogue_operation_shows_none() {
        assert_eq!(of(&[(181, 0, 8), (287, 19, 0)]), 0);
        assert_eq!(of(&[(600, 0, 0), (90, 6, 0), (20, 2, 0)]), 0);
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
        assert_eq!(of(&[(14, 2, 8), (8, 0, 8), (25, 0, 8), (5, 2, 8)]), 13);
        // So much of them is bad that it is no chance.
        assert_eq!(of(&[(14, 2, 8), (8, 0, 8), (25, 0, 8), (5, 9, 8), (14, 2, 8)]), 13);
        // Without a prior the more likely cause is that the operation is wrong.
        let of_two = |of_each| of(&[of_each, (65, 0, 0), of_each]);
        assert_eq!([of_two((63, 9, 0)), of_two((66, 6, 0))], [0, 83]);
    }

    #[test]
    fn an_operation_is_a_poor_witness_for_itself() {
        assert_eq!([of(&[(297, 3, 0)]), of(&[(294, 6, 0)]), of(&[(291, 9, 0)])], [10, 10, 10]);
        assert_eq!([of(&[(298, 2, 0)]), of(&[(290, 10, 0)]), of(&[(29, 1, 0)])], [0, 0, 0]);
        let alone = [Witness { key: 0, good: 294, bad: 6, prior: 0, spread: false, proven: false }];
        assert_eq!(floor(alone.into_iter(), &Thresholds::default()), 0);
        // Operations with a prior that show no noise do not make it a better one.
        assert_eq!([of(&[(685, 45, 0), (43, 0, 8)]), of(&[(685, 15, 0), (43, 0, 8)])], [0, 10]);
        // Another operation changes nothing: one of the two may vouch for the other. Two do.
        assert_eq!([of(&[(295, 5, 0), (20, 0, 0)]), of(&[(295, 5, 0), (200, 4, 0)])], [10, 10]);
        assert_eq!(of(&[(295, 5, 0), (200, 4, 0), (200, 4, 0)]), 16);
        assert_eq!(of(&[(95, 5, 0), (180, 20, 0)]), 0);
    }

    #[test]
    fn no_operation_with_a_prior_is_a_witness_for_itself() {
        assert_eq!([of(&[(90, 8, 8)]), of(&[(90, 8, 8), (200, 0, 8)]), of(&[(90, 8, 8), (20, 0, 8)])], [0, 0, 0]);
        assert_eq!(of(&[(90, 8, 8), (180, 20, 8)]), 81);
    }

    #[test]
    fn noise_is_what_all_operations_show() {
        assert_eq!(of(&[(95, 5, 8), (190, 10, 0), (285, 15, 8), (60, 0, 0)]), 50);
        assert_eq!(of(&[(95, 5, 0), (180, 20, 0), (180, 20, 0)]), 100);
        assert_eq!(of(&[]), 0);
    }

    #[test]
    fn a_value_that_is_another_page_is_not_spread() {
        // 60 pages of 6 values; of the first pages one URL has a label of its own: always the last value, or
        // any.
        let pages_by = |contradicting: u32, value: &dyn Fn(u32) -> u32, noise_spread: f64| {
            let rows = 0..360u32;
            let label: Vec<u32> = rows
                .clone()
                .map(|r| if r / 6 < contradicting && r % 6 == value(r / 6) { 1000 + r } else { r / 6 })
                .collect();
            let codes: Vec<u32> = rows.clone().map(|r| r % 6).collect();
            let groups = Sorter::default().group(rows.map(|r| (u64::from(r / 6) << 20, r)), &label);
            is_spread(&groups, &codes, &label, &Thresholds { noise_spread, ..Thresholds::default() })
        };
        let pages = |contradicting: u32, value: &dyn Fn(u32) -> u32| pages_by(contradicting, value, 3.0);
        assert!(!pages(5, &|_| 5) && !pages(8, &|_| 5));
        assert!(pages(8, &|page| page * 5 % 6) && pages(0, &|_| 0));
        assert!(pages_by(8, &|_| 5, 10.0));
    }
}
