//! Length and digest of a file.

use std::fmt;

/// Hash and length of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// XXH3-128.
    pub hash: u128,
    /// Their number.
    pub bytes: u64,
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, xxh3-128 {:032x}", self.bytes, self.hash)
    }
}
