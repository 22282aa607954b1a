//! `undust rules` from the outside: what people decide about rules, and what becomes of it when rules
//! are learned again.

use crate::jobs_run::{Folder, run, run_with, undust};
use std::process::Command;

/// The binary in the folder.
fn job(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = undust(arguments);
    command.current_dir(folder.path(""));
    command
}

/// Records of a site whose pages have session ids (which do not matter) and, from `from` on, pages
/// whose `sort` matters.
fn records(pages: u32, sorted: std::ops::Range<u32>) -> String {
    let mut text = String::new();
    for i in 0..pages {
        for n in 0..4 {
            text.push_str(&format!("http://www.shop.example/item/{i}?sid={:04x}\tpage {i}\n", i * 31 + n * 977 + 1));
        }
        // Duplicates by `sort`, or, in the range, pages of their own.
        let own = if sorted.contains(&i) { "own " } else { "" };
        for (n, order) in ["up", "down", "name"].iter().enumerate() {
            let label = if own.is_empty() { format!("list {i}") } else { format!("{own}{i} {n}") };
            text.push_str(&format!("http://www.shop.example/list/{i}?sort={order}\t{label}\n"));
        }
    }
    text
}

/// Learns from these records into `rules`.
fn learn(folder: &Folder, records: &str, more: &[&str]) {
    folder.write("records.tsv", records.as_bytes());
    let arguments = [&["learn", "records.tsv", "--out", "rules", "--overwrite", "-q"], more].concat();
    run(job(folder, &arguments)).done();
}

fn empty() -> Folder {
    let folder = Folder::with_rules();
    std::fs::remove_dir_all(folder.path("rules")).unwrap();
    folder
}

/// The rule that `rules list` shows with these words: its id, and its line as JSON.
fn rule(folder: &Folder, words: &str) -> Option<(String, serde_json::Value)> {
    let text = run(folder_rules(folder, "list", &[])).done();
    let id = text.lines().find(|line| line.contains(words))?.split_whitespace().next()?.to_owned();
    let lines = run(folder_rules(folder, "list", &["--output", "jsonl"])).done();
    let mut lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let line = lines.find(|line| line["id"] == id.as_str()).expect("the same rule in both forms");
    Some((id, line))
}

fn folder_rules(folder: &Folder, what: &str, more: &[&str]) -> Command {
    job(folder, &[&["rules", what, "--rules", "rules"], more].concat())
}

fn normalized(folder: &Folder, url: &str, more: &[&str]) -> String {
    let ran = run_with(job(folder, &[&["normalize", "-q", "--rules", "rules"], more].concat()), url.as_bytes());
    ran.done().trim_end().to_owned()
}

const WITH_SID: &str = "http://www.shop.example/item/777?sid=beef";
const PLAIN: &str = "http://www.shop.example/item/777";

#[test]
fn a_disabled_rule_stays_disabled_when_rules_are_learned_again() {
    let folder = empty();
    learn(&folder, &records(60, 0..0), &[]);
    let fires = normalized(&folder, WITH_SID, &[]);
    assert_ne!(fires, WITH_SID);
    let (id, line) = rule(&folder, "query sid=").expect("a rule for sid");
    assert!(line["disabled"].is_null() && line["evidence"]["good"].as_u64() > Some(50));
    run(folder_rules(&folder, "disable", &[&id, "--reason", "two carts were merged"])).done();
    assert_eq!(normalized(&folder, WITH_SID, &[]), WITH_SID);
    // Learned again, from other data with another order of rules: the rule is there again, and disabled.
    learn(&folder, &records(90, 0..0), &[]);
    assert_eq!(normalized(&folder, WITH_SID, &[]), WITH_SID);
    let (again, line) = rule(&folder, "query sid=").expect("the rule is learned again");
    assert_eq!((again.as_str(), line["disabled"].as_str()), (id.as_str(), Some("two carts were merged")));
    let text = run(folder_rules(&folder, "show", &[&id])).done();
    assert!(text.contains("DISABLED: two carts were merged"), "{text}");
    let told = run(job(&folder, &["explain", "--rules", "rules", WITH_SID])).done();
    assert!(told.contains(&format!("{id}: two carts were merged")), "{told}");
    // Into another folder, by name.
    let out = ["learn", "records.tsv", "--out", "other", "-q", "--overrides", "rules/overrides.jsonl"];
    run(job(&folder, &out)).done();
    let other = run_with(job(&folder, &["normalize", "-q", "--rules", "other"]), WITH_SID.as_bytes()).done();
    assert_eq!(other.trim_end(), WITH_SID);
    // Enabled, it acts.
    run(folder_rules(&folder, "enable", &[&id])).done();
    assert_ne!(normalized(&folder, WITH_SID, &[]), WITH_SID);
    assert!(run(folder_rules(&folder, "enable", &[&id])).failed(2).contains("not disabled"));
    assert!(
        run(folder_rules(&folder, "disable", &["0123456789abcdef", "--reason", "x"])).failed(2).contains("no such")
    );
    assert!(run(folder_rules(&folder, "disable", &[&id, "--reason", " "])).failed(2).contains("empty"));
}

