//! What is known of single pages: seen members that are their own canonical URL, found by their bytes; exceptions and
//! look-ups, found by what the rules reduce a URL to.

use super::{ALL, Buffers, CompiledSite, NO_RULE, Pages};
use crate::rules::types::SiteRules;
use crate::url;
use crate::url::hash::hash;
use foldhash::fast::FixedState;
use std::collections::HashMap;

impl CompiledSite {
    /// Number of seen members.
    pub fn members(&self) -> usize {
        self.own.pages.as_deref().map_or(0, |pages| pages.seen.len())
    }

    /// True for a seen member, by its [`hash`](url::Split::hash), that is its own canonical URL.
    #[inline]
    pub fn is_canonical(&self, page: u64) -> bool {
        self.own.pages.as_deref().is_some_and(|pages| pages.own.contains_key(&page))
    }

    /// Number of the seen member that is canonical for the reduced URL in `buffers`.
    #[inline]
    pub fn member(&self, buffers: &Buffers) -> Option<u32> {
        let pages = self.own.pages.as_deref()?;
        pages.lookups.get(&buffers.state.identity).copied().or_else(|| pages.ranges.find(buffers))
    }

    /// The URL of a seen member.
    #[inline]
    pub fn seen_member(&self, member: Option<u32>) -> Option<&str> {
        self.own.pages.as_deref()?.seen.get(member? as usize)
    }

    /// The bytes of the URL of a seen member; empty without one.
    #[inline]
    pub fn member_bytes(&self, member: Option<u32>) -> &[u8] {
        self.seen_member(member).unwrap_or_default().as_bytes()
    }

    /// The rule that is passed over for the page with this identity.
    pub(super) fn exception(&self, identity: u64) -> Option<u16> {
        self.own.pages.as_deref()?.exceptions.get(&identity).copied()
    }

    /// Keys exceptions and look-ups by what the rules make of them; exceptions first, since they change that.
    pub fn fill_lookups(&mut self, site: &SiteRules, buffers: &mut Buffers) {
        if site.exceptions.is_empty() && site.seen.is_empty() {
            return;
        }
        self.own.pages.get_or_insert_default().seen = site.seen.clone();
        let index: HashMap<&str, u16, FixedState> =
            site.rules.iter().take(usize::from(NO_RULE)).zip(0u16..).map(|(rule, i)| (rule.id.as_str(), i)).collect();
        for [url, rule] in &site.exceptions {
            let rule = if rule == "*" { Some(ALL) } else { index.get(rule.as_str()).copied() };
            let split = url::normalize(url.as_bytes(), &mut buffers.cells.text);
            if let (Some(rule), Ok(split)) = (rule, split) {
                self.run_without(NO_RULE, &split, buffers, None);
                self.own.pages.get_or_insert_default().exceptions.insert(buffers.state.identity, rule);
            }
        }
        let Pages { mut lookups, mut own, .. } = Pages::default();
        let mut place = |from: &str, to: u32| {
            let Ok(split) = url::normalize(from.as_bytes(), &mut buffers.cells.text) else { return false };
            let normal = buffers.cells.text == from.as_bytes() && !self.leaves_out_fragment(&split, from.as_bytes());
            self.reduce(&split, buffers, None);
            normal && *lookups.entry(buffers.state.identity).or_insert(to) == to
        };
        // A look-up leads to a seen member that is its own canonical URL.
        let mut targets: HashMap<&str, Option<u32>, FixedState> =
            site.aliases.iter().map(|[_, to]| (to.as_str(), None)).collect();
        targets.extend(site.local.iter().flat_map(|l| &l.pages).map(|span| (span.page.as_str(), None)));
        for (url, member) in site.seen.iter().zip(0u32..) {
            if place(url, member) {
                own.insert(hash(url.as_bytes(), 0), ());
                if let Some(target) = targets.get_mut(url) {
                    *target = Some(member);
                }
            }
        }
        for [from, to] in &site.aliases {
            if let Some(&Some(member)) = targets.get(to.as_str()) {
                place(from, member);
            }
        }
        let pages = self.own.pages.get_or_insert_default();
        (pages.own, pages.lookups) = (own, lookups);
        self.fill_ranges(site, buffers, |page| targets.get(page).copied().flatten());
    }
}
