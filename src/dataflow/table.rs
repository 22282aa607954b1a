//! The rule sets of a pass, shared by all workers of a process.
use super::sample::Cut;
use super::types::LearnedSite;
use crate::rules::apply::RuleSet;
use crate::rules::types::SiteRules;
use std::collections::HashMap;

/// Sites by index (sorted by name), their compiled rules, and which of them this pass counts.
#[derive(Debug, Default)]
pub struct Table {
    /// Compiled rules; its sites are all sites, also those without rules.
    pub rules: RuleSet,
    /// What trained of each site, where the budget did not suffice.
    pub cuts: Vec<Option<Cut>>,
    /// Sites that are counted in this pass.
    pub counted: Vec<bool>,
    index: HashMap<Box<[u8]>, u32, foldhash::fast::FixedState>,
}

impl Table {
    /// The table of the first pass: all sites. `sites` may come in any order, each at most once.
    pub fn new(mut sites: Vec<LearnedSite>) -> (Table, Vec<LearnedSite>) {
        sites.sort_unstable_by(|a, b| a.rules.site.cmp(&b.rules.site));
        let index = sites.iter().zip(0..).map(|(site, i)| (site.rules.site.as_bytes().into(), i)).collect();
        let cuts = sites.iter().map(|site| site.cut).collect();
        let rules = RuleSet::new(sites.iter().map(|site| site.rules.clone()).collect());
        (Table { rules, cuts, counted: vec![true; sites.len()], index }, sites)
    }

    /// The table of a later pass: other rules, and only some sites counted.
    pub fn again(&self, sites: Vec<SiteRules>, counted: Vec<bool>) -> Table {
        Table { rules: RuleSet::new(sites), cuts: self.cuts.clone(), counted, index: self.index.clone() }
    }

    /// Index of a site.
    pub fn site(&self, name: &[u8]) -> Option<u32> {
        self.index.get(name).copied()
    }

    /// Number of sites.
    pub fn len(&self) -> usize {
        self.counted.len()
    }

    /// True without any site.
    pub fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }
}
