//! Methods outside of this program: `compare --predictions` and `compare --split`.

use super::dataflow_support::{Memory, Owned};
use super::jobs_run::{Folder, run_with, undust};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use undust::baselines::name::Label;
use undust::baselines::outside::{Outside, Reading};
use undust::baselines::protocol::Plan;
use undust::baselines::results::Protocol;
use undust::baselines::{Name, Setup};
use undust::dataflow::compare::{self, Job};
use undust::model::SiteBy;

/// A site in each of three shards: a session id that makes no difference, and one page of its own a
/// site.
fn crawl(folder: &Folder) {
    std::fs::create_dir(folder.path("in")).unwrap();
    for (at, site) in ["a.example.com", "b.example.org", "c.example.net"].into_iter().enumerate() {
        let mut text = String::new();
        for id in 0..60 {
            for url in [format!("http://{site}/p?id={id}"), format!("http://{site}/p?id={id}&sid=x{}", id * 7)] {
                text.push_str(&format!("{url}\t{site} {id}\n"));
            }
        }
        text.push_str(&format!("http://{site}/q\t{site} q\nhttp://{site}/unlabelled\n"));
        folder.write(&format!("in/{at}.tsv"), text.as_bytes());
    }
}

/// URLs of a file of a split.
fn urls(folder: &Folder, name: &str) -> Vec<String> {
    let url = |line: &str| serde_json::from_str::<Value>(line).unwrap()["url"].as_str().unwrap().to_owned();
    folder.text(name).lines().map(url).collect()
}

/// Counts of a method at one rate, by site and seed.
fn counts(folder: &Folder, out: &str, method: &str, rate: usize) -> BTreeMap<(String, u64), Value> {
    let comparison: Value = serde_json::from_str(&folder.text(&format!("{out}/comparison.json"))).unwrap();
    let mut found = BTreeMap::new();
    for site in comparison["sites"].as_array().unwrap() {
        for run in site["runs"].as_array().unwrap().iter().filter(|run| run["method"] == method) {
            let key = (site["site"].as_str().unwrap().to_owned(), run["seed"].as_u64().unwrap());
            found.insert(key, run["fits"][rate]["counts"].clone());
        }
    }
    assert!(!found.is_empty(), "{method} is in {out}");
    found
}

/// The row of a table, by its first cells.
#[track_caller]
fn row(folder: &Folder, file: &str, starts: &str) -> String {
    let table = folder.text(file);
    table.lines().find(|line| line.starts_with(starts)).unwrap_or_else(|| panic!("{starts}: {table}")).to_owned()
}

/// Faults of a case: a file of records, predictions, and the rows of two tables or the message of a
/// failure.
fn wrong(path: &Path) -> Vec<String> {
    let case = std::fs::read_to_string(path).expect("text");
    let parts: BTreeMap<&str, &str> = case.split("\n[").skip(1).filter_map(|part| part.split_once("]\n")).collect();
    let folder = Folder::with_rules();
    folder.write("in.tsv", parts["records"].as_bytes());
    folder.write("p.tsv", (parts["predictions"].to_owned() + "\n").as_bytes());
    let ran = folder.said("compare in.tsv --methods keep-all --fpr-max 0.01 --predictions peer=p.tsv --out out");
    let mut found = Vec::new();
    if let Some(words) = parts.get("fails") {
        if ran.code != 1 || !ran.err.contains(words.trim_end()) || folder.path("out/_SUCCESS").exists() {
            found.push(format!("left with {}: {}", ran.code, ran.err));
        }
    } else if ran.code != 0 {
        found.push(ran.err);
    } else {
        for line in parts["tables"].lines().filter(|line| !line.is_empty()) {
            let (file, wanted) = line.split_once(": ").expect("file: row");
            let name = wanted.split(',').next().expect("a name").to_owned() + ",";
            let got = row(&folder, &format!("out/{file}"), &name);
            if got != wanted {
                found.push(format!("{got} is not {wanted}"));
            }
        }
    }
    found
}

