//! The rules of a site without its hosts: the part common to sites of the same software.
//!
//! Sites that run the same software have the same session ids, sort parameters and default pages, and
//! so the same rules. They share one template: a fraction of the memory, and the data that all URLs
//! need stay in the cache.

use super::index::{Index, lines};
use super::{Check, Constant, Fill, KeySlot, NO_SLOT, Program, Slot, Step};
use crate::url::Tokenizer;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Rules as a few flat lists: some 1,200 bytes for six of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    pub(super) tokenizer: Tokenizer,
    /// Exceptions or look-ups need the identity of a URL.
    pub(super) identified: bool,
    /// Columns that have slots; they stand first, those of fixed keys before the others.
    pub(super) slots: Slot,
    /// Slots of the fixed keys up to the last one that has one: so many bytes of the pool, its first ones.
    pub(super) fixed: u16,
    pub(super) columns: Vec<KeySlot>,
    /// Columns of named keys by seed.
    pub(super) named: Index,
    /// Value of each code. Those of hosts, the first ones behind [`OTHER`](super::OTHER), have marks for
    /// bytes.
    pub(super) values: Vec<Constant>,
    /// Codes by hash.
    pub(super) codes: Index,
    pub(super) pool: Vec<u8>,
    pub(super) programs: Vec<Program>,
    pub(super) checks: Vec<(Slot, Check)>,
    pub(super) steps: Vec<Step>,
    pub(super) fills: Vec<(Slot, Fill)>,
    pub(super) words: Vec<u32>,
    /// Which programs a value lets pass and which may change it: see [`rows`](super::rows).
    pub(super) rows: Vec<[u64; 2]>,
    /// Programs of the first 64 that require a property of the values, as bits, by the property.
    pub(super) sleepers: Vec<(u8, u64)>,
    /// Slots of the keys with value ranges, [`NO_SLOT`] for one that is none.
    pub(super) local: Vec<Slot>,
    /// Programs of the first 64 that are run when scheme and host are coded, as bits.
    pub(super) origin: u64,
    /// Code of the section of numbers. Behind it is that of other URLs, before it those of the sections
    /// that the site names.
    pub(super) number: u32,
    /// Some rule depends on the order of parameters, or may change it.
    pub(super) ordered: bool,
    /// Number of hosts that rules name.
    pub(super) hosts: u32,
}

/// Hashes a few words: they distinguish most templates, and equal ones have equal words; matches are
/// compared as a whole.
impl Hash for Template {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.pool, self.columns.len(), self.programs.len(), self.words.len()).hash(state);
    }
}

/// The templates of a rule set in the making.
#[derive(Debug, Default)]
pub struct Templates(HashSet<Arc<Template>, FixedState>);

impl Templates {
    /// Replaces `template` by the equal template of another site.
    pub fn share(&mut self, template: &mut Arc<Template>) {
        match self.0.get(template) {
            Some(template_cache) => *template = Arc::clone(template_cache),
            None => drop(self.0.insert(Arc::clone(template))),
        }
    }

    /// Number of templates.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Template {
    /// Slot of a fixed key.
    #[inline(always)]
    pub(super) fn fixed_slot(&self, number: u8) -> Slot {
        let slots = &self.pool[..usize::from(self.fixed)];
        slots.get(usize::from(number)).map_or(NO_SLOT, |&slot| if slot == u8::MAX { NO_SLOT } else { slot.into() })
    }

    /// Loads the first cache lines of its lists, so that their cache misses overlap. The result has no
    /// meaning.
    pub fn prefetch(&self) -> u64 {
        let slots = lines(&self.columns, |c| c.seed) ^ lines(&self.values, |v| v.hash) ^ lines(&self.rows, |r| r[0]);
        let rules = lines(&self.programs, |p| p.required) ^ lines(&self.words, |&w| u64::from(w));
        slots ^ rules ^ lines(&self.pool, |&b| u64::from(b)) ^ self.named.prefetch() ^ self.codes.prefetch()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CompiledSite, TemplateCache};
    use super::*;
    use crate::rules::origins::of_hosts;
    use crate::rules::types::{Constraint, Operation, Representative, Rule, SiteRules, Test};

    /// A site that moves its other host to this one, and leaves a parameter out on a path.
    fn site(host: &str, other: &str, key: &str, path: &str) -> CompiledSite {
        let rule = |scope: &[(&str, &str)], key: &str, to: Representative| {
            Rule::of(
                "",
                scope
                    .iter()
                    .map(|(key, value)| Constraint { key: (*key).into(), test: Test::Equals((*value).into()) })
                    .collect(),
                vec![(key.to_owned(), Operation::Ignore(to))],
            )
        };
        TemplateCache::default().compile(&SiteRules {
            site: host.into(),
            origins: of_hosts([host, other]),
            rules: vec![
                rule(&[("host", other)], "host", Representative::WherePresent(host.into())),
                rule(&[("path0", path)], &format!("query {key}="), Representative::LeftOut),
            ],
            ..SiteRules::default()
        })
    }

    #[test]
    fn sites_that_differ_in_their_hosts_share_a_template() {
        let mut templates = Templates::default();
        let mut shared = |mut site: CompiledSite| {
            site.share(&mut templates);
            (Arc::clone(site.template()), templates.len())
        };
        let (first, _) = shared(site("a.example", "www.a.example", "sid", "x"));
        let long = "l".repeat(60);
        for (host, other) in [("b.example", "www.b.example"), ("a.example", "c.example"), ("l.example", &long)] {
            let (template, kept) = shared(site(host, other, "sid", "x"));
            assert!(Arc::ptr_eq(&first, &template) && kept == 1, "{host} {other}");
        }
        // Another key, another value, one host for two.
        for (number, own) in [("a.example", "sort", "x"), ("a.example", "sid", "y")].into_iter().zip(2..) {
            let ((host, key, path), kept) = (number, own);
            assert_eq!(shared(site(host, "www.a.example", key, path)).1, kept);
        }
        assert_eq!(shared(site("a.example", "a.example", "sid", "x")).1, 4);
    }
}
