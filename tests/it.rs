//! Integration tests: one binary, a module a part of the house.
#[path = "it/dataflow_learn.rs"]
mod dataflow_learn;
#[path = "it/dataflow_support.rs"]
mod dataflow_support;
#[path = "it/dataflow_walk.rs"]
mod dataflow_walk;
#[path = "it/fuzz_replay.rs"]
mod fuzz_replay;
#[path = "it/io_reader.rs"]
mod io_reader;
#[path = "it/io_shards.rs"]
mod io_shards;
#[path = "it/rule_file.rs"]
mod rule_file;
#[path = "it/url_fuzz.rs"]
mod url_fuzz;
#[path = "it/url_safe.rs"]
mod url_safe;
