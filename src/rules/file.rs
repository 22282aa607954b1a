//! The rule file, `rules.jsonl`: the rules learned for every site, as text (docs/rules.md, "The file").
//!
//! First line: a [`Header`]. Then one [`SiteRules`] a line, sorted by the bytes of the site, each site
//! once. Every line is compact JSON and ends in a line feed, the last one too, so that a file cut off
//! inside a line is detected. Each line carries a check of its bytes, and the last one is marked as the
//! last ([`checksum`]), so that a changed byte, or lines missing at the end, are detected too.
//!
//! # Versions
//! [`FORMAT`] is the version that this program writes. A new minor version only adds fields that a
//! reader may ignore; so a newer minor is read without its unknown fields. Any change of the meaning of
//! a rule (a new operation, a new test) is a new major version, and an unknown major version is
//! refused.
//! Format 1.2 records whether fragments tell pages apart (`fragments` among the tokens): a reader of
//! 1.1 keeps them and merges less.
//!
//! # Exactness
//! A written file is read back equal, and reading and writing a file of this version again gives the
//! same bytes. Line ends that some tools recognize beside the line feed (U+0085, U+2028, U+2029) are
//! written as escapes, like the ASCII control characters, so that a site is one line for them too.
//!
//! Nothing here opens files: a reader or writer is passed in. Cost: one line in memory beside the
//! result.

mod data;
mod error;
mod format;

use super::checksum::{self, Checksum};
use crate::model::hash64;
use crate::rules::Params;
use crate::rules::types::{Constraint, Kind, Operation, Rule, SiteRules, Tokens};
use crate::rules::value_ranges::RangedKey;
pub use data::DataId;
pub use error::RuleFileError;
pub use format::{FORMAT, Format};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};

/// The oldest major version that is read. Format 1 had seen members, which are ignored.
const OLDEST: u32 = 1;

/// First line of a rule file. No times, machine names, worker counts or paths: the same input and
/// parameters give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Format of the file.
    pub format: Format,
    /// Always `undust`.
    pub program: String,
    /// Version of the program that wrote the file.
    pub version: String,
    /// Parameters the rules were learned with.
    pub params: Params,
    /// Size of the input.
    pub input: InputCounts,
    /// Identity of the records, to recognize them; `None` in a file made before it existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataId>,
    /// The time value range of the records, where they have dates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
}

impl Header {
    /// The header of a file that this program writes.
    pub fn new(params: Params, input: InputCounts) -> Header {
        Header {
            format: FORMAT,
            program: "undust".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            params,
            input,
            data: None,
            learned: None,
        }
    }
}

/// Size of the input that rules were learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputCounts {
    /// Records read and not rejected.
    pub records: u64,
    /// Distinct URLs among them.
    pub urls: u64,
    /// Sites among them, with and without rules.
    pub sites: u64,
}

/// Dates of the records that rules were learned from, as the records write them. A date of the data,
/// not of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// The earliest.
    pub from: String,
    /// The latest.
    pub to: String,
}

/// Reads a rule file to its end.
///
/// Ids are taken from the file: a rule edited by hand may keep its id or get a new one ([`rule_id`]).
///
/// # Errors
/// [`RuleFileError`] with the line and a way out; nothing of a faulty file is used.
pub fn read(input: &mut impl BufRead) -> Result<(Header, Vec<SiteRules>), RuleFileError> {
    let (header, mut reader) = Sites::open(input)?;
    let mut sites: Vec<SiteRules> = Vec::new();
    while let Some(site) = reader.next_site()? {
        sites.push(site);
    }
    Ok((header, sites))
}

/// A rule file being read, site by site. A site used before the end may be of a faulty file.
#[derive(Debug)]
pub struct Sites<R> {
    input: R,
    line: u64,
    text: Vec<u8>,
    before: Option<String>,
    /// The header has a checksum: the last line must be marked as the last.
    has_checksums: bool,
    last: bool,
}

