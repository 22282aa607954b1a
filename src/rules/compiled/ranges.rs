//! Value ranges: values of one key that are one page, found by all other pairs of the reduced URL.

use super::{Buffers, ByHash, REMOVED, Slot};
use crate::rules::value_ranges::{inner_number, number, range_group};
use crate::url::{self};
use serde::{Deserialize, Serialize};

/// Numbers, both ends included, and the number of the page; sorted within a group.
pub(super) type Pages = Vec<(u64, u64, u32)>;

/// The value ranges of a site.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ranges {
    /// The keys in the order in which they are tried.
    pub(super) keys: Vec<RangeKey>,
    #[serde(with = "super::sorted")]
    pub(super) groups: ByHash<Pages>,
}

/// Slot and seed of a key whose values are in ranges, whether its absence is a value, and whether the
/// numbers are those behind text.
pub(super) type RangeKey = (Slot, u64, bool, bool);

/// The group of the reduced URL in `buffers` and the number in the value of the key; `None` where no
/// range can hold it.
pub(super) fn group(buffers: &Buffers, (slot, seed, absent, inner): RangeKey) -> Option<(u64, Option<u64>)> {
    let group = |hash| range_group(buffers.state.identity, hash, seed);
    match pair(buffers, slot) {
        Some((hash, value)) if inner => {
            let (text, number) = inner_number(value)?;
            Some((group(hash).wrapping_add(url::hash::hash(text, seed.rotate_left(7))), Some(number)))
        }
        Some((hash, value)) => Some((group(hash), number(value))),
        None => absent.then(|| (group(0), None)),
    }
}

impl Ranges {
    /// Keeps the ranges whose page `holds`.
    pub(super) fn retain(&mut self, holds: impl Fn(u32) -> bool) {
        self.groups.retain(|_, pages| {
            pages.retain(|&(.., page)| holds(page));
            !pages.is_empty()
        });
    }

    /// The page that is canonical for the reduced URL in `buffers`, where the value of a key is in a range.
    pub(super) fn find(&self, buffers: &Buffers) -> Option<u32> {
        self.keys.iter().find_map(|&key| {
            let (group, value) = group(buffers, key)?;
            let pages = self.groups.get(&group)?;
            let within = |p: &&(u64, u64, u32)| p.1 == u64::MAX || value.is_some_and(|v| p.0 <= v && v <= p.1);
            pages.iter().find(within).map(|&(.., member)| member)
        })
    }
}

/// Hash and value of a slot. Slots may have lost their pairs; pairs keep their slots.
pub(super) fn pair(buffers: &Buffers, slot: Slot) -> Option<(u64, &[u8])> {
    let (kv, pairs) = (&buffers.kv, &buffers.state.pairs);
    let at = pairs.iter().zip(&kv.list).position(|(pair, key_value)| pair.slot == slot && key_value.key != REMOVED)?;
    Some((pairs[at].hash, kv.value(&kv.list[at])))
}
