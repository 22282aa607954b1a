//! The rules of one site as slots, codes and a short program.
//!
//! Keys that rules mention get a *slot*, values they mention a *code*; a URL becomes one code a slot, and each rule is a
//! few integer comparisons. Values stay ranges of the text of [`Cells`](crate::url::Cells); a constant is appended to it.

mod compile;
mod lookups;
mod mirrors;
mod reduce;
mod settled;
mod spans;
mod steps;
mod trace;

use super::Urls;
use super::apply::Scratch;
use super::types::Function;
use crate::url::{self, Cell, Cut, Fixed, Key, KeyRef, Split};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

type Slot = u16;
const NO_SLOT: Slot = Slot::MAX;
const NO_CELL: u16 = u16::MAX;
/// Exception to every rule.
const ALL: u16 = u16::MAX;
/// No rule is passed over.
const NO_RULE: u16 = u16::MAX - 1;
/// Code of an absent key.
const ABSENT: u32 = 0;
/// Code of a value that no rule mentions.
const OTHER: u32 = 1;
/// Key of a cell that a rule left out.
const GONE: KeyRef = KeyRef::Fixed(Fixed(u8::MAX));

/// What the rules see of one URL.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Code of each slot.
    codes: Vec<u32>,
    /// Cell of each slot.
    cells: Vec<u16>,
    /// Seed of the key of each cell.
    seeds: Vec<u64>,
    /// Hash of the value of each cell under its key, where the slot is coded or the site needs identities.
    hashes: Vec<u64>,
    /// Slot and rank of each cell as it was cut.
    slots: Vec<Slot>,
    ranks: Vec<u32>,
    /// Presence of the first 64 slots.
    present: u64,
    /// What the rules touched, for [`CompiledSite::settled`]: bits of [`touch`].
    touched: u8,
    /// Source cells of a rule between forms.
    source: Vec<Cell>,
    value: Vec<u8>,
    /// The URL that is looked up among mirrored directories.
    composed: Vec<u8>,
    /// Its twin, stage-1 normal.
    twin: Vec<u8>,
    /// Cells were added or the order of parameters was given up.
    disordered: bool,
}

#[derive(Debug)]
enum Check {
    Is(u32),
    OneOf(Vec<u32>),
    NoneOf(Vec<u32>),
    Present,
    Absent,
}

#[derive(Debug)]
enum Step {
    /// The key is left out.
    Drop(Slot),
    /// The key gets a constant; where it was absent only if `.2`.
    Set(Slot, u32, bool),
    /// Codes that become other codes, sorted.
    Map(Slot, Vec<(u32, u32)>),
    Apply(Slot, Function),
}

/// Where a key of a target form gets its value.
#[derive(Debug)]
enum Fill {
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

/// What rules touched of one URL: what must be asked before its output counts as settled.
mod touch {
    /// Something that another cut may see otherwise.
    pub(super) const SHAPE: u8 = 1;
    /// The trailing slash or the index went.
    pub(super) const SLASH: u8 = 2;
    /// The doubled slashes went.
    pub(super) const DOUBLED: u8 = 4;
    pub(super) const QUERY: u8 = 8;
    pub(super) const SCHEME: u8 = 16;
    /// Something that needs no question.
    pub(super) const HARMLESS: u8 = 32;
}

/// The bit of a slot; none for slots beyond 64.
fn bit(slot: Slot) -> u64 {
    1u64.checked_shl(u32::from(slot)).unwrap_or(0)
}

/// What a program needs to do anything, as bits of the first 64 slots: asked before its checks.
#[derive(Clone, Copy, Debug, Default)]
struct Gate {
    present: u64,
    absent: u64,
    /// One of these is present; 0 where the program may act without.
    any: u64,
}

#[derive(Debug)]
struct Program {
    checks: Vec<(Slot, Check)>,
    steps: Vec<Step>,
    /// For a rule between forms: its keys and their values, path keys rising.
    target: Option<Vec<(Key, u64, Fill)>>,
}

/// A value that rules write, as a range of the pool.
#[derive(Clone, Copy, Debug, Default)]
struct Constant {
    start: u32,
    end: u32,
    /// Hash under its key.
    hash: u64,
    /// Composed into a URL and cut again it is this value of this key and nothing else.
    plain: bool,
}

/// Hasher for keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = crate::model::hash64_seeded(bytes, self.0);
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl BuildHasher for AsIs {
    type Hasher = AsIs;
    fn build_hasher(&self) -> AsIs {
        AsIs(0)
    }
}

/// The rules of one site, compiled.
#[derive(Debug)]
pub struct CompiledSite {
    cut: Cut,
    fixed: [Slot; 256],
    /// Slot and rank of named keys, by seed.
    named: HashMap<u64, (Slot, u32), AsIs>,
    keys: Vec<Key>,
    seeds: Vec<u64>,
    /// The slot has values that rules mention.
    coded: Vec<bool>,
    codes: HashMap<u64, u32, AsIs>,
    /// Value of each code.
    values: Vec<Constant>,
    pool: Vec<u8>,
    /// Exceptions or look-ups ask for the identity of a URL.
    identified: bool,
    programs: Vec<Program>,
    /// Rule, directory and its mirror, longest directory first.
    mirrors: Vec<(u16, Vec<u8>, Vec<u8>)>,
    /// One a program.
    gates: Vec<Gate>,
    /// For each program the programs up to it that look at what it writes: after it fired they may fire anew.
    again: Vec<Vec<u16>>,
    /// Rule that is passed over, by the identity of the reduced URL; [`ALL`] passes over every rule.
    exceptions: HashMap<u64, u16, AsIs>,
    /// Canonical URL (index of a seen member) by the identity of the reduced URL.
    lookups: HashMap<u64, u32, AsIs>,
    /// Seen members, in the memory they have in the rule set.
    seen: Urls,
    spans: spans::Spans,
}

impl CompiledSite {
    /// Nothing to do beyond stage 1.
    pub fn is_trivial(&self) -> bool {
        self.programs.is_empty() && self.lookups.is_empty()
    }

