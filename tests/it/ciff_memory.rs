//! Memory of `undust compress-index`, measured from the outside: the map and buffers, however many
//! documents there are.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Stdio;

use crate::jobs_run::{Folder, peak_of};
use undust::index::{DocRecord, Header, Posting, postings};

/// Bytes a document that the job may hold: the bound. The map has 8, with `--order url` 12.
const A_DOCUMENT: f64 = 16.0;
/// Value of `--memory`: far less than the names and URLs of the documents, so that they are spilled.
const MEMORY: u64 = 8 << 20;
/// Blocks under way, in and out, of two workers: 4 each of 512 KiB; and batches of rows between them.
const BLOCKS: u64 = 24 << 20;

/// Writes an index of short lists; each fifth document has the URL of the one before it with a session
/// id.
fn make(folder: &Folder, docs: u32) {
    const TERMS: u32 = 50;
    let mut out = BufWriter::new(File::create(folder.path("in.ciff")).unwrap());
    let header = Header {
        num_postings_lists: TERMS,
        num_docs: docs,
        total_postings_lists: TERMS,
        total_docs: docs,
        total_terms_in_collection: u64::from(docs) * 9,
        average_doclength: 9.0,
        description: "short lists, many documents".into(),
    };
    let (mut bytes, mut body, mut list) = (Vec::new(), Vec::new(), Vec::new());
    header.encode(&header, &mut bytes);
    for term in 0..TERMS {
        list.clear();
        list.extend((term..docs).step_by(1009).map(|doc| Posting::new(doc, 1 + doc % 3)));
        postings::encode(format!("term{term:02}").as_bytes(), &list, &mut body, &mut bytes);
    }
    for docid in 0..docs {
        let session = if docid % 5 == 4 { "&sid=00c0ffee" } else { "" };
        let name = format!("http://www.forum.example/page?x={}{session}", docid - u32::from(docid % 5 == 4));
        DocRecord { docid, collection_docid: name.as_bytes(), length: 9 }.encode(&mut bytes);
        if bytes.len() > 1 << 16 {
            out.write_all(&bytes).unwrap();
            bytes.clear();
        }
    }
    out.write_all(&bytes).unwrap();
    out.into_inner().unwrap().sync_all().unwrap();
}

fn peak(docs: u32, options: &[&str]) -> u64 {
    let folder = Folder::with_rules();
    make(&folder, docs);
    let memory = MEMORY.to_string();
    let arguments = ["--index", "in.ciff", "--out", "out.ciff", "--memory", &memory, "--quiet", "-w", "2"];
    let mut command = folder.job("compress-index", &[&arguments, options].concat());
    peak_of(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
}

/// Runs of each size.
const RUNS: usize = 3;

fn bounded(options: &[&str]) {
    let (none, some, many) = (1_000, 300_000, 1_100_000);
    let base = peak(none, options);
    let [few, all] = [some, many].map(|docs| [(); RUNS].map(|()| peak(docs, options)));
    // How many blocks are on their way when memory is at its highest differs from run to run, and only
    // ever adds.
    let [least, most] = [few.iter().min(), all.iter().min()].map(|peak| *peak.unwrap() as f64);
    let (slope, more) = ((most - least) / f64::from(many - some), *all.iter().max().unwrap());
    let said = format!("{options:?}: {base} bytes for {none} documents, {few:?} for {some}, {all:?} for {many}");
    assert!(slope <= A_DOCUMENT, "{said}: {slope:.1} a document");
    assert!(more <= base + A_DOCUMENT as u64 * u64::from(many) + MEMORY + BLOCKS, "{said}");
    // Were it not for the map, nothing would have been measured.
    assert!(slope >= 4.0, "{said}: {slope:.1} a document");
}

#[test]
fn a_document_costs_no_more_than_sixteen_bytes() {
    bounded(&[]);
}

#[test]
fn neither_with_ids_in_the_order_of_urls_and_a_map_written() {
    bounded(&["--order", "url", "--docmap", "map.tsv", "--merge-tf"]);
}
