//! Values of one key that mean one page: what the learner lists where no rule speaks of all pages.
//!
//! Such a list acts on URLs that were not in training: a value beside those seen, with all other keys as they were.

use serde::{Deserialize, Serialize};

/// One key of a site, with the pages that its values mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Local {
    /// The key, in the notation of rules.
    pub key: String,
    /// A URL without the key is the page, too, where any value is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
    /// Values that were predicted right from the others of their group, each group counted for at most four.
    pub good: u64,
    /// Values predicted wrong.
    pub bad: u64,
    /// Clusters that support it.
    pub clusters: u64,
    /// The pages, sorted.
    pub pages: Vec<Span>,
}

impl Local {
    /// The pages in the order in which they are tried: a range of any value follows the largest one of numbers.
    pub fn tried(&self) -> Vec<&Span> {
        let mut spans: Vec<&Span> = self.pages.iter().collect();
        let numbers = |span: &Span| span.range.map_or([0, u64::MAX], |[low, high]| [low, high.min(u64::MAX - 1)]);
        spans.sort_by_key(|span| (numbers(span), &span.page));
        spans
    }
}

/// A page: a reduced URL whose key may have other values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// A URL of the group as the rules reduce it: all its keys but the one in question say where the span holds.
    pub like: String,
    /// Smallest and largest number, both included; `None` for any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[u64; 2]>,
    /// The seen member that is the page.
    pub page: String,
}

/// Digits of a number at most.
const MAX_DIGITS: usize = 15;

/// What a URL of this identity (the sum of the hashes of its pairs) is without the pair of one key: `hash` is that of the
/// pair, 0 where the key is absent, `seed` that of the key.
pub fn span_group(identity: u64, hash: u64, seed: u64) -> u64 {
    identity.wrapping_sub(hash).wrapping_add(seed.rotate_left(23) | 1)
}

/// A value that is a number as numbers are usually written; two of them are never the same number.
pub fn number(value: &[u8]) -> Option<u64> {
    let plain = !value.is_empty() && value.len() <= MAX_DIGITS && value.iter().all(u8::is_ascii_digit);
    (plain && (value[0] != b'0' || value.len() == 1))
        .then(|| value.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
}
