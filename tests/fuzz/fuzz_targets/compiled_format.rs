//! Fuzzes the reader of compiled rules: whatever the bytes, the invariants hold.
#![no_main]

#[path = "../invariants/compiled_format.rs"]
mod invariants;
#[path = "../invariants/memory.rs"]
mod memory;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = invariants::check(data) {
        panic!("{broken}");
    }
});
