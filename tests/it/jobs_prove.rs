//! `undust prove`: the proof alone, on rules that others made.
use super::jobs_run::{Folder, Ran, run, run_with, undust};
use serde_json::Value;
use std::process::Command;
use undust::rules::file::{self, Header, InputCounts};
use undust::rules::types::{Constraint, Operation, Representative, Rule, SiteRules, Test};
use undust::site::Params;

const HOST: &str = "www.shop.example";

fn ignore(id: &str, key: &str, scope: Vec<Constraint>) -> Rule {
    let operations = vec![(key.to_owned(), Operation::Ignore(Representative::LeftOut))];
    Rule::of(id, scope, operations)
}

fn classes(id: &str, key: &str, pairs: &[(&str, &str)]) -> Rule {
    let pairs = pairs.iter().map(|&(from, to)| (Some(from.to_owned()), Some(to.to_owned()))).collect();
    Rule { operations: vec![(key.to_owned(), Operation::Classes(pairs))], ..ignore(id, key, Vec::new()) }
}

fn site(rules: Vec<Rule>) -> SiteRules {
    SiteRules {
        site: "shop.example".to_owned(),
        origins: undust::rules::origins::of_hosts([HOST]),
        rules,
        ..SiteRules::default()
    }
}

/// A folder with these rules in `rules/` and these records (URL behind the host, cluster) in
/// `crawl.tsv`.
fn folder(rules: &SiteRules, records: &[(String, String)]) -> Folder {
    let folder = Folder::with_rules();
    let mut text = Vec::new();
    file::write(&Header::new(Params::default(), InputCounts::default()), [rules].into_iter(), &mut text).unwrap();
    folder.write("rules/rules.jsonl", &text);
    let lines: String = records.iter().map(|(tail, cluster)| format!("http://{HOST}/{tail}\t{cluster}\n")).collect();
    folder.write("crawl.tsv", lines.as_bytes());
    folder
}

fn prove(folder: &Folder, more: &[&str]) -> Ran {
    let mut command: Command = undust(&["prove", "--rules", "rules", "--out", "out", "crawl.tsv"]);
    command.args(more).current_dir(folder.path(""));
    run(command)
}

/// Proven rules of the site, and the summary.
fn proven(folder: &Folder) -> (SiteRules, Value) {
    let text = std::fs::read(folder.path("out/rules.jsonl")).unwrap();
    let (_, mut sites) = file::read(&mut text.as_slice()).unwrap();
    let summary = serde_json::from_slice(&std::fs::read(folder.path("out/summary.json")).unwrap()).unwrap();
    (sites.pop().unwrap(), summary)
}

/// Sixty pages with three sessions each; `id` is the page.
fn pages() -> Vec<(String, String)> {
    let page = |i: usize| (0..3).map(move |s| (format!("item?id={i}&sid=s{s}x{i}"), format!("page {i}")));
    (0..60).flat_map(page).collect()
}

#[test]
fn a_wrong_rule_goes_and_a_right_one_stays() {
    let rules =
        site(vec![ignore("000000000000000a", "query sid=", vec![]), ignore("000000000000000b", "query id=", vec![])]);
    let folder = folder(&rules, &pages());
    let text = prove(&folder, &[]).done();
    assert!(text.contains("withdrawn: everywhere: ignore query id="), "{text}");
    let (site, summary) = proven(&folder);
    assert_eq!(site.rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["000000000000000a"]);
    // Two merges a page, none of them wrong.
    assert_eq!((site.rules[0].evidence.good, site.rules[0].evidence.bad), (120, 0));
    let gone = &summary["withdrawn"]["shop.example"][0];
    assert_eq!((gone["id"].as_str(), gone["bad"].as_u64()), (Some("000000000000000b"), Some(59)));
    assert!(folder.path("out/_SUCCESS").exists());
}

