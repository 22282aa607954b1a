//! Evidence for a proposed identity of rows, and the test it must pass.
//!
//! Per group of m distinct rows that would fall together: good = size of its largest cluster - 1, bad =
//! m - size of its largest cluster. Per-pair figures (WWW10 eq. 3) are reported, not decided on: one
//! right cluster of 300 URLs hides 66 wrong merges at a pair fpr of 0.048.

use super::Thresholds;

/// A test on counts of good and bad: the Wilson upper bound of bad / (good + bad + prior) at most
/// `bound`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Highest share of bad, in thousandths.
    pub permille: u64,
    /// z of the Wilson bound, in halves: 2 is z = 1.
    pub half_z: u64,
    /// Highest share of the bad that noise leaves unexplained among it and the good, in thousandths.
    pub raw_permille: u64,
    /// Good observations that a rule needs.
    pub min_good: u64,
    /// Clusters that must support a rule.
    pub min_clusters: usize,
    /// Parts of the good of a rule of which one cluster counts for one at most.
    pub support_parts: u64,
    /// Good observations of a constant page, from one cluster.
    pub min_constant: u64,
    /// Factor of the label noise in [`allowing`](Self::allowing).
    pub noise_factor: u64,
    /// Share of the observations that noise makes bad, in thousandths.
    pub noise_permille: u64,
    /// Standard deviations above its mean up to which noise explains what is bad: of all operations, and of those of
    /// the catalogue.
    pub noise_deviations: [u64; 2],
    /// Share of bad beyond which noise explains nothing, in thousandths.
    pub noise_max_explained_permille: u64,
    /// Prior of the operations of the catalogue.
    pub prior_sure: u64,
}

impl Bound {
    /// The bound of operations on keys.
    pub fn operation(of: &Thresholds) -> Bound {
        Bound::of(of, [of.operation_permille, of.operation_half_z, of.operation_raw_permille])
    }

    /// The bound of rules between forms, and of mirrors.
    pub fn form(of: &Thresholds) -> Bound {
        Bound::of(of, [of.form_permille, of.form_half_z, of.form_raw_permille])
    }

    /// The bound of value classes.
    pub fn classes(of: &Thresholds) -> Bound {
        Bound::of(of, [of.classes_permille, of.classes_half_z, of.classes_raw_permille])
    }

    /// The bound of predictions of value ranges.
    pub fn value_range(of: &Thresholds) -> Bound {
        Bound::of(of, [of.span_permille, of.span_half_z, of.span_raw_permille])
    }

    /// The bound of predictions of value ranges in a group of many clusters.
    pub fn value_range_of_many(of: &Thresholds) -> Bound {
        Bound::of(of, [of.span_many_permille, of.span_many_half_z, of.span_many_raw_permille])
    }

    fn of(of: &Thresholds, [permille, half_z, raw_permille]: [u64; 3]) -> Bound {
        let &Thresholds { min_good, min_clusters, support_parts, min_constant, noise_factor, .. } = of;
        let noise_deviations = [of.noise_deviations, of.noise_deviations_sure];
        Bound {
            permille,
            half_z,
            raw_permille,
            min_good,
            min_clusters,
            support_parts,
            min_constant,
            noise_factor,
            noise_permille: 0,
            noise_deviations,
            noise_max_explained_permille: of.noise_max_explained_permille,
            prior_sure: of.prior,
        }
    }

    /// The bound where labels are wrong in `noise` thousandths of what even the best operation joins: what that
    /// much, times `noise_factor`, [explains](Self::unexplained) is not counted.
    pub fn allowing(self, noise: u64) -> Bound {
        Bound { noise_permille: self.noise_factor * noise, ..self }
    }

    /// What is bad beyond what the noise of the labels explains: its mean and some standard deviations of a
    /// Poisson variable, more for operations of the catalogue (`prior`). Of ten observations of a tracking parameter
    /// two are bad now and then where 3 % are on average; without a prior two of ten rather say that it matters. A
    /// larger share than `noise_max_explained_permille` is no noise.
    pub fn unexplained(&self, good: u64, bad: u64, prior: u64) -> u64 {
        if !self.may_be_noise(good, bad) {
            return bad;
        }
        let seen = u128::from(good) + u128::from(bad);
        let mean = seen * u128::from(self.noise_permille);
        let is_sure = prior > 0 && prior >= self.prior_sure;
        let deviations = u128::from(self.noise_deviations[usize::from(is_sure)]);
        let explained = (mean + deviations * (mean * 1_000).isqrt()) / 1_000;
        u128::from(bad).saturating_sub(explained) as u64
    }

    /// True where the share of bad is at most `noise_max_explained_permille`: a larger one is no noise.
    pub fn may_be_noise(&self, good: u64, bad: u64) -> bool {
        let seen = u128::from(good) + u128::from(bad);
        u128::from(bad) * 1_000 <= u128::from(self.noise_max_explained_permille) * seen
    }

