//! State of one URL while rules act on it, beside its pairs.

use super::{MOST_PRESENT, Slot};
use crate::rules::fired::Fired;
use crate::url::{KeyValue, KeyValues};

/// All buffers that are written while one URL is canonicalized: some kilobytes and a few times the
/// longest URL, reused from URL to URL.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    /// The normal form, then values from rules; and the pairs.
    pub kv: KeyValues,
    /// State of the pairs.
    pub state: State,
    /// Rules that fired, ascending.
    pub fired: Fired,
    /// The canonical URL, unless a look-up names a page.
    pub out: Vec<u8>,
    /// Bytes of the normal form.
    pub length: usize,
    /// Buffers for canonicalizing the canonical URL again.
    pub(super) again: Option<Box<Buffers>>,
}

impl Buffers {
    /// Makes the normal form the canonical URL.
    pub fn keep_normal(&mut self) {
        self.fired.clear();
        self.kv.text.truncate(self.length);
        std::mem::swap(&mut self.kv.text, &mut self.out);
    }
}

/// A pair of a target form, with code and hash of its value.
pub(super) type Filled = (KeyValue, (u32, u64));

/// Slots, hashes and flags of one URL. The buffers are reused from URL to URL.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// One a slot. Slots with a presence bit may hold the state of another URL: see [`slot`](Self::slot).
    pub(super) slots: Vec<SlotState>,
    /// One a pair.
    pub(super) pairs: Vec<PairState>,
    /// Presence of the first slots, and [`EVER`](super::EVER).
    pub(super) present: u64,
    /// Sum of the hashes of the pairs, where the template is [`identified`](super::Template::identified).
    pub(super) identity: u64,
    /// Pairs that rules removed and that are still in the list.
    pub(super) removed: usize,
    /// A program fired that was not inlined: earlier programs have not read its output.
    pub(super) ran: bool,
    /// Changes that the rules made, as bits of [`touch`](super::touch).
    pub(super) touched: u8,
    /// The URL has the key that holds an unusual order of its parameters.
    pub(super) ordered: bool,
    /// The URL has a parameter without a name.
    pub(super) unnamed: bool,
    /// Pairs were added, or the order of parameters was given up.
    pub(super) disordered: bool,
    /// Properties that functions may find in the values, as bits of
    /// [`needs`](crate::rules::functions::needs); a superset is harmless.
    pub(super) holds: u8,
    /// Buffer of a rule between forms.
    pub(super) target: Vec<Filled>,
    /// The value that a function wrote.
    pub(super) value: Vec<u8>,
    /// The URL that a mirror rule makes, and its normal form.
    pub(super) twin: [Vec<u8>; 2],
}

impl State {
    /// Empties `slots` slots. Slots with a presence bit keep their contents, which are no longer read.
    #[inline(always)]
    pub(super) fn clear(&mut self, slots: usize) {
        self.pairs.clear();
        self.slots.resize(slots, SlotState::default());
        self.slots.get_mut(MOST_PRESENT..).unwrap_or_default().fill(SlotState::default());
    }

    /// State of a slot.
    #[inline(always)]
    pub(super) fn slot(&self, slot: Slot) -> SlotState {
        let state = self.slots[usize::from(slot)];
        // Slots without a bit of their own use the bit of every URL.
        let present = self.present >> slot.min(MOST_PRESENT as Slot) & 1;
        SlotState { code: state.code & (present as u32).wrapping_neg(), ..state }
    }
}

/// A slot in one URL.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlotState {
    /// Code of its value; with [`ABSENT`](super::ABSENT) the other fields have no meaning.
    pub(super) code: u32,
    /// Row of its value.
    pub(super) row: u32,
    /// Index of its pair.
    pub(super) pair: u16,
}

/// State of a pair beside its key and value.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairState {
    /// Hash of the value under its key, where the key is coded or the template is identified.
    pub(super) hash: u64,
    /// Place of its name in the usual order of query keys.
    pub(super) rank: u16,
    pub(super) slot: Slot,
}

#[cfg(test)]
mod tests {
    use super::super::{ABSENT, EVER, bit};
    use super::*;

    #[test]
    fn what_another_url_left_in_a_slot_does_not_show() {
        let full = SlotState { code: 7, row: 2, pair: 1 };
        let mut state = State::default();
        for slots in [5, 5, 3, 70, 70, 63, 5] {
            state.clear(usize::from(slots));
            state.present = EVER;
            assert!((0..slots).all(|slot| state.slot(slot).code == ABSENT), "{slots}");
            for slot in [2, slots - 1] {
                state.slots[usize::from(slot)] = full;
                state.present |= bit(slot);
                assert_eq!(state.slot(slot).code, 7, "{slots}");
            }
        }
    }
}
