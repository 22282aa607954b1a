//! What is known of single pages: seen members that stand as they are, known by their bytes; exceptions and look-ups, known
//! by what the rules reduce a URL to. What is asked here is what URLs in flight ([`flight`](crate::rules::flight)) ask for
//! all together.

use super::{ALL, CompiledSite, NO_RULE, Pages};
use crate::rules::apply::Scratch;
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

    /// True for a seen member, by its [`hash`](url::Split::hash), that is its own canonical URL; it need not be cut to know
    /// that.
    #[inline]
    pub fn stands(&self, page: u64) -> bool {
        self.own.pages.as_deref().is_some_and(|pages| pages.own.contains(&page))
    }

    /// The seen member that stands for the reduced URL.
    #[inline]
    pub fn member(&self, scratch: &mut Scratch) -> Option<u32> {
        let pages = self.own.pages.as_deref()?;
        match pages.lookups.get(&scratch.state.identity) {
            Some(&member) => Some(member),
            None if pages.spans.is_empty() => None,
            None => {
                self.pay(&mut scratch.cells, &mut scratch.state);
                pages.spans.find(scratch)
            }
        }
    }

    /// The URL of a seen member.
    #[inline]
    pub fn seen_member(&self, member: Option<u32>) -> Option<&str> {
        self.own.pages.as_deref()?.seen.get(member? as usize)
    }

    /// The bytes of the URL of a seen member.
    #[inline]
    pub fn member_bytes(&self, member: u32) -> Option<&[u8]> {
        self.own.pages.as_deref()?.seen.bytes(member as usize)
    }

    /// Loads where the URL of a member stands; what it gives says nothing.
    pub fn fetch_end(&self, member: Option<u32>) -> u64 {
        self.bytes_or_none(member).len() as u64
    }

    /// Loads the URL of a member; what it gives says nothing.
    pub fn fetch_member(&self, member: Option<u32>) -> u64 {
        let url = self.bytes_or_none(member);
        url.first().into_iter().chain(url.last()).fold(0, |all, &byte| all ^ u64::from(byte))
    }

    /// The same, and nothing of none.
    fn bytes_or_none(&self, member: Option<u32>) -> &[u8] {
        member.and_then(|member| self.member_bytes(member)).unwrap_or_default()
    }

    /// The rule that is passed over for the page that the rules reduced the URL to.
    pub(super) fn exception(&self, scratch: &Scratch) -> Option<u16> {
        self.own.pages.as_deref()?.exceptions.get(&scratch.state.identity).copied()
    }

    /// Keys exceptions and look-ups by what the rules make of them; exceptions first, since they change that.
    pub fn fill_lookups(&mut self, site: &SiteRules, scratch: &mut Scratch) {
        if site.exceptions.is_empty() && site.seen.is_empty() {
            return;
        }
        self.own.pages.get_or_insert_default().seen = site.seen.clone();
        let index: HashMap<&str, u16, FixedState> =
            site.rules.iter().take(usize::from(NO_RULE)).zip(0u16..).map(|(rule, i)| (rule.id.as_str(), i)).collect();
        for [url, rule] in &site.exceptions {
            let rule = if rule == "*" { Some(ALL) } else { index.get(rule.as_str()).copied() };
            let split = url::normalize(url.as_bytes(), &mut scratch.cells.text);
            if let (Some(rule), Ok(split)) = (rule, split) {
                scratch.fired.clear();
                self.reduce_without(&split, scratch, NO_RULE, None);
                let identity = scratch.state.identity;
                self.own.pages.get_or_insert_default().exceptions.insert(identity, rule);
            }
        }
        let Pages { mut lookups, mut own, .. } = Pages::default();
        let mut place = |from: &str, to: u32| {
            scratch.fired.clear();
            let Ok(split) = url::normalize(from.as_bytes(), &mut scratch.cells.text) else { return false };
            let normal = scratch.cells.text == from.as_bytes() && !self.leaves_out_fragment(&split, from.as_bytes());
            self.reduce(&split, scratch, None);
            normal && *lookups.entry(scratch.state.identity).or_insert(to) == to
        };
        // Only members that are their own canonical URL may be the target of a look-up.
        let mut targets: HashMap<&str, Option<u32>, FixedState> =
            site.aliases.iter().map(|[_, to]| (to.as_str(), None)).collect();
        targets.extend(site.local.iter().flat_map(|l| &l.pages).map(|span| (span.page.as_str(), None)));
        for (url, member) in site.seen.iter().zip(0u32..) {
            // Law: the output is stage-1 normal and its own canonical URL, whatever a rule file says.
            if place(url, member) {
                own.insert(hash(url.as_bytes(), 0));
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
        self.fill_spans(site, scratch, |page| targets.get(page).copied().flatten());
    }
}
