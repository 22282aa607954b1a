//! Values that are drawn at random: sessions, tokens against forged requests, hashes.

use super::Thresholds;
use super::columns::Columns;

/// True for a value with a run of `least` letters and digits or more, with a digit.
pub(super) fn holds_token(value: &[u8], least: usize) -> bool {
    let is_mixed = |run: &[u8]| run.len() >= least && run.iter().any(u8::is_ascii_digit);
    let is_hexadecimal = value.iter().all(|&b| b.is_ascii_hexdigit() || b == b'-');
    value.split(|b| !b.is_ascii_alphanumeric()).any(is_mixed) || is_hexadecimal && is_mixed(value)
}

/// True where most values of a key (`small_opaque_percent`) hold a random token: a run of at least `small_opaque`
/// letters and digits, or of hexadecimal digits with dashes between them.
pub(super) fn are_random(columns: &Columns, key: usize, thresholds: &Thresholds) -> bool {
    let values = || (1..columns.codes_len(key) as u32).map(|code| columns.value(key, code));
    let values = || values().filter(|value| !value.is_empty());
    let tokens = values().filter(|value| holds_token(value, thresholds.small_opaque)).count();
    tokens > 0 && tokens * 100 >= values().count() * thresholds.small_opaque_percent
}
