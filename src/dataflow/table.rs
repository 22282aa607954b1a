//! The rule sets of a pass, shared by all workers of a process.
use super::sample::Cut;
use super::types::LearnedSite;
use crate::rules::set::Programs;
use crate::rules::types::SiteRules;
use crate::rules::{Compiler, RuleSet};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sites by index (sorted by name), their compiled rules, and which of them this pass counts.
#[derive(Debug, Default)]
pub struct Table {
    /// Compiled rules; its sites are all sites, also those without rules.
    pub rules: RuleSet,
    memory: usize,
    /// What trained of each site, where the budget did not suffice.
    pub cuts: Vec<Option<Cut>>,
    /// Sites that are counted in this pass.
    pub counted: Vec<bool>,
    /// Sites whose records this pass lays aside ([`super::aside`]).
    pub aside: Vec<bool>,
    /// The pass before laid the records of all counted sites aside.
    pub laid: bool,
    /// URLs that trained of each site; the greatest number where the budget left some out.
    trained: Vec<u64>,
    /// Training URLs of the sites that are laid aside, at most.
    room: u64,
    index: HashMap<Box<[u8]>, u32, foldhash::fast::FixedState>,
}

impl Table {
    /// The table of the first pass: all sites, compiled on so many threads. `sites` may come in any order, each at most
    /// once. Sites are laid aside, the smallest first, up to `room` URLs that trained.
    pub fn new(mut sites: Vec<LearnedSite>, threads: usize, room: u64) -> (Table, Vec<LearnedSite>) {
        sites.sort_unstable_by(|a, b| a.rules.site.cmp(&b.rules.site));
        let index = sites.iter().zip(0..).map(|(site, i)| (site.rules.site.as_bytes().into(), i)).collect();
        let cuts = sites.iter().map(|site| site.cut).collect();
        let rules: Vec<&SiteRules> = sites.iter().map(|site| &site.rules).collect();
        let memory = rules.iter().map(|site| memory(site)).sum();
        let rules = compile(&rules, threads);
        let trained: Vec<u64> = sites.iter().map(|s| if s.cut.is_some() { u64::MAX } else { s.trained }).collect();
        let counted = vec![true; sites.len()];
        let aside = smallest(&trained, &counted, room);
        (Table { rules, memory, cuts, counted, aside, laid: false, trained, room, index }, sites)
    }

    /// The table of a later pass: other rules, and only some sites counted, all of them laid aside or not.
    pub fn again(&self, sites: Vec<SiteRules>, counted: Vec<bool>, laid: bool, threads: usize) -> Table {
        // What is not counted is not applied either.
        let applied = |(site, &counted): (SiteRules, &bool)| match counted {
            true => site,
            false => SiteRules { site: site.site, origins: site.origins, ..SiteRules::default() },
        };
        let sites: Vec<SiteRules> = sites.into_iter().zip(&counted).map(applied).collect();
        let sites: Vec<&SiteRules> = sites.iter().collect();
        let memory = sites.iter().map(|site| memory(site)).sum();
        let (cuts, index, trained) = (self.cuts.clone(), self.index.clone(), self.trained.clone());
        let aside = smallest(&trained, &counted, self.room);
        Table { rules: compile(&sites, threads), memory, cuts, counted, aside, laid, trained, room: self.room, index }
    }

    /// Bytes that look-ups and value ranges take, which are nearly all that rules take: an estimate from above.
    pub fn memory(&self) -> usize {
        self.memory
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

/// The counted sites with the fewest URLs that trained, together at most `room`; of equal ones the first by name.
fn smallest(trained: &[u64], counted: &[bool], mut room: u64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..trained.len()).filter(|&site| counted[site]).collect();
    order.sort_by_key(|&site| trained[site]);
    let mut aside = vec![false; trained.len()];
    for site in order {
        let Some(left) = room.checked_sub(trained[site]) else { break };
        (room, aside[site]) = (left, true);
    }
    aside
}

/// What [`Table::memory`] counts of a site.
fn memory(site: &SiteRules) -> usize {
    /// Of a look-up in a hash map that has just grown, and of a pair of strings.
    const LOOK_UP: usize = 34;
    const PAIR: usize = 2 * size_of::<String>() + 32;
    let aliases: usize = site.aliases.iter().map(|[a, b]| a.len() + b.len() + PAIR + LOOK_UP).sum();
    let ranges = site.local.iter().flat_map(|local| &local.pages);
    aliases + ranges.map(|span| span.like.len() + span.page.len() + PAIR + LOOK_UP).sum::<usize>()
}

/// Compiles the rules of sites sorted by name: look-ups are reduced by the rules, which takes its time.
fn compile(sites: &[&SiteRules], threads: usize) -> RuleSet {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut compiler = Compiler::default();
        let mut done: Vec<(usize, Programs)> = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(site) = sites.get(at) else { return done };
            done.push((at, compiler.compile(site)));
        }
    };
    let mut compiled: Vec<(usize, Programs)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            // A panic there is one here: it ends the run as that of any worker does.
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    compiled.sort_unstable_by_key(|(at, _)| *at);
    RuleSet::of(sites.iter().copied(), compiled.into_iter().map(|(_, compiled)| compiled).collect())
}
