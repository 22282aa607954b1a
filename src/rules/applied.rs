//! Result of applying rules to one URL.

use super::fired::Fired;

/// Result of applying rules to one URL, borrowed from its scratch and from the rule set.
#[derive(Clone, Copy, Debug)]
pub struct Applied<'s> {
    /// The canonical URL; the input itself where it is not valid.
    pub url: &'s [u8],
    /// Index of the site in [`RuleSet::sites`](super::RuleSet::sites), where one has the origin.
    pub site: Option<u32>,
    /// Indices into the site's `rules` of those that fired, ascending.
    pub fired: &'s Fired,
    /// True if a look-up or a value range decided the canonical URL.
    pub looked_up: bool,
    /// True if the input is not an absolute http or https URL; it is returned unchanged.
    pub invalid: bool,
}
