//! Mirror rules: a URL that the other rules compose moves to its twin in another directory.
//!
//! They act after all other rules, since fronts are given as those compose them. The other rules act at
//! the twin, too.

use super::reduce::compose;
use super::site::Mirror;
use super::{Buffers, CompiledSite, NO_RULE, append, touch};
use crate::rules::twins::{self, behind_origin, is_parameter};
use crate::rules::types::SiteRules;
use crate::url::{self, Split};
use std::cmp::Reverse;

impl CompiledSite {
    /// Compiles the mirror rules of a site, longest front first.
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

    /// Mirror rules, longest front first.
    pub(super) fn mirrors(&self) -> &[Mirror] {
        self.own.pages.as_deref().map_or(&[], |pages| &pages.mirrors)
    }

    /// Reduces the twin of the reduced URL in `buffers`, where it lies below the front of a mirror rule.
    /// `from` is the split of the URL.
    pub(super) fn move_to_twin(&self, from: &Split, buffers: &mut Buffers) {
        let url = if buffers.fired.is_empty() {
            // Nothing was changed: the pairs compose the URL.
            &buffers.kv.text[..from.fragment.or(from.query).unwrap_or(from.path).1 as usize]
        } else {
            compose(buffers);
            &buffers.out
        };
        let found = self.mirrors().iter().find_map(|mirror| Some((mirror, twins::below(url, &mirror.source)?)));
        let Some((Mirror { rule, source, target }, below)) = found else { return };
        let [mut moved, mut twin] = std::mem::take(&mut buffers.state.twin);
        below.write(target, &mut moved);
        let split = url::normalize(&moved, &mut twin).ok();
        if let Some(split) = split.filter(|split| self.has_origin(&twin[..split.path.0 as usize])) {
            let (start, _) = append(&mut buffers.kv.text, &twin);
            let before = std::mem::take(&mut buffers.fired);
            self.run_with_exceptions(&split.moved(start), buffers, None);
            compose(buffers);
            if is_parameter(source) && behind_origin(&buffers.out) != behind_origin(&twin) {
                // Rules for paths were not shown on values: the URL stays.
                buffers.kv.text.truncate(start as usize);
                self.run_with_exceptions(from, buffers, None);
                compose(buffers);
            } else {
                buffers.fired.extend(before.iter().chain([*rule]));
            }
            // The twin was tokenized and run as any URL is, but not moved again.
            let moves = self.mirrors().iter().any(|mirror| twins::below(&buffers.out, &mirror.source).is_some());
            buffers.state.touched |= touch::SHAPE * u8::from(moves);
        }
        buffers.state.twin = [moved, twin];
    }
}
