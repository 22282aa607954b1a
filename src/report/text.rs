//! Numbers, and texts of others, as the pages show them; not escaped for HTML.

use crate::model::shown::within;

/// Characters of a text of others (URL, value, name) that are shown.
const LONGEST: usize = 300;

/// A text of others, the middle left out where it is long. Call it once: its result is longer than
/// [`LONGEST`].
pub(super) fn brief(text: &str) -> String {
    within(text, LONGEST)
}

/// A number with commas.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number and its noun.
pub(super) fn many(number: u64, noun: &str) -> String {
    let ending = match (number, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(number))
}

/// Millionths as percent, rounded up in the second place where it is under 1 %, else in the first.
pub(super) fn percent(ppm: u64) -> String {
    match ppm {
        0..10_000 => format!("{:.2} %", ppm.div_ceil(100) as f64 / 100.0),
        _ => format!("{:.1} %", ppm as f64 / 1e4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_and_nouns_their_ending() {
        assert_eq!((percent(9_999), percent(10_000)), ("1.00 %".into(), "1.0 %".into()));
        assert_eq!((count(1_234_567), many(1, "fetch")), ("1,234,567".into(), "1 fetch".into()));
        assert_eq!((many(2, "fetch"), many(0, "site")), ("2 fetches".into(), "0 sites".into()));
        assert_eq!(brief("a"), "a");
        assert!(brief(&"a".repeat(65_536)).len() < 400);
    }
}
