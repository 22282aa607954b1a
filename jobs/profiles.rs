//! The profiles beside the rules of a result.

use std::io::BufReader;

use undust::io::output::ResultFolder;
use undust::site::profile::{Profile, file};

use crate::exit::Exit;
use crate::failure::Failure;

/// Name of the profiles in the folder of a result.
pub const PROFILES_FILE: &str = "profiles.jsonl";

/// The profiles in a folder, by rising site; `None` where it holds none, as folders of earlier releases
/// and of `prove`.
///
/// # Errors
/// Errors of the folder or the file, with a way out.
pub fn read(folder: &ResultFolder) -> Result<Option<Vec<(String, Profile)>>, Failure> {
    let Some(found) = folder.file(PROFILES_FILE)? else { return Ok(None) };
    let path = found.path().to_owned();
    let mut reader = BufReader::with_capacity(256 << 10, found);
    let mut sites = Vec::new();
    file::read(&mut reader, |site, profile| sites.push((site, profile)))
        .map_err(|error| Failure::new(Exit::Failed, format!("{}: {error}", path.display())))?;
    reader.get_mut().verify()?;
    Ok(Some(sites))
}
