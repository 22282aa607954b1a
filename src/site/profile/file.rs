//! `profiles.jsonl`: the profiles of a result as text. First line: the [`Header`]; then one [`ProfileLine`] a
//! site, sorted by site.
//!
//! Nothing here opens files: a reader or writer is passed in. A file without a last line feed, or with
//! fewer sites than the header says, was cut off and is refused.

use super::Profile;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, Write};

/// Version of the layout.
pub const FORMAT: u32 = 1;

/// First line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// Always `undust`.
    pub program: String,
    /// Version of the program that wrote the file.
    pub version: String,
    /// Lines that follow.
    pub sites: u64,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileLine<'p> {
    /// The site.
    pub site: Cow<'p, str>,
    /// Profile of its URLs.
    #[serde(flatten)]
    pub profile: Cow<'p, Profile>,
}

/// Reason why the file cannot be read. Lines count from 1.
#[derive(Debug)]
pub enum ProfileError {
    /// The system refused to read.
    Read {
        /// The line.
        line: u64,
        /// Error of the system.
        source: io::Error,
    },
    /// A line is malformed.
    ProfileLine {
        /// The line.
        line: u64,
        /// Reason.
        why: String,
    },
    /// Another version wrote it.
    Format {
        /// The format of the file.
        found: u32,
    },
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileError::Read { line, source } => write!(f, "line {line}: {source}"),
            ProfileError::ProfileLine { line, why } => {
                write!(f, "line {line}: {why}; learn again, or leave the file out of the folder")
            }
            ProfileError::Format { found } => {
                write!(f, "written in format {found}, this program reads format {FORMAT}: learn again")
            }
        }
    }
}

impl Error for ProfileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ProfileError::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Writes the profiles of `sites`, which are sorted by name.
///
/// # Errors
/// Errors of the writer.
pub fn write<'p>(sites: impl ExactSizeIterator<Item = (&'p str, &'p Profile)>, out: &mut impl Write) -> io::Result<()> {
    let (program, version) = ("undust".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let header = Header { format: FORMAT, program, version, sites: sites.len() as u64 };
    serde_json::to_writer(&mut *out, &header)?;
    out.write_all(b"\n")?;
    for (site, profile) in sites {
        serde_json::to_writer(&mut *out, &ProfileLine { site: site.into(), profile: Cow::Borrowed(profile) })?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads the file to its end, a line in memory beside the result of `each`.
///
/// # Errors
/// [`ProfileError`] with the line; profiles passed to `each` before are part of a faulty file.
pub fn read(input: &mut impl BufRead, mut each: impl FnMut(String, Profile)) -> Result<(), ProfileError> {
    let (mut text, mut line, mut left) = (Vec::new(), 0u64, None);
    loop {
        text.clear();
        line += 1;
        let faulty = |why: String| ProfileError::ProfileLine { line, why };
        input.read_until(b'\n', &mut text).map_err(|source| ProfileError::Read { line, source })?;
        match (text.last(), &mut left) {
            (None, Some(0)) => return Ok(()),
            (None, _) => return Err(faulty("the file ends too soon".to_owned())),
            (Some(b'\n'), left @ None) => {
                let header: Header = serde_json::from_slice(&text).map_err(|error| faulty(error.to_string()))?;
                if header.format != FORMAT {
                    return Err(ProfileError::Format { found: header.format });
                }
                *left = Some(header.sites);
            }
            (Some(b'\n'), Some(left)) => {
                let read: ProfileLine<'_> = serde_json::from_slice(&text).map_err(|error| faulty(error.to_string()))?;
                *left = left.checked_sub(1).ok_or_else(|| faulty("more sites than the header says".to_owned()))?;
                each(read.site.into_owned(), read.profile.into_owned());
            }
            (Some(_), _) => return Err(faulty("the file ends in the middle of a line".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::profile::{Effect, KeyProfile};

    fn written() -> Vec<u8> {
        let key = KeyProfile {
            key: "query <\"sid\u{202e}=".to_owned(),
            does: Effect::Session,
            urls: 1,
            values: 2,
            same: 3,
            other: 4,
            same_together: 5,
            other_together: 6,
        };
        let profile = Profile { keys: vec![key], ..Profile::default() };
        let mut out = Vec::new();
        write([("a", &profile), ("b\n", &Profile::default())].into_iter(), &mut out).expect("memory takes all");
        out
    }

    fn sites(mut text: &[u8]) -> Result<Vec<(String, Profile)>, ProfileError> {
        let mut sites = Vec::new();
        read(&mut text, |site, profile| sites.push((site, profile))).map(|()| sites)
    }

    #[test]
    fn what_was_written_is_read_and_a_part_of_it_is_not() {
        let text = written();
        let read = sites(&text).expect("a whole file");
        let mut again = Vec::new();
        write(read.iter().map(|(site, profile)| (site.as_str(), profile)), &mut again).expect("memory takes all");
        assert_eq!((read.len(), read[0].1.keys[0].does, &again), (2, Effect::Session, &text));
        assert!((0..text.len()).all(|end| sites(&text[..end]).is_err()));
        assert!(sites(&[&text[..], b"{\"site\":\"c\",\"keys\":[],\"tree\":[],\"tree_nodes\":0}\n"].concat()).is_err());
        let newer = String::from_utf8(text).expect("text").replace("\"format\":1", "\"format\":2");
        assert!(matches!(sites(newer.as_bytes()), Err(ProfileError::Format { found: 2 })));
    }
}
