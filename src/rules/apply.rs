//! Applying rules: a convenience form ([`RuleSet::canonicalize`]), one for hot loops
//! ([`RuleSet::apply`]), one for many URLs ([`Batch`](super::Batch)); all three run the same stages
//! ([`lane`](super::lane)) with the same result.
//!
//! One pass over the URL's bytes into key-value pairs, the rules of its site in their order, each at
//! most once, the output written once into a reused buffer. No regular expressions; no allocation for a
//! URL once the buffers have grown.
//!
//! Invariants, for any URL: canonicalization is total; it is idempotent (a URL for which it would not
//! be gets its normal form); the output is in normal form and on an origin of the site, or on its own
//! origin on unseen hosts. [`interpreter`](super::interpreter) defines the meaning.

use super::applied::Applied;
use super::lane::Lane;
use super::origin_cache::OriginCache;
use super::set::{CACHED, RuleSet};
use crate::url::NormalRef;

/// Buffers of one thread, reused from URL to URL: some kilobytes, a few times the longest URL, and the
/// last origins.
///
/// ```
/// use undust::rules::{RuleSet, Scratch};
///
/// let rules = RuleSet::open("tests/it/fixtures/rules-1.0.jsonl")?;
/// let mut scratch = Scratch::default();
/// for (url, canonical) in [
///     ("http://example.com/a?sid=1", "http://example.com/a"),
///     // No rules for this host: syntax alone (RFC 3986, 6.2.2 and 6.2.3).
///     ("http://EXAMPLE.org/%7ea", "http://example.org/~a"),
/// ] {
///     assert_eq!(rules.apply(url.as_bytes(), None, &mut scratch).url, canonical.as_bytes());
/// }
/// # Ok::<(), undust::io::rules::OpenError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(super) lane: Lane,
    pub(super) origins: OriginCache,
}

impl RuleSet {
    /// The canonical URL of `url`. `site` names the site by its index (a record's own label), which acts on
    /// its own origins alone, and on unseen ones as far as its rules [extend](super::SiteRules::extends_to)
    /// to them; `None` takes the one site that has the origin of the URL, or extends to it. On other
    /// origins the normal form is canonical.
    #[inline]
    pub fn apply<'s>(&'s self, url: &[u8], site: Option<u32>, scratch: &'s mut Scratch) -> Applied<'s> {
        let Scratch { lane, origins } = scratch;
        lane.normalize(url, self, origins);
        lane.find_site(site, url, self, origins);
        if lane.hit.is_none() && self.templates > CACHED {
            lane.prefetch(self);
        }
        lane.run(self, origins);
        lane.applied(self)
    }

    /// Applies the site of this index to a URL in normal form, as [`apply`](Self::apply) does; without a
    /// site nothing is changed.
    pub fn apply_normal<'s>(&'s self, url: NormalRef<'_>, site: Option<u32>, scratch: &'s mut Scratch) -> Applied<'s> {
        let Scratch { lane, origins } = scratch;
        lane.load(url, self, origins);
        if site.is_some() {
            lane.find_site(site, url.as_bytes(), self, origins);
        }
        lane.run(self, origins);
        lane.applied(self)
    }
}
