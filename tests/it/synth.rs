//! `undust synth` as a user runs it: the same bytes for any workers, the same records for any shards,
//! nothing half-written taken for a corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn synth(out: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undust"));
    command.arg("synth").arg("--out").arg(out).args(args);
    command.output().expect("the binary runs")
}

fn made(out: &Path, args: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let output = synth(out, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty(), "nothing on standard output");
    files(out)
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("made");
    entries
        .map(|entry| {
            let entry = entry.expect("readable");
            (entry.file_name().into_string().expect("ASCII"), std::fs::read(entry.path()).expect("readable"))
        })
        .collect()
}

fn text(name: &str, bytes: &[u8]) -> String {
    let mut text = String::new();
    let read = if name.ends_with(".gz") {
        flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text)
    } else if name.ends_with(".zst") {
        zstd::Decoder::new(bytes).expect("zstd").read_to_string(&mut text)
    } else {
        { bytes }.read_to_string(&mut text)
    };
    read.expect("whole and UTF-8");
    text
}

/// Lines of all files of records, sorted.
fn lines(files: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let records = files.iter().filter(|(name, _)| name.starts_with("shard-") || name.starts_with("site_"));
    let mut lines: Vec<String> =
        records.flat_map(|(name, bytes)| text(name, bytes).lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.sort_unstable();
    lines
}

const SMALL: [&str; 8] = ["--sites", "5", "--urls-min", "300", "--urls-max", "3000", "--seed", "7"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], more].concat()
}

#[test]
fn workers_change_no_byte_and_shards_no_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let noise = ["--noise", "0.1", "--split", "0.1", "--drop", "0.1", "--truth", "--compress", "zstd"];
    let one = made(&at("one"), &with(&[&noise[..], &["--shards", "5", "-w", "1"]].concat()));
    let three = made(&at("three"), &with(&[&noise[..], &["--shards", "5", "-w", "3"]].concat()));
    assert_eq!(one.keys().collect::<Vec<_>>(), three.keys().collect::<Vec<_>>());
    assert!(one == three, "bytes differ between 1 and 3 workers");
    assert_eq!(one.keys().filter(|k| k.starts_with("shard-")).count(), 5);

    let other = made(&at("other"), &with(&[&noise[..], &["--shards", "2", "-w", "2"]].concat()));
    assert_eq!(lines(&one), lines(&other));
    assert_eq!(one["_truth_rules.json"], other["_truth_rules.json"]);
    let again = made(&at("again"), &["--sites", "5", "--urls-max", "3000", "--urls-min", "300", "--seed", "8"]);
    assert_ne!(lines(&one), lines(&again));

    // _truth.tsv.gz goes with the shards line by line.
    let shards = one.iter().filter(|(name, _)| name.starts_with("shard-"));
    let seen: Vec<String> =
        shards.flat_map(|(n, b)| text(n, b).lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let truth = text("_truth.tsv.gz", &one["_truth.tsv.gz"]);
    assert_eq!(seen.len(), truth.lines().count());
    let mut wrong = 0;
    for (a, b) in seen.iter().zip(truth.lines()) {
        let (a, b) = (a.split_once('\t').expect("two columns"), b.split_once('\t').expect("two columns"));
        assert_eq!(a.0, b.0);
        wrong += usize::from(a.1 != b.1);
    }
    let manifest: serde_json::Value = serde_json::from_slice(&one["_manifest.json"]).expect("JSON");
    assert_eq!(manifest["counts"]["urls"], seen.len());
    assert_eq!(manifest["counts"]["mislabelled"], wrong);
    assert!(wrong * 20 > seen.len(), "{wrong} of {} mislabelled", seen.len());
}

