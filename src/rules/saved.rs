//! Savings of rules on a list of URLs: distinct URLs less distinct canonical URLs, with all rules that
//! act and without each of them.
//!
//! Rules overlap: a URL that two rules move is saved once. So the sum of the good observations of rules
//! is not their savings together, nor is a rule's share the loss without it. Here both are counted by
//! applying.

use super::overrides::Overrides;
use super::types::SiteRules;
use super::{RuleSet, Scratch};
use crate::model::hash64;
use foldhash::fast::FixedState;
use std::collections::HashSet;

type Hashes = HashSet<u64, FixedState>;

/// URLs of some sites, and their rules. Memory: the URLs.
#[derive(Debug)]
pub struct SavedUrls<'r> {
    sites: &'r [SiteRules],
    overrides: &'r Overrides,
    rules: RuleSet,
    urls: Vec<Vec<Box<[u8]>>>,
    known: Hashes,
    scratch: Scratch,
}

/// Savings of the rules of one site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Distinct URLs of the site.
    pub urls: u64,
    /// These less their distinct canonical URLs.
    pub saved: u64,
}

impl<'r> SavedUrls<'r> {
    /// No URL yet; the sites sorted as a rule file holds them, and what is disabled of them.
    pub fn new(sites: &'r [SiteRules], overrides: &'r Overrides) -> SavedUrls<'r> {
        let mut active = sites.to_vec();
        overrides.apply(&mut active);
        let urls = vec![Vec::new(); sites.len()];
        SavedUrls {
            sites,
            overrides,
            rules: RuleSet::new(active),
            urls,
            known: Hashes::default(),
            scratch: Scratch::default(),
        }
    }

    /// Adds a URL to its site, once; a URL of no site is not counted.
    pub fn add(&mut self, url: &[u8]) {
        let site = self.rules.apply(url, None, &mut self.scratch).site;
        if let Some(site) = site
            && self.known.insert(hash64(url))
        {
            self.urls[site as usize].push(url.into());
        }
    }

    /// Savings of the rules of the site at this index.
    pub fn site(&mut self, at: usize) -> Saved {
        let urls = self.urls[at].len() as u64;
        Saved { urls, saved: urls - count(&self.rules, Some(at as u32), &self.urls[at], &mut self.scratch) }
    }

    /// Loss of savings of the site at this index with the rule of this id disabled, too; negative where
    /// more is saved without it, 0 for a rule that is disabled.
    pub fn without(&mut self, at: usize, rule: &str) -> i64 {
        let with = self.site(at).saved as i64;
        let mut overrides = self.overrides.clone();
        overrides.disable(&self.sites[at].site, rule, "asked");
        let mut site = [self.sites[at].clone()];
        overrides.apply(&mut site);
        let rules = RuleSet::new(site.into());
        let urls = &self.urls[at];
        with - (urls.len() as i64 - count(&rules, Some(0), urls, &mut self.scratch) as i64)
    }
}

/// Distinct canonical URLs.
fn count(rules: &RuleSet, site: Option<u32>, urls: &[Box<[u8]>], scratch: &mut Scratch) -> u64 {
    urls.iter().map(|url| hash64(rules.apply(url, site, scratch).url)).collect::<Hashes>().len() as u64
}
