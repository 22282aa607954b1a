//! `undust report`: the page of a comparison, from its folder.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use undust::baselines::results::{Comparison, Times, VERSION};
use undust::io::output::atomic_write;
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
    #[command(flatten)]
    quiet: Quiet,
}

/// Runs the job.
pub fn run(args: ReportArgs) -> Result<(), Failure> {
    let path = write(&args.dir)?;
    args.quiet.say(format_args!("wrote {}", path.display()));
    Ok(())
}

/// Writes `report.html` into `dir`.
pub fn write(dir: &Path) -> Result<PathBuf, Failure> {
    let comparison: Comparison = read(dir, "comparison.json")?.ok_or_else(|| {
        Failure::usage(format!("{} holds no comparison.json: name a folder that `undust compare` wrote", dir.display()))
    })?;
    if comparison.version != VERSION {
        return Err(Failure::usage(format!(
            "{}: comparison.json has version {}, this program reads version {VERSION}: compare again",
            dir.display(),
            comparison.version
        )));
    }
    let times: Option<Times> = read(dir, "times.json")?;
    let path = dir.join("report.html");
    atomic_write(&path, |file| file.write_all(page::html(&comparison, times.as_ref()).as_bytes()))?;
    Ok(path)
}

/// A file of `dir`; `None` where it is not there.
fn read<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Result<Option<T>, Failure> {
    let path = dir.join(name);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::usage(format!("cannot read {}: {error}", path.display()))),
    };
    match serde_json::from_slice(&text) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(Failure::usage(format!("{} is damaged ({error}): compare again", path.display()))),
    }
}
