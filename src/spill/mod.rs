//! Batches of columns on disk, for data beyond the memory budget.
//!
//! The only module that uses abomonation, and the only one with `unsafe` code ([`block`], with the
//! safety argument). All rows are spilled in one concrete type, [`SpillColumns`]: `u64`s, then `u32`s, then
//! bytes, so that each column is aligned when the batch is read back in place from an 8-byte aligned
//! buffer.
//!
//! A run is a sequence of batches in one unnamed file of a fresh folder of mode 0700 ([`Scratch`]); it
//! is read by the process that wrote it, through the very handle it was written with, once, from front
//! to back. A run that is dropped leaves nothing behind; one whose process is killed leaves the empty
//! folder.
mod block;
mod run;

pub use block::SpillColumns;
pub use run::{Run, RunReader, RunWriter, Scratch, SpillError, View};
