//! Mutations of the fixtures of every format, as they are and compressed: the invariants of the readers hold.
#[path = "../fuzz/invariants/shards.rs"]
mod shards;

use undust::io::Format;
use undust::io::compression::Compression::{self, Gzip, Plain, Zstd};

use crate::formats_index::{CDX, CDXJ, COLUMNAR, LOG, ROWS, columnar};
use crate::formats_support::{compressed, page, prose, response, warc};
use crate::fuzz_replay::{Random, mutate};
use crate::jobs_mistakes::crawl_line;

/// Mutates pieces that are compressed one by one, before and after packing, and reads what comes of it.
fn replay(format: Format, pieces: &[Vec<u8>], compression: Compression) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fuzz");
    let whole = pieces.concat();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut good, mut bad) = (0, 0);
    for round in 0..1500 {
        let mut pieces = pieces.to_vec();
        if round % 2 == 0 {
            let at = random.below(pieces.len());
            mutate(&mut pieces[at], &whole, &mut random);
        }
        let mut file: Vec<u8> = pieces.iter().flat_map(|piece| compressed(piece, compression)).collect();
        if round % 2 == 1 {
            let other = file.clone();
            mutate(&mut file, &other, &mut random);
        }
        let (records, rejects) = shards::check(&path, format, &file)
            .unwrap_or_else(|broken| panic!("mutation {round} of {format:?}, {compression}: {broken}"));
        good += records;
        bad += rejects;
    }
    // Mutations that only made rubbish, or changed nothing, would test nothing.
    assert!(good > 200 && bad > 100, "{format:?}, {compression}: {good} records, {bad} rejects");
}

fn lines(text: &str) -> Vec<Vec<u8>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.chunks(3).map(|lines| lines.concat().into_bytes()).collect()
}

#[test]
fn mutated_lines_of_indexes_and_logs() {
    for (format, text) in [(Format::Cdx, CDX), (Format::Cdxj, CDXJ), (Format::AccessLog, LOG)] {
        [Plain, Gzip, Zstd].iter().for_each(|&compression| replay(format, &lines(text), compression));
    }
}

#[test]
fn mutated_crawl_logs_and_csv() {
    let row = |at: usize| crawl_line(200, &format!("http://a.example/{at}"), "LR", "http://a.example/", "sha1:A");
    let log: String = (0..12).map(row).collect();
    [Plain, Gzip, Zstd].iter().for_each(|&compression| replay(Format::CrawlLog, &lines(&log), compression));
    let row = |at: usize| format!("{at},\"http://a.example/{at}\",\"two\nlines, \"\"quoted\"\"\",200\n");
    let csv: String = std::iter::once("cluster,url,note,status\n".to_owned()).chain((0..12).map(row)).collect();
    // Compressed CSV holds labels, so damage there ends the run.
    replay(Format::Csv, &lines(&csv), Plain);
}

#[test]
fn mutated_archives() {
    let html = format!("<title>T</title><link rel=canonical href=/a><p>{}</p>", prose(1, 30));
    let records = [
        page("http://example.org/a?b", &html),
        warc("revisit", "http://example.org/b", "WARC-Payload-Digest: sha1:AAAA\r\n", b""),
        response("http://example.org/c", "301 Moved", "Location: /a\r\nLink: </a>; rel=canonical\r\n", b""),
        response("http://example.org/d", "200 OK", "Content-Encoding: gzip\r\n", &compressed(html.as_bytes(), Gzip)),
        response(
            "http://example.org/e",
            "200 OK",
            "Transfer-Encoding: chunked\r\n",
            b"3\r\n<p>\r\n4\r\ntext\r\n0\r\n\r\n",
        ),
    ];
    [Plain, Gzip, Zstd].iter().for_each(|&compression| replay(Format::Warc, &records, compression));
}

#[test]
fn mutated_columnar_indexes() {
    let file = columnar(COLUMNAR, parquet::basic::Compression::SNAPPY, &[&ROWS[..2], &ROWS[2..]]);
    replay(Format::Parquet, &[file], Plain);
}
