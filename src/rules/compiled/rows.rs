//! Which rules a URL can set to work, told by the values of its keys.
//!
//! A value has a *row*: for each program a bit that its checks of this key let the value pass, and a bit that one of its
//! steps may change it. What all keys of a URL let pass and some key asks for are the few programs that are looked at, 64
//! at a time. Values that do the same share a row.
//!
//! A rule that asks for a key that fewer URLs have than the key it writes waits for the rarer one; one that adds a key is
//! asked for where the key is absent; one that needs certain letters sleeps in URLs without them; a rule between forms is
//! stopped by any key that it does not name, whatever its value.

use super::{ABSENT, Check, Class, EVER, OTHER, Program, Slot, State, Step, Template, bit, part};
use crate::rules::functions::ANY;
use crate::url::Fixed;
use crate::url::keys::MAX_SEGMENTS;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Values times words a row up to which every value gets a row; of a site with more, all values of a key share one that
/// lets all pass.
const MAX_WORDS: usize = 1 << 20;

/// Bits of the programs of one word: those that a value lets pass, those that may change it.
type Bits = [u64; 2];

impl Template {
    /// Words a row, two each.
    pub(super) fn row_words(&self) -> usize {
        self.programs.len().div_ceil(64)
    }

    /// The programs of a word (as bits) that may act on the URL as it is now. Those that are missing would change
    /// nothing; those that are there may still be stopped.
    #[inline]
    pub(super) fn may_act(&self, word: usize, words: usize, state: &State) -> u64 {
        // The first row is that of every URL.
        let [mut pass, mut act] = self.rows[word];
        let mut present = state.present & !EVER;
        while present != 0 {
            let row = state.slots[present.trailing_zeros() as usize].row;
            let bits = self.rows[usize::from(row) * words + word];
            pass &= bits[0];
            act |= bits[1];
            present &= present - 1;
        }
        pass & (act | self.adders(word, state.present))
    }

    /// As [`may_act`](Self::may_act) for these programs, after one of the word acted.
    #[inline]
    pub(super) fn chosen(&self, word: usize, words: usize, programs: u64, state: &State) -> u64 {
        if word == 0
            && let Some(chosen) = state.reach.chosen(programs, self.adders(0, state.present))
        {
            debug_assert!(
                self.slots > 63 || self.may_act(0, words, state) & programs & !chosen == 0,
                "programs were passed over"
            );
            return chosen;
        }
        self.may_act(word, words, state)
    }

    /// The row of a value in the first word of programs; one without rows lets all pass.
    #[inline(always)]
    pub(super) fn first_row(&self, row: u16, words: usize) -> Bits {
        self.rows.get(usize::from(row) * words).copied().unwrap_or([u64::MAX, 0])
    }

    /// The programs of a word that may give the URL a key that it does not have.
    #[inline]
    pub(super) fn adders(&self, word: usize, present: u64) -> u64 {
        let (adders, _) = part(&self.words, self.adders).as_chunks::<2>();
        adders.iter().fold(0, |act, &[slot, program]| {
            let acts = present >> slot & 1 == 0 && program as usize / 64 == word;
            act | u64::from(acts) << (program % 64)
        })
    }

    /// Of these programs of the first word, those that may change something in a URL that [`holds`](State::holds) these.
    #[inline]
    pub(super) fn awake(&self, programs: u64, holds: u8) -> u64 {
        let (sleepers, _) = self.words[self.adders.1 as usize..].as_chunks::<3>();
        sleepers.iter().fold(programs, |awake, &[needs, low, high]| {
            let asleep = if u32::from(holds) & needs == 0 { u64::from(low) | u64::from(high) << 32 } else { 0 };
            awake & !asleep
        })
    }