impl<R: BufRead> Sites<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Errors of [`read`].
    pub fn open(mut input: R) -> Result<(Header, Sites<R>), RuleFileError> {
        let mut text = Vec::new();
        if !read_line(&mut input, 1, &mut text)? {
            return Err(RuleFileError::Header { why: "the file is empty".to_owned() });
        }
        let checksum = intact(1, &text)?;
        let header = read_header(&text)?;
        let (has_checksums, last) = (checksum != Checksum::Absent, checksum == Checksum::Right { last: true });
        Ok((header, Sites { input, line: 1, text, before: None, has_checksums, last }))
    }

    /// The reader of the lines.
    pub fn input(&mut self) -> &mut R {
        &mut self.input
    }

    /// Checks that the file may end after the line that was read last.
    fn end(&self) -> Result<(), RuleFileError> {
        if self.has_checksums && !self.last { Err(RuleFileError::Short { line: self.line }) } else { Ok(()) }
    }

    /// Reads the next whole lines, about `bytes` of them, into `text` (cleared first), each with its line
    /// feed, and gives the number of the first; an empty text at the end.
    ///
    /// # Errors
    /// Errors of [`read`].
    pub fn next_lines(&mut self, bytes: usize, text: &mut Vec<u8>) -> Result<u64, RuleFileError> {
        text.clear();
        let first = self.line + 1;
        let read = (&mut self.input).take(bytes as u64).read_to_end(text);
        let read = read.and_then(|_| match text.last() {
            None | Some(b'\n') => Ok(0),
            Some(_) => self.input.read_until(b'\n', text),
        });
        self.line += memchr::memchr_iter(b'\n', text).count() as u64;
        read.map_err(|source| RuleFileError::Read { line: self.line + 1, source })?;
        match text.split_last() {
            None => self.end()?,
            Some((b'\n', lines)) => {
                let from = memchr::memrchr(b'\n', lines).map_or(0, |at| at + 1);
                self.last = checksum::read(&lines[from..]) == Checksum::Right { last: true };
            }
            Some(_) => return Err(RuleFileError::Truncated { line: self.line + 1 }),
        }
        Ok(first)
    }

    /// Reads the next site; `None` at the end.
    ///
    /// # Errors
    /// Errors of [`read`].
    pub fn next_site(&mut self) -> Result<Option<SiteRules>, RuleFileError> {
        if !read_line(&mut self.input, self.line + 1, &mut self.text)? {
            self.end()?;
            return Ok(None);
        }
        self.line += 1;
        self.last = intact(self.line, &self.text)? == Checksum::Right { last: true };
        let site: SiteRules =
            serde_json::from_slice(&self.text).map_err(|error| explain(self.line, &self.text, &error))?;
        check(self.line, self.before.as_deref(), &site)?;
        self.before = Some(site.site.clone());
        Ok(Some(site))
    }
}

/// A line of a rule file without the evidence of its rules, which is most of it and is skipped: the
/// data that applying needs. Lines that are read out of order are checked with [`in_order`] one after
/// the other.
///
/// # Errors
/// Errors of [`read`], except faults in the evidence.
pub fn bare(line: u64, text: &[u8]) -> Result<SiteRules, RuleFileError> {
    #[derive(Deserialize)]
    struct Bare {
        site: String,
        #[serde(alias = "hosts", deserialize_with = "super::origins::read")]
        origins: Vec<String>,
        #[serde(default)]
        tokens: Tokens,
        #[serde(default)]
        label_noise_permille: u32,
        rules: Vec<BareRule>,
        #[serde(default)]
        exceptions: Vec<[String; 2]>,
        #[serde(default)]
        aliases: Vec<[String; 2]>,
        #[serde(default)]
        local: Vec<RangedKey>,
        #[serde(default)]
        written: Vec<(String, Vec<String>)>,
    }
    #[derive(Deserialize)]
    struct BareRule {
        id: String,
        kind: Kind,
        scope: Vec<Constraint>,
        operations: Vec<(String, Operation)>,
        #[serde(default)]
        closed: bool,
        #[serde(default)]
        extended: bool,
        #[serde(default)]
        provisional: bool,
        #[serde(rename = "evidence")]
        _evidence: serde::de::IgnoredAny,
    }
    intact(line, text)?;
    let bare: Bare = serde_json::from_slice(text).map_err(|error| explain(line, text, &error))?;
    let Bare { site, origins, tokens, label_noise_permille, rules, exceptions, aliases, local, written } = bare;
    let rule = |rule: BareRule| {
        let BareRule { id, kind, scope, operations, closed, extended, provisional, .. } = rule;
        let (line, evidence, departures) = Default::default();
        Rule { id, kind, scope, operations, closed, extended, provisional, line, evidence, departures }
    };
    let rules = rules.into_iter().map(rule).collect();
    let site = SiteRules {
        site,
        origins,
        tokens,
        platforms: Vec::new(),
        label_noise_permille,
        rules,
        exceptions,
        aliases,
        local,
        written,
    };
    check(line, None, &site)?;
    Ok(site)
}

