//! Indexes and logs: CDX, CDXJ, the columnar index, access logs; plain, gzip and zstd, whole and
//! damaged.

use std::sync::Arc;

use parquet::basic::Compression as Codec;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use undust::io::compression::Compression::{Gzip, Zstd};
use undust::io::shards::Options;
use undust::io::{IoError, Reason};
use undust::model::DocumentKind;

use crate::formats_support::{Read, members, read, try_read};

/// Lines as OpenWayback writes them, with what real files hold beside the plain cases.
pub const CDX: &str = " CDX N b a m s k r M S V g
org,example)/ 20260101000000 http://example.org/ text/html 200 AAAA - - 1043 333 a.warc.gz
org,example)/a 20260102000000 http://example.org/a warc/revisit - AAAA - - 500 1400 a.warc.gz
)/broken((,key 20260103000000 http://example.org/b%20c?d=e f text/html 200 BBBB - - 1 2 a.warc.gz
org,example)/old 20260104000000 http://example.org/old text/html 301 CCCC http://example.org/new - 1 2 a.warc.gz
- - http://example.org/dashes - - - - - - - -
dns:example.org 20260105000000 dns:example.org text/dns - DDDD - - 1 2 a.warc.gz
org,example)/robots.txt 20260106000000 http://example.org/robots.txt text/plain 200 EEEE - - 1 2 a.warc.gz
org,example)/gone 20260107000000 http://example.org/gone text/html 404 FFFF - - 1 2 a.warc.gz
org,example)/short 20260108000000 http://example.org/short
";

fn check_cdx(found: &Read) {
    let rows: Vec<_> = found.records.iter().map(|r| (r.url.as_str(), r.status, r.digest.as_deref(), r.kind)).collect();
    let expected = [
        ("http://example.org/", 200, Some("AAAA"), DocumentKind::Html),
        ("http://example.org/a", 0, Some("AAAA"), DocumentKind::Unknown),
        ("http://example.org/b%20c?d=e f", 200, Some("BBBB"), DocumentKind::Html),
        ("http://example.org/old", 301, Some("CCCC"), DocumentKind::Html),
        ("http://example.org/dashes", 0, None, DocumentKind::Unknown),
        ("http://example.org/robots.txt", 200, Some("EEEE"), DocumentKind::Other),
        ("http://example.org/gone", 404, Some("FFFF"), DocumentKind::Html),
    ];
    assert_eq!(rows, expected);
    assert_eq!(found.records[3].redirect.as_deref(), Some("http://example.org/new"));
    assert_eq!(found.rejects, [(Reason::MissingField, 1)]);
}

#[test]
fn cdx_plain_gzip_and_zstd_under_a_name_that_tells_nothing() {
    check_cdx(&read("index.cdx", CDX.as_bytes()));
    check_cdx(&read("part-00000", CDX.as_bytes()));
    let lines: Vec<&str> = CDX.split_inclusive('\n').collect();
    for (name, compression) in [("part-00000.gz", Gzip), ("index.cdx.zst", Zstd)] {
        // A member a few lines, as index servers read them.
        let pieces: Vec<String> = lines.chunks(3).map(|chunk| chunk.concat()).collect();
        check_cdx(&read(name, &members(&pieces, compression)));
    }
}

#[test]
fn cdx_of_fewer_fields_and_without_a_legend() {
    let drop = |line: &str, from_end: &[usize]| {
        let words: Vec<&str> = line.split(' ').collect();
        let keep = |at: &usize| !from_end.contains(&(words.len() - at));
        (0..words.len()).filter(keep).map(|at| words[at]).collect::<Vec<_>>().join(" ")
    };
    // 11 fields end in M S V g; 10 have no S, 9 no M either.
    for gone in [&[3][..], &[3, 4][..]] {
        let lines: Vec<String> =
            CDX.lines().map(|line| if line.ends_with("/short") { line.to_owned() } else { drop(line, gone) }).collect();
        let text = lines.join("\n");
        check_cdx(&read("index.cdx", text.as_bytes()));
        let bare = text.split_once('\n').unwrap().1;
        check_cdx(&read("index.cdx", bare.as_bytes()));
    }
}