#[test]
fn records_of_no_site_of_the_rules_prove_nothing() {
    let mut rules = site(vec![ignore("000000000000000a", "query sid=", vec![])]);
    rules.rules[0].evidence.good = 7;
    let folder = folder(&rules, &pages());
    folder.write("crawl.tsv", b"http://other.example/\tx\nhttp://other.example/y\ty\n");
    let told = prove(&folder, &[]).failed(1);
    let facts = "none of 2 records is of one of the 1 sites of the rules in rules (the first is shop.example)";
    assert!(told.contains(facts) && told.contains("--site-by"), "{told}");
    assert!(!folder.path("out").exists());
    // An earlier result stays.
    folder.write("crawl.tsv", b"http://www.shop.example/\tx\n");
    let ran = prove(&folder, &[]);
    assert!(!ran.err.contains("without records") && !ran.err.contains("no record here"), "{}", ran.err);
    ran.done();
    let before = folder.text("out/_SUCCESS");
    folder.write("crawl.tsv", b"http://other.example/\tx\n");
    prove(&folder, &["--overwrite"]).failed(1);
    assert_eq!(folder.text("out/_SUCCESS"), before);
}

#[test]
fn sites_without_records_keep_their_evidence_and_are_counted() {
    let mut rules = site(vec![ignore("000000000000000a", "query sid=", vec![])]);
    rules.rules[0].evidence.good = 7;
    let seen = SiteRules {
        site: "other.example".to_owned(),
        origins: undust::rules::origins::of_hosts(["other.example"]),
        ..rules.clone()
    };
    let folder = folder(&rules, &pages());
    let mut text = Vec::new();
    let header = Header::new(Params::default(), InputCounts::default());
    file::write(&header, [&seen, &rules].into_iter(), &mut text).unwrap();
    folder.write("rules/rules.jsonl", &text);
    folder.write("crawl.tsv", b"http://other.example/\tx\nhttp://other.example/y\ty\nhttp://third.example/\ty\n");
    let ran = prove(&folder, &[]);
    assert!(ran.err.contains("1 records are of sites without rules"), "{}", ran.err);
    assert!(ran.err.contains("1 of 2 sites of the rules have no record here"), "{}", ran.err);
    ran.done();
    let (unseen, summary) = proven(&folder);
    assert_eq!((unseen, &summary["stages"]["proof: sites without records"]), (rules, &Value::from(1)));
    // Where all have records nothing is counted.
    folder.write("crawl.tsv", b"http://other.example/\tx\nhttp://www.shop.example/y\ty\n");
    prove(&folder, &["-q", "--overwrite"]).done();
    assert_eq!(proven(&folder).1["stages"].get("proof: sites without records"), None);
}

#[test]
fn a_value_and_a_section_that_merge_wrongly_are_taken_out() {
    // `view=print` is the page, `view=edit` another; in `docs/` the language matters.
    let mut records = Vec::new();
    for i in 0..40 {
        for (view, page) in [("full", "page"), ("print", "page"), ("edit", "form")] {
            records.push((format!("item?id={i}&view={view}"), format!("{page} {i}")));
        }
        for lang in ["de", "fr"] {
            records.push((format!("item?id={i}&view=full&lang={lang}"), format!("page {i}")));
            records.push((format!("docs/d{i}?lang={lang}"), format!("doc {i} {lang}")));
        }
        records.push((format!("docs/d{i}"), format!("doc {i}")));
        // Sections enough to outvote it.
        for lang in ["de", "fr"] {
            records.push((format!("s{i}/page?lang={lang}"), format!("section {i}")));
        }
    }
    let view = classes("000000000000000a", "query view=", &[("edit", "full"), ("print", "full")]);
    let mut rules = site(vec![view, ignore("000000000000000b", "query lang=", vec![])]);
    rules.tokens.sections = (0..40).map(|i| format!("s{i}")).chain(["docs".to_owned()]).collect();
    rules.tokens.sections.sort();
    let folder = folder(&rules, &records);
    prove(&folder, &["-q"]).done();
    let (site, summary) = proven(&folder);
    let print = vec![(Some("print".to_owned()), Some("full".to_owned()))];
    assert_eq!(site.rules[0].operations, [("query view=".to_owned(), Operation::Classes(print))]);
    let elsewhere = Constraint { key: "section".to_owned(), test: Test::NoneOf(vec!["docs".to_owned()]) };
    assert_eq!(site.rules[1].scope, [elsewhere]);
    assert_eq!(summary["total"]["narrowed"], 2);
    assert_eq!(summary["total"]["withdrawn"], 0);
}

