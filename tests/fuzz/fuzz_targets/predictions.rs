//! Fuzzes the reader of predictions: whatever the bytes, the laws hold.
#![no_main]

#[path = "../laws/predictions.rs"]
mod laws;
#[path = "../laws/memory.rs"]
mod memory;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = std::env::temp_dir().join(format!("undust-fuzz-{}", std::process::id()));
    if let Err(broken) = laws::laws(&path, data) {
        panic!("{broken}");
    }
});
