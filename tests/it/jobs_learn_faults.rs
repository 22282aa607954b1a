//! `learn` as a process that is killed, that finds the disk full, that has little memory, and that is
//! given bad input.
use super::jobs_run::{Folder, Ran, run, undust};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use undust::io::output::LOCK;

/// The files of a result but the mark.
const FILES: [&str; 5] = ["rules.jsonl", "summary.json", "profiles.jsonl", "rejects.jsonl", "report.html"];

/// Synthetic sites in `crawl`.
fn synth(folder: &Folder, sites: usize, urls: usize) {
    let (sites, urls) = (sites.to_string(), urls.to_string());
    let arguments =
        ["synth", "--out", "crawl", "--sites", &sites, "--total-urls", &urls, "--shards", "3", "--seed", "7"];
    let mut command = undust(&arguments);
    command.current_dir(folder.path(""));
    run(command).done();
}

/// `learn` of `crawl` into `out`, scratch in this folder.
fn learn(folder: &Folder, out: &str, more: &[&str]) -> Command {
    let mut command = undust(&["learn", "crawl", "--out", out, "--scratch", ".", "-q"]);
    command.args(more).current_dir(folder.path("")).stdin(Stdio::null());
    command
}

fn quiet(mut command: Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The bytes of the files of a result.
fn bytes(out: &Path) -> Vec<Option<Vec<u8>>> {
    FILES.iter().map(|name| std::fs::read(out.join(name)).ok()).collect()
}

/// A file under its final name is the whole file, and the mark stands only beside all of them.
fn whole_or_not_there(out: &Path, want: &[Option<Vec<u8>>], when: &str) {
    let got = bytes(out);
    for ((got, want), name) in got.iter().zip(want).zip(FILES) {
        assert!(got.is_none() || got == want, "{name} is half written after a kill {when}");
    }
    assert!(!out.join("_SUCCESS").exists() || got == want, "_SUCCESS without a result after a kill {when}");
}

#[test]
fn killed_at_any_moment_nothing_is_mistaken_for_a_result() {
    let folder = Folder::with_rules();
    synth(&folder, 6, 9_000);
    let began = Instant::now();
    // Cross-fitted, each run would take eight times as long and write the same files.
    run(learn(&folder, "whole", &["--no-held-out"])).done();
    let lasts = began.elapsed();
    let want = bytes(&folder.path("whole"));
    assert!(want.iter().all(Option::is_some));

    const KILLS: u32 = 16;
    let mut unfinished = 0;
    for kill in 0..KILLS {
        let out = folder.path(&format!("time{kill}"));
        let mut child =
            quiet(learn(&folder, out.to_str().unwrap(), &["--no-held-out", "-w", ["1", "2"][kill as usize % 2]]));
        std::thread::sleep(lasts * kill / KILLS);
        child.kill().unwrap();
        child.wait().unwrap();
        whole_or_not_there(&out, &want, &format!("at {kill}/{KILLS} of its time"));
        unfinished += u32::from(!out.join("_SUCCESS").exists());
    }
    assert!(unfinished > 0, "no run was killed before its end");

    // While it writes: as soon as anything is in the folder, and a little later each time.
    for kill in 0..12u32 {
        let out = folder.path(&format!("write{kill}"));
        let mut child = quiet(learn(&folder, out.to_str().unwrap(), &["--no-held-out"]));
        let any = |out: &Path| {
            // The lock is there from the first moment on.
            std::fs::read_dir(out).is_ok_and(|names| names.flatten().any(|name| name.file_name() != LOCK))
        };
        while !any(&out) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_micros(300) * kill);
        child.kill().unwrap();
        child.wait().unwrap();
        whole_or_not_there(&out, &want, &format!("{kill} steps into writing"));
    }
    // What a kill left is refused as input, and told apart from a result by the next run.
    std::fs::create_dir_all(folder.path("time0")).unwrap();
    std::fs::write(folder.path("time0").join("rules.jsonl"), b"").unwrap();
    let said = run(undust(&["explain", "--rules", folder.path("time0").to_str().unwrap(), "http://a/"])).failed(1);
    assert!(said.contains("_SUCCESS"), "{said}");
}

/// Runs with files of at most `blocks` of 512 bytes, as if the disk were full behind them: writing
/// gives an error.
fn limited(folder: &Folder, blocks: usize, arguments: &str) -> Ran {
    let script = format!("ulimit -f {blocks}; exec \"$0\" learn crawl --scratch . -q --no-held-out {arguments}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_undust")]).current_dir(folder.path(""));
    run(command)
}

