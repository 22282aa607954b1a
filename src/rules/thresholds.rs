//! Thresholds of the learner and of the proof: one table, from which the fields, their defaults, their
//! names in the rule file, `learn --set` and docs/method.md are made.
//!
//! A threshold decides what is learned: how much evidence is enough, or which of several proven equals
//! represents the others. A bound of work only limits the candidates that are looked at, and with them
//! time and memory; it stays a constant beside the code that it bounds.

use serde::de::{Deserialize, Deserializer, Error as _};
use std::collections::BTreeMap;

/// Declares [`Thresholds`] from rows of reason, name, type, default and range.
macro_rules! thresholds {
    ($($(#[doc = $reason:literal])+ $name:ident: $type:ty = $default:expr, $range:expr;)+) => {
        /// Thresholds that decide what is learned. In the rule file those that are not the default.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Thresholds {
            $($(#[doc = $reason])+ pub $name: $type,)+
        }

        impl Default for Thresholds {
            fn default() -> Thresholds {
                Thresholds { $($name: $default,)+ }
            }
        }

        impl Thresholds {
            /// Names, in the order of the table.
            pub const NAMES: &[&str] = &[$(stringify!($name),)+];

            /// Sets a threshold from its text; false where there is none of this name.
            ///
            /// # Errors
            /// A text that is no number of its type, or out of range.
            pub fn set(&mut self, name: &str, text: &str) -> Result<bool, String> {
                match name {
                    $(stringify!($name) => parse(&mut self.$name, name, text, $range),)+
                    _ => return Ok(false),
                }
                .map(|()| true)
            }

            /// The table, with the values of `self`.
            pub fn table(&self) -> Vec<Threshold> {
                let default = Thresholds::default();
                vec![$(Threshold::of(
                    stringify!($name),
                    [default.$name, self.$name],
                    $range,
                    concat!($($reason),+).trim_ascii(),
                ),)+]
            }
        }

        impl Serialize for Thresholds {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let (default, mut map) = (Thresholds::default(), to.serialize_map(None)?);
                $(if self.$name != default.$name {
                    map.serialize_entry(stringify!($name), &self.$name)?;
                })+
                map.end()
            }
        }
    };
}

mod row;
mod table;

pub use row::Threshold;
pub(super) use row::parse;
pub use table::Thresholds;

impl Thresholds {
    /// True where all are the default.
    pub fn is_default(&self) -> bool {
        *self == Thresholds::default()
    }
}

impl<'de> Deserialize<'de> for Thresholds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Thresholds, D::Error> {
        let mut out = Thresholds::default();
        for (name, value) in BTreeMap::<String, serde_json::Number>::deserialize(from)? {
            // As everywhere in a rule file, what a later release has added is passed over.
            out.set(&name, &value.to_string()).map_err(D::Error::custom)?;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_thresholds_that_are_not_the_default() {
        let text = |of: &Thresholds| serde_json::to_string(of).unwrap();
        assert_eq!(text(&Thresholds::default()), "{}");
        let mut other = Thresholds::default();
        for (name, value) in [("agreement_percent", "90"), ("noise_max_chance", "0.0000001"), ("bad_cost", "3")] {
            assert_eq!(other.set(name, value), Ok(true), "{name}");
        }
        assert_eq!(text(&other), r#"{"bad_cost":3,"noise_max_chance":1e-7,"agreement_percent":90}"#);
        assert_eq!(serde_json::from_str::<Thresholds>(&text(&other)).unwrap(), other);
        let read = |text: &str| serde_json::from_str::<Thresholds>(text);
        assert_eq!(read(r#"{"of_a_later_release":1}"#).unwrap(), Thresholds::default());
        assert!(read(r#"{"agreement_percent":101}"#).is_err() && read(r#"{"agreement_percent":"80"}"#).is_err());
    }

    #[test]
    fn every_default_is_in_its_range_and_every_name_is_one() {
        let table = Thresholds::default().table();
        assert!(table.len() == Thresholds::NAMES.len() && table.len() > 80);
        for Threshold { name, default, value, range, reason } in &table {
            assert!(default == value && reason.ends_with('.') && reason.len() > 30, "{name}: {reason}");
            for allowed in [default, &range[0], &range[1]] {
                assert_eq!(Thresholds::default().set(name, allowed), Ok(true), "{name}={allowed}");
            }
            assert_eq!(table.iter().filter(|of| of.name == *name).count(), 1, "{name}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_range() {
        let mut of = Thresholds::default();
        for value in ["101", "-1", "80.5", "many", "", "NaN"] {
            let error = of.set("agreement_percent", value).unwrap_err();
            assert_eq!(error, format!("agreement_percent={value}: agreement_percent is a number from 1 to 100"));
        }
        for value in ["NaN", "inf", "1", "-0.1"] {
            assert!(of.set("energy_damping", value).is_err(), "{value}");
        }
        assert_eq!(of.set("nothing", "1"), Ok(false));
        assert!(of.is_default());
    }
}
