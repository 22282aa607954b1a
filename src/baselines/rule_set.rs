//! Rules in the one rule type, at work and in words: what the methods share that learn such rules.

use super::{Canonicalizer, RuleReport, Selected};
use crate::rules::explain::rule_text;
use crate::rules::types::SiteRules;
use crate::rules::{RuleSet, Scratch};

/// The rules of one site.
pub struct SiteRuleSet {
    set: RuleSet,
    scratch: Scratch,
}

impl SiteRuleSet {
    /// Compiles them.
    pub fn new(rules: SiteRules) -> SiteRuleSet {
        SiteRuleSet { set: RuleSet::new(vec![rules]), scratch: Scratch::default() }
    }

    /// The rules as a selection with so many qualified candidates.
    pub fn selected(rules: SiteRules, qualified: u64) -> Selected {
        Selected { qualified, deployed: rules.rules.len() as u64, rules: Box::new(SiteRuleSet::new(rules)) }
    }
}

impl Canonicalizer for SiteRuleSet {
    fn canonicalize(&mut self, url: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.set.apply(url, Some(0), &mut self.scratch).url);
    }

    fn report(&self) -> Vec<RuleReport> {
        let rules = self.set.sites().iter().flat_map(|site| &site.rules);
        rules.map(|rule| RuleReport { text: rule_text(rule), evidence: Some(rule.evidence.clone()) }).collect()
    }
}
