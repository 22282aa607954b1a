//! Mirror rules: the URL that the other rules compose moves from a directory to its twin.
//!
//! They run behind all other rules, since a directory is known by the URLs that those compose; what lies at the twin is
//! reduced by the same rules once more.

use super::{CompiledSite, GONE, NO_RULE, State, touch};
use crate::rules::apply::Scratch;
use crate::rules::types::{Operation, PREFIX, SiteRules, Test};
use crate::url::{self, Cell, Cells, Fixed, KeyRef};
use serde::{Deserialize, Serialize};

/// A directory and its twin.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mirror {
    rule: u16,
    /// Bytes of scheme and host of the directory.
    origin: u32,
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
                let origin = source.len() - path(&source).len();
                mirrors.push(Mirror { rule: i, origin: origin as u32, source, target });
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
        if scratch.state.disordered {
            self.tidy(&mut scratch.cells, &mut scratch.state);
        }
        if !self.mirrors().iter().any(|m| self.may_lie_below(&scratch.cells, &scratch.state, m)) {
            debug_assert!(!self.lies_below(scratch), "a mirrored directory was passed over");
            return;
        }
        self.move_to_twin(scratch);
    }

    /// The same for a URL that may lie in one.
    #[inline(never)]
    fn move_to_twin(&self, scratch: &mut Scratch) {
        self.tidy(&mut scratch.cells, &mut scratch.state);
        let mut composed = std::mem::take(&mut scratch.state.composed);
        url::compose(&scratch.cells, &mut composed);
        if let Some(Mirror { rule, source, target, .. }) = self.mirrors().iter().find(|m| m.holds(&composed)) {
            composed.splice(..source.len(), target.iter().copied()).for_each(drop);
            let mut twin = std::mem::take(&mut scratch.state.twin);
            if let Ok(split) = url::normalize(&composed, &mut twin) {
                let base = scratch.cells.text.len() as u32;
                scratch.cells.text.extend_from_slice(&twin);
                let mut fired = std::mem::take(&mut scratch.state.fired);
                std::mem::swap(&mut fired, &mut scratch.fired);
                scratch.fired.clear();
                self.reduce_here(&split.moved(base), scratch, None);
                scratch.state.touched |= touch::SHAPE;
                scratch.fired.add(*rule);
                scratch.fired.add_all(&fired);
                scratch.state.fired = fired;
            }
            scratch.state.twin = twin;
        }
        scratch.state.composed = composed;
    }

    /// False where the URL of the pairs cannot start with the directory: most URLs need not be composed to know that, nor need
    /// anybody write what rules gave them. Of scheme and host the lengths are looked at, and last: most URLs of a site have
    /// those of its directories.
    fn may_lie_below(&self, cells: &Cells, state: &State, directory: &Mirror) -> bool {
        let [scheme, host, others @ ..] = &cells.list[..] else { return true };
        if (scheme.key, host.key) != (KeyRef::Fixed(Fixed::SCHEME), KeyRef::Fixed(Fixed::HOST)) {
            return true;
        }
        let (origin, mut left) = directory.source.split_at(directory.origin as usize);
        // What stands in the path must be what is left of the directory, as far as both go.
        let mut meets = |piece: &[u8]| {
            let length = piece.len().min(left.len());
            // Byte by byte: most differ in one of the first.
            let met = left.iter().zip(piece).all(|(a, b)| a == b);
            left = &left[length..];
            met
        };
        let value = |cell: &Cell, at: usize| match state.owed.is_empty() {
            true => cells.value(cell),
            false => self.value(at, cells, state),
        };
        let mut segments = 0;
        for (cell, at) in others.iter().zip(2..) {
            match cell.key {
                GONE | KeyRef::Fixed(Fixed::INDEX | Fixed::TRAILING_SLASH) => {}
                KeyRef::Fixed(Fixed::DEPTH) if value(cell, at) != b"0" => {}
                KeyRef::Fixed(fixed) => match fixed.as_path() {
                    Some((segment, _)) if segment <= segments => {
                        let slash = segment < segments || {
                            segments += 1;
                            meets(b"/")
                        };
                        if !(slash && meets(value(cell, at))) {
                            return false;
                        }
                    }
                    _ => break,
                },
                _ => break,
            }
        }
        self.value(0, cells, state).len() + 3 + self.value(1, cells, state).len() == origin.len()
    }

    /// The reduced URL lies in a mirrored directory: told from its bytes.
    fn lies_below(&self, scratch: &mut Scratch) -> bool {
        self.tidy(&mut scratch.cells, &mut scratch.state);
        let mut composed = Vec::new();
        url::compose(&scratch.cells, &mut composed);
        self.mirrors().iter().any(|m| m.holds(&composed))
    }
}

impl Mirror {
    fn holds(&self, url: &[u8]) -> bool {
        url.strip_prefix(&self.source[..]).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

/// What stands behind scheme and host.
fn path(url: &[u8]) -> &[u8] {
    let authority = url.windows(3).position(|mark| mark == b"://").map_or(0, |at| at + 3);
    &url[memchr::memchr(b'/', &url[authority..]).map_or(url.len(), |at| authority + at)..]
}
