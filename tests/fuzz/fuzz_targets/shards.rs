//! Fuzzes the readers of files: the first byte chooses the format; whatever the others, the invariants hold.
#![no_main]

#[path = "../invariants/shards.rs"]
mod invariants;

use undust::io::Format;

const FORMATS: [Format; 6] =
    [Format::Cdx, Format::Cdxj, Format::Warc, Format::AccessLog, Format::Parquet, Format::CrawlLog];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let path = std::env::temp_dir().join(format!("undust-fuzz-{}", std::process::id()));
    if let Err(broken) = invariants::check(&path, FORMATS[usize::from(*first) % FORMATS.len()], rest) {
        panic!("{broken}");
    }
});