#[test]
fn ranges_of_a_plain_index_know_its_legend() {
    let mut text = String::from(" CDX A b s a k\n");
    (0..400).for_each(|i| text.push_str(&format!("key {i} 200 http://example.org/{i} D{i}\n")));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.cdx");
    std::fs::write(&path, &text).unwrap();
    let whole = try_read(&path, &Options::default()).unwrap();
    let cut = try_read(&path, &Options { range_bytes: 1000, ..Options::default() }).unwrap();
    assert!(whole.shards == 1 && cut.shards > 10 && whole.records.len() == 400);
    assert_eq!((&whole.records, &whole.rejects), (&cut.records, &cut.rejects));
    assert_eq!(whole.records[399].digest.as_deref(), Some("D399"));
}

/// Lines of three writers: Common Crawl, pywb, OpenWayback's successor.
pub const CDXJ: &str = r#"!meta {"format": "cdxj"}
org,example)/ 20260101000000 {"url": "https://example.org/", "mime": "text/html", "mime-detected": "text/html", "status": "200", "digest": "AAAA", "length": "7", "offset": "9", "filename": "a.warc.gz", "charset": "UTF-8", "languages": "eng"}
org,example)/rss 20260101000001 {"url": "https://example.org/rss", "mime": "text/html", "mime-detected": "application/rss+xml", "status": "200", "digest": "BBBB"}
org,example)/old 20260101000002 {"url": "https://example.org/old", "mime": "unk", "status": "302", "digest": "CCCC", "redirect": "https://example.org/new"}
org,example)/a 20260101000003 {"url": "https://example.org/a\u0026b", "mime": "warc/revisit", "status": "-", "digest": "AAAA", "nested": {"a": [1, {"b": "}"}]}}
((malformed{key 20260101000004 {"uri": "https://example.org/key", "status": 200, "digest": "sha1:DDDD"}
org,example)/ftp 20260101000005 {"url": "ftp://example.org/", "status": "200"}
org,example)/cut 20260101000006 {"url": "https://example.org/cut", "mime
org,example)/no 20260101000007
"#;

fn check_cdxj(found: &Read) {
    let rows: Vec<_> = found.records.iter().map(|r| (r.url.as_str(), r.status, r.digest.as_deref(), r.kind)).collect();
    let expected = [
        ("https://example.org/", 200, Some("AAAA"), DocumentKind::Html),
        ("https://example.org/rss", 200, Some("BBBB"), DocumentKind::Other),
        ("https://example.org/old", 302, Some("CCCC"), DocumentKind::Unknown),
        ("https://example.org/a&b", 0, Some("AAAA"), DocumentKind::Unknown),
        ("https://example.org/key", 200, Some("sha1:DDDD"), DocumentKind::Unknown),
    ];
    assert_eq!(rows, expected);
    assert_eq!(found.rejects, [(Reason::NotAJsonObject, 1), (Reason::MissingField, 1)]);
}

#[test]
fn cdxj_of_three_writers_plain_gzip_and_zstd() {
    check_cdxj(&read("a.cdxj", CDXJ.as_bytes()));
    check_cdxj(&read("cdx-00000", CDXJ.as_bytes()));
    let lines: Vec<&str> = CDXJ.split_inclusive('\n').collect();
    check_cdxj(&read("cdx-00000.gz", &members(&lines, Gzip)));
    check_cdxj(&read("a.cdxj.zst", &members(&lines, Zstd)));
}

#[test]
fn a_damaged_member_of_an_index_costs_itself() {
    let line = |at: usize| {
        let other = prose(at);
        format!(
            "org,example)/{at} 20260101000000 {{\"url\": \"https://example.org/{at}?{other}\", \"status\": \"200\"}}\n"
        )
    };
    let blocks: Vec<String> = (0..10).map(|block| (0..50).map(|at| line(block * 50 + at)).collect()).collect();
    for (name, compression) in [("cdx-00000.gz", Gzip), ("cdx-00000.zst", Zstd)] {
        let compressed: Vec<Vec<u8>> = blocks.iter().map(|block| members(&[block], compression)).collect();
        for fault in ["flip", "cut", "rubbish"] {
            let mut broken = compressed.clone();
            let middle = broken[4].len() / 2;
            match fault {
                "flip" => broken[4][middle..middle + 8].iter_mut().for_each(|byte| *byte ^= 0x5a),
                "cut" => broken[4].truncate(middle),
                _ => broken[4] = vec![b'x'; 300],
            }
            let found = read(name, &broken.concat());
            let urls = found.urls();
            let lost: Vec<usize> = (0..500).filter(|at| !urls.contains(&record_url(*at).as_str())).collect();
            assert!(lost.iter().all(|at| (200..250).contains(at)), "{name} {fault}: {lost:?}");
            assert!(!lost.is_empty(), "{name} {fault}");
            assert!(found.rejects.contains(&(Reason::BrokenMember, 1)), "{name} {fault}: {:?}", found.rejects);
            // What was decoded before the damage showed may be rubbish: of this member, and no more.
            let rejected = found.rejects.iter().map(|&(_, count)| count).sum::<u64>();
            assert!(rejected <= 51, "{name} {fault}: {:?}", found.rejects);
        }
    }
}

/// Something that does not compress well.
fn prose(at: usize) -> String {
    format!("{:032x}", undust::model::hash128(&at.to_le_bytes()))
}

fn record_url(at: usize) -> String {
    format!("https://example.org/{at}?{}", prose(at))
}

/// The columns of the Common Crawl index that undust reads, and some that it does not.
pub const COLUMNAR: &str = "message index {
    optional binary url_surtkey (STRING);
    required binary url (STRING);
    optional binary url_host_registered_domain (STRING);
    optional binary url_host_private_domain (STRING);
    optional int32 fetch_status;
    optional binary fetch_redirect (STRING);
    optional binary content_digest (STRING);
    optional binary content_mime_detected (STRING);
    optional int32 warc_segment;
}";

