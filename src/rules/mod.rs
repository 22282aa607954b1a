//! Rule sets: types, file format, compiled applier, explanations, what people decide about rules, exports.
//!
//! A URL becomes its canonical URL in [`apply`], many become theirs together in [`flight`], and lines of a file in
//! [`lines`]; the same comes out of all three. [`RuleSet::canonicalize`] is for who brings no buffers.
pub mod age;
mod applied;
pub mod apply;
mod ascii;
mod canonical;
mod claims;
mod compiled;
pub mod diff;
pub mod explain;
pub mod export;
pub mod file;
pub mod filter;
mod fired;
pub mod flight;
pub mod functions;
pub mod interpreter;
pub mod lines;
mod names;
mod origins;
pub mod overrides;
pub mod packed;
mod params;
pub mod published;
pub mod saved;
mod seal;
pub mod shared;
pub mod spans;
mod stages;
pub mod stops;
pub mod types;
mod urls;
pub use applied::Applied;
pub use apply::{Compiler, Lean, LeanSite, RuleSet, Scratch};
pub use canonical::{Canonical, FiredRules};
pub use fired::Fired;
pub use flight::Flight;
pub use names::RuleId;
pub use overrides::Overrides;
pub use params::{Method, Params};
pub use shared::SharedRules;
pub use stages::{Stage, Without};
pub use types::*;
pub use urls::Urls;
