//! A row of the table of thresholds, and its value as text.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// One parameter of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Name in the rule file and of `learn --set`.
    pub name: &'static str,
    /// Default.
    pub default: String,
    /// Value at hand.
    pub value: String,
    /// Smallest and largest allowed value.
    pub range: [String; 2],
    /// What it decides, its unit, and what it was set on.
    pub reason: &'static str,
}

impl Threshold {
    /// The row of a parameter with these values.
    pub(in crate::rules) fn of<T: Display>(
        name: &'static str,
        [default, value]: [T; 2],
        range: RangeInclusive<T>,
        reason: &'static str,
    ) -> Threshold {
        let [default, value] = [default, value].map(|of| of.to_string());
        Threshold { name, default, value, range: [range.start(), range.end()].map(ToString::to_string), reason }
    }
}

/// Sets a parameter from its text.
///
/// # Errors
/// A text that is no number of its type, or out of range.
pub(in crate::rules) fn parse<T: FromStr + PartialOrd + Display>(
    to: &mut T,
    name: &str,
    text: &str,
    range: RangeInclusive<T>,
) -> Result<(), String> {
    match text.parse::<T>().ok().filter(|value| range.contains(value)) {
        Some(value) => {
            *to = value;
            Ok(())
        }
        None => Err(format!("{name}={text}: {name} is a number from {} to {}", range.start(), range.end())),
    }
}
