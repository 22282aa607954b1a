//! `undust learn --previous`, and the origins that records lead to, from the outside.

use crate::jobs_run::{Folder, run, run_with, undust};
use std::process::Command;

fn job(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = undust(arguments);
    command.current_dir(folder.path(""));
    command
}

/// Records of pages on two hosts, of which some redirect to the other one.
fn records() -> String {
    let mut text = String::new();
    for i in 0..200 {
        for host in ["e.com", "www.e.com"] {
            text.push_str(&format!("{{\"url\":\"https://{host}/a/{i}\",\"cluster\":{i}}}\n"));
        }
        // No label, and other sites: what is counted are the records of this site.
        let (from, to) = if i % 3 == 0 { ("www.e.com", "e.com") } else { ("e.com", "www.e.com:443") };
        text.push_str(&format!("{{\"url\":\"https://{from}/old/{i}\",\"redirect\":\"https://{to}/a/{i}\"}}\n"));
        text.push_str(&format!("{{\"url\":\"https://e.com/to/{i}\",\"redirect\":\"https://h{i}.org/\"}}\n"));
        text.push_str(&format!(
            "{{\"url\":\"https://x{i}.org/\",\"canonical\":\"https://e.com/\",\"cluster\":\"x\"}}\n"
        ));
    }
    text
}

#[test]
fn the_origin_that_records_lead_to_is_the_same_for_any_workers_memory_and_order() {
    let folder = Folder::with_rules();
    let text = records();
    let mut lines: Vec<&str> = text.lines().collect();
    folder.write("a.jsonl", text.as_bytes());
    lines.reverse();
    folder.write("b1.jsonl", lines[..300].join("\n").as_bytes());
    folder.write("b2.jsonl", lines[300..].join("\n").as_bytes());
    let learn = |inputs: &[&str], more: &[&str]| {
        run(job(&folder, &[&["learn", "--out", "out", "--overwrite", "-q"], inputs, more].concat())).done();
        std::fs::read(folder.path("out/rules.jsonl")).unwrap()
    };
    let one = learn(&["a.jsonl"], &[]);
    let canonical = run_with(job(&folder, &["normalize", "-q", "--rules", "out"]), b"https://e.com/a/7777").done();
    assert_eq!(canonical.trim_end(), "https://www.e.com/a/7777", "two thirds of the redirects lead there");
    assert!(one == learn(&["b1.jsonl", "b2.jsonl"], &["--workers", "3", "--memory", "1MiB"]));
}

#[test]
fn the_same_input_and_previous_give_the_same_bytes_and_a_faulty_previous_is_refused() {
    let folder = Folder::with_rules();
    let text = |host: &str, other: &str| {
        let pages = (0..60).map(|i| format!("https://{host}/a/{i}\t{i}\n"));
        let more = (0..20).map(|i| format!("https://{other}/a/{i}\t{i}\n"));
        pages.chain(more).collect::<String>()
    };
    folder.write("old.tsv", text("www.e.com", "e.com").as_bytes());
    folder.write("new.tsv", text("e.com", "www.e.com").as_bytes());
    let learn = |arguments: &[&str]| run(job(&folder, &[&["learn", "-q", "--overwrite"], arguments].concat()));
    learn(&["old.tsv", "--out", "old"]).done();
    learn(&["new.tsv", "--out", "alone"]).done();
    learn(&["new.tsv", "--out", "kept", "--previous", "old"]).done();
    learn(&["new.tsv", "--out", "again", "--previous", "old/rules.jsonl", "--workers", "2"]).done();
    let rules = |name: &str| std::fs::read_to_string(folder.path(name).join("rules.jsonl")).unwrap();
    assert_eq!(rules("kept"), rules("again"));
    folder.write("urls.txt", b"https://e.com/a/7\nhttps://www.e.com/a/8\n");
    let churn = |new: &str| {
        let json = run(job(&folder, &["rules", "diff", "old", new, "--urls", "urls.txt", "--json"])).done();
        serde_json::from_str::<serde_json::Value>(&json).unwrap()["urls"]["churn"].as_f64()
    };
    assert_eq!((churn("alone"), churn("kept")), (Some(1.0), Some(0.0)));
    let refused = learn(&["new.tsv", "--out", "none", "--previous", "nowhere"]);
    assert!(refused.failed(1).contains("nowhere"));
    std::fs::create_dir(folder.path("unmarked")).unwrap();
    std::fs::copy(folder.path("old/rules.jsonl"), folder.path("unmarked/rules.jsonl")).unwrap();
    let told = learn(&["new.tsv", "--out", "none", "--previous", "unmarked"]).failed(1);
    assert!(told.contains("unmarked") && told.contains("name a whole result") && !told.contains("--allow-partial"));
    std::fs::write(folder.path("old/rules.jsonl"), rules("kept").replacen("www", "wvw", 1)).unwrap();
    learn(&["new.tsv", "--out", "none", "--previous", "old"]).failed(1);
}

