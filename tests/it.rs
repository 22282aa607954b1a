//! Integration tests: one binary, a module a part of the house.
#[path = "it/rule_file.rs"]
mod rule_file;
#[path = "it/url_fuzz.rs"]
mod url_fuzz;
#[path = "it/url_safe.rs"]
mod url_safe;
