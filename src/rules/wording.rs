//! Parts of rules in words.

use super::{Constraint, Test};

/// Values of a list that are written out; the rest are counted.
pub(super) const SHOWN_VALUES: usize = 6;

/// One constraint, for example `path0 is "a" or "b"`.
pub fn constraint_text(constraint: &Constraint) -> String {
    let key = &constraint.key;
    match &constraint.test {
        Test::Equals(value) => format!("{key} is {value:?}"),
        Test::OneOf(values) => format!("{key} is {}", list(values, "or")),
        Test::NoneOf(values) => format!("{key} is there but not {}", list(values, "or")),
        Test::Not(values) => format!("{key} is not {}", list(values, "or")),
        Test::Present => format!("{key} is there"),
        Test::Absent => format!("{key} is absent"),
    }
}

/// A value in quotes, or `absent`.
pub(super) fn value_text(value: Option<&str>) -> String {
    value.map_or_else(|| "absent".into(), |value| format!("{value:?}"))
}

/// `"a", "b" or "c"`, at most [`SHOWN_VALUES`] of them.
fn list(values: &[String], last: &str) -> String {
    let mut shown: Vec<String> = values.iter().take(SHOWN_VALUES).map(|value| format!("{value:?}")).collect();
    if values.len() > SHOWN_VALUES {
        shown.push(format!("one of {} more", values.len() - SHOWN_VALUES));
    }
    match shown.pop() {
        None => "nothing".into(),
        Some(only) if shown.is_empty() => only,
        Some(end) => format!("{} {last} {end}", shown.join(", ")),
    }
}
