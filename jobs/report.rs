//! `undust report`: the page of a comparison or of a run of `learn`, from its folder.

mod sound;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use undust::baselines::results::{Comparison, Times, VERSION};
use undust::dataflow::summary::{FORMAT, Summary};
use undust::io::output::{Amendment, ResultFolder, atomic_write};
use undust::io::rules::{RULES_FILE, RuleFile};
use undust::report::{page, run};

use crate::failure::Failure;
use crate::messages::data;
use crate::outputs::refuse_to_replace;
use crate::profiles;
use crate::quiet::Quiet;

/// Writes the page of a result: report.html, which needs no network and runs no script.
///
/// In a folder that `undust learn` wrote: what the rules save and merge wrongly on URLs that took no
/// part, then, site by site, the rules in plain words with examples, evidence, risk and the command
/// that disables each, what each query key does, the pattern tree, what was refused and why. Reads
/// rules.jsonl, summary.json, profiles.jsonl and overrides.jsonl; `learn` makes the same page. Of more
/// than 1,000 sites report.html lists them, and report-1.html and so on hold them.
///
/// In a folder that `undust compare` wrote: tables and figures, from comparison.json and, where it is
/// there, times.json. With --page several comparisons become one page, which begins with a table of all
/// methods under all of them.
#[derive(Args, Debug)]
#[command(after_long_help = crate::failure::EXIT_CODES)]
pub struct ReportArgs {
    /// Folder that `undust learn` or `undust compare` wrote; with --page one or more of `undust compare`.
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// File for the page of all comparisons, outside of their folders, to which nothing is written; `-` is
    /// standard output.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Replaces the file of --page where it exists.
    #[arg(long, requires = "page")]
    overwrite: bool,
    /// Takes the folder of a run that failed or is still going (it holds no _SUCCESS).
    #[arg(long)]
    allow_partial: bool,
    #[command(flatten)]
    quiet: Quiet,
}

/// Name of the page in the folder of a comparison.
pub const REPORT: &str = "report.html";

/// Runs the job.
pub fn run(args: ReportArgs) -> Result<(), Failure> {
    if let Some(page) = &args.page {
        return joined(&args, page);
    }
    let [dir] = args.dirs.as_slice() else {
        return Err(Failure::usage("one DIR at a time; --page FILE makes one page of several comparisons"));
    };
    let holds = |name: &str| dir.join(name).exists();
    match (holds("comparison.json"), holds(RULES_FILE)) {
        (true, _) => comparison(&args, dir)?,
        (_, true) => learned(&args, dir)?,
        _ => {
            return Err(Failure::usage(format!(
                "{} holds neither {RULES_FILE} nor comparison.json: name a folder that `undust learn` or `undust compare` wrote",
                dir.display()
            )));
        }
    }
    args.quiet.say(format_args!("wrote {}", dir.join(REPORT).display()));
    Ok(())
}

fn comparison(args: &ReportArgs, dir: &Path) -> Result<(), Failure> {
    let mut amendment = Amendment::begin(dir)?;
    let (comparison, times) = compared(args, dir)?;
    let page = page::html(&[page::Part { comparison: &comparison, times: times.as_ref() }]);
    amendment.write(REPORT, |file| file.write_all(page.as_bytes()))?;
    Ok(())
}

/// Writes the page of several comparisons.
fn joined(args: &ReportArgs, page: &Path) -> Result<(), Failure> {
    let to_stdout = page == Path::new("-");
    let mut folders = BTreeSet::new();
    for dir in &args.dirs {
        if !folders.insert(dir.canonicalize().unwrap_or_else(|_| dir.clone())) {
            return Err(Failure::usage(format!("{} is there twice; name each folder once", dir.display())));
        }
    }
    if !to_stdout {
        check_place(page, &folders)?;
        if !args.overwrite {
            refuse_to_replace(page)?;
        }
    }
    let all = args.dirs.iter().map(|dir| compared(args, dir)).collect::<Result<Vec<_>, _>>()?;
    let parts: Vec<page::Part<'_>> =
        all.iter().map(|(comparison, times)| page::Part { comparison, times: times.as_ref() }).collect();
    let html = page::html(&parts);
    if to_stdout {
        return data(html.as_bytes()).map_err(Failure::stdout);
    }
    atomic_write(page, |file| file.write_all(html.as_bytes()))?;
    args.quiet.say(format_args!("wrote {}", page.display()));
    Ok(())
}

