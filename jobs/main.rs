//! The binary: one small file a job turns arguments into checked options and calls the library. clap
//! lives here and nowhere else.

mod cluster;
mod cluster_by;
mod clusters;
mod compare;
mod compress_index;
mod evaluate;
mod exit;
mod explain;
mod export;
mod failure;
mod fetch;
mod generate;
mod held_out;
mod inputs;
mod interrupt;
mod keys;
mod labelled;
mod labels;
mod learn;
mod learn_error;
mod learned_sites;
mod log;
mod messages;
mod metrics;
mod normalize;
mod options;
mod outputs;
mod pace;
mod pipeline;
mod platforms;
mod profiles;
mod prove;
mod quiet;
mod report;
mod rules;
mod rules_dir;
mod secret;
mod settings;
mod source;
mod survey;
mod synth;
mod watched;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use exit::Exit;

/// Learns, proves and applies URL normalization rules from duplicate clusters.
///
/// Records (URL, duplicate cluster) of many sites in; a few rules a site out, each proven; one
/// canonical, fetchable URL for every URL. Standard output carries results only; progress and messages
/// go to standard error.
#[derive(Parser, Debug)]
#[command(name = "undust", bin_name = "undust", version, max_term_width = 100, after_long_help = failure::EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    job: Job,
    /// Form of the messages on standard error.
    #[arg(long, global = true, value_enum, default_value_t, hide_possible_values = true, value_name = "text|json")]
    log_format: log::LogFormat,
}

#[derive(Subcommand, Debug)]
enum Job {
    Learn(learn::LearnArgs),
    Prove(prove::ProveArgs),
    Normalize(normalize::NormalizeArgs),
    Clusters(clusters::ClustersArgs),
    Evaluate(evaluate::EvaluateArgs),
    Explain(explain::ExplainArgs),
    Rules(rules::RulesArgs),
    Keys(keys::KeysArgs),
    Export(export::ExportArgs),
    Synth(synth::SynthArgs),
    Compare(compare::CompareArgs),
    Report(report::ReportArgs),
    CompressIndex(compress_index::CompressIndexArgs),
    Secret(secret::SecretArgs),
    Generate(generate::GenerateArgs),
}

fn main() -> ExitCode {
    messages::say_panics(undust::io::parquet::is_decoding);
    log::set(log::asked(std::env::args_os()));
    let parsed = Cli::command().try_get_matches().and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(stop) => {
            let usage = messages::stopped(stop);
            return if usage { ExitCode::from(Exit::Usage as u8) } else { ExitCode::SUCCESS };
        }
    };
    log::set(cli.log_format);
    let (command, quiet) = command(&matches);
    if !quiet {
        messages::started(&command);
    }
    interrupt::watch();
    let done = match cli.job {
        Job::Learn(args) => learn::run(args).map_err(learn_error::LearnError::into_failure),
        Job::Prove(args) => prove::run(args).map_err(learn_error::LearnError::into_failure),
        Job::Normalize(args) => normalize::run(args),
        Job::Clusters(args) => clusters::run(args),
        Job::Evaluate(args) => evaluate::run(args),
        Job::Explain(args) => explain::run(args),
        Job::Compare(args) => compare::run(args),
        Job::Report(args) => report::run(args),
        Job::CompressIndex(args) => compress_index::run(args),
        Job::Secret(args) => secret::run(args),
        Job::Generate(args) => generate::run(args, Cli::command()),
        Job::Rules(args) => rules::run(args),
        Job::Keys(args) => keys::run(args),
        Job::Export(args) => export::run(args),
        Job::Synth(args) => synth::run(args),
    };
    metrics::finish(done.as_ref().map_or_else(|failure| failure.exit() as u8, |()| 0));
    interrupt::settle();
    match done {
        Ok(()) => {
            if !quiet {
                messages::done(&command);
            }
            ExitCode::SUCCESS
        }
        Err(failure) => failure.report(),
    }
}

/// The name of the job (`learn`, `rules seen`), and whether it is to be quiet.
fn command(matches: &ArgMatches) -> (String, bool) {
    let (mut names, mut at) = (Vec::new(), matches);
    while let Some((name, inner)) = at.subcommand() {
        names.push(name);
        at = inner;
    }
    (names.join(" "), at.try_get_one::<bool>("quiet").ok().flatten() == Some(&true))
}
