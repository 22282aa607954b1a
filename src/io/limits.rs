//! Limits of batches and lines.

/// Most records of a batch.
pub const BATCH_ROWS: usize = 64 << 10;

/// A batch ends after so many bytes of lines, bad ones included, so that a call does bounded work.
pub const BATCH_BYTES: u64 = 4 << 20;

/// Longest line by default, in bytes without its end.
pub const LINE_LIMIT: usize = 64 << 10;
