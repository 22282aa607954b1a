//! `undust normalize` from the outside.

use crate::jobs_run::{Folder, rule_set, run, run_with, urls};
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use undust::rules::lines::{LineFormat, LineOptions, canonicalize_lines};
use undust::rules::{Batch, Scratch};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn gunzip(bytes: &[u8]) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn each_output_says_what_became_of_a_url() {
    let folder = Folder::with_rules();
    let input =
        b"http://www.forum.example/topic/7?highlight=x&sid=1&t=7\r\n\nftp://a.example/\nhttp://B.mirror.example/x";
    let job = |output| folder.job("normalize", &["--output", output]);
    assert_eq!(
        run_with(job("url"), input).done(),
        "http://www.forum.example/topic/7?t=7\n\nftp://a.example/\nhttp://a.mirror.example/x\n"
    );
    assert_eq!(
        run_with(job("tsv"), input).done(),
        "http://www.forum.example/topic/7?highlight=x&sid=1&t=7\thttp://www.forum.example/topic/7?t=7\n\t\n\
         ftp://a.example/\tftp://a.example/\nhttp://B.mirror.example/x\thttp://a.mirror.example/x\n"
    );
    let lines = run_with(job("jsonl"), input).done();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines,
        [
            serde_json::json!({
                "url": "http://www.forum.example/topic/7?highlight=x&sid=1&t=7",
                "canonical": "http://www.forum.example/topic/7?t=7",
                "site": "forum.example", "rules": ["00000000000000a1", "00000000000000a2"],
                "changed": true, "invalid": false, "seen": false
            }),
            serde_json::json!({
                "url": "", "canonical": "", "site": null, "rules": [], "changed": false, "invalid": true, "seen": true
            }),
            serde_json::json!({
                "url": "ftp://a.example/", "canonical": "ftp://a.example/",
                "site": null, "rules": [], "changed": false, "invalid": true, "seen": true
            }),
            serde_json::json!({
                "url": "http://B.mirror.example/x", "canonical": "http://a.mirror.example/x",
                "site": "mirror.example", "rules": ["00000000000000b1"], "changed": true, "invalid": false,
                "seen": false
            }),
        ]
    );
}

#[test]
fn what_is_no_url_is_counted_on_standard_error() {
    let folder = Folder::with_rules();
    let long = format!("http://a.example/{}\n", "x".repeat(100));
    let input = [b"http://a.example/\xff\n\nx\n", long.as_bytes()].concat();
    let ran = run_with(folder.job("normalize", &["--line-limit", "100"]), &input);
    assert_eq!((ran.code, ran.out.as_slice()), (0, input.as_slice()));
    assert_eq!(
        ran.err,
        "undust: 4 lines, 0 changed, 0 of sites with rules, 1 empty, 3 not URLs to normalize (left as they are)\n"
    );
    assert_eq!(run_with(folder.job("normalize", &["-q"]), &input).err, "");
}

#[test]
fn order_is_kept_by_any_number_of_workers() {
    let folder = Folder::with_rules();
    let input = urls(200_000);
    folder.write("urls.txt", input.as_bytes());
    let mut expected = Vec::new();
    let (rules, mut batch) = (rule_set(), Batch::default());
    let options = LineOptions::new(LineFormat::Tsv);
    let counts = canonicalize_lines(&rules, &options, input.as_bytes(), &mut batch, &mut expected);
    assert_eq!((counts.lines, counts.changed, counts.invalid), (200_000, 120_000, 40_000));
    for workers in ["1", "2", "3", "4"] {
        let out = run(folder.job("normalize", &["-w", workers, "--output", "tsv", "urls.txt"])).done();
        assert!(out.as_bytes() == expected, "-w {workers} gives other bytes");
    }
}

#[test]
fn compressed_files_in_and_out() {
    let folder = Folder::with_rules();
    let input = urls(10_000);
    let (one, two) = input.split_at(input.find("no url 4999").unwrap());
    folder.write("plain.txt", input.as_bytes());
    folder.write("two-members.gz", &[gzip(one.as_bytes()), gzip(two.as_bytes())].concat());
    folder.write("misnamed.txt", &zstd::encode_all(input.as_bytes(), 1).unwrap());
    let expected = run(folder.job("normalize", &["plain.txt"])).done();
    for (file, out) in [("two-members.gz", "out.zst"), ("misnamed.txt", "out.gz"), ("plain.txt", "out.txt")] {
        assert_eq!(run(folder.job("normalize", &[file])).done(), expected, "{file}");
        assert_eq!(run(folder.job("normalize", &["-w", "2", file, "-o", out])).done(), "");
    }
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert_eq!(zstd::decode_all(read("out.zst").as_slice()).unwrap(), expected.as_bytes());
    assert_eq!(gunzip(&read("out.gz")), expected);
    assert_eq!(read("out.txt"), expected.as_bytes());
    // Standard input too is told by its bytes, not by its name.
    assert_eq!(run_with(folder.job("normalize", &[]), &gzip(input.as_bytes())).done(), expected);
}

