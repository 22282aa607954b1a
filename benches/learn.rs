//! Cost of learning one site, stage by stage: processor time of this thread, the mean of several runs
//! (some kernels count it in ticks of 4 ms, so a least would be too low).
//!
//! Always: a synthetic site of 70,000 URLs, one of 100,000 rows and 150 query keys, one of 100,000
//! distinct query keys, one cluster of 100,000 URLs. `UNDUST_LEARN_FILES=a.jsonl.gz,b.jsonl` adds
//! corpora, each taken as one site; `UNDUST_LEARN_ONLY=NAME` keeps one of all; `UNDUST_LEARN_RUNS=N`
//! sets the runs. Behind rows and keys stands a hash of the rules and counts: what must not change when
//! only speed is worked on. `UNDUST_LEARN_DUMP=DIR` writes these as text.
#![allow(clippy::print_stdout)]
use std::io::Read;
use undust::model::hash64;
use undust::site::columns::Columns;
use undust::site::covering::Covering;
use undust::site::forms::{self, Forms};
use undust::site::{Params, Training, energy, prepare, select};
use undust::synth::{self, Options, parts::Parts};

/// Records of one site: URL, label, points elsewhere.
type Records = Vec<(Vec<u8>, Option<Vec<u8>>, bool)>;
/// Records of one site, borrowed: URL, label, points elsewhere.
type Borrowed<'a> = (&'a [u8], Option<&'a [u8]>, bool);
/// Name of a site and how it is made.
type Site = (&'static str, fn() -> Records);

fn main() {
    let var = |name: &str| std::env::var(name).ok();
    let runs: usize = var("UNDUST_LEARN_RUNS").and_then(|n| n.parse().ok()).unwrap_or(5);
    let only = var("UNDUST_LEARN_ONLY");
    println!("{:<22}{:>8}{:>8}", "milliseconds", "rows", "keys");
    println!("    {}", STAGES.iter().map(|s| format!("{s:>10}")).collect::<String>());
    let files = var("UNDUST_LEARN_FILES").unwrap_or_default();
    let file_names = files.split(',').filter(|f| !f.is_empty()).map(|f| (f.to_owned(), None));
    for (name, make) in SITES.iter().map(|(n, make)| ((*n).to_owned(), Some(*make))).chain(file_names) {
        let short = name.rsplit('/').next().unwrap_or(&name).to_owned();
        if only.as_ref().is_some_and(|o| *o != short) {
            continue;
        }
        let records = make.map_or_else(|| read(&name), |make: fn() -> Records| make());
        site(&short, &records, runs, var("UNDUST_LEARN_DUMP").as_deref());
    }
}

const SITES: [Site; 5] = [
    ("synth-70000", || synthetic(70_000, 5)),
    ("synth-noisy", || synthetic(70_000, 11)),
    ("keys-150", || many_keys(100_000, 150)),
    ("keys-100000", rare_keys),
    ("one-cluster", || synthetic(100_000, 7).into_iter().map(|r| (r.0, Some(b"1".to_vec()), false)).collect()),
];

/// A synthetic site of `rows` URLs; seed 11 has label noise.
fn synthetic(rows: u64, seed: u64) -> Records {
    let noise = if seed == 11 { 0.02 } else { 0.0 };
    let options = Options { seed, sites: 1, urls_min: rows, urls_max: rows, noise, split: noise, ..Options::default() };
    let plan = synth::plan(&options).expect("parameters that make a corpus").remove(0);
    let mut parts = Parts::default();
    (0..plan.rows())
        .map(|at| {
            let mut url = Vec::new();
            let row = plan.record(at, &mut parts, &mut url);
            (url, Some(format!("{}{}", row.label, if row.half { "b" } else { "" }).into_bytes()), false)
        })
        .collect()
}

/// URLs with six of `keys` query keys each; two URLs a cluster that differ in a session id.
fn many_keys(rows: u64, keys: u64) -> Records {
    (0..rows)
        .map(|at| {
            let page = at / 2;
            let mut url = format!("http://example.org/list{}?id={page}", page % 7);
            for i in 0..6 {
                let key = hash64(&(page * 6 + i).to_le_bytes()) % keys;
                url += &format!("&k{key}={}", hash64(&(page * 6 + i + 1).to_le_bytes()) % 50);
            }
            url += &format!("&sid={:x}", hash64(&at.to_le_bytes()));
            (url.into_bytes(), Some(page.to_string().into_bytes()), false)
        })
        .collect()
}

/// 100,000 URLs, each with a query key of its own.
fn rare_keys() -> Records {
    (0..100_000u64)
        .map(|at| {
            let url = format!("http://example.org/p/{}?q{at}=1&x={}", at / 2, at % 3);
            (url.into_bytes(), Some((at / 2).to_string().into_bytes()), false)
        })
        .collect()
}

/// A corpus in JSON lines, plain or gzip.
fn read(path: &str) -> Records {
    let bytes = std::fs::read(path).expect("a readable file");
    let mut text = String::new();
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("gzip of UTF-8"),
        false => (&bytes[..]).read_to_string(&mut text).expect("UTF-8"),
    };
    text.lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let text = |c: &serde_json::Value| c.as_str().map_or_else(|| c.to_string(), str::to_owned).into_bytes();
            let label = value.get("cluster").map(text);
            (value["url"].as_str().expect("a URL").as_bytes().to_vec(), label, false)
        })
        .collect()
}

