//! `undust learn --platforms`, from the outside: a provisional rule from the catalogue to `normalize`.

use crate::jobs_run::{Folder, run, run_with, undust};
use std::process::Command;

fn job(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = undust(arguments);
    command.current_dir(folder.path(""));
    command
}

/// A small phpBB 2: forty pages, one URL each, none of which bears a rule out.
fn forum() -> String {
    let topics = (0..25).map(|t| format!("http://forum.example.org/viewtopic.php?t={t}\tt{t}\n"));
    let profiles = (0..15).map(|u| format!("http://forum.example.org/profile.php?mode=viewprofile&u={u}\tu{u}\n"));
    topics.chain(profiles).collect()
}

const SESSION: &str = "http://forum.example.org/viewtopic.php?t=3&sid=0af1";
const TOPIC: &str = "http://forum.example.org/viewtopic.php?t=3";
/// A parameter of this name, but of no script that the catalogue names.
const ELSEWHERE: &str = "http://forum.example.org/shop.php?t=3&sid=0af1";

fn learn(folder: &Folder, input: &str, out: &str, arguments: &[&str]) -> (String, serde_json::Value) {
    run(job(folder, &[&["learn", "-q", input, "--out", out], arguments].concat())).done();
    let read = |name: &str| std::fs::read_to_string(folder.path(out).join(name)).unwrap();
    (read("rules.jsonl"), serde_json::from_str(&read("summary.json")).unwrap())
}

fn normalized(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let urls = [SESSION, ELSEWHERE].join("\n");
    let out = run_with(job(folder, &[&["normalize", "-q"], arguments].concat()), urls.as_bytes()).done();
    out.lines().map(str::to_owned).collect()
}