/// One URL of so many of the pages turns out to be a page of its own: such pages first become
/// exceptions, which support the rule no more, so that its bound rises; then they are too many, and the
/// rule is withdrawn with its reason.
#[test]
fn data_that_contradict_a_rule_move_its_bound_until_it_is_withdrawn() {
    let folder = empty();
    let (mut bounds, mut reason) = (Vec::new(), None);
    for contradicting in [0, 2, 5, 8] {
        let mut text = String::new();
        for i in 0..60 {
            for n in 0..6 {
                let own = if n == 5 && i < contradicting { "own " } else { "" };
                text.push_str(&format!("http://www.shop.example/list/{i}?skin={n}\t{own}list {i}\n"));
            }
        }
        folder.write("records.tsv", text.as_bytes());
        let told = run(job(&folder, &["learn", "records.tsv", "--out", "rules", "--overwrite", "-q"])).done();
        match rule(&folder, "ignore query skin=") {
            Some((_, line)) => bounds.push(line["evidence"]["upper_bound_ppm"].as_u64().unwrap()),
            None => {
                let line =
                    told.lines().find(|line| line.contains("withdrawn: ") && line.contains("ignore query skin="));
                reason = Some(line.expect("a reason").to_owned());
                break;
            }
        }
    }
    assert!(bounds.len() > 1 && bounds.windows(2).all(|pair| pair[0] < pair[1]), "{bounds:?}");
    let reason = reason.expect("the rule is withdrawn");
    assert!(reason.contains("too many wrong pairs"), "{reason}");
    let list = "http://www.shop.example/list/777?skin=1";
    assert_eq!(normalized(&folder, list, &[]), list, "a withdrawn rule does not act");
}

#[test]
fn diff_tells_rules_gained_lost_and_changed_and_counts_the_urls_that_change() {
    let folder = empty();
    learn(&folder, &records(60, 0..0), &[]);
    std::fs::rename(folder.path("rules"), folder.path("old")).unwrap();
    learn(&folder, &records(60, 0..60), &[]);
    let urls: String = (0..30).map(|i| format!("http://www.shop.example/list/9{i}?sort=down\n{PLAIN}{i}\n")).collect();
    folder.write("urls.txt", urls.as_bytes());
    let text = run(job(&folder, &["rules", "diff", "old", "rules", "--urls", "urls.txt"])).done();
    assert!(text.contains("lost    ") && text.contains("query sort="), "{text}");
    assert!(text.contains("30 of 60 URLs get another canonical URL"), "{text}");
    let back = run(job(&folder, &["rules", "diff", "rules", "old"])).done();
    assert!(back.contains("gained  ") && back.contains("query sort="), "{back}");
    let none = run(job(&folder, &["rules", "diff", "old", "old", "--urls", "urls.txt"])).done();
    let churn = "churn 0.00 %: 0 of 60 URLs whose group of duplicates is the same; the groups of 0 URLs changed";
    let rules = "0 sites differ: 0 rules gained, 0 lost, 0 changed";
    assert_eq!(none, format!("0 of 60 URLs get another canonical URL\n{churn}\n{rules}\n"));
    // What changes for URLs comes first; for programs it is one object.
    assert!(text.starts_with("30 of 60 URLs get another canonical URL\n"), "{text}");
    let json = run(job(&folder, &["rules", "diff", "old", "rules", "--urls", "urls.txt", "--json"])).done();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["urls"]["changed"], &json["urls"]["urls"]), (&30.into(), &60.into()));
    assert_eq!(json["urls"]["examples"].as_array().unwrap().len(), 10);
    // Each of the lists is alone under both rule sets; with two orders of one list, the rule is what keeps
    // them together.
    let groups =
        |json: &serde_json::Value| ["same_group", "moved", "regrouped"].map(|name| json["urls"][name].as_u64());
    assert_eq!((groups(&json), &json["urls"]["churn"]), ([Some(60), Some(30), Some(0)], &0.5.into()));
    let list = "http://www.shop.example/list/90?sort=";
    folder.write("two.txt", format!("{list}up\n{list}down\n{PLAIN}1\n").as_bytes());
    let json = run(job(&folder, &["rules", "diff", "old", "rules", "--urls", "two.txt", "--json"])).done();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((groups(&json), &json["urls"]["churn"]), ([Some(1), Some(0), Some(2)], &0.0.into()));
    assert_eq!(json["totals"]["lost"], json["sites"][0]["lost"].as_array().unwrap().len());
    let sort = |rule: &serde_json::Value| rule["operations"].to_string().contains("query sort=");
    assert!(json["sites"][0]["lost"].as_array().unwrap().iter().any(sort), "{json}");
    // More of the same evidence changes nothing for URLs: it is shown only where it is asked for.
    std::fs::remove_dir_all(folder.path("rules")).unwrap();
    learn(&folder, &records(80, 0..0), &[]);
    let more = run(job(&folder, &["rules", "diff", "old", "rules"])).done();
    assert!(more.contains(" 0 rules gained, 0 lost, 0 changed") && !more.contains("[good"), "{more}");
    assert!(more.contains("changed in their counts alone (--all shows them)"), "{more}");
    let all = run(job(&folder, &["rules", "diff", "old", "rules", "--all"])).done();
    assert!(all.contains("  counts  ") && all.contains("[good "), "{all}");
    // A rule that is disabled is a rule lost.
    let (id, _) = rule(&folder, "query sort=").expect("a rule");
    run(folder_rules(&folder, "disable", &[&id, "--reason", "x"])).done();
    let disabled = run(job(&folder, &["rules", "diff", "old", "rules"])).done();
    assert!(disabled.contains(&format!("  lost    {id} ")), "{disabled}");
}