const STAGES: [&str; 11] =
    ["training", "columns", "covering", "levels", "tree", "forms", "prepare", "walk", "select", "finish", "learn"];

/// Measures one site and prints its lines.
fn site(name: &str, records: &Records, runs: usize, dump: Option<&str>) {
    let refs: Vec<Borrowed> = records.iter().map(|r| (r.0.as_slice(), r.1.as_deref(), r.2)).collect();
    let mut mean = [0.0; STAGES.len()];
    let mut shape = (0, 0);
    let mut text = String::new();
    let thresholds = Params::default().thresholds;
    for _ in 0..runs {
        let mut row = [0.0; STAGES.len()];
        let training = timed(&mut row[0], || Training::new("example.org", refs.iter().copied()));
        let before = resident();
        let columns = timed(&mut row[1], || Columns::new(&training, Default::default(), &thresholds));
        if std::env::var_os("UNDUST_LEARN_MEMORY").is_some() {
            println!("{name}: resident bytes a row with columns {}", (resident() - before) / training.len() as i64);
        }
        shape = (columns.len(), columns.keys.len());
        let mut covering = timed(&mut row[2], || Covering::new(columns, &thresholds));
        timed(&mut row[3], || covering.run());
        let tree = timed(&mut row[4], || forms::tree(&covering));
        let mut forms = timed(&mut row[5], || Forms::new(&covering, &tree, [0, 0]));
        let energy = energy::walk(&forms.graph());
        timed(&mut row[8], || select::select(&mut forms, &covering.columns, &energy));
        drop((covering, tree, forms));
        let prepared = timed(&mut row[6], || prepare(training, &Params::default()));
        let energy = timed(&mut row[7], || energy::walk(prepared.graph()));
        let outcome = timed(&mut row[9], || prepared.select_rules(&energy).refine_rules());
        row[10] = row[0] + row[6] + row[7] + row[9];
        text = serde_json::to_string_pretty(&(&outcome.rules, &outcome.counts)).expect("rules are text");
        mean.iter_mut().zip(row).for_each(|(mean, new)| *mean += new / runs as f64);
    }
    println!("{name:<22}{:>8}{:>8}  {:016x}", shape.0, shape.1, hash64(text.as_bytes()));
    println!("    {}", mean.iter().map(|ms| format!("{ms:>10.1}")).collect::<String>());
    if let Some(dir) = dump {
        std::fs::write(format!("{dir}/{name}.json"), text).expect("a writable folder");
    }
}

/// Runs `work` and sets `ms` to its processor time.
fn timed<T>(ms: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = on_cpu();
    let out = work();
    *ms = (on_cpu() - start) / 1e6;
    out
}

/// Nanoseconds this thread has run: other work on the machine does not count. Linux only.
fn on_cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with scheduler statistics");
    text.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
}

/// Resident bytes of the process.
fn resident() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    text.split_whitespace().nth(1).and_then(|n| n.parse::<i64>().ok()).expect("a number") * 4096
}
