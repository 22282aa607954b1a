//! The rules of one site, compiled: keys become slots, values become codes, rules become programs of a
//! few integers.
//!
//! A URL is canonicalized in five steps, each in a file of its own.
//! - [`coding`]: each pair of the URL gets the slot of its key, the code of its value, and a hash.
//! - [`rows`]: the values select the programs that may act.
//! - [`run`]: those run in order and change the pairs.
//! - [`lookups`], [`ranges`]: the sum of the hashes of the pairs, the *identity*, finds the page that
//!   is canonical.
//! - [`fixed_point`]: the pairs are composed, and the URL is checked to be its own canonical URL.
//!
//! Values are ranges of one text; a value from a rule is appended to it. The part that sites of the
//! same software have in common is a shared [`Template`]; hosts and single pages are a site's [`Own`].

mod coding;
mod compile;
mod fixed_point;
mod fragments;
mod hosts;
mod index;
mod known;
mod lookups;
mod mirrors;
mod ranges;
mod reduce;
mod rows;
mod run;
mod sorted;
mod state;
mod template;

use super::Urls;
use super::fired::bits;
use super::types::Function;
use crate::url::{Fixed, KeyKind, KeyRef};
pub use coding::{CodedOrigin, KeptOrigin};
use foldhash::fast::FixedState;
use hosts::Hosts;
pub use known::Known;
use serde::{Deserialize, Serialize};
pub use state::{Buffers, State};
use state::{Filled, PairState, SlotState};
use std::collections::HashMap;
use std::sync::Arc;
pub use template::{Template, Templates};

type Slot = u16;
const NO_SLOT: Slot = Slot::MAX;
/// Rank of a query key without a place in the usual order: after all that have one.
const NO_RANK: u16 = u16::MAX;
/// Exception to every rule.
const ALL: u16 = u16::MAX;
/// No rule is left out.
const NO_RULE: u16 = u16::MAX - 1;
/// No program among the first 64.
const NO_PROGRAM: u8 = u8::MAX;
/// Code of an absent key.
const ABSENT: u32 = 0;
/// Code of a value that no rule names.
const OTHER: u32 = 1;
/// Key of a pair that a rule removed.
const REMOVED: KeyRef = KeyRef::Fixed(Fixed(u8::MAX));
/// Slots whose presence is a bit of [`State::present`].
const MOST_PRESENT: usize = 63;
/// The presence bit that every URL has.
const EVER: u64 = 1 << 63;

/// The bit of a slot; none for slots beyond the first 63.
fn bit(slot: Slot) -> u64 {
    if usize::from(slot) < MOST_PRESENT { 1 << slot } else { 0 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Check {
    Is(u32),
    /// Sorted codes, as a range of the words.
    OneOf((u32, u32)),
    NoneOf((u32, u32)),
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
    Map(Slot, (u32, u32)),
    Apply(Slot, Function),
}

impl Step {
    fn slot(&self) -> Slot {
        let (Step::Drop(slot) | Step::Set(slot, ..) | Step::Map(slot, ..) | Step::Apply(slot, _)) = self;
        *slot
    }
}

/// Source of the value of a key of a target form.
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

/// Kinds of change to a URL, as bits: they decide whether the output has to be cut again.
mod touch {
    use crate::url::{Fixed, KeyKind};

    /// A change that alters how the rest of the URL is cut.
    pub(super) const SHAPE: u8 = 1;
    /// The trailing slash, the index or the doubled slashes were removed, or a trailing slash was added.
    pub(super) const SLASH: u8 = 2;
    /// Parts of the path got other values that are cut alike.
    pub(super) const PATH: u8 = 4;
    pub(super) const QUERY: u8 = 8;
    pub(super) const SCHEME: u8 = 16;

    /// The bits for a key that was removed.
    pub(super) fn removed(key: KeyKind) -> u8 {
        match key {
            KeyKind::Fixed(Fixed::FRAGMENT | Fixed::EMPTY_QUERY | Fixed::WHOLE_QUERY) => 0,
            KeyKind::Fixed(Fixed::TRAILING_SLASH | Fixed::INDEX | Fixed::DOUBLE_SLASH) => SLASH,
            KeyKind::Fixed(Fixed::ORDER) | KeyKind::Query => QUERY,
            KeyKind::Fixed(_) | KeyKind::Param => SHAPE,
        }
    }
}

/// One compiled rule; ranges are of the lists of the template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Program {
    /// Bits of slots that must be present.
    required: u64,
    checks: (u32, u32),
    steps: (u32, u32),
    /// For a rule between forms its keys in their order, and where their values come from; else empty.
    target: (u32, u32),
    /// For a rule between forms: number of keys that the URL must have, and no other.
    named: u16,
    /// The URL must have one of these, as bits of [`functions::needs`](super::functions::needs).
    needs: u8,
    /// A later program has a check or a step on a key that it changes.
    watched: bool,
    /// It may change scheme or host.
    moves: bool,
}

impl Program {
    fn is_form(&self) -> bool {
        self.target.0 != self.target.1
    }
}

/// A value that rules name, as a range of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Constant {
    /// Hash under its key.
    hash: u64,
    start: u32,
    end: u32,
    /// Its row.
    row: u32,
    /// Composed into a URL and cut again it is this value of this key and nothing else.
    plain: bool,
    /// Properties that functions may find in it, as bits.
    holds: u8,
}

