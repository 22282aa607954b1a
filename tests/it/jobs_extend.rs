//! `undust learn --extend-to-domain`, from the outside.

use crate::jobs_run::{Folder, run, run_with, undust};
use std::process::Command;

fn job(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = undust(arguments);
    command.current_dir(folder.path(""));
    command
}

/// Records of pages with and without a parameter that makes no difference, on nine hosts; `site` ends
/// each line.
fn records(site: &str) -> String {
    let page = |n: usize| {
        let url = format!("http://h{}.example.com/page-{n}x", n % 9);
        format!("{url}\t{n}{site}\n{url}?sid={n}7\t{n}{site}\n{url}?sid={n}8\t{n}{site}\n")
    };
    (0..90).map(page).collect()
}

const URLS: &[u8] =
    b"http://h77.example.com/new?sid=3\nhttp://h77.example.com:81/new?sid=3\nhttp://h7.example.com/new?sid=3\n";

/// Canonical URLs of [`URLS`].
fn normalized(folder: &Folder, rules: &str) -> Vec<String> {
    let out = run_with(job(folder, &["normalize", "-q", "--rules", rules]), URLS).done();
    out.lines().map(str::to_owned).collect()
}

#[test]
fn rules_are_extended_where_it_is_asked_for() {
    let folder = Folder::with_rules();
    folder.write("in.tsv", records("").as_bytes());
    let learn = |arguments: &[&str]| {
        run(job(&folder, &[&["learn", "-q", "in.tsv", "--out"], arguments].concat())).done();
        let read = |name: &str| std::fs::read_to_string(folder.path(arguments[0]).join(name)).unwrap();
        (read("rules.jsonl"), read("summary.json"))
    };
    let (rules, summary) = learn(&["plain"]);
    assert!(!rules.contains("extend") && !summary.contains("extend"));
    let (seen, unseen) = ("http://h7.example.com/new", "http://h77.example.com/new");
    let [with, port] = [format!("{unseen}?sid=3"), "http://h77.example.com:81/new?sid=3".to_owned()];
    assert_eq!(normalized(&folder, "plain"), [&with, &port, seen]);

    let (rules, summary) = learn(&["wide", "--extend-to-domain"]);
    assert!(rules.contains(r#""extended":true"#) && rules.contains(r#""extend_to_domain":true"#), "{rules}");
    assert!(summary.contains(r#""extend_to_domain": true"#), "{summary}");
    assert_eq!((rules, summary), learn(&["again", "--extend-to-domain", "--workers", "3", "--memory", "1MiB"]));
    assert_eq!(normalized(&folder, "wide"), [unseen, &port, seen]);

    // All that reads rules carries it.
    let explained = run(job(&folder, &["explain", "--rules", "wide", &with])).done();
    for told in ["no record has the origin: only rules that extend to the domain act", "; also on unseen hosts"] {
        assert!(explained.contains(told), "{explained}");
    }
    let listed = run(job(&folder, &["rules", "list", "--rules", "wide", "--output", "jsonl"])).done();
    assert!(listed.contains(r#""extended":true"#), "{listed}");
    let changed = run(job(&folder, &["rules", "diff", "plain", "wide"])).done();
    assert!(changed.contains("1 changed") && changed.contains("; also on unseen hosts"), "{changed}");
    run(job(&folder, &["rules", "compile", "--rules", "wide", "--out", "compiled"])).done();
    run(job(&folder, &["rules", "seal", "wide"])).done();
    for rules in ["compiled", "wide"] {
        assert_eq!(normalized(&folder, rules), [unseen, &port, seen], "{rules}");
    }
}

#[test]
fn site_labels_are_not_extended() {
    let folder = Folder::with_rules();
    folder.write("in.tsv", records("\tshop").as_bytes());
    run(job(&folder, &["learn", "-q", "in.tsv", "--out", "wide", "--extend-to-domain"])).done();
    assert!(normalized(&folder, "wide")[0].ends_with("?sid=3"));
    for other in [["--site-by", "host"], ["--method", "published"]] {
        let refused =
            run(job(&folder, &[&["learn", "in.tsv", "--out", "no", "--extend-to-domain"], &other[..]].concat()));
        assert_eq!(refused.code, 2);
        assert!(refused.err.contains("--extend-to-domain goes with neither"), "{}", refused.err);
    }
    // Nothing that is given goes without effect.
    for other in [["--set", "form_permille=200"], ["--platforms", "provisional"]] {
        let published = &["learn", "in.tsv", "--out", "no", "--method", "published"][..];
        let refused = run(job(&folder, &[published, &other].concat()));
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains(&format!("{} does not go with --method published", other[0])), "{}", refused.err);
    }
}
