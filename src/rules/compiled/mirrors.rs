//! Mirror rules: a URL that the other rules compose moves from a directory to its twin.
//!
//! They act after all other rules, since a directory is given as those compose it. The same rules act
//! at the twin.

use super::reduce::compose;
use super::{Buffers, CompiledSite, NO_RULE, touch};
use crate::rules::types::SiteRules;
use crate::url::{self, Split};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// A directory and its twin.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mirror {
    rule: u16,
    source: Vec<u8>,
    target: Vec<u8>,
}

impl CompiledSite {
    /// Compiles the mirror rules of a site, longest directory first.
    pub fn compile_mirrors(&mut self, site: &SiteRules) {
        let rules = site.rules.iter().take(usize::from(NO_RULE)).zip(0u16..);
        let mirror =
            |(source, target): (&str, &str), rule| Mirror { rule, source: source.into(), target: target.into() };
        let mut mirrors: Vec<Mirror> = rules.filter_map(|(rule, at)| Some(mirror(rule.mirror()?, at))).collect();
        mirrors.sort_by_key(|mirror| Reverse(mirror.source.len()));
        if !mirrors.is_empty() {
            self.own.pages.get_or_insert_default().mirrors = mirrors.into();
        }
    }

    /// Mirrored directories, longest first.
    pub(super) fn mirrors(&self) -> &[Mirror] {
        self.own.pages.as_deref().map_or(&[], |pages| &pages.mirrors)
    }

    /// Reduces the twin of the reduced URL in `buffers`, where it lies in a mirrored directory. `split` is
    /// that of the URL.
    pub(super) fn move_to_twin(&self, split: &Split, buffers: &mut Buffers) {
        let url = if buffers.fired.is_empty() {
            // Nothing was changed: the pairs compose the URL.
            &buffers.cells.text[..split.fragment.or(split.query).unwrap_or(split.path).1 as usize]
        } else {
            compose(buffers);
            &buffers.out
        };
        let Some(Mirror { rule, source, target }) = self.mirrors().iter().find(|mirror| mirror.holds(url)) else {
            return;
        };
        if buffers.fired.is_empty() {
            compose(buffers);
        }
        let mut twin = std::mem::take(&mut buffers.state.twin);
        buffers.out.splice(..source.len(), target.iter().copied()).for_each(drop);
        let split = url::normalize(&buffers.out, &mut twin).ok();
        if let Some(split) = split.filter(|split| self.has_origin(&twin[..split.path.0 as usize])) {
            let start = buffers.cells.text.len() as u32;
            buffers.cells.text.extend_from_slice(&twin);
            let before = std::mem::take(&mut buffers.fired);
            self.run_with_exceptions(&split.moved(start), buffers, None);
            buffers.state.touched |= touch::SHAPE;
            buffers.fired.add(usize::from(rule / 64), 1 << (rule % 64));
            buffers.fired.add_all(&before);
        }
        compose(buffers);
        buffers.state.twin = twin;
    }
}

impl Mirror {
    fn holds(&self, url: &[u8]) -> bool {
        url.strip_prefix(&self.source[..]).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}
