//! The one rule type of learned, published and hand-made rules.
//!
//! A rule is a source pattern (a conjunction of constraints on keys), one operation a touched key, and,
//! for rules between forms, a target pattern whose other keys do not exist. Tree nodes, pooled
//! conditions, value classes and forms are only sources of patterns: whatever stage of the learner made
//! a rule, the applier, the rule file and `explain` know this type alone. WWW10 section 3 names the
//! operations keep, replace and ignore; the departures from them (classes and string functions on the
//! dictionary of a key) are rows of the normalization catalogue.

mod constraint;
mod operation;
mod rule;
mod site;
mod tokens;
mod urls;

pub use constraint::{Constraint, PREFIX, SECTION, Test};
pub use operation::{Function, Operation, Representative};
pub use rule::{Evidence, Kind, Rule};
pub use site::SiteRules;
pub use tokens::{Fragments, Tokens};
pub use urls::Urls;
