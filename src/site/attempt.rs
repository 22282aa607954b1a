//! A proposal while it is tested.

use super::evidence::Groups;
use super::operations::Map;
use super::proposal::{Action, Condition, Proposal, Scope};

/// What of a proposal has held so far.
#[derive(Debug)]
pub(super) struct Attempt {
    /// Where it holds.
    pub scope: Scope,
    /// What it does.
    pub action: Action,
    /// The keys it touches.
    pub keys: Vec<usize>,
    /// Prior of the kind of operation, where it holds.
    pub prior: u64,
    /// Map of each key that it changes.
    pub maps: Vec<(usize, Map)>,
    /// The rows on which it is tested, and in the end those on which it acts.
    pub rows: Vec<u32>,
    /// What the maps merge among these rows.
    pub groups: Groups,
    /// Values of several keys are written out together, in place of none.
    pub are_defaults: bool,
    /// A `?` between parameters (its key) that is left out with the parameter before it.
    pub nested: Option<usize>,
    /// The key behind a front and its values that pages show; `None` where any may follow.
    pub heads: Option<(usize, Vec<u32>)>,
    /// Keys for which a function is written out, value by value.
    pub listed: Vec<usize>,
}

impl Attempt {
    /// The proposal under one condition more, to be tested anew.
    pub fn under(self, condition: (usize, Condition)) -> Proposal {
        let Attempt { mut scope, action, keys, prior, maps, .. } = self;
        let classes = match maps.into_iter().next() {
            Some((_, Map::Table(table))) if action == Action::Classes => Some(vec![table]),
            _ => None,
        };
        scope.push(condition);
        Proposal { scope, action, keys, classes, prior, score: 0 }
    }
}
