//! The rules that a job reads: `--rules DIR`.

use std::path::PathBuf;

use clap::Args;
use undust::rules::RuleSet;

use crate::report::Failure;

/// Where the rules are.
#[derive(Args, Debug)]
pub struct RulesDir {
    /// Folder that `undust learn` wrote.
    #[arg(long, value_name = "DIR")]
    rules: PathBuf,
    /// Takes the folder of a run that failed or is still going (it holds no _SUCCESS).
    #[arg(long)]
    allow_partial: bool,
}

impl RulesDir {
    /// Opens them.
    pub fn open(&self) -> Result<RuleSet, Failure> {
        Ok(if self.allow_partial { RuleSet::open_partial(&self.rules) } else { RuleSet::open(&self.rules) }?)
    }
}
