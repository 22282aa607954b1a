//! Mistakes that a reader of README.md is likely to make: how each ends, and what it prints.

use crate::formats_support::{compressed, members, warc};
use crate::jobs_run::{Folder, Ran, run, run_with, undust};
use undust::io::compression::Compression::{Gzip, Plain};

/// A folder with a rule set in `rules` and these files.
fn folder(files: &[(&str, &[u8])]) -> Folder {
    let folder = Folder::with_rules();
    files.iter().for_each(|(name, bytes)| drop(folder.write(name, bytes)));
    folder
}

/// The binary with these arguments, in the folder, with `input` on standard input.
fn job(folder: &Folder, arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = undust(arguments);
    command.current_dir(folder.path(""));
    run_with(command, input)
}

/// Checks how a run ends and that its messages hold these words.
#[track_caller]
fn ends(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, code, "{}", ran.err);
    words.iter().for_each(|word| assert!(ran.err.contains(word), "no {word:?} in: {}", ran.err));
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

/// [`ends`] with code 1, and nothing that could be taken for a result.
#[track_caller]
fn fails(folder: &Folder, ran: &Ran, words: &[&str]) {
    ends(ran, 1, words);
    assert!(ran.out.is_empty(), "{}", String::from_utf8_lossy(&ran.out));
    assert!(!folder.path("out/_SUCCESS").exists() && !folder.path("out/rules.jsonl").exists());
}

const EXPECTED: &str = "expected are lines url<TAB>cluster, JSON lines with url and cluster, or CSV";

#[test]
fn a_list_of_urls_is_learned_from() {
    let folder = folder(&[("urls.txt", b"http://a.example/1\nhttp://a.example/2\nftp://a.example/\x1b[2J\n")]);
    let ran = job(&folder, &["learn", "urls.txt", "--out", "out"], b"");
    let words = [
        "urls.txt: read as tsv (by its name): 2 records, 0 with a label; its lines hold no tab",
        "none of 2 records has a label, so there is nothing to learn from",
        "rejected: 1 control-character; the first in urls.txt, line 3",
        EXPECTED,
    ];
    fails(&folder, &ran, &words);
    // Nothing is left that the next try would be refused for.
    let ran = job(&folder, &["learn", "-", "--out", "out"], b"http://a.example/1\t1\n");
    ends(&ran, 0, &["no rule: of 1 labelled URLs in 1 clusters"]);
}

#[test]
fn no_rule_is_for_lack_of_records_only_where_there_are_few() {
    let few: String = (0..8).map(|n| format!("http://a.example/{n}?s={n}\t{}\n", n / 3)).collect();
    // Every URL has a name of its own.
    let names =
        |n: usize| format!("http://a.example/{:08x}\t{}\n", undust::model::hash64(&n.to_le_bytes()) as u32, n / 3);
    let folder =
        folder(&[("few.tsv", few.as_bytes()), ("names.tsv", (0..180).map(names).collect::<String>().as_bytes())]);
    let ran = job(&folder, &["learn", "few.tsv", "--out", "few"], b"");
    ends(&ran, 0, &["no rule: of 8 labelled URLs in 3 clusters too few agree: about nine URLs of three clusters"]);
    let ran = job(&folder, &["learn", "names.tsv", "--out", "names"], b"");
    let words = [
        "no rule: of 180 labelled URLs in 60 clusters not enough agree on one change that joins URLs of one cluster",
        "look-ups of single URLs make 60 canonical URLs of 180",
    ];
    ends(&ran, 0, &words);
    assert!(!ran.err.contains("too few agree"), "{}", ran.err);
}

