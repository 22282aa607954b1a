//! Which site a host belongs to: what every URL asks first.
//!
//! A table of its own, since of a large rule set nothing is in the cache: hash and site stand side by side, so that a
//! host costs one cache miss.

/// Two sites claim it.
pub(super) const AMBIGUOUS: u32 = u32::MAX;
/// No site has it; sites are fewer.
const FREE: u32 = u32::MAX - 1;

/// Sites by the hashes of what they claim: open addressing, at most seven eighths full.
#[derive(Debug, Default)]
pub(super) struct Claims {
    places: Vec<(u64, u32)>,
    held: usize,
}

impl Claims {
    /// Claims a hash for a site; true where another site was the only one that had it.
    pub(super) fn claim(&mut self, hash: u64, site: u32) -> bool {
        if (self.held + 1) * 8 > self.places.len() * 7 {
            self.grow();
        }
        let at = self.place(hash);
        let place = &mut self.places[at];
        match place.1 {
            FREE => {
                *place = (hash, site);
                self.held += 1;
                false
            }
            AMBIGUOUS => false,
            other if other == site => false,
            _ => {
                place.1 = AMBIGUOUS;
                true
            }
        }
    }

    /// The site that claims a hash, or [`AMBIGUOUS`].
    #[inline]
    pub(super) fn find(&self, hash: u64) -> Option<u32> {
        if self.places.is_empty() {
            return None;
        }
        Some(self.places[self.place(hash)].1).filter(|&site| site != FREE)
    }

    /// Loads the place of a hash; what it gives says nothing.
    #[inline]
    pub(super) fn fetch(&self, hash: u64) -> u64 {
        self.places.get(hash as usize & self.places.len().wrapping_sub(1)).map_or(0, |place| place.0)
    }

    /// Where a hash stands, or the free place where it would.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        while self.places[at].1 != FREE && self.places[at].0 != hash {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let room = (self.places.len() * 2).max(4);
        let old = std::mem::replace(&mut self.places, vec![(0, FREE); room]);
        for (hash, site) in old.into_iter().filter(|place| place.1 != FREE) {
            let at = self.place(hash);
            self.places[at] = (hash, site);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hash64;

    #[test]
    fn what_two_sites_claim_is_ambiguous() {
        let mut claims = Claims::default();
        assert_eq!(claims.find(0), None);
        let hash = |n: u32| hash64(&n.to_le_bytes());
        for n in 0..1000 {
            assert!(!claims.claim(hash(n), n / 2));
        }
        // Zero is a hash like any other.
        assert!(!claims.claim(0, 7));
        assert_eq!((claims.find(0), claims.find(hash(1000))), (Some(7), None));
        assert!((0..1000).all(|n| claims.find(hash(n)) == Some(n / 2)));
        assert!(!claims.claim(hash(3), 1) && claims.claim(hash(3), 2) && !claims.claim(hash(3), 3));
        assert_eq!(claims.find(hash(3)), Some(AMBIGUOUS));
    }
}
