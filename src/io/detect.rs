//! The format of a file, by its first bytes and its name.

use std::io::{ErrorKind, Read};
use std::path::Path;

use super::compression::{Compression, open_detected};
use super::error::IoError;
use super::reason::check_url;
use super::unread::refuse_archive;
use super::{access_log, cdx, cdxj, crawl_log, csv, tsv};

/// Format of records.
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
    /// CSV with a header line ([`super::csv`]).
    Csv,
    /// Log of a Heritrix crawl ([`super::crawl_log`]).
    CrawlLog,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::Tsv,
        Self::Jsonl,
        Self::Cdx,
        Self::Cdxj,
        Self::Warc,
        Self::Parquet,
        Self::AccessLog,
        Self::Csv,
        Self::CrawlLog,
    ];

    /// Name of the format on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tsv => "tsv",
            Self::Jsonl => "jsonl",
            Self::Cdx => "cdx",
            Self::Cdxj => "cdxj",
            Self::Warc => "warc",
            Self::Parquet => "parquet",
            Self::AccessLog => "access-log",
            Self::Csv => "csv",
            Self::CrawlLog => "crawl-log",
        }
    }

    /// Format by the name of a file, less `.gz` or `.zst`, in any case: `.tsv` and `.txt`, `.csv`,
    /// `.jsonl`, `.ndjson` and `.json`, `.cdx`, `.cdxj`, `.warc`, `.parquet`, `.log` and the names that
    /// servers give their logs (`access_log`, `access.log.1`), `crawl.log` and names that begin so
    /// (`crawl.log.cp00001`).
    pub fn of_name(path: &Path) -> Option<Self> {
        let bare = match Compression::of_name(path) {
            Compression::Plain => path.to_owned(),
            _ => path.with_extension(""),
        };
        let name = bare.file_name()?.to_ascii_lowercase().to_str()?.to_owned();
        let format = match bare.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase().as_str() {
            _ if name.starts_with("crawl.log") => Self::CrawlLog,
            "tsv" | "txt" => Self::Tsv,
            "csv" => Self::Csv,
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

    /// Format by the first bytes of a file, decompressed. Only unmistakable ones are recognized: the
    /// beginning of an archive, of a Parquet file or of a JSON object, the legend of a CDX file, the header
    /// of a CSV file, a line of a CDXJ index, of an access log or of a crawl log. A byte order mark is
    /// skipped.
    pub fn of_head(head: &[u8]) -> Option<Self> {
        let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
        let mut lines = head.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let first = lines.next().unwrap_or_default();
        let line = if cdxj::is_header(first) { lines.next().unwrap_or_default() } else { first };
        Some(match head {
            [b'W', b'A', b'R', b'C', b'/', b'0' | b'1', ..] => Self::Warc,
            [b'P', b'A', b'R', b'1', ..] => Self::Parquet,
            _ if cdx::Legend::default().read(first) => Self::Cdx,
            _ if cdxj::is_line(line) => Self::Cdxj,
            _ if access_log::is_line(first) => Self::AccessLog,
            _ if is_crawl_log(head) => Self::CrawlLog,
            _ if csv::is_header(first) => Self::Csv,
            _ if is_object(head) => Self::Jsonl,
            _ => return None,
        })
    }
}

/// Lines at the beginning of a log that are read: the first may be cut off where the log was rotated.
const LOG_LINES: usize = 8;

fn is_crawl_log(head: &[u8]) -> bool {
    head.split(|&b| b == b'\n').take(LOG_LINES).any(crawl_log::is_line)
}

/// True for an opening brace and behind it the quote of a name, or the brace that closes an empty
/// object.
fn is_object(head: &[u8]) -> bool {
    let inside = head.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| matches!(inside.first(), Some(b'"' | b'}')))
}

/// Bytes of a file that are read.
const HEAD: u64 = 16 << 10;

/// Format by the first bytes of the file at `path`, which messages call `name`; `-` is standard input
/// in a spool file.
///
/// # Errors
/// [`IoError::NotFound`], [`IoError::Read`], [`IoError::UnreadCompression`], or
/// [`IoError::UnreadArchive`].
pub fn of_content(path: &Path, name: &Path) -> Result<Option<Format>, IoError> {
    let head = head(path, name)?;
    refuse_archive(name, &head)?;
    let format = Format::of_head(&head);
    // An index of bare objects, as index servers answer, has fields that JSON lines do not have.
    if format == Some(Format::Jsonl) && Format::of_name(name) == Some(Format::Cdxj) {
        return Ok(Some(Format::Cdxj));
    }
    // Standard input has no name; any other file of URLs has one.
    Ok(format.or_else(|| (name == Path::new("-") && is_tsv(&head)).then_some(Format::Tsv)))
}

