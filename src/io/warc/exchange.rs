//! Detection of answers to requests that fetch no page.
//!
//! An answer to `POST` shows the reply to the sent data, not the page of the URL, so its record is left
//! out. The method is in the request record, before the answer or behind it; the two name each other by
//! `WARC-Concurrent-To`, or are adjacent under one URL and name nothing. Answers are held back until
//! [`LOOK_BACK`] more were read, and requests that fetch no page are remembered as long: a request farther
//! away from its answer than that, or in another file, is not found. Memory: the URLs and facts of
//! twice as many records, without their bodies.

use std::collections::VecDeque;

use crate::io::cdx::fetches_a_page;
use crate::io::http::Fields;
use crate::model::{RecordBatch, hash64};

/// Answers that are held back, at least, while records behind them are read.
pub(super) const LOOK_BACK: usize = 64;
/// Most names in `WARC-Concurrent-To` that are kept of one record; more are rare and of no use.
const NAMES: usize = 4;

/// Names by which records of an archive belong to one exchange.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Names {
    /// Hash of `WARC-Record-ID`; 0, as in the others, where it is missing.
    id: u64,
    concurrent: [u64; NAMES],
    url: u64,
    /// Number of the record in the file.
    number: u64,
}

impl Names {
    /// The names in the head of a record, which has this number in its file.
    pub(super) fn of(head: &[u8], number: u64) -> Names {
        let mut names = Names { number, ..Names::default() };
        let Some(mut fields) = Fields::of(head) else { return names };
        let mut known = 0;
        while let Some((name, value)) = fields.next_field() {
            match () {
                _ if name.eq_ignore_ascii_case(b"warc-record-id") => names.id = hash64(value).max(1),
                _ if name.eq_ignore_ascii_case(b"warc-target-uri") => names.url = hash64(value).max(1),
                _ if name.eq_ignore_ascii_case(b"warc-concurrent-to") && known < NAMES => {
                    names.concurrent[known] = hash64(value).max(1);
                    known += 1;
                }
                _ => {}
            }
        }
        names
    }

    /// True where one names the other, or neither names any and they are neighbours with one URL.
    fn belong(&self, other: &Names) -> bool {
        let names = |a: &Names, b: &Names| b.id != 0 && a.concurrent.contains(&b.id);
        let silent = self.concurrent[0] == 0 && other.concurrent[0] == 0;
        let beside = self.number.abs_diff(other.number) == 1 && self.url != 0 && self.url == other.url;
        names(self, other) || names(other, self) || silent && beside
    }
}

/// True where the block of a request begins with a method that fetches no page.
pub(super) fn fetches_no_page(block: &[u8]) -> bool {
    let method = block.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    !method.is_empty() && !fetches_a_page(method)
}

/// Records held back until their requests were read.
#[derive(Default)]
pub(super) struct Held {
    /// Up to [`LOOK_BACK`] records that came before those of `new`.
    old: Answers,
    pub(super) new: Answers,
    /// Requests that fetch no page, the latest last.
    requests: VecDeque<Names>,
}

/// Records, and for each its names and whether it is left out.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) records: RecordBatch,
    names: Vec<(Names, bool)>,
}

impl Held {
    /// Sets the names of the record that was added to [`Held::new`], if there is one.
    pub(super) fn answer(&mut self, names: Names) {
        if self.new.records.len() > self.new.names.len() {
            let left_out = self.requests.iter().any(|request| request.belong(&names));
            self.new.names.push((names, left_out));
        }
    }

    /// Leaves out the answers to a request that fetches no page.
    pub(super) fn request(&mut self, names: Names) {
        for (answer, left_out) in self.old.names.iter_mut().chain(&mut self.new.names) {
            *left_out |= names.belong(answer);
        }
        if self.requests.len() == LOOK_BACK {
            self.requests.pop_front();
        }
        self.requests.push_back(names);
    }

    /// Moves records that were held long enough to `batch`; at the end of a file, all.
    pub(super) fn release(&mut self, all: bool, batch: &mut RecordBatch) {
        if all || self.new.records.len() >= LOOK_BACK {
            self.old.release(batch);
            std::mem::swap(&mut self.old, &mut self.new);
        }
        if all {
            self.old.release(batch);
        }
    }
}

impl Answers {
    fn release(&mut self, batch: &mut RecordBatch) {
        for (at, record) in self.records.iter().enumerate().filter(|&(at, _)| !self.names[at].1) {
            batch.push_with(record, self.records.facts(at));
        }
        self.records.clear();
        self.names.clear();
    }
}
