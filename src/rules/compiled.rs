//! The rules of one site as slots, codes and a short program.
//!
//! Keys that rules mention get a *slot*, values they mention a *code*; a URL becomes one code a slot, and each rule is a
//! few integer comparisons. Values stay ranges of the text of [`Cells`](crate::url::Cells); a constant is appended to it.
//!
//! Most of the work is not done: a seen member that stands for itself is known by its bytes, before it is cut
//! ([`CompiledSite::stands`]); the values tell which programs may act ([`rows`]), the letters of the URL which functions
//! may ([`Program::needs`]), and a program that fired which others look at what it wrote ([`Program::wakes`], [`reach`]). Rules that
//! ask for nothing but their own key act while the URL is read ([`at_once`]). What changed in few places is edited, not
//! composed ([`edits`]), and mostly known to come out the same when it comes again ([`settled`]).
//!
//! A site is its [`Template`], which it shares with all sites that have the same rules but for their hosts, and what is its
//! [`Own`]: hosts, and what is known of single pages.

mod at_once;
mod coding;
mod compile;
mod edits;
mod fragments;
mod hosts;
mod index;
mod known;
mod lookups;
mod mirrors;
mod reach;
mod reduce;
mod rows;
mod settled;
mod sorted;
mod spans;
mod state;
mod stays;
mod steps;
mod template;

use super::Urls;
use super::apply::Scratch;
use super::types::Function;
use crate::url::{self, Fixed, KeyRef, Split};
pub use coding::{CodedOrigin, KeptOrigin};
use hosts::Hosts;
pub use known::Known;
use reach::Reach;
use serde::{Deserialize, Serialize};
pub use state::State;
use state::{Mark, SlotState};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
pub use template::{Template, Templates};

type Slot = u16;
const NO_SLOT: Slot = Slot::MAX;
/// No slot of a fixed key: those stand first, so that a byte counts them.
const NO_FIXED: u8 = u8::MAX;
/// No place in the usual order: behind all that have one.
const NO_RANK: u16 = u16::MAX;
/// Exception to every rule.
const ALL: u16 = u16::MAX;
/// No program does its work while the URL is read.
const NO_PROGRAM: u8 = u8::MAX;
/// A program does, on some values.
const LISTED: u8 = 64;
/// No rule is passed over.
const NO_RULE: u16 = u16::MAX - 1;
/// Code of an absent key.
const ABSENT: u32 = 0;
/// Code of a value that no rule mentions.
const OTHER: u32 = 1;
/// Key of a cell that a rule left out.
const GONE: KeyRef = KeyRef::Fixed(Fixed(u8::MAX));

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Check {
    Is(u32),
    /// Codes: a range of the words.
    OneOf(u32, u32),
    NoneOf(u32, u32),
    Present,
    Absent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Step {
    /// The key is left out.
    Drop(Slot),
    /// The key gets a constant; where it was absent only if `.2`.
    Set(Slot, u32, bool),
    /// Codes that become other codes: a range of the words, pairs sorted by the first.
    Map(Slot, u32, u32),
    Apply(Slot, Function),
}

/// Where a key of a target form gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    use crate::url::Fixed;

    /// Something that another cut may see otherwise.
    pub(super) const SHAPE: u8 = 1;
    /// The trailing slash or the index went.
    pub(super) const SLASH: u8 = 2;
    /// The doubled slashes went.
    pub(super) const DOUBLED: u8 = 4;
    pub(super) const QUERY: u8 = 8;
    pub(super) const SCHEME: u8 = 16;
    /// The extension went.
    pub(super) const EXTENSION: u8 = 32;
    /// Something that needs no question.
    pub(super) const HARMLESS: u8 = 64;
    /// A cell points at a value that was written behind the URL, or cells were taken out of the list: where the old value
    /// stood is not known any more, and [`edit`](super::edits) leaves the URL to composing.
    pub(super) const MOVED: u8 = 128;

    /// A fixed key was left out.
    pub(super) fn without(key: Fixed) -> u8 {
        match key {
            Fixed::FRAGMENT | Fixed::EMPTY_QUERY | Fixed::WHOLE_QUERY => HARMLESS,
            Fixed::TRAILING_SLASH | Fixed::INDEX => SLASH,
            Fixed::DOUBLE_SLASH => DOUBLED,
            Fixed::EXTENSION => EXTENSION,
            Fixed::ORDER => QUERY,
            _ => SHAPE,
        }
    }
}

