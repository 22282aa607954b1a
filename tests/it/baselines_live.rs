//! DustBuster on data of servers: lists of URLs and sizes, access logs, and pages of a real server on
//! loopback.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

/// What a server was asked: path, host, agent, and the scheme that a proxy would tell.
type Asked = Arc<Mutex<Vec<[String; 4]>>>;

/// Serves a small forum for as long as the test runs. Stories have two addresses, one of them a
/// redirect; `red` and `blue` are different pages; `gone` is no page.
fn forum() -> (u16, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let asked = Asked::default();
    let seen = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = seen.clone();
            std::thread::spawn(move || serve(stream, &seen));
        }
    });
    (port, asked)
}

fn serve(stream: TcpStream, seen: &Asked) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(request)) = lines.next() {
        let path = request.split(' ').nth(1)?.to_owned();
        let mut fields = [path.clone(), String::new(), String::new(), String::new()];
        for line in lines.by_ref() {
            let line = line.ok()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            let at = ["host", "user-agent", "x-forwarded-proto"].iter().position(|n| name.eq_ignore_ascii_case(n));
            at.inspect(|at| fields[at + 1] = value.to_owned());
        }
        seen.lock().ok()?.push(fields);
        let page = |text: &str| format!("<html><title>t</title><p>The page of {text}, and words enough for shingles.");
        let (status, location, body) = match path.trim_start_matches('/') {
            "robots.txt" => ("200 OK", None, "User-agent: *\nDisallow: /private\n".to_owned()),
            story if story.starts_with("story?id=") => {
                ("302 Found", Some(format!("/story_{}", &story["story?id=".len()..])), String::new())
            }
            gone if gone.starts_with("gone") => ("404 Not Found", None, page("nothing")),
            other => ("200 OK", None, page(&other.replace("people/", "user-"))),
        };
        let location = location.map(|to| format!("Location: {to}\r\n")).unwrap_or_default();
        let length = body.len();
        write!(out, "HTTP/1.1 {status}\r\n{location}Content-Length: {length}\r\n\r\n{body}").ok()?;
    }
    Some(())
}

/// URLs of the forum with their sizes.
fn pages() -> Vec<(String, u64)> {
    let mut out = Vec::new();
    for id in 0..30 {
        let (word, size) = (format!("w{}x", id * 37), 1_000 + 10 * id);
        out.push((format!("/story?id={word}"), size));
        out.push((format!("/story_{word}"), size));
        out.push((format!("/user-{word}"), 5_000 + size));
        out.push((format!("/people/{word}"), 5_000 + size));
        // As large as each other, and two pages.
        out.push((format!("/red/{word}.htm"), 9_000 + size));
        out.push((format!("/blue/{word}.htm"), 9_000 + size));
        out.push((format!("/private/{word}.php"), 20_000 + size));
        out.push((format!("/private/{word}.php3"), 20_000 + size));
        out.push((format!("/gone/{word}.asp"), 40_000 + size));
    }
    out
}

fn compare(folder: &Path, out: &str, more: &[&str]) -> (Output, String) {
    let out = folder.join(out).to_string_lossy().into_owned();
    let done = Command::new(env!("CARGO_BIN_EXE_undust"))
        .args(["compare", "--out", &out, "--methods", "dustbuster", "--sizes", "--fpr-max", "0.01"])
        .args(more)
        .output()
        .expect("the binary runs");
    (done, out)
}

/// Rows of a table by their first cell.
fn row(out: &str, table: &str, first: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("{out}/{table}.csv")).expect(table);
    let line = text.lines().find(|line| line.split(',').next() == Some(first)).unwrap_or_else(|| panic!("{text}"));
    line.split(',').map(str::to_owned).collect()
}