/// Checks that the site of a line may follow the one before it.
///
/// # Errors
/// [`RuleFileError::Repeated`], [`RuleFileError::Unsorted`].
pub fn in_order(line: u64, before: &str, site: &str) -> Result<(), RuleFileError> {
    let name = || site.to_owned();
    match before.cmp(site) {
        std::cmp::Ordering::Less => Ok(()),
        std::cmp::Ordering::Equal => Err(RuleFileError::Repeated { line, site: name() }),
        std::cmp::Ordering::Greater => Err(RuleFileError::Unsorted { line, site: name(), before: before.to_owned() }),
    }
}

/// Writes a rule file. `sites` come sorted by the bytes of the site, each once.
///
/// The format written is [`FORMAT`], whatever `header` holds: additions of a newer format were lost
/// when it was read.
///
/// # Errors
/// [`RuleFileError::Write`] when `out` fails, and the error that [`read`] would return for sites out of
/// order or a rule without an id. The contents of `out` must then not be used.
pub fn write<'a>(
    header: &Header,
    sites: impl Iterator<Item = &'a SiteRules>,
    out: &mut impl Write,
) -> Result<(), RuleFileError> {
    let header = Header { format: FORMAT, ..header.clone() };
    let (mut sites, mut text) = (sites.peekable(), Vec::new());
    let first = write_line(&header, sites.peek().is_none(), &mut text, out);
    first.map_err(|source| RuleFileError::Write { line: 1, source })?;
    let (mut before, mut line) = (None, 1);
    while let Some(site) = sites.next() {
        line += 1;
        check(line, before, site)?;
        let written = write_line(site, sites.peek().is_none(), &mut text, out);
        written.map_err(|source| RuleFileError::Write { line, source })?;
        before = Some(site.site.as_str());
    }
    Ok(())
}

/// Result of the check of a line; an error where the line was changed.
fn intact(line: u64, text: &[u8]) -> Result<Checksum, RuleFileError> {
    match checksum::read(text) {
        Checksum::Wrong => Err(RuleFileError::Changed { line }),
        checksum => Ok(checksum),
    }
}

/// The id of a rule of `site`: 16 hex digits, the XXH3-64 hash of the JSON array `[site, scope,
/// operations, closed]`, written compactly as in the rule file, with scope and operations sorted.
///
/// The order in which constraints were found does not matter, nor do evidence, kind and departures: a
/// rule found again with other evidence is the same rule.
pub fn rule_id(site: &str, rule: &Rule) -> String {
    let mut scope: Vec<&Constraint> = rule.scope.iter().collect();
    scope.sort_unstable();
    let mut operations: Vec<&(String, Operation)> = rule.operations.iter().collect();
    operations.sort_unstable();
    let mut text = Vec::new();
    write_json(&(site, scope, operations, rule.closed), &mut text).expect("memory takes every write");
    format!("{:016x}", hash64(&text))
}

