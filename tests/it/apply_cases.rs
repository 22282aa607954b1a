//! The applier on small rule sets made by hand: tests/cases/apply/*.json, one array of cases a file.
//!
//! A case is `{name, rules, urls}` and what a site holds besides: `hosts`, `tokens`, `exceptions`,
//! `aliases`, `local`. A rule is as in the rule file, without its evidence; a URL is `[url,
//! canonical URL, ids of the rules that fired...]`, or a single string where the URL stays as it is.

use serde::Deserialize;
use std::path::Path;
use undust::rules::value_ranges::RangedKey;
use undust::rules::{Constraint, Kind, Operation, Rule, RuleSet, Scratch, SiteRules, Tokens};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    tokens: Tokens,
    rules: Vec<CaseRule>,
    #[serde(default)]
    exceptions: Vec<[String; 2]>,
    #[serde(default)]
    aliases: Vec<[String; 2]>,
    #[serde(default)]
    local: Vec<RangedKey>,
    pub(super) urls: Vec<Url>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseRule {
    id: String,
    kind: Kind,
    #[serde(default)]
    scope: Vec<Constraint>,
    operations: Vec<(String, Operation)>,
    #[serde(default)]
    closed: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Url {
    Kept(String),
    Expected(Vec<String>),
}

impl Url {
    pub(super) fn expected(&self) -> (&str, &str, &[String]) {
        match self {
            Url::Kept(url) => (url, url, &[]),
            Url::Expected(all) => (&all[0], &all[1], &all[2..]),
        }
    }
}

impl Case {
    pub(super) fn site(&self) -> SiteRules {
        let rule = |r: &CaseRule| Rule {
            kind: r.kind,
            closed: r.closed,
            ..Rule::of(&r.id, r.scope.clone(), r.operations.clone())
        };
        let hosts = if self.hosts.is_empty() { vec!["example.com".to_owned()] } else { self.hosts.clone() };
        let origins = undust::rules::origins::of_hosts(hosts);
        SiteRules {
            site: "example.com".to_owned(),
            origins,
            tokens: self.tokens.clone(),
            rules: self.rules.iter().map(rule).collect(),
            exceptions: self.exceptions.clone(),
            aliases: self.aliases.clone(),
            local: self.local.clone(),
            ..SiteRules::default()
        }
    }
}

/// Faults of a case, line by line.
fn check(case: &Case) -> Vec<String> {
    let set = RuleSet::new(vec![case.site()]);
    let mut wrong = Vec::new();
    // One scratch for all URLs: what one leaves behind must not reach the next.
    let mut scratch = Scratch::default();
    for url in &case.urls {
        let (url, expected, fired) = url.expected();
        let found = set.canonicalize(url);
        let rules: Vec<String> = found.rules.iter().map(|id| id.to_string()).collect();
        if (&*found.url, rules.as_slice()) != (expected, fired) {
            wrong.push(format!("{url}\n  expected {expected} {fired:?}\n  found    {} {:?}", found.url, found.rules));
        }
        let again = set.canonicalize(&found.url);
        if again.url != found.url {
            wrong.push(format!("{url}\n  once  {}\n  twice {}", found.url, again.url));
        }
        let reused = set.apply(url.as_bytes(), None, &mut scratch);
        if reused.url != found.url.as_bytes() || reused.fired.iter().count() != found.rules.len() {
            wrong.push(format!("{url}\n  fresh  {}\n  reused {}", found.url, reused.url.escape_ascii()));
        }
        if set.apply(url.as_bytes(), Some(0), &mut scratch).url != found.url.as_bytes() {
            wrong.push(format!("{url}: the site by its host and by its index differ"));
        }
    }
    wrong
}

#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/apply");
    let mut paths: Vec<_> = std::fs::read_dir(&folder).expect("cases").map(|e| e.expect("a file").path()).collect();
    paths.sort();
    let (mut count, mut report) = (0, String::new());
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("readable");
        let cases: Vec<Case> = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for case in &cases {
            count += 1;
            assert!(!case.urls.is_empty(), "{}: no URL", case.name);
            for wrong in check(case) {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                report += &format!("{file}, {}: {wrong}\n", case.name);
            }
        }
    }
    assert!(count >= 40, "{count} cases");
    assert!(report.is_empty(), "\n{report}");
}
