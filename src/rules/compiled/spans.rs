//! Spans: values of one key that mean one page, keyed by all other keys of the reduced URL.

use super::{AsIs, CompiledSite};
use crate::rules::apply::Scratch;
use crate::rules::spans::{number, span_group};
use crate::rules::types::SiteRules;
use crate::url::{self, Key};
use std::collections::HashMap;

/// Numbers, both ends included, and the canonical URL as an index of the seen members; sorted within a group.
type Pages = Vec<(u64, u64, u32)>;

/// The spans of a site.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// Seed of each key and whether its absence is a value, in the order in which they are asked.
    keys: Vec<(u64, bool)>,
    groups: HashMap<u64, Pages, AsIs>,
}

impl Spans {
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl CompiledSite {
    /// Keys spans by what the rules make of their URLs. `member_of` gives seen members that are their own canonical URL.
    pub(super) fn fill_spans(
        &mut self,
        site: &SiteRules,
        scratch: &mut Scratch,
        member_of: impl Fn(&str) -> Option<u32>,
    ) {
        for local in &site.local {
            let Some(key) = Key::parse(&local.key) else { continue };
            let seed = key.seed();
            self.spans.keys.push((seed, local.absent && key.optional()));
            for span in &local.pages {
                let Some(page) = member_of(&span.page) else { continue };
                let Ok(split) = url::normalize(span.like.as_bytes(), &mut scratch.cells.text) else { continue };
                scratch.fired.clear();
                self.reduce(&split, scratch);
                let Some(at) = scratch.state.seeds.iter().position(|&s| s == seed) else { continue };
                let group = span_group(self.identity(scratch), scratch.state.hashes[at], seed);
                let [low, high] = span.range.unwrap_or([0, u64::MAX]);
                self.spans.groups.entry(group).or_default().push((low, high, page));
            }
        }
        // Each group is sorted for itself: their order does not matter.
        #[allow(clippy::iter_over_hash_type)]
        for pages in self.spans.groups.values_mut() {
            pages.sort_unstable();
        }
    }

    /// The seen member that is canonical for the reduced URL in `scratch`, where one of its keys is in a span.
    pub(super) fn in_span(&self, scratch: &Scratch) -> Option<u32> {
        let identity = self.identity(scratch);
        let state = &scratch.state;
        for &(seed, absent) in &self.spans.keys {
            let found = match state.seeds.iter().position(|&s| s == seed) {
                Some(at) => {
                    let pages = self.spans.groups.get(&span_group(identity, state.hashes[at], seed));
                    let value = number(scratch.cells.value(&scratch.cells.list[at]));
                    pages.and_then(|pages| {
                        pages.iter().find(|p| p.1 == u64::MAX || value.is_some_and(|v| p.0 <= v && v <= p.1))
                    })
                }
                None if absent => {
                    let pages = self.spans.groups.get(&span_group(identity, 0, seed));
                    pages.and_then(|pages| pages.iter().find(|p| p.1 == u64::MAX))
                }
                None => None,
            };
            if let Some(&(.., member)) = found {
                return Some(member);
            }
        }
        None
    }
}
