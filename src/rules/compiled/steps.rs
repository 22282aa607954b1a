//! What a program does to the pairs of one URL.

use super::{
    ABSENT, Check, CompiledSite, Constant, Fill, GONE, NO_CELL, OTHER, Program, Slot, State, Step, bit, touch,
};
use crate::model::hash64_seeded;
use crate::rules::functions;
use crate::rules::types::Function;
use crate::url::keys::host_sub;
use crate::url::{Cell, Cells, Fixed, Key, KeyRef};

impl CompiledSite {
    /// Runs the steps of a program; true when it changed something.
    pub(super) fn run(&self, program: &Program, cells: &mut Cells, state: &mut State) -> bool {
        if let Some(target) = &program.target {
            return self.move_to(program, target, cells, state);
        }
        let mut changed = false;
        for step in &program.steps {
            changed |= match *step {
                Step::Drop(slot) => self.drop(slot, cells, state),
                Step::Set(slot, code, everywhere) => {
                    let now = state.codes[usize::from(slot)];
                    now != code && (now != ABSENT || everywhere) && self.set(slot, code, cells, state)
                }
                Step::Map(slot, ref map) => {
                    let now = state.codes[usize::from(slot)];
                    match map.binary_search_by_key(&now, |m| m.0) {
                        Ok(at) if map[at].1 == ABSENT => self.drop(slot, cells, state),
                        Ok(at) => map[at].1 != now && self.set(slot, map[at].1, cells, state),
                        Err(_) => false,
                    }
                }
                Step::Apply(slot, function) => self.function(slot, function, cells, state),
            };
        }
        changed
    }

    pub(super) fn drop(&self, slot: Slot, cells: &mut Cells, state: &mut State) -> bool {
        let at = state.cells[usize::from(slot)];
        if at == NO_CELL {
            return false;
        }
        let cell = &mut cells.list[usize::from(at)];
        state.disordered |= cell.key == KeyRef::Fixed(Fixed::ORDER);
        state.touched |= match cell.key {
            KeyRef::Fixed(Fixed::FRAGMENT | Fixed::EMPTY_QUERY | Fixed::WHOLE_QUERY) => touch::HARMLESS,
            KeyRef::Fixed(Fixed::TRAILING_SLASH | Fixed::INDEX) => touch::SLASH,
            KeyRef::Fixed(Fixed::DOUBLE_SLASH) => touch::DOUBLED,
            KeyRef::Fixed(Fixed::ORDER) | KeyRef::Query(..) => touch::QUERY,
            KeyRef::Fixed(_) | KeyRef::Param(..) => touch::SHAPE,
        };
        cell.key = GONE;
        state.present &= !bit(slot);
        state.cells[usize::from(slot)] = NO_CELL;
        state.codes[usize::from(slot)] = ABSENT;
        true
    }

    pub(super) fn set(&self, slot: Slot, code: u32, cells: &mut Cells, state: &mut State) -> bool {
        let Constant { hash, plain, .. } = self.values[code as usize];
        let (start, end) = self.constant(code, cells);
        let at = usize::from(slot);
        if state.cells[at] == NO_CELL {
            let key = key_ref(&self.keys[at], cells);
            state.cells[at] = cells.list.len() as u16;
            state.seeds.push(self.seeds[at]);
            state.hashes.push(hash);
            state.present |= bit(slot);
            state.disordered = true;
            state.touched |= match key {
                KeyRef::Fixed(Fixed::TRAILING_SLASH) if plain => touch::SLASH,
                _ => touch::SHAPE,
            };
            cells.list.push(Cell { key, start, end });
        } else {
            let alone = plain && whole_segment(&cells.list, usize::from(state.cells[at]));
            let cell = &mut cells.list[usize::from(state.cells[at])];
            (cell.start, cell.end) = (start, end);
            state.hashes[usize::from(state.cells[at])] = hash;
            state.touched |= match cell.key {
                KeyRef::Fixed(Fixed::SCHEME) if plain => touch::SCHEME,
                KeyRef::Fixed(Fixed::HOST) if plain => touch::HARMLESS,
                KeyRef::Query(..) if plain => touch::QUERY,
                KeyRef::Fixed(_) if alone => touch::HARMLESS,
                _ => touch::SHAPE,
            };
        }
        state.codes[at] = code;
        true
    }

    /// Appends the value of a code to the text.
    pub(super) fn constant(&self, code: u32, cells: &mut Cells) -> (u32, u32) {
        let Constant { start: a, end: b, .. } = self.values[code as usize];
        let start = cells.text.len() as u32;
        cells.text.extend_from_slice(&self.pool[a as usize..b as usize]);
        (start, cells.text.len() as u32)
    }

