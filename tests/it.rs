#[path = "it/url_safe.rs"]
mod url_safe;
