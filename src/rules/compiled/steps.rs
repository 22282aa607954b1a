//! What a program does to the pairs of one URL.

use super::{
    ABSENT, Class, Column, CompiledSite, Constant, EVER, Fill, GONE, Mark, OTHER, Program, Reach, Slot, SlotState,
    State, Step, bit, part, touch,
};
use crate::rules::functions;
use crate::rules::types::Function;
use crate::url::keys::host_sub;
use crate::url::{Cell, Cells, Fixed, KeyRef, Part};

impl CompiledSite {
    /// Runs the steps of a program; true when it changed something. A call of its own: most URLs run none, and need not
    /// make room for it.
    #[inline(never)]
    pub(super) fn run(&self, program: &Program, cells: &mut Cells, state: &mut State) -> bool {
        if program.is_form() {
            return self.move_to(program, part(&self.template.fills, program.target), cells, state);
        }
        let mut changed = false;
        for step in part(&self.template.steps, program.steps) {
            changed |= match *step {
                Step::Drop(slot) => self.drop(slot, cells, state),
                Step::Set(slot, code, everywhere) => {
                    let now = state.slot(slot).code;
                    now != code && (now != ABSENT || everywhere) && self.set(slot, code, cells, state)
                }
                Step::Map(slot, from, to) => {
                    let now = state.slot(slot).code;
                    let (map, _) = part(&self.template.words, (from, to)).as_chunks::<2>();
                    match map.binary_search_by_key(&now, |m| m[0]) {
                        Ok(at) if map[at][1] == ABSENT => self.drop(slot, cells, state),
                        Ok(at) => map[at][1] != now && self.set(slot, map[at][1], cells, state),
                        Err(_) => false,
                    }
                }
                Step::Apply(slot, function) => self.function(slot, function, cells, state),
            };
        }
        changed
    }

    pub(super) fn drop(&self, slot: Slot, cells: &mut Cells, state: &mut State) -> bool {
        let SlotState { code, cell: at, row } = state.slot(slot);
        if code == ABSENT {
            return false;
        }
        let cell = &mut cells.list[usize::from(at)];
        let order = cell.key == KeyRef::Fixed(Fixed::ORDER);
        (state.disordered, state.ordered) = (state.disordered | order, state.ordered & !order);
        state.touched |= match cell.key {
            KeyRef::Fixed(fixed) => touch::without(fixed),
            KeyRef::Query(..) => touch::QUERY,
            KeyRef::Param(..) => touch::SHAPE,
        };
        cell.key = GONE;
        state.gone += 1;
        state.identity = state.identity.wrapping_sub(state.marks[usize::from(at)].hash);
        state.present &= !bit(slot);
        state.reach.leave(self.template.first_row(row, state.words));
        state.fill(slot, SlotState::EMPTY);
        true
    }

    pub(super) fn set(&self, slot: Slot, code: u32, cells: &mut Cells, state: &mut State) -> bool {
        let Constant { hash, plain, holds, .. } = self.template.values[code as usize];
        state.holds |= holds;
        let SlotState { code: now, cell: mut place, row } = state.slot(slot);
        if now == ABSENT {
            let column = &self.template.columns[usize::from(slot)];
            let key = self.key_ref(column, cells);
            place = cells.list.len() as u16;
            state.marks.push(Mark { hash, rank: column.rank, slot });
            state.identity = state.identity.wrapping_add(hash);
            state.present |= bit(slot);
            state.disordered = true;
            state.touched |= match key {
                KeyRef::Fixed(Fixed::TRAILING_SLASH) if plain => touch::SLASH,
                _ => touch::SHAPE,
            };
            cells.list.push(Cell { key, start: 0, end: 0 });
        } else {
            let alone = plain && whole_segment(&cells.list, usize::from(place));
            // Parameters that the new order does not name follow in the usual one.
            state.disordered |= cells.list[usize::from(place)].key == KeyRef::Fixed(Fixed::ORDER);
            state.reach.leave(self.template.first_row(row, state.words));
            self.rehash(place, hash, state);
            state.touched |= match cells.list[usize::from(place)].key {
                KeyRef::Fixed(Fixed::SCHEME) if plain => touch::SCHEME,
                KeyRef::Fixed(Fixed::HOST) if plain => touch::HARMLESS,
                KeyRef::Query(..) if plain => touch::QUERY,
                KeyRef::Fixed(_) if alone => touch::HARMLESS,
                _ => touch::SHAPE,
            };
        }
        state.owed.push((place, code));
        let row = self.row(slot, code);
        state.reach.enter(self.template.first_row(row, state.words));
        state.fill(slot, SlotState { code, cell: place, row });
        true
    }

