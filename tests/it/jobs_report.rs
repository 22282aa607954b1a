//! The page of a run of `learn`, from the first record to the file.
use super::jobs_run::{Folder, Ran, run, undust};

/// Two sites: a forum with a session id, and one whose name and URLs are markup.
fn crawl(folder: &Folder) {
    let mut text = String::new();
    for page in 0..60 {
        for copy in 0..3 {
            text.push_str(&format!(
                "http://www.forum.example/topic/{page}?sid={copy}{page:03}&q=%22%3E%3Cscript%3E'<b>\tp{page}\n"
            ));
            text.push_str(&format!("http://b.example/<b>/{page}?x={copy}\tp{page}\t<script>\"b\u{202e}\n"));
        }
    }
    folder.write("crawl.tsv", text.as_bytes());
}

fn job(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut command = undust(arguments);
    command.current_dir(folder.path(""));
    run(command)
}

fn learn(folder: &Folder, out: &str, more: &[&str]) {
    job(folder, &[&["learn", "crawl.tsv", "-q", "--out", out], more].concat()).done();
}

fn page(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_page_is_the_same_from_any_workers_and_made_again() {
    let folder = Folder::with_rules();
    crawl(&folder);
    learn(&folder, "out", &[]);
    let first = page(&folder, "out/report.html");
    for workers in ["2", "3"] {
        let out = format!("out-{workers}");
        learn(&folder, &out, &["-w", workers]);
        assert!(page(&folder, &format!("{out}/report.html")) == first, "{workers} workers");
        assert!(page(&folder, &format!("{out}/profiles.jsonl")) == page(&folder, "out/profiles.jsonl"));
    }
    learn(&folder, "out-4", &["--no-report"]);
    assert!(!folder.path("out-4/report.html").exists());
    job(&folder, &["report", "out-4", "-q"]).done();
    assert!(page(&folder, "out-4/report.html") == first);
    assert_eq!(page(&folder, "out-4/_SUCCESS"), page(&folder, "out/_SUCCESS"));
    // It needs nothing from elsewhere, and what the records say is text.
    for markup in ["<script", "<b>/", "src=", "url(", "@import", "\u{202e}", "http-equiv=refresh"] {
        assert!(!first.contains(markup), "{markup}");
    }
    assert!(first.contains("&lt;script&gt;&quot;b\\u{202e}"), "the name of the site");
    assert!(first.contains("On URLs that took no part in learning, the rules save <span class=whole><b>"));
    assert!(first.contains("parameter “sid”"));
    assert!(first.contains("<th scope=row>query sid=</th><td>"), "what the key does");
    assert!(!first.contains(folder.path("").to_str().unwrap()), "no path of this machine");
}

#[test]
fn a_disabled_rule_is_said_when_the_page_is_made_again() {
    let folder = Folder::with_rules();
    crawl(&folder);
    learn(&folder, "out", &[]);
    let text = page(&folder, "out/report.html");
    let command = text.split("undust rules disable --rules . ").nth(1).expect("a command");
    let id = command.split(' ').next().expect("an id");
    assert!(id.len() == 16 && !text.contains("Disabled:"), "{id}");
    // The command of the page, run in its folder.
    let mut command = undust(&["rules", "disable", "--rules", ".", id, "--reason", "<i>why"]);
    command.current_dir(folder.path("out"));
    run(command).done();
    job(&folder, &["report", "out", "-q"]).done();
    assert!(page(&folder, "out/report.html").contains("Disabled: &lt;i&gt;why"));
    // Learned again into the same folder, it stays disabled and the page says so.
    learn(&folder, "out", &["--overwrite"]);
    assert!(page(&folder, "out/report.html").contains("Disabled: &lt;i&gt;why"));
}

#[test]
fn many_sites_are_on_many_pages_which_go_with_the_result() {
    let folder = Folder::with_rules();
    let mut text = String::new();
    for site in 0..1_001 {
        for page in 0..2 {
            text.push_str(&format!("http://s{site}.example/{page}\t{page}\n"));
        }
    }
    folder.write("crawl.tsv", text.as_bytes());
    learn(&folder, "out", &["--no-held-out"]);
    assert!(page(&folder, "out/_SUCCESS").contains(" report-2.html\n"));
    assert!(page(&folder, "out/report.html").contains("href=\"report-2.html#s1000\""));
    assert!(page(&folder, "out/report-2.html").contains("id=s1000"));
    // A page that was made again is sealed with the others.
    folder.write("out/report-2.html", b"changed");
    job(&folder, &["rules", "seal", "out"]).done();
    job(&folder, &["report", "out", "-q"]).done();
    assert!(page(&folder, "out/report-2.html").contains("id=s1000"));
    crawl(&folder);
    learn(&folder, "out", &["--overwrite", "--no-held-out"]);
    assert!(folder.path("out/report.html").exists() && !folder.path("out/report-1.html").exists());
    assert!(!folder.path("out/report-2.html").exists());
}

#[test]
fn rules_without_profiles_have_a_page_and_other_folders_none() {
    let folder = Folder::with_rules();
    crawl(&folder);
    learn(&folder, "out", &["--no-report"]);
    job(&folder, &["prove", "--rules", "out", "--out", "proven", "crawl.tsv", "-q"]).done();
    job(&folder, &["report", "proven", "-q"]).done();
    let text = page(&folder, "proven/report.html");
    assert!(text.contains("parameter “sid”") && !text.contains("What each key does"));
    let other = job(&folder, &["report", ".", "-q"]).failed(2);
    assert!(other.contains("holds neither rules.jsonl nor comparison.json"), "{other}");
    let without = job(&folder, &["report", "rules", "-q"]).failed(2);
    assert!(without.contains("holds no summary.json"), "{without}");
    // What is not as the mark says makes no page.
    let text = page(&folder, "out/summary.json");
    folder.write("out/summary.json", text.replacen("\"format\": 1", "\"format\": 3", 1).as_bytes());
    job(&folder, &["report", "out", "-q"]).failed(1);
    let newer = job(&folder, &["report", "out", "-q", "--allow-partial"]).failed(2);
    assert!(newer.contains("summary.json has format 3"), "{newer}");
}

#[test]
fn traps_are_on_the_page_of_any_workers_and_of_the_folder_alone() {
    let folder = Folder::with_rules();
    let mut text = String::new();
    for month in 0..60 {
        let (year, number) = (2020 + month / 12, 1 + month % 12);
        text.push_str(&format!("http://a.example/events/{year}/{number:02}/?<b>=\"'\t{}\n", month.min(3)));
        text.push_str(&format!("http://a.example/shelf/{month}\tb{month}\n"));
    }
    folder.write("crawl.tsv", text.as_bytes());
    learn(&folder, "out", &["--no-held-out"]);
    let (first, profiles) = (page(&folder, "out/report.html"), page(&folder, "out/profiles.jsonl"));
    assert!(profiles.contains(r#""traps":[{"kind":"calendar","family":"/events/<date>/?"#), "{profiles}");
    assert!(profiles.contains(r#""urls":60,"new":4}]"#), "{profiles}");
    assert!(first.contains("<td>calendar</td><td>/&lt;date&gt;</td><td>60</td><td>4</td><td>6.7 %</td>"), "{first}");
    assert!(!first.contains("<b>=") && !first.contains("<date>"), "URLs and families are text");
    for workers in ["2", "3"] {
        learn(&folder, workers, &["--no-held-out", "-w", workers, "--no-report"]);
        assert!(page(&folder, &format!("{workers}/profiles.jsonl")) == profiles, "{workers} workers");
        job(&folder, &["report", workers, "-q"]).done();
        assert!(page(&folder, &format!("{workers}/report.html")) == first, "{workers} workers");
    }
    // In another order of the records, too.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    folder.write("crawl.tsv", (lines.join("\n") + "\n").as_bytes());
    learn(&folder, "reversed", &["--no-held-out"]);
    assert!(page(&folder, "reversed/profiles.jsonl") == profiles);
    // A folder of an earlier release has none, and opens.
    let start = profiles.find(",\"traps\":[{").expect("traps");
    let end = start + profiles[start..].find("}]").expect("their end") + 2;
    let earlier = format!("{}{}", &profiles[..start], &profiles[end..]);
    folder.write("out/profiles.jsonl", earlier.as_bytes());
    job(&folder, &["rules", "seal", "out"]).done();
    job(&folder, &["report", "out", "-q"]).done();
    let text = page(&folder, "out/report.html");
    assert!(text.contains("Pattern tree") && !text.contains("trapped"), "{text}");
}
