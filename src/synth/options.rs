//! What to make: the parameters of a corpus, their checks, and the sizes of its sites.

use super::kind::{decoration_names, type_names};
use super::rng::{mix2, unit};

/// Parameters of a synthetic corpus. Equal parameters give equal bytes; a site depends on nothing but
/// these and its index.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seed of everything.
    pub seed: u64,
    /// Number of sites.
    pub sites: u64,
    /// Fewest URLs a site (WWW10, table 1: 24,147).
    pub urls_min: u64,
    /// Most URLs a site (WWW10, table 1: 3,000,000).
    pub urls_max: u64,
    /// Mean URLs a site (WWW10, table 1: 352,106); None draws sizes evenly on a log scale.
    pub urls_mean: Option<u64>,
    /// URLs of the whole corpus, before rows are dropped: sites are scaled to reach it, beyond the limits
    /// above if need be.
    pub total_urls: Option<u64>,
    /// Share of the clusters that hold one URL.
    pub single: f64,
    /// Mean URLs a cluster of two or more (WWW10, table 1: 3.8).
    pub mean_cluster: f64,
    /// Chance that a cluster takes the label of a random cluster of its site (fake duplicates).
    pub noise: f64,
    /// Chance that a cluster of two or more is split: about half of its URLs get a label of their own.
    pub split: f64,
    /// Share of the records that are left out.
    pub drop: f64,
    /// Page types of every site; None draws 3 to 7 a site.
    pub types: Option<Vec<String>>,
    /// Decorations of every site; None draws them a site.
    pub decorations: Option<Vec<String>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            sites: 10,
            urls_min: 24_147,
            urls_max: 3_000_000,
            urls_mean: None,
            total_urls: None,
            single: 0.35,
            mean_cluster: 3.8,
            noise: 0.0,
            split: 0.0,
            drop: 0.0,
            types: None,
            decorations: None,
        }
    }
}

/// Parameters that make no corpus.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A share outside `[0, 1]`.
    #[error("{name} is {value}, but must be between 0 and 1")]
    Share {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// No such page type or decoration.
    #[error("no {what} {name:?}; known: {}", known.join(", "))]
    Unknown {
        /// Page type or decoration.
        what: &'static str,
        /// What was given.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// Sizes that no site can have.
    #[error("URLs a site: need 1 <= min <= mean <= max <= 2^40, got min {min}, mean {mean}, max {max}")]
    Sizes {
        /// Lower limit.
        min: u64,
        /// Mean asked for, or the lower limit.
        mean: u64,
        /// Upper limit.
        max: u64,
    },
    /// A mean cluster size out of reach.
    #[error("mean cluster size is {0}, but clusters of two or more URLs have a mean between 2.1 and 50")]
    MeanCluster(f64),
    /// Fewer URLs than sites.
    #[error("{total} URLs in total are fewer than {sites} sites; every site has one at least")]
    Total {
        /// URLs asked for.
        total: u64,
        /// Sites asked for.
        sites: u64,
    },
}

impl Options {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that makes no corpus.
    pub fn check(&self) -> Result<(), Error> {
        let shares = [("single", self.single), ("noise", self.noise), ("split", self.split), ("drop", self.drop)];
        for (name, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::Share { name, value });
            }
        }
        let lists = [("page type", &self.types, type_names()), ("decoration", &self.decorations, decoration_names())];
        for (what, names, known) in lists {
            for name in names.iter().flatten() {
                if !known.contains(&name.as_str()) {
                    return Err(Error::Unknown { what, name: name.clone(), known });
                }
            }
        }
        let (min, max) = (self.urls_min, self.urls_max);
        let mean = self.urls_mean.unwrap_or(min);
        if min < 1 || min > mean || mean > max || max > 1 << 40 {
            return Err(Error::Sizes { min, mean, max });
        }
        if !(2.1..=50.0).contains(&self.mean_cluster) {
            return Err(Error::MeanCluster(self.mean_cluster));
        }
        match self.total_urls {
            Some(total) if total < self.sites => Err(Error::Total { total, sites: self.sites }),
            _ => Ok(()),
        }
    }

    /// URLs of each site, in order of site, before rows are dropped.
    ///
    /// Sizes follow a Pareto distribution cut off at both limits; its exponent is found so that it has the mean
    /// asked for (0, even on a log scale, without one).
    pub fn sizes(&self) -> Vec<u64> {
        let (min, max) = (self.urls_min as f64, self.urls_max as f64);
        let exponent = self.urls_mean.map_or(0.0, |mean| exponent(min, max, mean as f64));
        let size = |site: u64| {
            let u = unit(mix2(mix2(self.seed, SALT_SIZE), site));
            let x = if exponent.abs() < 1e-6 {
                min * (max / min).powf(u)
            } else {
                min * (1.0 - u * (1.0 - (min / max).powf(exponent))).powf(-1.0 / exponent)
            };
            (x.round() as u64).clamp(self.urls_min, self.urls_max)
        };
        let mut sizes: Vec<u64> = (0..self.sites).map(size).collect();
        if let Some(total) = self.total_urls {
            scale(&mut sizes, total);
        }
        sizes
    }
}