/// A row: URL, private domain, status, redirect, digest, media type.
pub type Row =
    (&'static str, Option<&'static str>, Option<i32>, Option<&'static str>, Option<&'static str>, &'static str);

/// A file with a row group for each of `groups`.
pub fn columnar(schema: &str, codec: Codec, groups: &[&[Row]]) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(codec).build();
    let schema = parse_message_type(schema).unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap();
    for rows in groups {
        let mut group = writer.next_row_group().unwrap();
        let mut at = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            let texts = |of: &dyn Fn(&Row) -> Option<&'static str>| -> (Vec<ByteArray>, Vec<i16>) {
                let values: Vec<_> = rows.iter().map(of).collect();
                (
                    values.iter().flatten().map(|&text| ByteArray::from(text)).collect(),
                    values.iter().map(|value| i16::from(value.is_some())).collect(),
                )
            };
            let (values, levels) = match at {
                0 => texts(&|_| Some("org,example)/")),
                1 => texts(&|row| Some(row.0)),
                2 => texts(&|_| Some("wrong.example")),
                3 => texts(&|row| row.1),
                5 => texts(&|row| row.3),
                6 => texts(&|row| row.4),
                7 => texts(&|row| Some(row.5)),
                _ => Default::default(),
            };
            match at {
                1 => {
                    column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
                }
                4 | 8 => {
                    let of = |row: &Row| if at == 4 { row.2 } else { Some(0) };
                    let numbers: Vec<i32> = rows.iter().filter_map(of).collect();
                    let levels: Vec<i16> = rows.iter().map(|row| i16::from(of(row).is_some())).collect();
                    column.typed::<Int32Type>().write_batch(&numbers, Some(&levels), None).unwrap();
                }
                _ => {
                    column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
                }
            }
            column.close().unwrap();
            at += 1;
        }
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

pub const ROWS: [Row; 5] = [
    ("https://alice.github.io/", Some("alice.github.io"), Some(200), None, Some("AAAA"), "text/html"),
    ("https://example.org/old", Some("example.org"), Some(301), Some("https://example.org/new"), Some("BBBB"), "unk"),
    ("no url", None, None, None, None, ""),
    ("dns:example.org", None, None, None, None, "text/dns"),
    ("https://example.org/x", None, None, None, None, "image/png"),
];

#[test]
fn the_columnar_index_is_read_by_projection_a_row_group_a_shard() {
    for codec in [Codec::UNCOMPRESSED, Codec::SNAPPY, Codec::GZIP(Default::default()), Codec::ZSTD(Default::default())]
    {
        let file = columnar(COLUMNAR, codec, &[&ROWS[..2], &ROWS[2..]]);
        let found = read("part-00000.c000.gz.parquet", &file);
        assert_eq!(found.shards, 2);
        let rows: Vec<_> =
            found.records.iter().map(|r| (r.url.as_str(), r.site.as_deref(), r.status, r.kind)).collect();
        let expected = [
            ("https://alice.github.io/", Some("alice.github.io"), 200, DocumentKind::Html),
            ("https://example.org/old", Some("example.org"), 301, DocumentKind::Unknown),
            ("https://example.org/x", Some("wrong.example"), 0, DocumentKind::Other),
        ];
        assert_eq!(rows, expected, "{codec:?}");
        assert_eq!(found.records[1].redirect.as_deref(), Some("https://example.org/new"));
        assert_eq!(found.records[0].digest.as_deref(), Some("AAAA"));
        assert_eq!((found.rejects, found.lines), (vec![(Reason::NotHttp, 1)], 5));
    }
}

