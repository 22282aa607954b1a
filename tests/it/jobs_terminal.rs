//! What people are shown, from the outside: text of others can neither drive a terminal nor pass for a
//! line of the program, on either stream. Data pass unchanged.

use crate::jobs_run::{Folder, Ran, run, run_with, sites, undust};
use undust::model::shown::is_hidden;
use undust::rules::file::{self, Header, InputCounts};
use undust::rules::{Representative, SiteRules};
use undust::site::Params;

/// What an attacker would put into a name: erase the screen, retitle the window, ring, C1 CSI, turn the
/// direction, hide, and begin a line.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{85}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}\u{7f}\r\nundust: done\n  canonical    http://evil.example/";

/// [`HOSTILE`] as it is shown.
const SHOWN: &str = r"a\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{85}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}\u{7f}\u{d}\u{a}undust: done\u{a}  canonical    http://evil.example/";

#[track_caller]
fn harmless(text: &str) {
    let bad = text.lines().enumerate().find(|(_, line)| line.contains(is_hidden));
    assert_eq!(bad, None, "in {text:?}");
    assert!(
        !text.lines().any(|line| line.starts_with("undust: done") || line.starts_with("  canonical    http://evil"))
    );
}

/// Standard error of a run that failed, which is harmless and holds [`SHOWN`].
#[track_caller]
fn tells(ran: Ran, code: i32) -> String {
    let told = ran.failed(code);
    harmless(&told);
    assert!(told.contains(SHOWN), "{told}");
    told
}

/// The folder of [`Folder::with_rules`], with hostile text wherever a rule file can hold some.
fn hostile_rules() -> (Folder, Vec<SiteRules>) {
    let folder = Folder::with_rules();
    let mut sites = sites();
    let site = &mut sites[0];
    site.site = format!("forum.example{HOSTILE}");
    site.rules[0].evidence.examples = vec![[format!("http://a.example/{HOSTILE}"), HOSTILE.to_owned()]];
    site.rules[0].operations[0].0 = format!("query {HOSTILE}=");
    site.rules[1].scope[0].key = format!("query {HOSTILE}=");
    let value = Representative::WherePresent(HOSTILE.to_owned());
    site.rules[1].operations[0].1 = undust::rules::Operation::Ignore(value);
    sites.sort_by(|a, b| a.site.cmp(&b.site));
    let mut text = Vec::new();
    file::write(&Header::new(Params::default(), InputCounts::default()), sites.iter(), &mut text).unwrap();
    folder.write("rules/rules.jsonl", &text);
    let off = |reason: &str| {
        let entry = serde_json::json!({ "site": sites[0].site, "rule": "00000000000000a1", "reason": reason });
        format!("{entry}\n")
    };
    folder.write("rules/overrides.jsonl", off(HOSTILE).as_bytes());
    (folder, sites)
}

#[test]
fn explanations_and_rules_are_shown_without_controls() {
    let (folder, sites) = hostile_rules();
    let url = format!("http://www.forum.example/{HOSTILE}");
    let legal = "http://www.forum.example/topic/\u{202e}\u{9b}31m\u{2028}?sid=1\u{feff}";
    let told = run(folder.job("explain", &[&url, legal])).done();
    harmless(&told);
    assert!(told.starts_with(&format!("http://www.forum.example/{SHOWN}\n  invalid")), "{told}");
    assert!(told.contains(r"http://www.forum.example/topic/\u{202e}\u{9b}31m\u{2028}?sid=1\u{feff}"), "{told}");
    assert!(told.contains("  canonical    http://www.forum.example/topic/%E2%80%AE%C2%9B31m%E2%80%A8"), "{told}");
    assert!(told.contains(&format!("  disabled     00000000000000a1: {SHOWN}\n")), "{told}");
    let name = &sites[0].site;
    let rules = |what: &[&str]| {
        let mut command = undust(&["rules"]);
        command.args(what).args(["--rules", "rules"]).current_dir(folder.path(""));
        run(command)
    };
    for what in [&["list"][..], &["show", name], &["show", "00000000000000a1"]] {
        let text = rules(what).done();
        harmless(&text);
        assert!(text.contains(SHOWN), "{what:?}: {text}");
    }
    assert!(rules(&["show", "00000000000000a1"]).done().contains(&format!("               and: {SHOWN}\n")));
    let plain = Folder::with_rules();
    std::fs::rename(plain.path("rules"), folder.path("other")).unwrap();
    let mut diff = undust(&["rules", "diff", "other", "rules", "--urls", "-"]);
    diff.current_dir(folder.path(""));
    let text = run_with(diff, legal.as_bytes()).done();
    harmless(&text);
    assert!(text.contains(SHOWN), "{text}");
    let left_out = run(folder.job("export", &["--to", "nutch", "-o", "nutch.xml"])).err;
    harmless(&left_out);
}

