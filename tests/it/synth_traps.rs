//! Trap sites of `synth`: what is learned from all of their records merges no page wrongly. What is
//! merged wrongly on larger sites and on records that took no part is measured by
//! `scripts/accept traps`.

use super::dataflow_support::{Owned, plan, run};
use std::collections::BTreeMap;
use undust::rules::{RuleSet, Scratch};
use undust::synth::{Options, SitePlan, kind::TRAPS, parts::Parts};

const URLS: u64 = 2_000;

/// A trap site: what it is for messages, and its records with their true clusters.
struct Trap {
    what: String,
    rows: Vec<(Owned, u64)>,
}

/// Each trap as a site of its own, without decorations and with those drawn for it.
fn traps() -> Vec<Trap> {
    let kinds = TRAPS.iter().flat_map(|(name, ..)| [Some(Vec::new()), None].map(|decorations| (*name, decorations)));
    let site = |(index, (name, decorations)): (usize, (&str, Option<Vec<String>>))| {
        let what = format!("{name}, decorations {}", if decorations.is_some() { "none" } else { "drawn" });
        let options = Options { types: Some(vec![name.to_owned()]), decorations, ..Options::default() };
        let site = SitePlan::new(&options, index as u64, URLS);
        let mut scratch = Parts::default();
        let row = |position| {
            let mut url = Vec::new();
            let row = site.record(position, &mut scratch, &mut url);
            (
                Owned::new(String::from_utf8(url).expect("ASCII"), format!("{}#{}", row.label, row.rendering)),
                row.cluster,
            )
        };
        Trap { what, rows: (0..site.rows()).map(row).collect() }
    };
    kinds.enumerate().map(site).collect()
}

/// URLs outside the largest true cluster of those with their canonical URL, each with one of that
/// cluster; and how many canonical URLs there are.
fn wrong<'t>(trap: &'t Trap, rules: &RuleSet) -> (Vec<(&'t str, &'t str)>, usize) {
    let mut scratch = Scratch::default();
    let mut pages: BTreeMap<Vec<u8>, BTreeMap<u64, Vec<&str>>> = BTreeMap::new();
    for (row, cluster) in &trap.rows {
        let canonical = rules.apply(row.url.as_bytes(), None, &mut scratch).url.to_vec();
        pages.entry(canonical).or_default().entry(*cluster).or_default().push(&row.url);
    }
    let mut found = Vec::new();
    for clusters in pages.values() {
        let largest = clusters.iter().max_by_key(|(_, urls)| urls.len()).expect("a page has URLs").0;
        let others = clusters.iter().filter(|(cluster, _)| *cluster != largest);
        found.extend(others.flat_map(|(_, urls)| urls).map(|url| (*url, clusters[largest][0])));
    }
    (found, pages.len())
}

#[test]
fn no_page_of_a_trap_site_is_merged_wrongly() {
    let traps = traps();
    let records = traps.iter().flat_map(|trap| trap.rows.iter().map(|(row, _)| row.clone())).collect();
    let learned = run(&plan(2, 1 << 28), records, 1_000);
    assert_eq!(learned.sites.len(), traps.len());
    let rules = RuleSet::new(learned.sites.into_iter().map(|site| site.rules).collect());
    for trap in &traps {
        let (wrong, pages) = wrong(trap, &rules);
        assert!(wrong.is_empty(), "{}: {} wrong, {:?}", trap.what, wrong.len(), wrong[0]);
        assert!(pages < trap.rows.len(), "{}: nothing is learned", trap.what);
    }
}
