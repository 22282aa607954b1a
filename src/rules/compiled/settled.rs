//! Whether a URL that rules changed is known to canonicalize to itself without being cut again.

use super::{CompiledSite, State, part, touch};
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Cells, Fixed, KeyRef, Part};

impl CompiledSite {
    /// True when the pairs in `cells`, composed and cut again, are the same pairs, and no rule would fire on them. False
    /// says nothing: the URL is then cut again.
    ///
    /// Composing what rules left of a cut URL gives other pairs only where a mark went that told a cut how to read what
    /// stands beside it; these places are asked one by one.
    pub(super) fn settled(&self, cells: &Cells, state: &State, fired: &[u16]) -> bool {
        let touched = state.touched;
        if touched & touch::SHAPE != 0 || self.cut.semicolons || !self.woken {
            return false;
        }
        if touched & (touch::SLASH | touch::DOUBLED) != 0 && !bare_path(cells) {
            return false;
        }
        if touched & touch::QUERY != 0 && !own_query(cells) {
            return false;
        }
        // A port may be the default one of another scheme.
        let host = |c: &&crate::url::Cell| c.key == KeyRef::Fixed(Fixed::HOST);
        if touched & touch::SCHEME != 0
            && cells.list.iter().find(host).is_none_or(|c| memchr::memchr(b':', cells.value(c)).is_some())
        {
            return false;
        }
        let again = |&rule: &u16| part(&self.words, self.programs[usize::from(rule)].again);
        fired.iter().flat_map(again).all(|&rule| {
            let program = &self.programs[rule as usize];
            !program.gate.opens(state.present) || self.stopped(program, &state.slots).is_some()
        })
    }
}

/// The path without its trailing slash, index or doubled slashes is cut into the same parts.
fn bare_path(cells: &Cells) -> bool {
    let (mut depth, mut needs_slash, mut slash, mut extension) = (0, false, false, false);
    for cell in &cells.list {
        match cell.key {
            KeyRef::Fixed(Fixed::DEPTH) => {
                depth = cells.value(cell).iter().fold(0, |n, b| n * 10 + usize::from(b - b'0'));
            }
            KeyRef::Fixed(Fixed::INDEX | Fixed::DOUBLE_SLASH) => needs_slash = true,
            KeyRef::Fixed(Fixed::TRAILING_SLASH) => slash = true,
            KeyRef::Fixed(Fixed::EXTENSION) => extension = true,
            _ => {}
        }
    }
    if depth + 1 >= MAX_SEGMENTS {
        return false;
    }
    if slash {
        // A slash that a rule added is not written behind nothing, nor behind an extension.
        return depth > 0 && !extension;
    }
    if depth == 0 {
        return true;
    }
    // The last segment has nothing behind it now: its extension, or a parameter in it, would get other keys; an index
    // brings its slash along, and doubled slashes behind the segment are gone with the slash.
    !needs_slash
        && cells.list.iter().all(|cell| match cell.key {
            KeyRef::Fixed(fixed) => fixed.as_path().is_none_or(|(segment, part)| {
                segment + 1 != depth || part != Part::Extension && memchr::memchr(b';', cells.value(cell)).is_none()
            }),
            _ => true,
        })
}

/// The query without some of its keys is cut into the same keys.
fn own_query(cells: &Cells) -> bool {
    cells.list.iter().all(|cell| match cell.key {
        KeyRef::Fixed(fixed) => fixed != Fixed::ORDER,
        KeyRef::Query(a, b) => a != b,
        KeyRef::Param(..) => true,
    })
}
