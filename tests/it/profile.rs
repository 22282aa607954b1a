//! What the profile of a site says of its keys, and the job `keys`.
use super::jobs_run::{Folder, run, undust};
use undust::model::hash64;
use undust::site::profile::{Effect, KeyProfile};
use undust::site::{Method, Params, Training, prepare};

/// URL and page of each record of a forum: a key of each effect.
fn forum() -> Vec<(String, String)> {
    let mut records = Vec::new();
    let token = |seed: &str| format!("{:016x}{:016x}", hash64(seed.as_bytes()), hash64(format!("{seed}+").as_bytes()));
    for topic in 0..60u32 {
        for start in [0, 15, 30] {
            let page = format!("t{topic}-{start}");
            let url = format!("http://forum.example/view.php?topic={topic}&start={start}");
            for copy in 0..2 {
                let name = format!("{page}.{copy}");
                records.push((format!("{url}&who={}", token(&name)), page.clone()));
            }
            records.push((format!("{url}&purge=1"), page.clone()));
            records.push((url, page));
        }
    }
    for list in 0..40u32 {
        for order in ["author", "time", "views"] {
            let page = format!("l{list}-{order}");
            let url = format!("http://forum.example/list.php?f={list}&sort={order}");
            let campaign = format!("{url}&utm_source=m{list}&utm_medium=mail&utm_campaign=c{}", list % 3);
            records.extend([(campaign, page.clone()), (url, page)]);
        }
    }
    records.push(("http://forum.example/list.php?f=1&sort=time&view=print".to_owned(), "print".to_owned()));
    records.push(("http://forum.example/list.php?f=2&sort=time&view=print".to_owned(), "l2-time".to_owned()));
    records
}

fn profile(records: &[(String, String)], params: &Params) -> Vec<KeyProfile> {
    let rows = records.iter().map(|(url, page)| (url.as_bytes(), Some(page.as_bytes()), false));
    prepare(Training::new("forum.example", rows), params).profile().keys
}

#[test]
fn each_key_is_told_by_what_its_changes_do() {
    let keys = profile(&forum(), &Params::default());
    let of =
        |name: &str| keys.iter().find(|key| key.key == format!("query {name}=")).unwrap_or_else(|| panic!("{name}"));
    for (name, does) in [
        ("topic", Effect::Identity),
        ("start", Effect::Page),
        ("who", Effect::Session),
        ("purge", Effect::Irrelevant),
        ("f", Effect::Identity),
        ("sort", Effect::Order),
        ("utm_source", Effect::Tracking),
        ("view", Effect::Unknown),
    ] {
        assert_eq!(of(name).does, does, "{:?}", of(name));
    }
    // 180 pages, each with two values of `who` and without one: two changes a page, and none of them
    // wrong.
    let KeyProfile { urls, values, same, other, .. } = *of("who");
    assert_eq!((urls, values, same, other), (360, 360, 360, 0));
    // 60 topics of three places each: two changes of the place a topic, all of them to another page.
    let KeyProfile { urls, values, same, other, .. } = *of("start");
    assert_eq!((urls, values, same, other), (720, 3, 0, 120));
    // One URL of the two with `view` shows the page without it.
    assert_eq!((of("view").same, of("view").other, of("view").same_ppm()), (1, 1, Some(500_000)));
    assert!(keys.is_sorted_by_key(|key| std::cmp::Reverse(key.urls)), "{keys:?}");
    // The three campaign parameters come and go together.
    let KeyProfile { same, other, same_together, other_together, .. } = *of("utm_medium");
    assert_eq!((same + same_together, other + other_together), (120, 0), "{:?}", of("utm_medium"));
}

#[test]
fn a_contradicted_key_is_not_called_irrelevant() {
    let mut records = forum();
    // Each `purge` now shows a page of its own.
    for (url, page) in &mut records {
        if url.contains("purge=") {
            page.push_str("-purged");
        }
    }
    let keys = profile(&records, &Params::default());
    let purge = keys.iter().find(|key| key.key == "query purge=").expect("listed");
    assert_eq!((purge.does, purge.same, purge.other), (Effect::Identity, 0, 180));
}

#[test]
fn the_published_method_has_no_profile() {
    let params = Params { method: Method::PublishedGraph, ..Params::default() };
    assert!(profile(&forum(), &params).is_empty());
}

#[test]
fn keys_are_written_as_columns_and_as_json() {
    let folder = Folder::with_rules();
    let lines = forum().iter().map(|(url, page)| format!("{url}\t{page}\n")).collect::<String>();
    folder.write("crawl.tsv", (lines + "http://b.example/?x=1\tb1\nhttp://b.example/?x=2\tb2\n").as_bytes());
    let job = |arguments: &[&str]| {
        let mut command = undust(arguments);
        command.current_dir(folder.path(""));
        run(command)
    };
    job(&["learn", "crawl.tsv", "-q", "--no-held-out", "--out", "out"]).done();
    let tsv = job(&["keys", "--rules", "out", "--site", "forum.example"]).done();
    let mut lines = tsv.lines();
    assert_eq!(
        lines.next(),
        Some("site\tkey\tdoes\turls\tvalues\tsame\tother\tshare_same\tsame_together\tother_together")
    );
    assert!(tsv.contains("\nforum.example\tquery who=\tsession\t360\t360\t360\t0\t1.0000\t0\t0\n"), "{tsv}");
    assert!(tsv.contains("\nforum.example\tquery start=\tpage\t720\t3\t0\t120\t0.0000\t0\t0\n"), "{tsv}");
    let jsonl = job(&["keys", "--rules", "out/rules.jsonl", "--format", "jsonl"]).done();
    let values: Vec<serde_json::Value> = jsonl.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(values.len(), lines.count() + 1);
    assert_eq!(values[0]["site"], "b.example");
    assert!(values.iter().any(|key| key["key"] == "query who=" && key["same_ppm"] == 1_000_000));

    let unknown = job(&["keys", "--rules", "out", "--site", "c.example"]);
    assert!(unknown.failed(2).contains("c.example: no such site"));
    let without = job(&["keys", "--rules", "rules"]);
    assert!(without.failed(2).contains("holds no profiles.jsonl"));
    // A profile that is not as the mark says is refused, and passed with --allow-partial where it can be
    // read.
    let text = std::fs::read_to_string(folder.path("out/profiles.jsonl")).expect("written");
    folder.write("out/profiles.jsonl", text.replace("\"session\"", "\"identity\"").as_bytes());
    assert_eq!(job(&["keys", "--rules", "out"]).code, 1);
    assert!(job(&["keys", "--rules", "out", "--allow-partial"]).done().contains("query who=\tidentity"));
    folder.write("out/profiles.jsonl", &text.as_bytes()[..text.len() - 1]);
    let cut = job(&["keys", "--rules", "out", "--allow-partial"]);
    assert!(cut.failed(1).contains("the file ends in the middle of a line"));
}