#[test]
fn data_on_standard_output_pass_unchanged() {
    let (folder, sites) = hostile_rules();
    let url = format!("http://www.forum.example/{HOSTILE}");
    let lines = run(folder.job("explain", &["--output", "jsonl", &url, "http://a.example/"])).done();
    let line: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(line["url"], url.as_str());
    let mut list = undust(&["rules", "list", "--rules", "rules", "--output", "jsonl"]);
    list.current_dir(folder.path(""));
    let lines = run(list).done();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["site"]), (3, &serde_json::Value::from(sites[0].site.as_str())));
    assert!(lines.iter().any(|line| line["disabled"] == HOSTILE));
    // What is a URL comes out in ASCII, what is none as it is.
    let urls = "http://www.forum.example/\u{202e}\u{9b}\u{feff}\n\u{1b}[2J no URL\u{7}\u{202e}\n";
    let out = run_with(folder.job("normalize", &["-q"]), urls.as_bytes()).done();
    assert_eq!(out, "http://www.forum.example/%E2%80%AE%C2%9B%EF%BB%BF\n\u{1b}[2J no URL\u{7}\u{202e}\n");
}

#[test]
fn errors_show_names_without_controls_on_one_line() {
    let folder = Folder::with_rules();
    let told = tells(run(folder.job("normalize", &[HOSTILE])), 1);
    assert_eq!(told.lines().count(), 1, "{told}");
    let rules = |what: &[&str]| {
        let mut command = undust(&["rules"]);
        command.args(what).current_dir(folder.path(""));
        run(command)
    };
    tells(rules(&["show", "--rules", "rules", HOSTILE]), 2);
    tells(rules(&["list", "--rules", HOSTILE]), 1);
    tells(rules(&["disable", "--rules", "rules", "--reason", "x", HOSTILE]), 2);
    // A cluster list that cannot be parsed: the parser repeats a piece of it.
    folder.write("cluster.toml", "[\"x\u{1b}\u{7}\u{202e}\" = 1\n".as_bytes());
    folder.write("a.tsv", b"http://a.example/\tx\n");
    let mut learn = undust(&["learn", "a.tsv", "--out", "o", "--cluster", "cluster.toml", "--process", "0"]);
    learn.current_dir(folder.path(""));
    harmless(&run(learn).err);
}

#[test]
fn usage_errors_show_arguments_without_controls() {
    let tells = |arguments: &[&str]| tells(run(undust(arguments)), 2);
    tells(&[HOSTILE]);
    tells(&["explain", &format!("--{HOSTILE}")]);
    tells(&["normalize", "--rules", "r", "--workers", HOSTILE]);
    tells(&["explain", "--rules", "r", "--output", HOSTILE, "u"]);
    tells(&["normalize", "--rules", "r", "--max-age", HOSTILE]);
    tells(&["learn", "x", "--out", "o", "--data-date", HOSTILE]);
    tells(&["learn", "x", "--out", "o", "--memory", HOSTILE]);
    tells(&["compare", "x", "--out", "o", "--methods", HOSTILE]);
}

#[test]
fn long_text_is_shortened_with_its_length() {
    let folder = Folder::with_rules();
    let long = format!("http://www.forum.example/{}end", "x".repeat(65_536));
    let told = run(folder.job("explain", &[&long])).done();
    assert!(told.lines().all(|line| line.len() < 9_000) && told.contains("of 65564 characters left out"), "{told}");
    assert!(told.lines().next().is_some_and(|line| line.ends_with("xxxend")), "{told}");
    let missing = run(folder.job("normalize", &[&long])).failed(1);
    assert!(missing.len() < 3_000 && missing.contains("characters left out"), "{missing}");
    let usage = run(undust(&["explain", &format!("--{long}")])).failed(2);
    assert!(usage.len() < 4_000 && usage.contains("characters left out"), "{usage}");
    let whole = run_with(folder.job("normalize", &["-q"]), long.as_bytes()).done();
    assert_eq!(whole, format!("{long}\n"), "data are whole");
}

#[test]
fn tables_and_reports_show_sites_without_controls() {
    let folder = Folder::with_rules();
    let site = "s\u{1b}[31m\u{7}\u{9b}\u{202e}\u{2028}end";
    let mut records = String::new();
    for page in 0..40 {
        for sid in 0..4 {
            let url = format!("http://www.shop.example/item/{page}?sid={sid}{page}\u{202e}");
            let line = serde_json::json!({ "url": url, "cluster": format!("c{page}"), "site": site });
            records.push_str(&format!("{line}\n"));
        }
    }
    folder.write("records.jsonl", records.as_bytes());
    let job = |arguments: &[&str]| {
        let mut command = undust(arguments);
        command.current_dir(folder.path(""));
        run(command)
    };
    let shown = r"s\u{1b}[31m\u{7}\u{9b}\u{202e}\u{2028}end";
    let learned = job(&["learn", "records.jsonl", "--out", "learned"]);
    harmless(&learned.err);
    let report = learned.done();
    harmless(&report);
    assert!(report.contains(shown), "{report}");
    let table = run(folder.job("evaluate", &["records.jsonl", "--all"])).done();
    harmless(&table);
    assert!(table.contains(r"{9b}\u{202e}\u{2028}end "), "{table}");
    let compared = job(&["compare", "records.jsonl", "--out", "compared", "-q"]).done();
    harmless(&compared);
    for file in ["tables.txt", "report.html"] {
        harmless(&std::fs::read_to_string(folder.path("compared").join(file)).unwrap());
    }
}
