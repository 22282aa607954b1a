//! Spans: values of one key that mean one page, keyed by all other keys of the reduced URL.

use super::index::{PARAM_SEED, QUERY_SEED};
use super::{AsIs, CompiledSite, GONE, NO_FIXED, Slot};
use crate::rules::apply::Scratch;
use crate::rules::spans::{number, span_group};
use crate::rules::types::SiteRules;
use crate::url::hash::hash;
use crate::url::{self, Fixed, Key};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Numbers, both ends included, and the canonical URL as an index of the seen members; sorted within a group.
type Pages = Vec<(u64, u64, u32)>;

/// The spans of a site.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Spans {
    /// Slot of each key, its seed, and whether its absence is a value, in the order in which they are asked.
    keys: Vec<(Slot, u64, bool)>,
    #[serde(with = "super::sorted")]
    groups: HashMap<u64, Pages, AsIs>,
}

impl CompiledSite {
    /// Keys spans by what the rules make of their URLs. `member_of` gives seen members that are their own canonical URL.
    pub(super) fn fill_spans(
        &mut self,
        site: &SiteRules,
        scratch: &mut Scratch,
        member_of: impl Fn(&str) -> Option<u32>,
    ) {
        let mut spans = Spans::default();
        for local in &site.local {
            let Some(key) = Key::parse(&local.key) else { continue };
            let Some(slot) = self.slot_of(&key) else { continue };
            let seed = self.template.columns[usize::from(slot)].seed;
            spans.keys.push((slot, seed, local.absent && key.optional()));
            for span in &local.pages {
                let Some(page) = member_of(&span.page) else { continue };
                let Ok(split) = url::normalize(span.like.as_bytes(), &mut scratch.cells.text) else { continue };
                scratch.fired.clear();
                self.reduce(&split, scratch, None);
                let Some((hash, _)) = pair(scratch, slot) else { continue };
                // The largest number stands for any value.
                let [low, high] = span.range.map_or([0, u64::MAX], |[low, high]| [low, high.min(u64::MAX - 1)]);
                let group = span_group(scratch.state.identity, hash, seed);
                spans.groups.entry(group).or_default().push((low, high, page));
            }
        }
        // Each group is sorted for itself: their order does not matter.
        #[allow(clippy::iter_over_hash_type)]
        for pages in spans.groups.values_mut() {
            pages.sort_unstable();
        }
        if !spans.keys.is_empty() {
            self.own.pages.get_or_insert_default().spans = spans;
        }
    }
}

impl CompiledSite {
    /// The slot of a key that rules or spans mention.
    fn slot_of(&self, key: &Key) -> Option<Slot> {
        let named = |name: &str, seed| {
            let found =
                self.template.named.find(hash(name.as_bytes(), seed), |at| self.template.columns[at as usize].seed);
            found.filter(|&at| at < u32::from(self.template.slots)).map(|at| at as Slot)
        };
        match key {
            Key::Fixed(Fixed(number)) => self
                .template
                .fixed()
                .get(usize::from(*number))
                .filter(|&&slot| slot != NO_FIXED)
                .map(|&slot| Slot::from(slot)),
            Key::Param(name) => named(name, PARAM_SEED),
            Key::Query(name) => named(name, QUERY_SEED),
        }
    }
}

impl Spans {
    /// No key has any.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The seen member that is canonical for the reduced URL in `scratch`, where one of its keys is in a span.
    pub(super) fn find(&self, scratch: &Scratch) -> Option<u32> {
        let identity = scratch.state.identity;
        self.keys.iter().find_map(|&(slot, seed, absent)| {
            let (hash, value) = match pair(scratch, slot) {
                Some((hash, value)) => (hash, number(value)),
                None if absent => (0, None),
                None => return None,
            };
            let pages = self.groups.get(&span_group(identity, hash, seed))?;
            let within = |p: &&(u64, u64, u32)| p.1 == u64::MAX || value.is_some_and(|v| p.0 <= v && v <= p.1);
            pages.iter().find(within).map(|&(.., member)| member)
        })
    }
}

/// Hash and value of a slot. Slots may not know their cells any more; the marks of the cells know their slots.
fn pair(scratch: &Scratch, slot: Slot) -> Option<(u64, &[u8])> {
    let (cells, marks) = (&scratch.cells, &scratch.state.marks);
    let at = marks.iter().zip(&cells.list).position(|(mark, cell)| mark.slot == slot && cell.key != GONE)?;
    Some((marks[at].hash, cells.value(&cells.list[at])))
}
