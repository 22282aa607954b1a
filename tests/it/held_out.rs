//! Cross-fitted figures of a run: the dataflow against plain code, and what the jobs say of them.
use super::dataflow_support::{Owned, crawl, plan, run, shuffled};
use crate::jobs_run::{Folder, run as ran, undust};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use undust::dataflow::learned_site::LearnedSite;
use undust::dataflow::sample::SampleParams;
use undust::dataflow::{Plan, alone, held_out};
use undust::model::Record;
use undust::rules::SiteRules;
use undust::site::held_out::Limits;

/// The records of each site.
fn by_site(records: &[Owned]) -> BTreeMap<String, Vec<Record<'_>>> {
    let mut locator = undust::dataflow::locate::Locator::new(plan(1, 0).site_by);
    let mut sites: BTreeMap<String, Vec<Record<'_>>> = BTreeMap::new();
    for record in records.iter().map(Owned::record) {
        if let Some((site, _)) = locator.locate(record) {
            sites.entry(String::from_utf8(site.to_vec()).expect("text")).or_default().push(record);
        }
    }
    sites
}

fn check(records: Vec<Owned>, limits: Limits, sample: SampleParams) {
    let sites = by_site(&records);
    let count = |(name, records): (&String, &Vec<Record<'_>>)| (name.clone(), alone::candidates(records, &sample));
    let candidates: BTreeMap<String, u64> = sites.iter().map(count).collect();
    let choice = held_out::chosen(&candidates, &limits, &sample);
    let params = plan(1, 0).params;
    // The proof takes the rules.
    let but_rules = |site| LearnedSite { rules: SiteRules::default(), ..site };
    let want: Vec<_> = sites
        .iter()
        .map(|(name, records)| match choice.extent(name) {
            Some(extent) => alone::cross_fitted(name, records, &sample, &params, extent),
            None => alone::learn(name, records, &sample, &params),
        })
        .map(but_rules)
        .collect();
    let fitted = want.iter().filter(|site| site.held_out.is_some()).count();
    assert!(fitted > 1 && fitted < want.len(), "some sites are chosen: {fitted} of {}", want.len());
    let is_cut = |(name, rows): (&String, &u64)| choice.extent(name).is_some_and(|extent| extent.rows < *rows);
    assert!(candidates.iter().any(is_cut), "one is cut: {candidates:?}");
    for (workers, seed, batch, memory) in
        [(1, 1, 97, 64 << 20), (2, 2, 10, 1 << 12), (3, 3, 1_000, 64 << 20), (4, 4, 31, 1 << 14)]
    {
        let plan = Plan { held_out: Some(limits), sample, ..plan(workers, memory) };
        let got = run(&plan, shuffled(records.clone(), seed), batch);
        let got: Vec<_> = got.sites.into_iter().map(|site| site.learned).collect();
        assert_eq!(got, want, "{workers} workers");
    }
}

#[test]
fn the_dataflow_cross_fits_what_plain_code_does() {
    let limits = Limits { rows: 2_000, fits: 9_000, fits_permille: 150, site: 900, folds: 4 };
    check(crawl(6, 300), limits, SampleParams::default());
    // A budget that grows with the run: half of its rows, twice each.
    let limits = Limits { rows: 0, fits: 0, fits_permille: 1_000, site: 900, folds: 4 };
    check(crawl(6, 300), limits, SampleParams { share: 0.6, max: 400, ..SampleParams::default() });
}

#[test]
fn without_bounds_nothing_is_cross_fitted() {
    let learned = run(&plan(2, 64 << 20), crawl(2, 100), 50);
    assert!(learned.sites.iter().all(|site| site.learned.held_out.is_none()));
}

fn job(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = undust(arguments);
    command.current_dir(folder.path(""));
    command
}

fn summary(folder: &Folder, out: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.path(&format!("{out}/summary.json"))).unwrap()).unwrap()
}

/// Pages behind sessions at one site, single pages at a second, records without labels at a third.
fn records() -> Vec<String> {
    let mut lines = Vec::new();
    for page in 0..80 {
        for session in 0..3 {
            let session = page * 31 + session * 977;
            lines.push(format!("https://www.one.org/item/{page}.html?view={}&sid={session}\tc{page}", page % 3));
        }
        lines.push(format!("https://two.org/{page}\t{page}"));
        lines.push(format!("https://three.org/{page}\t"));
    }
    lines
}

