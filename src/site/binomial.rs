//! Chances of the binomial distribution.

/// Chance that at most `wrong` of `all` are wrong where each is with the chance `share`, which makes more
/// of them wrong on average.
pub(super) fn at_most(wrong: u64, all: u64, share: f64) -> f64 {
    let right = 1.0 - share;
    // Of exactly so many: factors above and below one in turn, since neither kind alone need be a float.
    let (mut exactly, mut left) = (1.0, all - wrong);
    for nth in 1..=wrong {
        exactly *= (all - nth + 1) as f64 / nth as f64 * share;
        while exactly > 1.0 && left > 0 {
            (exactly, left) = (exactly * right, left - 1);
        }
    }
    exactly *= power(right, left.min(u64::from(u32::MAX)) as u32);
    // Fewer are ever less likely.
    let (mut fewer, mut sum) = (1.0, 1.0);
    for nth in (1..=wrong).rev() {
        fewer *= nth as f64 * right / ((all - nth + 1) as f64 * share);
        sum += fewer;
    }
    exactly * sum
}

/// `base` to the power of `exponent`, by squaring.
pub(super) fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut out = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            out *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_is_that_of_the_binomial_distribution() {
        // Ten throws of a coin: (1 + 10 + 45) / 1024.
        assert!((at_most(2, 10, 0.5) - 56.0 / 1024.0).abs() < 1e-12);
        assert!((at_most(0, 3, 0.25) - 27.0 / 64.0).abs() < 1e-12);
        // By the normal distribution z = -1.60: 0.055.
        assert!((0.050..0.065).contains(&at_most(950, 100_000, 0.01)));
    }
}
