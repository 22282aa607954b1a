//! Operations as they are proposed and adopted: where they hold, what they do, and their evidence.

use super::columns::Columns;
use super::evidence::Groups;
use super::operations::{Family, Map};
use super::section_set::SectionSet;
use crate::platforms::Placed;
use crate::url::{Fixed, Key};

/// A test on the value of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// This value.
    Is(u32),
    /// Some value.
    Present,
    /// No value.
    Absent,
    /// One of these values (sorted).
    OneOf(Vec<u32>),
    /// A value, but none of these (sorted).
    None(Vec<u32>),
    /// None of these (sorted), or no value.
    Not(Vec<u32>),
}

impl Condition {
    /// True for a row whose key has `code`.
    pub fn holds(&self, code: u32) -> bool {
        match self {
            Condition::Is(value) => code == *value,
            Condition::Present => code != 0,
            Condition::Absent => code == 0,
            Condition::OneOf(values) => values.contains(&code),
            Condition::Not(values) => !values.contains(&code),
            Condition::None(values) => code != 0 && !values.contains(&code),
        }
    }
}

/// A conjunction of conditions.
pub type Scope = Vec<(usize, Condition)>;

/// Kind of operation that a rule makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The values of these keys do not matter.
    Ignore,
    /// Values of one key that mean the same, or values of several that mean the same as none of them.
    Classes,
    /// A string function.
    Function(Family),
    /// The path is cut behind this many segments.
    Prefix(u8),
}

/// An operation with its scope and evidence when it was found.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Where it holds.
    pub scope: Scope,
    /// What it does.
    pub action: Action,
    /// The keys it touches.
    pub keys: Vec<usize>,
    /// The maps of classes, one a key; other maps are made anew in the state in which the proposal is
    /// tested.
    pub classes: Option<Vec<Vec<u32>>>,
    /// Prior of the kind of operation.
    pub prior: u64,
    /// Good less the cost of bad when it was found.
    pub score: i64,
}

/// An operation that was not adopted everywhere, with its groups: conditions and classes are read from it.
pub struct EvidenceTable {
    /// The groups.
    pub groups: Groups,
    /// The operation.
    pub action: Action,
    /// Keys it touches.
    pub keys: Vec<usize>,
    /// Its prior.
    pub prior: u64,
    /// Groups with some good.
    pub with_good: Vec<u32>,
    /// Groups with some bad.
    pub with_bad: Vec<u32>,
}

impl EvidenceTable {
    pub(super) fn new(groups: Groups, action: Action, keys: Vec<usize>, prior: u64) -> EvidenceTable {
        let some = |counts: &[u32]| (0..).zip(counts).filter(|(_, n)| **n > 0).map(|(group, _)| group).collect();
        let (with_good, with_bad) = (some(&groups.good), some(&groups.bad));
        EvidenceTable { groups, action, keys, prior, with_good, with_bad }
    }
}

/// An adopted rule that is a line.
#[derive(Clone, Debug, PartialEq)]
pub struct AdoptedLine {
    /// The line.
    pub placed: Placed,
    /// True for an operation that was adopted without evidence.
    pub provisional: bool,
}

/// A rule that was adopted.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// Where it holds.
    pub scope: Scope,
    /// The sections in which it holds.
    pub sections: SectionSet,
    /// What it does.
    pub action: Action,
    /// Map of each touched key.
    pub maps: Vec<(usize, Map)>,
    /// Those of them for which a function is written out, value by value.
    pub listed: Vec<usize>,
    /// Evidence when it was adopted.
    pub good: u64,
    /// Evidence against it when it was adopted.
    pub bad: u64,
    /// Its prior.
    pub prior: u64,
    /// Clusters that support it.
    pub clusters: u64,
    /// Pairs it joins, and pairs of different clusters among them.
    pub pairs: (u64, u64),
    /// Up to three pairs of training rows of one cluster that it joins.
    pub examples: Vec<[u32; 2]>,
    /// The adopted line of the catalogue of platforms; scope and operations are those of the line.
    pub line: Option<AdoptedLine>,
}

/// True for classes of a parameter: their prior is what such parameters do elsewhere, and for no
/// documentation.
pub(super) fn is_substitution(columns: &Columns, action: Action, maps: &[(usize, Map)]) -> bool {
    action == Action::Classes && maps.iter().all(|map| columns.keys[map.0].optional())
}

/// True for the order and the separators of parameters, of which defaults that are written out may have their own.
pub fn is_arrangement(key: &Key) -> bool {
    key.is(Fixed::ORDER) || key.is(Fixed::SEPARATOR)
}
