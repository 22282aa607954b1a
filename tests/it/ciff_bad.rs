//! Bad indexes and bad lists of URLs: each ends with one line that says what and where, and leaves
//! nothing behind.

use crate::ciff_support::Toy;
use crate::jobs_run::{Folder, run};
use std::io::Write;
use undust::index::wire::{put_number, put_text, put_varint};
use undust::index::{DocRecord, Header};
use undust::io::ciff::CiffReader;
use undust::io::compression::{Compression, Encoder};

/// Runs the job on these bytes; gives the message of its failure. Nothing is left in the folder but
/// what was there.
#[track_caller]
fn message(bytes: &[u8], more: &[&str]) -> String {
    let mut messages = Vec::new();
    for workers in ["1", "3"] {
        let folder = Folder::with_rules();
        folder.write("in.ciff", bytes);
        folder.write("urls.tsv", URLS);
        let arguments =
            [&["--index", "in.ciff", "--out", "out.ciff", "--docmap", "map.tsv", "-w", workers], more].concat();
        messages.push(run(folder.job("compress-index", &arguments)).failed(1));
        assert_eq!(folder.names(), ["in.ciff", "rules", "urls.tsv"], "{messages:?}");
    }
    assert_eq!(messages[0], messages[1], "the same for any number of workers");
    assert_eq!(messages[0].lines().count(), 1, "{}", messages[0]);
    messages.pop().unwrap()
}

/// Document b has two URLs that are two pages.
const URLS: &[u8] = b"b\thttp://www.forum.example/topic/7?t=7&sid=1\na\thttp://a.example/\n\
    b\thttp://www.forum.example/topic/7?t=7\nb\thttp://www.forum.example/topic/8?t=8\n";

/// A message after its length.
fn framed(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, body.len() as u64);
    out.extend_from_slice(body);
    out
}

/// A posting list as it is given, right or wrong.
fn list(term: &str, df: u64, postings: &[(u64, u64)]) -> Vec<u8> {
    let mut body = Vec::new();
    put_text(&mut body, 1, term.as_bytes());
    put_number(&mut body, 2, df);
    put_number(&mut body, 3, df);
    for &(gap, tf) in postings {
        let mut posting = Vec::new();
        put_number(&mut posting, 1, gap);
        put_number(&mut posting, 2, tf);
        put_text(&mut body, 4, &posting);
    }
    framed(&body)
}

/// An index of three documents, a, b and c, with these lists; gives where the first list stands, too.
fn index(num_docs: u32, lists: &[Vec<u8>], records: &[u32]) -> (Vec<u8>, usize) {
    let header = Header {
        num_postings_lists: lists.len() as u32,
        num_docs,
        total_postings_lists: lists.len() as u32,
        total_docs: num_docs,
        total_terms_in_collection: 30,
        average_doclength: 10.0,
        description: String::new(),
    };
    let mut out = Vec::new();
    header.encode(&header, &mut out);
    let start = out.len();
    out.extend(lists.concat());
    for &docid in records {
        DocRecord { docid, collection_docid: &[b'a' + docid as u8], length: 10 }.encode(&mut out);
    }
    (out, start)
}

#[test]
fn an_index_that_is_cut_short_is_told_with_its_place() {
    let (whole, start) = index(3, &[list("x", 1, &[(1, 1)]), list("y", 1, &[(2, 1)])], &[0, 1, 2]);
    for cut in 0..whole.len() {
        let read = CiffReader::of_bytes(whole[..cut].to_vec()).and_then(|mut reader| {
            while reader.next_records(&mut |_| ())? {}
            Ok(())
        });
        let said = read.unwrap_err().to_string();
        assert!(said.contains(&format!("byte {cut}: the data end where a ")), "cut at {cut}: {said}");
    }
    for (cut, part) in [(0, "header"), (start + 3, "posting list"), (whole.len() - 1, "document record")] {
        let said = message(&whole[..cut], &[]);
        assert!(said.contains(&format!("in.ciff: byte {cut}: the data end where a {part} is due")), "{said}");
    }
}

#[test]
fn compressed_data_that_are_damaged_are_told() {
    let bytes = Toy::random(3, 300, 90).bytes();
    for compression in [Compression::Gzip, Compression::Zstd] {
        let mut encoder = Encoder::new(compression, Vec::new()).unwrap();
        encoder.write_all(&bytes).unwrap();
        let whole = encoder.finish().unwrap();
        let said = message(&whole[..whole.len() - 3], &[]);
        assert!(said.contains(&format!("in.ciff: {compression} data cut short at byte {}", whole.len() - 3)), "{said}");
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 0x10;
        let said = message(&damaged, &[]);
        // Damage shows in the compressed data, or in what they hold.
        assert!(said.contains("in.ciff: ") && said.contains("byte "), "{said}");
    }
}

