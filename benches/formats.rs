//! Reading what crawl teams have, on one core, each with its floor in the same run; and clustering of
//! fingerprints.
//!
//! `cargo bench --bench formats [-- PART...] [ARCHIVE.warc.gz...]` prints a line a part. Parts: `cdxj`
//! (decompressed MB/s, floor: decompression), `parquet` (rows/s, floor: pages decompressed), `warc`
//! (decompressed MB/s with titles, canonical URLs and fingerprints, floor: decompression; of a
//! generated archive and of those named), `fingerprints` (seconds for 10^6 on two workers). Times are
//! of the processor, so that other work on the machine does not count; the last part's is of the clock
//! beside.
#![allow(clippy::print_stdout, reason = "a program of its own, outside jobs")]

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parquet::basic::Compression as Codec;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use undust::dataflow::clusters::{By, ClusterPlan, Clustering, LabelReceiver, Labels, cluster};
use undust::dataflow::{Batches, Source, SourceError};
use undust::io::compression::{Compression, Encoder};
use undust::io::reader::LINE_LIMIT;
use undust::io::shards::{Options, find};
use undust::io::{Rejects, ShardReader};
use undust::model::{DocumentKind, Facts, Fingerprint, Record, RecordBatch, SiteBy, hash64};
use undust::runtime::progress::Progress;

const PARTS: [&str; 4] = ["cdxj", "parquet", "warc", "fingerprints"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let (parts, archives): (Vec<_>, Vec<_>) = arguments.into_iter().partition(|a| PARTS.contains(&a.as_str()));
    let asked = |part: &str| parts.is_empty() || parts.iter().any(|p| p == part);
    let folder = tempfile::tempdir().expect("a scratch folder");
    if asked("cdxj") {
        cdxj(folder.path());
    }
    if asked("parquet") {
        columnar(folder.path());
    }
    if asked("warc") {
        warc(&pages(folder.path()), "generated");
        archives.iter().for_each(|path| warc(Path::new(path), path));
    }
    if asked("fingerprints") {
        fingerprints(folder.path());
    }
}

/// Seconds that this thread was on a processor; of the clock where the system does not tell.
fn seconds(work: impl FnOnce()) -> f64 {
    let spent = || std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse::<u64>().ok();
    let (before, began) = (spent(), Instant::now());
    work();
    match (before, spent()) {
        (Some(before), Some(after)) => (after - before) as f64 / 1e9,
        _ => began.elapsed().as_secs_f64(),
    }
}

/// The better of three runs.
fn best(mut work: impl FnMut()) -> f64 {
    (0..3).map(|_| seconds(&mut work)).fold(f64::INFINITY, f64::min)
}

/// Reads a file as the jobs do; records, and rejected ones.
fn read(path: &Path) -> (u64, u64) {
    let (mut batch, mut rejects, mut records) = (RecordBatch::default(), Rejects::default(), 0);
    for shard in find(&[path], &Options::default()).expect("a format") {
        let mut reader = ShardReader::open_with_facts(&shard, LINE_LIMIT, Arc::new(AtomicU64::new(0))).expect("a file");
        while reader.next_batch(&mut batch, &mut rejects).expect("a whole file") {
            records += black_box(&batch).len() as u64;
        }
    }
    (records, rejects.total())
}

/// Decompresses a gzip file; its bytes.
fn inflate(path: &Path) -> u64 {
    let mut decoder = flate2::read::MultiGzDecoder::new(File::open(path).expect("a file"));
    let (mut buffer, mut bytes) = (vec![0; 256 << 10], 0);
    loop {
        match decoder.read(&mut buffer).expect("a whole file") {
            0 => return bytes,
            read => bytes += black_box(&buffer[..read]).len() as u64,
        }
    }
}

