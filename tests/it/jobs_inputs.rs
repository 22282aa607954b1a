//! Inputs through the binary: CSV, standard input, byte order marks, crawl logs, answers to POST, media
//! types, and every job with every format.

use std::collections::BTreeMap;

use crate::formats_support::{Seen, members, page, prose, read, response, warc};
use crate::jobs_mistakes::crawl_line;
use crate::jobs_run::{Folder, Ran, run_with, undust};
use undust::io::compression::Compression::Gzip;
use undust::io::{Format, Reason};

fn job(folder: &Folder, arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = undust(arguments);
    command.current_dir(folder.path(""));
    run_with(command, input)
}

/// URL and cluster of a site of topics with sessions.
fn topics() -> Vec<(String, String)> {
    let url = |topic: usize, session: usize| match session {
        0 => format!("http://a.example/topic/{topic}"),
        session => format!("http://a.example/topic/{topic}?sid={:08x}", topic * 7 + session),
    };
    (0..40).flat_map(|topic| (0..3).map(move |session| (url(topic, session), format!("c{topic}")))).collect()
}

fn rules_of(folder: &Folder, input: &str, stdin: &[u8]) -> Vec<u8> {
    let ran = job(folder, &["learn", input, "--out", "out", "--overwrite"], stdin);
    let shown = ran.done();
    assert!(shown.contains("ignore query sid="), "{shown}");
    std::fs::read(folder.path("out/rules.jsonl")).unwrap()
}

#[test]
fn csv_tsv_and_json_lines_teach_the_same_from_files_and_standard_input() {
    let folder = Folder::with_rules();
    let rows = topics();
    let tsv: String = rows.iter().map(|(url, cluster)| format!("{url}\t{cluster}\n")).collect();
    let json: String = rows.iter().map(|(url, c)| format!("{{\"cluster\":\"{c}\",\"url\":\"{url}\"}}\n")).collect();
    let note = |at: usize| if at.is_multiple_of(2) { "plain" } else { "\"two\nlines, \"\"quoted\"\"\"" };
    let row = |(at, (url, cluster)): (usize, &(String, String))| format!("{},\"{cluster}\",{url}\r\n", note(at));
    let csv = format!("\u{feff}Note,Cluster,URL\r\n{}", rows.iter().enumerate().map(row).collect::<String>());
    folder.write("a.tsv", tsv.as_bytes());
    let expected = rules_of(&folder, "a.tsv", b"");
    folder.write("a.csv", csv.as_bytes());
    folder.write("a.ndjson", json.as_bytes());
    for input in ["a.csv", "a.ndjson"] {
        assert!(rules_of(&folder, input, b"") == expected, "{input}");
    }
    for (name, text) in [("tsv", &tsv), ("csv", &csv), ("jsonl", &json)] {
        assert!(rules_of(&folder, "-", text.as_bytes()) == expected, "{name} on standard input");
    }
    let marked = format!("\u{feff}{json}");
    assert!(rules_of(&folder, "-", marked.as_bytes()) == expected, "a byte order mark before JSON lines");
}

fn urls(read: &crate::formats_support::Read) -> Vec<&str> {
    read.urls()
}

#[test]
fn a_csv_column_that_is_named_twice_is_refused() {
    let folder = Folder::with_rules();
    folder.write("a.csv", b"url,cluster,Cluster\nhttp://a/1,7,8\n");
    let said = job(&folder, &["learn", "a.csv", "--out", "out"], b"").failed(1);
    assert!(said.contains("names the column `cluster` twice"), "{said}");
    assert!(!folder.path("out").exists());
}