/// The bit that every URL has.
const EVER: u64 = 1 << 63;

/// Slots whose presence is a bit.
const MOST_PRESENT: usize = 63;

/// The bit of a slot; none for slots beyond the first 63.
fn bit(slot: Slot) -> u64 {
    if usize::from(slot) < MOST_PRESENT { 1 << slot } else { 0 }
}

/// What a program needs to do anything, as bits of the first slots: asked before its checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Gate {
    /// Slots that must be present or must be absent.
    asked: u64,
    /// Those of them that must be present.
    present: u64,
}

/// One rule; ranges are of the lists of the site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Program {
    gate: Gate,
    checks: (u32, u32),
    steps: (u32, u32),
    /// Programs up to this one that look at what it writes: after it fired they may fire anew.
    again: (u32, u32),
    /// For a rule between forms: its keys, path keys rising, and where their values come from; else nothing.
    target: (u32, u32),
    /// For a rule between forms: the keys that a URL must have, and no other.
    named: u16,
    /// One of these must be among what the values hold.
    needs: u8,
    /// Programs behind it, of the same 64, that look at what it writes: after it fired they are chosen anew.
    wakes: u64,
}

/// A value that rules write, as a range of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Constant {
    /// Hash under its key.
    hash: u64,
    start: u32,
    end: u32,
    /// Its row.
    row: u16,
    /// Composed into a URL and cut again it is this value of this key and nothing else.
    plain: bool,
    /// What functions may find in it.
    holds: u8,
}

/// Kind of a key; fixed keys hold their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Class {
    Fixed(u8),
    Param,
    Query,
}

/// A key that rules mention (it has a slot), or a query key that has a place in the usual order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Column {
    /// Seed of the hashes of its values; of a named key the hash of its name.
    seed: u64,
    /// Where its name starts in the pool.
    start: u32,
    /// Bytes of its name.
    length: u16,
    /// Place in the usual order of query keys.
    rank: u16,
    /// The code that the program that acts at once gives the key; [`ABSENT`] leaves it out.
    becomes: u16,
    class: Class,
    /// Row of the values that no rule mentions.
    row: u16,
    /// It has values that rules mention.
    coded: bool,
    /// Program that needs no more than this key to act, and before which no other looks at it: its work is done when the
    /// key is read. One of the first 64, [`LISTED`] where it acts on the hosts that rules know alone, or [`NO_PROGRAM`].
    at_once: u8,
}

impl Column {
    fn new(seed: u64, start: u32, length: u16, class: Class) -> Column {
        let (rank, becomes, row) = (NO_RANK, ABSENT as u16, 0);
        Column { seed, start, length, rank, becomes, class, row, coded: false, at_once: NO_PROGRAM }
    }

    /// Its name, as a range of the pool.
    fn name(&self) -> (u32, u32) {
        (self.start, self.start + u32::from(self.length))
    }

    fn becomes(&self) -> u32 {
        u32::from(self.becomes)
    }
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

/// The rules of one site, compiled: those that other sites have as well, once for all of them, and what is its own.
#[derive(Debug)]
pub struct CompiledSite {
    template: Arc<Template>,
    own: Own,
}

/// What is a site's own.
#[derive(Debug, Serialize, Deserialize)]
pub struct Own {
    hosts: Hosts,
    /// What is known of single pages.
    pages: Option<Box<Pages>>,
}

/// Exceptions, look-ups and mirrored directories of a site.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Pages {
    /// Rule that is passed over, by the identity of the reduced URL; [`ALL`] passes over every rule.
    #[serde(with = "sorted")]
    exceptions: HashMap<u64, u16, AsIs>,
    /// Canonical URL (index of a seen member) by the identity of the reduced URL.
    #[serde(with = "sorted")]
    lookups: HashMap<u64, u32, AsIs>,
    /// Seen members, in the memory they have in the rule set.
    seen: Urls,
    /// Those that are their own canonical URL, by the hash of their bytes.
    #[serde(with = "sorted::keys")]
    own: HashSet<u64, AsIs>,
    spans: spans::Spans,
    /// Longest first.
    mirrors: Box<[mirrors::Mirror]>,
}

impl CompiledSite {
    /// Of its template and of what is its own.
    pub fn new(template: Arc<Template>, own: Own) -> CompiledSite {
        CompiledSite { template, own }
    }

