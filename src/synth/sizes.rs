//! The distribution of cluster sizes: how many clusters of which size each page type has, so that singletons,
//! mean and tail come out as asked, without a table of clusters.

/// Weight of one page type among the clusters.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Its weight among the clusters.
    pub weight: f64,
    /// URLs a page can have at most.
    pub cap: u64,
}

/// A heavy tail: P(size = k) proportional to k^-exponent for k from 2 to a largest size, in classes of
/// one size up to 32 and classes about 8 % apart above.
#[derive(Clone, Debug)]
pub struct SizeDistribution {
    /// Sizes, rising.
    sizes: Vec<u64>,
    /// Probability of each size.
    weights: Vec<f64>,
}

impl SizeDistribution {
    fn new(largest: u64, exponent: f64) -> SizeDistribution {
        let mut sizes = Vec::new();
        let mut weights = Vec::new();
        let mut k = 2_u64;
        while k <= largest {
            let step = if k < 32 { 1 } else { (k * 8).div_ceil(100) };
            sizes.push(k);
            weights.push(step as f64 * (k as f64).powf(-exponent));
            k += step;
        }
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        SizeDistribution { sizes, weights }
    }

    /// Mean size where none goes beyond `cap`.
    fn mean(&self, cap: u64) -> f64 {
        self.sizes.iter().zip(&self.weights).map(|(&k, w)| k.min(cap) as f64 * w).sum()
    }

    /// `(size, clusters of that size)` for `clusters` clusters of at most `cap` URLs. Expected numbers are
    /// rounded so that they add up: the rounding error of one class is carried to the next, which also lets
    /// the tail, less than one cluster a class, appear where its probabilities add up to one.
    fn counts(&self, clusters: u64, cap: u64) -> Vec<(u64, u64)> {
        let mut counts: Vec<(u64, u64)> = Vec::new();
        let (mut upto, mut given) = (0.0, 0);
        for (i, (&size, weight)) in self.sizes.iter().zip(&self.weights).enumerate() {
            upto += weight * clusters as f64;
            let next = if i + 1 == self.sizes.len() { clusters } else { ((upto + 0.5) as u64).min(clusters) };
            let size = size.min(cap);
            match counts.last_mut() {
                Some(last) if last.0 == size => last.1 += next - given,
                _ => counts.push((size, next - given)),
            }
            given = next;
        }
        counts.retain(|c| c.1 > 0);
        counts
    }
}

/// Sizes and numbers of clusters of each of `shares`, which together hold exactly `rows` URLs.
///
/// `single` is the share of clusters with one URL, `mean` the mean size of the others. Types whose
/// pages have one URL count as singletons and leave fewer of them to the others. The exponent is found
/// by bisection over all types with their caps; where the caps are too low for the mean, the distribution is as
/// flat as it gets.
pub fn clusters(shares: &[Share], rows: u64, single: f64, mean: f64) -> Vec<Vec<(u64, u64)>> {
    let whole: f64 = shares.iter().map(|s| s.weight).sum();
    let able: f64 = shares.iter().filter(|s| s.cap > 1).map(|s| s.weight).sum::<f64>() / whole;
    let single = if able > 0.0 { ((single - (1.0 - able)) / able).clamp(0.0, 1.0) } else { 1.0 };
    let largest = (rows / 100).clamp(8, 3000);
    let mean_of = |distribution: &SizeDistribution| {
        let sum: f64 = shares.iter().filter(|s| s.cap > 1).map(|s| s.weight * distribution.mean(s.cap)).sum();
        sum / (able * whole)
    };
    let (mut low, mut high) = (0.0, 12.0);
    if able > 0.0 {
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if mean_of(&SizeDistribution::new(largest, middle)) > mean { low = middle } else { high = middle }
        }
    }
    let distribution = SizeDistribution::new(largest, (low + high) / 2.0);
    let expected = |s: &Share| {
        let mean = if s.cap > 1 { single + (1.0 - single) * distribution.mean(s.cap) } else { 1.0 };
        s.weight * mean
    };
    let sum: f64 = shares.iter().map(expected).sum();
    let (mut upto, mut given) = (0.0, 0);
    let mut out = Vec::with_capacity(shares.len());
    for (i, share) in shares.iter().enumerate() {
        upto += expected(share) / sum * rows as f64;
        let next = if i + 1 == shares.len() { rows } else { (upto.round() as u64).min(rows) };
        let mine = next - given;
        given = next;
        let each = single + (1.0 - single) * distribution.mean(share.cap);
        let several = if share.cap > 1 { (mine as f64 / each * (1.0 - single)) as u64 } else { 0 };
        let mut counts = distribution.counts(several, share.cap);
        let mut used: u64 = counts.iter().map(|c| c.0 * c.1).sum();
        // Rounding may ask for a few URLs more than there are: the largest clusters give way.
        while used > mine {
            let last = counts.last_mut().expect("used is the sum over counts");
            last.1 -= 1;
            used -= last.0;
            if last.1 == 0 {
                counts.pop();
            }
        }
        if mine > used {
            counts.insert(0, (1, mine - used));
        }
        out.push(counts);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_singletons_and_mean_come_out_as_asked() {
        let shares = [
            Share { weight: 1.0, cap: u64::MAX },
            Share { weight: 0.5, cap: 6 },
            Share { weight: 0.4, cap: 3 },
            Share { weight: 0.1, cap: 1 },
        ];
        for rows in [1, 10, 999, 20_000, 350_000] {
            let all = clusters(&shares, rows, 0.35, 3.8);
            let flat: Vec<(u64, u64)> = all.iter().flatten().copied().collect();
            assert_eq!(flat.iter().map(|c| c.0 * c.1).sum::<u64>(), rows);
            assert!(all.iter().zip(&shares).all(|(counts, s)| counts.iter().all(|c| c.0 <= s.cap)));
            let number: u64 = flat.iter().map(|c| c.1).sum();
            let singles: u64 = flat.iter().filter(|c| c.0 == 1).map(|c| c.1).sum();
            if rows > 10_000 {
                let mean = (rows - singles) as f64 / (number - singles) as f64;
                let single = singles as f64 / number as f64;
                assert!((single - 0.35).abs() < 0.02, "{rows} rows: {single}");
                assert!((mean - 3.8).abs() < 0.2, "{rows} rows: {mean}");
            }
        }
    }

    #[test]
    fn negatives_alone_are_all_singletons() {
        assert_eq!(clusters(&[Share { weight: 1.0, cap: 1 }], 50, 0.2, 3.8), [vec![(1, 50)]]);
    }
}
