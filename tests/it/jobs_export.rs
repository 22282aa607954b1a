//! `undust export` from the outside: what is in the files, and what is said of them.

use crate::jobs_run::{Folder, run, run_with};

#[test]
fn each_export_is_anchored_escaped_and_lists_what_it_leaves_out() {
    let folder = Folder::with_rules();
    let export = |to: &str, more: &[&str]| run(folder.job("export", &[&["--to", to], more].concat()));
    let nutch = export("nutch", &[]).done();
    assert!(nutch.starts_with("<?xml") && nutch.contains("www\\.forum\\.example"), "{nutch}");
    assert!(!nutch.contains("(?<!"), "look-behinds are not part of the common language");
    let yandex = export("yandex-clean-param", &["--left-out", "left.jsonl"]);
    assert!(yandex.err.contains("left out: forum.example 00000000000000a2"), "{}", yandex.err);
    assert!(yandex.err.ends_with("1 rules exported, 2 entries left out\n"), "{}", yandex.err);
    let text = yandex.done();
    assert!(
        text.contains("# robots.txt of http://www.forum.example\n") && text.contains("Clean-param: sid\n"),
        "{text}"
    );
    // What was left out, disabled, is what the export does.
    let left: Vec<String> =
        std::fs::read_to_string(folder.path("left.jsonl")).unwrap().lines().map(String::from).collect();
    assert!(
        left.len() == 2 && left[0].contains("00000000000000a2") && left[1].contains("00000000000000b1"),
        "{left:?}"
    );
    let url = b"http://www.forum.example/topic/7?highlight=x&sid=1&t=7";
    let out = run_with(folder.job("normalize", &["-q", "--overrides", "left.jsonl"]), url).done();
    assert_eq!(out, "http://www.forum.example/topic/7?highlight=x&t=7\n");
    for (to, piece) in [
        ("pywb", "url_normalize:"),
        ("clearurls", "\"rawRules\""),
        ("nginx", "map $undust_url"),
        ("heritrix", "org.archive.modules.canonicalize.RegexRule"),
        ("json-rules", "\"format\":\"undust-json-rules\",\"version\":1,"),
        ("csv", "forum.example,1,00000000000000a1,ignore,"),
    ] {
        let text = export(to, &["-q"]).done();
        assert!(text.contains(piece), "{to}: {text}");
        assert_eq!(text, export(to, &["-q"]).done(), "{to} is not the same twice");
    }
    // A disabled rule is not exported.
    folder.write(
        "rules/overrides.jsonl",
        b"{\"site\":\"forum.example\",\"rule\":\"00000000000000a1\",\"reason\":\"r\"}\n",
    );
    assert!(!export("yandex-clean-param", &["-q"]).done().contains("Clean-param: sid"));
}

/// The file and the terminal say what is kept: shares that are counted on URLs, without URLs the number
/// of rules and tables.
#[test]
fn each_export_says_what_it_keeps_and_why_it_leaves_out_the_rest() {
    let folder = Folder::with_rules();
    let urls = [
        "http://www.forum.example/topic/7?sid=1",
        "http://www.forum.example/topic/7?sid=2&highlight=x",
        "http://www.forum.example/topic/7",
        "http://b.mirror.example/a",
        "http://a.mirror.example/a",
        "http://other.example/?sid=1",
    ];
    folder.write("urls.txt", urls.join("\n").as_bytes());
    for (to, kept) in [
        (
            "nutch",
            "Keeps at most 100.0 % of what undust saves (3 of 3 fetches), and undust's own canonical URL for at most 100.0 % \
             of 5 URLs.",
        ),
        (
            "yandex-clean-param",
            "Keeps at most 33.3 % of what undust saves (1 of 3 fetches), and undust's own canonical URL for at most 60.0 % \
             of 5 URLs.",
        ),
        (
            "json-rules",
            "Keeps 100.0 % of what undust saves (3 of 3 fetches), and undust's own canonical URL for 100.0 % of 5 URLs.",
        ),
    ] {
        let ran = run(folder.job("export", &["--to", to, "--urls", "urls.txt"]));
        assert!(ran.err.contains(kept), "{to}: {}", ran.err);
        assert!(ran.done().contains(kept), "{to}");
    }
    let ran = run(folder.job("export", &["--to", "yandex-clean-param"]));
    let counts = "Keeps 1 of 3 rules, and 0 of 0 tables of look-ups and value ranges; what that keeps of the saving was not \
                  counted (--urls FILE counts it).";
    assert!(ran.err.contains(counts) && !ran.err.contains('%'), "{}", ran.err);
    let text = ran.done();
    assert!(text.contains(counts), "{text}");
    assert!(text.contains("# Left out: 2 rules and 0 tables.\n# - 1: it does more than leave out"), "{text}");
    let none = run(folder.job("export", &["--to", "nutch", "--urls", "rules/_SUCCESS"])).failed(2);
    assert!(none.contains("none of 0 lines is a URL"), "{none}");
}

/// One site is exported as it is among all: an origin that another site has stays left alone.
#[test]
fn some_sites_are_exported_by_name() {
    let folder = Folder::with_rules();
    let export = |more: &[&str]| run(folder.job("export", &[&["--to", "nutch", "-q"], more].concat()));
    let (all, one) = (export(&[]).done(), export(&["--site", "mirror.example"]).done());
    assert!(all.contains("forum") && !one.contains("forum") && one.contains("1 rules of 1 site,"), "{one}");
    let rule = |text: &str| text[text.find("<!-- mirror.example").expect("the rule")..].to_owned();
    assert_eq!(rule(&one), rule(&all));
    let both = export(&["--site", "mirror.example", "--site", "forum.example"]).done();
    assert_eq!(both, all);
    let unknown = export(&["--site", "www.forum.example"]).failed(2);
    assert!(
        unknown.contains("no site \"www.forum.example\" has rules here; `undust rules list --sites 0`"),
        "{unknown}"
    );
}
