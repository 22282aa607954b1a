//! Mirror rules: the URL that the other rules compose moves from a directory to its twin.
//!
//! They run behind all other rules, since a directory is known by the URLs that those compose; what lies at the twin is
//! reduced by the same rules once more.

use super::{CompiledSite, NO_RULE, touch};
use crate::rules::apply::Scratch;
use crate::rules::types::{Operation, PREFIX, SiteRules, Test};
use crate::url::{self, Cells, Fixed, KeyRef};
use serde::{Deserialize, Serialize};

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
        let mut mirrors = Vec::new();
        for (rule, i) in site.rules.iter().take(usize::from(NO_RULE)).zip(0u16..) {
            if let ([scope], [(key, Operation::Keep(target))]) = (&rule.scope[..], &rule.operations[..])
                && let Test::Equals(source) = &scope.test
                && scope.key == PREFIX
                && key == PREFIX
            {
                let (source, target) = (source.clone().into_bytes(), target.clone().into_bytes());
                mirrors.push(Mirror { rule: i, source, target });
            }
        }
        mirrors.sort_by_key(|m| std::cmp::Reverse(m.source.len()));
        if !mirrors.is_empty() {
            self.own.pages.get_or_insert_default().mirrors = mirrors.into();
        }
    }

    /// Mirrored directories, longest first.
    pub(super) fn mirrors(&self) -> &[Mirror] {
        self.own.pages.as_deref().map_or(&[], |pages| &pages.mirrors)
    }

    /// Reduces the twin of the reduced URL in `scratch`, where it lies in a mirrored directory.
    pub(super) fn reduce_twin(&self, scratch: &mut Scratch) {
        self.tidy(&mut scratch.cells, &mut scratch.state);
        if !self.mirrors().iter().any(|m| may_lie_below(&scratch.cells, &m.source)) {
            return;
        }
        let mut composed = std::mem::take(&mut scratch.state.composed);
        url::compose(&scratch.cells, &mut composed);
        let below =
            |source: &[u8]| composed.strip_prefix(source).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        if let Some(Mirror { rule, source, target }) = self.mirrors().iter().find(|m| below(&m.source)) {
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

/// False where the URL of the pairs cannot start with `directory`: most URLs need not be composed to know that.
fn may_lie_below(cells: &Cells, mut directory: &[u8]) -> bool {
    // What stands in the URL must be what is left of the directory, as far as both go.
    let mut meets = |piece: &[u8]| {
        let length = piece.len().min(directory.len());
        let met = directory[..length] == piece[..length];
        directory = &directory[length..];
        met
    };
    for cell in &cells.list {
        let met = match cell.key {
            KeyRef::Fixed(Fixed::SCHEME) => meets(cells.value(cell)) && meets(b"://"),
            KeyRef::Fixed(Fixed::HOST) => meets(cells.value(cell)) && meets(b"/"),
            KeyRef::Fixed(Fixed::DOUBLE_SLASH) => return true,
            KeyRef::Fixed(Fixed::DEPTH) if cells.value(cell) == b"0" => return true,
            KeyRef::Fixed(fixed) => match fixed.as_path() {
                // The first part of the first segment; what follows is compared in the composed URL.
                Some((0, _)) => return meets(cells.value(cell)),
                Some(_) => return true,
                None => true,
            },
            _ => return true,
        };
        if !met {
            return false;
        }
    }
    true
}
