//! Chances of the hypergeometric distribution.

/// The hypergeometric distribution function: the chance that of `drawn` of `wrong` wrong and `right` right things at
/// most `few` are wrong. O(wrong).
pub fn at_most(few: u64, drawn: u64, wrong: u64, right: u64) -> f64 {
    let left = wrong + right - drawn;
    // The logarithm of the ways to take some of so many.
    let ways = |of: u64, taken: u64| (0..taken).map(|at| ((of - at) as f64 / (at + 1) as f64).ln()).sum::<f64>();
    let least = wrong.saturating_sub(left);
    // The logarithm of the chance of `count` wrong ones: each is that of one less, times a factor.
    let mut chance = ways(drawn, least) + ways(left, wrong - least) - ways(wrong + right, wrong);
    let mut sum = 0.0;
    for count in least..=few.min(wrong).min(drawn) {
        sum += chance.exp();
        let factor = (drawn - count) as f64 * (wrong - count) as f64 / (count + 1) as f64;
        chance += (factor / (left + count + 1 - wrong) as f64).ln();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_the_hypergeometric_distribution() {
        // Two of five are wrong: none among three in one of ten draws, at most one in seven of ten.
        assert!((at_most(0, 3, 2, 3) - 0.1).abs() < 1e-9);
        assert!((at_most(1, 3, 2, 3) - 0.7).abs() < 1e-9);
        assert!((at_most(2, 3, 2, 3) - 1.0).abs() < 1e-9);
        assert_eq!(at_most(0, 4, 2, 3), 0.0);
        // Far more than a product of so many factors could hold.
        assert!((at_most(500_000, 500_000, 500_000, 500_000) - 1.0).abs() < 1e-6);
        assert!((at_most(250_000, 500_000, 500_000, 500_000) - 0.5).abs() < 1e-2);
        assert!(at_most(100_000, 500_000, 500_000, 500_000) < 1e-300);
    }
}
