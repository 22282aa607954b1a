//! Replay spill: records of small sites, written to disk while a pass of the proof reads everything,
//! for the next pass.
//!
//! A rule that the proof withdraws causes another count of its site. Most such sites are small, since
//! their rules have little evidence; of a corpus of 14 million URLs a later pass counted 0.8 %, and
//! read them all. So each worker spills the records of the smallest sites, as many as [`room`] allows;
//! a later pass that counts only such sites reads these instead. If one site is missing, everything is
//! read. The counts are the same either way.

use super::source::{Batches, SourceError};
use crate::model::{Record, RecordBatch};
use crate::spill::{Run, RunReader, RunWriter, Scratch, SpillColumns, SpillError};
use std::sync::Arc;

/// Bytes of strings a block holds at most (one record more).
const BLOCK_BYTES: usize = 1 << 18;
/// Words of a row: lengths of URL, cluster and site, and whether it leads elsewhere.
const WORDS: usize = 4;
/// Length of an absent byte string.
const ABSENT: u32 = u32::MAX;
/// Bytes of a record on disk, for an estimate before any is seen.
const RECORD_BYTES: usize = 128;

/// Most training URLs of the spilled sites together, where `share` of the records trains: their records
/// then take about half of `memory`, on disk. A worker that meets longer records stops spilling at its
/// part of the whole of it.
pub fn room(memory: usize, share: f64) -> u64 {
    ((memory / 2 / RECORD_BYTES) as f64 * share) as u64
}

/// Records that a worker spills in a pass.
#[derive(Debug)]
pub struct ReplayWriter {
    scratch: Arc<Scratch>,
    run: Option<RunWriter>,
    block: SpillColumns,
    /// Bytes that may still be written.
    left: usize,
    /// Records of each site.
    spilled: Vec<u64>,
}

impl ReplayWriter {
    /// A spill for the records of `sites` sites, of at most `bytes` bytes.
    pub fn new(sites: usize, bytes: usize, scratch: Arc<Scratch>) -> ReplayWriter {
        ReplayWriter { scratch, run: None, block: SpillColumns::default(), left: bytes, spilled: vec![0; sites] }
    }

    /// Spills a record of a site.
    pub fn spill(&mut self, site: u32, record: Record<'_>) {
        if self.left == 0 {
            return;
        }
        let length = |part: Option<&[u8]>| part.map_or(ABSENT, |part| part.len() as u32);
        let row = [record.url.len() as u32, length(record.cluster), length(record.site), u32::from(record.elsewhere)];
        self.block.mid.extend(row);
        for part in [Some(record.url), record.cluster, record.site].into_iter().flatten() {
            self.block.bytes.extend_from_slice(part);
        }
        self.spilled[site as usize] += 1;
        if self.block.bytes.len() >= BLOCK_BYTES {
            self.write();
        }
    }

    fn write(&mut self) {
        let bytes = self.block.bytes.len() + self.block.mid.len() * size_of::<u32>();
        if bytes > self.left || self.append().is_err() {
            self.give_up();
            return;
        }
        self.left -= bytes;
        self.block.clear();
    }

    fn append(&mut self) -> Result<(), SpillError> {
        let run = match &mut self.run {
            Some(run) => run,
            none => none.insert(self.scratch.run()?),
        };
        run.write(&self.block)
    }

    /// Drops the spill: the estimate was wrong, or the disk is full. The next pass then reads everything.
    fn give_up(&mut self) {
        (self.run, self.left) = (None, 0);
        self.block.clear();
        self.spilled.fill(0);
    }

    /// Number of spilled records of each site, by index, and the records.
    pub fn finish(mut self) -> (Vec<u64>, Replay) {
        if !self.block.mid.is_empty() {
            self.write();
        }
        match self.run.take().map(RunWriter::finish) {
            Some(Ok(run)) => (self.spilled, Replay { run: Some(run), _scratch: Some(self.scratch) }),
            Some(Err(_)) => {
                self.give_up();
                (self.spilled, Replay::default())
            }
            None => (self.spilled, Replay::default()),
        }
    }
}

