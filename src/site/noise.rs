//! Label noise (design, section 4.4): how often labels contradict what is surely right.
//!
//! Fake duplicates and split clusters look like counter-evidence to every operation alike. Where labels are right, what
//! is right beforehand (catalogue operations, names that say they carry a session) is contradicted by nothing; where they
//! are wrong in every twentieth case, so is all of it. The caps on the raw share of bad rise by what is seen there.
//! Operations without a prior are no witness where there are others: `ignore host` with 19 bad of 306 on a site whose
//! mirrors differ in a few pages is wrong, not noisy.

use super::evidence::upper_bound_ppm;

/// Observations that an operation needs to count for the median.
const MIN_OBSERVATIONS: u64 = 60;
/// Observations that operations with a prior need together.
const MIN_SURE: u64 = 30;
/// Share of bad beyond which an operation is wrong and no witness, in thousandths.
const MAX_WITNESS: u64 = 100;

/// Noise in thousandths from the operations `(good, bad, prior)` tested on the untouched rows.
///
/// The median share of bad over the operations with at least [`MIN_OBSERVATIONS`], weighed by observations, but no more
/// than the Wilson upper bound of what operations with a prior show together. Under 5 % split clusters the least share is
/// often 0 by luck, and so is the share of a few operations; the median is not: compression on noisy synthetic sites was
/// 0.92 of the oracle's with the least share, 0.94 with the median. Without operations with a prior the median speaks
/// alone. A single operation is no witness for itself: a rule that nothing else vouches for would excuse whatever it does
/// wrong (`ignore sort=`, contradicted on 8 pages of 60, was kept at a pair fpr of 0.044).
pub fn floor(seen: impl Iterator<Item = (u64, u64, u64)>) -> u64 {
    let witnesses: Vec<(u64, u64, u64)> =
        seen.filter(|(good, bad, _)| bad * 1000 <= MAX_WITNESS * (good + bad)).collect();
    let sure = witnesses.iter().filter(|w| w.2 > 0).fold((0, 0), |sum, w| (sum.0 + w.0, sum.1 + w.1));
    let mut rates: Vec<(u64, u64)> = witnesses
        .iter()
        .map(|&(good, bad, _)| (good + bad, bad))
        .filter(|&(all, _)| all >= MIN_OBSERVATIONS)
        .map(|(all, bad)| (bad * 1000 / all, all))
        .collect();
    let any_sure = sure.0 + sure.1 >= MIN_SURE;
    if rates.len() < 2 && !any_sure {
        return 0;
    }
    rates.sort_unstable();
    let half = rates.iter().map(|r| r.1).sum::<u64>() / 2;
    let mut below = 0;
    let mut reached = |r: &&(u64, u64)| {
        below += r.1;
        below >= half
    };
    let median = rates.iter().find(&mut reached).map_or(0, |r| r.0);
    if any_sure { median.min(u64::from(upper_bound_ppm(sure.1, sure.0 + sure.1)).div_ceil(1000)) } else { median }
}

#[cfg(test)]
mod tests {
    use super::floor;

    #[test]
    fn a_wrong_operation_is_no_noise_where_a_catalogue_operation_shows_none() {
        assert_eq!(floor([(181, 0, 8), (287, 19, 0)].into_iter()), 6);
        assert_eq!(floor([(600, 0, 0), (90, 6, 0), (20, 2, 0)].into_iter()), 0);
    }

    #[test]
    fn an_operation_is_no_witness_for_itself() {
        assert_eq!(floor([(295, 5, 0)].into_iter()), 0);
        assert_eq!(floor([(295, 5, 0), (20, 0, 0)].into_iter()), 0);
        assert_eq!(floor([(295, 5, 0), (200, 4, 0)].into_iter()), 16);
    }

    #[test]
    fn noise_is_what_all_operations_show() {
        assert_eq!(floor([(95, 5, 8), (190, 10, 0), (60, 0, 0)].into_iter()), 50);
        assert_eq!(floor([(95, 5, 0), (180, 20, 0)].into_iter()), 100);
        assert_eq!(floor(std::iter::empty()), 0);
    }
}