#[test]
fn csv_columns_are_fields_and_bad_records_cost_themselves() {
    let text = "mime,status,URL,x,digest,redirect,canonical,site,cluster\n\
                text/html,200,\"http://a/1,2\",,d,,http://a/1,s,7\n\
                ,301,http://a/3,,,http://a/4,,,7\n\
                ,404,http://a/5,,,,,,7\n\
                too,few\n\
                ,abc,http://a/6,,,,,,7\n\
                \n\
                ,,,,,,,,7\n\
                ,,http://a/7,\"of two\nlines\",,,,,8\n\
                ,,http://a/8,\"no end,,,,,8\n\
                ,,http://a/9,,,,,,9\n";
    let found = read("a.csv", text.as_bytes());
    assert_eq!(urls(&found), ["http://a/1,2", "http://a/3", "http://a/5", "http://a/7", "http://a/9"]);
    let first = &found.records[0];
    let want = Seen {
        url: "http://a/1,2".into(),
        cluster: Some("7".into()),
        site: Some("s".into()),
        elsewhere: true,
        status: 200,
        kind: undust::model::DocumentKind::Html,
        digest: Some("d".into()),
        canonical: Some("http://a/1".into()),
        ..Seen::default()
    };
    assert_eq!(*first, want);
    assert_eq!(found.records[1].redirect.as_deref(), Some("http://a/4"));
    // Errors lose their label.
    assert_eq!(found.records[2].cluster, None);
    let expected = [(Reason::EmptyLine, 1), (Reason::WrongType, 1), (Reason::MissingUrl, 1), (Reason::BrokenCsv, 2)];
    assert_eq!(found.rejects, expected);
    assert_eq!(found.lines, 10);
}

#[test]
fn a_quote_without_end_neither_fills_memory_nor_takes_the_rest_along() {
    let mut text = String::from("url,cluster\nhttp://a/0,\"open\n");
    (1..20_000).for_each(|at| text.push_str(&format!("http://a/{at},{at}\n")));
    let found = read("a.csv", text.as_bytes());
    assert_eq!((found.records.len(), found.rejects), (19_999, vec![(Reason::OverLongLine, 1)]));
}