#[test]
fn sites_are_spread_over_the_shards_and_labelled_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = made(&folder.path().join("out"), &with(&["--shards", "3", "--site-label", "--compress", "gzip"]));
    let mut urls = BTreeSet::new();
    for (name, bytes) in files.iter().filter(|(name, _)| name.starts_with("shard-")) {
        assert!(name.ends_with(".tsv.gz"), "{name}");
        let text = text(name, bytes);
        let sites: BTreeSet<&str> = text.lines().filter_map(|line| line.split('\t').nth(2)).collect();
        assert_eq!(sites.len(), 5, "{name}: {sites:?}");
        for line in text.lines() {
            assert!(urls.insert(line.split('\t').next().expect("a URL").to_owned()), "{line} comes twice");
        }
    }
    let truth: serde_json::Value = serde_json::from_slice(&files["_truth_rules.json"]).expect("JSON");
    let total: u64 = truth.as_array().expect("sites").iter().filter_map(|site| site["urls"].as_u64()).sum();
    assert_eq!(total, urls.len() as u64);
}

#[test]
fn a_file_a_site_holds_the_records_of_the_shards() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let shards = made(&at("shards"), &SMALL);
    let sites = made(&at("sites"), &with(&["--per-site"]));
    assert_eq!(lines(&shards), lines(&sites));
    let noisy = made(&at("noisy"), &with(&["--per-site", "--noise", "0.2"]));
    for (name, bytes) in noisy.iter().filter(|(name, _)| name.starts_with("site_")) {
        let text = text(name, bytes);
        assert!(text.lines().all(|line| line.split('\t').count() == 3), "{name}");
    }
    let json = made(&at("json"), &with(&["--per-site", "--format", "jsonl"]));
    assert!(json.contains_key("site_0004.jsonl"));
    let total = made(&at("total"), &with(&["--total-urls", "12345"]));
    assert_eq!(lines(&total).len(), 12_345);
}

#[test]
fn a_folder_in_use_is_refused_and_overwritten_only_where_it_is_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let first = made(&out, &with(&["--shards", "9"]));
    let refused = |args: &[&str], says: &str| {
        let output = synth(&out, args);
        assert!(!output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains(says), "{stderr}");
    };
    refused(&SMALL, "--overwrite");
    assert_eq!(files(&out), first, "a refusal touches nothing");
    let second = made(&out, &with(&["--shards", "2", "--overwrite"]));
    assert_eq!(second.keys().filter(|k| k.starts_with("shard-")).count(), 2);
    assert_eq!(lines(&first), lines(&second));
    std::fs::write(out.join("notes.txt"), "mine").expect("written");
    refused(&with(&["--overwrite"]), "notes.txt");
    assert_eq!(files(&out).len(), second.len() + 1);
    refused(&with(&["--types", "stroy"]), "known: archive");
}

#[cfg(unix)]
#[test]
fn a_run_that_fails_or_is_killed_leaves_no_shard_and_no_manifest() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let job = with(&["--shards", "1", "--out"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 20; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_undust"), "synth"]).args(&job).arg(&out);
    let failed = shell.output().expect("a shell");
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(failed.status.code() == Some(1) && said.contains("too large"), "{said}");
    assert!(files(&out).is_empty());

    let mut long = Command::new(env!("CARGO_BIN_EXE_undust"));
    long.args(["synth", "--sites", "100000", "--shards", "1", "--overwrite", "--out"]).arg(&out).stderr(Stdio::null());
    let mut long = long.spawn().expect("a process");
    let is_partial = |name: &str| name.starts_with(".shard-0000.tsv.") && name.ends_with(".partial");
    let is_begun = || {
        let mut entries = std::fs::read_dir(&out).expect("made");
        entries.any(|entry| is_partial(&entry.expect("readable").file_name().to_string_lossy()))
    };
    let until = Instant::now() + Duration::from_secs(60);
    while !is_begun() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    long.kill().expect("alive");
    long.wait().expect("an end");
    let left: Vec<String> = files(&out).into_keys().collect();
    let [partial, lock] = left.as_slice() else { panic!("{left:?}") };
    assert!(lock == ".undust-lock" && is_partial(partial), "{left:?}");
    let whole = made(&out, &with(&["--shards", "1", "--overwrite"]));
    assert_eq!(whole.keys().collect::<Vec<_>>(), ["_manifest.json", "_truth_rules.json", "shard-0000.tsv"]);
}
