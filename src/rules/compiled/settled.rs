//! Whether a URL that rules changed is known to canonicalize to itself without being cut again.

use super::{ABSENT, State, Step, Template, part, touch};
use crate::rules::fired::Fired;
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Cells, Cut, Fixed, KeyRef, LETTERS, Part, letters, segment};
use std::cell::LazyCell;

impl Template {
    /// True when the pairs in `cells`, composed and cut again, are the same pairs, and no rule would fire on them. False
    /// says nothing: the URL is then cut again. `out` is the composed URL, `host` gives its host.
    ///
    /// Composing what rules left of a cut URL gives other pairs only where a mark went that told a cut how to read what
    /// stands beside it; these places are asked one by one.
    pub(super) fn settled<'h>(
        &self,
        cells: &Cells,
        state: &State,
        fired: &Fired,
        out: &[u8],
        host: impl Fn() -> &'h [u8],
    ) -> bool {
        let touched = state.touched;
        if touched & touch::SHAPE != 0 || self.cut.semicolons || !self.woken {
            return false;
        }
        if touched & (touch::SLASH | touch::DOUBLED) != 0 && !bare_path(cells) {
            return false;
        }
        if touched & touch::EXTENSION != 0 && !bare_segment(cells, self.cut) {
            return false;
        }
        // The query without some of its keys is cut into the same keys.
        if touched & touch::QUERY != 0 && (state.ordered || state.unnamed) {
            return false;
        }
        // A port may be the default one of another scheme.
        if touched & touch::SCHEME != 0 && memchr::memchr(b':', host()).is_some() {
            return false;
        }
        let again = |rule: u16| part(&self.words, self.programs[usize::from(rule)].again);
        // What functions find in the URL as it is now: a value with capitals may be gone.
        let holds = LazyCell::new(|| letters(out) | state.holds & !LETTERS);
        fired.iter().flat_map(again).all(|&rule| {
            let program = &self.programs[rule as usize];
            program.needs & state.holds == 0
                || program.needs & *holds == 0
                || !program.gate.opens(state.present)
                || self.stopped(program, state).is_some()
                || !program.is_form() && part(&self.steps, program.steps).iter().all(|step| self.is_idle(step, state))
        })
    }
}

impl Template {
    /// A step that changes nothing; false says nothing.
    fn is_idle(&self, step: &Step, state: &State) -> bool {
        let now = state.slot(step.slot()).code;
        match *step {
            Step::Drop(_) | Step::Apply(..) => now == ABSENT,
            Step::Set(_, to, everywhere) => now == to || now == ABSENT && !everywhere,
            Step::Map(_, from, to) => {
                let (map, _) = part(&self.words, (from, to)).as_chunks::<2>();
                map.binary_search_by_key(&now, |m| m[0]).map_or(true, |at| map[at][1] == now)
            }
        }
    }
}

/// The path without its trailing slash, index or doubled slashes is cut into the same parts.
fn bare_path(cells: &Cells) -> bool {
    let (depth, mut needs_slash, mut slash, mut extension) = (depth(cells), false, false, false);
    for cell in &cells.list {
        match cell.key {
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

/// Segments of the path, as no rule has written them.
fn depth(cells: &Cells) -> usize {
    let cell = cells.list.iter().find(|cell| cell.key == KeyRef::Fixed(Fixed::DEPTH));
    cell.map_or(0, |cell| number(cells.value(cell)))
}

fn number(digits: &[u8]) -> usize {
    digits.iter().fold(0, |n, b| n * 10 + usize::from(b - b'0'))
}

/// The last segment without its extension is cut into the same parts, and is nothing else.
fn bare_segment(cells: &Cells, cut: Cut) -> bool {
    // The depth stands before the parts of the path.
    let (mut depth, mut start, mut end) = (0, None, 0);
    for cell in &cells.list {
        match cell.key {
            KeyRef::Fixed(Fixed::TRAILING_SLASH | Fixed::INDEX | Fixed::DOUBLE_SLASH) => return false,
            KeyRef::Fixed(Fixed::DEPTH) => depth = number(cells.value(cell)),
            KeyRef::Fixed(fixed) if fixed.as_path().is_some_and(|(segment, _)| segment + 1 == depth) => {
                start.get_or_insert(cell.start);
                end = cell.end;
            }
            _ => {}
        }
    }
    let Some(start) = start.filter(|&start| start < end && depth + 1 < MAX_SEGMENTS) else { return false };
    let bytes = cells.bytes(start, end);
    let dot = segment::last_dot(bytes);
    if cut.delimiters == 0 && dot == 0 && bytes[0] != b'.' {
        // Where the extension stood at the only dot, the rest is cut as it was.
        return true;
    }
    if segment::is_index(bytes, dot) || bytes == b"." || bytes == b".." {
        return false;
    }
    let mut parts = cells.list.iter().filter_map(|cell| match cell.key {
        KeyRef::Fixed(fixed) => {
            fixed.as_path().filter(|(segment, _)| segment + 1 == depth).map(|(_, part)| (part, cell))
        }
        _ => None,
    });
    let mut at = start;
    let ends = segment::ends(bytes, dot, cut.delimiters);
    Part::ORDER.into_iter().zip(ends).all(|(part, end)| {
        let end = start + end as u32;
        let from = std::mem::replace(&mut at, end);
        let same = |(own, cell): (Part, &crate::url::Cell)| own == part && (cell.start, cell.end) == (from, end);
        end == from || part != Part::Extension && parts.next().is_some_and(same)
    }) && parts.next().is_none()
}