#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/baselines/predictions");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("cases").map(|entry| entry.expect("a case").path()).collect();
    paths.sort();
    assert!(paths.len() >= 13, "{paths:?}");
    let all = |path: &std::path::PathBuf| {
        wrong(path).into_iter().map(move |what| format!("{}: {what}", path.display())).collect::<Vec<_>>()
    };
    let found: Vec<String> = paths.iter().flat_map(all).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn predictions_are_scored_alike_on_any_number_of_workers() {
    let folder = Folder::with_rules();
    crawl(&folder);
    let all = "a.example.com b.example.org c.example.net".split(' ').flat_map(|site| {
        (0..60).map(move |id| format!("http://{site}/p?id={id}&sid=x{}\thttp://{site}/p?id={id}\n", id * 7))
    });
    let all: String = all.collect::<String>() + "http://elsewhere.example/\tx\nno prediction\n";
    folder.write("p.tsv", all.as_bytes());
    let mut first: Option<Vec<(String, String)>> = None;
    for workers in 1..=4 {
        let line = "compare in --methods keep-all,undust --train-share 0.5 --seeds 1,2 --fpr-max 0,0.01 --predictions peer=p.tsv";
        let said = folder.said(&format!("{line} -w {workers} --out out-{workers}")).done();
        assert!(said.contains("Predictions of outside methods"), "{said}");
        assert_eq!(row(&folder, &format!("out-{workers}/predictions.csv"), "peer"), "peer,all,181,1,0,1,183");
        // Two of the 123 URLs of a site are of pages of their own; of the pairs of all others one URL is
        // saved.
        assert!(row(&folder, &format!("out-{workers}/methods.csv"), "peer").contains(",1.0000"));
        let names = ["comparison.json", "methods.csv", "predictions.csv", "sites.csv", "tables.txt", "rejects.jsonl"];
        let files: Vec<(String, String)> =
            names.map(|n| (n.to_owned(), folder.text(&format!("out-{workers}/{n}")))).into();
        assert_eq!(*first.get_or_insert_with(|| files.clone()), files, "{workers} workers");
        let page = folder.text(&format!("out-{workers}/report.html"));
        assert!(page.contains("id=\"predictions\"") && page.contains("61 URLs without a prediction"));
        let times = folder.text(&format!("out-{workers}/times.json"));
        assert!(times.contains("keep-all") && !times.contains("peer"), "look-ups are not timed");
    }
    let rejected = folder.text("out-1/rejects.jsonl");
    assert!(
        rejected.contains("\"reason\":\"not-http\",\"file\":\"p.tsv\"") && rejected.contains("\"line\":182"),
        "{rejected}"
    );
    // The page again, from the folder alone.
    let page = folder.text("out-1/report.html");
    folder.said("report out-1").done();
    assert_eq!(folder.text("out-1/report.html"), page);
}

/// Predictions may come compressed, or by standard input.
#[test]
fn predictions_come_as_gzip_zstd_and_standard_input() {
    let folder = Folder::with_rules();
    folder.write("in.tsv", b"http://a.example/1\tx\nhttp://a.example/2\tx\nhttp://a.example/3\ty\n");
    let lines = b"http://a.example/1\thttp://a.example/2\n";
    let rules = "compare in.tsv --methods keep-all --fpr-max 0.01 -q";
    folder.write("p.tsv", lines);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, lines).unwrap();
    folder.write("p.gz", &gzip.finish().unwrap());
    folder.write("p.zst", &zstd::encode_all(&lines[..], 1).unwrap());
    for (at, name) in ["p.tsv", "p.gz", "p.zst", "-"].into_iter().enumerate() {
        let line = format!("{rules} --predictions peer={name} --out out-{at}");
        let mut command = undust(&line.split(' ').collect::<Vec<_>>());
        command.current_dir(folder.path(""));
        run_with(command, lines).done();
        assert_eq!(folder.text(&format!("out-{at}/comparison.json")), folder.text("out-0/comparison.json"));
    }
    assert!(row(&folder, "out-0/predictions.csv", "peer").ends_with(",1,0,0,0,2"));
    let twice = folder.said(&format!("{rules} --predictions a=- --predictions b=- --out no")).failed(2);
    assert!(twice.contains("standard input is read once"), "{twice}");
    let both = "compare - --format tsv --methods keep-all --predictions a=- --out no";
    assert!(folder.said(both).failed(2).contains("standard input is read once"));
}

