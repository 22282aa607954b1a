//! Fuzzes the parser of TSV: whatever the bytes, its laws hold.
#![no_main]

#[path = "../laws/records.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = laws::laws(data, undust::io::tsv::parse) {
        panic!("{broken}");
    }
});
