//! Fuzzes the parser of JSON lines: whatever the bytes, its invariants hold.
#![no_main]

#[path = "../invariants/records.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = invariants::check(data, undust::io::jsonl::parse) {
        panic!("{broken}");
    }
});
