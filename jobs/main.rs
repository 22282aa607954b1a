//! The binary: one small file a job turns arguments into checked options and calls the library.
mod learn;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Learns, proves and applies URL normalization rules from duplicate clusters.
#[derive(Parser, Debug)]
#[command(name = "undust", version)]
struct Cli {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand, Debug)]
enum Job {
    Learn(learn::LearnArgs),
}

fn main() -> ExitCode {
    let Job::Learn(args) = Cli::parse().job;
    match learn::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            let _ = writeln!(std::io::stderr().lock(), "undust: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
