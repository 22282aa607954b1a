//! Rows of bytes in order: in memory up to a budget, then sorted runs, merged.
//!
//! Rows order by their bytes; equal rows are all kept. Memory: the budget (a row costs its bytes and 16
//! more), however many rows there are: never more than [`FAN`] runs are open for reading, and their
//! blocks have a part of the budget. As soon as there are that many runs of a size they are made one.

use crate::spill::{Run, RunReader, RunWriter, Scratch, SpillColumns, SpillError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Runs that are merged at a time.
const FAN: usize = 64;
/// A part of this size of the budget is for the blocks of runs that are merged, the rest for rows.
const MERGING: usize = 4;
/// Least and most bytes of rows of a spill batch (one row more). The least bounds the excess over a
/// small budget.
const BLOCK_BYTES: (usize, usize) = (2 << 10, 1 << 18);
/// Read buffer of a run: blocks are read whole, past it.
const READ_BYTES: usize = 1 << 10;
/// Places in the buffer are 32 bits.
const MOST_BYTES: usize = u32::MAX as usize / 2;

/// Position of a row, and its first eight bytes, by which most comparisons end.
#[derive(Clone, Copy, Debug)]
struct SortKey {
    first: u64,
    start: u32,
    len: u32,
}

/// Rows on their way to [`SortedRows`].
#[derive(Debug)]
pub struct RowSorter {
    bytes: Vec<u8>,
    places: Vec<SortKey>,
    /// Bytes of rows held.
    budget: usize,
    /// Bytes of a spill batch.
    block: usize,
    /// Sorted runs: those that were spilled, those merged of [`FAN`] of them, and so on.
    levels: Vec<Vec<Run>>,
    scratch: Arc<Scratch>,
}

impl RowSorter {
    /// A sorter that holds about `budget` bytes.
    pub fn new(budget: usize, scratch: Arc<Scratch>) -> RowSorter {
        let budget = budget.min(MOST_BYTES);
        // Twice: as it was read, and its rows.
        let block = (budget / MERGING / FAN / 2).clamp(BLOCK_BYTES.0, BLOCK_BYTES.1);
        let (bytes, places, levels) = Default::default();
        RowSorter { bytes, places, budget: budget - budget / MERGING, block, levels, scratch }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// [`SpillError`] when a run cannot be written or read.
    pub fn push(&mut self, row: &[u8]) -> Result<(), SpillError> {
        let held = self.bytes.len() + self.places.len() * size_of::<SortKey>();
        if held + row.len() > self.budget && !self.places.is_empty() {
            self.spill()?;
        }
        let mut first = [0; 8];
        let known = row.len().min(8);
        first[..known].copy_from_slice(&row[..known]);
        let (start, len) = (self.bytes.len() as u32, row.len() as u32);
        self.places.push(SortKey { first: u64::from_be_bytes(first), start, len });
        self.bytes.extend_from_slice(row);
        Ok(())
    }

    /// Sorts the rows after the last one.
    ///
    /// # Errors
    /// [`SpillError`] when a run cannot be written or read.
    pub fn finish(mut self) -> Result<SortedRows, SpillError> {
        if self.levels.is_empty() {
            self.sort();
            return Ok(SortedRows(From::Memory { bytes: self.bytes, places: self.places, next: 0 }));
        }
        self.spill()?;
        (self.bytes, self.places) = Default::default();
        // The small ones first.
        let mut runs: Vec<Run> = self.levels.drain(..).flatten().collect();
        while runs.len() > FAN {
            let some = (runs.len() - FAN + 1).min(FAN);
            let merged = self.merged(runs.drain(..some).collect())?;
            runs.push(merged);
        }
        Ok(SortedRows(From::Runs(Merge::of(runs)?, self.scratch)))
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let row = |place: &SortKey| &bytes[place.start as usize..(place.start + place.len) as usize];
        self.places.sort_unstable_by(|a, b| a.first.cmp(&b.first).then_with(|| row(a).cmp(row(b))));
    }

    /// Writes the rows held as a run.
    fn spill(&mut self) -> Result<(), SpillError> {
        self.sort();
        let mut rows = Writing { run: self.scratch.run()?, columns: SpillColumns::default(), block: self.block };
        for place in &self.places {
            rows.push(&self.bytes[place.start as usize..(place.start + place.len) as usize])?;
        }
        let mut run = rows.finish()?;
        self.places.clear();
        self.bytes.clear();
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(run);
            if self.levels[level].len() < FAN {
                break;
            }
            let full = std::mem::take(&mut self.levels[level]);
            run = self.merged(full)?;
        }
        Ok(())
    }

    /// Merges some runs into one.
    fn merged(&self, runs: Vec<Run>) -> Result<Run, SpillError> {
        let mut rows = Writing { run: self.scratch.run()?, columns: SpillColumns::default(), block: self.block };
        let mut merge = Merge::of(runs)?;
        while let Some(row) = merge.next_row()? {
            rows.push(row)?;
        }
        rows.finish()
    }
}

/// A run being written.
struct Writing {
    run: RunWriter,
    columns: SpillColumns,
    block: usize,
}

impl Writing {
    fn push(&mut self, row: &[u8]) -> Result<(), SpillError> {
        self.columns.mid.push(row.len() as u32);
        self.columns.bytes.extend_from_slice(row);
        if self.columns.bytes.len() + self.columns.mid.len() * size_of::<u32>() >= self.block {
            self.run.write(&self.columns)?;
            self.columns.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Run, SpillError> {
        if !self.columns.mid.is_empty() {
            self.run.write(&self.columns)?;
        }
        self.run.finish()
    }
}

/// Runs being merged.
#[derive(Debug)]
struct Merge {
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    runs: Vec<Cursor>,
    row: Vec<u8>,
}

impl Merge {
    fn of(runs: Vec<Run>) -> Result<Merge, SpillError> {
        let mut merge = Merge { heads: BinaryHeap::new(), runs: Vec::new(), row: Vec::new() };
        for run in runs {
            let (lens, rows) = Default::default();
            let mut cursor = Cursor { reader: run.reader(READ_BYTES)?, lens, rows, row: 0, start: 0 };
            let mut row = Vec::new();
            if cursor.next(&mut row)? {
                merge.heads.push(Reverse((row, merge.runs.len())));
            }
            merge.runs.push(cursor);
        }
        Ok(merge)
    }

    fn next_row(&mut self) -> Result<Option<&[u8]>, SpillError> {
        let Some(Reverse((mut head, run))) = self.heads.pop() else { return Ok(None) };
        std::mem::swap(&mut self.row, &mut head);
        if self.runs[run].next(&mut head)? {
            self.heads.push(Reverse((head, run)));
        }
        Ok(Some(&self.row))
    }
}

/// A run being merged.
#[derive(Debug)]
struct Cursor {
    reader: RunReader,
    /// The rows of the batch at hand: viewing a batch checks all of it, too costly for each row.
    lens: Vec<u32>,
    rows: Vec<u8>,
    row: usize,
    start: usize,
}

impl Cursor {
    /// Copies the next row into `out`; false at the end.
    fn next(&mut self, out: &mut Vec<u8>) -> Result<bool, SpillError> {
        loop {
            if let Some(&len) = self.lens.get(self.row) {
                out.clear();
                out.extend_from_slice(&self.rows[self.start..self.start + len as usize]);
                self.row += 1;
                self.start += len as usize;
                return Ok(true);
            }
            self.lens.clear();
            self.rows.clear();
            (self.row, self.start) = (0, 0);
            if !self.reader.advance()? {
                return Ok(false);
            }
            let view = self.reader.view();
            self.lens.extend_from_slice(view.mid);
            self.rows.extend_from_slice(view.bytes);
        }
    }
}

/// Rows in order, taken once.
#[derive(Debug)]
pub struct SortedRows(From);

/// Location of the rows.
#[derive(Debug)]
enum From {
    Memory {
        bytes: Vec<u8>,
        places: Vec<SortKey>,
        next: usize,
    },
    /// The scratch folder lives as long as they do.
    Runs(Merge, #[expect(dead_code, reason = "held, not used")] Arc<Scratch>),
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
            From::Runs(merge, _) => merge.next_row(),
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
        // Once in memory, in a few runs, in more than are merged at a time, and in more than that of merged
        // ones.
        for (budget, most) in [(1 << 30, 0), (40_000, 1), (1500, 2), (20, 3)] {
            let scratch = Arc::new(Scratch::new(&std::env::temp_dir()).unwrap());
            let mut sorter = RowSorter::new(budget, scratch);
            rows.iter().for_each(|row| sorter.push(row).unwrap());
            assert_eq!(sorter.levels.len(), most, "budget {budget}");
            assert!(sorter.levels.iter().all(|runs| runs.len() < FAN));
            let mut sorted = sorter.finish().unwrap();
            let mut found = Vec::new();
            while let Some(row) = sorted.next_row().unwrap() {
                found.push(row.to_vec());
            }
            assert!(found == expected, "budget {budget}");
        }
    }
}
