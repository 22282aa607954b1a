//! `undust evaluate` from the outside.

use crate::jobs_run::{Folder, run};

/// Two topics of the forum, and a mirror; the fetched pages are lines 1, 3 (topic 8) and the first of
/// the mirror.
const RECORDS: &str = "\
http://www.forum.example/topic/7?sid=1\tseven
http://www.forum.example/topic/7?sid=2\tseven
http://www.forum.example/topic/8?sid=1\teight
http://www.forum.example/topic/8?sid=1\tnine
http://www.forum.example/topic/7\tseven
http://a.mirror.example/x\tx
http://b.mirror.example/x\tx
http://b.mirror.example/y\tx
http://b.mirror.example/z
";

fn json(folder: &Folder, name: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(folder.path(name)).unwrap()).unwrap()
}

#[test]
fn figures_a_site_and_both_means() {
    let folder = Folder::with_rules();
    folder.write("r.tsv", RECORDS.as_bytes());
    let table = run(folder.job("evaluate", &["r.tsv", "--json", "f.json"])).done();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows[0],
        [
            "site", "n", "clusters", "comp", "oracle", "dupred", "naive", "fpr", "urlfpr", "prec", "rec", "f1",
            "saved", "f_ok", "f_bad", "star"
        ]
    );
    // 4 URLs, 2 clusters, 2 pages: perfect. Of the 3 rewritten URLs two become topic/7, which is listed.
    assert_eq!(
        rows[1],
        [
            "forum.example",
            "4",
            "2",
            "0.5000",
            "0.5000",
            "1.0000",
            "1.0000",
            "0.0000",
            "0.0000",
            "1.0000",
            "1.0000",
            "1.0000",
            "1.0000",
            "0.6667",
            "0.0000",
            "0.0000"
        ]
    );
    // 3 URLs, 1 cluster, 2 pages.
    assert_eq!(rows[2][..8], ["mirror.example", "3", "1", "0.3333", "0.6667", "0.2500", "0.2500", "0.0000"]);
    assert_eq!(rows[3][..4], ["MACRO", "4", "2", "0.4167"]);
    assert_eq!(rows[4][..4], ["MICRO", "7", "3", "0.4286"]);

    let figures = json(&folder, "f.json");
    assert_eq!(figures["sites"]["forum.example"]["counts"]["urls"], 4);
    assert_eq!(figures["sites"]["mirror.example"]["saved_share"], 0.5);
    assert_eq!(figures["micro"]["comp"], 1.0 - 4.0 / 7.0);
    assert_eq!((&figures["records"], &figures["unlabelled"]), (&9.into(), &1.into()));
}

#[test]
fn one_site_a_file_or_the_labels_decide() {
    let folder = Folder::with_rules();
    folder.write("r.tsv", RECORDS.as_bytes());
    folder.write("l.tsv", b"http://a.example/1\tc\tone\nhttp://a.example/2\tc\ttwo\n");
    let first = |arguments: &[&str]| -> Vec<String> {
        let table = run(folder.job("evaluate", arguments)).done();
        let names = table.lines().skip(1).map(|line| line.split_whitespace().next().unwrap_or("").to_owned());
        names.take_while(|name| name != "MACRO").collect()
    };
    assert_eq!(first(&["--one-site", "r.tsv", "l.tsv"]), ["r.tsv", "l.tsv"]);
    assert_eq!(first(&["l.tsv", "r.tsv"]), ["one", "two", "forum.example", "mirror.example"]);
    assert_eq!(first(&["--site-by", "host", "r.tsv"]), ["www.forum.example", "a.mirror.example", "b.mirror.example"]);
}

#[test]
fn figures_that_are_not_defined() {
    let folder = Folder::with_rules();
    folder.write("r.jsonl", b"{\"url\":\"http://a.example/1\",\"cluster\":1}\n{\"url\":\"http://a.example/2\"}\nbad\n");
    let ran = run(folder.job("evaluate", &["r.jsonl", "--json", "f.json", "--max-rejects", "1"]));
    assert!(ran.err.starts_with("undust: 2 records, 1 without a cluster, 1 lines rejected\n"), "{}", ran.err);
    let table = ran.done();
    assert!(table.lines().nth(1).unwrap().contains(" - "), "{table}");
    assert_eq!(json(&folder, "f.json")["sites"]["a.example"]["dupred"], serde_json::Value::Null);
}

#[test]
fn too_many_rejected_lines_are_a_failure_with_figures() {
    let folder = Folder::with_rules();
    folder.write("r.tsv", format!("{RECORDS}bad\tx\n").as_bytes());
    let ran = run(folder.job("evaluate", &["r.tsv", "--json", "f.json"]));
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.ends_with("1 of 10 records were rejected, more than --max-rejects allows\n"), "{}", ran.err);
    assert!(ran.err.contains("rejected: 1 not-http; the first in r.tsv, line 10: bad"), "{}", ran.err);
    assert_eq!(json(&folder, "f.json")["rejected"], 1);
    assert!(ran.out.starts_with(b"site "), "the figures are printed");
    run(folder.job("evaluate", &["r.tsv", "--max-rejects", "10%"])).done();
}

#[test]
fn rules_that_apply_to_nothing_are_told() {
    let folder = Folder::with_rules();
    let told = |records: &[u8], more: &[&str]| {
        folder.write("r.tsv", records);
        let ran = run(folder.job("evaluate", &[&["r.tsv"], more].concat()));
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    let elsewhere = told(b"http://forum.example/?sid=1\tx\nhttp://a.example/\tx\nhttp://b.example/\n", &[]);
    let words =
        "no rule applied: none of 2 labelled records is of an origin (scheme, host, port) of the 2 sites with rules";
    assert!(elsewhere.contains(words), "{elsewhere}");
    let idle = told(b"http://www.forum.example/?t=1\tx\nhttp://a.example/\tx\n", &[]);
    assert!(idle.contains("no rule applied: 1 of 2 labelled records are of origins of sites with rules"), "{idle}");
    assert_eq!(told(b"http://www.forum.example/?t=1\tx\n", &["-q"]), "");
    assert!(!told(RECORDS.as_bytes(), &[]).contains("no rule applied"));
}

#[test]
fn what_is_wrong_is_named() {
    let folder = Folder::with_rules();
    assert!(run(folder.job("evaluate", &["gone.tsv"])).failed(1).contains("gone.tsv: no such file"));
    folder.write("r.tsv", RECORDS.as_bytes());
    assert!(run(folder.job("evaluate", &["r.tsv", "--json", "gone/f.json"])).failed(1).contains("cannot write"));
    folder.write("r.dat", RECORDS.as_bytes());
    assert!(run(folder.job("evaluate", &["r.dat"])).failed(1).contains("--format"));
    run(folder.job("evaluate", &["r.dat", "--format", "tsv"])).done();
}
