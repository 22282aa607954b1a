//! What became of one URL.

use super::fired::Fired;

/// What became of one URL, borrowed from the scratch it was made in and from the rule set.
#[derive(Clone, Copy, Debug)]
pub struct Applied<'s> {
    /// The canonical URL; the input itself where it is not valid.
    pub url: &'s [u8],
    /// Index of the site in [`RuleSet::sites`](super::RuleSet::sites), where one claims the host.
    pub site: Option<u32>,
    /// Indices into the site's `rules` of those that fired, ascending.
    pub fired: &'s Fired,
    /// A look-up or a value range decided the canonical URL.
    pub looked_up: bool,
    /// Not an absolute http or https URL: it came out unchanged.
    pub invalid: bool,
}

/// Where the canonical URL of a URL stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum UrlOutcome {
    /// In `out` of the lane: the input, which is no URL.
    Invalid,
    /// In `out` of the lane: what rules made of it.
    #[default]
    Made,
    /// A page of the site that look-ups lead to, by its number.
    Member(u32),
}
