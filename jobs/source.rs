//! Shards as the source of a dataflow.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use undust::dataflow::{Batches, Source, SourceError};
use undust::io::{Rejects, Shard, ShardReader};
use undust::model::RecordBatch;
use undust::runtime::progress::Progress;

use crate::inputs::Tally;

/// Shards, assigned to workers by position.
pub struct Shards {
    pub shards: Vec<Shard>,
    pub line_limit: usize,
    /// The first pass counts rejects, unless the records were clustered and counted then.
    pub counts: bool,
    /// Counts of the first reading.
    pub counted: Counted,
    /// First worker of this host, where the shards are its own.
    pub local: Option<usize>,
    /// Workers of this process.
    pub workers: usize,
    /// The batches hold the facts of the records, too.
    pub facts: bool,
}

/// The shards of one worker, one after the other.
pub struct Part {
    shards: std::vec::IntoIter<Shard>,
    open: Option<ShardReader>,
    line_limit: usize,
    facts: bool,
    rejects: Rejects,
    tally: Tally,
    /// Receiver of the counts at the end, in the first pass.
    deposit: Option<Counted>,
}

/// Counts of the workers, merged as each of them ends.
#[derive(Clone, Default)]
pub struct Counted {
    sums: Arc<Mutex<(Rejects, Tally)>>,
    progress: Arc<Progress>,
}

impl Counted {
    /// Counts of nothing; rejects are shown in `progress` while they are counted.
    pub fn shown_in(progress: Arc<Progress>) -> Counted {
        Counted { progress, ..Counted::default() }
    }

    /// Adds the counts of one worker.
    pub fn add(&self, rejects: Rejects, tally: Tally) {
        let mut counted = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        counted.0.merge(rejects);
        counted.1.merge(tally);
    }

    /// Takes out the counts so far.
    pub fn take(&self) -> (Rejects, Tally) {
        std::mem::take(&mut *self.sums.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Part {
    /// A source of these shards. The counts go to `deposit` at the end.
    pub fn new(shards: Vec<Shard>, line_limit: usize, deposit: Option<Counted>) -> Part {
        let (shards, facts) = (shards.into_iter(), false);
        Part { shards, open: None, line_limit, facts, rejects: Rejects::default(), tally: Tally::default(), deposit }
    }
}

impl Source for Shards {
    fn open(&self, index: usize, peers: usize, pass: usize) -> Result<Box<dyn Batches>, SourceError> {
        let (index, peers) = self.local.map_or((index, peers), |first| (index - first, self.workers));
        let shards: Vec<Shard> = self.shards.iter().skip(index).step_by(peers).cloned().collect();
        let deposit = (pass == 0 && self.counts).then(|| self.counted.clone());
        Ok(Box::new(Part { facts: self.facts, ..Part::new(shards, self.line_limit, deposit) }))
    }
}

impl Batches for Part {
    fn next_batch(&mut self, batch: &mut RecordBatch) -> Result<bool, SourceError> {
        loop {
            if let Some(reader) = &mut self.open {
                let before = self.rejects.total();
                let more = reader.next_batch(batch, &mut self.rejects)?;
                if let Some(deposit) = &self.deposit {
                    deposit.progress.reject(self.rejects.total() - before);
                    if more {
                        self.tally.add(&reader.shard().name, batch);
                    }
                }
                if more {
                    return Ok(true);
                }
            }
            let Some(shard) = self.shards.next() else {
                if let Some(deposit) = self.deposit.take() {
                    deposit.add(std::mem::take(&mut self.rejects), std::mem::take(&mut self.tally));
                }
                self.open = None;
                return Ok(false);
            };
            let open = if self.facts { ShardReader::open_with_facts } else { ShardReader::open };
            self.open = Some(open(&shard, self.line_limit, Arc::new(AtomicU64::new(0)))?);
        }
    }
}
