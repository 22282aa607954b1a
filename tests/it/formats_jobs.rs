//! `undust clusters`, and `learn` straight from what crawl teams have: choices, refusals, same bytes,
//! bounded memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use undust::io::compression::Compression::{Gzip, Zstd};

use crate::formats_support::{compressed, members, page, prose, read, response, warc};
use crate::jobs_run::{run, undust};

/// A folder with these files.
fn folder(files: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, bytes)| std::fs::write(folder.path().join(name), bytes).unwrap());
    folder
}

fn clusters(folder: &TempDir, arguments: &[&str]) -> (Vec<u8>, String) {
    let mut command = undust(&["clusters", "--out", "out.jsonl", "--overwrite"]);
    command.args(arguments).current_dir(folder.path());
    let ran = run(command);
    assert_eq!((ran.code, ran.out.len()), (0, 0), "{}", ran.err);
    (std::fs::read(folder.path().join("out.jsonl")).unwrap(), ran.err)
}

/// Sets of URLs with one label, and those without one.
fn sets(jsonl: &[u8]) -> (BTreeSet<BTreeSet<String>>, BTreeSet<String>) {
    let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut without = BTreeSet::new();
    for record in read("out.jsonl", jsonl).records {
        let path = record.url.trim_start_matches("http://example.org").to_owned();
        match record.cluster {
            Some(label) => labels.entry(label).or_default().insert(path),
            None => without.insert(path),
        };
    }
    (labels.into_values().collect(), without)
}

fn set(urls: &[&str]) -> BTreeSet<String> {
    urls.iter().map(|&url| url.to_owned()).collect()
}

fn expect(jsonl: &[u8], together: &[&[&str]], without: &[&str]) {
    assert_eq!(sets(jsonl), (together.iter().map(|urls| set(urls)).collect(), set(without)));
}

fn url(path: &str) -> String {
    format!("http://example.org{path}")
}

fn moved(path: &str, status: &str, to: &str) -> Vec<u8> {
    response(&url(path), status, &format!("Location: {to}\r\n"), b"")
}

fn html(path: &str, title: &str, text: &str) -> Vec<u8> {
    page(&url(path), &format!("<title>{title}</title><header>{path}</header><p>{text}</p>"))
}

#[test]
fn simhash_joins_near_texts_exact_texts_revisits_and_redirects() {
    let text = prose(1, 400);
    let near = text.replacen(' ', ", ", 30);
    let other = prose(2, 400);
    let skeleton = |word: &str| format!("{} {word} {}", prose(3, 20), prose(4, 20));
    let revisit = warc("revisit", &url("/a?b"), "WARC-Payload-Digest: sha1:AAAA\r\n", b"");
    let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>A</title><p>{text}</p>");
    let first = warc("response", &url("/a"), "WARC-Payload-Digest: sha1:AAAA\r\n", body.as_bytes());
    let records = [
        first,
        revisit,
        html("/a/near", "A", &format!("{near}<b>17</b>")),
        html("/a/titled", "B", &text),
        html("/b", "A", &other),
        html("/user/1", "User", &skeleton("ivy")),
        html("/user/2", "User", &skeleton("sam")),
        moved("/old", "301 Moved", "/older"),
        moved("/older", "302 Found", "/b#part"),
        moved("/lost", "307 Temporary", "/gone"),
        response(&url("/gone"), "404 Not Found", "Content-Type: text/html\r\n", text.as_bytes()),
        response(&url("/robots.txt"), "200 OK", "Content-Type: text/plain\r\n", b"User-agent: *"),
        moved("/away", "308 Permanent", "http://other.example/"),
    ];
    let folder = folder(&[("a.warc.gz", members(&records, Gzip))]);
    let (out, told) = clusters(&folder, &["a.warc.gz"]);
    assert!(told.contains("--cluster-by simhash (of the first 13 records"), "{told}");
    assert!(told.contains("13 records (7 pages, 4 redirects, 1 errors, 1 no pages)"), "{told}");
    expect(
        &out,
        // One text under two titles is one page: it is long enough to be no accident.
        &[&["/a", "/a?b", "/a/near", "/a/titled"], &["/b", "/old", "/older"], &["/user/1"], &["/user/2"], &["/away"]],
        &["/lost", "/gone", "/robots.txt"],
    );
    let (out, _) = clusters(&folder, &["a.warc.gz", "--cluster-by", "redirect"]);
    let (together, _) = sets(&out);
    assert!(together.contains(&set(&["/b", "/old", "/older"])), "{together:?}");
    let (out, _) = clusters(&folder, &["a.warc.gz", "--cluster-by", "digest"]);
    let (together, _) = sets(&out);
    assert!(together.contains(&set(&["/a", "/a?b"])), "{together:?}");
}