/// Of 60 pages the URL with `view=full` was met beside the bare one, of 300 others alone.
#[test]
fn a_new_rule_that_moves_too_many_urls_is_not_taken_and_the_terminal_says_so() {
    let folder = Folder::with_rules();
    let line = |query: &str, i: u32| format!("https://e.com/a/{i}{query}\t{i}\n");
    let old = (0..60).flat_map(|i| [line("?view=full", i), line("?view=full&sid=7", i)]);
    folder.write("old.tsv", old.collect::<String>().as_bytes());
    let new = (0..60).map(|i| line("", i)).chain((0..360).map(|i| line("?view=full", i)));
    folder.write("new.tsv", new.collect::<String>().as_bytes());
    let learn = |arguments: &[&str]| run(job(&folder, &[&["learn", "-q"], arguments].concat())).done();
    learn(&["old.tsv", "--out", "old"]);
    let canonical = |rules: &str| {
        let url =
            run_with(job(&folder, &["normalize", "-q", "--rules", rules]), b"https://e.com/a/777?view=full").done();
        url.trim_end().to_owned()
    };
    let text = "new rules not taken: 1; all new rules would merge 60 URLs more and move 300 of --previous";
    let said = |arguments: &[&str]| learn(arguments).contains(text);
    assert!(!said(&["new.tsv", "--out", "alone"]));
    assert!(said(&["new.tsv", "--out", "kept", "--previous", "old"]));
    let summary = std::fs::read_to_string(folder.path("kept/summary.json")).unwrap();
    assert!(summary.contains("\"learn: rules that move too many URLs\": 1"), "{summary}");
    assert!(!said(&["new.tsv", "--out", "taken", "--previous", "old", "--set", "moved_permille=1000"]));
    let kept = "https://e.com/a/777?view=full";
    assert_eq!(["alone", "kept", "taken"].map(canonical), ["https://e.com/a/777", kept, "https://e.com/a/777"]);
}

/// Four pages are too few to learn the rule of the earlier result, and bear it out.
#[test]
fn earlier_rules_that_the_records_alone_do_not_show_are_counted() {
    let folder = Folder::with_rules();
    let text = |both: u32| {
        let pages = (0..60).map(|i| format!("https://e.com/a/{i}\t{i}\n"));
        pages.chain((0..both).map(|i| format!("https://e.com/a/{i}?v=1\t{i}\n"))).collect::<String>()
    };
    folder.write("old.tsv", text(60).as_bytes());
    folder.write("new.tsv", text(4).as_bytes());
    let learn = |arguments: &[&str]| run(job(&folder, &[&["learn", "-q"], arguments].concat())).done();
    learn(&["old.tsv", "--out", "old"]);
    let said = "rules of --previous that these records alone do not show: 1\n";
    assert!(!learn(&["new.tsv", "--out", "alone"]).contains(said));
    assert!(learn(&["new.tsv", "--out", "kept", "--previous", "old"]).contains(said));
    let summary = std::fs::read_to_string(folder.path("kept/summary.json")).unwrap();
    assert!(summary.contains("\"learn: rules of the earlier result\": 1"), "{summary}");
}
