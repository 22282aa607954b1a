//! Exceptions and look-ups, keyed by what the rules reduce a URL to.

use super::index::hash;
use super::{ALL, CompiledSite, NO_RULE};
use crate::rules::apply::Scratch;
use crate::rules::types::SiteRules;
use crate::url;
use foldhash::fast::FixedState;
use std::collections::HashMap;

impl CompiledSite {
    /// The seen member that stands for the reduced URL.
    pub(super) fn look_up(&self, scratch: &Scratch) -> Option<&[u8]> {
        let pages = self.own.pages.as_deref()?;
        let member = match pages.lookups.get(&scratch.state.identity) {
            Some(&member) => member,
            None => pages.spans.find(scratch)?,
        };
        pages.seen.bytes(member as usize)
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
                self.reduce_without(&split, scratch, NO_RULE);
                let identity = scratch.state.identity;
                self.own.pages.get_or_insert_default().exceptions.insert(identity, rule);
            }
        }
        let mut place = |out: &mut CompiledSite, from: &str, to: u32| {
            scratch.fired.clear();
            let Ok(split) = url::normalize(from.as_bytes(), &mut scratch.cells.text) else { return false };
            let normal = scratch.cells.text == from.as_bytes();
            out.reduce(&split, scratch);
            let lookups = &mut out.own.pages.get_or_insert_default().lookups;
            normal && *lookups.entry(scratch.state.identity).or_insert(to) == to
        };
        // Only members that are their own canonical URL may be the target of a look-up.
        let mut targets: HashMap<&str, Option<u32>, FixedState> =
            site.aliases.iter().map(|[_, to]| (to.as_str(), None)).collect();
        targets.extend(site.local.iter().flat_map(|l| &l.pages).map(|span| (span.page.as_str(), None)));
        for (url, member) in site.seen.iter().zip(0u32..) {
            // Law: the output is stage-1 normal and its own canonical URL, whatever a rule file says.
            if place(self, url, member) {
                self.own.pages.get_or_insert_default().own.insert(hash(url.as_bytes(), 0));
                if let Some(target) = targets.get_mut(url) {
                    *target = Some(member);
                }
            }
        }
        for [from, to] in &site.aliases {
            if let Some(&Some(member)) = targets.get(to.as_str()) {
                place(self, from, member);
            }
        }
        self.fill_spans(site, scratch, |page| targets.get(page).copied().flatten());
    }
}
