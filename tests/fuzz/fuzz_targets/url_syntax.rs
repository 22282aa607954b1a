//! Fuzzes syntax-based normalization of the URL: whatever the bytes, its invariants hold.
#![no_main]

#[path = "../invariants/url_syntax.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = invariants::check(data) {
        panic!("{broken}");
    }
});
