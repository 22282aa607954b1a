//! Compiled rules as a file: the data that [`RuleSet`](super::RuleSet) keeps of rules for applying, so
//! that opening the rules of 100,000 sites costs a read and neither parsing nor compiling. The first
//! line is JSON, with a check of its bytes as in a rule file. Behind it come blocks of [`SITES`] sites:
//! length, number of sites (four bytes each, little endian), a check (eight bytes: the XXH3-64 hash of
//! the block, seeded with its place and that number) and, in the wire format of postcard, the number of
//! templates, the templates, and the sites, each with the numbers of its templates in the block: that
//! of its program, and that of the one for unseen hosts. A block of no sites is the last one. Changed
//! bytes, blocks that are missing or in another order, and a missing end are errors.
//!
//! A compiled file is made from a rule file and thrown away: it holds neither evidence nor examples, no
//! other program reads it, and a program reads the layout of its own version only ([`LAYOUT`]). The
//! checks detect damage, not malice: open only files that you would run.

use super::checksum::{self, Checksum};
use super::compiled::{CompiledSite, Own, Template};
use super::file::{Format, Header};
use super::names::Names;
use super::overrides::{Overrides, OverridesError};
use super::set::{Compiled, LoadedSite};
use crate::model::hash64_seeded;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

/// Layout that is written and read. Any change to a compiled site changes it (checked by a test).
pub const LAYOUT: Format = Format { major: 2, minor: 13 };
/// Sites a block.
const SITES: u32 = 256;
/// Longest first line, in bytes: it holds the overrides.
const MAX_LINE: u64 = 1 << 30;
/// Start of the first line.
const MARK: &[u8] = b"{\"compiled\":";

/// Error of writing or reading compiled rules.
#[derive(Debug)]
pub enum CompiledFormatError {
    /// The reader failed.
    Read(io::Error),
    /// The writer failed; its output is no compiled rule file.
    Write(io::Error),
    /// The first line is not that of compiled rules.
    Header {
        /// Expected contents.
        why: String,
    },
    /// The overrides in the file cannot be read.
    Overrides(OverridesError),
    /// Another layout.
    Layout {
        /// Layout of the file.
        found: Format,
        /// Version of the program that wrote it.
        writer: String,
    },
    /// A block was changed after it was written.
    Damaged {
        /// The block, from 1.
        block: u64,
    },
    /// The file ends before its last block.
    Truncated {
        /// The block, from 1.
        block: u64,
    },
    /// Rules of a method that exists to be compared with.
    Published {
        /// The site.
        site: String,
    },
}

impl fmt::Display for CompiledFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompiledFormatError::Read(source) => write!(f, "cannot read the compiled rules: {source}"),
            CompiledFormatError::Write(source) => write!(f, "cannot write the compiled rules: {source}"),
            CompiledFormatError::Header { why } => write!(
                f,
                "line 1: not the first line of compiled rules ({why}); compile them again with `undust rules compile`"
            ),
            CompiledFormatError::Overrides(why) => {
                write!(f, "line 1: {why}; compile the rules again with `undust rules compile`")
            }
            CompiledFormatError::Layout { found, writer } => write!(
                f,
                "compiled by undust {writer} (layout {}.{}); this program reads layout {}.{}: compile the rules again \
                 with its `undust rules compile`",
                found.major, found.minor, LAYOUT.major, LAYOUT.minor
            ),
            CompiledFormatError::Damaged { block } => {
                write!(f, "block {block}: not what was written; copy the file again, or compile the rules again")
            }
            CompiledFormatError::Truncated { block } => {
                write!(f, "block {block}: the file ends in it; copy the file again, or compile the rules again")
            }
            CompiledFormatError::Published { site } => write!(
                f,
                "site {site:?}: learned with --method published, which is there to be compared with, and is not \
                 compiled; apply its rules.jsonl"
            ),
        }
    }
}

impl Error for CompiledFormatError {}

/// First line of a compiled file.
#[derive(Clone, Debug, PartialEq)]
pub struct CompiledHeader {
    /// Header of the rule file.
    pub rules: Header,
    /// Overrides that were applied.
    pub overrides: Overrides,
}

#[derive(Serialize, Deserialize)]
struct HeadLine {
    compiled: Format,
    program: String,
    version: String,
    rules: Header,
    /// Text of the overrides file.
    overrides: String,
}

/// Fields of the first line of every layout.
#[derive(Deserialize)]
struct Stamp {
    compiled: Format,
    version: String,
}

/// True where a file starts as compiled rules do.
pub fn is_compiled(start: &[u8]) -> bool {
    start.starts_with(MARK)
}

