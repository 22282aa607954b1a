//! The rules of a site in the notation of a format.

use crate::rules::types::{Rule, SiteRules};

/// One rule in the form of a target.
#[derive(Debug)]
pub(super) struct Written<'a, T> {
    pub(super) rule: &'a Rule,
    pub(super) form: T,
}

/// A site with its written rules.
#[derive(Debug)]
pub(super) struct Site<'a, T> {
    pub(super) site: &'a SiteRules,
    pub(super) origins: Vec<&'a str>,
    pub(super) rules: Vec<Written<'a, T>>,
}

/// Rules written.
pub(super) fn count<T>(sites: &[Site<'_, T>]) -> usize {
    sites.iter().map(|site| site.rules.len()).sum()
}