#[test]
fn provisional_rules_are_marked_from_learning_to_applying() {
    let folder = Folder::with_rules();
    folder.write("in.tsv", forum().as_bytes());
    // By default a line without evidence is no rule, but the program is told.
    let (plain, summary) = learn(&folder, "in.tsv", "plain", &[]);
    assert!(!plain.contains("provisional") && plain.contains(r#""program":"phpbb-2","directory":"/""#), "{plain}");
    assert_eq!(summary["sites"]["example.org"]["platforms"][0]["program"], "phpbb-2", "{summary}");
    assert_eq!(normalized(&folder, &["--rules", "plain"]), [SESSION, ELSEWHERE]);
    let (off, _) = learn(&folder, "in.tsv", "off", &["--platforms", "off"]);
    assert!(!off.contains("phpbb") && off.contains(r#""without":["platforms"]"#), "{off}");

    let both = ["learn", "in.tsv", "--out", "no", "--platforms", "off", "--platforms", "provisional"];
    let refused = run(job(&folder, &both));
    assert!(refused.code == 2 && refused.err.contains("give one"), "{}", refused.err);

    let (rules, summary) = learn(&folder, "in.tsv", "early", &["--platforms", "provisional"]);
    assert!(rules.contains(r#""provisional":true,"line":"phpbb-2/topic-session""#), "{rules}");
    let figures = &summary["sites"]["example.org"];
    assert_eq!((&figures["rules"], figures["provisional"]["bad"].as_u64()), (&0.into(), Some(0)), "{figures}");
    assert!(figures["provisional"]["rules"].as_u64() > Some(5), "{figures}");
    for workers in ["2", "4"] {
        let again = learn(&folder, "in.tsv", workers, &["--platforms", "provisional", "-w", workers]);
        assert_eq!(again, (rules.clone(), summary.clone()), "{workers} workers");
    }
    assert_eq!(normalized(&folder, &["--rules", "early"]), [TOPIC, ELSEWHERE]);
    assert_eq!(normalized(&folder, &["--rules", "early", "--no-provisional"]), [SESSION, ELSEWHERE]);
    let lines = normalized(&folder, &["--rules", "early", "--output", "jsonl"]);
    assert!(lines[0].contains(r#""provisional":true"#) && !lines[1].contains("provisional"), "{lines:?}");

    // The mark goes with compiled rules; they cannot be taken apart.
    run(job(&folder, &["rules", "compile", "--rules", "early", "--out", "compiled"])).done();
    let lines = normalized(&folder, &["--rules", "compiled", "--output", "jsonl"]);
    assert!(lines[0].contains(r#""provisional":true"#), "{lines:?}");
    let refused = run_with(job(&folder, &["normalize", "--rules", "compiled", "--no-provisional"]), b"").failed(1);
    assert!(refused.contains("compile the rules again"), "{refused}");
    let explained = run(job(&folder, &["explain", "--rules", "early", "--fired", SESSION])).done();
    for told in ["runs phpbb-2 in / (40 of 40", "provisional, line phpbb-2/topic-session of the catalogue"] {
        assert!(explained.contains(told), "{explained}");
    }
    folder.write("test.tsv", format!("{SESSION}\ta\n{TOPIC}\ta\n").as_bytes());
    let evaluated = run(job(&folder, &["evaluate", "-q", "--rules", "early", "test.tsv"])).done();
    assert!(evaluated.contains("1 records changed with the help of provisional rules"), "{evaluated}");
}

#[test]
fn without_labels_only_provisional_rules_are_learned() {
    let folder = Folder::with_rules();
    let urls: String = forum().lines().map(|line| format!("{}\n", line.split('\t').next().unwrap())).collect();
    folder.write("urls.txt", urls.as_bytes());
    let refused = run(job(&folder, &["learn", "urls.txt", "--out", "plain"])).failed(1);
    assert!(refused.contains("none of 40 records has a label") && !folder.path("plain").exists(), "{refused}");

    let (rules, summary) = learn(&folder, "urls.txt", "early", &["--platforms", "provisional"]);
    assert!(rules.contains(r#""origins":["http://forum.example.org"]"#), "{rules}");
    let figures = &summary["sites"]["example.org"];
    assert_eq!((&figures["rules"], &figures["held_out"]), (&0.into(), &"not cross-fitted".into()), "{figures}");
    assert!(figures["provisional"]["rules"].as_u64() > Some(5), "{figures}");
    assert_eq!(normalized(&folder, &["--rules", "early"]), [TOPIC, ELSEWHERE]);
    // Neither another host nor another scheme was read.
    for url in [SESSION.replace("forum.", "other."), SESSION.replace("http:", "https:")] {
        let out = run_with(job(&folder, &["normalize", "-q", "--rules", "early"]), url.as_bytes()).done();
        assert_eq!(out.trim_end(), url);
    }
    for workers in ["2", "4"] {
        let again = learn(&folder, "urls.txt", workers, &["--platforms", "provisional", "-w", workers]);
        assert_eq!(again, (rules.clone(), summary.clone()), "{workers} workers");
    }
    let told = run(job(&folder, &["learn", "urls.txt", "--out", "told", "--platforms", "provisional"]));
    assert!(told.code == 0 && told.err.contains("no record has a label"), "{}", told.err);

    // A label anywhere on the site: rules act on labelled origins alone.
    let labelled = format!("{urls}http://www.example.org/\thome\n");
    folder.write("labelled.tsv", labelled.as_bytes());
    let (rules, _) = learn(&folder, "labelled.tsv", "labelled", &["--platforms", "provisional"]);
    assert!(rules.contains(r#""origins":["http://www.example.org"]"#), "{rules}");

    folder.write("other.txt", b"http://forum.example.org/a?sid=1\nhttp://forum.example.org/a\n");
    let refused = run(job(&folder, &["learn", "other.txt", "--out", "other", "--platforms", "provisional"])).failed(1);
    assert!(refused.contains("show no program of the catalogue") && !folder.path("other").exists(), "{refused}");
}

#[test]
fn one_cluster_contradicts_a_provisional_rule() {
    let folder = Folder::with_rules();
    let against = format!("{SESSION}\tanother page\n");
    folder.write("in.tsv", (forum() + &against).as_bytes());
    let (rules, summary) = learn(&folder, "in.tsv", "early", &["--platforms", "provisional"]);
    assert!(!rules.contains("phpbb-2/topic-session") && rules.contains("phpbb-2/topic-order"), "{rules}");
    assert_eq!(summary["withdrawn"]["example.org"][0]["reason"], "contradicted", "{summary}");
    assert_eq!(normalized(&folder, &["--rules", "early"])[0], SESSION);
}

#[test]
fn files_of_ones_own_add_programs() {
    let folder = Folder::with_rules();
    folder.write("in.tsv", forum().replace("viewtopic.php", "thema.php").as_bytes());
    let test = |key: &str, value: &str| format!(r#"{{"key":"{key}","test":{{"equals":"{value}"}}}}"#);
    let (topic, profile) = (test("path0", "thema"), test("path0", "profile"));
    let program = format!(r#"{{"program":{{"id":"own","title":"Own","counts":[[{topic}],[{profile}]]}}}}"#);
    let operations = r#""operations":[["query sid=",{"ignore":"left-out"}]]"#;
    let examples =
        r#""examples":[["http://h.org/thema.php?sid=1","http://h.org/thema.php"]],"stays":["http://h.org/x"]"#;
    let named = r#""id":"sid","program":"own","versions":"1","source":"thema.php","status":"untested""#;
    let line = format!(r#"{{"line":{{{named},"scope":[{topic}],{operations},{examples}}}}}"#);
    folder.write("own.jsonl", [program.clone(), line.clone()].join("\n").as_bytes());
    let (rules, _) = learn(&folder, "in.tsv", "own", &["--platforms", "provisional", "--platforms", "own.jsonl"]);
    assert!(rules.contains(r#""line":"own/sid""#) && rules.contains(r#""program":"own","directory":"/""#), "{rules}");
    folder.write(
        "bad.jsonl",
        [program, line.replace("http://h.org/x", "http://h.org/thema.php?sid=2")].join("\n").as_bytes(),
    );
    for (value, told) in [("bad.jsonl", "own/sid: http://h.org/thema.php?sid=2 becomes"), ("none", "nor a file")] {
        let refused = run(job(&folder, &["learn", "in.tsv", "--out", "no", "--platforms", value])).failed(2);
        assert!(refused.contains(told), "{refused}");
    }
}
