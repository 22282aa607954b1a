//! Fuzzes the cutting of URLs into keys: whatever the bytes, its invariants hold.
#![no_main]

#[path = "../invariants/keys.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = invariants::check(data) {
        panic!("{broken}");
    }
});
