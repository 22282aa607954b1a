//! Replays the corpus of the fuzz target `ciff`, as it is and in 20,000 mutations.

#[path = "../fuzz/invariants/ciff.rs"]
mod invariants;

use crate::ciff_support::Toy;
use crate::fuzz_replay::{Random, corpus};
use invariants::check;

/// Bytes that mean something to protobuf: tags, lengths, numbers at the edges.
const PIECES: [&[u8]; 10] = [
    b"\x22\x04\x08\x01\x10\x01",
    b"\x22\x02\x10\x01",
    b"\x22\x00",
    b"\x0a\x01x",
    b"\x10\x01",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x00",
    b"\x00",
    b"\x7d\x01",
];

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 | 1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            3 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
            4 => drop(bytes.drain(at..(at + random.below(8)).min(bytes.len()))),
            5 => bytes.truncate(at),
            _ => {}
        }
    }
}

#[test]
fn ciff_corpus_and_its_mutations() {
    let files = corpus("ciff");
    let mut messages = 0;
    for (name, bytes) in &files {
        messages += check(bytes).unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
    assert!(messages >= 30, "the corpus holds {messages} good lists and records");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut good = 0;
    for round in 0..20_000 {
        let mut bytes = files[round % files.len()].1.clone();
        mutate(&mut bytes, &mut random);
        good += usize::from(check(&bytes).unwrap_or_else(|broken| panic!("mutation {round}: {broken}")) > 0);
    }
    assert!(good > 500 && good < 15_000, "{good} of 20000 mutations are indexes");
}

#[test]
fn random_indexes_are_good() {
    for seed in 1..20 {
        let toy = Toy::random(seed, 5 + seed as usize * 7, 30);
        assert_eq!(check(&toy.bytes()), Ok(toy.docs.len() + toy.lists.len()));
    }
}