/// Refuses a page without a folder, or in one of those that are read: their marks would no longer hold.
fn check_place(page: &Path, folders: &BTreeSet<PathBuf>) -> Result<(), Failure> {
    let parent = page.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = page
        .canonicalize()
        .or_else(|_| parent.canonicalize().map(|parent| parent.join(page.file_name().unwrap_or_default())));
    let Ok(place) = place else {
        let (page, parent) = (page.display(), parent.display());
        return Err(Failure::usage(format!("--page {page}: there is no folder {parent}; make it, or name another")));
    };
    match folders.iter().find(|folder| place.starts_with(folder)) {
        None => Ok(()),
        Some(folder) => Err(Failure::usage(format!(
            "--page {}: it is in {}, which is read; name a file outside of it",
            page.display(),
            folder.display()
        ))),
    }
}

/// The comparison of a folder, and its times where they are there.
fn compared(args: &ReportArgs, dir: &Path) -> Result<(Comparison, Option<Times>), Failure> {
    let folder = ResultFolder::open(dir, args.allow_partial)?;
    let comparison: Comparison = read(&folder, "comparison.json")?.ok_or_else(|| no_comparison(args, dir))?;
    if comparison.version != VERSION {
        return Err(Failure::usage(format!(
            "{}: comparison.json has version {}, this program reads version {VERSION}: compare again",
            dir.display(),
            comparison.version
        )));
    }
    sound::check(&comparison).map_err(|fault| damaged(&dir.join("comparison.json"), &fault))?;
    let times: Option<Times> = read(&folder, "times.json")?;
    if let Some(times) = &times {
        sound::check_times(times, &comparison).map_err(|fault| damaged(&dir.join("times.json"), &fault))?;
    }
    Ok((comparison, times))
}

fn learned(args: &ReportArgs, dir: &Path) -> Result<(), Failure> {
    let mut amendment = Amendment::begin(dir)?;
    let folder = ResultFolder::open(dir, args.allow_partial)?;
    let summary: Summary = read(&folder, "summary.json")?.ok_or_else(|| missing(dir, "summary.json"))?;
    if summary.format != FORMAT {
        return Err(Failure::usage(format!(
            "{}: summary.json has format {}, this program reads format {FORMAT}: learn again",
            dir.display(),
            summary.format
        )));
    }
    let file = RuleFile::open(dir, args.allow_partial)?;
    let profiles = profiles::read(&folder)?.unwrap_or_default();
    let sites = file.sites.iter().map(|site| (site.site.as_str(), site)).collect();
    let profiles = profiles.iter().map(|(site, profile)| (site.as_str(), profile)).collect();
    let (header, overrides) = (&file.header, &file.overrides);
    for (name, text) in
        run::pages(run::Run { header, summary: &summary, sites: &sites, profiles: &profiles, overrides })
    {
        amendment.write(&name, |file| file.write_all(text.as_bytes()))?;
    }
    Ok(())
}

fn no_comparison(args: &ReportArgs, dir: &Path) -> Failure {
    if args.page.is_none() || !dir.join(RULES_FILE).exists() {
        return missing(dir, "comparison.json");
    }
    let dir = dir.display();
    let text = format!(
        "{dir} holds no comparison.json: --page takes folders of `undust compare`; `undust report {dir}` writes the page of \
         a folder of `undust learn` into it"
    );
    Failure::usage(text)
}

fn damaged(path: &Path, fault: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("{} is damaged ({fault}): make it again", path.display()))
}

fn missing(dir: &Path, name: &str) -> Failure {
    Failure::usage(format!("{} holds no {name}", dir.display()))
}

/// A file of the folder; `None` where it is not there.
fn read<T: serde::de::DeserializeOwned>(folder: &ResultFolder, name: &str) -> Result<Option<T>, Failure> {
    let Some(file) = folder.file(name)? else { return Ok(None) };
    let path = file.path().to_owned();
    match serde_json::from_slice(&file.read_all()?) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(damaged(&path, &error)),
    }
}
