//! The reference applier of json-rules, run by node, beside undust: where an export leaves nothing out,
//! both give each URL the same canonical URL. On the sample of `tests/data`, on the rules made by hand of
//! `tests/cases/apply` and `tests/cases/json-rules.json`, and on URLs off them.

use crate::apply_cases::Case;
use crate::jobs_run::{Folder, run, undust};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use undust::io::compression;
use undust::rules::export::{Target, export};
use undust::rules::{Function, Rule, RuleSet, SiteRules, file};
use undust::url::NormalUrl;

/// Lines of the applier at most, and characters of a line.
const SIZE: [usize; 2] = [200, 120];

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// False, and a line on standard error, where there is no node.
fn is_node_there() -> bool {
    let is_there = Command::new("node").arg("--version").output().is_ok();
    if !is_there {
        std::io::stderr().write_all(b"SKIPPED: node is not there, examples/json-rules/apply.js is not run\n").unwrap();
    }
    is_there
}

/// URLs near this one: another scheme, host, port, section, fragment, user information, upper case,
/// parameters that are added, repeated, moved and emptied, forms that are not in normal form.
fn off(url: &str) -> Vec<String> {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let bare = url.split('#').next().unwrap_or_default();
    let (front, query) = bare.split_once('?').unwrap_or((bare, ""));
    let parameters: Vec<&str> = query.split('&').collect();
    let [first, last] = [parameters[0], parameters[parameters.len() - 1]];
    let mark = if bare.contains('?') { '&' } else { '?' };
    let turned: Vec<&str> = parameters.iter().rev().copied().collect();
    let other = if scheme == "http" { "https" } else { "http" };
    let segments = "/s".repeat(26);
    let many: String = (0..70).map(|n| format!("&p{n}=1")).collect();
    vec![
        format!("{other}://{rest}"),
        format!("{scheme}://other.example{path}"),
        format!("{scheme}://www.{rest}"),
        format!("{scheme}://{host}:8080{path}"),
        format!("{scheme}://{host}:80{path}"),
        format!("{scheme}://user@{rest}"),
        format!("{scheme}://{}{path}", host.to_uppercase()),
        format!("{}://{rest}", scheme.to_uppercase()),
        format!("{scheme}://{host}/elsewhere{path}"),
        format!("{scheme}://{host}/7{path}"),
        format!("{scheme}://{host}/~ann{path}"),
        format!("{scheme}://{host}/{path}"),
        format!("{scheme}://{host}/x/..{path}"),
        format!("{scheme}://{host}{segments}{path}"),
        format!("{bare}{mark}zz=%7E%2f"),
        format!("{bare}{mark}zz=1"),
        format!("{bare}{mark}sid=0&sid=00"),
        format!("{bare}{mark}{first}"),
        format!("{bare}{mark}{last}&{first}"),
        format!("{bare}{mark}{many}"),
        format!("{bare}{mark}"),
        format!("{front}?{}", turned.join("&")),
        format!("{front}?a;b=c;{query}"),
        format!("{front}/?{query}"),
        format!("{front};p=1;q?{query}"),
        format!("{front}.html?{query}"),
        format!("{front}/index.php?{query}"),
        format!("{front}?/{query}"),
        format!("{front}12?{query}=017"),
        front.to_owned(),
        format!("{bare}#top"),
        format!("{bare}#!/route"),
        bare.to_uppercase().replacen(&scheme.to_uppercase(), scheme, 1).replacen(&host.to_uppercase(), host, 1),
    ]
}

/// Cases for scripts/exports/cases.js: files of rules, each with URLs and what must become of them.
struct Cases {
    folder: Folder,
    sites: usize,
    urls: u64,
}

impl Cases {
    fn new() -> Cases {
        let folder = Folder::with_rules();
        std::fs::create_dir(folder.path("cases")).unwrap();
        Cases { folder, sites: 0, urls: 0 }
    }

    /// Adds rules with these URLs, and those [`off`] each `step`th of them; false where the export leaves
    /// rules out.
    fn add(&mut self, sites: Vec<SiteRules>, urls: &[String], step: usize) -> bool {
        let export = export(&sites, Target::JsonRules);
        if !export.left_out.iter().all(|out| out.reason == "it never acts") {
            return false;
        }
        let rules = RuleSet::new(sites);
        let mut lines = BTreeSet::new();
        for url in urls.iter().cloned().chain(urls.iter().step_by(step).flat_map(|url| off(url))) {
            // An applier without a parser of escapes cannot tell whether these are in normal form.
            let is_malformed = |at: usize| url[at + 1..].bytes().take(2).filter(u8::is_ascii_hexdigit).count() < 2;
            if url.contains(char::is_whitespace) || url.match_indices('%').any(|(at, _)| is_malformed(at)) {
                continue;
            }
            let normal = NormalUrl::new(url.as_bytes());
            let normal = normal.as_ref().map_or(url.as_str(), |normal| normal.as_str());
            lines.insert(format!("{normal}\t{}\n", rules.canonicalize(normal).url));
            // What is not in normal form stays as it is.
            lines.insert(if normal == url { String::new() } else { format!("{url}\t{url}\n") });
        }
        self.urls += lines.len() as u64;
        let path = |of: &str| format!("cases/{}.{of}", self.sites);
        self.folder.write(&path("json"), export.text.as_bytes());
        self.folder.write(&path("tsv"), lines.into_iter().collect::<String>().as_bytes());
        self.sites += 1;
        true
    }