    /// Writes the values that rules gave to the text; what looks at bytes of values asks for it first. Where a seen member
    /// stands for the URL, nobody does.
    #[inline]
    pub(super) fn pay(&self, cells: &mut Cells, state: &mut State) {
        if state.owed_origin != [ABSENT; 2] {
            state.touched |= touch::MOVED;
            self.write_origin(std::mem::take(&mut state.owed_origin), cells);
        }
        for &(at, code) in &state.owed {
            state.touched |= touch::MOVED;
            let start = cells.text.len() as u32;
            cells.text.extend_from_slice(self.text(code));
            let cell = &mut cells.list[usize::from(at)];
            (cell.start, cell.end) = (start, cells.text.len() as u32);
        }
        state.owed.clear();
    }

    /// The value of a cell, whether it was written or is still owed.
    #[inline(never)]
    pub(super) fn value<'a>(&'a self, at: usize, cells: &'a Cells, state: &State) -> &'a [u8] {
        let owed = state.owed.iter().rev().find(|(cell, _)| usize::from(*cell) == at).map(|&(_, code)| code);
        let origin = || state.owed_origin.get(at).copied().filter(|&code| code != ABSENT);
        match owed.or_else(origin) {
            Some(code) => self.text(code),
            None => cells.value(&cells.list[at]),
        }
    }

    /// Writes scheme and host that rules gave a URL, as they will stand in it: composed, they are one piece.
    fn write_origin(&self, [scheme, host]: [u32; 2], cells: &mut Cells) {
        let length = |scheme: u32, cell: &Cell| match scheme {
            ABSENT => cell.end - cell.start,
            code => self.template.values[code as usize].end - self.template.values[code as usize].start,
        };
        let start = cells.text.len() as u32;
        // The scheme of a URL and the plain constants of a scheme are these two.
        let end = match length(scheme, &cells.list[0]) {
            5 => {
                cells.text.extend_from_slice(b"https://");
                start + 5
            }
            _ => {
                cells.text.extend_from_slice(b"http://");
                start + 4
            }
        };
        (cells.list[0].start, cells.list[0].end) = (start, end);
        if host != ABSENT {
            let start = cells.text.len() as u32;
            cells.text.extend_from_slice(self.text(host));
            (cells.list[1].start, cells.list[1].end) = (start, cells.text.len() as u32);
        }
    }

    /// A cell has another value.
    fn rehash(&self, at: u16, hash: u64, state: &mut State) {
        let mark = &mut state.marks[usize::from(at)];
        state.identity = state.identity.wrapping_sub(mark.hash).wrapping_add(hash);
        mark.hash = hash;
    }