    pub(super) fn function(&self, slot: Slot, function: Function, cells: &mut Cells, state: &mut State) -> bool {
        let at = state.cells[usize::from(slot)];
        if at == NO_CELL {
            return false;
        }
        let cell = cells.list[usize::from(at)];
        if !functions::apply(function, cells.value(&cell), &mut state.value) {
            return false;
        }
        if function == Function::DropEmpty {
            return self.drop(slot, cells, state);
        }
        let start = cells.text.len() as u32;
        cells.text.extend_from_slice(&state.value);
        let cell = &mut cells.list[usize::from(at)];
        (cell.start, cell.end) = (start, cells.text.len() as u32);
        let hash = hash64_seeded(&state.value, self.seeds[usize::from(slot)]);
        state.hashes[usize::from(at)] = hash;
        state.codes[usize::from(slot)] = if self.coded[usize::from(slot)] { self.code_of_hash(hash) } else { OTHER };
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
        target: &[(Key, u64, Fill)],
        cells: &mut Cells,
        state: &mut State,
    ) -> bool {
        let live = cells.list.iter().filter(|c| c.key != GONE).count();
        if live != program.checks.iter().filter(|(_, check)| !matches!(check, Check::Absent)).count() {
            return false;
        }
        state.source.clear();
        for (key, _, fill) in target {
            // A key that the scope does not name is not there: a rule file made by hand.
            let of = |slot: Slot, state: &State| cells.list.get(usize::from(state.cells[usize::from(slot)])).copied();
            let (start, end) = match *fill {
                Fill::Constant(code) => self.constant(code, cells),
                Fill::From(slot) => {
                    let Some(cell) = of(slot, state) else { return false };
                    let moved = self.keys[usize::from(slot)] != *key;
                    if moved && !fits(cells.value(&cell), key) {
                        return false;
                    }
                    (cell.start, cell.end)
                }
                Fill::FromSub(slot) => {
                    let Some(cell) = of(slot, state) else { return false };
                    let sub = host_sub(cells.value(&cell));
                    if sub == 0 || !fits(&cells.value(&cell)[..sub], key) {
                        return false;
                    }
                    (cell.start, cell.start + sub as u32)
                }
                Fill::ToSub { value, host } => {
                    let (Some(value), Some(host)) = (of(value, state), of(host, state)) else { return false };
                    if !fits(cells.value(&value), key) || cells.value(&host).contains(&b'@') {
                        return false;
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
            state.source.push(Cell { key: GONE, start, end });
        }
        for ((key, _, _), cell) in target.iter().zip(&mut state.source) {
            cell.key = key_ref(key, cells);
        }
        std::mem::swap(&mut cells.list, &mut state.source);
        state.seeds.clear();
        state.seeds.extend(target.iter().map(|t| t.1));
        state.hashes.clear();
        state.present = 0;
        state.touched |= touch::SHAPE;
        state.disordered = true;
        state.codes.fill(ABSENT);
        state.cells.fill(NO_CELL);
        for (i, (key, seed, _)) in target.iter().enumerate() {
            let key = match key {
                Key::Fixed(fixed) => KeyRef::Fixed(*fixed),
                _ => KeyRef::Query(0, 0),
            };
            let slot = self.slot_of(key, *seed);
            state.cells[usize::from(slot)] = i as u16;
            state.present |= bit(slot);
            let hash = hash64_seeded(cells.value(&cells.list[i]), *seed);
            state.hashes.push(hash);
            state.codes[usize::from(slot)] =
                if self.coded[usize::from(slot)] { self.code_of_hash(hash) } else { OTHER };
        }
        true
    }
}

/// True for the only part of a path segment.
fn whole_segment(list: &[Cell], at: usize) -> bool {
    let segment = |cell: &Cell| match cell.key {
        KeyRef::Fixed(fixed) => fixed.as_path().map(|(segment, _)| segment),
        _ => None,
    };
    let own = segment(&list[at]);
    let others = [at.checked_sub(1).and_then(|i| list.get(i)), list.get(at + 1)];
    // The known extension of the last segment is a key of its own and stands behind it.
    let extension = |cell: &Cell| cell.key == KeyRef::Fixed(Fixed::EXTENSION);
    own.is_some() && others.into_iter().flatten().all(|cell| segment(cell) != own && !extension(cell))
}

/// A key of a cell; the name is appended to the text.
fn key_ref(key: &Key, cells: &mut Cells) -> KeyRef {
    let name = |name: &str, cells: &mut Cells| {
        let start = cells.text.len() as u32;
        cells.text.extend_from_slice(name.as_bytes());
        (start, cells.text.len() as u32)
    };
    match key {
        Key::Fixed(fixed) => KeyRef::Fixed(*fixed),
        Key::Param(text) => {
            let (a, b) = name(text, cells);
            KeyRef::Param(a, b)
        }
        Key::Query(text) => {
            let (a, b) = name(text, cells);
            KeyRef::Query(a, b)
        }
    }
}

/// True when a value can be copied to `key` as it is: nothing that has a meaning of its own there is smuggled in.
fn fits(value: &[u8], key: &Key) -> bool {
    let free_of = |bytes: &[u8]| !value.iter().any(|b| bytes.contains(b));
    match key {
        Key::Query(_) => free_of(b"&#+"),
        Key::Param(_) => !value.is_empty() && free_of(b"/?#;"),
        Key::Fixed(Fixed::HOST) => {
            let label = |l: &[u8]| {
                !l.is_empty()
                    && l.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
                    && l[0] != b'-'
            };
            value.split(|&b| b == b'.').all(label)
        }
        Key::Fixed(_) => !value.is_empty() && value != b"." && value != b".." && free_of(b"/?#;&+"),
    }
}
