//! What merging duplicates and ordering by URL save, in bytes, and the floor of `undust compress-index`.
//!
//! `cargo bench --bench ciff -- INDEX.ciff...` prints, a line an index: bytes of the file when plain, bytes of the
//! d-gaps and of the tf under a block codec, and the seconds of decoding every list and encoding it again without change,
//! on one thread, the least of three passes. The codec: blocks of 128 numbers bit-packed to the width of the largest
//! (SIMD-BP128 in the crate `bitpacking`, one byte for the width), the rest of a list in variable bytes; d-gaps and tf
//! less 1, as PISA's block codecs store them. Terms, lengths of lists and skips are not counted.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own, outside jobs")]

use bitpacking::{BitPacker, BitPacker4x};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use undust::index::postings;
use undust::index::remap::{Buffers, remap_block};
use undust::index::wire::{Varint, varint, varint_len};
use undust::io::ciff::{CiffReader, IndexError};

fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if paths.is_empty() {
        eprintln!("usage: cargo bench --bench ciff -- INDEX.ciff...");
        return ExitCode::SUCCESS; // run without arguments by `cargo bench`: nothing to measure
    }
    println!("{:32} {:>11} {:>10} {:>12} {:>12} {:>8}", "index", "postings", "bytes", "d-gap bytes", "tf bytes", "floor s");
    for path in paths {
        if let Err(error) = measure(Path::new(&path)) {
            eprintln!("ciff: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn measure(path: &Path) -> Result<(), IndexError> {
    let mut floor = f64::INFINITY;
    for _ in 0..3 {
        let began = Instant::now();
        let mut reader = CiffReader::open(path)?;
        let docs = reader.header().num_docs;
        let (mut block, mut buffers, mut out) = (Vec::new(), Buffers::default(), Vec::new());
        while let Some(at) = reader.next_lists(&mut block)? {
            out.clear();
            remap_block(None, docs, &block, at, &mut buffers, &mut out).map_err(|error| reader.format(error))?;
            assert_eq!(out, block, "re-encoding changes nothing");
        }
        floor = floor.min(began.elapsed().as_secs_f64());
    }
    let (mut postings_read, mut bytes, mut gap_bytes, mut tf_bytes) = (0, 0, 0, 0);
    let mut reader = CiffReader::open(path)?;
    let docs = reader.header().num_docs;
    let (mut block, mut list) = (Vec::new(), Vec::new());
    while let Some(at) = reader.next_lists(&mut block)? {
        bytes += block.len();
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
            gap_bytes += packed(&gaps);
            tf_bytes += packed(&list.iter().map(|p| p.tf().saturating_sub(1)).collect::<Vec<u32>>());
            rest = more;
        }
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    println!("{name:32} {postings_read:>11} {bytes:>10} {gap_bytes:>12} {tf_bytes:>12} {floor:>8.3}");
    Ok(())
}

/// Bytes of some numbers under the codec.
fn packed(numbers: &[u32]) -> usize {
    let packer = BitPacker4x::new();
    let mut out = [0; 4 * BitPacker4x::BLOCK_LEN];
    let (blocks, rest) = numbers.as_chunks::<{ BitPacker4x::BLOCK_LEN }>();
    let blocks: usize = blocks.iter().map(|b| 1 + packer.compress(b, &mut out, packer.num_bits(b))).sum();
    blocks + rest.iter().map(|&number| varint_len(u64::from(number))).sum::<usize>()
}
