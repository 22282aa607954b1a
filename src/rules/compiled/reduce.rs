//! From a URL to its reduced pairs: cutting, coding, running the programs, tidying up.

use super::compile::FIRST_HOST;
use super::{
    ALL, Class, Column, CompiledSite, Constant, GONE, KeptOrigin, NO_RULE, OTHER, Slot, State, Template, part, touch,
};
use crate::rules::apply::Scratch;
use crate::rules::functions::ANY;
use crate::url::hash::hash;
use crate::url::{Cells, Fixed, KeyRef, Split};

impl CompiledSite {
    /// Cuts the URL at `split` in `scratch.cells.text` and runs the rules on its pairs; where the result lies in a
    /// mirrored directory, once more on its twin. `origin` as in [`code_cells`](Self::code_cells).
    pub fn reduce(&self, split: &Split, scratch: &mut Scratch, origin: KeptOrigin<'_>) {
        self.reduce_here(split, scratch, origin);
        if !self.mirrors().is_empty() {
            self.reduce_twin(scratch);
        }
    }

    /// As [`reduce`](Self::reduce) without mirrors; again without the rule that does not hold for what they reduce it to.
    pub(super) fn reduce_here(&self, split: &Split, scratch: &mut Scratch, origin: KeptOrigin<'_>) {
        debug_assert!(scratch.fired.is_empty(), "rules of another URL");
        let length = scratch.cells.text.len();
        self.reduce_without(split, scratch, NO_RULE, origin);
        if scratch.fired.is_empty() {
            return;
        }
        if let Some(rule) = self.exception(scratch) {
            scratch.cells.text.truncate(length);
            scratch.fired.clear();
            self.reduce_without(split, scratch, rule, None);
        }
    }

    /// One pass of the rules. What they left out still stands in the list, marked, until [`tidy`](Self::tidy).
    pub(super) fn reduce_without(&self, split: &Split, scratch: &mut Scratch, without: u16, origin: KeptOrigin<'_>) {
        let (Scratch { cells, state, fired, .. }, template) = (scratch, &*self.template);
        cells.cut(split, template.cut);
        state.holds = split.letters | ANY;
        let (may_act, mut done) = self.code_cells(cells, state, without == NO_RULE, origin);
        if without != ALL {
            let words = state.words;
            for (word, programs) in template.programs.chunks(64).enumerate() {
                let mut waiting = if word == 0 { may_act } else { template.may_act(word, words, state) };
                while waiting != 0 {
                    let at = waiting.trailing_zeros();
                    waiting &= waiting - 1;
                    let (program, rule) = (&programs[at as usize], word as u16 * 64 + at as u16);
                    debug_assert!(
                        !(template.exact && program.gate.opens(state.present))
                            || template.stopped(program, state).is_none(),
                        "a program that is told to act is stopped"
                    );
                    if program.needs & state.holds != 0
                        && program.gate.opens(state.present)
                        && rule != without
                        && (template.exact || template.stopped(program, state).is_none())
                        && self.run(program, cells, state)
                    {
                        done |= 1 << at;
                        // Those behind it that look at what it wrote.
                        let woken = program.wakes & (u64::MAX << at << 1);
                        if woken != 0 {
                            waiting = waiting & !woken | template.chosen(word, words, woken, state) & woken;
                        }
                    }
                }
                fired.add_word(word, std::mem::take(&mut done));
            }
        }
        if without != NO_RULE {
            state.touched |= touch::SHAPE;
        }
    }

    /// The row of a present value.
    #[inline]
    pub(super) fn row(&self, slot: Slot, code: u32) -> u16 {
        if code == OTHER {
            self.template.columns[usize::from(slot)].row
        } else {
            self.template.values[code as usize].row
        }
    }

    /// Code and hash of a value of a column.
    #[inline]
    pub(super) fn code_of(&self, column: &Column, value: &[u8]) -> (u32, u64) {
        let Template { codes, values, .. } = &*self.template;
        if column.coded && column.class == Class::Fixed(Fixed::HOST.0) {
            let code = self.code_of_host(value);
            return (code, if code == OTHER { hash(value, column.seed) } else { values[code as usize].hash });
        }
        let hash = hash(value, column.seed);
        let find = || codes.find(hash, |code| values[code as usize].hash);
        (if column.coded { find().unwrap_or(OTHER) } else { OTHER }, hash)
    }

    /// The code of a host.
    #[inline]
    pub(super) fn code_of_host(&self, host: &[u8]) -> u32 {
        self.own.hosts.find(host).map_or(OTHER, |index| (FIRST_HOST + index) as u32)
    }

    /// The bytes of the value of a code.
    #[inline]
    pub(super) fn text(&self, code: u32) -> &[u8] {
        let Constant { start, end, .. } = self.template.values[code as usize];
        match code.wrapping_sub(FIRST_HOST as u32) {
            index if index < self.template.hosts => self.own.hosts.get(index as usize),
            _ => part(&self.template.pool, (start, end)),
        }
    }

    /// As [`tidy`](Self::tidy), where nobody asks for the marks any more.
    pub(super) fn tidy_cells(&self, cells: &mut Cells, state: &mut State) {
        self.pay(cells, state);
        if state.disordered {
            return self.tidy(cells, state);
        }
        if state.gone > 0 {
            cells.list.retain(|cell| cell.key != GONE);
            state.gone = 0;
        }
    }

    /// Takes out what rules left out, and puts parameters in their order where that was disturbed. Slots do not know
    /// their cells any more.
    pub(super) fn tidy(&self, cells: &mut Cells, state: &mut State) {
        self.pay(cells, state);
        state.touched |= touch::MOVED;
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
