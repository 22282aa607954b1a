//! Integration tests: one binary, a module a part of the house.
#[path = "it/dataflow_learn.rs"]
mod dataflow_learn;
#[path = "it/dataflow_support.rs"]
mod dataflow_support;
#[path = "it/url_safe.rs"]
mod url_safe;