    /// Good observations without bad ones that an operation with this prior needs at least: those that the prior has
    /// beyond that of the catalogue are had already.
    pub fn least_good(&self, prior: u64) -> u64 {
        self.min_good.saturating_sub(prior.saturating_sub(self.prior_sure)).max(1)
    }

    /// Clusters that an operation with this prior needs at least, as [`least_good`](Self::least_good) counts.
    pub fn least_clusters(&self, prior: u64) -> usize {
        self.min_clusters.saturating_sub(prior.saturating_sub(self.prior_sure) as usize).max(1)
    }

    /// True if good is at least [`least_good`](Self::least_good), the share of bad is [allowed](Self::allows), and what
    /// noise leaves [unexplained](Self::unexplained) of it passes [`wilson`](Self::wilson).
    pub fn holds(&self, good: u64, bad: u64, prior: u64) -> bool {
        good >= self.least_good(prior)
            && self.allows(good, bad, prior)
            && self.wilson(good, self.unexplained(good, bad, prior), prior)
    }

    /// Whether the good of each supporting cluster, besides `bad`, is support for a rule: see
    /// [`Groups::accepted`].
    fn supported(&self, clusters: &[u64], bad: u64, prior: u64) -> bool {
        if clusters.len() < self.least_clusters(prior) {
            return bad == 0 && are_constant(clusters, self.min_constant);
        }
        self.holds(self.capped(clusters), bad, prior)
    }

    /// The good of clusters, of which none counts for more than one of [`support_parts`](Self::support_parts).
    pub fn capped(&self, clusters: &[u64]) -> u64 {
        let most = clusters.iter().sum::<u64>().div_ceil(self.support_parts);
        clusters.iter().map(|&good| good.min(most)).sum()
    }

    /// True if what noise leaves [unexplained](Self::unexplained) of the bad is at most `raw_permille` of it and the
    /// good.
    pub fn allows(&self, good: u64, bad: u64, prior: u64) -> bool {
        let bad = self.unexplained(good, bad, prior);
        u128::from(bad) * 1000 <= u128::from(self.raw_permille) * (u128::from(good) + u128::from(bad))
    }

    /// True if the Wilson bound holds, in integers: bad <= n p and (bad - n p)^2 >= z^2 n p (1 - p), n =
    /// good + bad + prior > 0. For sums up to 2^50.
    pub fn wilson(&self, good: u64, bad: u64, prior: u64) -> bool {
        let n = u128::from(good) + u128::from(bad) + u128::from(prior);
        let (bad_m, np) = (u128::from(bad) * 1000, n * u128::from(self.permille));
        n > 0
            && bad_m <= np
            && 4 * (np - bad_m).pow(2) >= u128::from(self.half_z).pow(2) * np * u128::from(1000 - self.permille)
    }
}

/// True where each of these sums, at least `least`, proves a constant page of its own.
fn are_constant(clusters: &[u64], least: u64) -> bool {
    !clusters.is_empty() && clusters.iter().all(|&good| good >= least)
}

/// Sums of good by cluster.
fn by_cluster(mut pairs: Vec<(u32, u32)>) -> Vec<u64> {
    pairs.sort_unstable();
    pairs.chunk_by(|a, b| a.0 == b.0).map(|run| run.iter().map(|p| u64::from(p.1)).sum()).collect()
}

/// Wilson upper bound of bad / n in millionths (z = 1), for the evidence that rule files record.
pub fn upper_bound_ppm(bad: u64, n: u64) -> u32 {
    if n == 0 {
        return 1_000_000;
    }
    let (p, n) = (bad as f64 / n as f64, n as f64);
    let bound = (p + 0.5 / n + (p * (1.0 - p) / n + 0.25 / (n * n)).sqrt()) / (1.0 + 1.0 / n);
    (bound * 1e6).round().min(1e6) as u32
}

/// Groups of at least two rows that a proposed identity would join.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// Member rows, group by group, by rising row within a group.
    pub rows: Vec<u32>,
    /// Group of each member.
    pub group: Vec<u32>,
    /// End of each group in `rows`.
    pub ends: Vec<u32>,
    /// Size of the largest cluster - 1, a group.
    pub good: Vec<u32>,
    /// Rows outside the largest cluster, a group.
    pub bad: Vec<u32>,
    /// The largest cluster of a group; ties go to the smaller label.
    pub majority: Vec<u32>,
}

/// Scratch for building [`Groups`], reused from test to test.
#[derive(Clone, Debug, Default)]
pub struct Sorter {
    /// Never shrinks; each user tracks its valid part.
    pairs: Vec<(u64, u32)>,
    bits: Vec<u64>,
    labels: Vec<u32>,
}

