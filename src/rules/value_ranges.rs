//! Value ranges of one key that mean one page: listed by the learner where no rule holds for all pages.
//!
//! Such a list acts on URLs that were not in training: a value beside those seen, with all other keys
//! unchanged.

use serde::{Deserialize, Serialize};

/// One key of a site, with the pages that its values mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangedKey {
    /// The key, in the notation of rules.
    pub key: String,
    /// A URL without the key is the page, too, where any value is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
    /// The numbers are those at the end of the value, behind text: those of `topic=10.msg17`, behind
    /// `10.msg`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inner: bool,
    /// Values that were predicted right from the others of their group, each group counted for at most
    /// four.
    pub good: u64,
    /// Values predicted wrong.
    pub bad: u64,
    /// Clusters that support it.
    pub clusters: u64,
    /// The pages, sorted.
    pub pages: Vec<ValueRange>,
}

impl RangedKey {
    /// The pages in the order in which they are tried: a range of any value follows the largest one of
    /// numbers.
    pub fn tried(&self) -> Vec<&ValueRange> {
        let mut value_ranges: Vec<&ValueRange> = self.pages.iter().collect();
        let numbers = |value_range: &ValueRange| {
            value_range.range.map_or([0, u64::MAX], |[low, high]| [low, high.min(u64::MAX - 1)])
        };
        value_ranges.sort_by_key(|value_range| (numbers(value_range), &value_range.page));
        value_ranges
    }
}

/// A page: a reduced URL with a range of values of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ValueRange {
    /// A URL of the group as the rules reduce it: all its keys but the one in question, and the text of an
    /// inner number, states where the range holds.
    pub like: String,
    /// Smallest and largest number, both included; `None` for any value, of inner numbers any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[u64; 2]>,
    /// URL of the page.
    pub page: String,
}

/// Digits of a number at most.
const MAX_DIGITS: usize = 15;

/// Hash of the group of a URL of this identity (the sum of the hashes of its pairs), that is without
/// the pair of one key: `hash` is that of the pair, 0 where the key is absent, `seed` that of the key.
pub fn range_group(identity: u64, hash: u64, seed: u64) -> u64 {
    identity.wrapping_sub(hash).wrapping_add(seed.rotate_left(23) | 1)
}

/// A value that is a number as numbers are usually written; two of them are never the same number.
pub fn number(value: &[u8]) -> Option<u64> {
    let plain = !value.is_empty() && value.len() <= MAX_DIGITS && value.iter().all(u8::is_ascii_digit);
    (plain && (value[0] != b'0' || value.len() == 1))
        .then(|| value.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
}

/// A value that ends in a number behind text, as the text and the number: `10.msg17` is `10.msg`
/// and 17. Digits of an escape are none of a number.
pub fn inner_number(value: &[u8]) -> Option<(&[u8], u64)> {
    let digits = value.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (text, digits) = value.split_at(value.len() - digits);
    let is_escape = text.ends_with(b"%") || text.len() > 1 && text[text.len() - 2] == b'%';
    (!text.is_empty() && !is_escape).then_some(text).zip(number(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_behind_text_are_told_from_others() {
        let inner =
            |value: &'static str| inner_number(value.as_bytes()).map(|(text, n)| (text.escape_ascii().to_string(), n));
        let is = |text: &str, number| Some((text.to_owned(), number));
        assert_eq!(inner("10.msg17"), is("10.msg", 17));
        assert_eq!(inner("12.0"), is("12.", 0));
        assert_eq!(inner("%C3%A9s12"), is("%C3%A9s", 12));
        for none in ["17", "", "10.msg", "10.msg017", "%20", "a%C39", "a%2", "x1234567890123456"] {
            assert_eq!(inner(none), None, "{none}");
        }
    }
}