/// True where the first line begins with a URL, or is the header of a TSV file.
fn is_tsv(head: &[u8]) -> bool {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let url = line.split(|&b| b == b'\t').next().unwrap_or_default();
    tsv::is_header(line) || check_url(url).is_ok()
}

/// Refuses a file that is forced to be read as an archive and holds no answers.
///
/// # Errors
/// Errors of [`of_content`].
pub(super) fn check_archive(path: &Path, name: &Path) -> Result<(), IoError> {
    refuse_archive(name, &head(path, name)?)
}

/// The first line that is not blank, without its end and a byte order mark; `None` for a file without
/// one.
///
/// # Errors
/// Errors of [`of_content`].
pub fn first_line(path: &Path, name: &Path) -> Result<Option<Vec<u8>>, IoError> {
    Ok(first_lines(path, name, 1)?.pop())
}

/// The first lines that are not blank, at most `count`, as [`first_line`] returns one.
///
/// # Errors
/// Errors of [`of_content`].
pub fn first_lines(path: &Path, name: &Path, count: usize) -> Result<Vec<Vec<u8>>, IoError> {
    let head = head(path, name)?;
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head);
    let lines = head.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty());
    Ok(lines.take(count).map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()).collect())
}

/// Format of a file whose first bytes are records and not one URL a line: a format of records, or lines
/// one of which holds a tab.
pub fn records(head: &[u8]) -> Option<Format> {
    Format::of_head(head).or_else(|| memchr::memchr(b'\t', head).map(|_| Format::Tsv))
}

/// [`records`] of the file at `path`.
///
/// # Errors
/// Errors of [`of_content`].
pub fn records_in(path: &Path) -> Result<Option<Format>, IoError> {
    let head = head(path, path)?;
    refuse_archive(path, &head)?;
    Ok(records(&head))
}

/// The first bytes, decompressed; fewer where the data are damaged: the reader reports that.
fn head(path: &Path, name: &Path) -> Result<Vec<u8>, IoError> {
    let (file, compression) = open_detected(path, name)?;
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

/// Byte order mark that some editors write before UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
            ("a.csv.gz", Csv),
            ("crawl.log", CrawlLog),
            ("crawl.log.cp00001.gz", CrawlLog),
        ];
        cases.iter().for_each(|&(name, format)| assert_eq!(of(name), Some(format), "{name}"));
        ["cdx-00000.gz", "README.md", "part-0", "a"].iter().for_each(|name| assert_eq!(of(name), None, "{name}"));
    }

    #[test]
    fn bytes_tell() {
        use Format::*;
        let cases: [(&[u8], Option<Format>); 15] = [
            (b"WARC/1.0\r\n", Some(Warc)),
            (b"PAR1\x15", Some(Parquet)),
            (b" CDX N b a m s k r M S V g\n", Some(Cdx)),
            (b"org,example)/ 20260101000000 {\"url\":", Some(Cdxj)),
            (b"!meta {}\norg,example)/ 20260101000000 {\"url\":", Some(Cdxj)),
            (b"192.0.2.1 - - [20/Nov/2026:19:21:08 +0000] \"GET / HTTP/1.1\" 200 9\n", Some(AccessLog)),
            (b"http://a.example/\t1\n", None),
            (b"{\"url\":\"http://a/\"}\n", Some(Jsonl)),
            (b"\xef\xbb\xbf\r\n { \"url\":", Some(Jsonl)),
            (b"{url}\n", None),
            (b"cluster,url\n1,http://a/\n", Some(Csv)),
            (b"\xef\xbb\xbf\"URL\",Cluster\r\n", Some(Csv)),
            (b"http://a/,1\n", None),
            (
                b"cut off\n2026-11-20T19:21:08.123Z   200  12 http://a.example/ L - text/html #1 - - - -\n",
                Some(CrawlLog),
            ),
            (b"", None),
        ];
        cases.iter().for_each(|&(head, format)| assert_eq!(Format::of_head(head), format, "{}", head.escape_ascii()));
    }
}
