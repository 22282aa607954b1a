//! Bound on the memory that a reader holds, for the invariants of the readers of files and of strangers.

/// Runs `read` on an input of so many bytes; an error where it held more at a time than `fixed`
/// bytes and `times` the input. Counts what this thread takes from the allocator of Rust.
pub fn bounded<T>(input: usize, fixed: usize, times: usize, read: impl FnOnce() -> T) -> Result<T, String> {
    let mut done = None;
    let most = allocation_counter::measure(|| done = Some(read())).bytes_max;
    let bound = fixed + times * input;
    match done {
        Some(done) if most <= bound as u64 => Ok(done),
        _ => Err(format!("an input of {input} bytes takes {most} bytes of memory, more than {bound}")),
    }
}
