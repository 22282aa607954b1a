//! Words at the end of a path that say how a page is shown, at any depth: `view` of `/a/b/view`, `amp` of
//! `/news/title/amp/`, `-print` of `/news/title-print.html`.

use super::segment::{self, Tail};
use crate::model::{hash64, hash64_seeded};
use serde::{Deserialize, Serialize};

/// Seed of the hashes of words that are joined to a segment.
const JOINED: u64 = 1;

/// The endings of a site's paths, by hash: a few, so that they are compared in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endings([u64; Endings::MOST]);

impl Endings {
    /// No endings.
    pub const NONE: Endings = Endings([0; Endings::MOST]);
    /// Endings of a site: the words beyond are none. A bound of work.
    pub const MOST: usize = 8;
    /// What a word begins with that is joined to a segment: `*-print`.
    pub const MARK: char = '*';

    /// The endings of these words.
    pub fn new(words: &[String]) -> Endings {
        let mut hashes = [0; Endings::MOST];
        let hash = |word: &String| match word.strip_prefix(Endings::MARK) {
            Some(joined) => hash64_seeded(joined.as_bytes(), JOINED),
            None => hash64(word.as_bytes()),
        };
        hashes.iter_mut().zip(words).for_each(|(place, word)| *place = hash(word));
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

    /// True for a segment that is one of them or holds one, and is tokenized otherwise for it.
    pub fn splits(&self, segment: &[u8]) -> bool {
        self.contains(segment) || self.tail(segment).is_some()
    }

    /// The word that is joined to a segment, where it is one of them.
    pub fn tail(&self, segment: &[u8]) -> Option<Tail> {
        let tail = segment::tail(segment).filter(|_| !self.is_empty())?;
        self.0.contains(&hash64_seeded(&segment[tail.joint..tail.end], JOINED)).then_some(tail)
    }
}
