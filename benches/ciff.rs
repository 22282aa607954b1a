//! Bytes saved by merging duplicates and by ordering by URL, and the speed of `undust compress-index`
//! against its floor.
//!
//! `cargo bench --bench ciff -- INDEX.ciff...` prints, a line an index: bytes of the file, and bytes of
//! the d-gaps and of the tf under a block codec: blocks of 128 numbers bit-packed to the width of the
//! largest (SIMD-BP128 in the crate `bitpacking`, one byte for the width), the rest of a list in
//! variable bytes; d-gaps and tf less 1, as PISA's block codecs store them. Terms, lengths of lists and
//! skips are not counted.
//!
//! `cargo bench --bench ciff -- --speed [ROUNDS]` makes an index of 400,000 documents (200 MB; a fifth
//! of them duplicates), and prints the least wall time and the least processor time of some rounds (3)
//! of: the floor (read, decode every list, encode it again without change, write; one thread), and the
//! job with one worker and with two.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own, outside jobs")]

use bitpacking::{BitPacker, BitPacker4x};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;
use undust::index::remap::{Buffers, remap_block};
use undust::index::wire::{Varint, varint, varint_len};
use undust::index::{DocRecord, Header, Posting, postings};
use undust::io::ciff::CiffReader;

/// Whatever went wrong.
type Failed = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let done = match arguments.split_first() {
        None => {
            eprintln!("usage: cargo bench --bench ciff -- INDEX.ciff... | --speed [ROUNDS]");
            Ok(()) // Run without arguments by `cargo bench`: nothing to measure.
        }
        Some((first, rest)) if first == "--speed" => speed(rest.first().and_then(|r| r.parse().ok()).unwrap_or(3)),
        Some(_) => sizes(&arguments),
    };
    done.map_or_else(
        |error| {
            eprintln!("ciff: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// Documents of the index that is made, and its terms.
const DOCS: u32 = 400_000;
const TERMS: u32 = 60_000;

/// Xorshift (Marsaglia 2003), between 0 and 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The URL of a document: its topic, each fifth document that of another with a session id.
fn url(doc: u32) -> String {
    let topic = doc - doc / 5;
    if doc.is_multiple_of(5) && doc > 0 {
        format!("http://www.forum.example/viewtopic.php?t={}&sid={:08x}", topic - 1, doc.wrapping_mul(0x9e37_79b9))
    } else {
        format!("http://www.forum.example/viewtopic.php?t={topic}")
    }
}

/// Writes an index in which the documents of each term are spread at random, more of them the lower the
/// term.
fn make(path: &Path) -> Result<(), Failed> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut bytes = Vec::new();
    let header = Header {
        num_postings_lists: TERMS,
        num_docs: DOCS,
        total_postings_lists: TERMS,
        total_docs: DOCS,
        total_terms_in_collection: u64::from(DOCS) * 100,
        average_doclength: 100.0,
        description: "made by benches/ciff".into(),
    };
    header.encode(&header, &mut bytes);
    let (mut random, mut list, mut body) = (Random(1), Vec::new(), Vec::new());
    for term in 0..TERMS {
        let share = (8.0 / (f64::from(term) + 12.0)).min(0.6);
        list.clear();
        let mut doc = 0.0;
        loop {
            // Gaps between documents drawn each with this chance.
            doc += 1.0 + (random.next().max(1e-300).ln() / (1.0 - share).ln()).floor();
            if doc > f64::from(DOCS) {
                break;
            }
            let tf = 1 + (-random.next().max(1e-300).ln() * 0.7) as u32;
            list.push(Posting::new(doc as u32 - 1, tf));
        }
        if list.is_empty() {
            list.push(Posting::new(term % DOCS, 1));
        }
        postings::encode(format!("term{term:06}").as_bytes(), &list, &mut body, &mut bytes);
        out.write_all(&bytes)?;
        bytes.clear();
    }
    for docid in 0..DOCS {
        DocRecord { docid, collection_docid: url(docid).as_bytes(), length: 100 }.encode(&mut bytes);
    }
    out.write_all(&bytes)?;
    Ok(out.flush()?)
}

/// Processor seconds of this process, and of those it waited for.
fn processor() -> Result<(f64, f64), Failed> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text[text.rfind(')').ok_or("no name")? + 2..].split(' ').collect();
    let ticks = |at: usize| -> Result<f64, Failed> { Ok(fields[at].parse::<f64>()? / 100.0) };
    Ok((ticks(11)? + ticks(12)?, ticks(13)? + ticks(14)?))
}

/// Reads, decodes, encodes and writes an index without change.
fn floor(from: &Path, to: &Path) -> Result<(), Failed> {
    let (mut reader, mut out) = (CiffReader::open(from)?, BufWriter::new(File::create(to)?));
    let docs = reader.header().num_docs;
    let (mut block, mut buffers, mut again) = (Vec::new(), Buffers::default(), Vec::new());
    reader.header().encode(reader.header(), &mut again);
    while let Some(at) = reader.next_lists(&mut block)? {
        remap_block(None, docs, &block, at, &mut buffers, &mut again).map_err(|error| reader.format(error))?;
        out.write_all(&again)?;
        again.clear();
    }
    while reader.next_records(&mut |record| record.encode(&mut again))? {}
    out.write_all(&again)?;
    out.flush()?;
    Ok(out.get_ref().sync_all()?)
}

fn speed(rounds: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let undust = |arguments: &[&str]| -> Result<(), Failed> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_undust"));
        let done = command.current_dir(folder.path()).args(arguments).output()?;
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into()) }
    };
    let mut records = String::new();
    for topic in 0..2000 {
        for view in 0..1 + topic % 4 {
            let session = if view == 0 { String::new() } else { format!("&sid={:08x}", topic * 77 + view) };
            records.push_str(&format!("http://www.forum.example/viewtopic.php?t={topic}{session}\t{topic}\n"));
        }
    }
    std::fs::write(at("records.tsv"), records)?;
    undust(&["learn", "records.tsv", "--out", "rules"])?;
    make(&at("in.ciff"))?;
    let megabytes = std::fs::metadata(at("in.ciff"))?.len() as f64 / 1e6;
    let job = |workers: &str| {
        let arguments =
            ["compress-index", "--rules", "rules", "--index", "in.ciff", "--out", "out.ciff", "--overwrite"];
        undust(&[&arguments[..], &["--quiet", "-w", workers]].concat())
    };
    println!("{:12} {:>8} {:>8} {:>8} {:>10} {:>12}", "", "MB", "wall s", "CPU s", "MB/s wall", "MB/s of CPU");
    let mut least = [[f64::INFINITY; 2]; 3];
    for _ in 0..rounds {
        for (kind, least) in least.iter_mut().enumerate() {
            let (began, before) = (Instant::now(), processor()?);
            match kind {
                0 => floor(&at("in.ciff"), &at("floor.ciff"))?,
                1 => job("1")?,
                _ => job("2")?,
            }
            let (wall, after) = (began.elapsed().as_secs_f64(), processor()?);
            *least = [least[0].min(wall), least[1].min(after.0 - before.0 + after.1 - before.1)];
        }
    }
    assert!(std::fs::read(at("floor.ciff"))? == std::fs::read(at("in.ciff"))?, "the floor changes nothing");
    for (name, [wall, cpu]) in ["floor", "1 worker", "2 workers"].iter().zip(least) {
        println!(
            "{name:12} {megabytes:>8.1} {wall:>8.3} {cpu:>8.2} {:>10.0} {:>12.0}",
            megabytes / wall,
            megabytes / cpu
        );
    }
    let [floor, one, two] = least;
    println!(
        "1 worker takes {:.2} x the floor ({:.2} x of processor time); 2 workers are {:.2} x as fast as 1",
        one[0] / floor[0],
        one[1] / floor[1],
        one[0] / two[0]
    );
    Ok(())
}

