//! Seeds of keys, and the small tables that find the hashes of their values: a cost of every pair of a
//! URL.

use crate::url::hash::STEP;
use serde::{Deserialize, Serialize};

/// Seed of the names of path parameters.
pub(super) const PARAM_SEED: u64 = 0x9fb2_1c65_1e98_df25;
/// Seed of the names of query keys.
pub(super) const QUERY_SEED: u64 = 0xa076_1d64_78bd_642f;

/// Seed of the values of a fixed key.
pub(super) fn fixed_seed(key: u8) -> u64 {
    STEP.wrapping_mul(u64::from(key) + 1)
}

/// Index from hashes to items: open addressing, four bytes a place, at most a third full. The hashes
/// are stored with the items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Index(Box<[u32]>);

const FREE: u32 = u32::MAX;

impl Index {
    /// The index of the items from `from` on; of equal hashes the first one is found.
    pub(super) fn new(hashes: impl ExactSizeIterator<Item = u64>, from: u32) -> Index {
        if hashes.len() == 0 {
            return Index::default();
        }
        let mut places = vec![FREE; (hashes.len() * 3).next_power_of_two()].into_boxed_slice();
        let mask = places.len() - 1;
        for (hash, item) in hashes.zip(from..) {
            let mut at = hash as usize & mask;
            while places[at] != FREE {
                at = (at + 1) & mask;
            }
            places[at] = item;
        }
        Index(places)
    }

    /// Loads its first cache lines; the result has no meaning.
    #[inline]
    pub(super) fn prefetch(&self) -> u64 {
        lines(&self.0, |&item| u64::from(item))
    }

    /// The item of this hash that is the one looked for.
    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.0.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let item = self.0[at & mask];
            if item == FREE {
                return None;
            }
            if is(item) {
                return Some(item);
            }
            at += 1;
        }
    }
}

/// Loads some word of each of the first cache lines of a list.
#[inline(always)]
pub(super) fn lines<T>(list: &[T], load: impl Fn(&T) -> u64) -> u64 {
    let each = (64 / size_of::<T>()).max(1);
    list.iter().step_by(each).take(12).fold(0, |all, item| all ^ load(item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::hash::hash;

    #[test]
    fn an_index_finds_what_it_holds() {
        let hashes: Vec<u64> = (0..100u64).map(|n| hash(&n.to_le_bytes(), 1)).collect();
        let index = Index::new(hashes[3..].iter().copied(), 3);
        let find = |hash| index.find(hash, |item| hashes[item as usize] == hash);
        for (i, &hash) in hashes.iter().enumerate() {
            assert_eq!(find(hash), (i >= 3).then_some(i as u32));
        }
        assert_eq!(Index::default().find(1, |_| true), None);
    }
}
