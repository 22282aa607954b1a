//! Replays the corpora of the fuzz targets of small files and of strangers, as they are, cut short
//! and in thousands of mutations.
#[path = "../fuzz/invariants/catalogue.rs"]
mod catalogue;
#[path = "../fuzz/invariants/compiled_format.rs"]
mod compiled_format;
#[path = "../fuzz/invariants/hello.rs"]
mod hello;
#[path = "../fuzz/invariants/memory.rs"]
mod memory;
#[path = "../fuzz/invariants/overrides.rs"]
mod overrides;
#[path = "../fuzz/invariants/predictions.rs"]
mod predictions;
#[path = "../fuzz/invariants/seen.rs"]
mod seen;

use crate::fuzz_replay::{Random, corpus, mutate};
use undust::rules::compiled_format::CompiledHeader;
use undust::rules::file;

/// Cuts of each file that are tried.
const LENGTHS: usize = 60;

/// Checks the files whole, cut and mutated; gives how many of the whole ones and of the mutations
/// are good, by the count of the invariant.
fn replay(
    target: &str,
    files: &[(String, Vec<u8>)],
    rounds: usize,
    mut check: impl FnMut(&[u8]) -> Result<usize, String>,
) -> [usize; 2] {
    let (mut random, mut good) = (Random(0x9e37_79b9_7f4a_7c15), [0; 2]);
    for (name, bytes) in files {
        for end in (0..bytes.len()).step_by(1 + bytes.len() / LENGTHS) {
            check(&bytes[..end]).unwrap_or_else(|broken| panic!("{name} to byte {end}: {broken}"));
        }
        let count = check(bytes).unwrap_or_else(|broken| panic!("{name}: {broken}"));
        good[0] += usize::from(count > 0);
    }
    for round in 0..rounds {
        let mut bytes = files[round % files.len()].1.clone();
        mutate(&mut bytes, &files[random.below(files.len())].1, &mut random);
        let count = check(&bytes).unwrap_or_else(|broken| panic!("mutation {round} of {target}: {broken}"));
        good[1] += usize::from(count > 0);
    }
    good
}

/// Mutations that only made rubbish, or changed nothing, would test nothing.
fn mixed(target: &str, rounds: usize, [whole, mutated]: [usize; 2]) {
    let some = whole >= 4 && mutated * 100 > rounds && mutated * 10 < rounds * 9;
    assert!(some, "{target}: {whole} files and {mutated} of {rounds} mutations are good");
}

#[test]
fn seen_corpus_and_its_mutations() {
    let files = corpus("seen");
    let [whole, _] = replay("seen", &files, 8_000, |bytes| seen::check(bytes).map(usize::from));
    assert!(whole >= 4, "{whole} files are sets");
}

#[test]
fn overrides_corpus_and_its_mutations() {
    let files = corpus("overrides");
    mixed("overrides", 20_000, replay("overrides", &files, 20_000, overrides::check));
    // What is not UTF-8 does not come as far as the invariant.
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), b"\xff\n").expect("room");
    let error = undust::io::rules::read_overrides(file.path()).expect_err("not UTF-8").to_string();
    assert!(error.contains("valid UTF-8") && error.contains(&file.path().display().to_string()), "{error}");
}

#[test]
fn catalogue_corpus_and_its_mutations() {
    let files = corpus("catalogue");
    mixed("catalogue", 5_000, replay("catalogue", &files, 5_000, catalogue::check));
}

#[test]
fn predictions_corpus_and_its_mutations() {
    let (files, folder) = (corpus("predictions"), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("fuzz");
    let good =
        replay("predictions", &files, 4_000, |bytes| predictions::check(&path, bytes).map(|(good, _)| good as usize));
    mixed("predictions", 4_000, good);
}

#[test]
fn hello_corpus_and_its_mutations() {
    let files = corpus("hello");
    let mut said = [0; 3];
    replay("hello", &files, 2_000, |bytes| {
        let one = hello::check(bytes)?;
        said[0] += usize::from(one.offered);
        said[1] += usize::from(one.is_offer);
        said[2] += one.frames;
        Ok(0)
    });
    // An offer in a file of the corpus is one of the version that wrote it.
    let [_, offers, frames] = said;
    assert!(offers > 5 && frames > 200, "{said:?}");
}

#[test]
fn compiled_format_corpus_and_its_mutations() {
    let mut files = corpus("compiled_format");
    let rules = |bytes: &[u8]| compiled_format::check(bytes).map(|is| usize::from(is == compiled_format::Is::Rules));
    mixed("compiled_format", 1_500, replay("compiled_format", &files, 1_500, rules));
    // Compiled files of the layout of this version.
    files.retain_mut(|(_, bytes)| {
        let Ok((header, sites)) = file::read(&mut &bytes[..]) else { return false };
        let header = CompiledHeader { rules: header, overrides: undust::rules::Overrides::default() };
        compiled_format::compiled(&header, &sites).map(|compiled| *bytes = compiled).is_ok()
    });
    let compiled =
        |bytes: &[u8]| compiled_format::check(bytes).map(|is| usize::from(is == compiled_format::Is::Compiled));
    let [whole, mutated] = replay("compiled_format", &files, 1_500, compiled);
    assert!(whole == files.len() && mutated < 75, "{whole} files of {}, {mutated} mutations", files.len());
}