#[test]
fn documents_out_of_range_are_told() {
    let good = list("x", 1, &[(0, 1)]);
    let (bytes, start) = index(3, &[good.clone(), list("y", 2, &[(1, 1), (2, 1)])], &[0, 1, 2]);
    let place = start + good.len() + 1 + 7 + 6;
    let said = message(&bytes, &[]);
    assert!(said.contains(&format!("byte {place}: document 3 in a posting, but the header announces 3 ")), "{said}");
    let (bytes, _) = index(3, &[good], &[0, 1, 3]);
    assert!(message(&bytes, &[]).contains("document 3 in a document record, but the header announces 3 documents"));
}

#[test]
fn gaps_beyond_32_bits_are_told() {
    for (postings, said) in [
        (&[(1, 1), (i32::MAX as u64, 1)][..], "the gaps of the list of \"x\" add up to 2147483648"),
        (&[(1 << 32, 1)], "docid of a posting is 4294967296"),
        (&[(u64::MAX, 1)], "docid of a posting is -1"),
        (&[(1, 1), (0, 1)], "the list of \"x\" names document 1 twice"),
        (&[(1, 1 << 31)], "tf of a posting is 2147483648"),
    ] {
        let (bytes, _) = index(3, &[list("x", postings.len() as u64, postings)], &[0, 1, 2]);
        let found = message(&bytes, &[]);
        assert!(found.contains(said) && found.contains("byte "), "{said}: {found}");
    }
}

#[test]
fn counts_that_do_not_agree_are_told() {
    let good = list("x", 1, &[(0, 1)]);
    // More documents in a list than its df, and fewer.
    for (df, postings) in [(1, &[(0, 1), (1, 1)][..]), (3, &[(0, 1)])] {
        let (bytes, start) = index(3, &[list("x", df, postings)], &[0, 1, 2]);
        let said = message(&bytes, &[]);
        let expected = format!("byte {}: the list of \"x\" says df {df} and holds {}", start + 1, postings.len());
        assert!(said.contains(&expected), "{said}");
    }
    // More records than the header says, fewer, and one twice.
    let (bytes, _) = index(2, std::slice::from_ref(&good), &[0, 1, 2]);
    let (two, _) = index(2, std::slice::from_ref(&good), &[0, 1]);
    let said = message(&bytes, &[]);
    assert!(said.contains(&format!("byte {}: data after the 2 document records", two.len())), "{said}");
    let (bytes, _) = index(3, std::slice::from_ref(&good), &[0, 1]);
    assert!(message(&bytes, &[]).contains("the data end where a document record is due"));
    let (bytes, _) = index(3, std::slice::from_ref(&good), &[0, 1, 1]);
    assert!(message(&bytes, &[]).contains("a second record of document 1"));
    // Fewer lists than there are: a list stands where a record should, and the other way round.
    let (mut bytes, start) = index(3, &[good.clone(), good.clone()], &[0, 1, 2]);
    for (lists, said) in
        [(1, "field 1 of wire type 2 is not of a document record"), (3, "the data end where a document record is due")]
    {
        bytes[4] = lists;
        let found = message(&bytes, &[]);
        assert!(found.contains(said) && found.contains("byte "), "{found}");
    }
    assert!(start > 4);
}

#[test]
fn what_is_no_ciff_is_told() {
    assert!(message(b"<html>not an index, but what a server sent in its place</html>", &[]).contains("in.ciff: byte "));
    let said = message(&framed(&[8, 2]), &[]);
    assert!(said.contains("byte 1: version 2 of the format; version 1 is known"), "{said}");
    let long = [&[0xff, 0xff, 0xff, 0xff, 0x7f][..], &[0; 40]].concat();
    assert!(message(&long, &[]).contains("byte 0: a header of 34359738367 bytes, more than protobuf allows"));
}

#[test]
fn two_survivors_of_one_document_are_told_with_their_lines() {
    let (bytes, _) = index(3, &[list("x", 1, &[(0, 1)])], &[0, 1, 2]);
    let said = message(&bytes, &["--urls", "urls.tsv"]);
    assert!(
        said.contains("two canonical URLs, in lines ") && said.contains(" and 4: two survivors claim it"),
        "{said}"
    );
    let said = message(&bytes, &["--urls", "urls.tsv", "--urls-by", "docid"]);
    assert!(said.contains("none of the 4 lines") && said.contains("without --urls-by docid"), "{said}");
}

#[test]
fn a_sum_that_does_not_fit_is_told() {
    let folder = Folder::with_rules();
    let name = |sid: u32| format!("http://www.forum.example/topic/7?t=7&sid={sid}");
    let toy = |tf: u32, length: u32| Toy {
        docs: vec![(name(1), length), (name(2), length)],
        lists: vec![("x".into(), vec![(0, tf), (1, tf)])],
    };
    for (toy, said) in
        [(toy(1 << 30, 1), "tf of merged documents add up to 2147483648"), (toy(1, 1 << 30), "doclength of")]
    {
        folder.write("in.ciff", &toy.bytes());
        let arguments = ["--index", "in.ciff", "--out", "out.ciff", "--overwrite"];
        run(folder.job("compress-index", &[&arguments[..], &["--verify"]].concat())).done();
        let failed = run(folder.job("compress-index", &[&arguments[..], &["--merge-tf"]].concat())).failed(1);
        assert!(failed.contains(said) && failed.contains("without --merge-tf"), "{failed}");
    }
}
