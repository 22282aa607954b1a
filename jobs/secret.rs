//! `undust secret`: a new shared secret for runs on several machines.

use super::failure::Failure;
use crate::messages::data;
use clap::Args;
use std::path::PathBuf;
use undust::runtime::secret::{create, generate};

/// Makes a strong secret for runs on several machines.
///
/// The secret is 32 random bytes as text. Copy its file to all hosts and name it in cluster.toml
/// (secret_file) or in the environment variable UNDUST_SECRET_FILE there.
#[derive(Args, Debug)]
pub struct SecretArgs {
    /// File for the secret, made with mode 0600; an existing file is never replaced. Without it, standard
    /// output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the job.
///
/// # Errors
/// [`Failure`], with its exit code.
pub fn run(args: SecretArgs) -> Result<(), Failure> {
    match &args.out {
        Some(path) if path.as_os_str() != "-" => Ok(create(path)?),
        _ => {
            let text = generate()? + "\n";
            data(text.as_bytes()).map_err(Failure::stdout)
        }
    }
}