    pub(super) fn function(&self, slot: Slot, function: Function, cells: &mut Cells, state: &mut State) -> bool {
        let SlotState { code, cell: at, row } = state.slot(slot);
        if code == ABSENT {
            return false;
        }
        // Another rule may have given it what it has.
        if at < 2 || state.owed.iter().any(|owed| owed.0 == at) {
            self.pay(cells, state);
        }
        let cell = cells.list[usize::from(at)];
        if !functions::apply(function, cells.value(&cell), &mut state.value) {
            return false;
        }
        state.holds |= functions::brings(function);
        if function == Function::DropEmpty {
            return self.drop(slot, cells, state);
        }
        state.touched |= touch::MOVED;
        state.disordered |= cell.key == KeyRef::Fixed(Fixed::ORDER);
        let start = cells.text.len() as u32;
        cells.text.extend_from_slice(&state.value);
        let cell = &mut cells.list[usize::from(at)];
        (cell.start, cell.end) = (start, cells.text.len() as u32);
        let (code, hash) = self.code_of(&self.template.columns[usize::from(slot)], &state.value);
        self.rehash(at, hash, state);
        state.reach.leave(self.template.first_row(row, state.words));
        let row = self.row(slot, code);
        state.reach.enter(self.template.first_row(row, state.words));
        state.fill(slot, SlotState { code, cell: at, row });
        state.touched |= match (function, cell.key) {
            // Cuts do not see the case of letters; what a function writes is no separator.
            (Function::LowerCase, KeyRef::Fixed(fixed)) if fixed == Fixed::EXTENSION || fixed.as_path().is_some() => {
                touch::HARMLESS
            }
            (Function::DropWww, KeyRef::Fixed(Fixed::HOST)) if state.value[0].is_ascii_alphanumeric() => {
                touch::HARMLESS
            }
            // The value of a repeated key holds the key again.
            (_, KeyRef::Query(..)) if memchr::memchr(b'&', &state.value).is_none() => touch::QUERY,
            _ => touch::SHAPE,
        };
        true
    }

    /// Rewrites the pairs to those of the target form; false (and nothing changed) where the source has other keys than
    /// the rule names, or a value cannot stand in its new place.
    pub(super) fn move_to(
        &self,
        program: &Program,
        target: &[(Slot, Fill)],
        cells: &mut Cells,
        state: &mut State,
    ) -> bool {
        if cells.list.len() - state.gone != usize::from(program.named) {
            return false;
        }
        self.pay(cells, state);
        state.target.0.clear();
        state.target.1.clear();
        state.target.2.clear();
        let (mut present, mut identity) = (EVER, 0u64);
        let mut reach = Reach::new(self.template.first_row(0, state.words));
        for (&(to, fill), at) in target.iter().zip(0u16..) {
            let column = &self.template.columns[usize::from(to)];
            let class = column.class;
            // A key that the scope does not name is not there: a rule file made by hand.
            let of = |slot: Slot, state: &State| {
                let SlotState { code, cell, .. } = state.slot(slot);
                cells.list.get(usize::from(cell)).filter(|_| code != ABSENT).copied()
            };
            let (start, end) = match fill {
                Fill::Constant(code) => {
                    state.holds |= self.template.values[code as usize].holds;
                    state.owed.push((at, code));
                    (0, 0)
                }
                Fill::From(slot) => {
                    let Some(cell) = of(slot, state) else { return self.stay(state) };
                    if slot != to && !fits(cells.value(&cell), class) {
                        return self.stay(state);
                    }
                    (cell.start, cell.end)
                }
                Fill::FromSub(slot) => {
                    let Some(cell) = of(slot, state) else { return self.stay(state) };
                    let sub = host_sub(cells.value(&cell));
                    if sub == 0 || !fits(&cells.value(&cell)[..sub], class) {
                        return self.stay(state);
                    }
                    (cell.start, cell.start + sub as u32)
                }
                Fill::ToSub { value, host } => {
                    let (Some(value), Some(host)) = (of(value, state), of(host, state)) else {
                        return self.stay(state);
                    };
                    if !fits(cells.value(&value), class) || cells.value(&host).contains(&b'@') {
                        return self.stay(state);
                    }
                    let sub = host_sub(cells.value(&host));
                    let start = cells.text.len() as u32;
                    cells.text.extend_from_within(value.start as usize..value.end as usize);
                    cells.text.push(b'.');
                    let domain = host.start as usize + sub + usize::from(sub > 0);
                    cells.text.extend_from_within(domain..host.end as usize);
                    (start, cells.text.len() as u32)
                }
            };
            // What stays where it is keeps its name and its code.
            let (key, code, hash) = match fill {
                Fill::From(slot) if slot == to => {
                    let SlotState { code, cell, .. } = state.slot(slot);
                    (cells.list[usize::from(cell)].key, code, state.marks[usize::from(cell)].hash)
                }
                Fill::Constant(code) => (self.key_ref(column, cells), code, self.template.values[code as usize].hash),
                _ => {
                    let (code, hash) = self.code_of(column, cells.bytes(start, end));
                    (self.key_ref(column, cells), code, hash)
                }
            };
            debug_assert!(
                matches!(fill, Fill::Constant(_))
                    || (code, hash) == self.code_of(column, cells.bytes(start, end))
                    || hash == 0 && code == OTHER,
                "a value changed its code"
            );
            present |= bit(to);
            identity = identity.wrapping_add(hash);
            let slot = SlotState { code, cell: at, row: self.row(to, code) };
            reach.enter(self.template.first_row(slot.row, state.words));
            state.target.0.push(Cell { key, start, end });
            state.target.1.push(Mark { hash, rank: column.rank, slot: to });
            state.target.2.push(slot);
        }
        state.clear(state.slots.len());
        std::mem::swap(&mut cells.list, &mut state.target.0);
        std::mem::swap(&mut state.marks, &mut state.target.1);
        for (mark, slot) in state.marks.iter().zip(&state.target.2) {
            state.slots[usize::from(mark.slot)] = *slot;
        }
        (state.gone, state.identity, state.present, state.reach) = (0, identity, present, reach);
        state.touched |= touch::SHAPE;
        state.disordered = true;
        true
    }

