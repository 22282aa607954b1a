//! Rule sets: types, file format, compiled applier, explanations.
pub mod apply;
pub mod published;
pub mod types;
pub use apply::{Applied, Canonical, RuleSet, Scratch};
pub use types::*;
