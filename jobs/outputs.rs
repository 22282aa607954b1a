//! The files that jobs write where the user says: checked before a job begins, so that a mistake in a
//! command costs no file.

use std::fs;
use std::path::{Path, PathBuf};

use undust::io::output::{FILES, KEPT, LOCK, SUCCESS, is_page};
use undust::io::rules::{OVERRIDES_FILE, RULES_FILE, SEEN_FILE};

use crate::failure::Failure;
use crate::rules_dir::RulesDir;

/// Refuses outputs that are inputs of the same job or files of its rules, whatever `overwrite` says,
/// two outputs with one name, and without `overwrite` every output that exists. `inputs` are files;
/// `-` is standard input.
///
/// # Errors
/// A usage error that names the output.
pub fn check_outputs(
    outputs: &[&Path],
    overwrite: bool,
    inputs: &[&Path],
    rules: Option<&RulesDir>,
) -> Result<(), Failure> {
    for (at, output) in outputs.iter().enumerate() {
        refuse_inputs(output, inputs)?;
        if let Some(rules) = rules {
            refuse_rules(output, rules)?;
        }
        let place = place(output);
        if place.is_some() && outputs[..at].iter().any(|other| self::place(other) == place) {
            let text = format!("{}: named for two outputs of one command; name two files", output.display());
            return Err(Failure::usage(text));
        }
    }
    if overwrite { Ok(()) } else { outputs.iter().try_for_each(|output| refuse_to_replace(output)) }
}

/// Refuses to replace an existing file or folder. Devices and pipes are written to, not replaced.
///
/// # Errors
/// A usage error that names it.
pub fn refuse_to_replace(path: &Path) -> Result<(), Failure> {
    if path.metadata().is_ok_and(|found| found.is_file() || found.is_dir()) {
        let path = path.display();
        let text = format!("{path}: exists; name another file, or give --overwrite to replace it");
        return Err(Failure::usage(text));
    }
    Ok(())
}

/// Refuses an output that is one of `inputs`, under this name or another.
fn refuse_inputs(output: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let Some(written) = identity(output) else { return Ok(()) };
    let stdin = Path::new("/dev/stdin");
    let is_read = |input: &&&Path| {
        let input = if **input == Path::new("-") { stdin } else { **input };
        identity(input).as_ref() == Some(&written)
    };
    inputs.iter().find(is_read).map_or(Ok(()), |input| {
        let (output, input) = (output.display(), input.display());
        Err(Failure::usage(format!("{output}: an input of this command ({input}); name another file")))
    })
}

/// Refuses an output that is a file of the rules, or has the name of one in their folder.
fn refuse_rules(output: &Path, rules: &RulesDir) -> Result<(), Failure> {
    let path = rules.path();
    // A rule file of another name, compiled rules above all, may lie among any other files.
    let folder = if path.is_dir() {
        Some(path)
    } else {
        path.parent().filter(|_| path.file_name().is_some_and(|name| name == RULES_FILE))
    };
    let file = if path.is_dir() { path.join(RULES_FILE) } else { path.to_owned() };
    let beside = [OVERRIDES_FILE, SEEN_FILE].map(|name| file.with_file_name(name));
    let read: Vec<&Path> = beside.iter().chain([&file]).map(PathBuf::as_path).chain(rules.overrides_path()).collect();
    refuse_inputs(output, &read)?;
    let Some((folder, (parent, name))) = folder.map(or_here).zip(place(output)) else { return Ok(()) };
    let is_result = name.to_str().is_some_and(|name| {
        FILES.contains(&name) || KEPT.contains(&name) || [SUCCESS, LOCK].contains(&name) || is_page(name)
    });
    if is_result && folder.canonicalize().is_ok_and(|folder| folder == parent) {
        let (output, rules) = (output.display(), path.display());
        return Err(Failure::usage(format!("{output}: a file of the rules in use ({rules}); name a file elsewhere")));
    }
    Ok(())
}

/// The folder that a file is or would be in, without symbolic links, and its name there. `None` where
/// that folder is missing, and for devices and pipes.
fn place(path: &Path) -> Option<(PathBuf, std::ffi::OsString)> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return None;
    }
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Some((or_here(path.parent()?).canonicalize().ok()?, path.file_name()?.to_owned()))
}

/// `folder`, or the current one for the parent of a bare name.
fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Identity of an existing regular file: device and inode. `None` for anything else.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|found| (found.dev(), found.ino()))
}

/// Identity of an existing regular file: its path without symbolic links. `None` for anything else.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    path.is_file().then(|| path.canonicalize().ok()).flatten()
}
