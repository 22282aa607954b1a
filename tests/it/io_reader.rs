//! Shards read from real files: line ends, limits, byte ranges, compressed files whole, cut short and
//! damaged.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use undust::io::compression::{Compression, Encoder};
use undust::io::reader::{BATCH_BYTES, BATCH_ROWS, LINE_LIMIT};
use undust::io::rejects::Sampled;
use undust::io::shards::{Options, find};
use undust::io::{IoError, Reason, Rejects, Shard, ShardReader};
use undust::model::RecordBatch;

/// Records as lines of debug text, and what was rejected.
type Outcome = (Vec<String>, Rejects);

fn read(shard: &Shard, limit: usize) -> Result<Outcome, IoError> {
    let counter = Arc::new(AtomicU64::new(0));
    let mut reader = ShardReader::open(shard, limit, counter.clone())?;
    let (mut records, mut rejects, mut batch) = (Vec::new(), Rejects::default(), RecordBatch::default());
    while reader.next_batch(&mut batch, &mut rejects)? {
        assert!(batch.len() <= BATCH_ROWS && batch.byte_len() as u64 <= BATCH_BYTES + limit as u64);
        records.extend(batch.iter().map(|r| format!("{r:?} {}", String::from_utf8(r.url.to_vec()).unwrap())));
    }
    assert!(batch.is_empty() && !reader.next_batch(&mut batch, &mut rejects)?, "the end stays the end");
    if shard.range.is_none() {
        assert_eq!(counter.load(Ordering::Relaxed), shard.size, "every byte of the file is counted");
    }
    assert_eq!(rejects.lines() - rejects.total(), records.len() as u64);
    Ok((records, rejects))
}

fn read_file(path: &Path, limit: usize) -> Result<Outcome, IoError> {
    let shards = find(&[path], &Options { range_bytes: u64::MAX, ..Options::default() })?;
    assert_eq!(shards.len(), 1);
    read(&shards[0], limit)
}