#[test]
fn the_terminal_shows_what_took_no_part_before_what_was_learned_from() {
    let folder = Folder::with_rules();
    folder.write("in.tsv", records().join("\n").as_bytes());
    let text = ran(job(&folder, &["learn", "in.tsv", "--out", "out", "-q"])).done();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("on URLs that took no part in learning"), "{text}");
    assert_eq!(
        lines[1],
        "one.org: saved 1.000 +- 0.046 on new clusters, 1.000 +- 0.046 on new URLs; wrong 0.0000, at most 0.0458; \
         240 URLs, 80 clusters"
    );
    let of = |name: &str| *lines.iter().find(|line| line.starts_with(name)).expect("a line a site");
    assert_eq!(
        of("two.org"),
        "two.org: saved nothing to save on new clusters, nothing to save on new URLs; wrong 0.0000, at most 1.0000; \
         80 URLs, 80 clusters"
    );
    assert_eq!(of("three.org"), "three.org: not cross-fitted", "without labels nothing is counted");
    assert!(lines[4].starts_with("2 of 3 sites: saved 1.000"), "{text}");
    assert_eq!(lines[5], "on the data the rules were learned from:");
    assert!(lines[6].starts_with("one.org: 240 URLs, 80 clusters, 80 canonical"), "{text}");

    let summary = summary(&folder, "out");
    let figures = serde_json::json!({
        "saved_by_cluster": 1_000_000, "saved_by_cluster_margin": 45_820, "saved_by_url": 1_000_000,
        "saved_by_url_margin": 45_820, "wrong_share": 0, "wrong_upper": 45_820, "clusters": 80, "rows": 240
    });
    assert_eq!(summary["sites"]["one.org"]["held_out"], figures);
    assert_eq!(summary["sites"]["two.org"]["held_out"]["saved_by_url"], Value::Null);
    assert_eq!(summary["total"]["held_out"]["rows"], 320);
    assert_eq!(summary["parameters"]["held_out"]["rows"], 20_000);
}

#[test]
fn large_runs_say_which_sites_are_not_cross_fitted() {
    let folder = Folder::with_rules();
    // Pages without duplicates: 24 sites of 1,000 URLs, of which 20 fit.
    let text: String = (0..24_000).map(|page| format!("https://site{}.org/{page}\t{page}\n", page % 24)).collect();
    folder.write("in.tsv", text.as_bytes());
    let text = ran(job(&folder, &["learn", "in.tsv", "--out", "out", "-q", "-w", "2"])).done();
    let summary = summary(&folder, "out");
    let sites = summary["sites"].as_object().unwrap();
    let without = sites.values().filter(|site| site["held_out"] == "not cross-fitted").count();
    assert_eq!((sites.len(), without), (24, 4));
    assert_eq!(summary["total"]["held_out"]["rows"], 20_000);
    let section: Vec<&str> = text.lines().take_while(|line| !line.starts_with("on the data")).collect();
    assert_eq!(section.len(), 1 + 20 + 1 + 1, "{text}");
    assert_eq!(section[21], "and 4 sites more: see summary.json");
    assert!(section[22].starts_with("20 of 24 sites: "), "{text}");
    assert!(section.iter().any(|line| line.ends_with(".org: not cross-fitted")) || without == 0, "{text}");
}

#[test]
fn no_held_out_leaves_it_out_and_changes_no_rule() {
    let folder = Folder::with_rules();
    let mut lines = records();
    folder.write("in.tsv", lines.join("\n").as_bytes());
    lines.reverse();
    folder.write("a.tsv", lines[..100].join("\n").as_bytes());
    folder.write("b.tsv", lines[100..].join("\n").as_bytes());
    let learn = |out: &str, more: &[&str]| ran(job(&folder, &[&["learn", "-q", "--out", out], more].concat())).done();
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap();
    learn("with", &["in.tsv"]);
    let text = learn("without", &["in.tsv", "--no-held-out"]);
    assert!(text.starts_with("one.org: 240 URLs"), "{text}");
    assert!(!String::from_utf8(read("without/summary.json")).unwrap().contains("held_out"));
    assert_eq!(read("with/rules.jsonl"), read("without/rules.jsonl"));
    // Other shards, another order, more workers: the same bytes.
    learn("other", &["b.tsv", "a.tsv", "-w", "3", "--memory", "1MiB"]);
    assert_eq!(read("with/rules.jsonl"), read("other/rules.jsonl"));
    assert_eq!(read("with/summary.json"), read("other/summary.json"));
}

#[test]
fn evaluate_knows_the_data_that_rules_were_learned_from() {
    let folder = Folder::with_rules();
    let mut lines = records();
    folder.write("in.tsv", lines.join("\n").as_bytes());
    ran(job(&folder, &["learn", "in.tsv", "--out", "out", "-q"])).done();
    let says = |input: &str, rules: &str| {
        let text = ran(job(&folder, &["evaluate", "--rules", rules, input, "--json", "f.json", "--overwrite"])).done();
        let figures: Value = serde_json::from_slice(&std::fs::read(folder.path("f.json")).unwrap()).unwrap();
        (text.lines().last().unwrap().to_owned(), figures["data"].clone())
    };
    let known = |(line, data): (String, Value)| match data.as_str() {
        Some("learned-from") => line.contains("these are the data the rules were learned from"),
        Some("unknown") => {
            assert!(line.contains("unknown whether they overlap"), "{line}");
            false
        }
        _ => panic!("{data}"),
    };
    assert!(known(says("in.tsv", "out")));
    lines.reverse();
    folder.write("turned.tsv", lines.join("\n").as_bytes());
    assert!(known(says("turned.tsv", "out")), "the order is no part of it");
    folder.write("less.tsv", lines[1..].join("\n").as_bytes());
    assert!(!known(says("less.tsv", "out")));
    let other = lines.join("\n").replace("\tc7\n", "\tc8\n");
    folder.write("other.tsv", other.as_bytes());
    assert!(!known(says("other.tsv", "out")), "one label differs");
    // Rules that do not say what they were learned from.
    assert!(!known(says("in.tsv", "rules")));
    // Compiled rules carry the first line of the file.
    ran(job(&folder, &["rules", "compile", "--rules", "out", "--out", "out.undust"])).done();
    assert!(known(says("in.tsv", "out.undust")));
}