#[test]
fn lists_of_urls_and_sizes_are_validated_on_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("list.jsonl");
    let line =
        |(path, size): (String, u64)| format!("{{\"url\":\"https://forum.example.com{path}\",\"size\":{size}}}\n");
    std::fs::write(&input, pages().into_iter().map(line).collect::<String>()).expect("written");
    let input = input.to_string_lossy().into_owned();
    let (port, asked) = forum();
    let server = format!("http://127.0.0.1:{port}");
    let (done, out) = compare(folder.path(), "live", &[&input, "--fetch", &server, "--fetch-pause", "0"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");

    // Of four likely rules (one pair a kind of page) the aliases are valid, the departments are not, and
    // robots.txt keeps the fourth unknown.
    let ranks = row(&out, "precision-at-k", "300");
    assert_eq!(ranks[1..5], ["4", "2", "1", "0.6667"], "{ranks:?}");
    let site = row(&out, "precision-by-site", "example.com");
    assert_eq!((&*site[1], site.last().map(String::as_str)), ("270", Some("0.2222")), "{site:?}");
    let rules = std::fs::read_to_string(format!("{out}/likely-rules.csv")).expect("written");
    for (word, said) in [("blue", "wrong"), ("people", "valid"), ("story", "valid"), ("php3", "unknown")] {
        let line = rules.lines().find(|line| line.contains(word)).unwrap_or_else(|| panic!("{rules}"));
        assert!(line.starts_with("example.com,") && line.contains(&format!(",30,{said},")), "{line}");
    }
    let shown = std::fs::read_to_string(format!("{out}/comparison.json")).expect("written");
    assert!(shown.contains("\"deployed\":2,"), "{shown}");
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("written");
    assert!(page.contains("id=\"precision-at-k\"") && page.contains("Figure 5: precision at k"));

    let seen = asked.lock().expect("no one panicked").clone();
    assert!(
        seen.iter().all(|a| a[1] == "forum.example.com" && a[2].starts_with("undust/") && a[3] == "https"),
        "{seen:?}"
    );
    assert!(seen.iter().all(|a| !a[0].starts_with("/private")), "robots.txt is obeyed");
    assert_eq!(seen.iter().filter(|a| a[0] == "/robots.txt").count(), 1);
    assert!(said.contains(&format!("{server}: {} requests (0 without an answer)", seen.len())), "{said}");

    // The budget is kept, and what could not be asked for is unknown.
    asked.lock().expect("no one panicked").clear();
    let (done, out) =
        compare(folder.path(), "few", &[&input, "--fetch", &server, "--fetch-pause", "1", "--fetch-max", "7"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(asked.lock().expect("no one panicked").len(), 7);
    assert_ne!(row(&out, "precision-at-k", "300")[3], "1");
}

#[test]
fn access_logs_are_validated_on_the_clusters_of_a_crawl() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (mut log, mut crawl) = (String::new(), String::new());
    for (at, (url, size)) in pages().into_iter().enumerate() {
        // Sizes vary from visit to visit: ranges that overlap are alike.
        for visit in [0, 3] {
            let size = size + visit;
            log +=
                &format!("192.0.2.7 - - [20/Nov/2026:19:21:08 +0000] \"GET {url} HTTP/1.1\" 200 {size} \"-\" \"x\"\n");
        }
        log +=
            &format!("192.0.2.7 - - [20/Nov/2026:19:21:08 +0000] \"GET {url}.bad HTTP/1.1\" 404 {size} \"-\" \"x\"\n");
        let page = url.replace("story?id=", "story_").replace("people/", "user-").replace("php3", "php");
        crawl += &format!("http://forum.example.com{url}\t{page}\n");
        assert!(at < 270);
    }
    std::fs::write(path("forum.access.log"), log).expect("written");
    std::fs::write(path("crawl.tsv"), crawl).expect("written");
    let more = [&*path("forum.access.log"), &path("crawl.tsv"), "--log-base", "http://forum.example.com"];
    let (done, out) = compare(folder.path(), "out", &more);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let ranks = row(&out, "precision-at-k", "300");
    assert_eq!(ranks[1..5], ["4", "3", "0", "0.7500"], "{ranks:?}");
    assert_eq!(row(&out, "precision-by-site", "example.com")[1], "270", "404s are not learned from");
}

#[test]
fn a_server_is_asked_by_one_worker_over_plain_http() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("list.jsonl");
    std::fs::write(&input, "{\"url\":\"http://a.example.com/\",\"size\":1}\n").expect("written");
    let input = input.to_string_lossy().into_owned();
    for more in
        [&["--fetch", "https://127.0.0.1:1"][..], &["--fetch", "http://127.0.0.1:1", "-w", "2"], &["--fetch-max", "5"]]
    {
        let all: Vec<&str> = std::iter::once(&*input).chain(more.iter().copied()).collect();
        let done = compare(folder.path(), "out", &all).0;
        assert_eq!(done.status.code(), Some(2), "{more:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}