fn told(part: &str, unit: &str, amount: f64, ours: f64, floor: f64, wanted: f64) {
    println!(
        "{part:<14} {:>8.1} {unit} of {wanted} wanted; floor {:>8.1} {unit}; {:.2} x the floor's time{}",
        amount / ours,
        amount / floor,
        ours / floor,
        if amount / ours < wanted { "  MISSED" } else { "" }
    );
}

/// Lines as Common Crawl writes them, in members of 3,000.
fn cdxj(folder: &Path) {
    let (path, plain) = (folder.join("cdx-00000.gz"), folder.join("cdx-00000"));
    let (mut compressed, mut lines_file) =
        (BufWriter::new(File::create(&path).expect("a file")), File::create(&plain).expect("a file"));
    for block in 0..100u64 {
        let mut lines = Vec::new();
        for at in (0..3000).map(|at| block * 3000 + at) {
            let hash = hash64(&at.to_le_bytes());
            writeln!(
                lines,
                "com,example{0})/articles/{1:x}/{2} 20260115{3:06} {{\"url\": \"https://www.example{0}.com/articles/{1:x}/{2}?page={4}&utm_source=feed\", \"mime\": \"text/html\", \"mime-detected\": \"text/html\", \"status\": \"200\", \"digest\": \"{1:016X}{5:016X}\", \"length\": \"{2}\", \"offset\": \"{at}{4}\", \"filename\": \"crawl-data/CC-MAIN-2026-04/segments/1768{4}/warc/CC-MAIN-20260115-0{0}.warc.gz\", \"charset\": \"UTF-8\", \"languages\": \"eng\"}}",
                hash % 977, hash, at % 30_011, at % 240_000, hash % 17, hash.wrapping_mul(31)
            )
            .expect("a vector takes everything");
        }
        let mut member = Encoder::new(Compression::Gzip, Vec::new()).expect("an encoder");
        member.write_all(&lines).expect("a vector takes everything");
        compressed.write_all(&member.finish().expect("a vector takes everything")).expect("room");
        lines_file.write_all(&lines).expect("room");
    }
    compressed.flush().expect("room");
    let megabytes = inflate(&path) as f64 / 1e6;
    assert_eq!(read(&path), (300_000, 0));
    let floor = best(|| {
        black_box(inflate(&path));
    });
    let ours = best(|| {
        black_box(read(&path));
    });
    told("cdxj gzip", "MB/s", megabytes, ours, floor, 300.0);
    let floor = best(|| drop(black_box(std::fs::read(&plain).expect("a file"))));
    let ours = best(|| {
        black_box(read(&plain));
    });
    told("cdxj plain", "MB/s", megabytes, ours, floor, 300.0);
}