    /// Nothing to do beyond stage 1.
    pub fn is_trivial(&self) -> bool {
        self.template.programs.is_empty() && self.own.pages.is_none()
    }

    /// Whatever the rules make of a URL of the site stays on a host of the site: known from the rules alone.
    pub fn stays(&self) -> bool {
        self.template.stays
    }

    /// Takes the template of another site, where one has the same.
    pub fn share(&mut self, templates: &mut Templates) {
        templates.share(&mut self.template);
    }

    /// Its template.
    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    /// What is its own.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// The seen member that stands for the URL at `split` that was reduced, `length` bytes in stage-1 form; where none does,
    /// the URL is written to `scratch.out`.
    #[inline]
    pub fn conclude(&self, member: Option<u32>, split: &Split, length: usize, scratch: &mut Scratch) -> Option<u32> {
        if member.is_some_and(|member| (member as usize) < self.members()) {
            return member;
        }
        if scratch.fired.is_empty() {
            scratch.cells.text.truncate(length);
            std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
            return None;
        }
        let edited = self.edit(split, length, &scratch.cells, &scratch.state, &mut scratch.out);
        if !edited {
            self.compose(scratch);
        }
        let host = || self.value(1, &scratch.cells, &scratch.state);
        let settled = self.template.settled(&scratch.cells, &scratch.state, &scratch.fired, &scratch.out, host);
        debug_assert!(!edited || self.composes_what_was_edited(scratch));
        debug_assert!(!settled || scratch.out == scratch.cells.text[..length] || self.stable(scratch));
        if !settled && scratch.out != scratch.cells.text[..length] && !self.stable(scratch) {
            // Law: canonicalizing twice is once. Where it is not, the URL keeps its stage-1 form.
            scratch.fired.clear();
            scratch.cells.text.truncate(length);
            std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
        }
        None
    }

    /// Composes the URL of the pairs that rules left.
    fn compose(&self, scratch: &mut Scratch) {
        self.tidy_cells(&mut scratch.cells, &mut scratch.state);
        url::compose(&scratch.cells, &mut scratch.out);
    }

    /// True where the URL in `out` is what its pairs compose to.
    fn composes_what_was_edited(&self, scratch: &mut Scratch) -> bool {
        std::mem::swap(&mut scratch.out, &mut scratch.again);
        self.compose(scratch);
        scratch.out == scratch.again
    }

    /// True when the URL in `out` is stage-1 normal and canonicalizes to itself. Keeps `cells.text` and `fired`.
    fn stable(&self, scratch: &mut Scratch) -> bool {
        let mut first = std::mem::take(&mut scratch.again);
        std::mem::swap(&mut first, &mut scratch.cells.text);
        // Rules that fire now are not those of the URL: they go to a list of their own.
        std::mem::swap(&mut scratch.fired, &mut scratch.fired_again);
        scratch.fired.clear();
        let same = match url::normalize(&scratch.out, &mut scratch.cells.text) {
            Ok(split) if scratch.cells.text == scratch.out && !self.leaves_out_fragment(&split, &scratch.out) => {
                self.reduce(&split, scratch, None);
                match self.seen_member(self.member(scratch)) {
                    Some(url) => url.as_bytes() == scratch.out,
                    // What was cut and is not changed composes to the same bytes.
                    None if scratch.fired.is_empty() && !self.template.cut.semicolons => true,
                    None => {
                        self.tidy(&mut scratch.cells, &mut scratch.state);
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

/// A range of a list.
fn part<T>(list: &[T], (from, to): (u32, u32)) -> &[T] {
    &list[from as usize..to as usize]
}

impl Program {
    /// A rule between forms.
    fn is_form(&self) -> bool {
        self.target.0 != self.target.1
    }
}

impl Gate {
    fn opens(self, present: u64) -> bool {
        present & self.asked == self.present
    }
}

impl Template {
    /// The first constraint of a program that does not hold.
    fn stopped(&self, program: &Program, state: &State) -> Option<usize> {
        let holds = |&(slot, check): &(Slot, Check)| {
            let code = state.slot(slot).code;
            match check {
                Check::Is(value) => code == value,
                Check::OneOf(from, to) => part(&self.words, (from, to)).contains(&code),
                Check::NoneOf(from, to) => code != ABSENT && !part(&self.words, (from, to)).contains(&code),
                Check::Present => code != ABSENT,
                Check::Absent => code == ABSENT,
            }
        };
        part(&self.checks, program.checks).iter().position(|check| !holds(check))
    }
}