    /// Notes for each program that adds a key that it acts where the key is absent, and the programs of the first word
    /// that need something in the values, by what they need.
    pub(super) fn fill_adders(&mut self) {
        let mut words = self.words.to_vec();
        let from = words.len();
        for (at, program) in (0u32..).zip(&self.programs).filter(|(_, program)| self.trigger(program).is_none()) {
            let adds = part(&self.steps, program.steps).iter().filter(|step| self.adds(step));
            adds.filter(|step| bit(step.slot()) != 0).for_each(|step| words.extend([u32::from(step.slot()), at]));
        }
        self.adders = (from as u32, words.len() as u32);
        let mut sleepers = [0u64; ANY as usize];
        for (i, program) in (0..64).zip(&self.programs) {
            if let Some(programs) = sleepers.get_mut(usize::from(program.needs)) {
                *programs |= 1 << i;
            }
        }
        for (needs, programs) in (0..).zip(sleepers).filter(|&(needs, programs)| needs != 0 && programs != 0) {
            words.extend([needs, programs as u32, (programs >> 32) as u32]);
        }
        self.words = words.into();
    }

    /// The key whose presence sets a program to work rather than the keys that it writes: one that it asks for and that
    /// fewer URLs have.
    fn trigger(&self, program: &Program) -> Option<Slot> {
        let asked = part(&self.checks, program.checks)
            .iter()
            .filter(|(slot, check)| *check != Check::Absent && bit(*slot) != 0);
        let rarest = asked.map(|check| check.0).max_by_key(|&slot| (self.rarity(slot), slot))?;
        let steps = part(&self.steps, program.steps).iter();
        let most_common = steps.map(|step| if self.adds(step) { 0 } else { self.rarity(step.slot()) }).min();
        most_common.is_none_or(|common| common < self.rarity(rarest)).then_some(rarest)
    }

    /// How few URLs of a site have a key, as far as its kind tells.
    fn rarity(&self, slot: Slot) -> usize {
        match self.columns[usize::from(slot)].class {
            Class::Fixed(number) => match Fixed(number) {
                Fixed::SCHEME | Fixed::HOST | Fixed::DEPTH => 0,
                fixed => fixed.as_path().map_or(MAX_SEGMENTS + 1, |(segment, _)| segment + 1),
            },
            Class::Param | Class::Query => MAX_SEGMENTS + 2,
        }
    }

    /// Makes the rows. `slots` are those of the values.
    pub(super) fn fill_rows(&mut self, slots: &[Slot]) {
        let each = self.values.len().saturating_mul(self.row_words()) <= MAX_WORDS;
        if !each || !self.fill_rows_of(slots, true) {
            self.fill_rows_of(slots, false);
        }
        self.exact = each && self.slots <= 63;
    }

