//! From a URL to its reduced pairs: cutting, coding, running the programs, tidying up.

use super::{ABSENT, ALL, CompiledSite, GONE, NO_CELL, NO_RULE, NO_SLOT, OTHER, Slot, State};
use crate::model::hash64_seeded;
use crate::rules::apply::Scratch;
use crate::url::{self, Cells, KeyRef, Split};

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
        if self.exceptions.is_empty() || scratch.fired.len() == fired {
            return;
        }
        if let Some(&rule) = self.exceptions.get(&self.identity(scratch)) {
            scratch.cells.text.truncate(length);
            scratch.fired.truncate(fired);
            self.reduce_without(split, scratch, rule);
        }
    }

    pub(super) fn reduce_without(&self, split: &Split, scratch: &mut Scratch, without: u16) {
        let Scratch { cells, state, fired, .. } = scratch;
        cells.cut(split, self.cut);
        url::set_order(cells, |cells, cell| self.rank(cells.seed(cell.key)));
        state.codes.clear();
        state.codes.resize(self.keys.len(), ABSENT);
        state.cells.clear();
        state.cells.resize(self.keys.len(), NO_CELL);
        state.seeds.clear();
        state.disordered = false;
        for (i, cell) in cells.list.iter().enumerate() {
            let seed = cells.seed(cell.key);
            state.seeds.push(seed);
            let slot = self.slot_of(cell.key, seed);
            if slot != NO_SLOT {
                state.cells[usize::from(slot)] = i as u16;
                state.codes[usize::from(slot)] = self.code_of(slot, cells.value(cell));
            }
        }
        let programs = if without == ALL { &[] } else { self.programs.as_slice() };
        for (i, program) in programs.iter().enumerate() {
            if i != usize::from(without)
                && program.checks.iter().all(|(slot, check)| check.holds(state.codes[usize::from(*slot)]))
                && self.run(program, cells, state)
            {
                fired.push(i as u16);
            }
        }
        self.tidy(cells, state);
    }

    pub(super) fn rank(&self, seed: u64) -> u32 {
        self.ranks.get(&seed).copied().unwrap_or(u32::MAX)
    }

    pub(super) fn slot_of(&self, key: KeyRef, seed: u64) -> Slot {
        match key {
            KeyRef::Fixed(fixed) => self.fixed[usize::from(fixed.0)],
            _ => self.named.get(&seed).copied().unwrap_or(NO_SLOT),
        }
    }

    pub(super) fn code_of(&self, slot: Slot, value: &[u8]) -> u32 {
        if !self.coded[usize::from(slot)] {
            return OTHER;
        }
        let hash = hash64_seeded(value, self.seeds[usize::from(slot)]);
        self.codes.get(&hash).copied().unwrap_or(OTHER)
    }

    /// Takes out what rules left out, and puts parameters in their order where that was disturbed.
    pub(super) fn tidy(&self, cells: &mut Cells, state: &mut State) {
        let mut kept = 0;
        for i in 0..cells.list.len() {
            if cells.list[i].key != GONE {
                cells.list.swap(i, kept);
                state.seeds.swap(i, kept);
                kept += 1;
            }
        }
        cells.list.truncate(kept);
        state.seeds.truncate(kept);
        if !state.disordered {
            return;
        }
        // Few cells: an insertion sort that carries the seeds along.
        for i in 1..kept {
            let mut j = i;
            while j > 0 && self.before(cells, state, j, j - 1) {
                cells.list.swap(j, j - 1);
                state.seeds.swap(j, j - 1);
                j -= 1;
            }
        }
    }

    pub(super) fn before(&self, cells: &Cells, state: &State, a: usize, b: usize) -> bool {
        let class = |key: KeyRef| match key {
            KeyRef::Fixed(fixed) => (0, u32::from(fixed.0)),
            KeyRef::Param(..) => (1, 0),
            KeyRef::Query(..) => (2, 0),
        };
        match (cells.list[a].key, cells.list[b].key) {
            (KeyRef::Query(a0, a1), KeyRef::Query(b0, b1)) => {
                (self.rank(state.seeds[a]), cells.bytes(a0, a1)) < (self.rank(state.seeds[b]), cells.bytes(b0, b1))
            }
            (a, b) => class(a) < class(b),
        }
    }
}
