//! `undust rules seal`: the mark of a result folder, made anew after a change by hand.

use std::path::PathBuf;

use clap::Args;
use undust::io::IoError;
use undust::io::output::{self, FolderLock, Mark, SUCCESS, stamp_of};
use undust::io::rules::{OpenError, RULES_FILE, RuleFile, open_seen};

use crate::failure::Failure;
use crate::messages::say;

/// Writes _SUCCESS anew, so that rules that were changed by hand are accepted.
///
/// _SUCCESS says what the bytes of each file of a result are, and every job refuses rules that are not
/// as it says. Reads the rules, what is disabled of them and seen.bin first, and refuses faulty ones.
/// In a line that was changed by hand, take out its `check`. Says what is not as it was.
#[derive(Args, Debug)]
pub struct SealArgs {
    /// Folder that `undust learn` wrote.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Takes the folder of a run that failed (it holds no _SUCCESS): its rules then pass for whole.
    #[arg(long)]
    allow_partial: bool,
}

/// Runs the job.
pub fn run(args: SealArgs) -> Result<(), Failure> {
    let dir = &args.dir;
    if !dir.metadata().map_err(|_| IoError::NotFound { path: dir.clone() })?.is_dir() {
        return Err(IoError::NotAFolder { path: dir.clone() }.into());
    }
    if !dir.join(RULES_FILE).exists() {
        return Err(OpenError::NoRules { path: dir.clone() }.into());
    }
    let lock = FolderLock::take(dir)?;
    let before = match Mark::read(dir) {
        Ok(None) if !args.allow_partial => return Err(IoError::Incomplete { path: dir.clone() }.into()),
        // One that cannot be read is a mark all the same.
        Err(IoError::BadMark { .. }) => Mark::default(),
        read => read?.unwrap_or_default(),
    };
    let rules = RuleFile::open(dir, true)?;
    open_seen(dir, true)?;
    let mut after = Mark::default();
    let mut names = output::files_in(dir)?;
    for name in &names {
        if let Some(stamp) = stamp_of(&dir.join(name))? {
            after.put(name, stamp);
        }
    }
    output::mark_complete(&lock, &after)?;
    names.extend(before.iter().map(|(name, _)| name.to_owned()));
    names.sort_unstable();
    names.dedup();
    for name in &names {
        let line = match (before.get(name), after.get(name)) {
            (Some(before), Some(after)) if before != after => format!("{before} -> {after}"),
            (None, Some(after)) => format!("new, {after}"),
            (Some(_), None) => "gone".to_owned(),
            _ => continue,
        };
        say(format!("{name}: {line}"));
    }
    say(format!("{} sites sealed: {}", rules.sites.len(), dir.join(SUCCESS).display()));
    Ok(())
}
