//! `undust explain` from the outside.

use crate::jobs_run::{Folder, run, run_with};

#[test]
fn a_url_is_explained_from_its_normal_form_to_its_canonical_url() {
    let folder = Folder::with_rules();
    let url = "HTTP://www.forum.example/topic/7?sid=1&t=7";
    let text = run(folder.job("explain", &["--fired", url])).done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], url);
    assert_eq!(lines[1], "  normal form  http://www.forum.example/topic/7?sid=1&t=7");
    assert_eq!(lines[2], "  site         forum.example (origin http://www.forum.example)");
    assert!(text.contains(
        "  rule 1       00000000000000a1 everywhere: ignore query sid= (left out)  [good 120, bad 0, <= 0.9 %, 43 clusters]"
    ));
    assert!(text.contains("fired"));
    assert!(!text.contains("00000000000000a2"), "a rule that did not fire is left out");
    assert_eq!(lines.last(), Some(&"  canonical    http://www.forum.example/topic/7?t=7"));
}

#[test]
fn several_urls_and_those_that_are_none() {
    let folder = Folder::with_rules();
    let text = run(folder.job("explain", &["mailto:a", "http://none.example/%7e"])).done();
    assert!(text.starts_with("mailto:a\n  invalid      not an absolute http or https URL: comes out unchanged\n"));
    assert!(text.contains("for http://none.example: normal form only\n"));
    assert!(text.ends_with("  canonical    http://none.example/~\n"));
}

#[test]
fn explanations_for_programs() {
    let folder = Folder::with_rules();
    let urls = ["http://www.forum.example/?sid=1", "x"];
    let text = run(folder.job("explain", &["--output", "jsonl", urls[0], urls[1]])).done();
    let traces: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&traces[0]["url"], &traces[1]["url"]), (&urls[0].into(), &urls[1].into()));
    let steps = traces[0]["steps"].as_array().unwrap();
    let rule = steps.iter().find(|step| step["step"] == "rule").unwrap();
    assert_eq!((&rule["rule"]["id"], &rule["outcome"]["outcome"]), (&"00000000000000a1".into(), &"fired".into()));
    assert_eq!(steps.last().unwrap()["url"], "http://www.forum.example/");
    assert_eq!(traces[1]["steps"][0]["step"], "invalid");
}

#[test]
fn urls_from_standard_input() {
    let folder = Folder::with_rules();
    let explain = |urls: &[&str]| folder.job("explain", &[&["--fired"], urls].concat());
    let urls = ["http://www.forum.example/?sid=1", "http://www.forum.example/%FF?sid=2", "mailto:a"];
    let lines = b"http://www.forum.example/?sid=1\r\n\nhttp://www.forum.example/\xff?sid=2\nmailto:a";
    let told = run(explain(&urls)).done();
    assert_eq!(run_with(explain(&["-"]), lines).done(), told);
    assert!(told.contains("canonical    http://www.forum.example/%FF\n"), "{told}");
    assert!(run_with(explain(&["-", "-"]), lines).failed(2).contains("given twice"));
    // Between URLs of the command line; lines of which none is a URL are a mistake.
    let twice = run_with(explain(&[urls[0], "-"]), lines).done();
    assert!(twice.len() > told.len() && twice.ends_with(&told));
    for (urls, count) in [(&[""][..], 1), (&["mailto:a", "x"], 2)] {
        let none = run(explain(urls));
        assert!(none.err.contains(&format!("none of {count} arguments is a URL")) && none.code == 2, "{none:?}");
        assert!(!none.out.is_empty(), "the explanation says why");
    }
    let none = run_with(explain(&["-"]), b"a\nb\n");
    assert!(none.code == 2 && none.err.contains("none of 2 lines is a URL"), "{none:?}");
}
