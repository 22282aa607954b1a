//! Workers, memory budget and progress of a run, on one machine or several.
pub mod hosts;
pub mod memory;
pub mod mesh;
pub mod progress;
pub mod secret;
pub mod ticker;
pub mod workers;
