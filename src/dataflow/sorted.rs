//! Rows of plain words in order: in memory up to a budget, then sorted runs, merged.
//!
//! Rows go to 256 buckets by the first byte of their first word (a hash, so buckets are even); a
//! bucket fits the cache and is sorted by itself. Over the budget, all buckets are sorted and written
//! one after the other: one sorted run. After the last row they come bucket by bucket, from memory or
//! merged from the runs. Memory: the budget, and while merging one block a run. Repeats of a row are
//! kept.

use crate::spill::{Run, RunReader, Scratch, SpillColumns, SpillError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Buckets, by the first byte of the first word.
const BUCKETS: usize = 256;
/// Rows of a spill batch.
const BLOCK_ROWS: usize = 1 << 12;
/// Read buffer of a run, in bytes.
const READ_BUFFER: usize = 1 << 17;

/// Rows of a bucket in pieces that are never moved: growing vectors leave holes of every size behind,
/// which cost as much memory again.
type Bucket<const W: usize> = Vec<Vec<[u64; W]>>;

/// Rows of the first piece of a bucket, and of the others.
const PIECES: (usize, usize) = (64, 1024);

/// The rows of a bucket in order, in `rows` (cleared first).
fn sort<const W: usize>(bucket: &mut Bucket<W>, rows: &mut Vec<[u64; W]>) {
    rows.clear();
    rows.reserve(bucket.iter().map(Vec::len).sum());
    for piece in std::mem::take(bucket) {
        rows.extend_from_slice(&piece);
    }
    rows.sort_unstable();
}

/// Rows of `W` words on their way to [`Sorted`].
#[derive(Debug)]
pub struct Sorter<const W: usize> {
    buckets: Vec<Bucket<W>>,
    held_bytes: usize,
    budget: usize,
    runs: Vec<Run>,
    scratch: Arc<Scratch>,
}

impl<const W: usize> Sorter<W> {
    /// A sorter that holds about `budget` bytes.
    pub fn new(budget: usize, scratch: Arc<Scratch>) -> Sorter<W> {
        Sorter { buckets: vec![Vec::new(); BUCKETS], held_bytes: 0, budget, runs: Vec::new(), scratch }
    }

    /// Takes a row.
    pub fn push(&mut self, row: [u64; W]) {
        let bucket = &mut self.buckets[(row[0] >> 56) as usize];
        match bucket.last_mut() {
            Some(piece) if piece.len() < piece.capacity() => piece.push(row),
            last => {
                let mut piece = Vec::with_capacity(if last.is_none() { PIECES.0 } else { PIECES.1 });
                piece.push(row);
                self.held_bytes += piece.capacity() * size_of::<[u64; W]>();
                bucket.push(piece);
            }
        }
    }

    /// True when the sorter holds more than its budget and should be spilled.
    pub fn is_full(&self) -> bool {
        self.held_bytes > self.budget
    }

    /// Writes all rows held as one sorted run.
    ///
    /// # Errors
    /// [`SpillError`] when it cannot be written.
    pub fn spill(&mut self) -> Result<(), SpillError> {
        let mut run = self.scratch.run()?;
        let (mut columns, mut rows) = (SpillColumns::default(), Vec::new());
        for bucket in &mut self.buckets {
            sort(bucket, &mut rows);
            for block in rows.chunks(BLOCK_ROWS) {
                columns.clear();
                for word in 0..W {
                    columns.wide.extend(block.iter().map(|row| row[word]));
                }
                run.write(&columns)?;
            }
        }
        self.runs.push(run.finish()?);
        self.held_bytes = 0;
        Ok(())
    }

    /// Returns the rows in order, after the last one.
    ///
    /// # Errors
    /// [`SpillError`] when the last run cannot be written or the runs cannot be read.
    pub fn finish(mut self) -> Result<Sorted<W>, SpillError> {
        if self.runs.is_empty() {
            return Ok(Sorted { next: 0, from: From::Memory(self.buckets, Vec::new()) });
        }
        self.spill()?;
        let mut heads = BinaryHeap::new();
        let mut cursors = Vec::new();
        for run in self.runs {
            let mut cursor = Cursor { reader: run.reader(READ_BUFFER)?, row: 0 };
            if let Some(row) = cursor.next()? {
                heads.push(Reverse((row, cursors.len())));
            }
            cursors.push(cursor);
        }
        Ok(Sorted { next: 0, from: From::Runs { heads, cursors, _scratch: self.scratch } })
    }
}

/// A run being merged.
#[derive(Debug)]
struct Cursor<const W: usize> {
    reader: RunReader,
    row: usize,
}

impl<const W: usize> Cursor<W> {
    fn next(&mut self) -> Result<Option<[u64; W]>, SpillError> {
        loop {
            let wide = self.reader.view().wide;
            let rows = wide.len() / W;
            if self.row < rows {
                let row = std::array::from_fn(|word| wide[word * rows + self.row]);
                self.row += 1;
                return Ok(Some(row));
            }
            self.row = 0;
            if !self.reader.advance()? {
                return Ok(None);
            }
        }
    }
}

#[derive(Debug)]
enum From<const W: usize> {
    /// The buckets, and room for the rows of one.
    Memory(Vec<Bucket<W>>, Vec<[u64; W]>),
    Runs {
        heads: BinaryHeap<Reverse<([u64; W], usize)>>,
        cursors: Vec<Cursor<W>>,
        _scratch: Arc<Scratch>,
    },
}

/// The rows in order, a bucket at a time so that an operator can yield in between.
#[derive(Debug)]
pub struct Sorted<const W: usize> {
    next: usize,
    from: From<W>,
}

impl<const W: usize> Sorted<W> {
    /// Passes the rows of the next bucket to `take`, in order; `false` when there is none left.
    ///
    /// # Errors
    /// [`SpillError`] when a run cannot be read.
    pub fn bucket(&mut self, mut take: impl FnMut(&[u64; W])) -> Result<bool, SpillError> {
        if self.next == BUCKETS {
            return Ok(false);
        }
        let bucket = self.next;
        self.next += 1;
        match &mut self.from {
            From::Memory(buckets, rows) => {
                sort(&mut buckets[bucket], rows);
                rows.iter().for_each(take);
            }
            From::Runs { heads, cursors, .. } => {
                while let Some(mut head) = heads.peek_mut() {
                    let Reverse((row, at)) = *head;
                    if (row[0] >> 56) as usize != bucket {
                        break;
                    }
                    take(&row);
                    match cursors[at].next()? {
                        Some(row) => *head = Reverse((row, at)),
                        None => drop(std::collections::binary_heap::PeekMut::pop(head)),
                    }
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hash64;

    #[test]
    fn the_order_is_the_same_with_and_without_spilling() {
        let rows: Vec<[u64; 3]> = (0..20_000u64).map(|i| [hash64(&(i % 5000).to_le_bytes()), i % 3, i % 7]).collect();
        let mut want = rows.clone();
        want.sort_unstable();
        let scratch = Arc::new(Scratch::new(&std::env::temp_dir()).expect("a folder"));
        for budget in [usize::MAX, 400_000, 30_000] {
            let mut sorter = Sorter::new(budget, scratch.clone());
            for &row in &rows {
                sorter.push(row);
                if sorter.is_full() {
                    sorter.spill().expect("spilled");
                }
            }
            assert_eq!(sorter.runs.is_empty(), budget == usize::MAX);
            let mut sorted = sorter.finish().expect("finished");
            let mut got = Vec::new();
            while sorted.bucket(|row| got.push(*row)).expect("read") {}
            assert!(got == want, "budget {budget}");
        }
    }
}
