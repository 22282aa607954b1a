//! Rows of bytes in order: in memory up to a budget, then sorted runs, merged.
//!
//! Rows order by their bytes; equal rows are all kept. Memory: the budget (a row costs its bytes and 16 more), and while
//! merging one block a run.

use crate::spill::{Columns, Run, RunReader, Scratch, SpillError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Bytes of rows of a spill batch (one row more).
const BLOCK_BYTES: usize = 1 << 18;
/// Places in the buffer are 32 bits.
const MOST_BYTES: usize = u32::MAX as usize / 2;

/// Where a row lies, and its first eight bytes, by which most comparisons end.
#[derive(Clone, Copy, Debug)]
struct Place {
    first: u64,
    start: u32,
    len: u32,
}

/// Rows on their way to [`SortedRows`].
#[derive(Debug)]
pub struct RowSorter {
    bytes: Vec<u8>,
    places: Vec<Place>,
    budget: usize,
    runs: Vec<Run>,
    scratch: Arc<Scratch>,
}

impl RowSorter {
    /// A sorter that holds about `budget` bytes.
    pub fn new(budget: usize, scratch: Arc<Scratch>) -> RowSorter {
        let (bytes, places, runs) = Default::default();
        RowSorter { bytes, places, budget: budget.min(MOST_BYTES), runs, scratch }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// [`SpillError`] when a run cannot be written.
    pub fn push(&mut self, row: &[u8]) -> Result<(), SpillError> {
        let held = self.bytes.len() + self.places.len() * size_of::<Place>();
        if held + row.len() > self.budget && !self.places.is_empty() {
            self.spill()?;
        }
        let mut first = [0; 8];
        let known = row.len().min(8);
        first[..known].copy_from_slice(&row[..known]);
        let (start, len) = (self.bytes.len() as u32, row.len() as u32);
        self.places.push(Place { first: u64::from_be_bytes(first), start, len });
        self.bytes.extend_from_slice(row);
        Ok(())
    }

    /// All rows are there.
    ///
    /// # Errors
    /// [`SpillError`] when the last run cannot be written or the runs cannot be read.
    pub fn finish(mut self) -> Result<SortedRows, SpillError> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(SortedRows(From::Memory { bytes: self.bytes, places: self.places, next: 0 }));
        }
        self.spill()?;
        let (mut heads, mut runs) = (BinaryHeap::new(), Vec::new());
        for run in self.runs {
            let mut cursor = Cursor { reader: run.reader(BLOCK_BYTES)?, row: 0, start: 0 };
            let mut row = Vec::new();
            if cursor.next(&mut row)? {
                heads.push(Reverse((row, runs.len())));
            }
            runs.push(cursor);
        }
        Ok(SortedRows(From::Runs { heads, runs, row: Vec::new(), _scratch: self.scratch }))
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let row = |place: &Place| &bytes[place.start as usize..(place.start + place.len) as usize];
        self.places.sort_unstable_by(|a, b| a.first.cmp(&b.first).then_with(|| row(a).cmp(row(b))));
    }

    fn spill(&mut self) -> Result<(), SpillError> {
        self.sort();
        let mut run = self.scratch.run()?;
        let mut columns = Columns::default();
        for place in &self.places {
            columns.mid.push(place.len);
            columns.bytes.extend_from_slice(&self.bytes[place.start as usize..(place.start + place.len) as usize]);
            if columns.bytes.len() >= BLOCK_BYTES {
                run.write(&columns)?;
                columns.clear();
            }
        }
        if !columns.mid.is_empty() {
            run.write(&columns)?;
        }
        self.runs.push(run.finish()?);
        self.places.clear();
        self.bytes.clear();
        Ok(())
    }
}

/// A run being merged.
#[derive(Debug)]
struct Cursor {
    reader: RunReader,
    row: usize,
    start: usize,
}

impl Cursor {
    /// Copies the next row into `out`; false at the end.
    fn next(&mut self, out: &mut Vec<u8>) -> Result<bool, SpillError> {
        loop {
            let view = self.reader.view();
            if let Some(&len) = view.mid.get(self.row) {
                out.clear();
                out.extend_from_slice(&view.bytes[self.start..self.start + len as usize]);
                self.row += 1;
                self.start += len as usize;
                return Ok(true);
            }
            (self.row, self.start) = (0, 0);
            if !self.reader.advance()? {
                return Ok(false);
            }
        }
    }
}

/// Rows in order, taken once.
#[derive(Debug)]
pub struct SortedRows(From);

/// Where they are.
#[derive(Debug)]
enum From {
    Memory { bytes: Vec<u8>, places: Vec<Place>, next: usize },
    Runs { heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>, runs: Vec<Cursor>, row: Vec<u8>, _scratch: Arc<Scratch> },
}

impl SortedRows {
    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// [`SpillError`] when a run cannot be read.
    pub fn next_row(&mut self) -> Result<Option<&[u8]>, SpillError> {
        match &mut self.0 {
            From::Memory { bytes, places, next } => {
                let Some(place) = places.get(*next) else { return Ok(None) };
                *next += 1;
                Ok(Some(&bytes[place.start as usize..(place.start + place.len) as usize]))
            }
            From::Runs { heads, runs, row, .. } => {
                let Some(Reverse((mut head, run))) = heads.pop() else { return Ok(None) };
                std::mem::swap(row, &mut head);
                if runs[run].next(&mut head)? {
                    heads.push(Reverse((head, run)));
                }
                Ok(Some(row))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hash64;

    #[test]
    fn rows_come_in_order_from_memory_and_from_disk() {
        let rows: Vec<Vec<u8>> = (0..5000u64)
            .map(|i| {
                let hash = hash64(&i.to_be_bytes());
                format!("{:x}", hash % 3000).repeat(hash as usize % 4).into_bytes()
            })
            .collect();
        let mut expected = rows.clone();
        expected.sort();
        for budget in [1 << 30, 40_000, 3000] {
            let scratch = Arc::new(Scratch::new(&std::env::temp_dir()).unwrap());
            let mut sorter = RowSorter::new(budget, scratch);
            rows.iter().for_each(|row| sorter.push(row).unwrap());
            assert_eq!(sorter.runs.len() > 1, budget < 1 << 20, "{} runs", sorter.runs.len());
            let mut sorted = sorter.finish().unwrap();
            let mut found = Vec::new();
            while let Some(row) = sorted.next_row().unwrap() {
                found.push(row.to_vec());
            }
            assert!(found == expected, "budget {budget}");
        }
    }
}
