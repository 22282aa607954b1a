//! The rules of one site as slots, codes and a short program.
//!
//! Keys that rules mention get a *slot*, values they mention a *code*; a URL becomes one code a slot, and each rule is a
//! few integer comparisons. Values stay ranges of the text of [`Cells`](crate::url::Cells); a constant is appended to it.

mod compile;
mod lookups;
mod mirrors;
mod reduce;
mod steps;

use super::apply::Scratch;
use super::types::Function;
use crate::url::{self, Cell, Cut, Fixed, Key, KeyRef, Split};
use foldhash::fast::FixedState;
use std::collections::HashMap;

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

#[derive(Debug)]
struct Program {
    checks: Vec<(Slot, Check)>,
    steps: Vec<Step>,
    /// For a rule between forms: its keys and their values, path keys rising.
    target: Option<Vec<(Key, u64, Fill)>>,
}

/// The rules of one site, compiled.
#[derive(Debug)]
pub struct CompiledSite {
    cut: Cut,
    fixed: [Slot; 256],
    named: HashMap<u64, Slot, FixedState>,
    keys: Vec<Key>,
    seeds: Vec<u64>,
    /// The slot has values that rules mention.
    coded: Vec<bool>,
    ranks: HashMap<u64, u32, FixedState>,
    codes: HashMap<u64, u32, FixedState>,
    /// Value of each code, as a range of the pool.
    values: Vec<(u32, u32)>,
    pool: Vec<u8>,
    programs: Vec<Program>,
    /// Rule, directory and its mirror, longest directory first.
    mirrors: Vec<(u16, Vec<u8>, Vec<u8>)>,
    /// Rule that is passed over, by the identity of the reduced URL; [`ALL`] passes over every rule.
    exceptions: HashMap<u64, u16, FixedState>,
    /// Canonical URL (range of the pool) by the identity of the reduced URL.
    lookups: HashMap<u64, (u32, u32), FixedState>,
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
        let mut out = std::mem::take(&mut scratch.out);
        url::compose(&scratch.cells, &mut out);
        scratch.out = out;
        if scratch.out != scratch.cells.text[..length] && !self.stable(scratch) {
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
        let fired = scratch.fired.len();
        let same = match url::normalize(&scratch.out, &mut scratch.cells.text) {
            Ok(split) if scratch.cells.text == scratch.out => {
                self.reduce(&split, scratch);
                let mut again = std::mem::take(&mut scratch.state.value);
                match self.look_up(scratch) {
                    Some(url) => again.splice(.., url.iter().copied()).for_each(drop),
                    None => url::compose(&scratch.cells, &mut again),
                }
                scratch.state.value = again;
                scratch.state.value == scratch.out
            }
            _ => false,
        };
        scratch.fired.truncate(fired);
        std::mem::swap(&mut first, &mut scratch.cells.text);
        scratch.again = first;
        same
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
