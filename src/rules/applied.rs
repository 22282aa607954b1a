//! What became of one URL, and where that stands.

use super::fired::Fired;

/// What became of one URL, borrowed from the scratch it was made in and from the rule set.
#[derive(Clone, Copy, Debug)]
pub struct Applied<'s> {
    /// The canonical URL; the input itself where it is not valid.
    pub url: &'s [u8],
    /// Index of the site in [`RuleSet::sites`](super::RuleSet::sites), where one claims the host.
    pub site: Option<u32>,
    /// The rules that fired, as indices into the site's `rules`; none for a seen member that stands for itself.
    pub fired: &'s Fired,
    /// A seen member or a look-up decided the canonical URL.
    pub looked_up: bool,
    /// Not an absolute http or https URL: it came out unchanged.
    pub invalid: bool,
}

/// Where the canonical URL of a URL is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The URL is none; it stands in `out` of the scratch.
    Invalid,
    /// What rules made of it, in `out` of the scratch.
    #[default]
    Made,
    /// A seen member that is its own canonical URL, in `out` of the scratch.
    Itself,
    /// A seen member of the site stands for it.
    Member(u32),
}

impl Outcome {
    /// A seen member or a look-up decided.
    pub(super) fn is_looked_up(self) -> bool {
        matches!(self, Outcome::Itself | Outcome::Member(_))
    }
}