/// Writes compiled rules, site by site in their order. Memory: one block.
#[derive(Debug)]
pub struct CompiledWriter<W> {
    out: W,
    /// The block: its templates, their numbers, its sites.
    templates: Vec<u8>,
    numbers: HashMap<Arc<Template>, u32, FixedState>,
    sites: Vec<u8>,
    held: u32,
    number: u64,
}

impl<W: Write> CompiledWriter<W> {
    /// Writes the first line.
    ///
    /// # Errors
    /// [`CompiledFormatError::Write`].
    pub fn new(header: &CompiledHeader, mut out: W) -> Result<CompiledWriter<W>, CompiledFormatError> {
        let line = HeadLine {
            compiled: LAYOUT,
            program: "undust".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rules: header.rules.clone(),
            overrides: header.overrides.text(),
        };
        let mut text = serde_json::to_vec(&line).expect("writing strings and numbers into memory cannot fail");
        checksum::close(&mut text, false);
        text.push(b'\n');
        out.write_all(&text).map_err(CompiledFormatError::Write)?;
        let (templates, sites) = (Vec::new(), Vec::new());
        Ok(CompiledWriter { out, templates, numbers: HashMap::default(), sites, held: 0, number: 1 })
    }

    /// Writes a site.
    ///
    /// # Errors
    /// [`CompiledFormatError::Write`], [`CompiledFormatError::Published`]. The output must then not be used.
    pub fn push(&mut self, site: &LoadedSite) -> Result<(), CompiledFormatError> {
        let LoadedSite { names, origins, program, unseen } = site;
        let Compiled::Undust(compiled) = program else {
            return Err(CompiledFormatError::Published { site: site.name().to_owned() });
        };
        let number = self.number(compiled.template());
        let unseen = unseen.as_ref().map(|program| (self.number(program.template()), program.own()));
        extend(&mut self.sites, &(names, origins, number, compiled.own(), unseen));
        self.held += 1;
        if self.held == SITES { self.close() } else { Ok(()) }
    }

    /// The number of a template in the block; adds a new one.
    fn number(&mut self, template: &Arc<Template>) -> u32 {
        self.numbers.get(template).copied().unwrap_or_else(|| {
            let number = self.numbers.len() as u32;
            extend(&mut self.templates, template.as_ref());
            self.numbers.insert(Arc::clone(template), number);
            number
        })
    }

    /// Writes the end and returns the writer.
    ///
    /// # Errors
    /// [`CompiledFormatError::Write`].
    pub fn finish(mut self) -> Result<W, CompiledFormatError> {
        if self.held > 0 {
            self.close()?;
        }
        self.close()?;
        Ok(self.out)
    }

    fn close(&mut self) -> Result<(), CompiledFormatError> {
        let too_long = || CompiledFormatError::Write(io::Error::other("256 sites of more than 4 GiB"));
        let mut block = Vec::new();
        extend(&mut block, &(self.numbers.len() as u32));
        block.append(&mut self.templates);
        block.append(&mut self.sites);
        self.numbers.clear();
        let length = u32::try_from(block.len()).map_err(|_| too_long())?;
        let check = check(&block, self.number, self.held);
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..8].copy_from_slice(&self.held.to_le_bytes());
        head[8..].copy_from_slice(&check.to_le_bytes());
        self.out.write_all(&head).and_then(|()| self.out.write_all(&block)).map_err(CompiledFormatError::Write)?;
        (self.held, self.number) = (0, self.number + 1);
        Ok(())
    }
}

/// Bytes before a block.
const HEAD: usize = 16;

fn check(block: &[u8], number: u64, sites: u32) -> u64 {
    hash64_seeded(block, number << 32 | u64::from(sites))
}

/// Writes a value in the wire format.
fn extend<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) {
    *bytes = postcard::to_extend(value, std::mem::take(bytes)).expect("writing into memory cannot fail");
}

/// Reads a value that was written so.
fn next<'b, T: Deserialize<'b>>(bytes: &mut &'b [u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    *bytes = rest;
    Some(value)
}

/// A block of compiled rules, as it was read.
#[derive(Debug)]
pub struct Block {
    bytes: Vec<u8>,
    number: u64,
    sites: u32,
    check: u64,
}