#[test]
fn declared_canonicals_are_followed_and_refused() {
    let declares = |path: &str, to: &str, text: &str| {
        page(&url(path), &format!("<head><link rel=canonical href='{to}'></head><p>{text}</p>"))
    };
    let text = prose(1, 200);
    let mut records = vec![
        declares("/a", "/a", &text),
        declares("/a?x=1", "/a", &text),
        declares("/a?x=2", "http://example.org/a", &text),
        declares("/foreign", "http://other.example/a", &prose(2, 200)),
        declares("/broken", "/gone", &prose(3, 200)),
        response(&url("/gone"), "410 Gone", "Content-Type: text/html\r\n", b""),
        page(&url("/"), &format!("<head><link rel=canonical href='/'></head><p>{}</p>", prose(4, 200))),
    ];
    // A template that writes the home page into every page.
    records.extend((0..9).map(|at| declares(&format!("/t{at}"), "/", &prose(100 + at, 200))));
    let folder = folder(&[("a.warc", records.concat())]);
    let (out, told) = clusters(&folder, &["a.warc", "--cluster-by", "canonical"]);
    let (together, _) = sets(&out);
    assert!(together.contains(&set(&["/a", "/a?x=1", "/a?x=2"])), "{together:?}");
    assert!(together.iter().all(|set| set.len() == 1 || set.contains("/a")), "{together:?}");
    for refusal in [
        "1 refused: on another site",
        "1 refused: the target is an error",
        "9 refused: one target for pages of different content",
    ] {
        assert!(told.contains(refusal), "{refusal}: {told}");
    }
}

#[test]
fn a_login_page_under_very_many_urls_is_told_and_is_no_evidence() {
    let login = format!("Log in to go on. {}", prose(1, 40));
    let mut records: Vec<Vec<u8>> = Vec::new();
    for at in 0..20 {
        for form in ["/topic", "/user", "/edit", "/search", "/files", "/admin/log"] {
            records.push(html(&format!("{form}/{at}"), "Log in", &login));
            // Without the wall there are pages behind such URLs.
            records.push(html(&format!("{form}/{}", at + 100), "Page", &prose(1000 + records.len() as u64, 80)));
        }
        records.push(html(&format!("/login?to={at}"), "Log in", &login));
    }
    let folder = folder(&[("a.warc.gz", members(&records, Gzip))]);
    let (out, told) = clusters(&folder, &["a.warc.gz"]);
    assert!(told.contains("one page under 140 URLs of 7 forms (soft 404, login?)"), "{told}");
    let (together, without) = sets(&out);
    assert_eq!(without.len(), 120, "{told}");
    // The form that shows nothing else is a constant page.
    assert!(together.iter().any(|set| set.len() == 20 && set.iter().all(|path| path.starts_with("/login"))));
}

/// A site of topics under two names with a session, in an archive.
fn site() -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    for topic in 0..60 {
        for (at, host) in ["http://a.example", "https://www.a.example", "http://a.example"].iter().enumerate() {
            let session = if at == 0 { String::new() } else { format!("?sid={:08x}", topic * 7 + at) };
            let html = format!(
                "<title>Topic {topic}</title><nav>{session}</nav><p>{}</p><span>{}</span>",
                prose(topic as u64, 150),
                topic * 3 + at
            );
            records.push(page(&format!("{host}/topic/{topic}{session}"), &html));
        }
    }
    records
}

#[test]
fn the_same_bytes_whatever_the_workers_the_shards_and_the_memory() {
    let records = site();
    let thirds: Vec<Vec<u8>> = records.chunks(records.len() / 3 + 1).map(|part| members(part, Gzip)).collect();
    let mut files = vec![("whole.warc.gz", members(&records, Gzip))];
    files.extend(["1.warc.gz", "2.warc.gz", "3.warc.gz"].into_iter().zip(thirds));
    let folder = folder(&files);
    let (expected, _) = clusters(&folder, &["whole.warc.gz"]);
    assert_eq!(sets(&expected).0.len(), 60);
    for workers in ["1", "2", "3"] {
        for memory in ["1GiB", "64KiB"] {
            let flags = ["1.warc.gz", "2.warc.gz", "3.warc.gz", "-w", workers, "--memory", memory];
            assert_eq!(clusters(&folder, &flags).0, expected, "{workers} workers, {memory}");
        }
    }
}

