//! The floor that `undust learn` and `undust normalize` are measured against: decompress the shards and
//! parse each URL once with the `url` crate, on a given number of threads. Nothing is learned, nothing
//! kept.
//!
//! `cargo bench --bench floor -- THREADS SHARD...` prints one JSON object: URLs, those that parse,
//! bytes after decompression, wall-clock seconds. A shard is TSV or plain lines (what stands before the
//! first tab is the URL), plain, `.gz` or `.zst`. Shards are dealt to threads as they come free, so
//! give at least as many as threads.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own, outside jobs")]

use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Counts of one thread.
#[derive(Clone, Copy, Default)]
struct Seen {
    urls: u64,
    parsed: u64,
    bytes: u64,
}

fn main() -> ExitCode {
    // cargo puts `--bench` among the arguments.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let (threads, shards) = match arguments.split_first() {
        Some((threads, shards)) if !shards.is_empty() => (threads.parse::<usize>(), shards),
        _ => {
            eprintln!("usage: cargo bench --bench floor -- THREADS SHARD...");
            return ExitCode::SUCCESS; // run without arguments by `cargo bench`: nothing to measure
        }
    };
    let Some(threads) = threads.ok().filter(|&n| n > 0) else {
        eprintln!("floor: THREADS must be a number from 1 on, not {:?}", arguments[0]);
        return ExitCode::from(2);
    };
    let began = Instant::now();
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<Seen> {
        let mut seen = Seen::default();
        while let Some(path) = shards.get(next.fetch_add(1, Ordering::Relaxed)) {
            read(path, &mut seen).map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))?;
        }
        Ok(seen)
    };
    let seen: io::Result<Vec<Seen>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    let seconds = began.elapsed().as_secs_f64();
    match seen {
        Ok(all) => {
            let [urls, parsed, bytes] = [|s: &Seen| s.urls, |s: &Seen| s.parsed, |s: &Seen| s.bytes]
                .map(|count| all.iter().map(count).sum::<u64>());
            println!(
                "{{\"threads\":{threads},\"urls\":{urls},\"parsed\":{parsed},\"bytes\":{bytes},\"seconds\":{seconds:.4}}}"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("floor: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads one shard and parses the URL of each line.
fn read(path: &str, seen: &mut Seen) -> io::Result<()> {
    let file = File::open(path)?;
    let mut reader: Box<dyn BufRead> = match path.rsplit('.').next() {
        Some("gz") => Box::new(BufReader::with_capacity(1 << 16, flate2::read::MultiGzDecoder::new(file))),
        Some("zst") => Box::new(BufReader::with_capacity(1 << 16, zstd::Decoder::new(file)?)),
        _ => Box::new(BufReader::with_capacity(1 << 16, file)),
    };
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let end = memchr::memchr2(b'\t', b'\n', &line).unwrap_or(line.len());
        if let Ok(text) = std::str::from_utf8(&line[..end]) {
            seen.parsed += u64::from(black_box(url::Url::parse(text)).is_ok());
        }
        seen.urls += 1;
        seen.bytes += line.len() as u64;
        line.clear();
    }
    Ok(())
}
