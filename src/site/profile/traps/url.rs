//! One labelled URL among those that may be of a trap, and the kinds of traps.

use serde::{Deserialize, Serialize};

/// Kind of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrapKind {
    /// A segment of the path three times or more: a relative link that leads one level deeper.
    RepeatedSegments,
    /// Dates that mostly show a page seen before.
    Calendar,
    /// A key, or a number in the path, with ever new values that mostly show a page seen before.
    Endless,
    /// Many URLs with one page: an empty listing, a log-in, an error.
    OnePage,
}

/// A labelled URL without scheme and host.
pub(super) struct Url<'t> {
    /// Path and query.
    pub(super) text: &'t str,
    pub(super) cluster: u32,
    /// Its least row.
    pub(super) row: u32,
    pub(super) elsewhere: bool,
    pub(super) is_new: bool,
    /// Hash of the folded pieces.
    pub(super) family: u64,
    /// Depths whose piece is not folded to its general form.
    pub(super) kept: u32,
    /// The path has a segment again and again.
    pub(super) is_repeating: bool,
}

impl Url<'_> {
    pub(super) fn new_of(urls: &[Self]) -> usize {
        urls.iter().filter(|url| url.is_new).count()
    }
}
