//! `undust rules compile`: rules as a file that opens at once.

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::messages::say;
use crate::outputs::check_outputs;
use crate::rules_dir::RulesDir;

/// Writes rules as a file that opens at once, for applying many rules.
///
/// `normalize`, `evaluate`, `compress-index`, `rules seen` and the Python package take FILE wherever
/// they take the folder of `learn`: opening it neither parses nor compiles. Disabled rules are left
/// out; disabling others later requires compiling again, and an overrides.jsonl beside FILE with other
/// rules is refused. It holds no evidence (`list`, `show`, `explain` and `export` need the folder) and
/// is read by the version of undust that wrote it.
#[derive(Args, Debug)]
pub struct CompileArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// The file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replaces FILE if it is there.
    #[arg(long)]
    overwrite: bool,
}

/// Runs the job.
pub fn run(args: CompileArgs) -> Result<(), Failure> {
    let out = &args.out;
    if out.extension().is_some_and(|name| name == "gz" || name == "zst") {
        return Err(Failure::usage(format!("{}: compiled rules are not compressed; name it otherwise", out.display())));
    }
    check_outputs(&[out], args.overwrite, &[], Some(&args.rules))?;
    let Some(file) = args.rules.opened()? else {
        return Err(Failure::usage("the rules are older than --max-age allows: nothing to compile"));
    };
    let sites = file.write_compiled(out)?;
    let bytes = out.metadata().map_or(0, |found| found.len());
    say(format!("{sites} sites, {bytes} bytes: {}", out.display()));
    Ok(())
}