#[test]
fn what_a_rule_file_says_was_known_beforehand_is_no_evidence() {
    // The language matters in three of four sections.
    let mut records = Vec::new();
    for i in 0..40 {
        for (section, differs) in [("a", false), ("b", true), ("c", true), ("d", true)] {
            for lang in ["de", "fr"] {
                let of = if differs { lang } else { "" };
                records.push((format!("{section}/p{i}?lang={lang}"), format!("{section} {i} {of}")));
            }
        }
    }
    let mut rules = site(vec![ignore("000000000000000a", "query lang=", vec![])]);
    rules.tokens.sections = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let [modest, boastful] = [0, u32::MAX].map(|prior| {
        rules.rules[0].evidence.prior = prior;
        let folder = folder(&rules, &records);
        prove(&folder, &["-q"]).done();
        proven(&folder).0.rules
    });
    assert_eq!(modest, boastful);
}

#[test]
fn one_test_that_holds_the_wrong_merges_becomes_a_condition() {
    // `limit` does not matter but where `all` is there.
    let mut records = Vec::new();
    for i in 0..60 {
        for limit in [10, 20, 50] {
            records.push((format!("list?c={i}&limit={limit}"), format!("list {i}")));
            records.push((format!("list?all=1&c={i}&limit={limit}"), format!("all {i} {limit}")));
        }
    }
    let folder = folder(&site(vec![ignore("000000000000000a", "query limit=", vec![])]), &records);
    prove(&folder, &["-q"]).done();
    let (site, summary) = proven(&folder);
    let absent = Constraint { key: "query all=".to_owned(), test: Test::Absent };
    assert_eq!(site.rules[0].scope, [absent]);
    let narrowed = &summary["narrowed"]["shop.example"][0];
    assert_eq!(
        (narrowed["before"]["reason"].as_str(), &narrowed["id"]),
        (Some("test"), &Value::from(&*site.rules[0].id))
    );
}

#[test]
fn rules_that_make_the_same_wrong_merges_do_not_hide_each_other() {
    // Either of the two would suffice to join all pages.
    let scope = vec![Constraint { key: "path0".to_owned(), test: Test::Equals("item".to_owned()) }];
    let rules = site(vec![
        ignore("000000000000000a", "query sid=", vec![]),
        ignore("000000000000000b", "query id=", vec![]),
        ignore("000000000000000c", "query id=", scope),
    ]);
    let folder = folder(&rules, &pages());
    prove(&folder, &["-q"]).done();
    let (site, _) = proven(&folder);
    assert_eq!(site.rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["000000000000000a"]);
}

/// Ids of the rules that are left, and the merges that are right on the data.
fn left(folder: &Folder) -> (Vec<String>, u64) {
    prove(folder, &["-q"]).done();
    let (site, summary) = proven(folder);
    (site.rules.into_iter().map(|rule| rule.id).collect(), summary["total"]["good"].as_u64().unwrap())
}

const SID: &str = "000000000000000a";

/// `sid` is right; the others are not.
fn sid_and(others: &[&str]) -> SiteRules {
    let other = |(n, key): (usize, &&str)| ignore(&format!("{:016x}", 0xb0 + n), &format!("query {key}="), vec![]);
    let mut rules = vec![ignore(SID, "query sid=", vec![])];
    rules.extend(others.iter().enumerate().map(other));
    site(rules)
}

