//! What is known of one URL while rules work on it, beside its pairs: a slot for each key that rules mention, a mark for each
//! pair, and what became of both.

use super::reach::Reach;
use super::{ABSENT, MOST_PRESENT, Slot};
use crate::rules::fired::Fired;
use crate::url::Cell;

/// What the rules see of one URL.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// What [`slot`](Self::slot) tells, and for slots with a bit what another URL left there.
    pub(super) slots: Vec<SlotState>,
    /// One a cell.
    pub(super) marks: Vec<Mark>,
    /// Presence of the first slots, and [`EVER`].
    pub(super) present: u64,
    /// Sum of the hashes of the pairs, where the site needs it.
    pub(super) identity: u64,
    /// Cells that rules left out and that still stand in the list.
    pub(super) gone: usize,
    /// Values that rules gave, cells and codes, and codes that they gave scheme and host: no byte of them was written yet.
    pub(super) owed: Vec<(u16, u32)>,
    pub(super) owed_origin: [u32; 2],
    /// Of the first word of programs.
    pub(super) reach: Reach,
    /// Words a row.
    pub(super) words: usize,
    /// What the rules touched, for [`Template::settled`](super::Template::settled): bits of [`touch`](super::touch).
    pub(super) touched: u8,
    /// What a rule between forms makes of a URL: cells, marks and slots, one each a key.
    pub(super) target: (Vec<Cell>, Vec<Mark>, Vec<SlotState>),
    pub(super) value: Vec<u8>,
    /// The URL that is looked up among mirrored directories.
    pub(super) composed: Vec<u8>,
    /// Its twin, stage-1 normal.
    pub(super) twin: Vec<u8>,
    /// The rules that fired before it went to its twin.
    pub(super) fired: Fired,
    /// The URL has the key that holds an unusual order of its parameters.
    pub(super) ordered: bool,
    /// The URL that was cut has a parameter without a name.
    pub(super) unnamed: bool,
    /// Cells were added or the order of parameters was given up.
    pub(super) disordered: bool,
    /// What functions may find in the values, as bits of [`needs`](crate::rules::functions::needs); too many do no harm.
    pub(super) holds: u8,
}

impl State {
    /// Empties the slots, and has so many of them, for a URL whose presence is still to be told. What another URL left in
    /// those that have a bit is not cleared: it does not show.
    #[inline(always)]
    pub(super) fn clear(&mut self, slots: usize) {
        self.marks.clear();
        if self.slots.len() != slots || slots > MOST_PRESENT {
            self.slots.clear();
            self.slots.resize(slots, SlotState::EMPTY);
        }
    }

    /// What is in a slot.
    #[inline(always)]
    pub(super) fn slot(&self, slot: Slot) -> SlotState {
        let state = self.slots[usize::from(slot)];
        // Slots without a bit of their own have that of every URL.
        let present = self.present >> slot.min(MOST_PRESENT as Slot) & 1;
        SlotState { code: state.code & (present as u32).wrapping_neg(), ..state }
    }

    /// Puts something in a slot, which [`present`](Self::present) is to tell, too.
    #[inline(always)]
    pub(super) fn fill(&mut self, slot: Slot, state: SlotState) {
        self.slots[usize::from(slot)] = state;
    }
}

/// A slot in one URL.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotState {
    /// Code of its value; where it is [`ABSENT`], the rest says nothing.
    pub(super) code: u32,
    /// Place of its cell.
    pub(super) cell: u16,
    /// Row of its value.
    pub(super) row: u16,
}

impl SlotState {
    /// All zeros: there are more slots than keys in a URL, and sometimes all are cleared.
    pub(super) const EMPTY: SlotState = SlotState { code: ABSENT, cell: 0, row: 0 };
}

/// What is known of a cell beside its key and value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// Hash of the value under its key, where the slot is coded or the site needs identities.
    pub(super) hash: u64,
    /// Place of its name in the usual order of query keys.
    pub(super) rank: u16,
    pub(super) slot: Slot,
}

#[cfg(test)]
mod tests {
    use super::super::{EVER, bit};
    use super::*;

    #[test]
    fn what_another_url_left_in_a_slot_does_not_show() {
        let full = SlotState { code: 7, cell: 1, row: 2 };
        let mut state = State::default();
        for slots in [5, 5, 3, 70, 70, 63, 5] {
            state.clear(usize::from(slots));
            state.present = EVER;
            assert!((0..slots).all(|slot| state.slot(slot).code == ABSENT), "{slots}");
            for slot in [2, slots - 1] {
                state.fill(slot, full);
                state.present |= bit(slot);
                assert_eq!(state.slot(slot).code, 7, "{slots}");
            }
        }
    }
}
