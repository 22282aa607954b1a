//! Replays the corpora of the fuzz targets `url_syntax`, `keys` and `rule_file`, whole and cut short.
use super::{keys_invariants, rule_file, url_syntax};
use std::path::{Path, PathBuf};

/// The files of a corpus, sorted.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder entry").path())
        .collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).expect("a corpus file"))).collect()
}

fn replay(target: &str, check: impl Fn(&[u8]) -> Result<(), String>) {
    let files = corpus(target);
    assert!(files.len() >= 10, "the corpus of {target} has {} files", files.len());
    for (path, bytes) in files {
        // Every length of a short seed, some of a long one: a cut seed is a new input.
        let step = 1 + bytes.len() / 200;
        for end in (0..bytes.len()).step_by(step).chain([bytes.len()]) {
            check(&bytes[..end]).unwrap_or_else(|broken| panic!("{} to byte {end}: {broken}", path.display()));
        }
    }
}

#[test]
fn url_syntax_corpus() {
    replay("url_syntax", url_syntax::invariants::check);
}

#[test]
fn rule_file_corpus() {
    replay("rule_file", rule_file::invariants::check);
}

#[test]
fn keys_corpus() {
    replay("keys", keys_invariants::invariants::check);
}