    /// As [`fill_rows`](Self::fill_rows), with a row for each value or for each key alone; false where there are more
    /// rows than numbers for them.
    fn fill_rows_of(&mut self, slots: &[Slot], each: bool) -> bool {
        let (words, first) = (self.row_words(), usize::from(self.first_slots()));
        // The values of each slot that are told apart, and last any other value, known by its place behind them.
        let codes = self.values.len();
        let mut items: Vec<Vec<usize>> = vec![Vec::new(); first];
        for (code, &slot) in slots.iter().enumerate().filter(|_| each) {
            if usize::from(slot) < first && code > OTHER as usize {
                items[usize::from(slot)].push(code);
            }
        }
        (0..first).for_each(|slot| items[slot].push(codes + slot));
        let mut bits: Vec<Bits> = vec![[u64::MAX, 0]; (codes + first) * words];
        let mut every: Vec<Bits> = vec![[u64::MAX, 0]; words];
        for (at, program) in self.programs.iter().enumerate() {
            let (word, bit) = (at / 64, 1u64 << (at % 64));
            let steps = part(&self.steps, program.steps);
            let trigger = self.trigger(program);
            if trigger.is_none() && self.acts_anyhow(program) {
                every[word][1] |= bit;
            }
            if let Some(items) = trigger.and_then(|slot| items.get(usize::from(slot))) {
                items.iter().for_each(|&item| bits[item * words + word][1] |= bit);
            }
            let code_of = |item: usize| if item < codes { item as u32 } else { OTHER };
            for &(slot, check) in part(&self.checks, program.checks).iter().filter(|_| each) {
                let Some(items) = items.get(usize::from(slot)) else { continue };
                let listed = Listed::of(check, &self.words);
                items.iter().filter(|&&item| !listed.holds(code_of(item))).for_each(|&item| {
                    bits[item * words + word][0] &= !bit;
                });
            }
            if program.is_form() {
                // A key that it does not name stops it, whatever its value.
                let checks = part(&self.checks, program.checks);
                let names =
                    |slot: usize| checks.iter().any(|&(of, check)| usize::from(of) == slot && check != Check::Absent);
                for &item in (0..first).filter(|&slot| !names(slot)).flat_map(|slot| &items[slot]) {
                    bits[item * words + word][0] &= !bit;
                }
            }
            for step in steps {
                let Some(items) = items.get(usize::from(step.slot())) else { continue };
                let may_change = |item: usize| !each || self.may_change(step, code_of(item));
                if trigger.is_none() {
                    let changed = items.iter().filter(|&&item| may_change(item));
                    changed.for_each(|&item| bits[item * words + word][1] |= bit);
                } else if steps.len() == 1 {
                    // The only value that it writes is there already.
                    let kept = items.iter().filter(|&&item| !may_change(item));
                    kept.for_each(|&item| bits[item * words + word][0] &= !bit);
                }
            }
        }
        let mut rows: Vec<Bits> = Vec::new();
        let mut known: HashMap<&[Bits], u16, FixedState> = HashMap::default();
        rows.extend(&every);
        let mut number = |item: usize, rows: &mut Vec<Bits>| {
            let row = &bits[item * words..][..words];
            Some(match known.entry(row) {
                Entry::Occupied(found) => *found.get(),
                Entry::Vacant(new) => {
                    let number = u16::try_from(rows.len().checked_div(words)?).ok()?;
                    rows.extend(row);
                    *new.insert(number)
                }
            })
        };
        for (slot, items) in items.iter().enumerate() {
            for &item in items {
                // Without programs there is nothing to tell.
                let Some(row) = number(item, &mut rows) else { return words == 0 };
                match self.values.get_mut(item) {
                    Some(value) => value.row = row,
                    None => self.columns[slot].row = row,
                }
            }
            if !each {
                let of_slot = slots.iter().enumerate().filter(|&(_, &of)| usize::from(of) == slot);
                of_slot.for_each(|(code, _)| self.values[code].row = self.columns[slot].row);
            }
        }
        self.rows = rows.into();
        true
    }

    /// Whether a step may change this value; false is sure.
    fn may_change(&self, step: &Step, code: u32) -> bool {
        match *step {
            Step::Drop(_) | Step::Apply(..) => true,
            Step::Set(_, to, _) => code != to,
            Step::Map(_, from, to) => {
                let (map, _) = part(&self.words, (from, to)).as_chunks::<2>();
                map.binary_search_by_key(&code, |m| m[0]).is_ok_and(|at| map[at][1] != code)
            }
        }
    }
}

/// A check whose codes are sorted.
struct Listed(Check, Vec<u32>);

impl Listed {
    fn of(check: Check, words: &[u32]) -> Listed {
        let mut codes = match check {
            Check::OneOf(from, to) | Check::NoneOf(from, to) => part(words, (from, to)).to_vec(),
            _ => Vec::new(),
        };
        codes.sort_unstable();
        Listed(check, codes)
    }

    fn holds(&self, code: u32) -> bool {
        let listed = || self.1.binary_search(&code).is_ok();
        match self.0 {
            Check::Is(value) => code == value,
            Check::OneOf(..) => listed(),
            Check::NoneOf(..) => code != ABSENT && !listed(),
            Check::Present => code != ABSENT,
            Check::Absent => code == ABSENT,
        }
    }
}