/// Reads a line without its line feed; false at the end of the file.
fn read_line(input: &mut impl BufRead, line: u64, text: &mut Vec<u8>) -> Result<bool, RuleFileError> {
    text.clear();
    input.read_until(b'\n', text).map_err(|source| RuleFileError::Read { line, source })?;
    match text.pop() {
        None => Ok(false),
        Some(b'\n') => Ok(true),
        Some(_) => Err(RuleFileError::Truncated { line }),
    }
}

fn read_header(text: &[u8]) -> Result<Header, RuleFileError> {
    /// Fields that every version of the header must keep, so that a version differs from a file of another
    /// kind.
    #[derive(Deserialize)]
    struct Stamp {
        format: Format,
        program: String,
        #[serde(default)]
        version: String,
    }
    let why = |error: serde_json::Error| RuleFileError::Header { why: reason(&error) };
    let stamp: Stamp = serde_json::from_slice(text).map_err(why)?;
    if stamp.program != "undust" {
        return Err(RuleFileError::Header { why: format!("program is {:?}, not \"undust\"", stamp.program) });
    }
    if !(OLDEST..=FORMAT.major).contains(&stamp.format.major) {
        return Err(RuleFileError::Version { found: stamp.format, writer: format!("undust {}", stamp.version) });
    }
    serde_json::from_slice(text).map_err(why)
}

/// The message of the parser, without its place: it counts every line as the first.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned()
}

/// The message of the parser of one line, with the column alone.
pub(crate) fn reason_in_line(error: &serde_json::Error) -> String {
    match error.column() {
        0 => reason(error),
        column => format!("{} at column {column}", reason(error)),
    }
}

/// The error of a line that is not a site; a missing id is distinguished from other faults.
fn explain(line: u64, text: &[u8], error: &serde_json::Error) -> RuleFileError {
    if error.is_data()
        && let Ok(value) = serde_json::from_slice::<serde_json::Value>(text)
        && let Some(rules) = value["rules"].as_array()
        && let Some(rule) = rules.iter().position(|rule| rule.is_object() && rule.get("id").is_none())
    {
        let site = value["site"].as_str().unwrap_or_default().to_owned();
        return RuleFileError::RuleId { line, site, rule: rule + 1, id: "none".to_owned() };
    }
    RuleFileError::Json { line, column: error.column(), why: reason(error) }
}

/// Checks common to reading and writing of every line after the header.
fn check(line: u64, before: Option<&str>, site: &SiteRules) -> Result<(), RuleFileError> {
    before.map_or(Ok(()), |before| in_order(line, before, &site.site))?;
    let is_id = |id: &str| id.len() == 16 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    match site.rules.iter().position(|rule| !is_id(&rule.id)) {
        None => Ok(()),
        Some(rule) => Err(RuleFileError::RuleId {
            line,
            site: site.site.clone(),
            rule: rule + 1,
            id: format!("{:?}", site.rules[rule].id),
        }),
    }
}

/// Writes a line by way of `text`.
fn write_line(value: &impl Serialize, last: bool, text: &mut Vec<u8>, out: &mut impl Write) -> io::Result<()> {
    text.clear();
    write_json(value, text)?;
    checksum::close(text, last);
    text.push(b'\n');
    out.write_all(text)
}

fn write_json(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, OneLine)).map_err(io::Error::from)
}

/// Compact JSON that is one line for every reader.
struct OneLine;

impl serde_json::ser::Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, mut fragment: &str) -> io::Result<()> {
        let is_line_end = |c: char| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
        while let Some(at) = fragment.find(is_line_end) {
            let (clean, rest) = fragment.split_at(at);
            let mut rest = rest.chars();
            let line_end = rest.next().expect("find gave a character");
            write!(writer, "{clean}\\u{:04x}", u32::from(line_end))?;
            fragment = rest.as_str();
        }
        writer.write_all(fragment.as_bytes())
    }
}
