//! Opening the rules of many sites: time, and memory that stays.
//!
//! `cargo bench --bench open` writes a rule file of 100,000 sites with six rules each
//! (`UNDUST_BENCH_SITES` for another number), and compiles it: one of sites that have the same rules
//! but for their hosts, as those of the same software, one of 1,000 kinds of sites, and one in which no
//! two are alike. It opens both files as `normalize` does, and prints time, beside that of reading the
//! same bytes alone, bytes a rule, and how fast URLs of all sites are applied, no two of one site after
//! each other. Asked for: open in under 1 s, at most 300 bytes a rule.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use undust::io::rules::OpenedRules;
use undust::rules::file::{self, Header, InputCounts};
use undust::rules::lines::{LineFormat, LineOptions, canonicalize_lines};
use undust::rules::{Batch, Params, RuleSet, Scratch, SiteRules};

#[path = "many/sites.rs"]
mod sites;

use sites::{RULES, key, site};

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if let [path, sites, templates] = given.as_slice()
        && let (Ok(sites), Ok(templates)) = (sites.parse(), templates.parse())
    {
        return measure(Path::new(path), sites, templates);
    }
    let sites: usize = std::env::var("UNDUST_BENCH_SITES").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    for templates in [1, 1000.min(sites), sites] {
        let folder = tempfile::tempdir().expect("a folder for the rule file");
        let path = folder.path().join("rules.jsonl");
        write(&path, sites, templates);
        let compiled = folder.path().join("rules.compiled");
        let start = Instant::now();
        OpenedRules::open(&path, true).and_then(|file| file.write_compiled(&compiled)).expect("compiled rules");
        let took = start.elapsed().as_secs_f64();
        println!("{sites} sites x {RULES} rules, {templates} kinds of sites, compiled in {took:.2} s");
        // Each in a process of its own: what one leaves behind would be room for the other.
        for path in [&path, &compiled] {
            let own = std::env::current_exe().expect("this program");
            let given = [sites, templates].map(|n| n.to_string());
            let done = Command::new(own).arg(path).args(given).status().expect("this program runs");
            assert!(done.success());
        }
    }
}

/// Opens the rules and applies them.
fn measure(path: &Path, sites: usize, templates: usize) {
    let floor = read(path);
    let before = resident();
    let start = Instant::now();
    let rules = RuleSet::open(path).expect("rules");
    let took = start.elapsed().as_secs_f64();
    let kept = resident().saturating_sub(before) as f64 / (sites * RULES) as f64;
    let size = path.metadata().expect("the file just written").len() as f64 / 1e6;
    println!("{}, {size:.0} MB", path.file_name().unwrap_or_default().display());
    println!("  open    {took:>6.2} s (asked: 1 s), reading alone {floor:.2} s: {:.1} x", took / floor);
    println!("  memory  {kept:>6.0} bytes a rule (asked: 300), resident");
    apply(&rules, sites, templates);
}

/// Seconds for reading the file a megabyte at a time: what no reader of it gets under.
fn read(path: &Path) -> f64 {
    let start = Instant::now();
    let mut file = std::fs::File::open(path).expect("the file just written");
    let mut piece = vec![0; 1 << 20];
    while black_box(file.read(&mut piece).expect("a readable file")) > 0 {}
    start.elapsed().as_secs_f64()
}

/// Applies the rules to URLs of all sites, each time to those of another site than before.
fn apply(rules: &RuleSet, sites: usize, templates: usize) {
    let urls: Vec<String> = (0..200_000usize)
        .map(|i| {
            let site = i * 7919 % sites;
            let key = key(site, templates);
            format!("https://site{site}.example/topic/{i}/?utm_source=a{i}&sid={i:x}&page=2&{key}=x")
        })
        .collect();
    let (mut scratch, mut changed, mut best) = (Scratch::default(), 0, f64::MAX);
    let (mut parse, rounds) = (f64::MAX, 5);
    for _ in 0..rounds {
        let start = Instant::now();
        changed =
            urls.iter().filter(|url| rules.apply(url.as_bytes(), None, &mut scratch).url != url.as_bytes()).count();
        best = best.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        urls.iter().for_each(|url| drop(black_box(url::Url::parse(black_box(url)))));
        parse = parse.min(start.elapsed().as_secs_f64());
    }
    assert_eq!(changed, urls.len(), "each of these URLs has something to leave out");
    let each = |time: f64| time * 1e9 / urls.len() as f64;
    println!("  apply   {:>6.0} ns a URL, Url::parse {:.0} ns: {:.2} x", each(best), each(parse), best / parse);
    let (lines, options) = (urls.join("\n").into_bytes(), LineOptions::new(LineFormat::Url));
    let (mut batch, mut output, mut best) = (Batch::default(), Vec::new(), f64::MAX);
    for _ in 0..rounds {
        let start = Instant::now();
        let counts = canonicalize_lines(rules, &options, black_box(&lines), &mut batch, &mut output);
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!(counts.changed as usize, urls.len());
    }
    println!("  lines   {:>6.0} ns a URL, as `normalize` reads and writes them: {:.2} x", each(best), best / parse);
}

/// Resident memory of this process in bytes; several threads open the file, so allocations of one do
/// not tell.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The rule file, as `learn` writes it.
fn write(path: &Path, sites: usize, templates: usize) {
    let mut all: Vec<SiteRules> = (0..sites).map(|n| site(n, templates)).collect();
    all.sort_by(|a, b| a.site.cmp(&b.site));
    let mut out = BufWriter::new(std::fs::File::create(path).expect("a file in the folder"));
    let header = Header::new(Params::default(), InputCounts::default());
    file::write(&header, all.iter(), &mut out).expect("a rule file");
    out.flush().expect("room for the rule file");
}
