//! Rules learned on tiny sites: tests/cases/learner/*.txt, one site a file, with the expected rules and
//! canonical URLs.

use super::learner_site::{Case, Expected, in_words, learned_with, merged};
use std::collections::BTreeSet;
use std::path::Path;
use undust::rules::{RuleSet, explain::pattern_text};

/// What is wrong with a case, line by line; and what was learned.
fn check(case: &Case) -> (Vec<String>, String) {
    let outcome = learned_with("example.com", &case.rows, &case.params);
    let set = RuleSet::new(vec![outcome.rules.clone()]);
    let canonical = |url: &String| set.canonicalize(url).url.into_owned();
    let patterns: Vec<String> = outcome.rules.rules.iter().map(pattern_text).collect();
    let mut wrong = Vec::new();
    for (line, expected, gap) in &case.expected {
        let found = match expected {
            Expected::Rule(text) => (!patterns.iter().any(|p| p.contains(text))).then(|| format!("no rule {text}")),
            Expected::NoRule(text) => patterns.iter().any(|p| p.contains(text)).then(|| format!("a rule {text}")),
            Expected::Same(urls) => {
                let found: BTreeSet<String> = urls.iter().map(canonical).collect();
                (found.len() != 1).then(|| format!("not the same: {found:?}"))
            }
            Expected::Differ(urls) => {
                let found: Vec<String> = urls.iter().map(canonical).collect();
                let distinct = found.iter().collect::<BTreeSet<_>>().len();
                (distinct != urls.len()).then(|| format!("the same: {found:?}"))
            }
            Expected::Becomes(url, to) => {
                let found = canonical(url);
                (found != *to).then(|| format!("{url} becomes {found}, not {to}"))
            }
            Expected::Count(name, count) => {
                let found = outcome.counts.get(name.as_str());
                (found != Some(count)).then(|| format!("{name} is {found:?}, not {count}"))
            }
            Expected::Merged(percent) => {
                let (share, mixed) = merged(&set, &case.rows);
                let short = share < *percent || mixed.is_some();
                short.then(|| format!("{share} % of the clusters merged, false merge: {mixed:?}"))
            }
        };
        match found {
            Some(found) if !gap => wrong.push(format!("  line {line}: {found}")),
            None if *gap => wrong.push(format!("  line {line}: holds now: take `gap` away")),
            _ => {}
        }
    }
    (wrong, in_words(&outcome))
}

#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/learner");
    let mut paths: Vec<_> = std::fs::read_dir(&folder).expect("cases").map(|e| e.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= 30, "{} cases", paths.len());
    let mut report = String::new();
    for path in paths {
        let case = Case::read(&path.to_string_lossy(), &std::fs::read_to_string(&path).expect("readable"));
        assert!(!case.rows.is_empty() && !case.expected.is_empty(), "{}: tests nothing", path.display());
        let (wrong, words) = check(&case);
        if !wrong.is_empty() {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            report += &format!("{file} ({} records):\n{}\n  learned:\n{words}\n", case.rows.len(), wrong.join("\n"));
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The notation of cases itself.
#[test]
fn cases_are_read() {
    let case = Case::read(
        "a case",
        "# no\nfor i=1..2 k=0..1: c{i} http://e/{i/2}/{i+7}?k={k%2}{&x?k}\n- http://e/ elsewhere\n\nsame: a b\ncount: look-ups 3\ngap rule: x",
    );
    let urls: Vec<&str> = case.rows.iter().map(|r| r.url.as_str()).collect();
    assert_eq!(urls, ["http://e/0/8?k=0&x", "http://e/0/8?k=1", "http://e/1/9?k=0&x", "http://e/1/9?k=1", "http://e/"]);
    assert_eq!(case.rows[2].cluster.as_deref(), Some("c2"));
    assert!(case.rows[4].cluster.is_none() && case.rows[4].elsewhere && !case.rows[3].elsewhere);
    let lines: Vec<(usize, bool)> = case.expected.iter().map(|e| (e.0, e.2)).collect();
    assert_eq!(lines, [(5, false), (6, false), (7, true)]);
}
