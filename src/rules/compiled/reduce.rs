//! From a URL to its reduced pairs: cutting, coding, running the programs, tidying up.

use super::index::{Index, PARAM_SEED, QUERY_SEED, fixed_seed, hash};
use super::{
    ALL, Column, CompiledSite, Constant, EVER, GONE, Mark, NO_FIXED, NO_RULE, NO_SLOT, OTHER, Slot, SlotState, State,
    bit, touch,
};
use crate::rules::apply::Scratch;
use crate::rules::functions::{ANY, EMPTY};
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
        state.holds = split.letters | ANY;
        let may_act = self.code_cells(cells, state);
        if without != ALL {
            let words = self.row_words();
            for (word, programs) in self.programs.chunks(64).enumerate() {
                let mut waiting = if word == 0 { may_act } else { self.may_act(word, words, state) };
                while waiting != 0 {
                    let at = waiting.trailing_zeros();
                    waiting &= waiting - 1;
                    let (program, rule) = (&programs[at as usize], word as u16 * 64 + at as u16);
                    if program.needs & state.holds != 0
                        && program.gate.opens(state.present)
                        && rule != without
                        && (self.exact || self.stopped(program, &state.slots).is_none())
                        && self.run(program, cells, state)
                    {
                        fired.push(rule);
                        // Those behind it that look at what it wrote.
                        let woken = program.wakes & (u64::MAX << at << 1);
                        if woken != 0 {
                            waiting = waiting & !woken | self.may_act(word, words, state) & woken;
                        }
                    }
                }
            }
        }
        if without != NO_RULE {
            state.touched |= touch::SHAPE;
        }
    }

    /// Hashes, slots and codes of the cells, and the key for an unusual order of parameters; gives the programs of the
    /// first word that may act.
    pub(super) fn code_cells(&self, cells: &mut Cells, state: &mut State) -> u64 {
        let State { slots, marks, .. } = state;
        slots.clear();
        slots.resize(usize::from(self.slots), SlotState::EMPTY);
        marks.clear();
        marks.resize(cells.list.len(), Mark::NONE);
        let mut coding = Coding::new(self, slots);
        for ((cell, mark), at) in cells.list.iter().zip(marks.iter_mut()).zip(0u16..) {
            let value = cells.value(cell);
            *mark = match cell.key {
                KeyRef::Fixed(Fixed(number)) => coding.fixed(number, at, value),
                KeyRef::Query(a, b) => coding.named(hash(cells.bytes(a, b), QUERY_SEED), at, value),
                KeyRef::Param(a, b) => coding.named(hash(cells.bytes(a, b), PARAM_SEED), at, value),
            };
        }
        let repeats = cells.list.len() - cells.query_from != cells.names.len();
        if (self.ordered || repeats) && cells.names.len() > 1 && url::set_order(cells, |_, at| marks[at].rank) {
            // The new cell stands before those of the query.
            let at = cells.query_from - 1;
            for mark in &marks[at..] {
                if mark.slot != NO_SLOT {
                    coding.slots[usize::from(mark.slot)].cell += 1;
                }
            }
            let mark = coding.fixed(Fixed::ORDER.0, at as u16, cells.value(&cells.list[at]));
            marks.insert(at, mark);
        }
        let Coding { present, identity, empty, pass, act, .. } = coding;
        state.holds |= if empty { EMPTY } else { 0 };
        (state.present, state.identity) = (present, identity);
        (state.gone, state.touched, state.disordered) = (0, 0, false);
        pass & act
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

/// The cells of one URL while they are coded. The lists of the site stand here as slices: what a URL pays for every pair
/// is these few loads.
struct Coding<'s> {
    fixed: &'s [u8],
    columns: &'s [Column],
    slotted: usize,
    values: &'s [Constant],
    rows: &'s [[u64; 2]],
    row_words: usize,
    named: &'s Index,
    codes: &'s Index,
    identified: bool,
    slots: &'s mut [SlotState],
    present: u64,
    identity: u64,
    /// A value is empty.
    empty: bool,
    /// Of the first word: the programs that all values let pass, and those that one of them may set to work.
    pass: u64,
    act: u64,
}

impl<'s> Coding<'s> {
    fn new(site: &'s CompiledSite, slots: &'s mut [SlotState]) -> Coding<'s> {
        // The first row is that of every URL.
        let [pass, act] = site.rows.first().copied().unwrap_or_default();
        Coding {
            fixed: &site.fixed,
            columns: &site.columns,
            slotted: slots.len(),
            values: &site.values,
            rows: &site.rows,
            row_words: site.row_words(),
            named: &site.named,
            codes: &site.codes,
            identified: site.identified,
            slots,
            present: EVER,
            identity: 0,
            empty: false,
            pass,
            act,
        }
    }

    #[inline(always)]
    fn fixed(&mut self, number: u8, at: u16, value: &[u8]) -> Mark {
        let slot = self.fixed.get(usize::from(number)).copied().unwrap_or(NO_FIXED);
        if slot == NO_FIXED {
            return self.other(u32::MAX, value, fixed_seed(number));
        }
        self.slotted(usize::from(slot), at, value)
    }

    /// A cell with a name, by the hash of the name.
    #[inline(always)]
    fn named(&mut self, seed: u64, at: u16, value: &[u8]) -> Mark {
        let columns = self.columns;
        match self.named.find(seed, |at| columns[at as usize].seed) {
            Some(column) if (column as usize) < self.slotted => self.slotted(column as usize, at, value),
            Some(column) => self.other(columns[column as usize].rank, value, seed),
            None => self.other(u32::MAX, value, seed),
        }
    }

    /// A value of a key that no rule mentions.
    #[inline(always)]
    fn other(&mut self, rank: u32, value: &[u8], seed: u64) -> Mark {
        self.empty |= value.is_empty();
        let hash = if self.identified { hash(value, seed) } else { 0 };
        self.identity = self.identity.wrapping_add(hash);
        Mark { hash, rank, slot: NO_SLOT }
    }

    /// Notes the value of the cell at `at` under its slot.
    #[inline(always)]
    fn slotted(&mut self, slot: usize, at: u16, value: &[u8]) -> Mark {
        self.empty |= value.is_empty();
        let column = &self.columns[slot];
        let hash = if column.coded | self.identified { hash(value, column.seed) } else { 0 };
        self.identity = self.identity.wrapping_add(hash);
        let (mut code, mut row) = (OTHER, column.row);
        let values = self.values;
        if column.coded
            && let Some(found) = self.codes.find(hash, |code| values[code as usize].hash)
        {
            (code, row) = (found, values[found as usize].row);
        }
        self.slots[slot] = SlotState { code, cell: at, row };
        self.present |= bit(slot as Slot);
        // A site without programs has no rows.
        if let Some(bits) = self.rows.get(usize::from(row) * self.row_words) {
            self.pass &= bits[0];
            self.act |= bits[1];
        }
        Mark { hash, rank: column.rank, slot: slot as Slot }
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
