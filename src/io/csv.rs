//! CSV with a header line: columns by name, quotes by RFC 4180, line ends in quotes.
//!
//! Columns are those of JSON lines ([`super::jsonl`]), in any order and any case; others are skipped.
//! An empty field is absent. The parser is `csv-core`, the core of the `csv` crate, and not that crate:
//! it holds no record, so that one quote that does not end cannot take the rest of the file into
//! memory, nor its records along. Such a record ends at the line limit or the end of the file, is
//! rejected, and reading goes on in its second line.

use std::borrow::Cow;
use std::path::Path;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::error::IoError;
use super::jsonl::{self, facts::FactFields};
use super::reason::Reason;
use crate::model::RecordBatch;

/// Cuts and parses the records of one file.
pub(super) struct Csv {
    /// Names of the columns, once the header was read.
    header: Vec<String>,
    /// Finder of the ends of records.
    cutter: Reader,
    /// Bytes of the current record that the cutter has read.
    fed: usize,
    parser: Reader,
    /// Fields of a record end to end, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Csv {
    pub(super) fn new() -> Csv {
        // A lone carriage return is data, as in the other formats of lines.
        let reader = || ReaderBuilder::new().terminator(Terminator::Any(b'\n')).build();
        Csv { header: Vec::new(), cutter: reader(), fed: 0, parser: reader(), bytes: Vec::new(), ends: Vec::new() }
    }

    /// Position in `data`, which begins with a record, of the line end behind the record. The first
    /// `searched` bytes were passed before; 0 begins a record.
    pub(super) fn end(&mut self, data: &[u8], searched: usize) -> Option<usize> {
        if searched == 0 {
            self.cutter.reset();
            self.fed = 0;
        }
        for at in memchr::memchr_iter(b'\n', &data[searched..]).map(|at| searched + at) {
            // Nearly all lines hold no quote and are seen sooner.
            if self.fed == 0 && memchr::memchr(b'"', &data[..at]).is_none() || self.feed(&data[self.fed..=at]) {
                return Some(at);
            }
            self.fed = at + 1;
        }
        None
    }

    /// True where `data`, the last bytes of a file, end within a quote; [`end`](Self::end) found none in
    /// them.
    pub(super) fn is_open(&mut self, data: &[u8]) -> bool {
        let Some(rest) = data.get(self.fed..).filter(|_| memchr::memchr(b'"', data).is_some()) else { return false };
        !self.feed(rest) && !self.feed(b"\n")
    }

    /// Passes more bytes to the cutter; true where a record ends.
    fn feed(&mut self, mut bytes: &[u8]) -> bool {
        let (mut scratch, mut ends) = ([0; 1 << 10], [0; 64]);
        // Empty input would signal the end of the file to the cutter.
        while !bytes.is_empty() {
            let (result, read, _, _) = self.cutter.read_record(bytes, &mut scratch, &mut ends);
            bytes = &bytes[read..];
            match result {
                ReadRecordResult::Record => return true,
                ReadRecordResult::InputEmpty | ReadRecordResult::End => return false,
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
            }
        }
        false
    }

    /// True while the header is missing: it is the first line that is not blank.
    pub(super) fn heads(&mut self, line: &[u8]) -> bool {
        if !self.header.is_empty() || line.trim_ascii().is_empty() {
            return false;
        }
        self.header = names(line);
        true
    }

    /// Adds the record in `line`, without the line end behind it, to `batch`, with its facts.
    ///
    /// # Errors
    /// The reason why it is no record; `batch` is then as it was.
    pub(super) fn parse(&mut self, line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
        if line.is_empty() {
            return Err(Reason::EmptyLine);
        }
        if !line.is_ascii() && std::str::from_utf8(line).is_err() {
            return Err(Reason::InvalidUtf8);
        }
        let fields = split(&mut self.parser, line, &mut self.bytes, &mut self.ends);
        if fields != self.header.len() {
            return Err(Reason::BrokenCsv);
        }
        let (mut row, mut found, mut start) = (jsonl::Row::default(), FactFields::default(), 0);
        for (name, &end) in self.header.iter().zip(&self.ends) {
            let text = std::str::from_utf8(&self.bytes[start..end]).map_err(|_| Reason::InvalidUtf8)?;
            start = end;
            let text = Some(Cow::Borrowed(text)).filter(|text| !text.is_empty());
            match name.as_str() {
                "url" => row.url = text.clone(),
                "cluster" => row.cluster = text.clone(),
                "site" => row.site = text.clone(),
                "canonical" => row.canonical = text.clone(),
                "redirect" => row.redirect = text.clone(),
                "status" => row.status = text.as_deref().map_or(Ok(None), jsonl::status)?,
                _ => {}
            }
            found.set(name, text);
        }
        let at = batch.len();
        row.push(batch)?;
        found.note(batch, at);
        Ok(())
    }
}

/// Splits one record into fields, end to end in `bytes` and with their ends in `ends`; returns their
/// number.
fn split(parser: &mut Reader, line: &[u8], bytes: &mut Vec<u8>, ends: &mut Vec<usize>) -> usize {
    parser.reset();
    // Fields are never longer than their input, nor more than the commas and one.
    bytes.resize(line.len() + 1, 0);
    ends.resize(memchr::memchr_iter(b',', line).count() + 2, 0);
    let (mut rest, mut made, mut fields) = (line, 0, 0);
    loop {
        let (result, read, wrote, ended) = parser.read_record(rest, &mut bytes[made..], &mut ends[fields..]);
        (rest, made, fields) = (&rest[read..], made + wrote, fields + ended);
        // Empty input signals the end: the record ends there.
        if !matches!(result, ReadRecordResult::InputEmpty) {
            return fields;
        }
    }
}

/// The names in a header, in small letters.
fn names(line: &[u8]) -> Vec<String> {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let fields = split(&mut Reader::new(), line, &mut bytes, &mut ends);
    let mut start = 0;
    let name = |&end: &usize| {
        let name = String::from_utf8_lossy(&bytes[start..end]).trim().to_ascii_lowercase();
        start = end;
        name
    };
    ends[..fields].iter().map(name).collect()
}

/// True for a line that can only be a header: two names or more, `url` among them.
pub(super) fn is_header(line: &[u8]) -> bool {
    let word = |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' '));
    if line.len() > 1 << 10 || !line.contains(&b',') {
        return false;
    }
    let names = names(line);
    names.iter().any(|name| name == "url") && names.iter().all(word)
}

/// Refuses a file whose first line, if it has one, names no column `url`, or a column twice: the choice
/// between the two would be a guess.
///
/// # Errors
/// [`IoError::NoUrlColumn`], [`IoError::TwiceColumn`].
pub(super) fn check_header(line: Option<&[u8]>, name: &Path) -> Result<(), IoError> {
    let Some(line) = line else { return Ok(()) };
    let names = names(line);
    let twice = |name: &&String| !name.is_empty() && names.iter().filter(|other| other == name).count() > 1;
    if let Some(column) = names.iter().find(twice) {
        return Err(IoError::TwiceColumn { path: name.to_owned(), column: column.clone() });
    }
    if names.iter().any(|name| name == "url") {
        return Ok(());
    }
    let header = String::from_utf8_lossy(line).chars().take(80).collect();
    Err(IoError::NoUrlColumn { path: name.to_owned(), header })
}