fn file(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn encode(compression: Compression, text: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(compression, Vec::new()).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn counts(rejects: &Rejects) -> Vec<(Reason, u64)> {
    rejects.counts().collect()
}

#[test]
fn line_ends_headers_marks_and_bad_lines() {
    let scratch = tempfile::tempdir().unwrap();
    let text = b"\xef\xbb\xbfurl\tcluster\r\nhttp://a/\t1\r\n\r\nhttp://b/\xff\t1\n\nurl\tcluster\n\t3\nhttp:///x\nhttp://c/\t";
    let path = file(&scratch, "a.tsv", text);
    let (records, rejects) = read_file(&path, LINE_LIMIT).unwrap();
    assert_eq!(records.iter().map(|r| r.rsplit(' ').next().unwrap()).collect::<Vec<_>>(), ["http://a/", "http://c/"]);
    let expected = [
        (Reason::EmptyLine, 2),
        (Reason::InvalidUtf8, 1),
        (Reason::MissingUrl, 1),
        (Reason::NotHttp, 1),
        (Reason::NoHost, 1),
    ];
    assert_eq!(counts(&rejects), expected);
    assert_eq!(rejects.lines(), 8, "the header is no line of data");
    let name = path.to_str().unwrap().to_owned();
    let places: Vec<_> = rejects.sample().map(|(_, s)| (s.file == name, s.offset, s.line)).collect();
    // Reasons in their order, the lines of each in the order of the file.
    let expected = [(29, 3), (44, 5), (31, 4), (57, 7), (45, 6), (60, 8)];
    assert_eq!(places, expected.map(|(offset, line)| (true, offset, Some(line))));
}

#[test]
fn json_lines_are_read_too() {
    let scratch = tempfile::tempdir().unwrap();
    let text = "\u{feff}{\"url\":\"http://a/\",\"cluster\":7,\"site\":\"s\"}\r\n{\"cluster\":7}\nhttp://a/\t7\n{\"url\":\"http://b/\"}";
    let path = file(&scratch, "a.ndjson", text.as_bytes());
    let (records, rejects) = read_file(&path, LINE_LIMIT).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(counts(&rejects), [(Reason::NotAJsonObject, 1), (Reason::MissingUrl, 1)]);
}

#[test]
fn a_url_of_60_kib_is_a_record_and_a_longer_line_is_not_held() {
    let scratch = tempfile::tempdir().unwrap();
    let long = format!("http://a/{}", "x".repeat(60 << 10));
    // The over-long line spans many buffers and a whole batch.
    let endless = format!("http://a/{}", "y".repeat(3 * BATCH_BYTES as usize));
    let exact = format!("http://a/{}", "z".repeat(LINE_LIMIT - 9));
    let text = format!("{long}\t1\n{endless}\n{exact}\r\n{exact}!\nhttp://b/\n{endless}");
    for name in ["a.tsv", "a.tsv.gz", "a.tsv.zst"] {
        let path = file(&scratch, name, &encode(Compression::of_name(Path::new(name)), text.as_bytes()));
        let (records, rejects) = read_file(&path, LINE_LIMIT).unwrap();
        let lengths: Vec<_> = records.iter().map(|r| r.rsplit(' ').next().unwrap().len()).collect();
        assert_eq!(lengths, [long.len(), LINE_LIMIT, 9]);
        assert_eq!(counts(&rejects), [(Reason::OverLongLine, 3)]);
        assert_eq!(rejects.sample().map(|(_, s)| s.line.unwrap()).collect::<Vec<_>>(), [2, 4, 6]);
    }
}

#[test]
fn batches_end_after_rows_or_bytes() {
    let scratch = tempfile::tempdir().unwrap();
    let path = file(&scratch, "a.tsv", &b"http://a/\n".repeat(BATCH_ROWS * 2 + 5));
    let shard = &find(&[path], &Options::default()).unwrap()[0];
    let mut reader = ShardReader::open(shard, LINE_LIMIT, Arc::default()).unwrap();
    let (mut batch, mut rejects, mut sizes) = (RecordBatch::default(), Rejects::default(), Vec::new());
    while reader.next_batch(&mut batch, &mut rejects).unwrap() {
        sizes.push(batch.len());
    }
    assert_eq!(sizes, [BATCH_ROWS, BATCH_ROWS, 5]);
    // Only bad lines: calls still come back, with empty batches.
    let path = file(&scratch, "b.tsv", &vec![b'\n'; 3 * BATCH_BYTES as usize]);
    let shard = &find(&[path], &Options::default()).unwrap()[0];
    let mut reader = ShardReader::open(shard, LINE_LIMIT, Arc::default()).unwrap();
    let mut calls = 0;
    while reader.next_batch(&mut batch, &mut rejects).unwrap() {
        assert!(batch.is_empty());
        calls += 1;
    }
    assert_eq!((calls, rejects.total()), (3, 3 * BATCH_BYTES));
}

#[test]
fn all_members_and_frames_are_read_whatever_the_name() {
    let scratch = tempfile::tempdir().unwrap();
    for (name, compression) in
        [("a.tsv.gz", Compression::Gzip), ("b.tsv.zst", Compression::Zstd), ("c.tsv", Compression::Gzip)]
    {
        // Members end in the middle of lines, as `cat` of split archives leaves them.
        let bytes: Vec<u8> = ["http://a/\t1\nhttp", "", "://b/\t", "2\n"]
            .iter()
            .flat_map(|t| encode(compression, t.as_bytes()))
            .collect();
        let (records, rejects) = read_file(&file(&scratch, name, &bytes), LINE_LIMIT).unwrap();
        assert_eq!((records.len(), rejects.total()), (2, 0), "{name}");
    }
}

#[test]
fn compressed_data_cut_short_or_damaged_fail_the_run() {
    let scratch = tempfile::tempdir().unwrap();
    let text: String = (0..20_000).map(|i| format!("http://a.example/{}\t{i}\n", i * 7919 % 20_011)).collect();
    for (name, compression) in [("a.tsv.gz", Compression::Gzip), ("a.tsv.zst", Compression::Zstd)] {
        let whole = encode(compression, text.as_bytes());
        for cut in [0, 1, 3, 9, whole.len() / 2, whole.len() - 1] {
            let path = file(&scratch, name, &whole[..cut]);
            let error = read_file(&path, LINE_LIMIT).unwrap_err();
            let IoError::Corrupt { path: at, compression: how, what, position, .. } = &error else { panic!("{error}") };
            assert_eq!((at, *how, *what), (&path, compression, "cut short"), "{name} cut at {cut}: {error}");
            assert_eq!(*position, cut as u64);
            assert!(error.to_string().contains("fetch or compress the file again"));
        }
        let mut damaged = whole.clone();
        damaged[whole.len() / 2..whole.len() / 2 + 64].fill(0xa5);
        let error = read_file(&file(&scratch, name, &damaged), LINE_LIMIT).unwrap_err();
        assert!(matches!(error, IoError::Corrupt { what: "damaged", .. }), "{name}: {error}");
    }
}

/// Everything but the numbers of lines, which only a range from the start of the file knows.
fn unnumbered(rejects: &Rejects) -> Vec<(Reason, Sampled)> {
    rejects.sample().map(|(reason, s)| (reason, Sampled { line: None, ..s.clone() })).collect()
}

/// Lines of every kind, in pieces, so that ranges cut them everywhere.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "http://a/[a-z]{0,12}\t[0-9]{1,3}\n".prop_map(String::into_bytes),
        1 => "http://a/[a-z]{20,90}\r\n".prop_map(String::into_bytes),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(b"http://a/\xff\xfe\n".to_vec()),
        1 => Just("http://\u{e9}/\n".as_bytes().to_vec()),
        1 => Just(b"nothing".to_vec()),
    ];
    (
        prop::option::of(Just(b"\xef\xbb\xbf".to_vec())),
        prop::option::of(Just(b"url\tcluster\n".to_vec())),
        prop::collection::vec(piece, 0..40),
    )
        .prop_map(|(mark, header, pieces)| {
            [mark, header].into_iter().flatten().chain(pieces).collect::<Vec<_>>().concat()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn byte_ranges_give_what_the_whole_file_gives(bytes in text(), sizes in prop::collection::vec(1u64..200, 4), limit in 8usize..80) {
        let scratch = tempfile::tempdir().unwrap();
        let path = file(&scratch, "a.tsv", &bytes);
        let (records, rejects) = read_file(&path, limit).unwrap();
        for size in sizes {
            let options = Options { range_bytes: size, ..Options::default() };
            let shards = find(&[&path], &options).unwrap();
            prop_assert_eq!(shards.len() as u64, (bytes.len() as u64).div_ceil(size).max(1));
            prop_assert_eq!(shards.iter().map(|s| s.size).sum::<u64>(), bytes.len() as u64);
            let mut together = (Vec::new(), Rejects::default());
            for shard in &shards {
                let (records, rejects) = read(shard, limit).unwrap();
                together.0.extend(records);
                together.1.merge(rejects);
            }
            prop_assert_eq!(&together.0, &records, "ranges of {}", size);
            prop_assert_eq!(together.1.lines(), rejects.lines());
            prop_assert_eq!(counts(&together.1), counts(&rejects));
            prop_assert_eq!(unnumbered(&together.1), unnumbered(&rejects));
        }
    }
}
