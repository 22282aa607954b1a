//! Data of single pages: exceptions and look-ups, found by the reduced URL.

use super::ranges::{Ranges, group, pair};
use super::{ALL, Buffers, ByHash, CompiledSite, NO_RULE, NO_SLOT};
use crate::rules::Urls;
use crate::rules::types::SiteRules;
use crate::url::{self, Key};
use foldhash::fast::FixedState;
use std::collections::HashMap;

impl CompiledSite {
    /// Number of pages that look-ups and value ranges lead to.
    pub fn members(&self) -> usize {
        self.own.pages.as_deref().map_or(0, |pages| pages.targets.len())
    }

    /// Number of the page that is canonical for the reduced URL in `buffers`.
    #[inline]
    pub fn member(&self, buffers: &Buffers) -> Option<u32> {
        let pages = self.own.pages.as_deref()?;
        let member = pages.lookups.get(&buffers.state.identity).copied().or_else(|| pages.ranges.find(buffers));
        member.filter(|&member| (member as usize) < pages.targets.len())
    }

    /// The URL of a page.
    #[inline]
    pub fn page(&self, member: u32) -> Option<&str> {
        self.own.pages.as_deref()?.targets.get(member as usize)
    }

    /// The rule that is left out for the page with this identity.
    pub(super) fn exception(&self, identity: u64) -> Option<u16> {
        self.own.pages.as_deref()?.exceptions.get(&identity).copied()
    }

    /// Keys value ranges by the reduced forms of their URLs. `number` returns the number of a page.
    fn ranges(&self, site: &SiteRules, buffers: &mut Buffers, number: impl Fn(&str) -> u32) -> Ranges {
        let mut ranges = Ranges::default();
        for (local, &slot) in site.local.iter().zip(&self.template.local) {
            let Some(key) = Key::parse(&local.key).filter(|_| slot != NO_SLOT) else { continue };
            let seed = self.template.columns[usize::from(slot)].seed;
            let of = (slot, seed, local.absent && key.optional() && !local.inner, local.inner);
            ranges.keys.push(of);
            for range in &local.pages {
                let Ok(split) = url::normalize(range.like.as_bytes(), &mut buffers.kv.text) else { continue };
                self.reduce(&split, buffers, None);
                let Some((group, _)) = group(buffers, of).filter(|_| pair(buffers, slot).is_some()) else { continue };
                // The largest number represents any value.
                let [low, high] = range.range.map_or([0, u64::MAX], |[low, high]| [low, high.min(u64::MAX - 1)]);
                ranges.groups.entry(group).or_default().push((low, high, number(&range.page)));
            }
        }
        // Each group is sorted for itself: their order does not matter.
        #[allow(clippy::iter_over_hash_type)]
        for pages in ranges.groups.values_mut() {
            pages.sort_unstable();
        }
        ranges
    }

    /// Keys exceptions and look-ups by the reduced forms of their URLs; exceptions first, since they change
    /// these.
    pub fn fill_lookups(&mut self, site: &SiteRules, buffers: &mut Buffers) {
        if !self.template.identified {
            return;
        }
        let index: HashMap<&str, u16, FixedState> =
            site.rules.iter().take(usize::from(NO_RULE)).zip(0u16..).map(|(rule, i)| (rule.id.as_str(), i)).collect();
        self.own.pages.get_or_insert_default();
        for [url, rule] in &site.exceptions {
            let rule = if rule == "*" { Some(ALL) } else { index.get(rule.as_str()).copied() };
            let split = url::normalize(url.as_bytes(), &mut buffers.kv.text);
            if let (Some(rule), Ok(split)) = (rule, split) {
                self.run_without(NO_RULE, &split, buffers, None);
                self.own.pages.get_or_insert_default().exceptions.insert(buffers.state.identity, rule);
            }
        }
        let listed = site.local.iter().flat_map(|local| &local.pages).map(|range| range.page.as_str());
        let mut targets: Vec<&str> = site.aliases.iter().map(|[_, to]| to.as_str()).chain(listed).collect();
        targets.sort_unstable();
        targets.dedup();
        let number = |page: &str| targets.partition_point(|target| *target < page) as u32;
        let mut lookups = ByHash::default();
        for [from, to] in &site.aliases {
            let Ok(split) = url::normalize(from.as_bytes(), &mut buffers.kv.text) else { continue };
            if buffers.kv.text == from.as_bytes() && !self.leaves_out_fragment(&split, from.as_bytes()) {
                self.reduce(&split, buffers, None);
                lookups.entry(buffers.state.identity).or_insert(number(to));
            }
        }
        let ranges = self.ranges(site, buffers, number);
        let pages = self.own.pages.get_or_insert_default();
        (pages.targets, pages.lookups, pages.ranges) = (targets.iter().copied().collect::<Urls>(), lookups, ranges);
        // A page that is not its own canonical URL is none.
        let own: Vec<bool> = targets
            .iter()
            .map(|page| {
                buffers.kv.text.clear();
                page.as_bytes().clone_into(&mut buffers.out);
                self.is_fixed_point(buffers, None, None)
            })
            .collect();
        let pages = self.own.pages.get_or_insert_default();
        pages.lookups.retain(|_, page| own[*page as usize]);
        pages.ranges.retain(|page| own[page as usize]);
    }
}