/// Two runs of one method or sample would be summed as if they were two sites.
#[test]
fn methods_and_seeds_are_named_once() {
    let folder = Folder::with_rules();
    // Nothing is read: the input is not there.
    for (options, words) in [
        ("--methods undust,keep-all,undust", "--methods: undust is there twice"),
        ("--seeds 1,2,1", "--seeds: 1 is there twice"),
        ("--protocol sigir2017 --seeds 7,7", "--seeds: 7 is there twice"),
        ("--predictions Undust=p.tsv", "that no method of undust has"),
        ("--predictions Net=p.tsv --predictions net=p.tsv", "Net, net: the names differ in case alone"),
    ] {
        let said = folder.said(&format!("compare none.tsv {options} --out out")).failed(2);
        assert!(said.contains(words), "{options}: {said}");
    }
    assert!(!folder.path("out").exists());
}

#[test]
fn more_predictions_than_fit_into_memory_are_an_error() {
    let folder = Folder::with_rules();
    crawl(&folder);
    let lines: String = (0..5_000).map(|id| format!("http://a.example.com/p?id={id}\tx\n")).collect();
    folder.write("p.tsv", lines.as_bytes());
    let line = "compare in --methods keep-all --fpr-max 0.01 --predictions peer=p.tsv --out out --memory";
    let said = folder.said(&format!("{line} 100KiB")).failed(1);
    assert!(said.contains("p.tsv") && said.contains("--memory"), "{said}");
    folder.said(&format!("{line} 10MiB")).done();
}

/// An identity scores as keep-all, undust from the files of the split as undust, seed by seed, under
/// both protocols.
#[test]
fn round_trips() {
    let folder = Folder::with_rules();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kb-sample.jsonl.gz");
    for (protocol, seeds) in [("www10", &[3, 5][..]), ("sigir2017", &[3])] {
        let plan = format!("compare {sample} --protocol {protocol} --seeds 3,5");
        folder.said(&format!("{plan} --split {protocol} -w 2")).done();
        let summary: Value = serde_json::from_str(&folder.text(&format!("{protocol}/split.json"))).unwrap();
        assert_eq!(summary["seeds"], serde_json::json!(seeds));
        let test = urls(&folder, &format!("{protocol}/test.jsonl"));
        assert_eq!(summary["sites"][0]["test"], test.len());
        let identity: String = test.iter().map(|url| format!("{url}\t{url}\n")).collect();
        folder.write("identity.tsv", identity.as_bytes());
        folder.write("test.txt", test.join("\n").as_bytes());
        let mut more = String::new();
        for (at, seed) in seeds.iter().enumerate() {
            let train = urls(&folder, &format!("{protocol}/train-{seed}.jsonl"));
            assert_eq!(summary["sites"][0]["train"][at], train.len());
            let rules = format!("{protocol}-rules-{seed}");
            folder
                .said(&format!("learn {protocol}/train-{seed}.jsonl --fpr-max 0.01 -q --no-held-out --out {rules}"))
                .done();
            folder.said(&format!("normalize --rules {rules} --output tsv -q -o {rules}.tsv test.txt")).done();
            more += &format!(" --predictions again@{seed}={rules}.tsv");
        }
        let methods = "--methods keep-all,undust --fpr-max 0,0.01 -q --predictions identity=identity.tsv";
        folder.said(&format!("{plan} {methods}{more} --out out-{protocol}")).done();
        let out = format!("out-{protocol}");
        for rate in [0, 1] {
            assert_eq!(counts(&folder, &out, "identity", rate), counts(&folder, &out, "keep-all", rate));
        }
        let (again, own) = (counts(&folder, &out, "again", 1), counts(&folder, &out, "undust", 1));
        assert_eq!(again, own, "{protocol}");
        assert!(own.values().all(|counts| counts["rewritten"].as_u64() > Some(0)), "{own:?}");
        if seeds.len() > 1 {
            let of = |seed| again.iter().filter(|(key, _)| key.1 == seed).map(|(_, counts)| counts).collect::<Vec<_>>();
            assert_ne!(of(0), of(1), "other rules for another seed");
        }
    }
}

