//! Rule sets: types, file format, compiled applier, explanations, overrides by people, exports.
//!
//! [`interpreter`] defines the meaning of rules. [`apply`] canonicalizes one URL, [`batch`] many,
//! [`lines`] the lines of a file; [`RuleSet::canonicalize`] is the convenience form with buffers of its
//! own.
pub mod age;
mod applied;
pub mod apply;
mod ascii;
pub mod batch;
mod canonical;
mod checksum;
mod compiled;
#[cfg(feature = "compiled-format")]
pub mod compiled_format;
pub mod diff;
#[cfg(all(test, feature = "program"))]
mod equality_tests;
pub mod explain;
#[cfg(feature = "program")]
pub mod export;
pub mod file;
#[cfg(feature = "program")]
pub mod filter;
mod fired;
pub mod functions;
pub mod interpreter;
mod lane;
#[cfg(feature = "program")]
pub mod lines;
mod names;
mod origin_cache;
pub mod origins;
pub mod overrides;
mod params;
pub mod platforms;
mod provisional;
pub mod published;
pub mod saved;
pub mod set;
pub mod shared;
pub mod stops;
mod thresholds;
mod trace;
pub mod twins;
pub mod types;
pub mod value_ranges;
mod without;
mod wording;
pub use applied::Applied;
pub use apply::Scratch;
pub use batch::Batch;
pub use canonical::{Canonical, FiredRules};
pub use fired::Fired;
pub use overrides::Overrides;
pub use params::{Method, Params};
pub use set::{Compiler, LoadedSite, Loader, RuleSet};
pub use shared::SharedRules;
pub use thresholds::{Threshold, Thresholds};
pub use types::*;
pub use without::Without;
