//! Applying rules beside `url::Url::parse` on the same URLs, one thread, in one run.
//!
//! `cargo bench --bench apply` learns from the crawl sample of the tests. `UNDUST_BENCH` adds learned
//! rules of one's own: pairs `RULES.jsonl=RECORDS.jsonl.gz`, separated by commas. A figure is the least
//! of many rounds, each a pass over all URLs; the sides take turns, so that a busy machine weighs on
//! all. The column behind the ratio is that of `RuleSet::canonicalize`, which gives a string for each
//! URL that changes; the last is the ratio under a rule set that holds 100,000 other sites of six rules
//! beside these.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::path::Path;
use std::time::{Duration, Instant};
use undust::io::{compression, jsonl};
use undust::model::RecordBatch;
use undust::rules::{Compiler, LoadedSite, Loader, Params, RuleSet, Scratch, SiteRules, file};
use undust::site::{Training, learn};

#[path = "many/sites.rs"]
#[expect(dead_code, reason = "shared with another benchmark")]
mod sites;

/// Time for one set of rules and URLs.
const BUDGET: Duration = Duration::from_secs(3);

fn main() {
    let (url, string, many) = ("Url::parse", "strings", "100,000");
    println!(
        "{:28} {:>8} {:>12} {url:>12} {:>8} {string:>8} {:>8} {many:>8}",
        "rules", "URLs", "apply", "ratio", "changed"
    );
    let sample = records(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kb-sample.jsonl.gz")));
    let rows = sample.iter().map(|r| (r.url, r.cluster, r.elsewhere));
    let learned = learn(Training::new("kb", rows), &Params::default()).rules;
    let without_rules =
        SiteRules { site: learned.site.clone(), origins: learned.origins.clone(), ..SiteRules::default() };
    compare("kb-sample", vec![learned], &sample);
    compare("kb-sample, normal forms alone", vec![without_rules], &sample);
    for pair in std::env::var("UNDUST_BENCH").unwrap_or_default().split(',').filter(|p| !p.is_empty()) {
        let (rules, urls) = pair.split_once('=').expect("RULES.jsonl=RECORDS.jsonl.gz");
        let mut reader = BufReader::new(File::open(rules).expect("a rule file"));
        let (_, sites) = file::read(&mut reader).expect("rules");
        let urls = Path::new(urls);
        let name = urls.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        compare(name.trim_end_matches(".jsonl.gz"), sites, &records(urls));
    }
}

fn records(path: &Path) -> RecordBatch {
    let mut batch = RecordBatch::default();
    let mut reader = compression::open(path).expect("records");
    let mut line = Vec::new();
    while std::io::BufRead::read_until(&mut reader, b'\n', &mut line).expect("a readable file") > 0 {
        // Bad records are not what is measured.
        let _ = jsonl::parse(line.trim_ascii_end(), &mut batch);
        line.clear();
    }
    batch
}

/// These sites among 100,000 others.
fn among_many(sites: &[SiteRules]) -> RuleSet {
    let mut all: Vec<SiteRules> = (0..100_000).map(|n| sites::site(n, 1000)).chain(sites.iter().cloned()).collect();
    all.sort_by(|a, b| a.site.cmp(&b.site));
    let (mut rules, mut compiler) = (Loader::default(), Compiler::default());
    all.into_iter().for_each(|site| rules.push(LoadedSite::new(site, &mut compiler)));
    rules.finish()
}

fn compare(name: &str, sites: Vec<SiteRules>, records: &RecordBatch) {
    let many = among_many(&sites);
    let rules = RuleSet::new(sites);
    let urls: Vec<&str> = records.iter().map(|r| std::str::from_utf8(r.url).expect("UTF-8")).collect();
    let mut scratch = Scratch::default();
    let [mut apply, mut parse, mut strings, mut apply_many] = [Duration::MAX; 4];
    let mut changed = 0;
    let start = Instant::now();
    while start.elapsed() < BUDGET {
        let round = Instant::now();
        changed = 0;
        for url in &urls {
            let applied = rules.apply(black_box(url.as_bytes()), None, &mut scratch);
            changed += usize::from(black_box(applied.url) != url.as_bytes());
        }
        apply = apply.min(round.elapsed());
        let round = Instant::now();
        for url in &urls {
            drop(black_box(url::Url::parse(black_box(url))));
        }
        parse = parse.min(round.elapsed());
        let round = Instant::now();
        for url in &urls {
            drop(black_box(rules.canonicalize(black_box(url))));
        }
        strings = strings.min(round.elapsed());
        let round = Instant::now();
        for url in &urls {
            black_box(many.apply(black_box(url.as_bytes()), None, &mut scratch));
        }
        apply_many = apply_many.min(round.elapsed());
    }
    let each = |time: Duration| time.as_nanos() as f64 / urls.len() as f64;
    println!(
        "{name:28} {:8} {:9.0} ns {:9.0} ns {:8.2} {:8.2} {:7.0}% {:8.2}",
        urls.len(),
        each(apply),
        each(parse),
        each(apply) / each(parse),
        each(strings) / each(parse),
        changed as f64 * 100.0 / urls.len() as f64,
        each(apply_many) / each(parse)
    );
}