#[test]
fn standard_input_is_empty() {
    let folder = folder(&[("empty", b"\n"), ("binary", b"\x01\x02\n")]);
    for job_name in ["learn", "clusters"] {
        for input in [&b""[..], b"\n\n"] {
            let ran = job(&folder, &[job_name, "-", "--out", "out"], input);
            fails(&folder, &ran, &["standard input: empty, without a line to read"]);
        }
    }
    fails(&folder, &job(&folder, &["learn", "empty", "--out", "out"], b""), &["empty: empty, without a line"]);
    let ran = job(&folder, &["learn", "binary", "--out", "out"], b"");
    fails(&folder, &ran, &["binary", "--format"]);
    assert!(!ran.err.contains("without a line"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn the_output_is_a_link_to_nothing() {
    let folder = folder(&[("a.tsv", b"http://a.example/1\t7\n")]);
    std::os::unix::fs::symlink("nowhere", folder.path("out")).unwrap();
    let jobs = ["learn a.tsv --out out", "compare a.tsv --out out", "synth --out out", "generate man out"];
    for line in jobs {
        let ran = job(&folder, &line.split(' ').collect::<Vec<_>>(), b"");
        ends(&ran, 1, &["out: a symbolic link to a folder that does not exist"]);
        assert!(!folder.path("nowhere").exists(), "{line}");
    }
}

#[test]
fn a_comma_file_is_read_as_tsv() {
    let folder = folder(&[("crawl.txt", b"http://a.example/1,7\nhttp://a.example/2,7\n")]);
    let ran = job(&folder, &["learn", "crawl.txt", "--out", "out"], b"");
    fails(&folder, &ran, &["give it a header line, as url,cluster, and --format csv", EXPECTED]);
    folder.write("crawl.csv", b"http://a.example/1,7\n");
    let ran = job(&folder, &["learn", "crawl.csv", "--out", "out"], b"");
    fails(&folder, &ran, &["crawl.csv: CSV whose first line names no column `url` (it reads: http://a.example/1,7)"]);
}

#[test]
fn a_wet_file_is_learned_from() {
    let records = [warc("warcinfo", "", "", b"software: x"), warc("conversion", "http://a.example/", "", b"text")];
    let wet = members(&records, Gzip);
    let folder = folder(&[("a.warc.wet.gz", &wet), ("renamed.warc.gz", &wet)]);
    for name in ["a.warc.wet.gz", "renamed.warc.gz"] {
        let ran = job(&folder, &["learn", name, "--out", "out"], b"");
        fails(&folder, &ran, &[name, "a WET file", "read the WARC file of the same name"]);
    }
    // The same for what comes before WARC, and for metadata.
    folder.write("a.arc.gz", &compressed(b"filedesc://a.arc 0.0.0.0 20260101000000 text/plain 9\n", Gzip));
    let wat = warc("metadata", "http://a.example/", "Content-Type: application/json\r\n", b"{\"Container\":{}}");
    folder.write("wat.warc.gz", &members(&[&records[0], &wat], Gzip));
    for (name, what) in [("a.arc.gz", "warcio recompress"), ("wat.warc.gz", "a WAT file")] {
        let ran = job(&folder, &["learn", name, "--out", "out"], b"");
        fails(&folder, &ran, &[name, what]);
    }
}

#[test]
fn empty_files_are_learned_from() {
    let files = ["a.jsonl", "a.warc.gz", "a.warc", "a.tsv", "a.csv", "a.cdx", "a.log"];
    let folder = folder(&files.map(|name| (name, &b""[..])));
    for name in files {
        let ran = job(&folder, &["learn", name, "--out", "out"], b"");
        let read = format!("{name}: read as ");
        fails(&folder, &ran, &[&read, "0 records, 0 with a label; the file is empty", "none of 0 records", EXPECTED]);
        let ran = job(&folder, &["clusters", name, "--out", "records.jsonl"], b"");
        ends(&ran, 1, &[&read, "no record in the input"]);
        assert!(!folder.path("records.jsonl").exists());
    }
    // Empty when decompressed.
    folder.write("b.jsonl.gz", &compressed(b"", Gzip));
    let ran = job(&folder, &["learn", "b.jsonl.gz", "--out", "out"], b"");
    fails(&folder, &ran, &["the file is empty"]);
}

#[test]
fn records_are_normalized() {
    let folder = folder(&[]);
    std::fs::create_dir(folder.path("crawl")).unwrap();
    folder.write("crawl/a.tsv", b"http://a.example/1\t7\n");
    let ran = job(&folder, &["normalize", "--rules", "rules", "crawl"], b"");
    ends(&ran, 2, &["a.tsv: records (tsv), not one URL a line", "cut -f1"]);
    assert!(ran.out.is_empty());
    let ran = job(&folder, &["normalize", "--rules", "rules"], b"{\"url\": \"http://a.example/1\"}\n");
    ends(&ran, 2, &["-: records (jsonl), not one URL a line", "jq -r .url"]);
    assert!(ran.out.is_empty());
    // A pipe shows it in its first block, to every job that reads URLs.
    for line in ["normalize", "rules list --urls -", "export --to csv --urls -", "explain -"] {
        let arguments: Vec<&str> = line.split(' ').chain(["--rules", "rules"]).collect();
        let ran = job(&folder, &arguments, b"http://a.example/1\t7\n");
        ends(&ran, 2, &["-: records (tsv), not one URL a line", "cut -f1"]);
        assert!(ran.out.is_empty(), "{line}");
    }
    let ran = job(&folder, &["normalize", "--rules", "rules"], &compressed(b"http://a.example/1\t7\n", Gzip));
    ends(&ran, 2, &["-: records (tsv)"]);
}

#[test]
fn a_name_does_not_tell_the_format() {
    let folder = folder(&[("crawl.dat", b"http://a.example/1\t7\n")]);
    let ran = job(&folder, &["learn", "crawl.dat", "--out", "out"], b"");
    fails(&folder, &ran, &["crawl.dat", "give --format tsv"]);
}

#[test]
fn there_is_no_such_rules_folder() {
    let folder = folder(&[]);
    let ran = job(&folder, &["normalize", "--rules", "no-rules"], b"http://a.example/1\n");
    fails(&folder, &ran, &["no-rules: no such file or folder"]);
}

#[test]
fn files_are_compressed_with_xz_or_bzip2() {
    // The first bytes as those programs write them; the rest is not looked at.
    let (xz, bzip2) = (b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46", b"BZh91AY&SY\x1c\x8f");
    let folder = folder(&[("crawl.tsv.xz", xz), ("crawl.tsv", bzip2)]);
    let jobs: [&[&str]; 3] =
        [&["learn", "--out", "out"], &["evaluate", "--rules", "rules"], &["clusters", "--out", "c"]];
    for arguments in jobs {
        for (name, command) in [("crawl.tsv.xz", "`xz -dc crawl.tsv.xz |"), ("crawl.tsv", "`bzip2 -dc crawl.tsv |")] {
            let ran = job(&folder, &[arguments, &[name]].concat(), b"");
            fails(&folder, &ran, &["which undust does not read", command]);
        }
    }
    for name in ["crawl.tsv.xz", "crawl.tsv"] {
        let ran = job(&folder, &["normalize", "--rules", "rules", name], b"");
        fails(&folder, &ran, &["which undust does not read"]);
    }
    let ran = job(&folder, &["normalize", "--rules", "rules"], bzip2);
    fails(&folder, &ran, &["-: compressed with bzip2"]);
    // In a folder it is not passed over.
    std::fs::create_dir(folder.path("crawl")).unwrap();
    folder.write("crawl/a.tsv", b"http://a.example/1\t7\n");
    folder.write("crawl/b.tsv.xz", xz);
    folder.write("crawl/logo.zip", b"PK\x03\x04");
    let ran = job(&folder, &["learn", "crawl", "--out", "out"], b"");
    fails(&folder, &ran, &["b.tsv.xz: compressed with xz"]);
}

/// A line of a crawl log.
pub fn crawl_line(status: i32, url: &str, path: &str, via: &str, digest: &str) -> String {
    format!(
        "2026-11-20T19:21:08.123Z {status:>5} 1299 {url} {path} {via} text/html #014 20261120192108100+22 {digest} - -\n"
    )
}

#[test]
fn a_crawl_log_is_no_access_log() {
    let page = |topic: usize, session: &str| {
        let url = format!("http://a.example/topic/{topic}{session}");
        crawl_line(200, &url, "L", "http://a.example/", &format!("sha1:{topic:08}"))
    };
    let log: String =
        (0..30).map(|t| page(t, "") + &page(t, &format!("?sid={t}")) + &page(t, &format!("?sid=1{t}"))).collect();
    let folder = folder(&[("crawl.log", log.as_bytes()), ("other.log", log.as_bytes())]);
    for name in ["crawl.log", "other.log"] {
        let ran = job(&folder, &["learn", name, "--out", "out", "--overwrite"], b"");
        ends(&ran, 0, &["--cluster-by digest"]);
        let shown = String::from_utf8(ran.out).unwrap();
        assert!(shown.contains("ignore query sid="), "{shown}");
    }
}

#[test]
fn evaluate_is_given_no_labels() {
    let folder = folder(&[("urls.txt", b"http://www.forum.example/1\nhttp://www.forum.example/2\n")]);
    let ran = job(&folder, &["evaluate", "--rules", "rules", "urls.txt", "--json", "figures.json"], b"");
    fails(
        &folder,
        &ran,
        &["urls.txt: read as tsv", "none of 2 records has a label, so there is nothing to measure", EXPECTED],
    );
    assert!(!folder.path("figures.json").exists());
    let ran = job(&folder, &["compare", "urls.txt", "--out", "compared"], b"");
    fails(&folder, &ran, &["none of 2 records has a label, so there is nothing to compare by"]);
    assert!(!folder.path("compared/_SUCCESS").exists());
}

#[test]
fn synth_writes_more_than_was_meant() {
    let folder = folder(&[]);
    let ran = job(&folder, &["synth", "--out", "trial", "--sites", "20", "--seed", "1"], b"");
    ends(&ran, 0, &["about 200000 URLs of 20 sites to trial, about", " MB", "200000 records of 20 sites in 8 files"]);
    let files = std::fs::read_dir(folder.path("trial")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 20_000_000, "{bytes}");
    // What is announced is what comes, within a tenth.
    let announced = |line: &str, before: &str| {
        let rest = line.split(before).nth(1).unwrap_or_else(|| panic!("no {before:?} in {line}"));
        rest.split(" MB").next().unwrap().trim().parse::<f64>().unwrap()
    };
    let (before, after) = ran.err.split_once('\n').unwrap();
    let (about, wrote) = (announced(before, "to trial, about "), announced(after, "in 8 files, "));
    assert!((about / wrote - 1.0).abs() < 0.1, "{about} announced, {wrote} written");
    // Sizes that are asked for are not scaled.
    let sized = ["synth", "--out", "sized", "--sites", "2", "--urls-min", "500", "--urls-max", "500"];
    ends(&job(&folder, &sized, b""), 0, &["about 1000 URLs of 2 sites"]);
}

#[test]
fn the_folder_holds_a_result() {
    let folder = folder(&[("a.tsv", b"http://a.example/1\t7\n")]);
    let ran = job(&folder, &["learn", "a.tsv", "--out", "rules"], b"");
    ends(&ran, 1, &["rules: not empty", "--overwrite"]);
    assert!(ran.out.is_empty());
}

#[test]
fn a_page_type_is_misspelt() {
    let folder = folder(&[]);
    for wrong in [&["--types", "nosuch"][..], &["--decorations", "nosuch"], &["--noise", "2"]] {
        let ran = job(&folder, &[&["synth", "--out", "out"], wrong].concat(), b"");
        ends(&ran, 2, &[wrong[1]]);
        assert!(!folder.path("out").exists());
    }
}

#[test]
fn a_format_is_misspelt() {
    let folder = folder(&[("a.tsv", b"http://a.example/1\t7\n")]);
    let ran = job(&folder, &["learn", "a.tsv", "--out", "out", "--format", "cvs"], b"");
    ends(&ran, 2, &["invalid value 'cvs'", "csv", "jsonl", "crawl-log"]);
    let ran = job(&folder, &["evaluate", "--rules", "rules", "a.tsv", "--format", "cvs"], b"");
    ends(&ran, 2, &["invalid value 'cvs'", "csv", "jsonl"]);
}

#[test]
fn urls_come_on_standard_input() {
    let folder = folder(&[]);
    let ran = job(&folder, &["learn", "-", "--out", "out"], b"http://a.example/1\nhttp://a.example/2\n");
    fails(&folder, &ran, &["-: read as tsv (by its first bytes): 2 records, 0 with a label", EXPECTED]);
    // What is no record at all is not taken for one.
    let ran = job(&folder, &["learn", "-", "--out", "out"], b"hello\n");
    fails(&folder, &ran, &["-: neither its name nor its first bytes tell the format"]);
}

#[test]
fn a_crawl_has_labels_and_no_two_urls_of_a_page() {
    let lines: String = (0..40).map(|at| format!("http://a.example/{at}\t{at}\n")).collect();
    let folder = folder(&[("a.tsv", &compressed(lines.as_bytes(), Plain))]);
    let mut command = undust(&["learn", "a.tsv", "--out", "out"]);
    command.current_dir(folder.path(""));
    ends(&run(command), 0, &["no rule: of 40 labelled URLs in 40 clusters each is alone in its cluster"]);
    assert!(folder.path("out/_SUCCESS").exists());
}