/// A key that rules name (with a slot), or a query key with a place in the usual order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Column {
    /// Seed of the hashes of its values; of a named key the hash of its name.
    seed: u64,
    /// Its name, as a range of the pool.
    name: (u32, u32),
    kind: KeyKind,
    /// Place in the usual order of query keys.
    rank: u16,
    /// Row of the values that no rule names.
    row: u32,
    /// It has values that rules name.
    coded: bool,
    /// Program that removes the key while it is coded, [`NO_PROGRAM`] without one.
    inlined: u8,
}

/// Tables by hash.
pub type Table<T> = HashMap<u64, T, FixedState>;

/// The rules of one site, compiled: a template shared with other sites, and the site's own part.
#[derive(Debug)]
pub struct CompiledSite {
    template: Arc<Template>,
    own: Own,
}

/// The part of a site that is not shared.
#[derive(Debug, Serialize, Deserialize)]
pub struct Own {
    hosts: Hosts,
    /// Data of single pages.
    pages: Option<Box<Pages>>,
}

/// Exceptions, look-ups and mirrored directories of a site.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Pages {
    /// Rule that is left out, by the identity of the reduced URL; [`ALL`] leaves out every rule.
    #[serde(with = "sorted")]
    exceptions: Table<u16>,
    /// Number of a page by the identity of the reduced URL.
    #[serde(with = "sorted")]
    lookups: Table<u32>,
    /// Pages that look-ups and value ranges lead to, sorted: each its own canonical URL, or unused.
    targets: Urls,
    ranges: ranges::Ranges,
    /// Longest first.
    mirrors: Box<[mirrors::Mirror]>,
}

impl CompiledSite {
    /// Joins a template and the site's own part.
    pub fn new(template: Arc<Template>, own: Own) -> CompiledSite {
        CompiledSite { template, own }
    }

    /// True where the normal form is canonical.
    pub fn is_trivial(&self) -> bool {
        self.template.programs.is_empty() && self.own.pages.is_none()
    }

    /// True where the site has an origin.
    pub fn has_origin(&self, origin: &[u8]) -> bool {
        let scheme = memchr::memchr(b':', origin).unwrap_or(0);
        self.own.hosts.has_origin(&origin[..scheme], origin.get(scheme + 3..).unwrap_or_default())
    }

    /// Replaces the template by the equal one of another site, where one has it.
    pub fn share(&mut self, templates: &mut Templates) {
        templates.share(&mut self.template);
    }

    /// The part shared with other sites.
    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    /// The site's own part.
    #[cfg(feature = "packed")]
    pub fn own(&self) -> &Own {
        &self.own
    }
}

/// A range of a list.
fn part<T>(list: &[T], (from, to): (u32, u32)) -> &[T] {
    &list[from as usize..to as usize]
}

/// Appends items to a list; returns their range.
fn append<T: Copy>(list: &mut Vec<T>, items: &[T]) -> (u32, u32) {
    let from = list.len() as u32;
    list.extend_from_slice(items);
    (from, list.len() as u32)
}

/// The entries of a map of codes.
fn entries(words: &[u32], range: (u32, u32)) -> &[[u32; 2]] {
    part(words, range).as_chunks::<2>().0
}
