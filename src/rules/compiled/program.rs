//! Programs: compiled rules, and the parts of which they consist.

use crate::rules::types::Function;
use crate::url::{Fixed, KeyKind, KeyRef};
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

pub(super) type Slot = u16;

pub(super) const NO_SLOT: Slot = Slot::MAX;

/// Rank of a query key without a place in the usual order: after all that have one.
pub(super) const NO_RANK: u16 = u16::MAX;

/// Exception to every rule.
pub(super) const ALL: u16 = u16::MAX;

/// No rule is left out.
pub(super) const NO_RULE: u16 = u16::MAX - 1;

/// No program among the first 64.
pub(super) const NO_PROGRAM: u8 = u8::MAX;

/// Code of an absent key.
pub(super) const ABSENT: u32 = 0;

/// Code of a value that no rule names.
pub(super) const OTHER: u32 = 1;

/// Key of a pair that a rule removed.
pub(super) const REMOVED: KeyRef = KeyRef::Fixed(Fixed(u8::MAX));

/// Slots whose presence is a bit of [`State::present`](super::State::present).
pub(super) const MOST_PRESENT: usize = 63;

/// The presence bit that every URL has.
pub(super) const EVER: u64 = 1 << 63;

/// The bit of a slot; none for slots beyond the first 63.
pub(super) fn bit(slot: Slot) -> u64 {
    if usize::from(slot) < MOST_PRESENT { 1 << slot } else { 0 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Check {
    Is(u32),
    /// Sorted codes, as a range of the words.
    OneOf((u32, u32)),
    Not((u32, u32)),
    Present,
    Absent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// The key is left out.
    Drop(Slot),
    /// The key gets a constant; where it was absent only if `.2`.
    Set(Slot, u32, bool),
    /// Codes that become other codes: a range of the words, pairs sorted by the first.
    Map(Slot, (u32, u32)),
    Apply(Slot, Function),
}

impl Step {
    pub(super) fn slot(&self) -> Slot {
        let (Step::Drop(slot) | Step::Set(slot, ..) | Step::Map(slot, ..) | Step::Apply(slot, _)) = self;
        *slot
    }
}

/// Source of the value of a key of a target form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Fill {
    Constant(u32),
    From(Slot),
    /// Labels of the source host below its registrable domain.
    FromSub(Slot),
    /// The value becomes labels below the registrable domain of the source host.
    ToSub {
        value: Slot,
        host: Slot,
    },
}

/// One compiled rule; ranges are of the lists of the template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Program {
    /// Bits of slots that must be present.
    pub(super) required: u64,
    pub(super) checks: (u32, u32),
    pub(super) steps: (u32, u32),
    /// For a rule between forms its keys in their order, and where their values come from; else empty.
    pub(super) target: (u32, u32),
    /// For a rule between forms: number of keys that the URL must have, and no other.
    pub(super) named: u16,
    /// The URL must have one of these, as bits of [`functions::needs`](crate::rules::functions::needs).
    pub(super) needs: u8,
    /// A later program has a check or a step on a key that it changes.
    pub(super) watched: bool,
    /// True for a program that may change scheme or host.
    pub(super) moves: bool,
}

impl Program {
    pub(super) fn is_form(&self) -> bool {
        self.target.0 != self.target.1
    }
}

/// A value that rules name, as a range of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Constant {
    /// Hash under its key.
    pub(super) hash: u64,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Its row.
    pub(super) row: u32,
    /// Composed into a URL and tokenized again it is this value of this key and nothing else.
    pub(super) plain: bool,
    /// Properties that functions may find in it, as bits.
    pub(super) holds: u8,
}

/// A key that rules name (with a slot), or a query key with a place in the usual order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeySlot {
    /// Seed of the hashes of its values; of a named key the hash of its name.
    pub(super) seed: u64,
    /// Its name, as a range of the pool.
    pub(super) name: (u32, u32),
    pub(super) kind: KeyKind,
    /// Place in the usual order of query keys.
    pub(super) rank: u16,
    /// Row of the values that no rule names.
    pub(super) row: u32,
    /// True for a key with values that rules name.
    pub(super) coded: bool,
    /// Program that removes the key while it is coded, [`NO_PROGRAM`] without one.
    pub(super) inlined: u8,
}

/// Tables by hash.
pub type ByHash<T> = HashMap<u64, T, FixedState>;

/// A range of a list.
pub(super) fn part<T>(list: &[T], (from, to): (u32, u32)) -> &[T] {
    &list[from as usize..to as usize]
}

/// Appends items to a list; returns their range.
pub(super) fn append<T: Copy>(list: &mut Vec<T>, items: &[T]) -> (u32, u32) {
    let from = list.len() as u32;
    list.extend_from_slice(items);
    (from, list.len() as u32)
}

/// The entries of a map of codes.
pub(super) fn entries(words: &[u32], range: (u32, u32)) -> &[[u32; 2]] {
    part(words, range).as_chunks::<2>().0
}
