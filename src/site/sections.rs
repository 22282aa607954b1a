//! The sections of a site in which an operation holds.
//!
//! Duplicates under one part of a site are no evidence about another: `?id=` that makes no difference
//! under `/~mallory/` is a page's name under `/~bob/`. An operation that removes something holds
//! everywhere only if the sections with evidence pass the bound of operations (9 for it and none
//! against, 24 with one); else it holds in the sections that are for it. Tenants ([`Section::Tenant`])
//! count for themselves alone: one person can make many.

use super::Thresholds;
use super::columns::Columns;
use super::evidence::{Bound, Groups};
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
    tenant: Vec<bool>,
}

impl Sections {
    /// The sections of rows, from the path and the cluster of each. A word is a section by itself where it is salient,
    /// and so are the members of a directory such as `users` where three of them are (`min_clusters`), or where those
    /// that are have a share of its clusters (`section_members_permille`): a list by the name `users`, whose members
    /// are single messages, is a word (crawl-lists: saved share .61 with a section a message, .75 without).
    pub fn new<'p>(rows: impl Iterator<Item = (&'p [u8], u32)> + Clone, thresholds: &Thresholds) -> Sections {
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
        let mut listed: Vec<String> = words.chain(directories.into_keys()).map(text).collect();
        listed.sort_unstable();
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

/// The sections in which an operation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// In all sections but these (sorted).
    Except(Vec<u32>),
    /// In these sections (sorted).
    In(Vec<u32>),
}

impl Reach {
    /// Everywhere.
    pub const ALL: Reach = Reach::Except(Vec::new());

    /// The sections of these rows.
    pub fn of_rows(columns: &Columns, rows: &[u32]) -> Reach {
        let sections: BTreeSet<u32> = rows.iter().map(|&row| columns.sections.of[row as usize]).collect();
        Reach::In(sections.into_iter().collect())
    }

    /// True for a section in which the operation holds.
    pub fn holds(&self, section: u32) -> bool {
        match self {
            Reach::Except(sections) => sections.binary_search(&section).is_err(),
            Reach::In(sections) => sections.binary_search(&section).is_ok(),
        }
    }

    /// False where the operation holds nowhere, or a rule would list more than `most` sections.
    pub fn is_some(&self, most: usize) -> bool {
        match self {
            Reach::Except(sections) => sections.len() <= most,
            Reach::In(sections) => (1..=most).contains(&sections.len()),
        }
    }
}

/// Evidence of a table in one section.
#[derive(Clone, Debug, Default)]
struct Evidence {
    /// Rows that meet another of their cluster, and the first clusters.
    good: u64,
    good_clusters: Vec<u32>,
    /// Rows that meet none of the largest cluster of their group, and their first clusters.
    bad: u64,
    bad_clusters: Vec<u32>,
}

/// Adds a cluster to those that are known, up to `most`: more say the same.
fn add(clusters: &mut Vec<u32>, label: u32, most: usize) {
    if clusters.len() < most && !clusters.contains(&label) {
        clusters.push(label);
    }
}

/// The sections in which the operation with these groups holds, and those against it. A section is for
/// it with `section_min_clusters` clusters whose rows it joins (with as many rows, where constant pages are
/// the evidence) and no more wrong rows than `bound` allows; against it with as many clusters that are
/// joined wrongly and more wrong rows than that. `prior` is that of the operation: three sections are
/// enough for operations that servers have in common (crawl-blog: saved share .941 without, .944 with).
///
/// A row has a vote where it meets another row of its cluster in the same tenant, or outside all
/// tenants: a tenant's copies of pages of the site do not count for these. `vendors` is true for
/// parameters that their vendors document.
///
/// O(rows of the groups x log).
pub fn reach(
    columns: &Columns,
    groups: &Groups,
    bound: Bound,
    prior: u64,
    vendors: bool,
    thresholds: &Thresholds,
) -> (Reach, Vec<u32>) {
    let (least, most) = (thresholds.section_min_clusters, thresholds.section_most_listed);
    let sections = &columns.sections;
    let mut evidence: Vec<Evidence> = vec![Evidence::default(); sections.names.len()];
    // The tenant of a row; `None` for the rows outside all tenants.
    let owner = |row: u32| Some(sections.of[row as usize]).filter(|&of| sections.tenant[of as usize]);
    let has_tenants = sections.tenant.contains(&true);
    let mut owners: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    for group in 0..groups.len() {
        let members = groups.members(group);
        let is_largest = |row: &u32| columns.label[*row as usize] == groups.majority[group];
        let largest = members.iter().filter(|row| is_largest(row));
        owners.clear();
        match has_tenants {
            true => largest.for_each(|&row| *owners.entry(owner(row)).or_default() += 1),
            false => _ = owners.insert(None, largest.count()),
        }
        for &row in members {
            let label = columns.label[row as usize];
            let section = &mut evidence[sections.of[row as usize] as usize];
            if !is_largest(&row) {
                section.bad += 1;
                add(&mut section.bad_clusters, label, least);
            } else if owners[&owner(row)] > 1 {
                section.good += 1;
                add(&mut section.good_clusters, label, least);
            }
        }
    }
    let evidence: Vec<(u32, Evidence)> = (0..).zip(evidence).filter(|(_, of)| of.good + of.bad > 0).collect();
    let constant = groups.are_constant_pages(bound.min_constant);
    let allows = |of: &Evidence| bound.allows(of.good, of.bad, prior);
    let is_for = |of: &Evidence| {
        let observations = if constant { of.good as usize } else { of.good_clusters.len() };
        observations >= least && allows(of)
    };
    let is_against = |of: &Evidence| of.bad_clusters.len() >= least && !allows(of);
    let [in_favour, against] = [&is_for as &dyn Fn(&Evidence) -> bool, &is_against]
        .map(|is| evidence.iter().filter(|(_, of)| is(of)).map(|&(section, _)| section).collect::<Vec<u32>>());
    let voters = |of: &[u32]| of.iter().filter(|&&section| !sections.tenant[section as usize]).count() as u64;
    let enough = voters(&in_favour) >= bound.min_good && bound.wilson(voters(&in_favour), voters(&against), prior);
    // Documentation of vendors applies to a site that shows the parameter outside its tenants.
    let shown = || evidence.iter().any(|&(section, ref of)| of.good > 0 && !sections.tenant[section as usize]);
    let everywhere = enough || vendors && shown();
    // A rule of the whole site is not widened to a section that shows nothing but wrong merges, were it only one.
    let is_refuted = |of: &Evidence| is_against(of) || !vendors && of.good == 0 && of.bad > 0;
    let refuted: Vec<u32> = evidence.iter().filter(|(_, of)| is_refuted(of)).map(|&(section, _)| section).collect();
    let against = if everywhere && refuted.len() <= most { refuted } else { against };
    (if everywhere { Reach::Except(against.clone()) } else { Reach::In(in_favour) }, against)
}