    /// Reduces and composes the URL in `scratch.cells.text` into `scratch.out`; true where a look-up decided.
    pub fn apply(&self, split: &Split, scratch: &mut Scratch) -> bool {
        let length = scratch.cells.text.len();
        self.reduce(split, scratch);
        if let Some(url) = self.look_up(scratch) {
            scratch.out.clear();
            scratch.out.extend_from_slice(url);
            return true;
        }
        if scratch.fired.is_empty() {
            scratch.cells.text.truncate(length);
            std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
            return false;
        }
        url::compose(&scratch.cells, &mut scratch.out);
        let settled = self.settled(&scratch.cells, &scratch.state, &scratch.fired);
        debug_assert!(!settled || scratch.out == scratch.cells.text[..length] || self.stable(scratch));
        if !settled && scratch.out != scratch.cells.text[..length] && !self.stable(scratch) {
            // Law: canonicalizing twice is once. Where it is not, the URL keeps its stage-1 form.
            scratch.fired.clear();
            scratch.cells.text.truncate(length);
            std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
        }
        false
    }

    /// True when the URL in `out` is stage-1 normal and canonicalizes to itself. Keeps `cells.text` and `fired`.
    fn stable(&self, scratch: &mut Scratch) -> bool {
        let mut first = std::mem::take(&mut scratch.again);
        std::mem::swap(&mut first, &mut scratch.cells.text);
        // Rules that fire now are not those of the URL: they go to a list of their own.
        std::mem::swap(&mut scratch.fired, &mut scratch.fired_again);
        scratch.fired.clear();
        let same = match url::normalize(&scratch.out, &mut scratch.cells.text) {
            Ok(split) if scratch.cells.text == scratch.out => {
                self.reduce(&split, scratch);
                match self.look_up(scratch) {
                    Some(url) => url == scratch.out,
                    // What was cut and is not changed composes to the same bytes.
                    None if scratch.fired.is_empty() && !self.cut.semicolons => true,
                    None => {
                        url::compose(&scratch.cells, &mut scratch.state.value);
                        scratch.state.value == scratch.out
                    }
                }
            }
            _ => false,
        };
        std::mem::swap(&mut scratch.fired, &mut scratch.fired_again);
        std::mem::swap(&mut first, &mut scratch.cells.text);
        scratch.again = first;
        same
    }
}

impl Gate {
    fn opens(self, present: u64) -> bool {
        present & self.present == self.present
            && present & self.absent == 0
            && (self.any == 0 || present & self.any != 0)
    }
}

impl Program {
    fn holds(&self, codes: &[u32]) -> bool {
        self.checks.iter().all(|(slot, check)| check.holds(codes[usize::from(*slot)]))
    }
}

impl Check {
    fn holds(&self, code: u32) -> bool {
        match self {
            Check::Is(value) => code == *value,
            Check::OneOf(values) => values.contains(&code),
            Check::NoneOf(values) => code != ABSENT && !values.contains(&code),
            Check::Present => code != ABSENT,
            Check::Absent => code == ABSENT,
        }
    }
}
