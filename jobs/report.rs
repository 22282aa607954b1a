//! `undust report`: the page of a comparison, from its folder.

use std::path::PathBuf;

use clap::Args;
use undust::baselines::results::{Comparison, Times, VERSION};
use undust::io::output::{Amendment, ResultFolder};
use undust::report::page;

use crate::failure::Failure;
use crate::options::Quiet;

/// Writes the page of a comparison: report.html, one file that needs no network and runs no script.
///
/// Reads comparison.json of the folder that `undust compare` wrote, and times.json where it is there.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Folder that `undust compare` wrote.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Takes the folder of a comparison that failed or is still going (it holds no _SUCCESS).
    #[arg(long)]
    allow_partial: bool,
    #[command(flatten)]
    quiet: Quiet,
}

/// Name of the page in the folder of a comparison.
pub const REPORT: &str = "report.html";

/// Runs the job.
pub fn run(args: ReportArgs) -> Result<(), Failure> {
    let dir = &args.dir;
    let none = || {
        Failure::usage(format!("{} holds no comparison.json: name a folder that `undust compare` wrote", dir.display()))
    };
    if !dir.join("comparison.json").exists() {
        return Err(none());
    }
    let mut amendment = Amendment::begin(dir)?;
    let folder = ResultFolder::open(dir, args.allow_partial)?;
    let comparison: Comparison = read(&folder, "comparison.json")?.ok_or_else(none)?;
    if comparison.version != VERSION {
        return Err(Failure::usage(format!(
            "{}: comparison.json has version {}, this program reads version {VERSION}: compare again",
            dir.display(),
            comparison.version
        )));
    }
    let times: Option<Times> = read(&folder, "times.json")?;
    amendment.write(REPORT, |file| file.write_all(page::html(&comparison, times.as_ref()).as_bytes()))?;
    args.quiet.say(format_args!("wrote {}", dir.join(REPORT).display()));
    Ok(())
}

/// A file of the folder; `None` where it is not there.
fn read<T: serde::de::DeserializeOwned>(folder: &ResultFolder, name: &str) -> Result<Option<T>, Failure> {
    let Some(file) = folder.file(name)? else { return Ok(None) };
    let path = file.path().to_owned();
    match serde_json::from_slice(&file.read_all()?) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(Failure::usage(format!("{} is damaged ({error}): compare again", path.display()))),
    }
}