#[test]
fn a_split_is_whole_and_the_same_on_any_number_of_workers() {
    let folder = Folder::with_rules();
    crawl(&folder);
    folder.write(
        "in/3.jsonl",
        b"{\"url\":\"http://d.example/1\",\"cluster\":\"\\\"1\",\"redirect\":\"http://d.example/2\"}\nbad\n",
    );
    let names = ["split.json", "test.jsonl", "train-1.jsonl", "train-2.jsonl", "rejects.jsonl", "_SUCCESS"];
    let mut first: Option<Vec<String>> = None;
    for workers in 1..=4 {
        folder.said(&format!("compare in --seeds 1,2 --train-share 0.5 --split out-{workers} -w {workers} -q")).done();
        let files: Vec<String> = names.map(|name| folder.text(&format!("out-{workers}/{name}"))).into();
        assert_eq!(*first.get_or_insert_with(|| files.clone()), files, "{workers} workers");
    }
    let test = folder.text("out-1/test.jsonl");
    assert!(
        test.contains("{\"cluster\":\"\\\"1\",\"url\":\"http://d.example/1\",\"site\":\"d.example\",\"status\":302}\n")
    );
    assert_eq!(test.lines().count(), 3 * 121 + 1);
    assert!(!test.contains("/unlabelled"));
    let summary: Value = serde_json::from_str(&folder.text("out-1/split.json")).unwrap();
    assert_eq!(
        (&summary["unlabelled"], &summary["rejected"], &summary["protocol"]),
        (&3.into(), &1.into(), &"www10".into())
    );
    let lines =
        |seed: usize| folder.text(&format!("out-1/train-{seed}.jsonl")).lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(lines(1).len() > 120 && lines(1).len() < 250 && lines(1) != lines(2));
    assert!(lines(1).iter().all(|line| test.contains(&format!("{line}\n"))));
    // What is there stays; nothing else goes with it.
    let again = folder.said("compare in --split out-1").failed(2);
    assert!(again.contains("out-1 is not empty"), "{again}");
    for more in ["--out o", "--methods undust", "--predictions a=b"] {
        folder.said(&format!("compare in --split out-9 {more}")).failed(2);
    }
    folder.said("compare in").failed(2);
    folder.write("none.tsv", b"http://a.example/\n");
    assert!(folder.said("compare none.tsv --split none").failed(1).contains("none of 1 records has a label"));
    assert!(!folder.path("none/_SUCCESS").exists());
}

/// Predictions and times of other records end a run before any method starts, on any number of workers.
#[test]
fn predictions_and_times_of_other_records_stop_a_run_before_its_methods() {
    let records: Vec<Owned> = ('a'..='e').map(|site| Owned::new(format!("http://{site}.example/1"), "x")).collect();
    let source = Arc::new(Memory { records: Arc::new(records), batch: 1 });
    let run = |url: &str, timed: &str, workers: usize| {
        let mut reading = Reading::default();
        reading.add(url.as_bytes(), b"x", 1);
        let predictions = Arc::new(reading.finish(0).expect("no conflict"));
        let label = Label::new("net").expect("a label");
        let setup = Setup { outside: [(label, Outside([(None, predictions)].into()))].into(), ..Setup::default() };
        let called = Arc::new(AtomicBool::new(false));
        let clock = called.clone();
        let job = Job {
            plan: Plan {
                protocol: Protocol::Www10,
                methods: vec![Name::KeepAll, Name::Outside(label)],
                setup,
                fpr_max: vec![0.01],
                headline: 0,
                seeds: vec![1],
                train_share: 0.5,
                train_max: 9,
                crawl: (15_000, 5_000),
            },
            site_by: SiteBy::Domain,
            shards: workers,
            local: false,
            workers,
            memory: 1 << 20,
            clock: Arc::new(move || {
                clock.store(true, Ordering::Relaxed);
                0.0
            }),
            timed: vec![timed.to_owned()],
        };
        let said =
            compare::run(&job, source.clone(), None).map_or_else(|error| error.to_string(), |_| "done".to_owned());
        (said, called.load(Ordering::Relaxed))
    };
    let sites = "the sites of the records: a.example, b.example, c.example and 2 more";
    for workers in 1..=3 {
        let (said, started) = run("http://z.example/1", "a.example", workers);
        assert!(said.contains("none of its 1 URLs is that of a labelled record") && said.ends_with(sites), "{said}");
        assert!(!started, "{workers} workers");
        let (said, started) = run("http://e.example/1", "z.example", workers);
        assert!(said.starts_with("a time on site \"z.example\", which no") && said.ends_with(sites), "{said}");
        assert!(!started, "{workers} workers");
        assert_eq!(run("http://e.example/1", "d.example", workers), ("done".to_owned(), true));
    }
}