#[test]
fn ids_may_be_cut_short_and_the_rule_is_printed() {
    let folder = empty();
    learn(&folder, &records(60, 0..0), &[]);
    let (id, _) = rule(&folder, "query sid=").expect("a rule for sid");
    let told = run(folder_rules(&folder, "disable", &[&id[..6], "--reason", "two carts"])).done();
    assert!(told.starts_with(&format!("{id} ")) && told.contains("query sid="), "{told}");
    assert!(told.contains("[good ") && told.ends_with("  DISABLED: two carts\n"), "{told}");
    assert_eq!(normalized(&folder, WITH_SID, &[]), WITH_SID);
    let told = run(folder_rules(&folder, "enable", &[&id[..4]])).done();
    assert!(told.starts_with(&format!("{id} ")) && told.contains("query sid="), "{told}");
    assert_ne!(normalized(&folder, WITH_SID, &[]), WITH_SID);
    let short = run(folder_rules(&folder, "disable", &[&id[..3], "--reason", "x"])).failed(2);
    assert!(short.contains("at least 4 digits"), "{short}");
    // Two ids that start alike, and one of them in full.
    let text = std::fs::read_to_string(folder.path("rules/rules.jsonl")).unwrap();
    let file = undust::io::rules::RuleFile::open(&folder.path("rules"), false).unwrap();
    let other = file.sites[0].rules.iter().find(|rule| rule.id != id).expect("another rule");
    let alike = format!("{}{}", &id[..8], "0".repeat(8));
    let unsealed = unsealed_lines(&text).replace(&other.id, &alike);
    folder.write("rules/rules.jsonl", unsealed.as_bytes());
    let told = run(folder_rules(&folder, "disable", &[&id[..5], "--reason", "x"])).failed(2);
    assert!(told.contains(&id) && told.contains(&alike) && told.contains("give more digits"), "{told}");
    run(folder_rules(&folder, "disable", &[&alike, "--reason", "x"])).done();
}

/// A rule file without the checks of its lines, as one that was edited by hand.
fn unsealed_lines(text: &str) -> String {
    let line = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("check");
        line.to_string() + "\n"
    };
    text.lines().map(line).collect()
}

