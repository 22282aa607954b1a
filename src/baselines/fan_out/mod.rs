//! Fan-out rules: Dasgupta, Kumar, Sasturkar, "De-duping URLs via Rewrite Rules" (KDD 2008), as WWW10
//! describes the method (section 2, Figure 3) and uses it (section 6.2: fan-out 5 and 10,
//! false-positive filter, naive selection).
//!
//! URLs are key-value pairs (those of WWW10 Figure 2). [`raw`] makes a rule of every two URLs or rules
//! of one cluster that differ in one key, [`lattice`] generalizes contexts key by key wherever the
//! fan-out is large enough, [`evidence`] counts what each rule of the lattice joins in the training
//! set, [`select`] deploys, [`apply`] rewrites.
//!
//! Readings, the paper not being at hand:
//! - A rule is a *context*, which gives every key a value (absence is one) or leaves it open, and a
//!   *transformation*: ignore some keys (their value becomes `*`), set a key to a value or leave it
//!   out, or move a value to another key.
//! - "Differ in one key": one key has different values, or one value stands under different keys (a
//!   move).
//! - Inside a cluster, rules that ignore the same keys and differ in one more join to a rule that
//!   ignores that one too (Figure 3: R1 and R2 make R3). Across clusters, rules of one transformation
//!   whose contexts differ in one key join to one with that key open, if at least *fan-out* values were
//!   seen there. An ignored key needs as many values, over all rules of the transformation.
//! - Only rules that some join has generalized are candidates: a pair of URLs alone says nothing about
//!   others.
//! - The paper does not bound its work. Here, and far beyond what the corpora need: see the constants
//!   of [`raw`], [`lattice`] and [`evidence`].
//!
//! Departure: rules of a site are applied in order, again and again until nothing changes (at most ten
//! rounds), so that two decorations of one URL can both go. Naive selection (WWW10 5.3) is read per key
//! that rules touch, which keeps more of them than the reading per node.

mod apply;
mod evidence;
mod lattice;
mod raw;
mod select;

use super::{Figures, Learned, Method, Sample, Selected};
use crate::model::hash64_seeded;
use crate::site::published::keys::{ABSENT, PublishedColumns};
use evidence::WeighedRule;

/// The method.
#[derive(Clone, Copy, Debug)]
pub struct FanOut {
    /// Values that a key must take before it is left open: 5 or 10 in WWW10.
    pub least: usize,
}

/// Effect of a rule on a URL of its context. Keys are indices of [`PublishedColumns::keys`], values ids of its
/// dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Transform {
    /// These keys (a bit each) become `*`.
    Ignore(u128),
    /// The key gets this value; [`ABSENT`]: it is left out.
    Set(u8, u32),
    /// The value of the first key goes to the second, which was absent.
    Move(u8, u8),
}

impl Transform {
    /// Keys that it writes.
    fn touches(self) -> u128 {
        match self {
            Transform::Ignore(keys) => keys,
            Transform::Set(key, _) => 1 << key,
            Transform::Move(from, to) => 1 << from | 1 << to,
        }
    }
}

/// A rule of the lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    transform: Transform,
    /// A row that has the values of the keys that are not open.
    row: u32,
    /// Open keys.
    open: u128,
    /// Open keys under which the absent value was seen.
    optional: u128,
    /// Sum of the hashes of the context.
    hash: u64,
    /// Raw rules that it represents.
    support: u32,
    /// A join has made it.
    general: bool,
}

/// Hash of a value under a key; the absent one counts nothing.
fn cell(key: usize, value: u32) -> u64 {
    match value {
        ABSENT => 0,
        value => hash64_seeded(&value.to_le_bytes(), key as u64 + 1),
    }
}

impl Method for FanOut {
    fn learn(&self, sample: &Sample<'_>) -> Box<dyn Learned> {
        let columns = PublishedColumns::new(&sample.training);
        let raw = raw::rules(&columns);
        let rules = lattice::generalize(&columns, raw, self.least);
        let candidates = evidence::weigh(&columns, rules);
        Box::new(Candidates { columns, candidates })
    }
}

struct Candidates {
    columns: PublishedColumns,
    candidates: Vec<WeighedRule>,
}

impl Learned for Candidates {
    fn figures(&self) -> Figures {
        Figures { raw: self.candidates.len() as u64, ..Figures::default() }
    }

    fn select(&self, fpr_max: f64) -> Selected {
        let qualified = self.candidates.iter().filter(|c| c.counts.pair_fpr() <= fpr_max).count() as u64;
        let deployed = select::naive(&self.columns, &self.candidates, fpr_max);
        let rules = Box::new(apply::Rules::new(&self.columns, &deployed));
        Selected { qualified, deployed: deployed.len() as u64, rules }
    }
}
