//! Fuzzes the readers of what comes over a connection of the mesh: whatever the bytes, the laws hold.
#![no_main]

#[path = "../laws/hello.rs"]
mod laws;
#[path = "../laws/memory.rs"]
mod memory;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = laws::laws(data) {
        panic!("{broken}");
    }
});
