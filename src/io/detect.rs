//! The format of a file, by its first bytes and its name.

use std::io::{ErrorKind, Read};
use std::path::Path;

use super::compression::{Compression, open_detected};
use super::error::IoError;
use super::{access_log, cdx, cdxj};

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `url<TAB>cluster[<TAB>site]` ([`super::tsv`]).
    Tsv,
    /// One JSON object a line ([`super::jsonl`]).
    Jsonl,
    /// CDX index ([`super::cdx`]).
    Cdx,
    /// CDXJ index ([`super::cdxj`]).
    Cdxj,
    /// Web archive ([`super::warc`]).
    Warc,
    /// Columnar index ([`super::parquet`]).
    Parquet,
    /// Access log of a server ([`super::access_log`]).
    AccessLog,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Tsv, Self::Jsonl, Self::Cdx, Self::Cdxj, Self::Warc, Self::Parquet, Self::AccessLog];

    /// Its name, as people give it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tsv => "tsv",
            Self::Jsonl => "jsonl",
            Self::Cdx => "cdx",
            Self::Cdxj => "cdxj",
            Self::Warc => "warc",
            Self::Parquet => "parquet",
            Self::AccessLog => "access-log",
        }
    }

    /// What a name says, less `.gz` or `.zst`, in any case: `.tsv` and `.txt`, `.jsonl`, `.ndjson` and `.json`, `.cdx`,
    /// `.cdxj`, `.warc`, `.parquet`, `.log` and the names that servers give their logs (`access_log`, `access.log.1`).
    pub fn of_name(path: &Path) -> Option<Self> {
        let bare = match Compression::of_name(path) {
            Compression::Plain => path.to_owned(),
            _ => path.with_extension(""),
        };
        let name = bare.file_name()?.to_ascii_lowercase().to_str()?.to_owned();
        let format = match bare.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase().as_str() {
            "tsv" | "txt" => Self::Tsv,
            "jsonl" | "ndjson" | "json" => Self::Jsonl,
            "cdx" => Self::Cdx,
            "cdxj" => Self::Cdxj,
            "warc" => Self::Warc,
            "parquet" => Self::Parquet,
            "log" => Self::AccessLog,
            _ if name.contains("access_log") || name.contains("access.log") => Self::AccessLog,
            _ => return None,
        };
        Some(format)
    }

    /// What the first bytes of a file, decompressed, say. Only what cannot be mistaken is told: the beginning of an
    /// archive or a Parquet file, the legend of a CDX file, a line of a CDXJ index or of an access log.
    pub fn of_head(head: &[u8]) -> Option<Self> {
        let mut lines = head.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let first = lines.next().unwrap_or_default();
        let line = if cdxj::is_header(first) { lines.next().unwrap_or_default() } else { first };
        Some(match head {
            [b'W', b'A', b'R', b'C', b'/', b'0' | b'1', ..] => Self::Warc,
            [b'P', b'A', b'R', b'1', ..] => Self::Parquet,
            _ if cdx::Legend::default().read(first) => Self::Cdx,
            _ if cdxj::is_line(line) => Self::Cdxj,
            _ if access_log::is_line(first) => Self::AccessLog,
            _ => return None,
        })
    }
}

/// Bytes of a file that are looked at.
const HEAD: u64 = 16 << 10;

/// [`Format::of_head`] of the file at `path`.
///
/// # Errors
/// [`IoError::NotFound`] or [`IoError::Read`].
pub(super) fn of_content(path: &Path) -> Result<Option<Format>, IoError> {
    Ok(Format::of_head(&head(path)?))
}

/// The first line that is there, without its end; `None` for a file without one.
///
/// # Errors
/// As [`of_content`].
pub(super) fn first_line(path: &Path) -> Result<Option<Vec<u8>>, IoError> {
    let head = head(path)?;
    let line = head.split(|&b| b == b'\n').find(|line| !line.trim_ascii().is_empty());
    Ok(line.map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()))
}

/// The first bytes, decompressed; fewer where the data are damaged: that is for their reader to tell.
fn head(path: &Path) -> Result<Vec<u8>, IoError> {
    let (file, compression) = open_detected(path).map_err(IoError::read(path))?;
    let mut head = Vec::with_capacity(HEAD as usize);
    let mut source = match super::members::Members::new(file, compression, Default::default()) {
        Ok(source) => source,
        Err(error) if error.kind() == ErrorKind::InvalidData => return Ok(head),
        Err(error) => return Err(IoError::read(path)(error)),
    };
    // A member may be one line.
    while (head.len() as u64) < HEAD && source.next_member().map_err(IoError::read(path))? {
        let rest = HEAD - head.len() as u64;
        Member(&mut source).take(rest).read_to_end(&mut head).map_err(IoError::read(path))?;
    }
    Ok(head)
}

/// The member that a reader of members is in.
struct Member<'a>(&'a mut super::members::Members);

impl Read for Member<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.0.read_member(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell() {
        let of = |name: &str| Format::of_name(Path::new(name));
        use Format::*;
        let cases = [
            ("a.tsv", Tsv),
            ("a.TXT.gz", Tsv),
            ("a.ndjson.zst", Jsonl),
            ("a.cdx.gz", Cdx),
            ("a.cdxj", Cdxj),
            ("a.warc.gz", Warc),
            ("a.warc.zst", Warc),
            ("part-0.c000.gz.parquet", Parquet),
            ("a.access.log.gz", AccessLog),
            ("access_log", AccessLog),
            ("access.log.1", AccessLog),
            ("access.log.2.gz", AccessLog),
        ];
        cases.iter().for_each(|&(name, format)| assert_eq!(of(name), Some(format), "{name}"));
        ["cdx-00000.gz", "README.md", "part-0", "a"].iter().for_each(|name| assert_eq!(of(name), None, "{name}"));
    }

    #[test]
    fn bytes_tell() {
        use Format::*;
        let cases: [(&[u8], Option<Format>); 9] = [
            (b"WARC/1.0\r\n", Some(Warc)),
            (b"PAR1\x15", Some(Parquet)),
            (b" CDX N b a m s k r M S V g\n", Some(Cdx)),
            (b"org,example)/ 20260101000000 {\"url\":", Some(Cdxj)),
            (b"!meta {}\norg,example)/ 20260101000000 {\"url\":", Some(Cdxj)),
            (b"192.0.2.1 - - [20/Nov/2026:19:21:08 +0000] \"GET / HTTP/1.1\" 200 9\n", Some(AccessLog)),
            (b"http://a.example/\t1\n", None),
            (b"{\"url\":\"http://a/\"}\n", None),
            (b"", None),
        ];
        cases.iter().for_each(|&(head, format)| assert_eq!(Format::of_head(head), format, "{}", head.escape_ascii()));
    }
}