#[test]
fn inputs_are_read_one_after_the_other() {
    let folder = Folder::with_rules();
    folder.write("b.txt", b"b");
    folder.write("a.txt", b"a\n");
    std::fs::create_dir(folder.path("sub")).unwrap();
    folder.write("sub/2.txt", b"2");
    folder.write("sub/1.txt.gz", &gzip(b"1"));
    folder.write("sub/notes.md", b"not a shard");
    let job = folder.job("normalize", &["b.txt", "-", "a.txt", "sub", "*.txt"]);
    assert_eq!(run_with(job, b"in").done(), "b\nin\na\n1\n2\na\nb\n");
    folder.write("sub/3.jsonl", b"{}");
    assert!(run(folder.job("normalize", &["sub"])).failed(2).contains("3.jsonl: records (jsonl)"));
}

#[test]
fn a_file_is_not_replaced_unasked() {
    let folder = Folder::with_rules();
    folder.write("in.txt", b"x\n");
    folder.write("out.txt", b"precious");
    let message = run(folder.job("normalize", &["in.txt", "-o", "out.txt"])).failed(2);
    assert_eq!(message, "undust: out.txt: exists; name another file, or give --overwrite to replace it\n");
    assert_eq!(std::fs::read(folder.path("out.txt")).unwrap(), b"precious");
    run(folder.job("normalize", &["in.txt", "-o", "out.txt", "--overwrite"])).done();
    assert_eq!(std::fs::read(folder.path("out.txt")).unwrap(), b"x\n");
}

#[test]
fn a_run_that_fails_leaves_no_file() {
    let folder = Folder::with_rules();
    let whole = gzip(urls(50_000).as_bytes());
    folder.write("cut.gz", &whole[..whole.len() / 2]);
    for workers in ["1", "2"] {
        let message = run(folder.job("normalize", &["-w", workers, "cut.gz", "-o", "out.txt"])).failed(1);
        assert!(message.contains("cut.gz: gzip data cut short") && message.contains("; "), "{message}");
        assert_eq!(folder.names(), ["cut.gz", "rules"]);
    }
}

#[test]
fn what_is_missing_is_named_with_a_way_out() {
    let folder = Folder::with_rules();
    let message = |arguments: &[&str]| run(folder.job("normalize", arguments)).failed(1);
    assert!(message(&["gone.txt"]).starts_with("undust: gone.txt: no such file or folder; "));
    assert!(message(&["*.none"]).starts_with("undust: *.none: no file matches"));
    assert!(message(&["-o", "gone/out.txt"]).contains("gone/out.txt: cannot write"));
    std::fs::remove_file(folder.path("rules/_SUCCESS")).unwrap();
    assert!(message(&[]).contains("rules: no _SUCCESS in it") && message(&[]).contains("--allow-partial"));
    assert_eq!(run_with(folder.job("normalize", &["--allow-partial"]), b"x\n").done(), "x\n");
    folder.write("rules/rules.jsonl", b"{\"format\":");
    assert!(message(&["--allow-partial"]).contains("rules.jsonl: line 1"));
    std::fs::remove_file(folder.path("rules/rules.jsonl")).unwrap();
    assert!(message(&[]).contains("rules: no rules.jsonl in this folder"));
}

/// A program that writes a URL and waits for the answer is answered.
#[test]
fn a_line_is_answered_before_the_next_is_asked() {
    let folder = Folder::with_rules();
    for workers in ["1", "3"] {
        let mut job = folder.job("normalize", &["-w", workers]);
        let mut child = job.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut ask = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        for i in 0..5 {
            writeln!(ask, "http://www.forum.example/{i}?sid=1").unwrap();
            let mut answer = String::new();
            answers.read_line(&mut answer).unwrap();
            assert_eq!(answer, format!("http://www.forum.example/{i}\n"));
        }
        drop(ask);
        assert!(child.wait().unwrap().success());
    }
}

/// `undust normalize ... | head -1` is no failure.
#[test]
fn a_reader_that_goes_away_ends_the_job_quietly() {
    let folder = Folder::with_rules();
    folder.write("urls.txt", urls(200_000).as_bytes());
    for workers in ["1", "3"] {
        let mut job = folder.job("normalize", &["-w", workers, "urls.txt"]);
        let mut child = job.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        answers.read_line(&mut String::new()).unwrap();
        drop(answers);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr)), (Some(0), "".into()));
    }
}

/// Counted over the library: a rule fires on a fifth of the lines, syntax-based normalization changes
/// another, and one is no URL.
#[test]
fn nothing_is_allocated_a_url() {
    let rules = rule_set();
    let mut scratch = Scratch::default();
    let input = urls(2_000);
    let apply_all = |scratch: &mut Scratch| {
        input.lines().filter(|line| rules.apply(line.as_bytes(), None, scratch).url != line.as_bytes()).count()
    };
    assert_eq!(apply_all(&mut scratch), 1_200);
    let count = allocation_counter::measure(|| assert_eq!(apply_all(&mut scratch), 1_200));
    assert_eq!(count.count_total, 0, "RuleSet::apply allocates");

    for format in [LineFormat::Url, LineFormat::Tsv, LineFormat::Jsonl] {
        let (mut batch, mut output) = (Batch::default(), Vec::new());
        let mut block = || {
            let options = LineOptions::new(format);
            canonicalize_lines(&rules, &options, input.as_bytes(), &mut batch, &mut output).changed
        };
        assert_eq!(block(), 1_200);
        let count = allocation_counter::measure(|| assert_eq!(block(), 1_200));
        assert_eq!(count.count_total, 0, "canonicalize_lines allocates for {format:?}");
    }
    // The counter counts.
    assert!(allocation_counter::measure(|| drop(input.clone())).count_total > 0);
}