fn sizes(paths: &[String]) -> Result<(), Failed> {
    println!("{:32} {:>11} {:>10} {:>12} {:>12}", "index", "postings", "bytes", "d-gap bytes", "tf bytes");
    paths.iter().try_for_each(|path| size(Path::new(path)))
}

/// Bytes of one index.
fn size(path: &Path) -> Result<(), Failed> {
    let bytes = std::fs::metadata(path)?.len();
    let (mut postings_read, mut gap_bytes, mut tf_bytes) = (0, 0, 0);
    let mut reader = CiffReader::open(path)?;
    let docs = reader.header().num_docs;
    let (mut block, mut list) = (Vec::new(), Vec::new());
    while let Some(at) = reader.next_lists(&mut block)? {
        let mut rest = &block[..];
        while let Varint::Is(length, prefix) = varint(rest) {
            let (message, more) = rest[prefix..].split_at(length as usize);
            postings::decode(message, at, docs, &mut list).map_err(|error| reader.format(error))?;
            postings_read += list.len();
            let mut last = None;
            let gaps: Vec<u32> = list
                .iter()
                .map(|p| {
                    let gap = last.map_or(p.docid(), |last: u32| p.docid() - last - 1);
                    last = Some(p.docid());
                    gap
                })
                .collect();
            gap_bytes += coded_bytes(&gaps);
            tf_bytes += coded_bytes(&list.iter().map(|p| p.tf().saturating_sub(1)).collect::<Vec<u32>>());
            rest = more;
        }
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    println!("{name:32} {postings_read:>11} {bytes:>10} {gap_bytes:>12} {tf_bytes:>12}");
    Ok(())
}

/// Bytes of some numbers under the codec.
fn coded_bytes(numbers: &[u32]) -> usize {
    let packer = BitPacker4x::new();
    let mut out = [0; 4 * BitPacker4x::BLOCK_LEN];
    let (blocks, rest) = numbers.as_chunks::<{ BitPacker4x::BLOCK_LEN }>();
    let blocks: usize = blocks.iter().map(|b| 1 + packer.compress(b, &mut out, packer.num_bits(b))).sum();
    blocks + rest.iter().map(|&number| varint_len(u64::from(number))).sum::<usize>()
}