impl Sorter {
    /// Groups `rows` by their new identity.
    ///
    /// Two linear passes over a table of two bits a slot leave only rows whose identity may come twice;
    /// only those are sorted.
    pub fn group(&mut self, identities: impl Iterator<Item = (u64, u32)> + Clone, label: &[u32]) -> Groups {
        let rows = identities.size_hint().1.unwrap_or(0).max(64);
        let words = (rows / 8).next_power_of_two();
        self.bits.clear();
        self.bits.resize(words, 0);
        // Low half of a word: the identity came once; high half: it came again.
        let slot = |hash: u64| ((hash >> 12) as usize & (words - 1), (hash >> 7) as u32 & 31);
        for (hash, _) in identities.clone() {
            let (word, at) = slot(hash);
            let seen = self.bits[word];
            self.bits[word] = seen | 1 << at | (seen >> at & 1) << (at + 32);
        }
        // Written unconditionally: a branch would be mispredicted for every other row.
        let mut found = 0;
        for pair in identities {
            if found == self.pairs.len() {
                self.pairs.push(pair);
            }
            self.pairs[found] = pair;
            let (word, at) = slot(pair.0);
            found += (self.bits[word] >> (at + 32) & 1) as usize;
        }
        let pairs = &mut self.pairs[..found];
        pairs.sort_unstable();
        let mut out = Groups::default();
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            if group.len() < 2 {
                continue;
            }
            let index = out.ends.len() as u32;
            out.rows.extend(group.iter().map(|g| g.1));
            out.group.extend(std::iter::repeat_n(index, group.len()));
            out.ends.push(out.rows.len() as u32);
            self.labels.clear();
            self.labels.extend(group.iter().map(|g| label[g.1 as usize]));
            let (size, majority) = largest(&mut self.labels);
            out.good.push(size - 1);
            out.bad.push(group.len() as u32 - size);
            out.majority.push(majority);
        }
        out
    }
}

/// Size and label of the largest cluster among `labels` (sorted in place); ties go to the smaller
/// label.
fn largest(labels: &mut [u32]) -> (u32, u32) {
    if let [a, b] = *labels {
        return (1 + u32::from(a == b), a.min(b));
    }
    labels.sort_unstable();
    let mut best = (0, 0);
    for run in labels.chunk_by(|a, b| a == b) {
        if run.len() as u32 > best.0 {
            best = (run.len() as u32, run[0]);
        }
    }
    best
}

impl Groups {
    /// Number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without any group.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Sums of good and bad.
    pub fn totals(&self) -> (u64, u64) {
        (self.good.iter().map(|&g| u64::from(g)).sum(), self.bad.iter().map(|&b| u64::from(b)).sum())
    }

    /// First member of a group.
    pub fn first(&self, group: usize) -> u32 {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        self.rows[start as usize]
    }

    /// Members of a group.
    pub fn members(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.rows[start as usize..self.ends[group] as usize]
    }

    /// Good observations by the label they come from, largest first.
    fn by_cluster(&self) -> Vec<u64> {
        by_cluster(self.majority.iter().copied().zip(self.good.iter().copied()).filter(|p| p.1 > 0).collect())
    }

    /// Clusters that support the identity.
    pub fn clusters(&self) -> u64 {
        self.by_cluster().len() as u64
    }

    /// The clusters of all good observations of a part, sorted, where these are under `least`: too few to
    /// support a rule except as constant pages.
    pub fn pages(&self, part: impl Iterator<Item = u32>, least: usize) -> Option<Vec<u32>> {
        let mut pages = Vec::new();
        for group in part.filter(|&group| self.good[group as usize] > 0) {
            let page = self.majority[group as usize];
            if let Err(at) = pages.binary_search(&page) {
                if pages.len() + 1 == least {
                    return None;
                }
                pages.insert(at, page);
            }
        }
        Some(pages)
    }

    /// True where each supporting cluster, with at least `least` good observations, proves a constant page
    /// of its own.
    pub fn are_constant_pages(&self, least: u64) -> bool {
        are_constant(&self.by_cluster(), least)
    }

    /// True if the bound holds and either [enough](Bound::least_clusters) clusters support the rule, none counting
    /// for more than a third of it, or the groups are constant pages.
    pub fn accepted(&self, bound: Bound, prior: u64) -> bool {
        let (good, bad) = self.totals();
        bound.holds(good, bad, prior) && bound.supported(&self.by_cluster(), bad, prior)
    }

