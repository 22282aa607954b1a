//! Decision trees over pairwise rules: Koppula, Leela, Agarwal, Chitrapura, Garg, Sasturkar, "Learning
//! URL Patterns for Webpage De-duplication" (WSDM 2010), which SIGIR 2017 calls DTA.
//!
//! A URL is key-value pairs: basic tokens by the delimiters of RFC 3986, cut further into deep tokens
//! by the delimiters of the site ([`tokens`]). In each duplicate cluster a target is chosen, and from
//! each chosen source to the target a pairwise rule is made: the context is the source's pairs, the
//! transformation is what changes ([`pairs`]). For each transformation a decision tree over the
//! contexts is where it holds; its leaves are the generalized rules, all other keys wildcards
//! ([`tree`]). Rules above the highest false-positive rate are filtered out, as SIGIR 2017 (section
//! 3.1) does, and the others applied ([`apply`]).
//!
//! The paper itself is not at hand, only its abstract and outlines and what SIGIR 2017 says of it.
//! Readings:
//! - A delimiter of the site (a character that is neither letter nor digit, or a change between letters
//!   and digits) is one that at least a tenth of the training values of a basic key hold, and at least
//!   [`tokens::LEAST`] of them. Delimiters are deep tokens themselves, so that a URL is its tokens end
//!   to end.
//! - The target is the URL of fewest deep tokens, ties by the larger sum of the frequencies of its
//!   pairs on the site (the canonical form of SIGIR 2017, section 2.3), then by bytes. Sources are the
//!   [`pairs::SOURCES`] URLs nearest to it by number of changed keys.
//! - A key that gets a value which the source holds under another key copies it, first from a key that
//!   loses its own.
//! - Positive examples of a transformation are training URLs that it joins with URLs of their own
//!   cluster, negative ones those it puts on the page of another cluster. A tree splits by information
//!   gain; a branch takes at least [`tree::LEAST`] examples, and what is left of the values makes no
//!   rule.
//! - A transformation comes with at least [`pairs::SUPPORT`] pairs. Rules with more positive examples
//!   go first, each at most once a URL; one that would leave a gap between tokens does not fire.
//!
//! Departure: path components align from the left only (the paper counts from both ends).

pub mod apply;
pub mod pairs;
pub mod tokens;
pub mod tree;

use super::{Figures, Learned, Method, Sample, Selected};
use crate::site::published::keys::PublishedColumns;
use pairs::Transformation;
use tokens::Tokens;

/// The method.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecisionTree;

impl Method for DecisionTree {
    fn learn(&self, sample: &Sample<'_>) -> Box<dyn Learned> {
        let columns = PublishedColumns::new(&sample.training);
        let tokens = Tokens::new(&columns);
        let (pairs, transformations) = pairs::transformations(&tokens);
        let examples = tree::examples(&tokens, &transformations);
        Box::new(Candidates { columns, tokens, pairs, transformations, examples })
    }
}

struct Candidates {
    columns: PublishedColumns,
    tokens: Tokens,
    /// Pairwise rules.
    pairs: u64,
    transformations: Vec<Transformation>,
    /// One list a transformation.
    examples: Vec<Vec<tree::Example>>,
}

impl Learned for Candidates {
    fn figures(&self) -> Figures {
        Figures { raw: self.pairs, ..Figures::default() }
    }

    fn select(&self, fpr_max: f64) -> Selected {
        let leaves: Vec<tree::Leaf> = (0..self.transformations.len())
            .flat_map(|at| tree::leaves(&self.tokens, at, &self.examples[at], fpr_max))
            .collect();
        let qualified = leaves.len() as u64;
        let rules = apply::Rules::new(&self.columns, &self.tokens, &self.transformations, leaves);
        Selected { qualified, deployed: qualified, rules: Box::new(rules) }
    }
}