#[test]
fn a_right_rule_is_not_blamed_for_several_wrong_ones_together() {
    // A page for each combination of three keys: without any of the three there are still several on one
    // URL.
    let mut cube = Vec::new();
    for page in 0..27 {
        let [a, b, c] = [page / 9, page / 3 % 3, page % 3];
        cube.extend((0..4).map(|s| (format!("item?k0={a}&k1={b}&k2={c}&sid={s}x{page}"), format!("p{page}"))));
    }
    let cube = folder(&sid_and(&["k0", "k1", "k2"]), &cube);
    assert_eq!(left(&cube), (vec![SID.to_owned()], 81));
    // Two keys that are needed together on some pages, and wrong alone on others.
    let mut two = Vec::new();
    for i in 0..60 {
        two.extend((0..3).map(|s| (format!("item?k0={i}&k1={i}&sid={s}x{i}"), format!("p{i}"))));
        for key in 0..2 {
            two.extend((0..2).map(|s| (format!("item?k{key}={i}&sid=q{s}x{i}"), format!("q{key}.{i}"))));
        }
    }
    let two = folder(&sid_and(&["k0", "k1"]), &two);
    assert_eq!(left(&two), (vec![SID.to_owned()], 240));
    // Eight keys of three values each, at random.
    let keys: Vec<String> = (0..8).map(|n| format!("k{n}")).collect();
    let mut many = Vec::new();
    for page in 0..300u64 {
        let bits = undust::model::hash64(&page.to_le_bytes());
        let query: Vec<String> =
            keys.iter().zip(0..).map(|(key, n)| format!("{key}={}", (bits >> (4 * n)) % 3)).collect();
        many.extend((0..2).map(|s| (format!("item?{}&sid={s}x{page}", query.join("&")), query.join(" "))));
    }
    let names: Vec<&str> = keys.iter().map(String::as_str).collect();
    let many = folder(&sid_and(&names), &many);
    assert_eq!(left(&many).0, [SID]);
}

#[test]
fn copies_of_a_wrong_rule_go_with_it() {
    for copies in [4, 60] {
        let mut rules = site(vec![ignore(SID, "query sid=", vec![])]);
        for n in 0..copies {
            let scope = vec![Constraint { key: format!("query k{n}="), test: Test::Absent }];
            rules.rules.push(ignore(&format!("{:016x}", 0xb00 + n), "query id=", scope));
        }
        assert_eq!(left(&folder(&rules, &pages())), (vec![SID.to_owned()], 120));
    }
    // Of two rules with one id each answers for itself.
    let mut rules = sid_and(&["id"]);
    rules.rules[1].id = SID.to_owned();
    let folder = folder(&rules, &pages());
    assert_eq!(left(&folder), (vec![SID.to_owned()], 120));
    assert_eq!(proven(&folder).0.rules[0].operations, rules.rules[0].operations);
}

#[test]
fn pages_that_another_key_changes_excuse_no_wrong_merge() {
    // `utm` changes twelve pages, so that each value of `id` there meets two clusters; 300 others are told
    // apart by `id`.
    let mut records = Vec::new();
    for i in 0..12 {
        records.extend(["a", "b"].map(|utm| (format!("item?id={i}&utm={utm}"), format!("d{i}{utm}"))));
    }
    records.extend((12..312).map(|i| (format!("item?id={i}"), format!("p{i}"))));
    records.extend((0..6000).map(|n| (format!("login?utm={n}"), "login".to_owned())));
    let rules =
        site(vec![ignore("00000000000000c1", "query utm=", vec![]), ignore("00000000000000c2", "query id=", vec![])]);
    let folder = folder(&rules, &records);
    assert!(!left(&folder).0.contains(&"00000000000000c2".to_owned()));
}

