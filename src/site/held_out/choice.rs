//! The choice of the sites of a run that are cross-fitted, with the rows and folds of each.

use crate::model::hash64_seeded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Seed of the hash of names of sites.
const SITE_SEED: u64 = 0x666f_6c64_7369_7465;

/// Fewest rows that the last site of the budget is cut down to: fewer are hardly evidence of a large
/// site.
const LEAST: u64 = 1_000;

/// Bounds on the cost of cross-fitting a run. A row that is learned from once more is a *fit*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Rows of a run that are always cross-fitted, in whole sites.
    pub rows: u64,
    /// Fits that a run may always have: a few seconds, whatever the run, and ten folds of 6,000 rows.
    pub fits: u64,
    /// Fits beyond, in thousandths of the rows of the run: they keep a large run within 1.3 times of its
    /// time.
    pub fits_permille: u64,
    /// Rows of one site at most, so that many sites represent a large run; 20,000 rows bound the share of
    /// wrong merges of one site to a few tenths of a percent.
    pub site: u64,
    /// Folds at most, where fits are left: rules learned from nine tenths of a small site are nearly
    /// those learned from all of it, rules learned from a half are not.
    pub folds: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { rows: 20_000, fits: 120_000, fits_permille: 150, site: 20_000, folds: 10 }
    }
}

/// How a site is cross-fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Most rows.
    pub rows: u64,
    /// Folds of a scheme, at least two. Both schemes learn from each row `folds - 1` times.
    pub folds: u64,
}

/// The sites of a run that are cross-fitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    sites: BTreeMap<u64, u64>,
    /// Folds of a scheme, the same at all sites.
    folds: u64,
}

impl Choice {
    /// Rows and folds with which the site of this name is cross-fitted; `None` where it is not.
    pub fn extent(&self, site: &str) -> Option<Extent> {
        self.sites.get(&site_key(site)).map(|&rows| Extent { rows, folds: self.folds })
    }
}

/// Hash of the name that represents a site in [`choose`].
pub fn site_key(name: &str) -> u64 {
    hash64_seeded(name.as_bytes(), SITE_SEED)
}

/// The sites that are cross-fitted, each with its most rows: in the order of their keys, until the
/// budget is used up. `sites`: key and rows of every site of the run. The last site is cut to the
/// remaining rows, if these are [`LEAST`] or more. Two folds are the least and cost two fits a row;
/// remaining fits buy more folds.
pub fn choose(sites: &BTreeMap<u64, u64>, limits: &Limits) -> Choice {
    let total: u64 = sites.values().sum();
    let share = (u128::from(total) * u128::from(limits.fits_permille) / 1000) as u64;
    let budget = limits.rows.max(share / 2);
    let mut left = budget;
    let mut chosen = BTreeMap::new();
    for (&site, &rows) in sites.iter().filter(|(_, rows)| **rows > 0) {
        let most = rows.min(limits.site);
        let taken = most.min(left);
        if taken < most.min(LEAST) {
            break;
        }
        chosen.insert(site, taken);
        left -= taken;
    }
    let folds = 1 + limits.fits.max(share) / (2 * (budget - left)).max(1);
    Choice { sites: chosen, folds: folds.min(limits.folds).max(2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(sites: &[u64]) -> (Vec<(u64, u64)>, u64) {
        let choice = choose(&(0..).zip(sites.iter().copied()).collect(), &Limits::default());
        (choice.sites.into_iter().collect(), choice.folds)
    }

    #[test]
    fn a_small_run_is_cross_fitted_whole() {
        assert_eq!(chosen(&[3_000, 0, 1_000]), (vec![(0, 3_000), (2, 1_000)], 10));
        // 20,000 rows in four folds: 6 fits a row.
        assert_eq!(chosen(&[7_000]).1, 9);
        assert_eq!(chosen(&[15_000, 3_000, 2_000]), (vec![(0, 15_000), (1, 3_000), (2, 2_000)], 4));
        assert_eq!(chosen(&[]).0, []);
    }

    #[test]
    fn beyond_that_sites_are_cut_and_left_out() {
        // One large site is sampled; a second one finds nothing left.
        assert_eq!(chosen(&[100_000, 100_000]), (vec![(0, 20_000)], 4));
        assert_eq!(chosen(&[15_000, 8_000, 1_000]).0, [(0, 15_000), (1, 5_000)]);
        // 500 rows would be left of a site of 8,000: none is better.
        assert_eq!(chosen(&[19_500, 8_000, 100]).0, [(0, 19_500)]);
        // 15 % of ten million rows are 1,500,000 fits: 750,000 rows, twice each.
        let (many, folds) = chosen(&[50_000; 200]);
        assert_eq!((many.len(), many.iter().map(|site| site.1).sum::<u64>(), folds), (38, 750_000, 2));
        assert_eq!(many[37], (37, 10_000));
    }
}
