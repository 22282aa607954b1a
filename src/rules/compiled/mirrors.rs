//! Mirror rules: the URL that the other rules compose moves from a directory to its twin.
//!
//! They run behind all other rules, since a directory is known by the URLs that those compose; what lies at the twin is
//! reduced by the same rules once more.

use super::{CompiledSite, touch};
use crate::rules::apply::Scratch;
use crate::rules::types::{Operation, PREFIX, SiteRules, Test};
use crate::url;

impl CompiledSite {
    /// Compiles the mirror rules of a site, longest directory first.
    pub fn compile_mirrors(&mut self, site: &SiteRules) {
        for (i, rule) in site.rules.iter().enumerate() {
            if let ([scope], [(key, Operation::Keep(target))]) = (&rule.scope[..], &rule.operations[..])
                && let Test::Equals(source) = &scope.test
                && scope.key == PREFIX
                && key == PREFIX
            {
                self.mirrors.push((i as u16, source.clone().into_bytes(), target.clone().into_bytes()));
            }
        }
        self.mirrors.sort_by_key(|m| std::cmp::Reverse(m.1.len()));
    }

    /// Reduces the twin of the reduced URL in `scratch`, where it lies in a mirrored directory.
    pub(super) fn reduce_twin(&self, scratch: &mut Scratch) {
        let mut composed = std::mem::take(&mut scratch.state.composed);
        url::compose(&scratch.cells, &mut composed);
        let below =
            |source: &[u8]| composed.strip_prefix(source).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        if let Some((rule, source, target)) = self.mirrors.iter().find(|m| below(&m.1)) {
            composed.splice(..source.len(), target.iter().copied()).for_each(drop);
            let mut twin = std::mem::take(&mut scratch.state.twin);
            if let Ok(split) = url::normalize(&composed, &mut twin) {
                let base = scratch.cells.text.len() as u32;
                scratch.cells.text.extend_from_slice(&twin);
                self.reduce_here(&split.moved(base), scratch);
                scratch.state.touched |= touch::SHAPE;
                scratch.fired.push(*rule);
                scratch.fired.sort_unstable();
                scratch.fired.dedup();
            }
            scratch.state.twin = twin;
        }
        scratch.state.composed = composed;
    }
}