/// Two million rows with the columns of the Common Crawl index that undust reads, in groups of 250,000.
fn columnar(folder: &Path) {
    const SCHEMA: &str = "message index {
        required binary url (STRING);
        optional binary url_host_registered_domain (STRING);
        optional binary url_host_private_domain (STRING);
        optional int32 fetch_status;
        optional binary fetch_redirect (STRING);
        optional binary content_digest (STRING);
        optional binary content_mime_detected (STRING);
    }";
    const GROUP: u64 = 250_000;
    let path = folder.join("part-00000.c000.gz.parquet");
    let properties = WriterProperties::builder().set_compression(Codec::GZIP(Default::default())).build();
    let schema = Arc::new(parse_message_type(SCHEMA).expect("a schema"));
    let out = File::create(&path).expect("a file");
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties)).expect("a file");
    for group in 0..8 {
        let rows = group * GROUP..(group + 1) * GROUP;
        let hash = |at: u64| hash64(&at.to_le_bytes());
        // Sorted by site, as the index is.
        let host = |at: u64| format!("example{}.com", at / 500);
        let texts = |of: &dyn Fn(u64) -> String| {
            rows.clone().map(|at| ByteArray::from(of(at).into_bytes())).collect::<Vec<_>>()
        };
        let mut columns = writer.next_row_group().expect("a group");
        let mut column = 0;
        while let Some(mut to) = columns.next_column().expect("a column") {
            let ones = vec![1; GROUP as usize];
            let values = match column {
                0 => texts(&|at| {
                    format!("https://www.{}/articles/{:x}/{at}?page={}", host(at), hash(at) % 99_991, at % 9)
                }),
                1 | 2 => texts(&host),
                5 => texts(&|at| format!("{:016X}{:016X}", hash(at / 2), hash(at / 2 + 1))),
                6 => texts(&|_| "text/html".to_owned()),
                _ => Vec::new(),
            };
            let levels = match column {
                0 => None,
                4 => Some(vec![0; GROUP as usize]),
                _ => Some(ones),
            };
            if column == 3 {
                let status = vec![200; GROUP as usize];
                to.typed::<Int32Type>().write_batch(&status, levels.as_deref(), None).expect("room");
            } else {
                to.typed::<ByteArrayType>().write_batch(&values, levels.as_deref(), None).expect("room");
            }
            to.close().expect("room");
            column += 1;
        }
        columns.close().expect("room");
    }
    writer.close().expect("room");
    let pages = || {
        let file = SerializedFileReader::new(File::open(&path).expect("a file")).expect("a table");
        for group in 0..file.num_row_groups() {
            let group = file.get_row_group(group).expect("a group");
            for column in 0..group.num_columns() {
                for page in group.get_column_page_reader(column).expect("a column") {
                    black_box(page.expect("a page").buffer().len());
                }
            }
        }
    };
    assert_eq!(read(&path), (8 * GROUP, 0));
    let (floor, ours) = (
        best(pages),
        best(|| {
            black_box(read(&path));
        }),
    );
    told("parquet", "M rows/s", 8.0 * GROUP as f64 / 1e6, ours, floor, 2.0);
}

/// An archive of pages with scripts, navigation, a list and text, about as real ones are mixed.
fn pages(folder: &Path) -> PathBuf {
    let path = folder.join("a.warc.gz");
    let mut out = BufWriter::new(File::create(&path).expect("a file"));
    for page in 0..1500u64 {
        let word = |at: u64| {
            let mut hash = hash64(&[page, at].map(u64::to_le_bytes).concat());
            let length = 2 + hash % 9;
            (0..length).map(|_| (char::from(b'a' + (hash % 26) as u8), hash /= 26).0).collect::<String>()
        };
        let prose = |from: u64, words: u64| (from..from + words).map(word).collect::<Vec<_>>().join(" ");
        let mut html = format!("<!DOCTYPE html><html><head><meta charset=utf-8><title>{}</title><style>", prose(0, 5));
        (0..80).for_each(|at| {
            html.push_str(&format!(".c{at} > a:hover {{ color: #{:06x}; margin: {at}px }}\n", at * 7919))
        });
        html.push_str("</style><script>");
        (0..120).for_each(|at| html.push_str(&format!("if (a{at} < b[{at}]) {{ f('{}', {at}); }}\n", word(at))));
        html.push_str("</script></head><body><nav><ul>");
        (0..60).for_each(|at| {
            html.push_str(&format!("<li class=\"menu-item item-{at}\"><a href=\"/m/{at}\">{}</a></li>\n", word(at)))
        });
        html.push_str("</ul></nav><main>");
        for paragraph in 0..40 {
            html.push_str(&format!(
                "<div class=\"row\" id=\"p{paragraph}\"><h2><a href=\"/p/{page}/{paragraph}?x=1&amp;y=2\">{}</a></h2><p>{}</p><span class=\"count\">{}</span></div>\n",
                prose(100 + paragraph, 6),
                prose(1000 + 100 * paragraph, 60),
                page + paragraph
            ));
        }
        html.push_str("</main><footer><p>Copyright</p></footer></body></html>");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: x\r\n\r\n";
        let record = format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://www.example.com/page/{page}\r\nContent-Type: application/http; msgtype=response\r\nWARC-Payload-Digest: sha1:{page}\r\nContent-Length: {}\r\n\r\n{head}{html}\r\n\r\n",
            head.len() + html.len()
        );
        let mut member = Encoder::new(Compression::Gzip, Vec::new()).expect("an encoder");
        member.write_all(record.as_bytes()).expect("a vector takes everything");
        out.write_all(&member.finish().expect("a vector takes everything")).expect("room");
    }
    out.flush().expect("room");
    path
}

