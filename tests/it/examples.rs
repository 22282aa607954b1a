//! The examples run and do what they say.

#[allow(dead_code, reason = "main is for cargo run --example")]
#[path = "../../examples/batch.rs"]
mod batch;
#[allow(dead_code, reason = "main is for cargo run --example")]
#[path = "../../examples/queue_filter.rs"]
mod queue_filter;
#[allow(dead_code, reason = "main is for cargo run --example")]
#[path = "../../examples/reload.rs"]
mod reload;

use crate::formats_support::{page, prose};
use crate::jobs_run::{Folder, Ran, rule_set, run_with, urls};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use undust::rules::RuleSet;

const SESSIONS: [&str; 3] = [
    "http://www.forum.example/topic/1?sid=a",
    "http://www.forum.example/topic/1?sid=b",
    "http://www.forum.example/topic/2",
];

#[test]
fn the_filter_lets_each_page_pass_once() {
    let mut queue = Vec::new();
    queue_filter::filter(rule_set(), SESSIONS.join("\n").as_bytes(), &mut queue).unwrap();
    assert_eq!(
        String::from_utf8(queue).unwrap(),
        "http://www.forum.example/topic/1\nhttp://www.forum.example/topic/2\n"
    );
}

#[test]
fn the_batch_gives_what_single_urls_give() {
    let rules = rule_set();
    let urls: Vec<String> = urls(1_000).lines().map(str::to_owned).collect();
    let expected: Vec<String> = urls.iter().map(|url| rules.canonicalize(url).url.into_owned()).collect();
    assert_eq!(batch::canonical(&rules, &urls), expected);
}

#[test]
fn the_server_reloads_and_keeps_its_rules_where_it_cannot() {
    let folder = Folder::with_rules();
    let serve = |input: &str| {
        let mut out = Vec::new();
        reload::serve(&folder.path("rules"), input.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let url = SESSIONS[0];
    assert_eq!(
        serve(&format!("{url}\n\n{url}\n")),
        "http://www.forum.example/topic/1\nreloaded\nhttp://www.forum.example/topic/1\n"
    );
    let mut out = Breaking { folder: &folder, text: Vec::new() };
    reload::serve(&folder.path("rules"), format!("{url}\n\n{url}\n").as_bytes(), &mut out).unwrap();
    let text = String::from_utf8(out.text).unwrap();
    assert!(
        text.contains("the current rules stay: ") && text.ends_with("\nhttp://www.forum.example/topic/1\n"),
        "{text}"
    );
}

/// Takes away the rules as soon as something is written.
struct Breaking<'f> {
    folder: &'f Folder,
    text: Vec<u8>,
}

impl Write for Breaking<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = std::fs::remove_file(self.folder.path("rules/rules.jsonl"));
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A shell example, in the folder of the test.
fn shell(folder: &Folder, name: &str, arguments: &[&str], input: &str) -> Ran {
    let mut command = Command::new("bash");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shell").join(name)).args(arguments);
    command.current_dir(folder.path("")).env("UNDUST", env!("CARGO_BIN_EXE_undust"));
    run_with(command, input.as_bytes())
}

#[test]
fn a_common_crawl_month_becomes_rules() {
    let folder = Folder::with_rules();
    std::fs::create_dir(folder.path("index")).unwrap();
    let mut text = String::new();
    for n in 0..40 {
        for extra in ["", "?sid=1", "?sid=2"] {
            text += &format!(
                "example,a)/page{n}{extra} 20240501000000 {{\"url\": \"http://a.example/page{n}{extra}\", \"mime\": \"text/html\", \
                 \"status\": \"200\", \"digest\": \"{n:032}\", \"length\": \"1000\", \"offset\": \"0\", \"filename\": \"x\"}}\n"
            );
        }
    }
    folder.write("index/cdx-00000.cdxj", text.as_bytes());
    let said = shell(&folder, "common-crawl-month.sh", &["index", "month"], "").done();
    assert!(said.starts_with("month: 1 sites"), "{said}");
    let rules = RuleSet::open(folder.path("month")).unwrap();
    assert_eq!(rules.canonicalize("http://a.example/page1?sid=7").url, "http://a.example/page1");
    // What fails is not told as done.
    let failed = shell(&folder, "common-crawl-month.sh", &["nowhere", "other"], "");
    assert_ne!(failed.code, 0);
    assert!(failed.err.contains("nowhere") && failed.out.is_empty(), "{failed:?}");
}

#[test]
fn a_folder_of_archives_becomes_urls_to_fetch() {
    let folder = Folder::with_rules();
    std::fs::create_dir(folder.path("warcs")).unwrap();
    let mut archive = Vec::new();
    for n in 0..30 {
        for extra in ["", "?sid=1", "?sid=2"] {
            let html = format!("<html><title>{n}</title><body><p>{}</p></body></html>", prose(n, 120));
            archive.extend(page(&format!("http://a.example/page{n}{extra}"), &html));
        }
    }
    folder.write("warcs/a.warc", &archive);
    let said = shell(&folder, "warc-folder.sh", &["warcs", "out"], "").done();
    assert_eq!(said.trim(), "out/urls.txt: 30 URLs");
    let urls = std::fs::read_to_string(folder.path("out/urls.txt")).unwrap();
    assert!(urls.lines().all(|url| url.starts_with("http://a.example/page") && !url.contains('?')), "{urls}");
}

#[test]
fn a_frontier_in_sqlite_holds_each_page_once() {
    if Command::new("sqlite3").arg("--version").output().is_err() {
        std::io::stderr()
            .write_all(b"SKIPPED: sqlite3 is not there, examples/shell/sqlite-frontier.sh is not run\n")
            .unwrap();
        return;
    }
    let folder = Folder::with_rules();
    // What would end a statement of SQL is a URL like others.
    let hostile = "http://other.example/'); DROP TABLE frontier; --\"";
    let links = format!("{}\n{hostile}\n\n", SESSIONS.join("\n"));
    let run = || shell(&folder, "sqlite-frontier.sh", &["rules", "frontier.db"], &links).done();
    assert_eq!(run(), "3 pages, 3 to fetch\n");
    assert_eq!(run(), "3 pages, 3 to fetch\n");
}
