//! Canonical URLs that stand outside the scope of a rule by one constraint.
//!
//! Applying a rule without each of its constraints to all URLs costs more than all learning before it. The
//! values of the keys that scopes name are read once, as columns of codes, and a constraint is a table of
//! its codes: only URLs for which all other constraints hold are left to try.

use super::lookups::Identity;
use super::points::Reader;
use crate::model::hash64;
use crate::rules::{Constraint, SECTION, SiteRules, Tokens};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// The canonical URLs of a site, with their values for the keys that its rules name in scopes.
pub struct Met<'f> {
    /// The URLs.
    pub found: &'f [Identity],
    by_hash: HashMap<u64, usize, FixedState>,
    columns: HashMap<&'f str, Column, FixedState>,
}

/// The values of one key.
#[derive(Default)]
struct Column {
    /// Index of the value, a URL.
    codes: Vec<u32>,
    /// Distinct values; `None` is the absent key.
    values: Vec<Option<Vec<u8>>>,
    index: HashMap<Option<Vec<u8>>, u32, FixedState>,
}

impl Column {
    fn push(&mut self, value: Option<Vec<u8>>) {
        let next = self.values.len() as u32;
        let code = *self.index.entry(value.clone()).or_insert(next);
        if code == next {
            self.values.push(value);
        }
        self.codes.push(code);
    }
}

impl<'f> Met<'f> {
    /// Without the values of keys.
    pub fn new(found: &'f [Identity]) -> Met<'f> {
        let by_hash = found.iter().enumerate().map(|(at, of)| (hash64(&of.composed), at)).collect();
        Met { found, by_hash, columns: HashMap::default() }
    }

    /// With the values of the keys that the scopes of `rules` name. O(URLs x pairs).
    pub fn with_values(found: &'f [Identity], rules: &'f SiteRules) -> Met<'f> {
        let mut met = Met::new(found);
        let keys = rules.rules.iter().flat_map(|rule| &rule.scope).map(|constraint| &*constraint.key);
        met.columns = keys.map(|key| (key, Column::default())).collect();
        let mut reader = Reader::new(&rules.tokens);
        for identity in found {
            let mut values = reader.values(&identity.composed);
            values.insert(SECTION.to_owned(), section(&rules.tokens, identity));
            met.columns.iter_mut().for_each(|(key, column)| column.push(values.remove(*key)));
        }
        met
    }

    /// The URL with this hash.
    pub fn at(&self, hash: u64) -> Option<usize> {
        self.by_hash.get(&hash).copied()
    }

    /// URLs for which all constraints hold but those that `is_lifted` names, of which some does not.
    pub fn outside(&self, scope: &[Constraint], is_lifted: impl Fn(&Constraint) -> bool) -> Vec<usize> {
        let table = |constraint: &Constraint| -> Option<(&[u32], Vec<bool>)> {
            let column = self.columns.get(&*constraint.key)?;
            Some((&column.codes, column.values.iter().map(|value| constraint.test.holds(value.as_deref())).collect()))
        };
        let (lifted, kept): (Vec<&Constraint>, Vec<&Constraint>) = scope.iter().partition(|of| is_lifted(of));
        let [lifted, kept] = [lifted, kept].map(|of| of.into_iter().filter_map(table).collect::<Vec<_>>());
        let holds = |of: &[(&[u32], Vec<bool>)], at: usize| of.iter().all(|(codes, holds)| holds[codes[at] as usize]);
        (0..self.found.len()).filter(|&at| holds(&kept, at) && !holds(&lifted, at)).collect()
    }
}

/// The section of a canonical URL.
pub fn section(tokens: &Tokens, identity: &Identity) -> Vec<u8> {
    tokens.section(&identity.composed).to_vec()
}
