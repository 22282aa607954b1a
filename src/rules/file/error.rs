//! Faults of a rule file, each with its line and a way out.

use super::format::{FORMAT, Format};
use std::error::Error;
use std::{fmt, io};

/// Error of reading or writing a rule file. Lines count from 1.
#[derive(Debug)]
pub enum RuleFileError {
    /// The reader failed.
    Read {
        /// Line that was being read.
        line: u64,
        /// Error of the reader.
        source: io::Error,
    },
    /// The writer failed; its output is not a rule file.
    Write {
        /// Line that was being written.
        line: u64,
        /// Error of the writer.
        source: io::Error,
    },
    /// No header in the first line.
    Header {
        /// Expected contents.
        why: String,
    },
    /// An unsupported major version.
    Version {
        /// Format of the file.
        found: Format,
        /// Program and version that wrote it, by its header.
        writer: String,
    },
    /// The last line does not end in a line feed.
    Truncated {
        /// The line.
        line: u64,
    },
    /// The file ends behind a line that is not its last one.
    Short {
        /// The last line there is.
        line: u64,
    },
    /// A line was changed after it was written.
    Changed {
        /// The line.
        line: u64,
    },
    /// A line is not the JSON of a site.
    Json {
        /// The line.
        line: u64,
        /// Column in it, in bytes from 1; 0 where the parser has none.
        column: usize,
        /// Expected contents, by the parser.
        why: String,
    },
    /// Lines are not sorted by site.
    Unsorted {
        /// The line.
        line: u64,
        /// Its site.
        site: String,
        /// The site of the line before.
        before: String,
    },
    /// A site has two lines.
    Repeated {
        /// The second line.
        line: u64,
        /// The site.
        site: String,
    },
    /// A rule has no id, or one that is not 16 hex digits in lower case.
    RuleId {
        /// The line.
        line: u64,
        /// The site.
        site: String,
        /// Place of the rule in the site's list, from 1.
        rule: usize,
        /// The id found.
        id: String,
    },
}

impl fmt::Display for RuleFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleFileError::Read { line, source } => write!(f, "line {line}: cannot read the rule file: {source}"),
            RuleFileError::Write { line, source } => write!(f, "line {line}: cannot write the rule file: {source}"),
            RuleFileError::Header { why } => write!(
                f,
                "line 1: not the header of a rule file ({why}); give the rules.jsonl of `undust learn` or the folder \
                 that holds it"
            ),
            RuleFileError::Version { found, writer } => write!(
                f,
                "line 1: rule format {}.{} (written by {writer}); this program reads {}.x only: use an undust that \
                 reads format {}, or learn the rules again with this one",
                found.major, found.minor, FORMAT.major, found.major
            ),
            RuleFileError::Truncated { line } => write!(
                f,
                "line {line}: the file ends inside the line; it was cut off: copy it again or learn the rules again"
            ),
            RuleFileError::Short { line } => write!(
                f,
                "line {line}: the file ends here, but this was not its last line; it was cut off: copy it again or \
                 learn the rules again (where it was meant, take \"check\" out of the first line)"
            ),
            RuleFileError::Changed { line } => write!(
                f,
                "line {line}: not what was written, as its \"check\" tells; copy the file again (where the change was \
                 meant, take \"check\" out of the line)"
            ),
            RuleFileError::Json { line, column, why } => {
                write!(f, "line {line}, column {column}: not the rules of a site: {why}; correct or remove the line")
            }
            RuleFileError::Unsorted { line, site, before } => write!(
                f,
                "line {line}: site {site:?} must not come after {before:?}; sort the lines behind the header by the \
                 bytes of the site"
            ),
            RuleFileError::Repeated { line, site } => {
                write!(f, "line {line}: site {site:?} has a line already; keep one of the two")
            }
            RuleFileError::RuleId { line, site, rule, id } => write!(
                f,
                "line {line}: rule {rule} of site {site:?} has {id}, not an id of 16 hex digits (0-9, a-f); give it \
                 one"
            ),
        }
    }
}

impl Error for RuleFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RuleFileError::Read { source, .. } | RuleFileError::Write { source, .. } => Some(source),
            _ => None,
        }
    }
}
