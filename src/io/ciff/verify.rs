//! Verification of two indexes read side by side: one is the other with its duplicates merged.

use super::error::IndexError;
use super::reader::CiffReader;
use super::writer::FinishedFile;
use crate::index::check::{CheckError, Checked, Checker};
use crate::index::postings::{self, List};
use crate::index::wire::{Varint, varint};
use crate::index::{DocMap, Posting};
use std::path::Path;

/// Verifies that the file `new` is the index `old` under `map`; see [`Checker`].
///
/// # Errors
/// [`IndexError::Unproved`] where it is not; [`IndexError`] where one of them cannot be read.
pub fn verify(old: &Path, new: &FinishedFile, map: &DocMap) -> Result<Checked, IndexError> {
    let unproved = |source: CheckError| IndexError::Unproved { path: new.path().to_owned(), source };
    let (mut before, mut after) = (Lists::open(old)?, Lists::open(new.temporary())?);
    let mut checker = Checker::new(map).map_err(unproved)?;
    while let Some(due) = before.next()? {
        if checker.due(before.postings()) {
            let found = after.next()?;
            let found = found.as_ref().map(|term| (after.list(term), after.postings()));
            checker.matches(&due.term, found).map_err(unproved)?;
        }
    }
    let more = after.next()?;
    checker.no_more(more.as_ref().map(|term| after.list(term))).map_err(unproved)?;
    while before.reader.next_records(&mut |r| checker.old_record(r.docid, r.collection_docid, r.length))? {}
    let mut wrong = None;
    while after.reader.next_records(&mut |r| {
        if wrong.is_none() {
            wrong = checker.new_record(r.docid, r.collection_docid, r.length).err();
        }
    })? {}
    wrong.map_or(Ok(()), |error| Err(unproved(error)))?;
    checker.headers(before.reader.header(), after.reader.header()).map_err(unproved)?;
    Ok(checker.checked)
}

/// The lists of a file, one by one.
struct Lists {
    reader: CiffReader,
    block: Vec<u8>,
    /// Offset of the block in the file.
    at: u64,
    next: usize,
    postings: Vec<Posting>,
}

/// A list without its postings.
struct Head {
    term: Vec<u8>,
    df: u64,
    cf: u64,
}

impl Lists {
    fn open(path: &Path) -> Result<Lists, IndexError> {
        let reader = CiffReader::open(path)?;
        Ok(Lists { reader, block: Vec::new(), at: 0, next: 0, postings: Vec::new() })
    }

    fn next(&mut self) -> Result<Option<Head>, IndexError> {
        if self.next == self.block.len() {
            let Some(at) = self.reader.next_lists(&mut self.block)? else { return Ok(None) };
            (self.at, self.next) = (at, 0);
        }
        let Varint::Is(length, prefix) = varint(&self.block[self.next..]) else { unreachable!("whole messages") };
        let (from, to) = (self.next + prefix, self.next + prefix + length as usize);
        self.next = to;
        let docs = self.reader.header().num_docs;
        let list = postings::decode(&self.block[from..to], self.at + from as u64, docs, &mut self.postings);
        let List { term, df, cf } = list.map_err(|error| self.reader.format(error))?;
        Ok(Some(Head { term: term.to_owned(), df, cf }))
    }

    fn postings(&self) -> &[Posting] {
        &self.postings
    }

    fn list<'h>(&self, head: &'h Head) -> List<'h> {
        List { term: &head.term, df: head.df, cf: head.cf }
    }
}
