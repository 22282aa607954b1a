//! From a URL to its reduced pairs: cutting, coding, running the programs, tidying up.

use super::index::{PARAM_SEED, QUERY_SEED, fixed_seed, hash};
use super::{
    ALL, CompiledSite, EVER, GONE, Mark, NO_FIXED, NO_RULE, NO_SLOT, OTHER, Slot, SlotState, State, bit, touch,
};
use crate::rules::apply::Scratch;
use crate::url::{self, Cells, Fixed, KeyRef, Split};

impl CompiledSite {
    /// Cuts the URL at `split` in `scratch.cells.text` and runs the rules on its pairs; where the result lies in a
    /// mirrored directory, once more on its twin.
    pub(super) fn reduce(&self, split: &Split, scratch: &mut Scratch) {
        self.reduce_here(split, scratch);
        if !self.mirrors.is_empty() {
            self.reduce_twin(scratch);
        }
    }

    /// As [`reduce`](Self::reduce) without mirrors; again without the rule that does not hold for what they reduce it to.
    pub(super) fn reduce_here(&self, split: &Split, scratch: &mut Scratch) {
        let (length, fired) = (scratch.cells.text.len(), scratch.fired.len());
        self.reduce_without(split, scratch, NO_RULE);
        if scratch.fired.len() == fired {
            return;
        }
        if let Some(rule) = self.exception(scratch) {
            scratch.cells.text.truncate(length);
            scratch.fired.truncate(fired);
            self.reduce_without(split, scratch, rule);
        }
    }

    /// One pass of the rules. What they left out still stands in the list, marked, until [`tidy`](Self::tidy).
    pub(super) fn reduce_without(&self, split: &Split, scratch: &mut Scratch, without: u16) {
        let Scratch { cells, state, fired, .. } = scratch;
        cells.cut(split, self.cut);
        self.code_cells(cells, state);
        if without != ALL {
            let words = self.row_words();
            for (word, programs) in self.programs.chunks(64).enumerate() {
                let mut waiting = self.may_act(word, words, state);
                while waiting != 0 {
                    let at = waiting.trailing_zeros();
                    waiting &= waiting - 1;
                    let (program, rule) = (&programs[at as usize], word as u16 * 64 + at as u16);
                    if program.gate.opens(state.present)
                        && rule != without
                        && (self.exact || self.stopped(program, &state.slots).is_none())
                        && self.run(program, cells, state)
                    {
                        fired.push(rule);
                        // The programs behind it see what it made of the URL.
                        waiting = self.may_act(word, words, state) & (u64::MAX << at << 1);
                    }
                }
            }
        }
        if without != NO_RULE {
            state.touched |= touch::SHAPE;
        }
    }

    /// Hashes, slots and codes of the cells, and the key for an unusual order of parameters.
    pub(super) fn code_cells(&self, cells: &mut Cells, state: &mut State) {
        state.slots.clear();
        state.slots.resize(usize::from(self.slots), SlotState::EMPTY);
        state.marks.clear();
        state.present = EVER;
        state.identity = 0;
        state.gone = 0;
        state.touched = 0;
        state.disordered = false;
        for (cell, i) in cells.list.iter().zip(0u16..) {
            let (seed, slot, rank) = match cell.key {
                KeyRef::Fixed(Fixed(number)) => {
                    let slot = self.fixed.get(usize::from(number)).map_or(NO_FIXED, |&slot| slot);
                    let slot = if slot == NO_FIXED { NO_SLOT } else { Slot::from(slot) };
                    (fixed_seed(number), slot, u32::MAX)
                }
                KeyRef::Query(a, b) => self.named(hash(cells.bytes(a, b), QUERY_SEED)),
                KeyRef::Param(a, b) => self.named(hash(cells.bytes(a, b), PARAM_SEED)),
            };
            let hash = self.place(state, slot, i, cells.value(cell), seed);
            state.marks.push(Mark { hash, rank, slot });
        }
        if cells.names.len() > 1 && url::set_order(cells, |_, at| state.marks[at].rank) {
            // The new cell stands before those of the query.
            let at = cells.query_from - 1;
            for mark in &state.marks[at..] {
                if mark.slot != NO_SLOT {
                    state.slots[usize::from(mark.slot)].cell += 1;
                }
            }
            let number = Fixed::ORDER.0;
            let slot = self.fixed.get(usize::from(number)).copied().filter(|&slot| slot != NO_FIXED);
            let slot = slot.map_or(NO_SLOT, Slot::from);
            let hash = self.place(state, slot, at as u16, cells.value(&cells.list[at]), fixed_seed(number));
            state.marks.insert(at, Mark { hash, rank: u32::MAX, slot });
        }
    }

