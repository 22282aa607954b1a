//! Ratio of two sums over clusters, with bounds by the jackknife over clusters.

use serde::{Deserialize, Serialize};

/// Standard errors on either side of an interval of 95 %.
const Z: f64 = 1.96;

/// Sums over independent units (clusters) of a part and the whole that it is of.
///
/// The variance is that of the infinitesimal jackknife (Jaeckel 1972) for a ratio `r` of sums over `J`
/// units: `J / (J - 1) * sum (part - r whole)^2 / (sum whole)^2`. It needs sums of squares alone, so
/// that sites add up. Integers: the same units give the same sums in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratio {
    /// Units with anything in the whole.
    pub units: u64,
    part: u128,
    whole: u128,
    part_part: u128,
    part_whole: u128,
    whole_whole: u128,
}

impl Ratio {
    /// Weight of one URL: the least number that 2 to 20 divide, so that parts of small groups are exact.
    pub const UNIT: u64 = 232_792_560;

    /// Adds one unit, in parts of [`UNIT`](Self::UNIT); one with nothing in the whole is no unit.
    pub fn push(&mut self, part: u64, whole: u64) {
        if whole == 0 {
            return;
        }
        let (part, whole) = (u128::from(part), u128::from(whole));
        self.units += 1;
        self.part += part;
        self.whole += whole;
        self.part_part += part * part;
        self.part_whole += part * whole;
        self.whole_whole += whole * whole;
    }

    /// Adds the sums of other units.
    pub fn add(&mut self, other: &Ratio) {
        let Ratio { units, part, whole, part_part, part_whole, whole_whole } = other;
        self.units += units;
        self.part += part;
        self.whole += whole;
        self.part_part += part_part;
        self.part_whole += part_whole;
        self.whole_whole += whole_whole;
    }

    /// The ratio in millionths, rounded; `None` where the whole is nothing.
    pub fn ppm(&self) -> Option<u64> {
        (self.whole > 0).then(|| ((self.part * 1_000_000 + self.whole / 2) / self.whole) as u64)
    }

    /// The ratio in millionths, rounded up; 0 where the whole is nothing.
    pub fn ppm_up(&self) -> u64 {
        (self.part * 1_000_000).div_ceil(self.whole.max(1)) as u64
    }

    /// Half the width of an interval of 95 % in millionths; `None` where the whole is 0. At least the
    /// distance of Wilson's interval from 1 where all of `J` units are whole, `z^2 / (J + z^2)`: equal
    /// units are no proof about the next one.
    pub fn margin_ppm(&self) -> Option<u64> {
        let units = self.units as f64;
        let least = Z * Z / (units + Z * Z);
        (self.whole > 0).then(|| millionths((Z * self.variance().sqrt()).max(least)))
    }

    /// Upper end of Wilson's interval of 95 % in millionths, of as many observations as the variance is
    /// worth: `r (1 - r) / variance`, at most the URLs; as many as units where there is no variance.
    /// 1,000,000 where there is no unit.
    pub fn upper_ppm(&self) -> u64 {
        if self.whole == 0 {
            return 1_000_000;
        }
        let (r, variance) = (self.part as f64 / self.whole as f64, self.variance());
        let urls = self.whole as f64 / Self::UNIT as f64;
        let n = if variance > 0.0 { (r * (1.0 - r) / variance).clamp(1.0, urls.max(1.0)) } else { self.units as f64 };
        let root = (r * (1.0 - r) / n + Z * Z / (4.0 * n * n)).sqrt();
        millionths((r + Z * Z / (2.0 * n) + Z * root) / (1.0 + Z * Z / n))
    }

    /// Variance of the ratio; that of one unit alone is unknown, and taken for 1/4, the most there is.
    fn variance(&self) -> f64 {
        if self.units < 2 {
            return 0.25;
        }
        let (units, whole) = (self.units as f64, self.whole as f64);
        let r = self.part as f64 / whole;
        let squares = self.part_part as f64 - 2.0 * r * self.part_whole as f64 + r * r * self.whole_whole as f64;
        // Sums that cancel leave rounding errors.
        let squares = if squares > 1e-12 * self.whole_whole as f64 { squares } else { 0.0 };
        units / (units - 1.0) * squares / (whole * whole)
    }
}

/// A share in millionths, rounded up, at most the whole.
fn millionths(share: f64) -> u64 {
    (share * 1e6).ceil().min(1e6) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(units: impl IntoIterator<Item = (u64, u64)>) -> Ratio {
        let mut ratio = Ratio::default();
        units.into_iter().for_each(|(part, whole)| ratio.push(part * Ratio::UNIT, whole * Ratio::UNIT));
        ratio
    }

    /// The delete-one jackknife, unit by unit.
    fn deleted(units: &[(u64, u64)]) -> f64 {
        let (part, whole) = units.iter().fold((0, 0), |sum, unit| (sum.0 + unit.0, sum.1 + unit.1));
        let without: Vec<f64> = units.iter().map(|u| (part - u.0) as f64 / (whole - u.1) as f64).collect();
        let n = units.len() as f64;
        let mean = without.iter().sum::<f64>() / n;
        (n - 1.0) / n * without.iter().map(|r| (r - mean).powi(2)).sum::<f64>()
    }

    #[test]
    fn the_variance_is_that_of_the_jackknife_over_units() {
        let units: Vec<(u64, u64)> = (0..400).map(|n| ((n * 7 % 5).min(n % 4 + 1), n % 4 + 1)).collect();
        let (fast, slow) = (ratio(units.clone()).variance(), deleted(&units));
        assert!((fast / slow - 1.0).abs() < 0.01, "{fast} {slow}");
    }

    #[test]
    fn urls_of_one_cluster_are_one_observation() {
        let single = ratio((0..1000).map(|n| (u64::from(n % 10 == 0), 1)));
        let clustered = ratio((0..100).map(|n| (if n % 10 == 0 { 10 } else { 0 }, 10)));
        assert_eq!((single.ppm(), clustered.ppm()), (Some(100_000), Some(100_000)));
        let (a, b) = (single.margin_ppm().unwrap(), clustered.margin_ppm().unwrap());
        // sqrt(0.09 / 1000) and sqrt(0.09 / 100), times 1.96, a ratio of sqrt(10).
        assert_eq!((a, b), (18_604, 59_097));
        assert!(single.upper_ppm() < clustered.upper_ppm());
    }

    #[test]
    fn nothing_wrong_in_few_clusters_proves_little() {
        // Wilson: z^2 / (n + z^2).
        assert_eq!(ratio((0..100).map(|_| (0, 5))).upper_ppm(), 36_995);
        assert_eq!(ratio((0..10_000).map(|_| (0, 1))).upper_ppm(), 385);
        assert_eq!(ratio([]).upper_ppm(), 1_000_000);
        assert!(ratio([(0, 500)]).upper_ppm() > 700_000);
        assert_eq!(ratio((0..100).map(|_| (3, 3))).margin_ppm(), Some(36_995));
    }

    #[test]
    fn no_whole_is_no_figure() {
        let mut none = Ratio::default();
        none.push(0, 0);
        assert_eq!((none.ppm(), none.margin_ppm(), none.units), (None, None, 0));
    }

    #[test]
    fn sites_add_up() {
        let units: Vec<(u64, u64)> = (0..50).map(|n| (n % 3, 3)).collect();
        let mut sum = ratio(units[..20].to_vec());
        sum.add(&ratio(units[20..].to_vec()));
        assert_eq!(sum, ratio(units));
    }
}
