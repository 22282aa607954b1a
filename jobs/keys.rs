//! `undust keys`: the effect of each query key of a site on the page, with the counts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use undust::io::output::ResultFolder;
use undust::io::rules::overrides_file;
use undust::model::shown::visible;
use undust::site::profile::KeyProfile;

use crate::failure::Failure;
use crate::messages::{data, json_lines};
use crate::profiles::{self, PROFILES_FILE};

/// Shows what each query key and path parameter of a site does to the page, and the counts that say so.
///
/// Columns: site, key, what it does (irrelevant, tracking, session, order, page, identity, unknown),
/// training URLs that have it, distinct values; then, of the changes of its value alone, how many left
/// the page the same, how many led to another, and the share of the former; then the same two counts
/// for changes together with other keys that one rule ignores. The share is of changes together with
/// other keys where none is of the value alone, and - where there is no change. Keys that one URL has
/// are not listed, nor any beyond the 192 columns of a site.
#[derive(Args, Debug)]
#[command(after_long_help = crate::failure::EXIT_CODES)]
pub struct KeysArgs {
    /// Folder that `undust learn` wrote, or its rule file.
    #[arg(long, value_name = "DIR")]
    rules: PathBuf,
    /// Takes the folder of a run that failed or is still going (it holds no _SUCCESS).
    #[arg(long)]
    allow_partial: bool,
    /// This site only; may be given several times.
    #[arg(long, value_name = "SITE")]
    site: Vec<String>,
    /// How they are written.
    #[arg(long, value_enum, default_value_t)]
    format: Output,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Columns with a heading; characters that are not seen are shown as \u{hex}.
    #[default]
    Tsv,
    /// One JSON object a key, exact.
    Jsonl,
}

/// One line of JSON.
#[derive(Serialize)]
struct Listed<'p> {
    site: &'p str,
    #[serde(flatten)]
    key: &'p KeyProfile,
    /// Share of the changes that left the page the same, in millionths.
    same_ppm: Option<u64>,
}

/// Runs the job.
pub fn run(args: KeysArgs) -> Result<(), Failure> {
    let beside = overrides_file(&args.rules)?;
    let folder = beside.parent().unwrap_or(&args.rules);
    let profiles = profiles::read(&ResultFolder::open(folder, args.allow_partial)?)?.ok_or_else(|| {
        Failure::usage(format!(
            "{} holds no {PROFILES_FILE}, which `undust learn` writes beside the rules: learn again",
            folder.display()
        ))
    })?;
    if let Some(unknown) = args.site.iter().find(|site| !profiles.iter().any(|(of, _)| of == *site)) {
        return Err(Failure::usage(format!("{unknown}: no such site; `undust rules list` shows them")));
    }
    let wanted = profiles.iter().filter(|(site, _)| args.site.is_empty() || args.site.contains(site));
    let keys: Vec<Listed<'_>> = wanted
        .flat_map(|(site, profile)| profile.keys.iter().map(move |key| Listed { site, key, same_ppm: key.same_ppm() }))
        .collect();
    match args.format {
        Output::Jsonl => json_lines(&keys),
        Output::Tsv => data(table(&keys).as_bytes()),
    }
    .map_err(Failure::stdout)
}

fn table(keys: &[Listed<'_>]) -> String {
    let mut text = "site\tkey\tdoes\turls\tvalues\tsame\tother\tshare_same\tsame_together\tother_together\n".to_owned();
    for Listed { site, key, same_ppm } in keys {
        let share = same_ppm.map_or("-".to_owned(), |ppm| format!("{:.4}", ppm as f64 / 1e6));
        let KeyProfile { key: name, does, urls, values, same, other, same_together, other_together } = key;
        let cells = [
            visible(site).into_owned(),
            visible(name).into_owned(),
            does.word().to_owned(),
            urls.to_string(),
            values.to_string(),
            same.to_string(),
            other.to_string(),
            share,
            same_together.to_string(),
            other_together.to_string(),
        ];
        text.push_str(&cells.join("\t"));
        text.push('\n');
    }
    text
}
