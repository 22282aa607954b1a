//! Selection: the values of a URL determine which programs may act on it.
//!
//! A value has a *row*: for each program one bit that its checks of this key let the value pass, and
//! one bit that it may change the value. A value does not pass a program whose only step is on this key
//! and keeps the value. The programs that every value of a URL passes and that some value activates are
//! candidates; the others would change nothing. Equal rows are shared.

use super::compile::FIRST_HOST;
use super::{ABSENT, Check, EVER, MOST_PRESENT, OTHER, Program, Slot, State, Step, Template, bit, bits, entries, part};
use crate::url::KeyKind;
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Most words of all rows, 16 MiB; on a site that needs more, every program is a candidate for every
/// URL.
const MAX_WORDS: usize = 1 << 20;

/// Bits of 64 programs: those that a value passes, those that may change it.
type Bits = [u64; 2];

impl Template {
    /// Words a row: one for 64 programs.
    pub(super) fn words(&self) -> usize {
        self.programs.len().div_ceil(64)
    }

    /// The candidates among the programs of a word, as bits.
    #[inline(always)]
    pub(super) fn candidates(&self, word: usize, state: &State) -> u64 {
        let words = self.words();
        // The first row is that of every URL.
        let [mut pass, mut act] = self.rows[word];
        let mut present = state.present & !EVER;
        while present != 0 {
            let row = self.rows[state.slots[present.trailing_zeros() as usize].row as usize * words + word];
            (pass, act) = (pass & row[0], act | row[1]);
            present &= present - 1;
        }
        pass & act
    }

    /// Adds a row to the sum of rows of the first word; no effect without programs.
    #[inline(always)]
    pub(super) fn add_row(&self, [pass, act]: Bits, row: u32, words: usize) -> Bits {
        let row = self.rows.get(row as usize * words).copied().unwrap_or([u64::MAX, 0]);
        [pass & row[0], act | row[1]]
    }

    /// The row of a value of a key that is present.
    #[inline(always)]
    pub(super) fn row(&self, slot: Slot, code: u32) -> u32 {
        if code == OTHER { self.columns[usize::from(slot)].row } else { self.values[code as usize].row }
    }

    /// Makes the rows. `slots` are those of the values.
    pub(super) fn fill_rows(&mut self, slots: &[Slot]) {
        let (words, slotted) = (self.words(), self.slots.min(MOST_PRESENT as Slot));
        // The distinct values of each slot, and last any other value.
        let mut items: Vec<(Slot, u32)> =
            (FIRST_HOST as u32..).zip(&slots[FIRST_HOST..]).map(|(code, &slot)| (slot, code)).collect();
        items.retain(|item| item.0 < slotted);
        items.extend((0..slotted).map(|slot| (slot, OTHER)));
        items.sort_by_key(|item| item.0);
        if items.len().saturating_mul(words) > MAX_WORDS {
            let programs = |chunk: &[Program]| [u64::MAX >> (64 - chunk.len()); 2];
            self.rows = self.programs.chunks(64).map(programs).collect();
            return;
        }
        let mut own: Vec<Bits> = vec![[u64::MAX, 0]; items.len() * words];
        let mut rows: Vec<Bits> = vec![[u64::MAX, 0]; words];
        for (at, program) in self.programs.iter().enumerate() {
            let (word, bit) = (at / 64, 1 << (at % 64));
            let (checks, steps) = (part(&self.checks, program.checks), part(&self.steps, program.steps));
            let trigger = self.trigger(program);
            let always = trigger.is_none() && self.may_act_on_any(program);
            rows[word][1] |= if always { bit } else { 0 };
            for slot in checks.iter().map(|check| check.0).chain(steps.iter().map(Step::slot)) {
                let from = items.partition_point(|item| item.0 < slot);
                for (item, &(_, code)) in (from..).zip(items[from..].iter().take_while(|item| item.0 == slot)) {
                    let row = &mut own[item * words + word];
                    let is_idle = matches!(steps, [step] if step.slot() == slot && !self.may_change(step, code));
                    if is_idle || checks.iter().any(|(of, check)| *of == slot && !self.holds(*check, code)) {
                        row[0] &= !bit;
                    }
                    let acts = match trigger {
                        Some(trigger) => trigger == slot,
                        None => steps.iter().any(|step| step.slot() == slot && self.may_change(step, code)),
                    };
                    row[1] |= if acts { bit } else { 0 };
                }
            }
        }
        let mut known: HashMap<&[Bits], u32, FixedState> = HashMap::default();
        for (row, &(slot, code)) in own.chunks(words.max(1)).zip(&items) {
            let number = *known.entry(row).or_insert_with(|| {
                rows.extend(row);
                (rows.len() / words) as u32 - 1
            });
            match code {
                OTHER => self.columns[usize::from(slot)].row = number,
                code => self.values[code as usize].row = number,
            }
        }
        self.rows = rows;
    }

    /// The key whose presence makes a program a candidate, rather than the values of the keys that it
    /// changes: a parameter that it requires, where it changes what more URLs have.
    fn trigger(&self, program: &Program) -> Option<Slot> {
        let named = |slot: Slot| !matches!(self.columns[usize::from(slot)].kind, KeyKind::Fixed(_));
        let mut steps = part(&self.steps, program.steps).iter();
        let common = program.is_form() || steps.any(|step| self.adds(step) || !named(step.slot()));
        bits(program.required).map(|slot| slot as Slot).find(|&slot| common && named(slot))
    }

    /// True for a program that may act on a URL whatever keys it has: it adds a key, or changes one without
    /// a presence bit.
    fn may_act_on_any(&self, program: &Program) -> bool {
        let steps = part(&self.steps, program.steps);
        program.is_form() || steps.iter().any(|step| self.adds(step) || bit(step.slot()) == 0)
    }

    /// True for a step that may add a key.
    pub(super) fn adds(&self, step: &Step) -> bool {
        self.may_change(step, ABSENT)
    }

    /// True if the check holds for a code.
    #[inline(always)]
    pub(super) fn holds(&self, check: Check, code: u32) -> bool {
        let within = |range| part(&self.words, range).binary_search(&code).is_ok();
        match check {
            Check::Is(value) => code == value,
            Check::OneOf(codes) => within(codes),
            Check::Not(codes) => !within(codes),
            Check::Present => code != ABSENT,
            Check::Absent => code == ABSENT,
        }
    }

    /// True where a step may change this value; a function may change any value that is there.
    pub(super) fn may_change(&self, step: &Step, code: u32) -> bool {
        match step {
            Step::Apply(..) => code != ABSENT,
            _ => self.after(step, code) != code,
        }
    }

    /// The code of a key after a step; a function leaves it.
    pub(super) fn after(&self, step: &Step, code: u32) -> u32 {
        match *step {
            Step::Drop(_) => ABSENT,
            Step::Set(_, to, everywhere) if code != ABSENT || everywhere => to,
            Step::Map(_, range) => {
                let map = entries(&self.words, range);
                map.binary_search_by_key(&code, |entry| entry[0]).map_or(code, |at| map[at][1])
            }
            Step::Set(..) | Step::Apply(..) => code,
        }
    }
}
