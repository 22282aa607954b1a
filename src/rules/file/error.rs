//! Faults of a rule file, each with its line and a way out.

use super::{FORMAT, Format};
use std::io;

/// Error of reading or writing a rule file. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum RuleFileError {
    /// The reader failed.
    #[error("line {line}: cannot read the rule file: {source}")]
    Read {
        /// Line that was being read.
        line: u64,
        /// Error of the reader.
        source: io::Error,
    },
    /// The writer failed; its output is not a rule file.
    #[error("line {line}: cannot write the rule file: {source}")]
    Write {
        /// Line that was being written.
        line: u64,
        /// Error of the writer.
        source: io::Error,
    },
    /// No header in the first line.
    #[error(
        "line 1: not the header of a rule file ({why}); give the rules.jsonl of `undust learn` or the folder that \
         holds it"
    )]
    Header {
        /// Expected contents.
        why: String,
    },
    /// An unsupported major version.
    #[error(
        "line 1: rule format {}.{} (written by {writer}); this program reads {}.x only: use an undust that reads \
         format {}, or learn the rules again with this one", .found.major, .found.minor, FORMAT.major, .found.major
    )]
    Version {
        /// Format of the file.
        found: Format,
        /// Program and version that wrote it, by its header.
        writer: String,
    },
    /// The last line does not end in a line feed.
    #[error("line {line}: the file ends inside the line; it was cut off: copy it again or learn the rules again")]
    Truncated {
        /// The line.
        line: u64,
    },
    /// The file ends behind a line that is not its last one.
    #[error(
        "line {line}: the file ends here, but this was not its last line; it was cut off: copy it again or learn the rules \
         again (where it was meant, take \"check\" out of the first line)"
    )]
    Short {
        /// The last line there is.
        line: u64,
    },
    /// A line was changed after it was written.
    #[error(
        "line {line}: not what was written, as its \"check\" tells; copy the file again (where the change was meant, take \
         \"check\" out of the line)"
    )]
    Changed {
        /// The line.
        line: u64,
    },
    /// A line is not the JSON of a site.
    #[error("line {line}, column {column}: not the rules of a site: {why}; correct or remove the line")]
    Json {
        /// The line.
        line: u64,
        /// Column in it, in bytes from 1; 0 where the parser has none.
        column: usize,
        /// Expected contents, by the parser.
        why: String,
    },
    /// Lines are not sorted by site.
    #[error(
        "line {line}: site {site:?} must not come after {before:?}; sort the lines behind the header by the bytes of \
         the site"
    )]
    Unsorted {
        /// The line.
        line: u64,
        /// Its site.
        site: String,
        /// The site of the line before.
        before: String,
    },
    /// A site has two lines.
    #[error("line {line}: site {site:?} has a line already; keep one of the two")]
    Repeated {
        /// The second line.
        line: u64,
        /// The site.
        site: String,
    },
    /// A rule has no id, or one that is not 16 hex digits in lower case.
    #[error("line {line}: rule {rule} of site {site:?} has {id}, not an id of 16 hex digits (0-9, a-f); give it one")]
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
