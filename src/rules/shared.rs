//! A rule set that a long-running program replaces without stopping.
//!
//! [`SharedRules`] returns the current set; a new one replaces it in one step. A lock is held for the
//! exchange of a pointer alone, not while rules are opened or freed, so that a reload does not block a
//! thread that applies. A set lives as long as its last holder: one batch uses one set, never a mixture.

use super::RuleSet;
use std::sync::{Arc, PoisonError, RwLock};

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
pub struct SharedRules(RwLock<Arc<RuleSet>>);

impl SharedRules {
    /// Starts with this set, which may have other holders.
    pub fn new(rules: impl Into<Arc<RuleSet>>) -> SharedRules {
        SharedRules(RwLock::new(rules.into()))
    }

    /// The current set, for one URL or one batch of them. Costs a read lock and a count of holders: some 30
    /// ns, more where threads do so at once, so that many threads better ask once a batch.
    pub fn current(&self) -> Arc<RuleSet> {
        // A set is whole at any time, also where a thread panicked that held the lock.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the current set by `rules`; returns the old one.
    pub fn replace(&self, rules: RuleSet) -> Arc<RuleSet> {
        let rules = Arc::new(rules);
        std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poisoned_lock_does_not_matter() {
        let shared = SharedRules::new(RuleSet::default());
        let first = shared.current();
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _held = shared.0.write();
                panic!("while the lock is held");
            });
            assert!(holder.join().is_err());
        });
        assert!(shared.0.is_poisoned());
        assert!(Arc::ptr_eq(&shared.current(), &first));
        assert!(Arc::ptr_eq(&shared.replace(RuleSet::default()), &first));
        assert!(!Arc::ptr_eq(&shared.current(), &first));
    }
}