fn warc(path: &Path, name: &str) {
    let megabytes = inflate(path) as f64 / 1e6;
    let (records, rejected) = read(path);
    let floor = best(|| {
        black_box(inflate(path));
    });
    let ours = best(|| {
        black_box(read(path));
    });
    told("warc simhash", "MB/s", megabytes, ours, floor, 40.0);
    println!("{:<14} {name}: {records} records, {rejected} rejected, {megabytes:.1} MB", "");
}

/// A million fingerprints of one site under one title, one in five near another: the worst case for the
/// tables.
struct Prints(u64);

struct Part {
    next: u64,
    step: u64,
    end: u64,
}

impl Source for Prints {
    fn open(&self, index: usize, peers: usize, _: usize) -> Result<Box<dyn Batches>, SourceError> {
        Ok(Box::new(Part { next: index as u64, step: peers as u64, end: self.0 }))
    }
}

impl Batches for Part {
    fn next_batch(&mut self, batch: &mut RecordBatch) -> Result<bool, SourceError> {
        batch.clear();
        let mut url = Vec::new();
        while self.next < self.end && batch.len() < 20_000 {
            let at = self.next;
            self.next += self.step;
            let base = if at.is_multiple_of(5) { at / 50 } else { self.end + at };
            let flips = hash64(&at.to_le_bytes());
            let simhash = hash64(&base.to_le_bytes()) ^ 1 << (flips % 64) ^ 1 << ((flips >> 6) % 64);
            url.clear();
            write!(url, "http://www.example.com/{at}").expect("a vector takes everything");
            let text = Fingerprint { simhash, text: flips, tokens: 500, edits: false };
            let facts = Facts {
                status: 200,
                kind: DocumentKind::Html,
                title: Some(b"Title"),
                text: Some(text),
                ..Facts::default()
            };
            batch.push_with(Record { url: &url, cluster: None, site: None, elsewhere: false }, facts);
        }
        Ok(!batch.is_empty())
    }
}

/// Counts labels.
#[derive(Default)]
struct Count(Arc<AtomicU64>);

impl Labels for Count {
    fn open(&self, _: usize) -> Result<Box<dyn LabelReceiver>, SourceError> {
        Ok(Box::new(Count(self.0.clone())))
    }
}

impl LabelReceiver for Count {
    fn label(&mut self, _: u64, _: u64) -> Result<(), SourceError> {
        // Statistics: no other memory depends on them.
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SourceError> {
        Ok(())
    }
}

fn fingerprints(folder: &Path) {
    const PRINTS: u64 = 1_000_000;
    for workers in [1, 2] {
        let plan = ClusterPlan {
            by: By::Simhash,
            site_by: SiteBy::Domain,
            workers,
            memory: 1 << 30,
            scratch: folder.to_owned(),
        };
        let (labels, began) = (Count::default(), Instant::now());
        let counted = labels.0.clone();
        let progress = Arc::new(Progress::default());
        let run = Clustering::new(&plan, Arc::new(Prints(PRINTS)), Arc::new(labels), progress, None).expect("scratch");
        let figures = cluster(&Arc::new(run), None).expect("a run");
        let seconds = began.elapsed().as_secs_f64();
        assert_eq!(counted.load(Ordering::Relaxed), PRINTS);
        println!(
            "fingerprints   {seconds:.2} s of 10 wanted on {workers} workers, by the clock; {} clusters, {} of two or more{}",
            figures.clusters,
            figures.duplicates,
            if workers == 2 && seconds >= 10.0 { "  MISSED" } else { "" }
        );
    }
}