impl Block {
    /// The sites of the block, in their order.
    ///
    /// # Errors
    /// [`CompiledFormatError::Damaged`].
    pub fn sites(&self) -> Result<Vec<LoadedSite>, CompiledFormatError> {
        let damaged = || CompiledFormatError::Damaged { block: self.number };
        if check(&self.bytes, self.number, self.sites) != self.check {
            return Err(damaged());
        }
        let mut rest = self.bytes.as_slice();
        let templates: u32 = next(&mut rest).ok_or_else(damaged)?;
        let mut shared: Vec<Arc<Template>> = Vec::with_capacity(templates.min(SITES) as usize);
        for _ in 0..templates {
            shared.push(Arc::new(next(&mut rest).ok_or_else(damaged)?));
        }
        let mut sites = Vec::with_capacity(self.sites.min(SITES) as usize);
        for _ in 0..self.sites {
            let (names, origins, number, own, unseen): CompiledSiteParts = next(&mut rest).ok_or_else(damaged)?;
            let program = |(number, own)| {
                let template = shared.get(number as usize).ok_or_else(damaged)?;
                Ok(CompiledSite::new(Arc::clone(template), own))
            };
            let unseen = unseen.map(program).transpose()?;
            let program = Compiled::Undust(program((number, own))?);
            sites.push(LoadedSite { names, origins, program, unseen });
        }
        if rest.is_empty() { Ok(sites) } else { Err(damaged()) }
    }
}

/// Names, origins, number of the template and the site's own part; the latter two also of the program
/// for unseen hosts.
type CompiledSiteParts = (Names, Vec<String>, u32, Own, Option<(u32, Own)>);

/// Compiled rules being read, block by block.
#[derive(Debug)]
pub struct Blocks<R> {
    input: R,
    number: u64,
    ended: bool,
}

impl<R: BufRead> Blocks<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// [`CompiledFormatError`] with a way out.
    pub fn open(mut input: R) -> Result<(CompiledHeader, Blocks<R>), CompiledFormatError> {
        let mut text = Vec::new();
        (&mut input).take(MAX_LINE).read_until(b'\n', &mut text).map_err(CompiledFormatError::Read)?;
        let wrong = |why: &str| CompiledFormatError::Header { why: why.to_owned() };
        if text.pop() != Some(b'\n') {
            return Err(wrong("it does not end"));
        }
        if !matches!(checksum::read(&text), Checksum::Right { last: false }) {
            return Err(wrong("not what was written, as its \"check\" tells"));
        }
        let faulty = |error: serde_json::Error| wrong(&error.to_string());
        let stamp: Stamp = serde_json::from_slice(&text).map_err(faulty)?;
        if stamp.compiled != LAYOUT {
            return Err(CompiledFormatError::Layout { found: stamp.compiled, writer: stamp.version });
        }
        let line: HeadLine = serde_json::from_slice(&text).map_err(faulty)?;
        let overrides = Overrides::parse(&line.overrides).map_err(CompiledFormatError::Overrides)?;
        Ok((CompiledHeader { rules: line.rules, overrides }, Blocks { input, number: 1, ended: false }))
    }

    /// The reader of the blocks.
    pub fn input(&mut self) -> &mut R {
        &mut self.input
    }

    /// Reads the next blocks, about `bytes` of them; none after the last one. Checks only that they are
    /// complete: [`Block::sites`] checks their contents.
    ///
    /// # Errors
    /// [`CompiledFormatError::Read`], [`CompiledFormatError::Truncated`], and [`CompiledFormatError::Damaged`]
    /// for bytes behind the end.
    pub fn next_blocks(&mut self, bytes: usize, blocks: &mut Vec<Block>) -> Result<(), CompiledFormatError> {
        blocks.clear();
        let mut read = 0;
        while read < bytes && !self.ended {
            let mut head = [0; HEAD];
            self.input.read_exact(&mut head).map_err(|error| self.short(error))?;
            let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            let (length, sites) = (word(0), word(4));
            // Longer ones grow as they are read: a damaged length allocates no more than the file holds.
            let mut block = Vec::with_capacity((length as usize).min(1 << 20));
            (&mut self.input).take(u64::from(length)).read_to_end(&mut block).map_err(|error| self.short(error))?;
            if block.len() < length as usize {
                return Err(CompiledFormatError::Truncated { block: self.number });
            }
            read += HEAD + block.len();
            let check = u64::from(word(8)) | u64::from(word(12)) << 32;
            blocks.push(Block { bytes: block, number: self.number, sites, check });
            if sites == 0 {
                self.ended = true;
                if !self.input.fill_buf().map_err(CompiledFormatError::Read)?.is_empty() {
                    return Err(CompiledFormatError::Damaged { block: self.number + 1 });
                }
            }
            self.number += 1;
        }
        Ok(())
    }

    fn short(&self, error: io::Error) -> CompiledFormatError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => CompiledFormatError::Truncated { block: self.number },
            _ => CompiledFormatError::Read(error),
        }
    }
}