#[test]
fn a_full_disk_is_an_error_and_no_result() {
    let folder = Folder::with_rules();
    synth(&folder, 3, 6_000);
    let said = limited(&folder, 4, "--out full").failed(1);
    assert!(said.contains("rules.jsonl") && said.contains("full"), "{said}");
    assert!(!folder.path("full/_SUCCESS").exists() && !folder.path("full/rules.jsonl").exists());
    // The scratch folder, where rows are spilled.
    let said = limited(&folder, 4, "--out spilled --memory 64KiB").failed(1);
    assert!(said.contains("scratch folder") && said.contains("--scratch"), "{said}");
    assert!(!folder.path("spilled/_SUCCESS").exists());
    // The same with room ends well.
    limited(&folder, 1 << 20, "--out roomy --memory 64KiB").done();
    assert!(folder.path("roomy/_SUCCESS").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_standard_output_that_takes_nothing_is_an_error_that_names_the_result() {
    let folder = Folder::with_rules();
    folder.write("one.tsv", b"http://a.example/?s=1\t1\nhttp://a.example/?s=2\t1\n");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = undust(&["learn", "one.tsv", "--out", "result", "-q"]);
    let ended = command.current_dir(folder.path("")).stdout(full).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("standard output") && said.contains("the result was written to result"), "{said}");
    assert!(folder.path("result/_SUCCESS").exists());
}

/// Highest resident memory of a `learn`, in MiB; Linux tells it.
#[cfg(target_os = "linux")]
fn peak(folder: &Folder, out: &str, more: &[&str]) -> u64 {
    super::jobs_run::peak_of(quiet(learn(folder, out, more))) >> 20
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_input() {
    let folder = Folder::with_rules();
    // Rows of the proof alone are 40 bytes a URL, records 80: both sizes spill, the larger one 27 MiB of
    // rows more and 55 of records. What grows are the rules, by half a megabyte as a file, and what the
    // allocator keeps (5 to 12 MiB seen), and 3 MiB of cross-fitting.
    synth(&folder, 8, 120_000);
    let small = peak(&folder, "small", &["--memory", "2MiB", "--train-max", "1000", "--no-held-out"]);
    std::fs::rename(folder.path("crawl"), folder.path("crawl.small")).unwrap();
    synth(&folder, 8, 840_000);
    let large = peak(&folder, "large", &["--memory", "2MiB", "--train-max", "1000"]);
    assert!(large < small + 24, "{small} MiB for 120,000 URLs, {large} MiB for 840,000");
    assert!(large < 2 + 300, "{large} MiB with a budget of 2");
}

#[test]
fn input_that_changes_while_it_is_read_is_an_error_and_no_result() {
    use std::io::Write;
    let folder = Folder::with_rules();
    synth(&folder, 6, 9_000);
    let shards = std::fs::read_dir(folder.path("crawl")).unwrap().map(|entry| entry.unwrap().path());
    let shard = shards.filter(|path| path.extension().is_some_and(|of| of == "tsv")).min().unwrap();
    let mut child =
        learn(&folder, "out", &["--no-held-out"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut shard = std::fs::OpenOptions::new().append(true).open(shard).unwrap();
    while child.try_wait().unwrap().is_none() {
        shard.write_all(b"http://a.example/1\t1\n").unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("changed while it was read") && said.contains("run again"), "{said}");
    assert!(bytes(&folder.path("out")).iter().all(Option::is_none), "nothing is written");
}

#[test]
fn bad_input_is_counted_or_told_with_its_path() {
    let folder = Folder::with_rules();
    let learn = |input: &str, more: &[&str]| {
        let _ = std::fs::remove_dir_all(folder.path("out"));
        let mut command = undust(&["learn", input, "--out", "out", "--scratch", ".", "-q"]);
        command.args(more).current_dir(folder.path(""));
        run(command)
    };
    // A folder without shards; what is not there; compressed data cut short.
    std::fs::create_dir(folder.path("empty")).unwrap();
    let said = learn("empty", &[]).failed(1);
    assert!(said.contains("empty"), "{said}");
    let said = learn("absent.tsv", &[]).failed(1);
    assert!(said.contains("absent.tsv"), "{said}");
    let text: Vec<u8> = (0..4000).flat_map(|i| format!("http://a.example/{i}\t{i}\n").into_bytes()).collect();
    let gzip = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = zstd::encode_all(&text[..], 1).unwrap();
    for (name, whole) in [("cut.tsv.gz", gzip), ("cut.tsv.zst", zstd)] {
        folder.write(name, &whole[..whole.len() * 2 / 3]);
        let said = learn(name, &[]).failed(1);
        assert!(said.contains(name), "{said}");
        assert!(!folder.path("out/_SUCCESS").exists() && !folder.path("out/rules.jsonl").exists());
    }
    // Bad lines: counted by reason; more than allowed end with code 4 and no mark.
    let mut lines = text[..text.len() / 2].to_vec();
    lines.truncate(lines.iter().rposition(|&b| b == b'\n').unwrap() + 1);
    lines.extend_from_slice(b"http://a.example/\xff\t1\n\n\t2\nftp://a.example/\t3\nhttp:///x\t4\n");
    lines.extend_from_slice(format!("http://a.example/{}\t5\n", "x".repeat(70_000)).as_bytes());
    lines.extend_from_slice(format!("http://a.example/{}\t6\n", "y".repeat(60 << 10)).as_bytes());
    folder.write("bad.tsv", &lines);
    learn("bad.tsv", &[]).done();
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path("out/summary.json")).unwrap()).unwrap();
    for reason in ["invalid-utf8", "empty-line", "missing-url", "not-http", "no-host", "over-long-line"] {
        assert_eq!(summary["rejects"][reason], 1, "{reason}: {}", summary["rejects"]);
    }
    assert!(std::fs::read_to_string(folder.path("out/rejects.jsonl")).unwrap().contains("bad.tsv"));
    let out = learn("bad.tsv", &["--max-rejects", "3"]);
    assert_eq!(out.code, 4, "{}", out.err);
    assert!(folder.path("out/rules.jsonl").exists() && !folder.path("out/_SUCCESS").exists());
    // A result is not overwritten unasked.
    folder.write("one.tsv", b"http://a.example/\t1\n");
    learn("one.tsv", &[]).done();
    let mut again = undust(&["learn", "one.tsv", "--out", "out", "-q"]);
    again.current_dir(folder.path(""));
    let said = run(again).failed(1);
    assert!(said.contains("out") && said.contains("--overwrite"), "{said}");
}
