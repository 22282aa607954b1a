//! Random numbers that are functions of their place: a stream for the draws of one record, a mixer for
//! one-off decisions, and permutations of a range that need no table. None of them depends on what was
//! drawn elsewhere, so a record can be made by any worker in any order.

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection of 64-bit numbers.
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Mixes a seed with what a decision is about.
pub fn mix2(seed: u64, about: u64) -> u64 {
    mix(seed ^ mix(about.wrapping_add(0x9e37_79b9_7f4a_7c15)))
}

/// A hash as a number in `[0, 1)`, 53 bits of it.
pub fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

/// SplitMix64: one addition and one [`mix`] a draw, seeded by any number.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A stream of its own for `seed`.
    pub fn new(seed: u64) -> Rng {
        Rng(mix(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `n` (multiply-shift; the bias is under n / 2^64). `n` must be above 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// True in `percent` of 100 draws.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Puts `items` in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// A pseudo-random permutation of `0..n` in constant memory: rounds of odd multiplication and
/// xor-shift, each a bijection of k-bit numbers, walked along their cycle until the value is below `n`
/// (under 2 steps in the mean).
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 3],
}

impl Permutation {
    /// The permutation of `0..n` that belongs to `seed`.
    pub fn new(n: u64, seed: u64) -> Permutation {
        let bits = (64 - n.saturating_sub(1).leading_zeros()).max(2);
        let key = |i: u64| mix2(seed, i);
        let mask = u64::MAX >> (64 - bits);
        Permutation { n, mask, shift: bits.div_ceil(2), keys: [key(1), key(2), key(3)] }
    }

    /// Where `x` goes; `x` must be below `n`.
    pub fn at(&self, x: u64) -> u64 {
        assert!(x < self.n, "{x} is not below {}", self.n);
        let mut y = x;
        loop {
            for key in self.keys {
                y = y.wrapping_add(key >> 7).wrapping_mul(key | 1) & self.mask;
                y ^= y >> self.shift;
            }
            if y < self.n {
                return y;
            }
        }
    }
}

/// A bijection of 24-bit numbers that hides their order, for short session ids.
pub fn scramble24(x: u64) -> u64 {
    let mut y = x & 0xff_ffff;
    for key in [0x5b_d1e9_u64, 0x9e_3779] {
        y = y.wrapping_mul(key | 1) & 0xff_ffff;
        y ^= y >> 12;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_are_permutations_and_do_not_keep_order() {
        for n in [1_u64, 2, 3, 4, 5, 7, 64, 1000, 4097, 65_536] {
            for seed in 0..3 {
                let p = Permutation::new(n, seed);
                let image: Vec<u64> = (0..n).map(|x| p.at(x)).collect();
                let mut sorted = image.clone();
                sorted.sort_unstable();
                assert!(sorted.iter().copied().eq(0..n), "n {n} seed {seed}");
                let rising = image.windows(2).filter(|w| w[1] == w[0] + 1).count();
                assert!(n < 1000 || rising < 10, "n {n}: {rising} neighbours stayed neighbours");
            }
        }
    }

    #[test]
    fn short_ids_do_not_collide() {
        let mut ids: Vec<u64> = (0..100_000).map(scramble24).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 100_000);
    }

    #[test]
    fn draws_have_their_rates() {
        let mut rng = Rng::new(7);
        let hits = (0..100_000).filter(|_| rng.percent(35)).count();
        assert!((34_000..36_000).contains(&hits), "{hits}");
    }
}
