//! The sections in which an operation holds.

use super::Thresholds;
use super::columns::Columns;
use super::evidence::{Bound, Groups};
use std::collections::{BTreeMap, BTreeSet};

/// The sections in which an operation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionSet {
    /// In all sections but these (sorted).
    Except(Vec<u32>),
    /// In these sections (sorted).
    In(Vec<u32>),
}

impl SectionSet {
    /// Everywhere.
    pub const ALL: SectionSet = SectionSet::Except(Vec::new());

    /// The sections of these rows.
    pub fn of_rows(columns: &Columns, rows: &[u32]) -> SectionSet {
        let sections: BTreeSet<u32> = rows.iter().map(|&row| columns.sections.of[row as usize]).collect();
        SectionSet::In(sections.into_iter().collect())
    }

    /// True for a section in which the operation holds.
    pub fn holds(&self, section: u32) -> bool {
        match self {
            SectionSet::Except(sections) => sections.binary_search(&section).is_err(),
            SectionSet::In(sections) => sections.binary_search(&section).is_ok(),
        }
    }

    /// False where the operation holds nowhere, or a rule would list more than `most` sections.
    pub fn is_some(&self, most: usize) -> bool {
        match self {
            SectionSet::Except(sections) => sections.len() <= most,
            SectionSet::In(sections) => (1..=most).contains(&sections.len()),
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
/// Where nothing is against one of these on a site without tenants, and six clusters are for it
/// (`section_min_clusters` in each of three sections), one cluster is enough for a section; sections that were met and
/// show nothing are left out then.
///
/// A row has a vote where it meets another row of its cluster in the same tenant, or outside all
/// tenants: a tenant's copies of pages of the site do not count for these. `vendors` is true for
/// parameters that their vendors document.
///
/// O(rows of the groups x log).
pub fn decide(
    columns: &Columns,
    groups: &Groups,
    bound: Bound,
    prior: u64,
    vendors: bool,
    thresholds: &Thresholds,
) -> (SectionSet, Vec<u32>) {
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
    // Where nothing is against an operation that servers have in common, and as many clusters are for it as the fewest
    // sections would have, one cluster is a vote, too; but it holds in no section that was met and shows nothing.
    let is_clean = prior > 0 && !has_tenants && evidence.iter().all(|(_, of)| of.bad == 0);
    let shown: Vec<u32> = evidence.iter().filter(|(_, of)| of.good > 0).map(|&(section, _)| section).collect();
    if is_clean && !enough && !vendors && groups.clusters() >= least as u64 * bound.min_good {
        let silent: Vec<u32> = (0..sections.names.len() as u32).filter(|of| !shown.contains(of)).collect();
        let votes = voters(&shown);
        let everywhere = votes >= bound.min_good && bound.wilson(votes, 0, prior) && silent.len() <= most;
        return (if everywhere { SectionSet::Except(silent) } else { SectionSet::In(shown) }, Vec::new());
    }
    // Documentation of vendors applies to a site that shows the parameter outside its tenants.
    let is_shown = shown.iter().any(|&section| !sections.tenant[section as usize]);
    let everywhere = enough || vendors && is_shown;
    // A rule of the whole site is not widened to a section that shows nothing but wrong merges, were it only one.
    let is_refuted = |of: &Evidence| is_against(of) || !vendors && of.good == 0 && of.bad > 0;
    let refuted: Vec<u32> = evidence.iter().filter(|(_, of)| is_refuted(of)).map(|&(section, _)| section).collect();
    let against = if everywhere && refuted.len() <= most { refuted } else { against };
    (if everywhere { SectionSet::Except(against.clone()) } else { SectionSet::In(in_favour) }, against)
}
