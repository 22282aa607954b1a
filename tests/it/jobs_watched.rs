//! What a long job shows of itself: `--log-format json` and `--metrics`.

use crate::jobs_run::{Folder, Ran, run, signal, undust, wait_for};
use crate::prometheus_text::{Samples, parse};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Rows of the tables of docs/operations.md whose first cell is code: that cell, and the code in the
/// others.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(name, rest)| (name.to_owned(), rest.split('`').skip(1).step_by(2).map(str::to_owned).collect()))
        .collect()
}

/// The events of a log. Each line is one object with the fields that the document gives its event, and
/// no others.
#[track_caller]
fn events(log: &str) -> Vec<Map<String, Value>> {
    let documented = documented();
    let events: Vec<Map<String, Value>> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect();
    for event in &events {
        let name = event["event"].as_str().unwrap();
        let row = documented.get(name).unwrap_or_else(|| panic!("{name} is not in docs/operations.md"));
        assert!(row.contains(event["level"].as_str().unwrap()), "{event:?}");
        let time = event["time"].as_str().unwrap();
        let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00.000Z");
        assert!(event["message"].as_str().unwrap().chars().all(|c| !c.is_control() || c == '\n'));
        let common = ["time", "level", "event", "message"];
        for field in event.keys().filter(|field| !common.contains(&field.as_str())) {
            assert!(row.contains(field), "{name}: {field} is not in docs/operations.md");
        }
    }
    events
}