#[test]
fn tables_hold_what_lines_hold_and_learn_alike() {
    let folder = folder(&[("a.warc.gz", members(&site(), Gzip))]);
    let path = |name: &str| folder.path().join(name);
    for out in ["a.jsonl.gz", "a.parquet"] {
        let mut command = undust(&["clusters", "a.warc.gz", "--out", out]);
        command.current_dir(folder.path());
        run(command).done();
    }
    let lines = read("a.jsonl.gz", &std::fs::read(path("a.jsonl.gz")).unwrap());
    let table = read("a.parquet", &std::fs::read(path("a.parquet")).unwrap());
    assert_eq!((&lines.records, lines.records.len()), (&table.records, 180));
    // The output is there already.
    let mut command = undust(&["clusters", "a.warc.gz", "--out", "a.parquet"]);
    command.current_dir(folder.path());
    assert!(run(command).failed(2).contains("--overwrite"));

    let learn = |input: &str, out: &str, more: &[&str]| {
        let mut command = undust(&["learn", input, "--out", out]);
        command.args(more).current_dir(folder.path());
        let shown = run(command).done();
        (shown, std::fs::read(path(out).join("rules.jsonl")).unwrap())
    };
    let (shown, rules) = learn("a.warc.gz", "from-warc", &["-w", "2"]);
    assert!(shown.contains("a.example: 180 URLs, 60 clusters, 60 canonical"), "{shown}");
    assert_eq!(learn("a.jsonl.gz", "from-lines", &[]).1, rules);
    assert_eq!(learn("a.parquet", "from-table", &[]).1, rules);
}

/// Runs with so much address space and no more.
fn within(kib: u64, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {kib} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_undust")]).args(arguments).current_dir(folder);
    // Each arena of the allocator takes 64 MiB of address space without using it.
    command.env("MALLOC_ARENA_MAX", "1");
    command
}

/// A gzip member of so many mebibytes of one letter.
fn gzip_bomb(mebibytes: usize) -> Vec<u8> {
    let letters = vec![b'x'; 1 << 20];
    let mut deflate = flate2::Compress::new(flate2::Compression::best(), false);
    let mut block = Vec::with_capacity(1 << 16);
    deflate.compress_vec(&letters, &mut block, flate2::FlushCompress::Full).unwrap();
    let (mut one, mut all) = (flate2::Crc::new(), flate2::Crc::new());
    one.update(&letters);
    (0..mebibytes).for_each(|_| all.combine(&one));
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    [&head[..], &block.repeat(mebibytes), &[3, 0], &all.sum().to_le_bytes(), &all.amount().to_le_bytes()].concat()
}

#[test]
fn a_gigabyte_in_a_megabyte_fills_neither_memory_nor_disk() {
    let head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/bomb\r\nContent-Length: 1073741824\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    let zeros = vec![b' '; 1 << 20];
    let bomb = |before: &[u8], times: usize| {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        std::io::Write::write_all(&mut encoder, before).unwrap();
        (0..times).for_each(|_| std::io::Write::write_all(&mut encoder, &zeros).unwrap());
        encoder.finish().unwrap()
    };
    let good = page("http://example.org/good", &prose(1, 100));
    let line = b"org,example)/ 20260101000000 {\"url\": \"http://example.org/good\", \"status\": \"200\", \"digest\": \"A\"}\n";
    let folder = folder(&[
        ("a.warc.zst", [bomb(head, 1024), compressed(&good, Zstd)].concat()),
        (
            "b.cdxj.zst",
            [compressed(line, Zstd), bomb(b"", 1024), compressed(b"\n", Zstd), compressed(line, Zstd)].concat(),
        ),
        (
            "c.cdxj.gz",
            [compressed(line, Gzip), gzip_bomb(1024), compressed(b"\n", Gzip), compressed(line, Gzip)].concat(),
        ),
    ]);
    let sizes: Vec<PathBuf> = ["a.warc.zst", "b.cdxj.zst", "c.cdxj.gz"].map(|name| folder.path().join(name)).into();
    assert!(sizes.iter().all(|path| std::fs::metadata(path).unwrap().len() < 2 << 20));
    for (name, records) in [("a.warc.zst", 1), ("b.cdxj.zst", 2), ("c.cdxj.gz", 2)] {
        let flags = [
            "clusters",
            name,
            "--out",
            "out.jsonl",
            "--overwrite",
            "--memory",
            "16MiB",
            "--max-rejects",
            "9",
            "--scratch",
            ".",
        ];
        let ran = run(within(400 << 10, folder.path(), &flags));
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        let found = read("out.jsonl", &std::fs::read(folder.path().join("out.jsonl")).unwrap());
        let good = found.urls().iter().filter(|url| url.ends_with("/good")).count();
        assert_eq!(good, records, "{name}: {}", ran.err);
    }
}