/// Records that one worker spilled.
#[derive(Debug, Default)]
pub struct Replay {
    run: Option<Run>,
    _scratch: Option<Arc<Scratch>>,
}

impl Replay {
    /// Opens them for reading, once.
    ///
    /// # Errors
    /// [`SpillError`] when the spill cannot be read.
    pub fn open(self) -> Result<ReplayBatches, SpillError> {
        let reader = self.run.map(|run| run.reader(BLOCK_BYTES)).transpose()?;
        Ok(ReplayBatches { reader, _scratch: self._scratch })
    }
}

/// [`Replay`] that is being read.
#[derive(Debug)]
pub struct ReplayBatches {
    reader: Option<RunReader>,
    _scratch: Option<Arc<Scratch>>,
}

impl Batches for ReplayBatches {
    fn next_batch(&mut self, batch: &mut RecordBatch) -> Result<bool, SourceError> {
        batch.clear();
        let Some(reader) = &mut self.reader else { return Ok(false) };
        if !reader.advance()? {
            return Ok(false);
        }
        let view = reader.view();
        let mut rest = view.bytes;
        let mut take = |length: u32| {
            let (part, behind) = rest.split_at(if length == ABSENT { 0 } else { length as usize });
            rest = behind;
            (length != ABSENT).then_some(part)
        };
        for &[url, cluster, site, elsewhere] in view.mid.as_chunks::<WORDS>().0 {
            let (url, cluster, site) = (take(url).unwrap_or_default(), take(cluster), take(site));
            batch.push(Record { url, cluster, site, elsewhere: elsewhere != 0 });
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<(String, Option<String>, Option<String>, bool)> {
        let some = |i: usize, by: usize, text: &str| (!i.is_multiple_of(by)).then(|| format!("{text}{i}"));
        (0..12_000)
            .map(|i| (format!("http://a.example/{i}"), some(i, 3, "c"), some(i, 2, ""), i.is_multiple_of(5)))
            .collect()
    }

    fn spill(replay: &mut ReplayWriter, records: &[(String, Option<String>, Option<String>, bool)]) {
        for (i, (url, cluster, site, elsewhere)) in records.iter().enumerate() {
            let [cluster, site] = [cluster, site].map(|part| part.as_ref().map(String::as_bytes));
            let record = Record { url: url.as_bytes(), cluster, site, elsewhere: *elsewhere };
            replay.spill(i as u32 % 2, record);
        }
    }

    #[test]
    fn spilled_records_come_back_as_they_were() {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = Arc::new(Scratch::new(folder.path()).expect("scratch"));
        let mut replay = ReplayWriter::new(2, 1 << 20, scratch);
        let want = records();
        spill(&mut replay, &want);
        let (spilled, records) = replay.finish();
        assert_eq!(spilled, [6_000, 6_000]);
        let (mut batches, mut batch, mut got, mut blocks) =
            (records.open().expect("open"), RecordBatch::default(), Vec::new(), 0);
        while batches.next_batch(&mut batch).expect("read") {
            blocks += 1;
            let text = |part: &[u8]| String::from_utf8(part.to_vec()).expect("text");
            got.extend(batch.iter().map(|r| (text(r.url), r.cluster.map(text), r.site.map(text), r.elsewhere)));
        }
        assert!(got == want && blocks > 1, "{blocks} blocks");
    }

    #[test]
    fn records_that_do_not_fit_are_not_spilled_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = Arc::new(Scratch::new(folder.path()).expect("scratch"));
        let mut replay = ReplayWriter::new(2, 300_000, scratch);
        spill(&mut replay, &records());
        let (spilled, records) = replay.finish();
        assert_eq!(spilled, [0, 0]);
        assert!(!records.open().expect("open").next_batch(&mut RecordBatch::default()).expect("nothing"));
    }
}
