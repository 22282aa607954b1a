//! Constraints: tests of a rule on the values of keys.

use serde::{Deserialize, Serialize};

/// Test of a constraint on the value of one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// The key has exactly this value.
    Equals(String),
    /// The key has one of these values (sorted).
    OneOf(Vec<String>),
    /// The key is present and has none of these values (sorted): the branch of the trivial values of a tree
    /// node.
    NoneOf(Vec<String>),
    /// The key has none of these values (sorted), or is not there.
    Not(Vec<String>),
    /// The key is there, whatever its value.
    Present,
    /// The key is not there. An absent key is a value of its own.
    Absent,
}

/// One constraint of a source pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Constraint {
    /// Key in the notation of [`crate::url::keys`], for example `query sid=`.
    pub key: String,
    /// Test on its value.
    pub test: Test,
}

/// Pseudo-key of conditions: the [section](crate::url::section) of the URL as it came.
pub const SECTION: &str = "section";

/// Pseudo-key of mirror rules: scheme, host and leading path segments of the URL that the other rules
/// compose.
pub const PREFIX: &str = "prefix";