    /// Seed, slot and rank of a named key.
    #[inline]
    pub(super) fn named(&self, seed: u64) -> (u64, Slot, u32) {
        match self.named.find(seed, |at| self.columns[at as usize].seed) {
            Some(at) => {
                (seed, if at < u32::from(self.slots) { at as Slot } else { NO_SLOT }, self.columns[at as usize].rank)
            }
            None => (seed, NO_SLOT, u32::MAX),
        }
    }

    /// Notes the value of the cell at `at` under its slot; gives its hash.
    #[inline(always)]
    fn place(&self, state: &mut State, slot: Slot, at: u16, value: &[u8], seed: u64) -> u64 {
        let coded = slot != NO_SLOT && self.columns[usize::from(slot)].coded;
        let hash = if coded || self.identified { hash(value, seed) } else { 0 };
        state.identity = state.identity.wrapping_add(hash);
        if slot != NO_SLOT {
            let code = if coded { self.code_of_hash(hash) } else { OTHER };
            state.slots[usize::from(slot)] = SlotState { code, cell: at, row: self.row(slot, code) };
            state.present |= bit(slot);
        }
        hash
    }

    /// The row of a present value.
    #[inline]
    pub(super) fn row(&self, slot: Slot, code: u32) -> u16 {
        if code == OTHER { self.columns[usize::from(slot)].row } else { self.values[code as usize].row }
    }

    #[inline]
    pub(super) fn code_of_hash(&self, hash: u64) -> u32 {
        self.codes.find(hash, |code| self.values[code as usize].hash).unwrap_or(OTHER)
    }

    /// Takes out what rules left out, and puts parameters in their order where that was disturbed. Slots do not know
    /// their cells any more.
    pub(super) fn tidy(&self, cells: &mut Cells, state: &mut State) {
        if state.gone > 0 {
            let mut kept = 0;
            for i in 0..cells.list.len() {
                if cells.list[i].key != GONE {
                    cells.list[kept] = cells.list[i];
                    state.marks[kept] = state.marks[i];
                    kept += 1;
                }
            }
            cells.list.truncate(kept);
            state.marks.truncate(kept);
            state.gone = 0;
        }
        if !state.disordered {
            return;
        }
        state.disordered = false;
        // Few cells: an insertion sort that carries the marks along.
        for i in 1..cells.list.len() {
            let mut j = i;
            while j > 0 && before(cells, state, j, j - 1) {
                cells.list.swap(j, j - 1);
                state.marks.swap(j, j - 1);
                j -= 1;
            }
        }
    }
}

fn before(cells: &Cells, state: &State, a: usize, b: usize) -> bool {
    let class = |key: KeyRef| match key {
        KeyRef::Fixed(fixed) => (0, u32::from(fixed.0)),
        KeyRef::Param(..) => (1, 0),
        KeyRef::Query(..) => (2, 0),
    };
    match (cells.list[a].key, cells.list[b].key) {
        (KeyRef::Query(a0, a1), KeyRef::Query(b0, b1)) => {
            (state.marks[a].rank, cells.bytes(a0, a1)) < (state.marks[b].rank, cells.bytes(b0, b1))
        }
        (a, b) => class(a) < class(b),
    }
}