fn names(events: &[Map<String, Value>]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

/// The last event of a run that ends with this code, which is the only one that says so.
#[track_caller]
fn last(ran: &Ran, code: i32) -> Map<String, Value> {
    assert_eq!(ran.code, code, "{}", ran.err);
    let events = events(&ran.err);
    let with_code = events.iter().filter(|event| event.contains_key("exit_code")).count();
    let last = events.last().unwrap().clone();
    assert_eq!((with_code, last["exit_code"].as_i64()), (1, Some(code.into())), "{}", ran.err);
    last
}

/// Records of two sites in which one rule holds, and as many bad lines as asked for, hostile in what
/// they hold.
fn records(bad: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for n in 0..40 {
        for (site, extra) in [("a", ""), ("a", "?utm_source=x"), ("b", ""), ("b", "?sid=7")] {
            writeln!(text, "http://{site}.example/page{n}{extra}\t{site}{n}").unwrap();
        }
    }
    for n in 0..bad {
        // No cluster, and what would end a line of JSON, a label of a metric, or drive a terminal.
        writeln!(text, "http://a.example/{n}\"}}\\ \u{1b}[2J\u{2028}{{level:\tx\ty\tz\tzz").unwrap();
    }
    text
}

fn learn(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut command = undust(&["learn", "records.tsv"]);
    command.args(arguments).current_dir(folder.path(""));
    run(command)
}

fn metrics(path: &Path) -> Samples {
    let text = std::fs::read_to_string(path).unwrap();
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn every_line_of_a_json_log_is_a_documented_event() {
    let folder = Folder::with_rules();
    folder.write("records.tsv", &records(3));
    let ran = learn(&folder, &["--out", "o", "--log-format", "json"]);
    assert_eq!(last(&ran, 0)["event"], "end");
    let started = events(&ran.err).remove(0);
    assert_eq!((&started["event"], &started["command"]), (&"start".into(), &"learn".into()));
    assert_eq!(started["version"], env!("CARGO_PKG_VERSION"));

    // Failures of all kinds: a run, a limit, the command line before and behind the option, hostile
    // arguments.
    folder.write("records.tsv", &records(100));
    let refused = learn(&folder, &["--out", "o2", "--log-format", "json", "--max-rejects", "1"]);
    assert_eq!(last(&refused, 4)["level"], "error");
    folder.write("records.tsv", b"http://a.example/\n\"}\\\x1b[2J\xe2\x80\xa8\tx\ty\tz\n");
    let ran = learn(&folder, &["--out", "o3", "--log-format", "json"]);
    assert!(names(&events(&ran.err)).contains(&"message"), "{}", ran.err);
    last(&ran, 1);
    for bad in ["--no-such-option", "\u{1b}[2J\n\"}", "--workers=\n{\"level\":\"info\"}"] {
        last(&learn(&folder, &["--out", "o4", "--log-format=json", bad, "--train-max", "0"]), 2);
    }
}

#[test]
fn a_quiet_job_says_nothing_but_why_it_failed() {
    let folder = Folder::with_rules();
    folder.write("urls.txt", b"http://a.example/\n");
    let job =
        |rules: &[&str]| run(folder.job("normalize", &[rules, &["urls.txt", "-q", "--log-format", "json"]].concat()));
    let ran = job(&[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let ran = job(&["--overrides", "missing"]);
    assert_eq!(names(&events(&ran.err)), ["error"]);
    last(&ran, 2);
}

#[test]
fn results_do_not_depend_on_who_watches() {
    let folder = Folder::with_rules();
    folder.write("records.tsv", &records(3));
    let other = Folder::with_rules();
    other.write("records.tsv", &records(3));
    let plain = learn(&folder, &["--out", "o"]).done();
    let watched = ["--out", "o", "--metrics", "m.prom", "--log-format", "json", "-w", "2"];
    assert_eq!(learn(&other, &watched).done(), plain);
    for name in ["rules.jsonl", "summary.json", "profiles.jsonl", "rejects.jsonl", "report.html", "_SUCCESS"] {
        let read = |of: &Folder| std::fs::read(of.path("o").join(name)).unwrap();
        assert!(read(&folder) == read(&other), "{name}");
    }
}

#[test]
fn metrics_tell_what_was_read_and_how_it_ended() {
    let folder = Folder::with_rules();
    folder.write("records.tsv", &records(3));
    let hostile = "m \"x\\y\nz\u{1b}.prom";
    learn(&folder, &["--out", "o", "--metrics", hostile]).done();
    let samples = metrics(&folder.path(hostile));
    assert_eq!(samples.one("undust_sites"), 2.0);
    assert_eq!(samples.one("undust_rejects_total"), 3.0);
    assert!(samples.one("undust_records_total") >= 320.0, "two passes of 160 records");
    assert!(samples.one("undust_bytes_total") > 6_000.0);
    assert_eq!((samples.one("undust_running"), samples.one("undust_exit_code")), (0.0, 0.0));
    assert!(samples.one("undust_update_time_seconds") >= samples.one("undust_start_time_seconds"));
    if cfg!(target_os = "linux") {
        let (now, peak) =
            (samples.one("undust_memory_resident_bytes"), samples.one("undust_memory_resident_peak_bytes"));
        assert!(now > 1e6 && peak >= now, "{now} {peak}");
    }
    for ((name, labels), value) in &samples.values {
        assert_eq!((labels["command"].as_str(), labels["run"].as_str()), ("learn", "m \"x\\y\nz\u{1b}"), "{name}");
        let last = ["weighing", "proving"].contains(&labels.get("stage").map_or("", String::as_str));
        assert!(name != "undust_stage" || *value == 0.0 || last, "{labels:?}");
    }
    let stages = samples.values.iter().filter(|((name, _), _)| name == "undust_stage");
    assert_eq!(stages.map(|(_, value)| value).sum::<f64>(), 1.0);

    // The document lists what is there, with its kind.
    let documented = documented();
    for (name, kind) in &samples.kinds {
        assert!(documented.contains_key(name), "{name} is not in docs/operations.md");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md");
        let row = format!("| `{name}` | {kind} |");
        assert!(std::fs::read_to_string(path).unwrap().contains(&row), "no row {row}");
    }
    for name in documented.keys().filter(|name| name.starts_with("undust_")) {
        assert!(samples.kinds.contains_key(name), "{name} is in docs/operations.md alone");
    }

    // The same file serves the next run, which fails.
    folder.write("records.tsv", &records(100));
    let refused = learn(&folder, &["--out", "o2", "--metrics", hostile, "--max-rejects", "1"]);
    assert_eq!(refused.code, 4);
    let samples = metrics(&folder.path(hostile));
    assert_eq!((samples.one("undust_exit_code"), samples.one("undust_rejects_total")), (4.0, 100.0));
}

#[test]
fn other_jobs_write_metrics_too() {
    let folder = Folder::with_rules();
    folder.write("records.tsv", &records(2));
    let read = |name: &str| metrics(&folder.path(name));
    run(folder.job("evaluate", &["records.tsv", "--metrics", "e.prom"])).done();
    let samples = read("e.prom");
    assert_eq!((samples.one("undust_records_total"), samples.one("undust_rejects_total")), (160.0, 2.0));
    assert!(samples.one("undust_sites") > 0.0);
    folder.write("urls.txt", b"http://a.example/\nnone\n\nhttp://b.example/\n");
    run(folder.job("normalize", &["urls.txt", "--metrics", "n.prom"])).done();
    let samples = read("n.prom");
    assert_eq!((samples.one("undust_records_total"), samples.one("undust_rejects_total")), (4.0, 1.0));
    let mut command = undust(&["clusters", "records.tsv", "--out", "c.jsonl", "--metrics", "c.prom"]);
    command.current_dir(folder.path(""));
    run(command).done();
    assert_eq!(read("c.prom").one("undust_exit_code"), 0.0);
}

#[test]
fn a_path_that_cannot_be_is_refused_before_the_run() {
    let folder = Folder::with_rules();
    folder.write("records.tsv", &records(0));
    folder.write("notes.txt", b"mine\n");
    std::fs::create_dir(folder.path("out")).unwrap();
    for (path, why) in [
        ("missing/m.prom", "name a file in a folder that is there"),
        ("notes.txt", "not a file that --metrics wrote"),
        ("out", "not a file that --metrics wrote"),
        ("out/m.prom", "in the folder of the results"),
    ] {
        let message = learn(&folder, &["--out", "out", "--metrics", path]).failed(2);
        assert!(message.contains(why), "{message}");
    }
    assert_eq!(std::fs::read(folder.path("notes.txt")).unwrap(), b"mine\n");
    assert_eq!(folder.names(), ["notes.txt", "out", "records.tsv", "rules"]);
    assert_eq!(std::fs::read_dir(folder.path("out")).unwrap().count(), 0);
}

/// A run that is fed slowly is watched past the first interval and ended by a signal.
#[cfg(unix)]
#[test]
fn metrics_of_a_running_job_are_whole_and_renewed() {
    let folder = Folder::with_rules();
    let path = folder.path("m.prom");
    let mut command = folder.job("normalize", &["-", "-w", "1", "--metrics", "m.prom", "--log-format", "json"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    wait_for("the first state", || path.exists());
    let first = metrics(&path);
    assert_eq!((first.one("undust_running"), first.has("undust_exit_code")), (1.0, false));
    let (began, mut reads, mut renewed) = (Instant::now(), 0, None);
    while renewed.is_none() {
        // Blocks go on when they are full; a line of the pipe may wait for others.
        input.write_all("http://a.example/x\n".repeat(20_000).as_bytes()).unwrap();
        let samples = metrics(&path);
        reads += 1;
        assert!(began.elapsed() < Duration::from_secs(60), "not renewed in {reads} reads");
        let update = "undust_update_time_seconds";
        renewed = (samples.one(update) > first.one(update)).then_some(samples);
        std::thread::sleep(Duration::from_millis(5));
    }
    let renewed = renewed.unwrap();
    assert!(renewed.one("undust_records_total") > 0.0 && renewed.one("undust_running") == 1.0);
    assert!(began.elapsed() > Duration::from_secs(5), "every ten seconds, not sooner");
    // Progress is told at the same pace; one more line of it may still be on its way.
    signal("INT", child.id());
    let output = child.wait_with_output().unwrap();
    drop(input);
    let events = events(std::str::from_utf8(&output.stderr).unwrap());
    assert_eq!(events.last().unwrap()["event"], "interrupt");
    let ended = metrics(&path);
    assert_eq!((ended.one("undust_running"), ended.one("undust_exit_code")), (0.0, 130.0));
}
