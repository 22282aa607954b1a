#[path = "it/published_figures.rs"]
mod published_figures;
#[path = "it/published_learn.rs"]
mod published_learn;
#[path = "it/url_safe.rs"]
mod url_safe;
