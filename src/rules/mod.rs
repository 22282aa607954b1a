//! Rule sets: types, file format, compiled applier, explanations.
pub mod apply;
mod compiled;
pub mod explain;
pub mod file;
pub mod functions;
pub mod lines;
mod params;
pub mod published;
pub mod types;
mod urls;
pub use apply::{Applied, Canonical, RuleSet, Scratch};
pub use params::{Method, Params};
pub use types::*;
pub use urls::Urls;
