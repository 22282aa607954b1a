//! Compares the compiled applier with the reference interpreter on recorded URLs.
//!
//! `UNDUST_EQUALITY_CORPORA` lists folders of rules with files of records,
//! `RULES=RECORDS.jsonl.gz,...`; see `scripts/accept equality`. Without it the test learns rules from
//! `tests/data/kb-sample.jsonl.gz`.

use super::compare::{Applier, Difference, Input, Reference, compare};
use super::{RuleSet, SiteRules, forms, shrink};
use crate::io::rules::RuleFile;
use crate::io::{compression, jsonl};
use crate::model::RecordBatch;
use crate::rules::Params;
use crate::site::{Training, learn};
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// URLs that a thread takes at a time.
const PIECE: usize = 1000;
/// Sites that are added to get batches of many lanes.
const OTHERS: usize = 300;

fn records(path: &Path) -> RecordBatch {
    let mut reader = compression::open(path).unwrap_or_else(|error| panic!("{error}"));
    let (mut batch, mut line) = (RecordBatch::default(), Vec::new());
    while reader.read_until(b'\n', &mut line).expect("a readable file") > 0 {
        // Learning rejects malformed lines, too.
        let _ = jsonl::parse(line.trim_ascii_end(), &mut batch);
        line.clear();
    }
    batch
}

/// Counts of what was compared in one corpus.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    urls: u64,
    changed: u64,
    looked_up: u64,
    differences: u64,
}

/// Compares some URLs with each rule set; gives the counts and the first difference of each set.
fn piece(inputs: &[Input], reference: &Reference<'_>, sets: &[(&str, RuleSet)]) -> (Compared, Vec<Difference>) {
    let pairs: Vec<_> = inputs.iter().map(|input| reference.pair(input)).collect();
    let count = |is: &dyn Fn(&super::compare::Pair<'_>) -> bool| pairs.iter().filter(|pair| is(pair)).count() as u64;
    let mut compared = Compared {
        urls: pairs.len() as u64,
        changed: count(&|pair| pair.normal.as_ref().is_some_and(|normal| normal.as_bytes() != pair.outcome.url)),
        looked_up: count(&|pair| pair.outcome.looked_up),
        differences: 0,
    };
    let mut found = Vec::new();
    for (name, set) in sets {
        // `compare` ends at the first difference: compare each pair for itself to count them.
        if compare(set, name, &pairs, &mut Applier::default()).is_err() {
            let single = |pair| compare(set, name, std::slice::from_ref(pair), &mut Applier::default()).err();
            let differences: Vec<_> = pairs.iter().filter_map(single).collect();
            compared.differences += differences.len().max(1) as u64;
            found.extend(differences.into_iter().next().map(|difference| *difference));
        }
    }
    (compared, found)
}

/// Compares all URLs of `batch`: the interpreter of `sites` with `sets`, read from files, and with sets
/// in memory.
fn corpus(
    sites: Vec<SiteRules>,
    mut sets: Vec<(&'static str, RuleSet)>,
    batch: &RecordBatch,
) -> (Compared, Vec<String>) {
    let set = RuleSet::new(sites.clone());
    let reference = Reference::new(set.sites());
    let mut inputs: Vec<Input> = batch.iter().map(|record| Input { url: record.url.to_vec(), site: None }).collect();
    // With a label the URL is also given to the site of that label.
    let label = |label: &[u8]| std::str::from_utf8(label).ok().and_then(|label| set.site_index(label));
    let labelled =
        batch.iter().filter_map(|record| Some(Input { url: record.url.to_vec(), site: Some(label(record.site?)?) }));
    inputs.extend(labelled);
    let other = |n: usize| SiteRules {
        origins: crate::rules::origins::of_hosts([format!("{n}.test")]),
        site: format!("~{n}"),
        ..SiteRules::default()
    };
    sets.push(("with other sites", RuleSet::new(sites.iter().cloned().chain((0..OTHERS).map(other)).collect())));
    sets.push(("in memory", RuleSet::new(sites.clone())));
    let pieces: Vec<&[Input]> = inputs.chunks(PIECE).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<_> = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let (pieces, reference, sets) = (&pieces, &reference, &sets);
            let own = pieces.iter().skip(thread).step_by(threads);
            scope.spawn(move || own.map(|inputs| piece(inputs, reference, sets)).collect::<Vec<_>>())
        };
        let work: Vec<_> = (0..threads).map(work).collect();
        work.into_iter().flat_map(|work| work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let (mut all, mut found) = (Compared::default(), Vec::new());
    for (compared, differences) in results {
        all.urls += compared.urls;
        all.changed += compared.changed;
        all.looked_up += compared.looked_up;
        all.differences += compared.differences;
        found.extend(differences);
    }
    (all, found.into_iter().take(3).map(|difference| shrink::plain(&sites, difference)).collect())
}

/// The corpora that the environment names, or the sample.
fn named() -> Vec<(String, Option<PathBuf>, PathBuf)> {
    match std::env::var("UNDUST_EQUALITY_CORPORA") {
        Err(_) => {
            let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kb-sample.jsonl.gz");
            vec![("kb-sample".to_owned(), None, sample)]
        }
        Ok(list) => {
            let one = |entry: &str| {
                let (rules, records) =
                    entry.split_once('=').unwrap_or_else(|| panic!("{entry:?} is not RULES=RECORDS"));
                let name = Path::new(records).file_name().unwrap_or_default().to_string_lossy().into_owned();
                (name, Some(PathBuf::from(rules)), PathBuf::from(records))
            };
            list.split(',').map(one).collect()
        }
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the table of scripts/accept equality")]
fn the_compiled_applier_equals_the_interpreter_on_recorded_urls() {
    println!("{:<32} {:>8} {:>8} {:>9} {:>11}", "corpus", "URLs", "changed", "looked up", "differences");
    let mut reports = Vec::new();
    for (name, rules, path) in named() {
        let batch = records(&path);
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let (sites, sets) = match rules {
            Some(folder) => {
                let file = RuleFile::open(&folder, false).unwrap_or_else(|error| panic!("{error}"));
                (file.compile().sites().to_vec(), forms::opened(&folder, scratch.path()))
            }
            None => {
                let rows = batch.iter().map(|record| (record.url, record.cluster, record.elsewhere));
                let sites = vec![learn(Training::new("kb", rows), &Params::default()).rules];
                let sets = forms::read_again(&sites);
                (sites, sets)
            }
        };
        let (compared, found) = corpus(sites, sets.into(), &batch);
        let Compared { urls, changed, looked_up, differences } = compared;
        println!("{name:<32} {urls:>8} {changed:>8} {looked_up:>9} {differences:>11}");
        assert!(urls > 0 && changed > 0, "{name}: no URL that the rules change");
        reports.extend(found);
        assert!(differences == 0 || !reports.is_empty(), "{name}: a difference that one URL alone does not show");
    }
    assert!(reports.is_empty(), "{} differences\n{}", reports.len(), reports.join("\n"));
}