    /// Nothing was changed: what a form would have got is not owed.
    #[cold]
    fn stay(&self, state: &mut State) -> bool {
        state.owed.clear();
        false
    }

    /// The key of a column; the name of one that has one is appended to the text.
    fn key_ref(&self, column: &Column, cells: &mut Cells) -> KeyRef {
        if let Class::Fixed(number) = column.class {
            return KeyRef::Fixed(Fixed(number));
        }
        let start = cells.text.len() as u32;
        cells.text.extend_from_slice(part(&self.template.pool, column.name()));
        let end = cells.text.len() as u32;
        if column.class == Class::Param { KeyRef::Param(start, end) } else { KeyRef::Query(start, end) }
    }
}

/// True for a part of a path segment that stands alone in it, or behind groups: those end in their delimiter, so that
/// what stands behind them is cut as if it stood alone.
fn whole_segment(list: &[Cell], at: usize) -> bool {
    let place = |cell: &Cell| match cell.key {
        KeyRef::Fixed(fixed) => fixed.as_path(),
        _ => None,
    };
    let Some((own, _)) = place(&list[at]) else { return false };
    let is_own = |cell: &Cell| place(cell).is_some_and(|(segment, _)| segment == own);
    let is_group = |cell: &Cell| matches!(place(cell), Some((_, Part::Groups | Part::Group)));
    let before = at.checked_sub(1).and_then(|before| list.get(before));
    // The known extension of the last segment is a key of its own and stands behind it.
    let extension = |cell: &Cell| cell.key == KeyRef::Fixed(Fixed::EXTENSION);
    before.is_none_or(|cell| !extension(cell) && (!is_own(cell) || is_group(cell)))
        && list.get(at + 1).is_none_or(|cell| !extension(cell) && !is_own(cell))
}

/// True when a value can be copied to `key` as it is: nothing that has a meaning of its own there is smuggled in.
fn fits(value: &[u8], key: Class) -> bool {
    const HOST: u8 = Fixed::HOST.0;
    let free_of = |bytes: &[u8]| !value.iter().any(|b| bytes.contains(b));
    match key {
        Class::Query => free_of(b"&#+"),
        Class::Param => !value.is_empty() && free_of(b"/?#;"),
        Class::Fixed(HOST) => {
            let label = |l: &[u8]| {
                !l.is_empty()
                    && l.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
                    && l[0] != b'-'
            };
            value.split(|&b| b == b'.').all(label)
        }
        Class::Fixed(_) => !value.is_empty() && value != b"." && value != b".." && free_of(b"/?#;&+"),
    }
}
