//! `undust export`: rules for other systems.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use undust::io::output::atomic_write;
use undust::io::rules::write_overrides;
use undust::rules::Overrides;
use undust::rules::export::{Export, Selection, Target, export_some};

use crate::failure::Failure;
use crate::messages::{data, say};
use crate::outputs::check_outputs;
use crate::rules_dir::RulesDir;

/// Writes the rules for another system.
///
/// Each rule is anchored to the origins of its site and carries its scope. A rule that the target
/// cannot express is left out and listed on standard error with the reason; it is never widened. So
/// are, but for json-rules, look-ups and exceptions, which are tables of single URLs. Disabled rules
/// are not exported. What was left out can be written as an overrides file: with it, `undust normalize
/// --overrides FILE` does what the export says.
///
/// With --urls, the file and standard error show the share that the export keeps of the fetches that
/// undust saves, and of its canonical URLs, counted on the list; else how many rules and tables it has.
///
/// The targets act on URLs in normal form (RFC 3986, 6.2.2 and 6.2.3) and leave others alone. See
/// docs/crawlers.md for what each can express and where its file goes.
#[derive(Args, Debug)]
#[command(after_long_help = crate::failure::EXIT_CODES)]
pub struct ExportArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// The system.
    #[arg(long, value_enum, value_name = "TARGET")]
    to: To,
    /// Exports this site alone; may be given several times.
    #[arg(long, value_name = "SITE")]
    site: Vec<String>,
    /// Counts what the export keeps on these URLs, one a line (plain, gzip or zstd); `-` is standard input.
    #[arg(long, value_name = "FILE")]
    urls: Option<PathBuf>,
    /// Writes to this file instead of standard output.
    #[arg(short = 'o', long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Writes what was left out to this file, as overrides that disable it.
    #[arg(long, value_name = "FILE")]
    left_out: Option<PathBuf>,
    /// Replaces the files of --out and --left-out if they exist.
    #[arg(long)]
    overwrite: bool,
    /// Lists on standard error only how much was left out, not what.
    #[arg(short, long)]
    quiet: bool,
}

/// The systems.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum To {
    /// regex-normalize.xml of Apache Nutch and StormCrawler.
    Nutch,
    /// url_normalize of pywb's rules.yaml.
    Pywb,
    /// Provider JSON of ClearURLs.
    Clearurls,
    /// Clean-param lines of robots.txt.
    YandexCleanParam,
    /// map blocks of nginx.
    Nginx,
    /// RegexRule beans of Heritrix 3.
    Heritrix,
    /// Ordered rules with their scopes in JSON, for other programs (docs/json-rules.md).
    JsonRules,
    /// A table of all rules with their evidence, and the number of look-ups and exceptions.
    Csv,
}

impl From<To> for Target {
    fn from(to: To) -> Target {
        match to {
            To::Nutch => Target::Nutch,
            To::Pywb => Target::Pywb,
            To::Clearurls => Target::ClearUrls,
            To::YandexCleanParam => Target::YandexCleanParam,
            To::Nginx => Target::Nginx,
            To::Heritrix => Target::Heritrix,
            To::JsonRules => Target::JsonRules,
            To::Csv => Target::Csv,
        }
    }
}

/// Runs the job.
pub fn run(args: ExportArgs) -> Result<(), Failure> {
    let outputs: Vec<&Path> = [&args.out, &args.left_out].into_iter().flatten().map(PathBuf::as_path).collect();
    let inputs: Vec<&Path> = args.urls.iter().map(PathBuf::as_path).collect();
    check_outputs(&outputs, args.overwrite, &inputs, Some(&args.rules))?;
    let mut file = args.rules.read()?;
    file.overrides.apply(&mut file.sites);
    if let Some(site) = args.site.iter().find(|name| file.sites.iter().all(|site| site.site != **name)) {
        return Err(Failure::usage(format!(
            "{}: no site {site:?} has rules here; `undust rules list --sites 0` names those that have",
            args.rules.path().display()
        )));
    }
    let mut urls: Vec<Box<[u8]>> = Vec::new();
    if let Some(path) = &args.urls {
        crate::rules::each_url(path, |url| {
            urls.push(url.into());
            Ok(())
        })?;
    }
    let urls = args.urls.as_ref().map(|_| urls.as_slice());
    let selection = Selection { target: args.to.into(), only: &args.site, urls };
    let Export { text, rules, left_out, kept } = export_some(&file.sites, selection);
    if let Some(path) = &args.left_out {
        // Rules that were disabled before are in it too: the file represents the whole export.
        let mut overrides: Overrides = file.overrides.clone();
        for entry in left_out.iter().map(undust::rules::export::LeftOut::as_override) {
            overrides.disable(&entry.site, &entry.rule, &entry.reason);
        }
        write_overrides(path, &overrides)?;
    }
    match &args.out {
        Some(path) => atomic_write(path, |file| file.write_all(text.as_bytes()))?,
        None => data(text.as_bytes()).map_err(Failure::stdout)?,
    }
    if !args.quiet {
        for entry in &left_out {
            say(format!("left out: {} {} {}: {}", entry.site, entry.rule, entry.text, entry.reason));
        }
    }
    say(kept.text());
    say(format!("{rules} rules exported, {} entries left out", left_out.len()));
    Ok(())
}
