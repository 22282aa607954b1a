//! Fuzzes the reader of predictions: whatever the bytes, the invariants hold.
#![no_main]

#[path = "../invariants/predictions.rs"]
mod invariants;
#[path = "../invariants/memory.rs"]
mod memory;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = std::env::temp_dir().join(format!("undust-fuzz-{}", std::process::id()));
    if let Err(broken) = invariants::check(&path, data) {
        panic!("{broken}");
    }
});
