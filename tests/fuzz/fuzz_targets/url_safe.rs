//! Fuzzes syntax-based normalization of the URL: whatever the bytes, its laws hold.
#![no_main]

#[path = "../laws/url_safe.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = laws::laws(data) {
        panic!("{broken}");
    }
});
