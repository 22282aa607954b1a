//! Replays the corpora of the fuzz targets `tsv` and `jsonl`, as they are and in 20,000 mutations each.
#[path = "../fuzz/invariants/records.rs"]
mod records;

use std::path::Path;

use records::{Parse, check};
use undust::io::{jsonl, tsv};

/// The files of a corpus, in the order of their names.
pub fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry of the folder").path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a file of the corpus")))
        .collect();
    files.sort();
    assert!(files.len() >= 8, "the corpus of {target} has {} files", files.len());
    files
}

/// Xorshift (Marsaglia 2003): the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Pieces that parsers look at.
const PIECES: [&[u8]; 22] = [
    b"\t",
    b"\n",
    b"\r",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b":",
    b",",
    b"\0",
    b"\x7f",
    b"\xff",
    b"\xc3",
    b"http://",
    b"https://",
    b"@",
    b"\\ud800",
    b"\\u0000",
    b"null",
    b"\"url\":",
    b"1e999",
];

/// One to six small changes; `other` lends pieces.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            2 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
            3 => drop(bytes.drain(at..(at + random.below(12)).min(bytes.len()))),
            4 => bytes.truncate(at),
            _ => {
                let from = random.below(other.len() + 1);
                let to = (from + random.below(40)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
        }
    }
}

fn replay(target: &str, parse: Parse) {
    let files = corpus(target);
    let mut records = 0;
    for (name, bytes) in &files {
        records += check(bytes, parse).unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
    assert!(records >= 10, "the corpus of {target} holds {records} good records");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut good, mut lines) = (0, 0);
    for round in 0..20_000 {
        let mut bytes = files[round % files.len()].1.clone();
        mutate(&mut bytes, &files[random.below(files.len())].1, &mut random);
        good += check(&bytes, parse).unwrap_or_else(|broken| panic!("mutation {round} of {target}: {broken}"));
        lines += bytes.split(|&b| b == b'\n').count();
    }
    // Mutations that only made rubbish, or changed nothing, would test nothing.
    assert!(good * 10 > lines && good * 10 < lines * 9, "{good} of {lines} mutated lines of {target} are records");
}

#[test]
fn tsv_corpus_and_its_mutations() {
    replay("tsv", tsv::parse);
}

#[test]
fn jsonl_corpus_and_its_mutations() {
    replay("jsonl", jsonl::parse);
}
