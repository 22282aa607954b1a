//! Version of the format of a rule file.

use serde::{Deserialize, Serialize};

/// Version of the format of a rule file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Format {
    /// Readers support one or a few of these and refuse the others.
    pub major: u32,
    /// Readers ignore the additions of a newer one.
    pub minor: u32,
}

/// The format this program writes.
pub const FORMAT: Format = Format { major: 2, minor: 1 };
