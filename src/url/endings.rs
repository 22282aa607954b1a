//! Last segments that say how a page is shown, at any depth: `view` of `/a/b/view`, `amp` of `/news/title/amp/`.

use crate::model::hash64;
use serde::{Deserialize, Serialize};

/// The endings of a site's paths, by hash: a few, so that they are compared in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endings([u64; Endings::MOST]);

impl Endings {
    /// No endings.
    pub const NONE: Endings = Endings([0; Endings::MOST]);
    /// Endings of a site: the words beyond are none. A bound of work.
    pub const MOST: usize = 8;

    /// The endings of these words.
    pub fn new(words: &[String]) -> Endings {
        let mut hashes = [0; Endings::MOST];
        hashes.iter_mut().zip(words).for_each(|(hash, word)| *hash = hash64(word.as_bytes()));
        Endings(hashes)
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }

    /// True for a segment that is one of them.
    pub fn contains(&self, segment: &[u8]) -> bool {
        !self.is_empty() && self.0.contains(&hash64(segment))
    }
}
