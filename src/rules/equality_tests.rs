//! Compares the compiled applier with the reference interpreter on random and on recorded URLs.
//!
//! A pair is a rule set and a URL. For each pair the test compares the canonical URL, the site, the
//! rules that fired, whether a look-up decided and whether the URL is invalid: the
//! [interpreter](super::interpreter) against [`RuleSet::apply`] with a new and with a reused scratch,
//! [`RuleSet::canonicalize`], batches, and rule sets that were written and read again.
//!
//! `UNDUST_EQUALITY_PAIRS` sets the number of pairs, `UNDUST_EQUALITY_SEED` the seed. The same seed
//! gives the same pairs on every machine. [`corpora`] holds the test on recorded URLs, [`cases`] those
//! on rule sets made by hand.

mod cases;
mod compare;
mod corpora;
mod counts;
mod exports;
mod forms;
mod generate;
mod json_rules;
mod pages;
mod rules;
mod settings;
mod shrink;
mod urls;

use super::{RuleSet, SiteRules};
use compare::{Applier, Forms, check};
use counts::Counts;
use std::time::Instant;

/// Pairs of the default run.
const PAIRS: u64 = 100_000;
/// Shares of the work, one thread and one seed each; their number does not depend on the machine.
const SHARES: u64 = 8;
/// Differences that a share reports before it ends.
const REPORTED: usize = 2;

/// Xorshift (Marsaglia 2003): the same numbers on every machine.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    /// Numbers of a seed; seeds that differ by one give unrelated numbers (the finalizer of SplitMix64).
    fn new(seed: u64) -> Random {
        let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let seed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let seed = (seed ^ seed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Random((seed ^ seed >> 31).max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`; 0 for a bound of 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// True in `percent` of 100 calls.
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// An item of a list that is not empty.
    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// The number in an environment variable.
fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}: {text:?} is not a number")),
        Err(_) => default,
    }
}

/// Compares at least `pairs` pairs; gives the counts, and a report for each difference.
fn share(seed: u64, pairs: u64) -> (Counts, Vec<String>) {
    let (mut counts, mut reports) = (Counts::default(), Vec::new());
    let mut applier = Applier::default();
    let mut random = Random::new(seed);
    for number in 0u64.. {
        if counts.pairs() >= pairs || reports.len() == REPORTED {
            break;
        }
        // Another generator each time: a change of one case does not change the next one.
        let case = generate::case(&mut Random::new(random.next()), number);
        let forms = if number.is_multiple_of(24) { Forms::Files } else { Forms::Memory };
        let variants = number.is_multiple_of(2);
        let found = check(case.sites.clone(), &case.inputs, forms, &mut applier, |reference, pairs| {
            counts.add_all(reference, pairs, variants, forms);
        });
        if let Err(difference) = found {
            applier = Applier::default();
            reports.push(shrink::report(case, forms, *difference));
        }
    }
    (counts, reports)
}

#[test]
#[allow(clippy::print_stdout, reason = "the counts show what a run of millions of pairs compared")]
fn the_compiled_applier_equals_the_interpreter() {
    let pairs = number("UNDUST_EQUALITY_PAIRS", PAIRS);
    let seed = number("UNDUST_EQUALITY_SEED", 1);
    let began = Instant::now();
    let shares = std::thread::scope(|scope| {
        let start =
            |number: u64| scope.spawn(move || share(seed.wrapping_mul(SHARES) + number, pairs.div_ceil(SHARES)));
        let work: Vec<_> = (0..SHARES).map(start).collect();
        let join = |work: std::thread::ScopedJoinHandle<'_, _>| work.join();
        work.into_iter()
            .map(|work| join(work).unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Vec<_>>()
    });
    let (mut counts, mut reports) = (Counts::default(), Vec::new());
    for (part, found) in shares {
        counts.merge(&part);
        reports.extend(found);
    }
    println!("seed {seed}, {:.1} s\n{counts}", began.elapsed().as_secs_f64());
    assert!(reports.is_empty(), "{} differences\n{}", reports.len(), reports.join("\n"));
    if pairs >= PAIRS {
        let few = counts.too_few();
        assert!(few.is_empty(), "kinds of rules and URLs that were hardly compared: {few:?}");
    }
}