/// URLs that two rules move: `sid` and `sort`, each alone and both.
#[test]
fn list_counts_each_url_once_and_says_what_a_disabled_rule_costs() {
    let folder = empty();
    let mut records = records(60, 0..0);
    for i in 0..60 {
        for (sid, order) in ["up", "down", "name"].iter().enumerate() {
            records.push_str(&format!("http://www.shop.example/list/{i}?sid={sid}a&sort={order}\tlist {i}\n"));
        }
    }
    learn(&folder, &records, &[]);
    let urls: Vec<&str> = records.lines().map(|line| line.split_once('\t').unwrap().0).collect();
    folder.write("urls.txt", urls.join("\n").as_bytes());
    let saved = || {
        let text = std::fs::read(folder.path("urls.txt")).unwrap();
        let out = run_with(job(&folder, &["normalize", "-q", "--rules", "rules"]), &text).done();
        urls.len() as i64 - out.lines().collect::<std::collections::BTreeSet<_>>().len() as i64
    };
    let listed = |more: &[&str]| -> i64 {
        let text = run(folder_rules(&folder, "list", more)).done();
        let line = text.lines().next().unwrap();
        assert!(line.contains(" saved, "), "{line}");
        line.split(' ').nth(1).unwrap().parse().unwrap()
    };
    // As `learn` counted, and on a list: what `normalize` does.
    assert_eq!((listed(&[]), listed(&["--urls", "urls.txt"])), (saved(), saved()));
    let text = run(folder_rules(&folder, "list", &["--urls", "urls.txt", "--output", "jsonl"])).done();
    let rules: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let good: u64 = rules.iter().map(|rule| rule["evidence"]["good"].as_u64().unwrap()).sum();
    assert!(good > saved() as u64, "rules overlap: {good}");
    for rule in &rules {
        let (id, all) = (rule["id"].as_str().unwrap(), saved());
        run(folder_rules(&folder, "disable", &[id, "--reason", "a trial"])).done();
        assert_eq!(rule["saves"].as_i64().unwrap(), all - saved(), "{rule}");
        assert_eq!(listed(&["--urls", "urls.txt"]), saved());
        let text = run(folder_rules(&folder, "list", &[])).done();
        assert!(!text.lines().next().unwrap().contains("saved"), "a number that no longer holds: {text}");
        run(folder_rules(&folder, "enable", &[id])).done();
        assert_eq!(saved(), all, "enabled again");
    }
    assert!(rules.iter().any(|rule| rule["saves"].as_i64() > Some(50)), "{text}");
}

#[test]
fn rules_age_by_the_dates_of_their_data() {
    let folder = empty();
    learn(&folder, &records(60, 0..0), &["--data-date", "2026-01-01..2026-03-01"]);
    let acts = normalized(&folder, WITH_SID, &[]);
    assert_ne!(acts, WITH_SID);
    let at = |today: &str| normalized(&folder, WITH_SID, &["--max-age", "90d", "--today", today]);
    assert_eq!(at("2026-05-30"), acts, "90 days after the newest data");
    assert_eq!(at("2026-05-31"), WITH_SID, "91 days");
    let shown = run(folder_rules(&folder, "show", &["shop.example"])).done();
    assert!(shown.contains("learned from data of 2026-01-01 to 2026-03-01"), "{shown}");
    // Rules that do not know their age are not taken for young.
    learn(&folder, &records(60, 0..0), &[]);
    let ran = run_with(folder.job("normalize", &["--max-age", "90d"]), b"");
    assert!(ran.failed(2).contains("--data-date"));
}