const SALT_SIZE: u64 = 0x512e;

/// Exponent `a` of the density x^-(1+a) on `[min, max]` whose mean is `mean`, by bisection: the mean
/// falls in `a`.
fn exponent(min: f64, max: f64, mean: f64) -> f64 {
    let mean_of = |a: f64| {
        // Near 0 and 1 the closed form divides by 0; the mean is continuous there.
        let a = if a.abs() < 1e-7 || (a - 1.0).abs() < 1e-7 { a + 1e-6 } else { a };
        let r = min / max;
        a / (a - 1.0) * min * (1.0 - r.powf(a - 1.0)) / (1.0 - r.powf(a))
    };
    let (mut low, mut high) = (-20.0, 20.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if mean_of(middle) > mean { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Scales `sizes` so that they add up to `total`, none below 1; `total` is at least the number of
/// sizes.
fn scale(sizes: &mut [u64], total: u64) {
    let sum: u128 = sizes.iter().map(|&n| u128::from(n)).sum();
    let spare = u128::from(total - sizes.len() as u64);
    let (mut seen, mut given) = (0_u128, 0_u128);
    for n in sizes {
        seen += u128::from(*n);
        let upto = seen * spare / sum;
        *n = 1 + (upto - given) as u64;
        given = upto;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_their_limits_mean_and_total() {
        let mut options = Options { sites: 4000, ..Options::default() };
        let mean = |options: &Options| options.sizes().iter().sum::<u64>() as f64 / options.sites as f64;
        assert!(options.sizes().iter().all(|n| (24_147..=3_000_000).contains(n)));
        // Even on a log scale: (max - min) / ln(max / min).
        assert!((mean(&options) / 617_000.0 - 1.0).abs() < 0.05, "{}", mean(&options));
        options.urls_mean = Some(352_106);
        assert!((mean(&options) / 352_106.0 - 1.0).abs() < 0.05, "{}", mean(&options));
        options.total_urls = Some(14_000_003);
        assert_eq!(options.sizes().iter().sum::<u64>(), 14_000_003);
        assert!(options.sizes().iter().all(|&n| n > 0));
        options.urls_min = options.urls_max;
        options.urls_mean = None;
        options.total_urls = None;
        assert!(options.sizes().iter().all(|&n| n == 3_000_000));
    }

    #[test]
    fn bad_parameters_are_told_apart() {
        let bad = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check().expect_err("refused").to_string()
        };
        assert!(bad(|o| o.noise = 1.5).contains("noise is 1.5"));
        assert!(bad(|o| o.split = f64::NAN).contains("split"));
        assert!(bad(|o| o.types = Some(vec!["stroy".into()])).contains("known: archive, code"));
        assert!(bad(|o| o.decorations = Some(vec!["ssl".into()])).contains("known: mirrors"));
        assert!(bad(|o| o.urls_min = 0).contains("got min 0"));
        assert!(bad(|o| o.urls_mean = Some(5)).contains("mean 5"));
        assert!(bad(|o| o.mean_cluster = 1.0).contains("between 2.1"));
        assert!(bad(|o| o.total_urls = Some(3)).contains("3 URLs"));
        assert_eq!(Options::default().check(), Ok(()));
    }
}