#[test]
fn memory_is_no_evidence_and_goes_where_it_is_wrong() {
    let url = |tail: &str| format!("http://{HOST}/{tail}");
    let mut records = pages();
    records.extend([("old/1".to_owned(), "page 1".to_owned()), ("old/2".to_owned(), "page 2".to_owned())]);
    let mut rules = site(vec![ignore("000000000000000a", "query sid=", vec![])]);
    // One look-up is right, one leads to the page of another cluster.
    rules.aliases = vec![[url("old/1"), url("item?id=1")], [url("old/2"), url("item?id=3")]];
    let folder = folder(&rules, &records);
    prove(&folder, &["-q"]).done();
    let (site, summary) = proven(&folder);
    assert_eq!(site.aliases, [[url("old/1"), url("item?id=1")]]);
    assert_eq!((&summary["total"]["forgotten"], &summary["total"]["bad"]), (&Value::from(1), &Value::from(0)));
}

#[test]
fn an_exception_does_not_hide_what_the_rule_does() {
    // All pages of `id` are one by the rule; exceptions give every one of them back.
    let mut rules =
        site(vec![ignore("000000000000000a", "query sid=", vec![]), ignore("000000000000000b", "query id=", vec![])]);
    rules.exceptions = vec![[format!("http://{HOST}/item?id=1&sid=s0x1"), "000000000000000b".to_owned()]];
    let folder = folder(&rules, &pages());
    prove(&folder, &["-q"]).done();
    assert_eq!(proven(&folder).0.rules.len(), 1);
}

#[test]
fn the_same_bytes_whatever_the_order_and_the_workers() {
    let mut records = pages();
    for i in 0..30 {
        records.push((format!("item?id={i}&view=edit"), format!("form {i}")));
        records.push((format!("item?id={i}&view=print"), format!("page {i}")));
    }
    let view = classes("000000000000000c", "query view=", &[("edit", "print")]);
    let rules = site(vec![
        view,
        ignore("000000000000000a", "query sid=", vec![]),
        ignore("000000000000000b", "query view=", vec![]),
    ]);
    let mut seen = Vec::new();
    for (turn, workers) in ["1", "2", "4"].into_iter().enumerate() {
        let at = 37 * turn % records.len();
        records.rotate_left(at);
        let folder = folder(&rules, &records);
        prove(&folder, &["-q", "-w", workers]).done();
        seen.push(["rules.jsonl", "summary.json"].map(|name| std::fs::read(folder.path("out").join(name)).unwrap()));
    }
    assert!(seen.windows(2).all(|two| two[0] == two[1]));
}

#[test]
fn records_on_standard_input_are_proven_on() {
    let folder = folder(&site(vec![ignore(SID, "query sid=", vec![])]), &pages());
    let mut command = undust(&["prove", "--rules", "rules", "--out", "out", "-q", "-"]);
    command.current_dir(folder.path(""));
    run_with(command, folder.text("crawl.tsv").as_bytes()).done();
    assert_eq!(proven(&folder).0.rules[0].evidence.good, 120);
}

#[test]
fn mistakes_are_told_with_a_way_out() {
    let folder = folder(&site(Vec::new()), &pages());
    folder.write("plain.tsv", b"http://www.shop.example/\n");
    let run_with = |arguments: &[&str]| {
        let mut command = undust(&["prove", "--rules", "rules"]);
        command.args(arguments).current_dir(folder.path(""));
        run(command)
    };
    assert!(run_with(&["--out", "o", "--fpr-max", "2", "crawl.tsv"]).failed(2).contains("--fpr-max 2"));
    assert!(run_with(&["--out", "o", "--rules", "nowhere", "crawl.tsv"]).code != 0);
    prove(&folder, &["-q"]).done();
    let again = prove(&folder, &["-q"]);
    assert!(again.code != 0 && again.err.contains("out"), "{}", again.err);
    prove(&folder, &["-q", "--overwrite"]).done();
}
