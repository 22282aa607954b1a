//! Results of the proof.

use super::change::{Change, Reason};
use super::counts::SiteCounts;
use super::learned_site::LearnedSite;
use super::table::{has_memory, without_memory};
use super::verdict::{Pending, overwrite};
use crate::model::hash128;
use crate::rules::file::rule_id;
use crate::rules::types::{Rule, SiteRules};
use crate::rules::{RuleSet, Scratch as Buffers};
use crate::url::NormalUrl;
use std::collections::BTreeSet;

/// One site at the end of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProvenSite {
    /// The rules that hold on all records, with whole-corpus evidence.
    pub rules: SiteRules,
    /// Result of learning, but its rules, which are [`rules`](Self::rules) now.
    pub learned: LearnedSite,
    /// Counts of all records under the rules that hold.
    pub counts: SiteCounts,
    /// Rules that the proof withdrew, in the order of withdrawal.
    pub withdrawn: Vec<Withdrawn>,
    /// Rules that the proof narrowed, in the order of narrowing.
    pub narrowed: Vec<Narrowed>,
    /// Look-ups, value ranges and exceptions that led URLs to the page of another cluster, or to one that only
    /// changed rules wrote, and were withdrawn one by one.
    pub forgotten: u64,
    /// Wrong merges that are drift of the labels.
    pub drift: u64,
    /// The proof withdrew the look-ups and value ranges.
    pub without_lookups: bool,
    /// The site fell back to syntax-based normalization.
    pub fell_back: bool,
}

/// A rule that the proof withdrew.
#[derive(Clone, Debug, PartialEq)]
pub struct Withdrawn {
    /// The rule, with the whole-corpus evidence against it.
    pub rule: Rule,
    /// Reason.
    pub reason: Reason,
    /// Good and bad among the records that did not train.
    pub apart: (u64, u64),
}

/// A rule that the proof narrowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrowed {
    /// The rule as it was, with the evidence against it.
    pub before: Rule,
    /// The rule that it became.
    pub after: Rule,
    /// Reason.
    pub reason: Reason,
}

impl ProvenSite {
    /// Writes the counts of the last pass into the evidence of the rules, and makes the `changes` (by
    /// index, ascending). Returns the new index of each rule that is kept.
    pub(super) fn change(&mut self, changes: Vec<(usize, Change)>, pending: &mut Pending) -> Vec<Option<u16>> {
        let mut changes = changes.into_iter().peekable();
        let mut places = Vec::new();
        for (at, mut rule) in std::mem::take(&mut self.rules.rules).into_iter().enumerate() {
            let counts = self.counts.rules.get(at).cloned().unwrap_or_default();
            // Rules without records keep their evidence.
            if self.counts.records > 0 {
                overwrite(&mut rule.evidence, &counts);
            }
            let change = changes.next_if(|(of, _)| *of == at);
            places.push(Some(self.rules.rules.len() as u16));
            match change {
                None => self.rules.rules.push(rule),
                Some((_, Change::Withdraw(reason))) => {
                    let of = counts.marginal.as_deref();
                    let apart = of.map_or((0, 0), |of| (of.apart_good, of.apart_bad));
                    self.withdrawn.push(Withdrawn { rule, reason, apart });
                    places[at] = None;
                }
                Some((_, Change::Narrow(reason, after))) => {
                    let mut after = *after;
                    after.evidence = rule.evidence.clone();
                    after.id = rule_id(&self.rules.site, &after);
                    if reason == Reason::Test {
                        pending.tried.insert(after.id.clone());
                    }
                    for [_, of] in self.rules.exceptions.iter_mut().filter(|[_, of]| *of == rule.id) {
                        of.clone_from(&after.id);
                    }
                    self.narrowed.push(Narrowed { before: rule, after: after.clone(), reason });
                    self.rules.rules.push(after);
                }
            }
        }
        let ids: BTreeSet<&str> = self.rules.rules.iter().map(|rule| rule.id.as_str()).collect();
        self.rules.exceptions.retain(|[_, of]| of == "*" || ids.contains(of.as_str()));
        self.forgotten += self.rules.forget_written();
        places
    }

    /// Removes the look-ups, value ranges and exceptions that lead these URLs to their pages; all memory if
    /// no single one does.
    pub(super) fn forget(&mut self, urls: &[NormalUrl]) {
        let before = remembered(&self.rules);
        let (plain, whole) = (RuleSet::new(vec![without_memory(&self.rules)]), RuleSet::new(vec![self.rules.clone()]));
        let mut buffers = Buffers::default();
        let mut page =
            |rules: &RuleSet, url: &NormalUrl| hash128(rules.apply_normal(url.by_ref(), Some(0), &mut buffers).url);
        let sources: BTreeSet<u128> = urls.iter().map(|url| page(&plain, url)).collect();
        let targets: BTreeSet<u128> = urls.iter().map(|url| page(&whole, url)).collect();
        let mut leads =
            |url: &str| NormalUrl::new(url.as_bytes()).is_ok_and(|url| sources.contains(&page(&plain, &url)));
        self.rules.aliases.retain(|[from, _]| !leads(from));
        self.rules.exceptions.retain(|[of, _]| !leads(of));
        for local in &mut self.rules.local {
            local.pages.retain(|value_range| !(targets.contains(&hash128(value_range.page.as_bytes()))));
        }
        self.rules.local.retain(|local| !local.pages.is_empty());
        match before - remembered(&self.rules) {
            0 => self.withdraw_lookups(),
            forgotten => self.forgotten += forgotten as u64,
        }
    }

    pub(super) fn withdraw_lookups(&mut self) {
        self.without_lookups |= has_memory(&self.rules);
        self.rules.aliases.clear();
        self.rules.local.clear();
        self.rules.exceptions.clear();
        self.rules.written.clear();
    }
}

/// Number of look-ups, exceptions and value ranges.
fn remembered(rules: &SiteRules) -> usize {
    rules.aliases.len() + rules.exceptions.len() + rules.local.iter().map(|of| of.pages.len()).sum::<usize>()
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// All sites, sorted by name.
    pub sites: Vec<ProvenSite>,
    /// Records that are not absolute http or https URLs with a host.
    pub invalid: u64,
    /// Passes over the records after the first.
    pub proof_passes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ups_of_urls_that_only_a_changed_rule_wrote_go_with_it() {
        let to = |page: &str| [format!("http://a/{page}/old"), format!("http://a/{page}")];
        let rules = ["a", "b", "c"].map(|id| Rule::of(id, Vec::new(), Vec::new())).to_vec();
        let written = |(page, ids): (&str, &str)| (to(page)[1].clone(), ids.split(' ').map(str::to_owned).collect());
        let written: Vec<(String, Vec<String>)> = [("x", "a"), ("y", "a b"), ("z", "c")].map(written).to_vec();
        let aliases = ["w", "x", "y", "z"].map(to).to_vec();
        let mut site = ProvenSite {
            rules: SiteRules { rules, aliases, written, ..SiteRules::default() },
            ..ProvenSite::default()
        };
        site.change(vec![(1, Change::Withdraw(Reason::Bound))], &mut Pending::default());
        assert_eq!((site.rules.aliases, site.forgotten), (["w", "x", "z"].map(to).to_vec(), 1));
        assert_eq!(site.rules.written.len(), 2);
    }
}
