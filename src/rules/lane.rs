//! State of one URL in processing: its buffers, and the stages that [`RuleSet::apply`] runs one after
//! the other and [`Batch`](super::Batch) runs each for many URLs.

use super::applied::UrlOutcome;
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
    /// Number of the page that the look-up found.
    member: Option<u32>,
    pub(super) outcome: UrlOutcome,
    /// The canonical URL is known.
    finished: bool,
    /// Cache entry of the origin; if present, the data of the site are in the cache, too.
    pub(super) hit: Option<Hit>,
}

impl Lane {
    /// Computes the normal form of the URL; finishes an invalid one.
    #[inline(always)]
    pub(super) fn normalize(&mut self, url: &[u8], rules: &RuleSet, origins: &mut OriginCache) {
        if self.read(url, origins.find(url, rules.number)).is_err() {
            self.buffers.out.clear();
            self.buffers.out.extend_from_slice(url);
            (self.outcome, self.finished) = (UrlOutcome::Invalid, true);
        }
    }

    /// Reads a URL: computes its normal form, nothing of its site. `hit` is the cache entry of its origin.
    #[inline(always)]
    fn read(&mut self, url: &[u8], hit: Option<Hit>) -> Result<(), url::Invalid> {
        self.clear(hit);
        url::normalize_behind(hit.map(|hit| hit.origin), url, &mut self.buffers.cells.text, &mut self.split)?;
        self.buffers.length = self.buffers.cells.text.len();
        Ok(())
    }

    /// Loads a URL in normal form, of this site where that has its origin.
    pub(super) fn load(&mut self, url: NormalRef<'_>, site: Option<u32>, rules: &RuleSet) {
        self.clear(None);
        self.split = *url.split();
        self.buffers.cells.text.clear();
        self.buffers.cells.text.extend_from_slice(url.as_bytes());
        self.buffers.length = url.as_bytes().len();
        self.program = site.and_then(|site| rules.program_on_site(site, self.origin()));
    }

    #[inline(always)]
    fn clear(&mut self, hit: Option<Hit>) {
        self.buffers.fired.clear();
        (self.program, self.member, self.outcome, self.finished, self.hit) = (None, None, UrlOutcome::Made, false, hit);
    }

    /// Loads the template of the site, so that its cache misses overlap.
    pub(super) fn prefetch(&self, rules: &RuleSet) {
        std::hint::black_box(self.compiled(rules).map_or(0, |site| site.template().prefetch()));
    }

    /// Finds the program for the origin, or else that of `site` for it.
    #[inline(always)]
    pub(super) fn find_site(&mut self, site: Option<u32>, url: &[u8], rules: &RuleSet, origins: &mut OriginCache) {
        if self.finished {
            return;
        }
        self.program = match (site, self.hit) {
            (None, Some(hit)) => hit.program,
            (None, None) => {
                let program = rules.program(self.origin());
                origins.insert(url, &self.buffers.cells.text, &self.split, rules.number, program);
                program
            }
            (Some(site), hit) => {
                self.hit = hit.filter(|hit| hit.program == Some(site));
                if self.hit.is_some() { Some(site) } else { rules.program_on_site(site, self.origin()) }
            }
        };
    }

    /// Finishes a URL without a learned site: its normal form, or the output of published rules.
    pub(super) fn pass(&mut self, rules: &RuleSet) {
        let Buffers { cells, fired, out, .. } = &mut self.buffers;
        match self.program.map(|program| rules.compiled(program)) {
            _ if self.finished => {}
            Some(Compiled::Published(site)) => {
                let rule = site.canonicalize(&cells.text, out).map(usize::from);
                rule.into_iter().for_each(|rule| fired.add(rule / 64, 1 << (rule % 64)));
            }
            _ => self.buffers.keep_normal(),
        }
        self.finished = true;
    }

    /// Removes a fragment that is no key of the site.
    #[inline(always)]
    pub(super) fn leave_out_fragment(&mut self, site: &CompiledSite) {
        if self.split.fragment.is_some() && site.leave_out_fragment(&mut self.split, &mut self.buffers.cells.text) {
            self.buffers.length = self.buffers.cells.text.len();
        }
    }

    /// True where the URL, without a fragment that is no key, is canonical: on a site without rules.
    #[inline(always)]
    pub(super) fn recognize(&mut self, site: &CompiledSite) -> bool {
        self.leave_out_fragment(site);
        if !site.is_trivial() {
            return false;
        }
        self.buffers.keep_normal();
        self.finished = true;
        true
    }

    /// Applies the rules of the site.
    #[inline(always)]
    pub(super) fn reduce(&mut self, site: &CompiledSite, origins: &mut OriginCache) {
        let coded = self.hit.as_ref().and_then(|hit| origins.coded(hit));
        site.reduce(&self.split, &mut self.buffers, coded);
    }

    /// Applies the look-ups of the site.
    #[inline(always)]
    pub(super) fn look_up(&mut self, site: &CompiledSite) {
        self.member = site.member(&self.buffers);
    }

    /// Composes and checks the canonical URL.
    #[inline(always)]
    pub(super) fn finish(&mut self, rules: &RuleSet, site: &CompiledSite, origins: &mut OriginCache) {
        let member = site.conclude(self.member, &mut self.buffers, origins, (rules.number, self.program));
        self.outcome = member.map_or(UrlOutcome::Made, UrlOutcome::Member);
    }

    /// Scheme and authority of the normal form.
    fn origin(&self) -> &[u8] {
        &self.buffers.cells.text[..self.split.path.0 as usize]
    }

    /// The rules of its site, unless the URL is finished.
    #[inline(always)]
    pub(super) fn compiled<'r>(&self, rules: &'r RuleSet) -> Option<&'r CompiledSite> {
        match self.program.filter(|_| !self.finished).map(|program| rules.compiled(program)) {
            Some(Compiled::Undust(site)) => Some(site),
            _ => None,
        }
    }
}
