//! `undust explain`: the rules that fire on a URL, step by step, with their evidence.

use std::fmt::Write;
use std::path::Path;

use clap::{Args, ValueEnum};

use undust::model::shown::Page;
use undust::rules::Overrides;
use undust::rules::explain::{Trace, TraceStep};

use crate::failure::Failure;
use crate::messages::{json_lines, show};
use crate::rules::each_url;
use crate::rules_dir::RulesDir;

/// Shows what the rules do to a URL, step by step.
///
/// For each URL: its normal form, the site that claims its host, its keys and values; then each rule of
/// the site in the order in which rules fire, with its evidence (good and bad joins seen, the upper
/// bound of the share of bad ones, the clusters they came from) and whether it fired or which
/// constraint stopped it, or what would have stopped it; and the canonical URL, with a learned look-up
/// or a URL actually seen where one decided.
#[derive(Args, Debug)]
#[command(after_long_help = crate::failure::EXIT_CODES)]
pub struct ExplainArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// URLs to explain; `-` reads them from standard input, one a line. Where none of the arguments, or none
    /// of those lines, is a URL, the exit code is 2.
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Leaves out rules that do not fire.
    #[arg(long)]
    fired: bool,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// Output format of an explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Text for people: characters that are not seen are shown as \u{hex}, the middle of long URLs is left
    /// out.
    #[default]
    Text,
    /// One object a URL and line, with every step and every rule.
    Jsonl,
}

/// Runs the job.
pub fn run(args: ExplainArgs) -> Result<(), Failure> {
    if args.urls.iter().filter(|url| *url == "-").count() > 1 {
        return Err(Failure::usage("`-` is given twice: standard input can be read once"));
    }
    let file = args.rules.read()?;
    let overrides = file.overrides.clone();
    let rules = file.compile();
    let mut tracer = rules.tracer();
    let mut explain = |url: &str| {
        let trace = tracer.trace(url);
        let done = match args.output {
            Output::Text => {
                let mut text = trace.text(args.fired);
                disabled(&mut text, &trace, &overrides);
                show(&text)
            }
            Output::Jsonl => json_lines(&[trace]),
        };
        done.map_err(Failure::stdout)
    };
    let (mut none, mut normal) = (true, Vec::new());
    for url in &args.urls {
        if url != "-" {
            none &= undust::url::normalize(url.as_bytes(), &mut normal).is_err();
            explain(url)?;
            continue;
        }
        each_url(Path::new("-"), |line| explain(&text(line)))?;
        none = false;
    }
    if none {
        let count = args.urls.len();
        return Err(Failure::usage(format!(
            "none of {count} arguments is a URL; absolute http or https URLs are expected"
        )));
    }
    Ok(())
}

/// A line as text; bytes that are no UTF-8 as the escapes that they are in a URL.
fn text(line: &[u8]) -> String {
    let mut text = String::new();
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| _ = write!(text, "%{byte:02X}"));
    }
    text
}

/// Adds the overrides of the rules of the site.
fn disabled(text: &mut Page, trace: &Trace, overrides: &Overrides) {
    let site = trace.steps.iter().find_map(|step| match step {
        TraceStep::Site { site, .. } => site.as_deref(),
        _ => None,
    });
    let of_site = overrides.iter().filter(|entry| Some(entry.site.as_str()) == site);
    of_site.for_each(|entry| _ = writeln!(text, "  disabled     {}: {}", entry.rule, entry.reason));
}