    /// True if the part of this table in the groups of `part`, with its `bad`, would be
    /// [`accepted`](Self::accepted).
    pub fn part_accepted(&self, part: impl Iterator<Item = u32>, bad: u64, bound: Bound, prior: u64) -> bool {
        let of = |group: u32| (self.majority[group as usize], self.good[group as usize]);
        let clusters = by_cluster(part.map(of).filter(|p| p.1 > 0).collect());
        bound.holds(clusters.iter().sum(), bad, prior) && bound.supported(&clusters, bad, prior)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Bound {
        Bound { raw_permille: 1000, ..Bound::operation(&Thresholds::default()) }
    }

    #[test]
    fn nine_good_without_a_bad_one_twenty_four_with_one_thirty_seven_with_two() {
        let least = |bad, prior| (0..).find(|&good| plain().holds(good, bad, prior)).expect("some count passes");
        assert_eq!([least(0, 0), least(1, 0), least(2, 0)], [9, 24, 37]);
        assert_eq!([least(0, 8), least(1, 8)], [3, 16]);
        assert!(!plain().wilson(0, 0, 0));
        assert!(plain().wilson(1 << 50, 1 << 45, 0) && !plain().wilson(1 << 45, 1 << 50, 0));
    }

    #[test]
    fn the_integer_test_is_the_formula() {
        for good in 0..400u64 {
            for bad in 0..60u64 {
                let n = (good + bad) as f64;
                for (half_z, z) in [(2, 1.0f64), (1, 0.5)] {
                    let (d, s) = (bad as f64 - n * 0.1, z * z * n * 0.09);
                    if (d * d - s).abs() > 1e-6 {
                        let bound = Bound { half_z, ..plain() };
                        assert_eq!(bound.wilson(good, bad, 0), d <= 0.0 && d * d >= s, "{good} {bad} {z}");
                    }
                }
            }
        }
    }

    #[test]
    fn noise_explains_its_mean_and_some_deviations() {
        // Labels wrong in one of a hundred make three of a hundred observations bad.
        let noisy = plain().allowing(10);
        let unexplained = |good, bad| [0, 8].map(|prior| noisy.unexplained(good, bad, prior));
        assert_eq!([unexplained(12, 2), unexplained(11, 3), unexplained(67, 5)], [[1, 0], [2, 1], [2, 0]]);
        assert_eq!([unexplained(970, 30), unexplained(920, 80)], [[0, 0], [45, 34]]);
        assert_eq!([plain().unexplained(12, 2, 8), plain().allowing(0).unexplained(12, 2, 0)], [2, 2]);
        // Nothing overflows: .44 of all is left.
        assert!(noisy.unexplained(u64::MAX / 2, u64::MAX / 2, 8) > u64::MAX / 100 * 44);
        let holds = |good, bad| [plain(), noisy].map(|bound| [0, 8].map(|prior| bound.holds(good, bad, prior)));
        assert_eq!(holds(67, 7), [[false, false], [true, true]]);
        assert_eq!(holds(20, 2), [[false, false], [false, true]]);
        // The allowance of the catalogue is not for smaller priors.
        assert_eq!([noisy.unexplained(12, 2, 4), noisy.unexplained(12, 2, 8)], [1, 0]);
        // A quarter is no noise, however noisy the labels are and however few the observations.
        let noisiest = plain().allowing(100);
        let few = [(0, 1), (1, 2), (2, 3), (3, 3), (5, 5), (40, 20), (3, 1), (6, 2), (7, 2)];
        let left = few.map(|(good, bad)| noisiest.unexplained(good, bad, 8));
        assert_eq!(left, [1, 2, 3, 3, 5, 20, 0, 0, 0]);
    }

    #[test]
    fn the_upper_bound_is_wilsons() {
        // n = 10, bad = 1, z = 1: (0.1 + 0.05 + sqrt(0.009 + 0.0025)) / 1.1 = 0.233853
        assert_eq!(upper_bound_ppm(1, 10), 233_853);
        assert_eq!(upper_bound_ppm(0, 0), 1_000_000);
    }

    #[test]
    fn groups_count_their_largest_cluster() {
        let identities = [7u64, 7, 8, 7, 9, 9, 10];
        let label = [1, 1, 5, 2, 3, 4, 6];
        let groups = Sorter::default().group(identities.into_iter().zip(0..), &label);
        assert_eq!(groups.rows, [0, 1, 3, 4, 5]);
        assert_eq!((groups.good.as_slice(), groups.bad.as_slice()), (&[1, 0][..], &[1, 1][..]));
        assert_eq!(groups.majority, [1, 3]);
        assert_eq!(groups.totals(), (1, 2));
    }

    #[test]
    fn one_cluster_is_no_support_unless_it_is_a_constant_page() {
        let one = |rows: u32, label: &dyn Fn(u32) -> u32| {
            let labels: Vec<u32> = (0..rows).map(label).collect();
            Sorter::default().group((0..rows).map(|r| (1, r)), &labels)
        };
        assert!(one(10, &|_| 4).accepted(plain(), 0));
        assert!(!one(9, &|_| 4).accepted(plain(), 0));
        assert!(!one(40, &|r| u32::from(r == 0)).accepted(plain(), 0));
    }
}