#[test]
fn a_broken_row_group_costs_itself() {
    let file = columnar(COLUMNAR, Codec::SNAPPY, &[&ROWS[..1], &ROWS[1..2], &ROWS[4..]]);
    let old = memchr::memmem::find(&file, b"example.org/old").expect("in the second row group");
    let mut broken = file.clone();
    // Behind the header of its page: the lengths of the compressed data and what they hold.
    broken[old - 16..old + 4].iter_mut().for_each(|byte| *byte = 0xff);
    let found = read("a.parquet", &broken);
    assert_eq!(found.urls(), ["https://alice.github.io/", "https://example.org/x"]);
    assert_eq!(found.rejects, [(Reason::BrokenRowGroup, 1)]);
}

#[test]
fn what_is_no_columnar_index_is_told_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let whole = columnar(COLUMNAR, Codec::SNAPPY, &[&ROWS[..2]]);
    let none =
        columnar(&COLUMNAR.replace("required binary url ", "required binary uri "), Codec::SNAPPY, &[&ROWS[..2]]);
    let cases = [
        ("cut.parquet", whole[..whole.len() - 9].to_vec(), "fetch it again"),
        ("none.parquet", none, "no column `url`"),
        ("a.parquet.gz", members(&[&whole], Gzip), "decompress it first"),
        ("short.parquet", b"PAR1".to_vec(), "fetch it again"),
    ];
    for (name, bytes, way) in cases {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = try_read(&path, &Options::default()).unwrap_err();
        assert!(matches!(error, IoError::Parquet { .. }), "{name}: {error}");
        assert!(error.to_string().contains(way) && error.to_string().contains(name), "{error}");
    }
}

/// Lines of the common and the combined format, with and without a virtual host.
pub const LOG: &str = r#"192.0.2.7 - - [20/Nov/2026:19:21:08 +0000] "GET /a?b=c HTTP/1.1" 200 309 "-" "agent/1.0"
2001:db8::7 - user name [20/Nov/2026:19:21:09 +0000] "GET /quote\"d?\xc3\xa9 HTTP/2.0" 200 - "http://192.0.2.8/" "a \"b\" c"
192.0.2.7 - - [20/Nov/2026:19:21:10 +0000] "HEAD /old HTTP/1.1" 301 0
192.0.2.7 - - [20/Nov/2026:19:21:11 +0000] "POST /form HTTP/1.1" 200 5
192.0.2.7 - - [20/Nov/2026:19:21:12 +0000] "-" 408 -
v.example:443 192.0.2.7 - - [20/Nov/2026:19:21:13 +0000] "GET /v HTTP/1.1" 404 12
192.0.2.7 - - [20/Nov/2026:19:21:14 +0000] "GET /cut
"#;

#[test]
fn access_logs_are_read_without_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { log_base: Some("https://h.example".to_owned()), ..Options::default() };
    for (name, bytes) in [
        ("access.log", LOG.as_bytes().to_vec()),
        ("access_log.1.gz", members(&LOG.split_inclusive('\n').collect::<Vec<_>>(), Gzip)),
        ("whatever.zst", members(&[LOG], Zstd)),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let found = try_read(&path, &options).unwrap();
        let rows: Vec<_> = found.records.iter().map(|r| (r.url.as_str(), r.status, r.size)).collect();
        let expected = [
            ("https://h.example/a?b=c", 200, 309),
            ("https://h.example/quote%22d?%C3%A9", 200, 0),
            ("https://h.example/old", 301, 0),
            ("https://v.example/v", 404, 12),
        ];
        assert_eq!(rows, expected, "{name}");
        assert_eq!(found.rejects, [(Reason::NotALogLine, 1)], "{name}");
        let error = try_read(&path, &Options::default()).unwrap_err();
        assert!(matches!(error, IoError::NoLogBase { .. }) && error.to_string().contains("--log-base"), "{error}");
    }
}
