//! The rules of a site without its hosts: what sites of the same software have in common.
//!
//! Sites that run the same software have the same session ids, sort parameters and default pages, and so the same rules:
//! of 100,000 sites most are alike but for their hosts. What they share is kept once. It takes a fraction of the memory, and
//! what all URLs need stays in the cache.

use super::index::Index;
use super::{Check, Column, Constant, Fill, Program, Slot, Step};
use crate::url::Cut;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Rules as a few flat lists: some 1,200 bytes for six of them.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    pub(super) cut: Cut,
    /// Exceptions or look-ups ask for the identity of a URL.
    pub(super) identified: bool,
    /// Columns that have slots; they stand first, those of fixed keys before the others.
    pub(super) slots: Slot,
    /// Slots of the fixed keys up to the last one that has one: so many bytes of the pool, its first ones.
    pub(super) fixed: u16,
    pub(super) columns: Box<[Column]>,
    /// Columns of named keys by seed.
    pub(super) named: Index,
    /// Value of each code. Those of hosts, the first ones behind [`OTHER`](super::OTHER), say nothing of their bytes.
    pub(super) values: Box<[Constant]>,
    /// Codes by hash.
    pub(super) codes: Index,
    /// Codes of the smallest depths, [`ABSENT`](super::ABSENT) for those that no rule mentions: every URL has one.
    pub(super) depths: [u16; 8],
    pub(super) pool: Box<[u8]>,
    pub(super) programs: Box<[Program]>,
    pub(super) checks: Box<[(Slot, Check)]>,
    pub(super) steps: Box<[Step]>,
    pub(super) fills: Box<[(Slot, Fill)]>,
    pub(super) words: Box<[u32]>,
    /// Slots that are added and the programs that do, as a range of the words. Behind it, to their end, stands what programs
    /// of the first 64 need in the values, and which those are: three words each.
    pub(super) adders: (u32, u32),
    /// Which programs a value lets pass and which may change it: see [`rows`](super::rows).
    pub(super) rows: Box<[[u64; 2]]>,
    /// A program that is told to act and whose gate is open is not stopped.
    pub(super) exact: bool,
    /// The programs know which of them wake which.
    pub(super) woken: bool,
    /// Something asks for the order of parameters, or may disturb it.
    pub(super) ordered: bool,
    /// Whatever the rules write stays on hosts of the site.
    pub(super) stays: bool,
    /// Hosts that the rules name; their codes are the first ones behind [`OTHER`](super::OTHER).
    pub(super) hosts: u32,
}

/// Few words tell most templates apart, and equal ones have the same; those are compared as a whole.
impl Hash for Template {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.pool, self.columns.len(), self.programs.len(), self.words.len()).hash(state);
    }
}

/// The templates of a rule set in the making.
#[derive(Debug, Default)]
pub struct Templates {
    all: HashSet<Arc<Template>, FixedState>,
    /// One that was given last, and what was given for it: those of a compiled file come many times.
    last: Option<[Arc<Template>; 2]>,
}

impl Templates {
    /// Gives a site the template that another one has, where they are equal.
    pub fn share(&mut self, template: &mut Arc<Template>) {
        if let Some([_, known]) = self.last.as_ref().filter(|[last, _]| Arc::ptr_eq(last, template)) {
            *template = Arc::clone(known);
            return;
        }
        let given = Arc::clone(template);
        match self.all.get(template) {
            Some(known) => *template = Arc::clone(known),
            None => drop(self.all.insert(Arc::clone(template))),
        }
        self.last = Some([given, Arc::clone(template)]);
    }

    /// Number of templates.
    pub fn len(&self) -> usize {
        self.all.len()
    }
}

impl Template {
    /// Slot of each fixed key, up to the last one that has one.
    #[inline]
    pub(super) fn fixed(&self) -> &[u8] {
        &self.pool[..usize::from(self.fixed)]
    }

    /// Where its lists are, so that the memory is asked for.
    pub fn fetch_head(&self) -> u64 {
        let lists = self.columns.len() ^ self.values.len() ^ self.rows.len() ^ self.programs.len() ^ self.words.len();
        let lists = lists ^ self.steps.len() ^ self.checks.len() ^ self.pool.len();
        lists as u64 ^ self.named.places() ^ self.codes.places()
    }

    /// Asks for the memory that a URL will need, all of it at once: where it is not in the cache, these loads wait for
    /// memory together, those of the rules one after the other. Nothing but time depends on it, and what it gives says
    /// nothing.
    pub fn fetch(&self) -> u64 {
        let slots = lines(&self.columns, |c| c.seed) ^ lines(&self.values, |v| v.hash) ^ lines(&self.rows, |r| r[0]);
        let rules = lines(&self.programs, |p| p.wakes) ^ lines(&self.words, |&w| u64::from(w));
        let rules = rules ^ lines(&self.steps, |s| u64::from(s.slot())) ^ lines(&self.checks, |c| u64::from(c.0));
        let bytes = lines(&self.pool, |&b| u64::from(b));
        slots ^ rules ^ bytes ^ self.named.fetch() ^ self.codes.fetch()
    }
}

/// Loads something of each of the first cache lines of a list.
#[inline(always)]
pub(super) fn lines<T>(list: &[T], load: impl Fn(&T) -> u64) -> u64 {
    let each = (64 / size_of::<T>()).max(1);
    list.iter().step_by(each).take(12).fold(0, |all, item| all ^ load(item))
}

#[cfg(test)]
mod tests {
    use super::super::CompiledSite;
    use super::*;
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
        CompiledSite::compile(&SiteRules {
            site: host.into(),
            hosts: vec![host.into(), other.into()],
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
