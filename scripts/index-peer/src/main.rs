//! The real engine of `scripts/accept index`: tantivy.
//!
//! `index-peer export PAGES.tsv OUT.ciff`: indexes the pages (`url<TAB>text`, a line a page) and
//! exports the index. `index-peer compare PAGES.tsv MERGED.ciff MAP.tsv QUERIES SEED`: indexes the
//! pages again and the merged index anew from its CIFF, asks both the same random queries, and
//! compares: the answers of the first without the documents that the map says are gone must be the
//! answers of the second, with the same scores. Scores are BM25 with the statistics of the merged index
//! on both sides, since idf and mean length are what merging changes.
//!
//! Prints JSON. Leaves with 1 when an answer differs.

mod ciff;
mod engine;

use engine::{Engine, Statistics};
use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::ExitCode;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["export", pages, out] => export(pages, out).map(|()| true),
        ["compare", pages, merged, map, queries, seed] => compare(pages, merged, map, queries, seed),
        _ => Err("usage: index-peer export PAGES.tsv OUT.ciff | compare PAGES.tsv MERGED.ciff MAP.tsv QUERIES SEED".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("index-peer: {error}");
            ExitCode::from(2)
        }
    }
}

/// URLs and texts.
fn pages(path: &str) -> Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    for line in BufReader::new(File::open(path)?).lines() {
        let line = line?;
        let (url, text) = line.split_once('\t').ok_or("a line without a tab")?;
        pages.push((url.to_owned(), text.to_owned()));
    }
    Ok(pages)
}

fn export(pages_path: &str, out: &str) -> Result<()> {
    let pages = pages(pages_path)?;
    let engine = Engine::of_texts(pages.iter().map(|(_, text)| text.as_str()))?;
    let urls: Vec<&str> = pages.iter().map(|(url, _)| url.as_str()).collect();
    let (lists, postings) = engine.export(&urls, out)?;
    println!("{{\"documents\": {}, \"lists\": {lists}, \"postings\": {postings}}}", pages.len());
    Ok(())
}

/// Entries of the map, one a document: its survivor and its new id.
fn fates(path: &str) -> Result<Vec<(u32, u32)>> {
    let mut fates = Vec::new();
    for line in BufReader::new(File::open(path)?).lines().skip(1) {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let [old, new, survivor, _] = fields[..] else { return Err("a line of the map without four fields".into()) };
        if old.parse::<usize>()? != fates.len() {
            return Err("the map is not in the order of old ids".into());
        }
        fates.push((survivor.parse()?, new.parse()?));
    }
    Ok(fates)
}

/// Xorshift (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Documents and scores, the best first, of equal scores by id.
type Answer = Vec<(u32, f32)>;

fn ranked(mut answer: Answer) -> Answer {
    answer.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    answer
}

/// True if both answers have equal documents with equal scores, up to the order in which floats were
/// added.
fn same(one: &Answer, other: &Answer) -> bool {
    let sorted = |answer: &Answer| {
        let mut answer = answer.clone();
        answer.sort_by_key(|hit| hit.0);
        answer
    };
    one.len() == other.len()
        && sorted(one).iter().zip(sorted(other)).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() <= 1e-4 * a.1.abs())
}

fn compare(pages_path: &str, merged: &str, map: &str, queries: &str, seed: &str) -> Result<bool> {
    let pages = pages(pages_path)?;
    let fates = fates(map)?;
    if fates.len() != pages.len() {
        return Err(format!("{} pages, {} documents in the map", pages.len(), fates.len()).into());
    }
    let original = Engine::of_texts(pages.iter().map(|(_, text)| text.as_str()))?;
    let index = ciff::Index::read(merged)?;
    for (old, &(survivor, new)) in fates.iter().enumerate() {
        if old == survivor as usize && index.records[new as usize].collection_docid != pages[old].0 {
            return Err(format!("document {new} of the merged index has not the name of document {old}").into());
        }
    }
    let (terms, docs) = index.inverted();
    let statistics = Statistics {
        tokens: index.header.total_terms_in_collection as u64,
        docs: index.header.total_docs as u64,
        df: index.lists.iter().map(|list| (list.term.clone(), list.df as u64)).collect::<HashMap<_, _>>(),
    };
    let rebuilt = Engine::of_tokens(&terms, &docs)?;

    let mut random = Random(seed.parse::<u64>()?.max(1));
    let (mut asked, mut differ, mut with_duplicates, mut hits, mut gone) = (0, 0, 0, 0, 0);
    let (mut top, mut top_gone, mut own_top, mut own_top_same) = (0, 0, 0, 0);
    while asked < queries.parse::<usize>()? {
        let page = random.below(pages.len());
        let words = original.tokens(&pages[page].1);
        if words.is_empty() {
            continue;
        }
        let count = 1 + random.below(4);
        let mut chosen: Vec<&str> = (0..count).map(|_| words[random.below(words.len())].as_str()).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let all = random.below(2) == 0;
        asked += 1;

        let full = ranked(original.answer(&chosen, all, Some(&statistics))?);
        let survives = |doc: u32| fates[doc as usize].0 == doc;
        let left: Answer =
            full.iter().filter(|hit| survives(hit.0)).map(|&(doc, score)| (fates[doc as usize].1, score)).collect();
        let found = rebuilt.answer(&chosen, all, Some(&statistics))?;
        differ += usize::from(!same(&left, &found));
        with_duplicates += usize::from(left.len() < full.len());
        hits += full.len();
        gone += full.len() - left.len();
        // What a user sees: the best ten, each index with the statistics of its own.
        let before = ranked(original.answer(&chosen, all, None)?);
        let shown = before.iter().take(10);
        top += shown.len();
        top_gone += shown.filter(|hit| !survives(hit.0)).count();
        let before: Vec<u32> = before.iter().filter(|hit| survives(hit.0)).map(|hit| fates[hit.0 as usize].1).take(10).collect();
        let after: Vec<u32> = ranked(rebuilt.answer(&chosen, all, None)?).iter().map(|hit| hit.0).take(10).collect();
        own_top += before.len();
        own_top_same += before.iter().filter(|doc| after.contains(doc)).count();
    }
    println!(
        "{{\"queries\": {asked}, \"differ\": {differ}, \"with_duplicates\": {with_duplicates}, \"hits\": {hits}, \
         \"hits_gone\": {gone}, \"top10\": {top}, \"top10_gone\": {top_gone}, \"own_top10\": {own_top}, \"own_top10_same\": {own_top_same}}}"
    );
    Ok(differ == 0)
}
