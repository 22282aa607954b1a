//! The sections of a site in which an operation holds.
//!
//! Duplicates under one part of a site are no evidence about another: `?id=` that makes no difference
//! under `/~mallory/` is a page's name under `/~bob/`. An operation that removes something holds
//! everywhere only if the sections with evidence pass the bound of operations (9 for it and none
//! against, 24 with one); else it holds in the sections that are for it. Tenants ([`Section::Tenant`])
//! count for themselves alone: one person can make many.

use super::Thresholds;
use crate::rules::Tokens;
use crate::url::section::{self, Section};
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The section of each row.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    /// Index into `names`, a row.
    pub of: Vec<u32>,
    /// Names as rules write them, sorted.
    pub names: Vec<String>,
    /// Words among them, as [`Tokens::sections`](crate::rules::Tokens::sections) lists them.
    pub words: Vec<String>,
    /// The section is a tenant.
    pub(super) tenant: Vec<bool>,
}

impl Sections {
    /// The sections of rows, from the path and the cluster of each. A word is a section by itself where it is salient,
    /// and so are the members of a directory such as `users` where three of them are (`min_clusters`), or where those
    /// that are have a share of its clusters (`section_members_permille`): a list by the name `users`, whose members
    /// are single messages, is a word (crawl-lists: saved share .61 with a section a message, .75 without).
    ///
    /// So are the words of `named`, which scopes of an earlier result name: were they others now, such a scope would
    /// hold where it never did.
    pub fn new<'p>(
        rows: impl Iterator<Item = (&'p [u8], u32)> + Clone,
        named: impl Iterator<Item = String>,
        thresholds: &Thresholds,
    ) -> Sections {
        let min_salient = thresholds.section_min_salient;
        // Clusters of each word.
        let mut clusters: HashMap<&[u8], usize, FixedState> = HashMap::default();
        let mut known: HashSet<(&[u8], u32), FixedState> = HashSet::default();
        let mut all: HashSet<u32, FixedState> = HashSet::default();
        for (path, cluster) in rows.clone() {
            all.insert(cluster);
            let mut count = |word| *clusters.entry(word).or_default() += usize::from(known.insert((word, cluster)));
            match section::of(path) {
                Section::Word(word) => count(word),
                Section::Member(directory, name) => {
                    count(name);
                    count(&directory[..directory.len() - 1]);
                }
                Section::Tenant(_) | Section::Number | Section::Other => {}
            }
        }
        let least = min_salient.max((all.len() * thresholds.section_salient_permille).div_ceil(1000));
        let count = |name: &[u8]| clusters.get(name).copied().unwrap_or_default();
        let member = |(path, _): (&'p [u8], u32)| match section::of(path) {
            Section::Member(directory, name) if count(name) >= min_salient => Some((directory, name)),
            _ => None,
        };
        let members: BTreeSet<(&[u8], &[u8])> = rows.clone().filter_map(member).collect();
        // Number and clusters of the salient members of each directory.
        let mut directories: BTreeMap<&[u8], [usize; 2]> = BTreeMap::new();
        for (directory, name) in &members {
            let sum = directories.entry(directory).or_default();
            *sum = [sum[0] + 1, sum[1] + count(name)];
        }
        directories.retain(|directory, [members, of]| {
            let share = thresholds.section_members_permille * count(&directory[..directory.len() - 1]);
            *members >= thresholds.min_clusters || *of * 1_000 >= share
        });
        let words = clusters.iter().filter(|(name, of)| **of >= least && !name.contains(&b'/')).map(|(name, _)| *name);
        let mut listed: Vec<String> = words.chain(directories.into_keys()).map(text).chain(named).collect();
        listed.sort_unstable();
        listed.dedup();
        let tokens = Tokens { sections: listed, ..Tokens::default() };
        let is_tenant = |path: &'p [u8], name: &[u8]| match section::of(path) {
            Section::Tenant(_) => true,
            Section::Member(_, of) => of == name,
            Section::Word(_) | Section::Number | Section::Other => false,
        };
        let mut known: HashMap<&[u8], (&'p [u8], bool), FixedState> = HashMap::default();
        let mut name = |path: &'p [u8]| {
            let key = match section::of(path) {
                Section::Tenant(name) | Section::Member(_, name) | Section::Word(name) => name,
                Section::Number => section::NUMBER.as_bytes(),
                Section::Other => section::OTHER.as_bytes(),
            };
            *known.entry(key).or_insert_with(|| {
                let name = tokens.section_of_path(path);
                (name, is_tenant(path, name))
            })
        };
        let named: Vec<(&[u8], bool)> = rows.map(|(path, _)| name(path)).collect();
        let names: BTreeMap<&[u8], bool> = named.iter().copied().collect();
        let index: HashMap<&[u8], u32, FixedState> = names.keys().copied().zip(0..).collect();
        Sections {
            of: named.iter().map(|(name, _)| index[name]).collect(),
            words: tokens.sections,
            tenant: names.values().copied().collect(),
            names: names.keys().map(|name| text(name)).collect(),
        }
    }

    /// True for a row of a tenant.
    pub fn is_of_tenant(&self, row: u32) -> bool {
        self.tenant[self.of[row as usize] as usize]
    }

    /// The tenants whose rows these are; rows of no tenant do not count.
    pub fn tenants(&self, rows: &[u32]) -> BTreeSet<u32> {
        rows.iter().map(|&row| self.of[row as usize]).filter(|&of| self.tenant[of as usize]).collect()
    }
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
