//! Exceptions and look-ups, keyed by what the rules reduce a URL to.

use super::{ALL, CompiledSite, NO_RULE};
use crate::rules::apply::Scratch;
use crate::rules::types::SiteRules;
use crate::url;
use foldhash::fast::FixedState;
use std::collections::HashMap;

impl CompiledSite {
    /// Identity of the reduced URL: the hash of a training row, by the same sum.
    pub(super) fn identity(&self, scratch: &Scratch) -> u64 {
        scratch.state.hashes.iter().fold(0u64, |sum, &hash| sum.wrapping_add(hash))
    }

    pub(super) fn look_up(&self, scratch: &Scratch) -> Option<&[u8]> {
        if self.lookups.is_empty() {
            return None;
        }
        let member = match self.lookups.get(&self.identity(scratch)) {
            Some(&member) => member,
            None if self.spans.is_empty() => return None,
            None => self.in_span(scratch)?,
        };
        self.seen.get(member as usize).map(str::as_bytes)
    }

    /// Keys exceptions and look-ups by what the rules make of them; exceptions first, since they change that.
    pub fn fill_lookups(&mut self, site: &SiteRules, scratch: &mut Scratch) {
        let index: HashMap<&str, u16, FixedState> =
            site.rules.iter().take(usize::from(NO_RULE)).zip(0u16..).map(|(rule, i)| (rule.id.as_str(), i)).collect();
        for [url, rule] in &site.exceptions {
            let rule = if rule == "*" { Some(ALL) } else { index.get(rule.as_str()).copied() };
            let split = url::normalize(url.as_bytes(), &mut scratch.cells.text);
            if let (Some(rule), Ok(split)) = (rule, split) {
                scratch.fired.clear();
                self.reduce_without(&split, scratch, NO_RULE);
                let identity = self.identity(scratch);
                self.exceptions.insert(identity, rule);
            }
        }
        let mut place = |out: &mut CompiledSite, from: &str, to: u32| {
            scratch.fired.clear();
            let Ok(split) = url::normalize(from.as_bytes(), &mut scratch.cells.text) else { return false };
            let normal = scratch.cells.text == from.as_bytes();
            out.reduce(&split, scratch);
            let identity = out.identity(scratch);
            normal && *out.lookups.entry(identity).or_insert(to) == to
        };
        // Only members that are their own canonical URL may be the target of a look-up.
        let mut targets: HashMap<&str, Option<u32>, FixedState> =
            site.aliases.iter().map(|[_, to]| (to.as_str(), None)).collect();
        targets.extend(site.local.iter().flat_map(|l| &l.pages).map(|span| (span.page.as_str(), None)));
        for (url, member) in site.seen.iter().zip(0u32..) {
            // Law: the output is stage-1 normal and its own canonical URL, whatever a rule file says.
            if place(self, url, member)
                && let Some(target) = targets.get_mut(url)
            {
                *target = Some(member);
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
