//! A rule set that a long-running program replaces without stopping.
//!
//! [`SharedRules`] returns the current set; a new one replaces it in one atomic step (crate `arc-swap`:
//! readers take no lock, so that a reload never blocks a thread that applies). A set lives as long as
//! its last holder: one batch uses one set, never a mixture.

use super::RuleSet;
use arc_swap::ArcSwap;
use std::sync::Arc;

/// The current rule set of a program. `Send + Sync`; share it behind an `Arc` or a `static`.
///
/// ```
/// use undust::rules::{RuleSet, Scratch, SharedRules};
///
/// let shared = SharedRules::new(RuleSet::default());
/// let before = shared.current();
/// shared.reload("tests/it/fixtures/rules-1.0.jsonl")?;
/// assert!(shared.reload("no/such/folder").is_err(), "the current rules stay");
///
/// let mut scratch = Scratch::default();
/// let url = b"http://example.com/a?sid=1";
/// assert_eq!(shared.current().apply(url, None, &mut scratch).url, b"http://example.com/a");
/// // Who holds a set keeps it.
/// assert_eq!(before.apply(url, None, &mut scratch).url, url);
/// # Ok::<(), undust::io::rules::OpenError>(())
/// ```
#[derive(Debug)]
pub struct SharedRules(ArcSwap<RuleSet>);

impl SharedRules {
    /// Starts with this set, which may have other holders.
    pub fn new(rules: impl Into<Arc<RuleSet>>) -> SharedRules {
        SharedRules(ArcSwap::new(rules.into()))
    }

    /// The current set, for one URL or one batch of them.
    pub fn current(&self) -> Arc<RuleSet> {
        self.0.load_full()
    }

    /// Replaces the current set by `rules`; returns the old one.
    pub fn replace(&self, rules: RuleSet) -> Arc<RuleSet> {
        self.0.swap(Arc::new(rules))
    }
}
