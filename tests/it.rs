//! The one integration binary; its modules lie in `tests/it`.
#[path = "it/fuzz_replay.rs"]
mod fuzz_replay;
#[path = "it/io_reader.rs"]
mod io_reader;
#[path = "it/io_shards.rs"]
mod io_shards;
