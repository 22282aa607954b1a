//! State of one URL in processing: its buffers, and the stages that [`RuleSet::apply`] runs one after
//! the other and [`Batch`](super::Batch) runs each for many URLs.

use super::applied::Applied;
use super::compiled::{Buffers, CompiledSite};
use super::origin_cache::{Hit, OriginCache};
use super::set::{Compiled, RuleSet};
use crate::url::{self, NormalRef, Split};

/// One URL, with the results of its stages.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    pub(super) buffers: Buffers,
    /// Positions of the parts of the normal form.
    pub(super) split: Split,
    /// Number of the [program](RuleSet::compiled) that acts.
    pub(super) program: Option<u32>,
    /// Number of the page of the site that is canonical; without one, the URL in `buffers.out` is.
    pub(super) member: Option<u32>,
    /// The input, which is in `buffers.out`, is no absolute http or https URL.
    pub(super) invalid: bool,
    /// Cache entry of the origin; if present, the data of the site are in the cache, too.
    pub(super) hit: Option<Hit>,
}

impl Lane {
    /// Computes the normal form of the URL.
    #[inline(always)]
    pub(super) fn normalize(&mut self, url: &[u8], rules: &RuleSet, origins: &mut OriginCache) {
        let hit = origins.find(url, rules.number);
        self.clear(hit);
        let Buffers { kv, length, out, .. } = &mut self.buffers;
        let normalized = url::normalize_behind(hit.map(|hit| hit.origin), url, &mut kv.text, &mut self.split);
        *length = kv.text.len();
        if normalized.is_err() {
            self.invalid = true;
            url.clone_into(out);
        }
    }

    /// Loads a URL in normal form.
    pub(super) fn load(&mut self, url: NormalRef<'_>, rules: &RuleSet, origins: &OriginCache) {
        self.clear(origins.find(url.as_bytes(), rules.number));
        self.split = *url.split();
        url.as_bytes().clone_into(&mut self.buffers.kv.text);
        self.buffers.length = url.as_bytes().len();
    }

    #[inline(always)]
    fn clear(&mut self, hit: Option<Hit>) {
        self.buffers.fired.clear();
        (self.program, self.member, self.invalid, self.hit) = (None, None, false, hit);
    }

    /// Loads the template of the site, so that its cache misses overlap.
    pub(super) fn prefetch(&self, rules: &RuleSet) {
        std::hint::black_box(self.compiled(rules).map_or(0, |site| site.template().prefetch()));
    }

    /// Finds the program for the origin, or else that of `site` for it.
    #[inline(always)]
    pub(super) fn find_site(&mut self, site: Option<u32>, url: &[u8], rules: &RuleSet, origins: &mut OriginCache) {
        if self.invalid {
            return;
        }
        let known = match self.hit {
            Some(hit) => hit.program,
            None => {
                let program = rules.program(self.origin());
                origins.insert(url, &self.buffers.kv.text, &self.split, rules.number, program);
                program
            }
        };
        self.program = match site {
            Some(site) if known != Some(site) => {
                self.hit = None;
                rules.program_on_site(site, self.origin())
            }
            _ => known,
        };
    }

    /// Runs the stages behind [`find_site`](Self::find_site).
    #[inline(always)]
    pub(super) fn run(&mut self, rules: &RuleSet, origins: &mut OriginCache) {
        match self.compiled(rules) {
            Some(site) => {
                self.reduce(site, origins);
                self.look_up(site);
                self.finish(rules, site, origins);
            }
            None => self.pass(rules),
        }
    }

    /// Finishes a URL on a site without rules of the undust method: its normal form, or the output of
    /// published rules.
    pub(super) fn pass(&mut self, rules: &RuleSet) {
        match self.program.map(|program| rules.compiled(program)) {
            _ if self.invalid => {}
            Some(Compiled::Published(site)) => {
                let Buffers { kv, fired, out, .. } = &mut self.buffers;
                fired.extend(site.canonicalize(&kv.text, out));
            }
            site => {
                if let Some(Compiled::Undust(site)) = site {
                    self.leave_out_fragment(site);
                }
                self.buffers.keep_normal();
            }
        }
    }

    /// Removes a fragment that is no key of the site.
    #[inline(always)]
    fn leave_out_fragment(&mut self, site: &CompiledSite) {
        let Buffers { kv, length, .. } = &mut self.buffers;
        if site.leaves_out_fragment(&self.split, &kv.text) {
            self.split.leave_out_fragment(&mut kv.text);
            *length = kv.text.len();
        }
    }

    /// Applies the rules of the site.
    #[inline(always)]
    pub(super) fn reduce(&mut self, site: &CompiledSite, origins: &mut OriginCache) {
        self.leave_out_fragment(site);
        let coded = self.hit.as_ref().and_then(|hit| origins.coded(hit));
        site.reduce(&self.split, &mut self.buffers, coded);
    }

    /// Applies the look-ups of the site.
    #[inline(always)]
    pub(super) fn look_up(&mut self, site: &CompiledSite) {
        self.member = site.member(&self.buffers);
    }

    /// Composes and checks the canonical URL, where no look-up names it.
    #[inline(always)]
    pub(super) fn finish(&mut self, rules: &RuleSet, site: &CompiledSite, origins: &mut OriginCache) {
        if self.member.is_none() {
            self.member = site.conclude(&mut self.buffers, origins, (rules.number, self.program));
        }
    }

    /// Scheme and authority of the normal form.
    fn origin(&self) -> &[u8] {
        &self.buffers.kv.text[..self.split.path.0 as usize]
    }

    /// The site of the undust method whose rules act, where it has any.
    #[inline(always)]
    pub(super) fn compiled<'r>(&self, rules: &'r RuleSet) -> Option<&'r CompiledSite> {
        match rules.compiled(self.program?) {
            Compiled::Undust(site) if !site.is_trivial() => Some(site),
            _ => None,
        }
    }

    /// Result for the URL.
    #[inline]
    pub(super) fn applied<'s>(&'s self, rules: &'s RuleSet) -> Applied<'s> {
        Applied {
            url: self.page(rules).map_or(&self.buffers.out, |page| page.as_bytes()),
            site: self.program.map(|program| rules.site_of(program)),
            fired: &self.buffers.fired,
            looked_up: self.member.is_some(),
            invalid: self.invalid,
        }
    }

    /// The page that a look-up found for the URL.
    #[inline]
    pub(super) fn page<'s>(&self, rules: &'s RuleSet) -> Option<&'s str> {
        match (self.member, rules.compiled(self.program?)) {
            (Some(member), Compiled::Undust(site)) => site.page(member),
            _ => None,
        }
    }
}