#[test]
fn every_reason_that_is_counted_has_a_sample_with_its_line() {
    let folder = Folder::with_rules();
    let mut text: String = topics().iter().map(|(url, cluster)| format!("{url}\t{cluster}\n")).collect();
    let bad = ["http://a..example/", "http://a.example:x/", "http://[::1/", "ftp://a.example/", "http:///x", "", "\t7"];
    bad.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    folder.write("a.tsv", text.as_bytes());
    let learn = |workers: &str| {
        let arguments = ["learn", "a.tsv", "--out", "out", "--overwrite", "--max-rejects", "50%", "-w", workers];
        job(&folder, &arguments, b"").done();
        let read = |name: &str| std::fs::read_to_string(folder.path("out").join(name)).unwrap();
        (read("summary.json"), read("rejects.jsonl"))
    };
    let (summary, sample) = learn("1");
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let counts: BTreeMap<String, u64> = serde_json::from_value(summary["rejects"].clone()).unwrap();
    assert_eq!(counts["invalid-url"], 3);
    let mut sampled = BTreeMap::<String, u64>::new();
    for line in sample.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((line["file"].as_str(), line["line"].is_u64()), (Some("a.tsv"), true), "{line}");
        *sampled.entry(line["reason"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!(sampled, counts, "{sample}");
    assert_eq!(learn("2").1, sample);
}

#[test]
fn normalize_passes_a_byte_order_mark_over_and_refuses_records_of_every_format() {
    let folder = Folder::with_rules();
    let marked = "\u{feff}http://b.mirror.example/x\n";
    folder.write("urls.txt", marked.as_bytes());
    let job = |arguments: &[&str], input: &[u8]| {
        job(&folder, &[&["normalize", "--rules", "rules"], arguments].concat(), input)
    };
    assert_eq!(job(&["urls.txt"], b"").done(), "http://a.mirror.example/x\n");
    assert_eq!(job(&[], marked.as_bytes()).done(), "http://a.mirror.example/x\n");
    for (format, name, bytes) in fixtures() {
        folder.write(name, &bytes);
        std::fs::create_dir_all(folder.path("in")).unwrap();
        std::fs::write(folder.path("in").join(name), &bytes).unwrap();
        let says = format!("records ({}), not one URL a line", format.name());
        for input in [name, "in"] {
            let said = job(&[input], b"").failed(2);
            assert!(said.contains(&says), "{said}");
        }
        // On standard input a tab is a character of a bad line.
        if format != Format::Tsv {
            let said = job(&[], &bytes).failed(2);
            assert!(said.contains(&says), "{said}");
        }
        std::fs::remove_dir_all(folder.path("in")).unwrap();
    }
    std::fs::create_dir(folder.path("in")).unwrap();
    folder.write("in/a.tsv", b"http://b.mirror.example/y\n");
    folder.write("in/b.txt", marked.as_bytes());
    assert_eq!(job(&["in"], b"").done(), "http://a.mirror.example/y\nhttp://a.mirror.example/x\n");
}

#[test]
fn a_crawl_log_gives_redirects_digests_and_no_failed_fetches() {
    let root = "http://a.example/";
    let log = [
        crawl_line(1, "dns:a.example", "P", root, "-"),
        crawl_line(200, "http://a.example/robots.txt", "P", root, "sha1:R"),
        crawl_line(301, "http://a.example/old", "L", root, "sha1:M"),
        crawl_line(200, "http://a.example/new", "LR", "http://a.example/old", "sha1:A"),
        crawl_line(200, "http://a.example/new?sid=1", "L", root, "sha1:A"),
        crawl_line(-9998, "http://a.example/secret", "L", root, "-"),
        crawl_line(404, "http://a.example/gone", "L", root, "sha1:G"),
    ]
    .concat();
    let folder = Folder::with_rules();
    folder.write("crawl.log", log.as_bytes());
    for by in ["digest", "redirect"] {
        let ran =
            job(&folder, &["clusters", "crawl.log", "--out", "out.jsonl", "--overwrite", "--cluster-by", by], b"");
        assert_eq!(ran.code, 0, "{}", ran.err);
        let found = read("out.jsonl", &std::fs::read(folder.path("out.jsonl")).unwrap());
        let cluster = |path: &str| {
            let of = found.records.iter().filter(|r| r.url == format!("http://a.example/{path}"));
            let mut labels: Vec<_> = of.map(|record| record.cluster.clone()).collect();
            labels.dedup();
            labels
        };
        assert_eq!(cluster("old"), cluster("new"), "{by}");
        assert_eq!(cluster("new").len(), 1, "{by}");
        assert!(cluster("new")[0].is_some(), "{by}");
        assert_eq!(cluster("new") == cluster("new?sid=1"), by == "digest", "{by}");
        assert_eq!(cluster("gone"), [None], "{by}");
        assert!(cluster("secret").is_empty() && cluster("robots.txt").is_empty(), "{by}");
    }
    assert_eq!(read("crawl.log", log.as_bytes()).rejects, []);
}

/// A record with this id and these fields.
fn exchange(kind: &str, url: &str, id: &str, concurrent: &str, block: &str) -> Vec<u8> {
    let named =
        |name: &str, id: &str| if id.is_empty() { String::new() } else { format!("{name}: <urn:uuid:{id}>\r\n") };
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n{}{}Content-Type: application/http; msgtype={kind}\r\n\
         Content-Length: {}\r\n\r\n",
        named("WARC-Record-ID", id),
        named("WARC-Concurrent-To", concurrent),
        block.len()
    );
    format!("{head}{block}\r\n\r\n").into_bytes()
}

#[test]
fn answers_to_post_are_no_records_of_their_url() {
    let (post, get) = ("POST /f HTTP/1.1\r\n\r\na=1", "GET /f HTTP/1.1\r\n\r\n");
    let ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>x</p>";
    let url = |name: &str| format!("http://example.org/{name}");
    // Between an answer and its request, both ways, as crawlers write them.
    let others = |from: usize| -> Vec<Vec<u8>> {
        (from..from + 30).map(|at| page(&url(&format!("o{at}")), "<p>x</p>")).collect()
    };
    let mut records = vec![
        exchange("request", &url("before"), "1", "", post),
        exchange("response", &url("before"), "2", "1", ok),
        exchange("response", &url("behind"), "3", "", ok),
        exchange("request", &url("behind"), "4", "3", post),
        exchange("response", &url("get"), "5", "", ok),
        exchange("request", &url("get"), "6", "5", get),
        exchange("request", &url("silent"), "", "", post),
        exchange("response", &url("silent"), "", "", ok),
        // The same URL, asked for otherwise.
        exchange("response", &url("both"), "7", "", ok),
        exchange("request", &url("both"), "8", "7", get),
        exchange("response", &url("both"), "9", "", ok),
        exchange("request", &url("both"), "10", "9", post),
        exchange("response", &url("far"), "11", "", ok),
    ];
    records.extend(others(0));
    records.push(exchange("request", &url("far"), "12", "11", post));
    records.push(exchange("request", &url("ahead"), "13", "14", post));
    records.extend(others(100));
    records.push(exchange("response", &url("ahead"), "14", "", ok));
    records.extend(others(200));
    let found = read("a.warc.gz", &members(&records, Gzip));
    let mut urls = found.urls();
    urls.retain(|url| !url.contains("/o"));
    assert_eq!(urls, [url("get"), url("both")]);
    assert_eq!((found.records.len(), found.rejects), (92, vec![]));
    // In order, whatever is held back.
    let order: Vec<&str> = found.records.iter().map(|r| r.url.as_str()).filter(|url| url.contains("/o")).collect();
    let want: Vec<String> =
        [0, 100, 200].iter().flat_map(|from| (*from..from + 30).map(|at| url(&format!("o{at}")))).collect();
    assert_eq!(order, want);

    let line = |key: &str, more: &str| {
        format!("{key} 20260101000000 {{\"url\": \"http://example.org/{}\"{more}}}\n", more.len())
    };
    let index = [
        line("org,example)/a", ", \"method\": \"POST\""),
        line("org,example)/b?__wb_method=post&a=1", ""),
        line("org,example)/c", ", \"method\": \"GET\""),
    ];
    assert_eq!(read("a.cdxj", index.concat().as_bytes()).records.len(), 1);
}

#[test]
fn clusters_keeps_the_media_type() {
    let folder = Folder::with_rules();
    let lines = "{\"url\":\"http://a.example/1\",\"mime\":\"image/png\",\"digest\":\"A\"}\n\
                 {\"url\":\"http://a.example/2\",\"mime\":\"application/xhtml+xml\",\"digest\":\"A\"}\n\
                 {\"url\":\"http://a.example/3\",\"digest\":\"A\"}\n";
    folder.write("a.jsonl", lines.as_bytes());
    folder.write("b.warc", &response("http://a.example/4", "200 OK", "Content-Type: image/gif; x=y\r\n", b"GIF"));
    let mimes = |input: &str, out: &str| -> Vec<Option<String>> {
        let ran = job(&folder, &["clusters", input, "--out", out, "--cluster-by", "digest"], b"");
        assert_eq!(ran.code, 0, "{}", ran.err);
        let text = std::fs::read_to_string(folder.path(out)).unwrap();
        let mime =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["mime"].as_str().map(str::to_owned);
        text.lines().map(mime).collect()
    };
    let expected = [Some("image/png".to_owned()), Some("application/xhtml+xml".to_owned()), None];
    assert_eq!(mimes("a.jsonl", "c.jsonl"), expected);
    assert_eq!(mimes("b.warc", "d.jsonl"), [Some("image/gif".to_owned())]);
    // Through a table as well.
    assert_eq!(job(&folder, &["clusters", "a.jsonl", "--out", "t.parquet", "--cluster-by", "digest"], b"").code, 0);
    assert_eq!(mimes("t.parquet", "e.jsonl"), expected);
}

/// One small file of each format, none of which has a label unless the format can.
fn fixtures() -> Vec<(Format, &'static str, Vec<u8>)> {
    let pages = [page("http://a.example/1", &prose(1, 80)), page("http://a.example/2", &prose(1, 80))].concat();
    let all = vec![
        (Format::Tsv, "a.tsv", b"http://a.example/1\t7\nhttp://a.example/2\t7\n".to_vec()),
        (Format::Jsonl, "a.jsonl", b"{\"url\":\"http://a.example/1\",\"cluster\":7}\n".to_vec()),
        (Format::Csv, "a.csv", b"url,cluster\nhttp://a.example/1,7\n".to_vec()),
        (
            Format::Cdx,
            "a.cdx",
            b" CDX N b a m s k r M S V g\norg,example)/a 20260101000000 http://a.example/1 text/html 200 D - - 1 2 f\n"
                .to_vec(),
        ),
        (
            Format::Cdxj,
            "a.cdxj",
            b"example,a)/1 20260101000000 {\"url\": \"http://a.example/1\", \"digest\": \"D\"}\n".to_vec(),
        ),
        (Format::Warc, "a.warc", pages),
        (Format::Parquet, "a.parquet", parquet()),
        (
            Format::AccessLog,
            "a.log",
            b"a.example:80 192.0.2.1 - - [20/Nov/2026:19:21:08 +0000] \"GET /1 HTTP/1.1\" 200 9\n".to_vec(),
        ),
        (Format::CrawlLog, "crawl.log", crawl_line(200, "http://a.example/1", "L", "-", "sha1:A").into_bytes()),
    ];
    assert_eq!(
        all.iter().map(|(format, ..)| format.name()).collect::<std::collections::BTreeSet<_>>().len(),
        Format::ALL.len(),
        "each format has a small file here"
    );
    all
}

fn parquet() -> Vec<u8> {
    use undust::model::{Facts, Record};
    let mut table = undust::io::table::TableWriter::new(Vec::new()).unwrap();
    for url in [b"http://a.example/1", b"http://a.example/2"] {
        table.push(Record { url, cluster: Some(b"7"), site: None, elsewhere: false }, Facts::default()).unwrap();
    }
    table.finish().unwrap()
}

#[test]
fn every_job_takes_or_refuses_every_format() {
    let folder = Folder::with_rules();
    for (format, name, bytes) in fixtures() {
        folder.write(name, &bytes);
        let labelled = matches!(format, Format::Tsv | Format::Jsonl | Format::Csv | Format::Parquet);
        let clustered = matches!(format, Format::Cdx | Format::Cdxj | Format::Warc | Format::CrawlLog);
        let learned = |with_labels: bool| if with_labels { 0 } else { 1 };
        let cases: [(&[&str], i32); 6] = [
            (&["learn", name, "--out", "out", "--overwrite"], learned(labelled || clustered)),
            (&["clusters", name, "--out", "out.jsonl", "--overwrite"], 0),
            (&["evaluate", "--rules", "rules", name], learned(labelled)),
            (&["compare", name, "--out", "compared", "--methods", "undust"], learned(labelled)),
            (&["normalize", "--rules", "rules", name], 2),
            (&["rules", "seen", "--rules", "rules", name], learned(labelled)),
        ];
        for (arguments, code) in cases {
            let _ = std::fs::remove_dir_all(folder.path("compared"));
            let ran = job(&folder, arguments, b"");
            assert!(ran.code == code && !ran.err.contains("panicked"), "{arguments:?}: {} {}", ran.code, ran.err);
        }
        // Forced upon the bytes of another format: bad records or a refusal, no panic.
        for other in Format::ALL.into_iter().filter(|other| *other != format) {
            let ran = job(
                &folder,
                &[
                    "learn",
                    name,
                    "--out",
                    "out",
                    "--overwrite",
                    "--format",
                    other.name(),
                    "--log-base",
                    "http://h.example",
                ],
                b"",
            );
            assert!(
                matches!(ran.code, 0 | 1 | 4) && !ran.err.contains("panicked"),
                "{name} as {}: {}",
                other.name(),
                ran.err
            );
        }
    }
}

#[test]
fn an_archive_of_requests_and_metadata_alone_holds_no_record() {
    let folder = Folder::with_rules();
    folder.write("a.warc", &[warc("warcinfo", "", "", b"x"), warc("metadata", "http://a.example/", "", b"x")].concat());
    let said = job(&folder, &["clusters", "a.warc", "--out", "c.jsonl"], b"").failed(1);
    assert!(said.contains("a.warc: read as warc (by its first bytes): 0 records"), "{said}");
}
