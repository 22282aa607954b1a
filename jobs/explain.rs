//! `undust explain`: which rules fire on a URL, step by step, with their evidence.

use std::io::{self, Write};

use clap::{Args, ValueEnum};

use undust::rules::Overrides;
use undust::rules::explain::{Step, Trace};

use crate::failure::Failure;
use crate::rules_dir::RulesDir;

/// Shows what the rules do to a URL, step by step.
///
/// For each URL: its safe syntax, the site that claims its host, its keys and values; then each rule of the site in the
/// order in which rules fire, with its evidence (good and bad joins seen, the upper bound of the share of bad ones, the
/// clusters they came from) and whether it fired or which constraint stopped it, or what would have stopped it; and the
/// canonical URL, with a learned look-up or a URL actually seen where one decided.
#[derive(Args, Debug)]
#[command(after_long_help = crate::failure::EXIT_CODES)]
pub struct ExplainArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// URLs to explain.
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Leaves out rules that do not fire.
    #[arg(long)]
    fired: bool,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// How an explanation is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Text for people.
    #[default]
    Text,
    /// One object a URL and line, with every step and every rule.
    Jsonl,
}

/// Runs the job.
pub fn run(args: ExplainArgs) -> Result<(), Failure> {
    let file = args.rules.read()?;
    let overrides = file.overrides.clone();
    let rules = file.compile();
    let mut stdout = io::stdout().lock();
    for url in &args.urls {
        let trace = rules.trace(url);
        let text = match args.output {
            Output::Text => trace.text(args.fired) + &disabled(&trace, &overrides),
            Output::Jsonl => serde_json::to_string(&trace)? + "\n",
        };
        stdout.write_all(text.as_bytes()).map_err(Failure::stdout)?;
    }
    stdout.flush().map_err(Failure::stdout)
}

/// What people disabled of the rules of the site.
fn disabled(trace: &Trace, overrides: &Overrides) -> String {
    let site = trace.steps.iter().find_map(|step| match step {
        Step::Site { site, .. } => site.as_deref(),
        _ => None,
    });
    let of_site = overrides.iter().filter(|entry| Some(entry.site.as_str()) == site);
    of_site.map(|entry| format!("  disabled     {}: {}\n", entry.rule, entry.reason)).collect()
}
