//! Fuzzes the parser of JSON lines: whatever the bytes, its laws hold.
#![no_main]

#[path = "../laws/records.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = laws::laws(data, undust::io::jsonl::parse) {
        panic!("{broken}");
    }
});
