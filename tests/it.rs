//! Integration tests, one binary.
mod it {
    mod io_reader;
    mod io_shards;
}
