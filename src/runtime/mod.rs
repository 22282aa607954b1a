//! Workers, memory budget and progress of a run.
pub mod memory;
pub mod progress;
pub mod workers;
