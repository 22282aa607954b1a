//! From a URL to its reduced pairs: cutting, coding, running the programs, tidying up.

use super::{ABSENT, ALL, CompiledSite, GONE, NO_CELL, NO_RULE, NO_SLOT, OTHER, Slot, State, bit, touch};
use crate::model::hash64_seeded;
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
        self.code_cells(cells, state);
        if without != ALL {
            for (i, (program, gate)) in self.programs.iter().zip(&self.gates).enumerate() {
                if gate.opens(state.present)
                    && i != usize::from(without)
                    && program.holds(&state.codes)
                    && self.run(program, cells, state)
                {
                    fired.push(i as u16);
                }
            }
        }
        if without != NO_RULE {
            state.touched |= touch::SHAPE;
        }
        self.tidy(cells, state);
    }

    /// Seeds, hashes, slots and codes of the cells, and the key for an unusual order of parameters.
    fn code_cells(&self, cells: &mut Cells, state: &mut State) {
        state.seeds.clear();
        state.slots.clear();
        state.ranks.clear();
        for cell in &cells.list {
            let seed = cells.seed(cell.key);
            let (slot, rank) = match cell.key {
                KeyRef::Fixed(fixed) => (self.fixed[usize::from(fixed.0)], u32::MAX),
                _ => self.named.get(&seed).copied().unwrap_or((NO_SLOT, u32::MAX)),
            };
            state.seeds.push(seed);
            state.slots.push(slot);
            state.ranks.push(rank);
        }
        if url::set_order(cells, |_, at| state.ranks[at]) {
            let key = KeyRef::Fixed(Fixed::ORDER);
            state.seeds.insert(cells.query_from - 1, cells.seed(key));
            state.slots.insert(cells.query_from - 1, self.fixed[usize::from(Fixed::ORDER.0)]);
        }
        state.codes.clear();
        state.codes.resize(self.keys.len(), ABSENT);
        state.cells.clear();
        state.cells.resize(self.keys.len(), NO_CELL);
        state.hashes.clear();
        state.present = 0;
        state.touched = 0;
        state.disordered = false;
        for (i, cell) in cells.list.iter().enumerate() {
            let slot = state.slots[i];
            let coded = slot != NO_SLOT && self.coded[usize::from(slot)];
            let hash = if coded || self.identified { hash64_seeded(cells.value(cell), state.seeds[i]) } else { 0 };
            state.hashes.push(hash);
            if slot != NO_SLOT {
                state.cells[usize::from(slot)] = i as u16;
                state.codes[usize::from(slot)] = if coded { self.code_of_hash(hash) } else { OTHER };
                state.present |= bit(slot);
            }
        }
    }

    pub(super) fn slot_of(&self, key: KeyRef, seed: u64) -> Slot {
        match key {
            KeyRef::Fixed(fixed) => self.fixed[usize::from(fixed.0)],
            _ => self.named.get(&seed).map_or(NO_SLOT, |n| n.0),
        }
    }

    pub(super) fn code_of_hash(&self, hash: u64) -> u32 {
        self.codes.get(&hash).copied().unwrap_or(OTHER)
    }

    /// Takes out what rules left out, and puts parameters in their order where that was disturbed.
    pub(super) fn tidy(&self, cells: &mut Cells, state: &mut State) {
        if state.touched == 0 {
            return;
        }
        let mut kept = 0;
        for i in 0..cells.list.len() {
            if cells.list[i].key != GONE {
                cells.list.swap(i, kept);
                state.seeds.swap(i, kept);
                state.hashes.swap(i, kept);
                kept += 1;
            }
        }
        cells.list.truncate(kept);
        state.seeds.truncate(kept);
        state.hashes.truncate(kept);
        if !state.disordered {
            return;
        }
        // Few cells: an insertion sort that carries the seeds along.
        for i in 1..kept {
            let mut j = i;
            while j > 0 && self.before(cells, state, j, j - 1) {
                cells.list.swap(j, j - 1);
                state.seeds.swap(j, j - 1);
                state.hashes.swap(j, j - 1);
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
                let rank = |at: usize| self.named.get(&state.seeds[at]).map_or(u32::MAX, |n| n.1);
                (rank(a), cells.bytes(a0, a1)) < (rank(b), cells.bytes(b0, b1))
            }
            (a, b) => class(a) < class(b),
        }
    }
}