#[test]
fn generated_urls_are_marked_and_only_seen_invents_none() {
    let folder = empty();
    let records = records(60, 0..0) + "http://www.shop.example/item/3\tpage 3\n" + &format!("{PLAIN}?sid=1\tsingle\n");
    learn(&folder, &records, &[]);
    let line = |url: &str, more: &[&str]| -> serde_json::Value {
        let more = [&["--output", "jsonl"], more].concat();
        serde_json::from_str(&normalized(&folder, url, &more)).unwrap()
    };
    let made = line("http://www.shop.example/item/999?sid=7", &[]);
    assert!(made["changed"] == true && made["seen"] == false, "{made}");
    let refused = folder.job("normalize", &["--only-seen"]);
    assert!(run_with(refused, b"").failed(2).contains("undust rules seen --rules"), "nothing says what was seen");
    // With what learning saw, beside the rules.
    folder.write("crawl.tsv", records.as_bytes());
    run(folder_rules(&folder, "seen", &["crawl.tsv"])).done();
    let kept = line("http://www.shop.example/item/999?sid=7", &["--only-seen"]);
    assert!(kept["changed"] == false && kept["seen"] == true && kept["rules"] == serde_json::json!([]), "{kept}");
    // A member that learning saw.
    let member = line("http://www.shop.example/item/3?sid=fresh", &["--only-seen"]);
    assert!(member["changed"] == true && member["seen"] == true, "{member}");
    assert!(records.contains(&format!("{}\t", member["canonical"].as_str().unwrap())), "{member}");
    // With what a later crawl met.
    folder.write("later.tsv", b"http://www.shop.example/item/999\tx\nhttp://www.shop.example/item/998?sid=1\ty\n");
    let told = run(folder_rules(&folder, "seen", &["later.tsv"]));
    assert!(told.err.contains("1 seen canonical URLs of 2 records"), "{}", told.err);
    let found = line("http://www.shop.example/item/999?sid=7", &["--only-seen"]);
    assert_eq!((&found["canonical"], &found["seen"]), (&"http://www.shop.example/item/999".into(), &true.into()));
    let refused = normalized(&folder, "http://www.shop.example/item/998?sid=7", &["--only-seen"]);
    assert_eq!(refused, "http://www.shop.example/item/998?sid=7");
    // Of records without labels there is no set, and the one that is there stays.
    folder.write("unlabelled.tsv", b"http://www.shop.example/item/999\n");
    let before = std::fs::read(folder.path("rules/seen.bin")).unwrap();
    assert!(run(folder_rules(&folder, "seen", &["unlabelled.tsv"])).failed(1).contains("nothing is written"));
    assert_eq!(std::fs::read(folder.path("rules/seen.bin")).unwrap(), before);
    // Nor are records taken for URLs.
    for what in ["list", "diff"] {
        let mut command = undust(&["rules", what, "--urls", "later.tsv"]);
        command
            .args(if what == "list" { ["--rules", "rules"] } else { ["rules", "rules"] })
            .current_dir(folder.path(""));
        assert!(run(command).failed(2).contains("later.tsv: records (tsv), not one URL a line"));
    }
    folder.write("none.txt", b"not a URL\n\n");
    let none = run(folder_rules(&folder, "list", &["--urls", "none.txt"])).failed(2);
    assert!(none.contains("none.txt: none of 1 lines is a URL"), "{none}");
    // A damaged set is refused, with its path.
    let mut bytes = std::fs::read(folder.path("rules/seen.bin")).unwrap();
    bytes.truncate(bytes.len() - 1);
    folder.write("rules/seen.bin", &bytes);
    let ran = run_with(folder.job("normalize", &["--only-seen"]), b"");
    assert!(ran.failed(1).contains("seen.bin"));
}

/// What is disabled must not act because the file that says so is out of reach (here: a link that leads
/// to itself).
#[cfg(unix)]
#[test]
fn an_overrides_file_out_of_reach_is_not_passed_over() {
    let folder = Folder::with_rules();
    std::os::unix::fs::symlink("overrides.jsonl", folder.path("rules/overrides.jsonl")).unwrap();
    let told = run_with(job(&folder, &["normalize", "--rules", "rules"]), PLAIN.as_bytes()).failed(1);
    assert!(told.contains("overrides.jsonl"), "{told}");
}

/// A fragment hinders no rule: neither on a page that was seen nor on a new one, in text and compiled
/// rules alike.
#[test]
fn canonical_urls_of_sites_with_rules_have_no_fragment() {
    let folder = empty();
    learn(&folder, &records(60, 0..0), &[]);
    run(job(&folder, &["rules", "compile", "--rules", "rules", "--out", "rules.compiled"])).done();
    let seen = normalized(&folder, "http://www.shop.example/item/3", &[]);
    for (url, to) in [
        ("http://www.shop.example/item/3?sid=9#top", &*seen),
        ("http://www.shop.example/item/3#top", &seen),
        ("http://www.shop.example/item/777?sid=9#a?b=c", PLAIN),
        ("http://www.shop.example/item/777?sid=9#!/c", &format!("{PLAIN}#!/c")),
        ("http://other.example/#top", "http://other.example/#top"),
    ] {
        assert_eq!(normalized(&folder, url, &[]), to, "{url}");
        let compiled = job(&folder, &["normalize", "-q", "--rules", "rules.compiled"]);
        assert_eq!(run_with(compiled, url.as_bytes()).done().trim_end(), to, "{url}");
        let told = run(job(&folder, &["explain", "--rules", "rules", url])).done();
        assert!(told.trim_end().ends_with(to), "{told}");
    }
}