    /// Runs the applier on all of them; returns the number of URLs that it changed.
    fn run(&self) -> u64 {
        let mut node = Command::new("node");
        node.arg(root("scripts/exports/cases.js")).arg(root("examples/json-rules/apply.js"));
        node.arg(self.folder.path("cases"));
        let found: serde_json::Value = serde_json::from_str(&run(node).done()).expect("JSON");
        assert_eq!(found["differ"], 0, "{found:#}");
        assert_eq!(found["sites"], self.sites);
        assert!(found["urls"].as_u64() > Some(self.urls - self.urls / 20), "{found} of {}", self.urls);
        found["changed"].as_u64().expect("a number")
    }
}

#[test]
fn the_applier_is_small() {
    let text = std::fs::read_to_string(root("examples/json-rules/apply.js")).unwrap();
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(text.lines().count() <= SIZE[0] && longest <= Some(SIZE[1]), "{longest:?} characters in a line");
}

#[test]
fn the_applier_gives_the_canonical_urls_of_the_sample() {
    if !is_node_there() {
        return;
    }
    let mut cases = Cases::new();
    let sample = root("tests/data/kb-sample.jsonl.gz");
    let mut learn = undust(&["learn", "-q", "--no-held-out", "--no-report", "--out", "sample"]);
    learn.arg(&sample).current_dir(cases.folder.path(""));
    run(learn).done();
    let mut rules = BufReader::new(File::open(cases.folder.path("sample/rules.jsonl")).unwrap());
    let (_, sites) = file::read(&mut rules).unwrap();
    let lines = compression::open(&sample).unwrap().lines();
    let record = |line: std::io::Result<String>| serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap();
    let urls: Vec<String> = lines.map(|line| record(line)["url"].as_str().expect("a URL").to_owned()).collect();
    let tables = sites.iter().any(|site| !site.aliases.is_empty() && !site.local.is_empty());
    assert!(tables && sites[0].rules.iter().any(is_parameter), "the sample has less than it had");
    assert!(cases.add(sites, &urls, 10), "the export leaves something out");
    let changed = cases.run();
    assert!(urls.len() == 4_385 && changed > 10_000, "{changed} of {} URLs changed", cases.urls);
}

/// True for a mirror rule whose front is a parameter.
fn is_parameter(rule: &Rule) -> bool {
    rule.scope.first().is_some_and(|of| of.key == "prefix" && format!("{:?}", of.test).contains('?'))
}

#[test]
fn the_applier_gives_the_canonical_urls_of_rules_made_by_hand() {
    if !is_node_there() {
        return;
    }
    let (mut cases, mut text, mut left_out) = (Cases::new(), String::new(), Vec::new());
    for path in ["apply/forms", "apply/lookups", "apply/operations", "apply/scopes", "json-rules"] {
        let all = std::fs::read_to_string(root(&format!("tests/cases/{path}.json"))).unwrap();
        for case in serde_json::from_str::<Vec<Case>>(&all).unwrap_or_else(|error| panic!("{path}: {error}")) {
            let urls = case.urls.iter().map(|url| url.expected().0.to_owned());
            let urls: Vec<String> = urls.filter(|url| url.contains("://")).collect();
            if cases.add(vec![case.site()], &urls, 1) {
                text += &serde_json::to_string(&case.site()).unwrap();
            } else {
                left_out.push(case.name);
            }
        }
    }
    // Every kind of rule, table and cut is among those that are compared.
    let functions = Function::ALL.map(|function| serde_json::to_value(function).unwrap());
    let functions = functions.iter().filter_map(|name| name.as_str());
    let kinds = "left-out where-present everywhere keep replace classes apply equals one-of none-of \"not\" present absent closed \
                 aliases exceptions local inner range prefix title= sections delimiters semicolons joined_by_semicolons nested_queries commas \
                 query_path numbered_end endings inner_numbers name_families value_ends query_order fragments";
    for kind in kinds.split_whitespace().chain(functions) {
        assert!(text.contains(kind), "no {kind} is compared; the export leaves something out of {left_out:?}");
    }
    assert!(left_out.len() * 8 < cases.sites, "the export leaves something out of {left_out:?}");
    let changed = cases.run();
    assert!(changed > 2_000, "{changed} of {} URLs changed", cases.urls);
}
