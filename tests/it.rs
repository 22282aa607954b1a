#[path = "it/evaluate.rs"]
mod evaluate;
#[path = "it/jobs_evaluate.rs"]
mod jobs_evaluate;
#[path = "it/jobs_explain.rs"]
mod jobs_explain;
#[path = "it/jobs_help.rs"]
mod jobs_help;
#[path = "it/jobs_normalize.rs"]
mod jobs_normalize;
#[path = "it/jobs_run.rs"]
mod jobs_run;
#[path = "it/url_safe.rs"]
mod url_safe;
