//! Each threshold acts: some case of the learner comes out otherwise where it has its smallest or its
//! largest value.

use super::learner_site::{Case, learned_with};
use std::path::Path;
use undust::rules::{SiteRules, Threshold, Thresholds};
use undust::site::Params;

/// Thresholds that no case shows, with the crawl on which the rules change, or the unit tests that show
/// them. A case takes its threshold out of the list.
const UNSEEN: &[(&str, &str)] = &[
    ("bad_cost", "crawl-photos"),
    ("breadth_max_against", "unseen: frequent values that meet other clusters mostly fail the bound before"),
    ("breadth_slack_ppm", "crawl-bugs"),
    ("classes_raw_permille", "crawl-docs"),
    ("cut_ending_percent", "site::endings"),
    ("cut_ending_known_percent", "site::endings"),
    ("energy_damping", "crawl-bugs"),
    ("form_min_constant_urls", "phpbb-forum"),
    ("form_near", "crawl-kb"),
    ("form_rarer", "crawl-bugs"),
    ("look_up_many", "crawl-bugs"),
    ("mirror_covered_percent", "500 URLs of crawl-kb"),
    ("moved_permille", "learner_hints"),
    ("noise_max_chance", "site::noise"),
    ("noise_min_alone_permille", "crawl-store with one label of 67 wrong"),
    ("noise_min_held_percent", "university"),
    ("noise_min_sure", "site::noise"),
    ("noise_variants_rows", "site::noise"),
    ("overlap_title_rows", "50,000 URLs of scripts/accept traps --only slugs"),
    ("small_opaque_percent", "unseen: keys with tokens hold hardly anything else"),
    ("span_far_percent", "site::spans"),
    ("span_many_raw_permille", "site::value_ranges"),
    ("span_raw_permille", "unseen: the Wilson bound of value ranges is mostly reached before"),
];

/// Thresholds of the proof, which these cases do not run: unit tests of `dataflow::verdict` and
/// `dataflow::narrow` show them.
fn is_of_the_proof(name: &str) -> bool {
    name.starts_with("proof_") || name.starts_with("narrow_")
}

/// The cases, shortest first.
fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/learner");
    let paths = std::fs::read_dir(folder).expect("cases").map(|entry| entry.expect("a file").path());
    let mut cases: Vec<(usize, std::path::PathBuf, Case)> = paths
        .map(|path| {
            let case = Case::read(&path.to_string_lossy(), &std::fs::read_to_string(&path).expect("readable"));
            (case.rows.len(), path, case)
        })
        .collect();
    cases.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    cases.into_iter().map(|of| of.2).collect()
}

fn rules(case: &Case, params: &Params) -> SiteRules {
    learned_with("example.com", &case.rows, params).rules
}

#[test]
fn every_threshold_acts() {
    let cases = cases();
    let defaults: Vec<SiteRules> = cases.iter().map(|case| rules(case, &case.params)).collect();
    let acts = |name: &str, value: &str| {
        cases.iter().zip(&defaults).any(|(case, before)| {
            let mut params = case.params.clone();
            params.set(name, value).expect("a value of its range");
            rules(case, &params) != *before
        })
    };
    let mut unseen = Vec::new();
    for Threshold { name, range, .. } in Params::default().table() {
        let is_known = is_of_the_proof(name) || UNSEEN.iter().any(|of| of.0 == name);
        if !is_known && !range.iter().any(|value| acts(name, value)) {
            unseen.push(name);
        }
    }
    assert!(unseen.is_empty(), "these change no case in tests/cases/learner: {unseen:?}");
    assert!(UNSEEN.iter().all(|of| Thresholds::NAMES.contains(&of.0)), "the list names thresholds");
}
