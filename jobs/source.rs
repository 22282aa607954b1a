//! Shards as the source of a dataflow.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use undust::dataflow::{Batches, Source, SourceError};
use undust::io::{Rejects, Shard, ShardReader};
use undust::model::RecordBatch;
use undust::runtime::progress::Progress;

use crate::inputs::Tally;

/// Shards, dealt to workers by position.
pub struct Shards {
    pub shards: Vec<Shard>,
    pub line_limit: usize,
    /// The first pass counts rejects; where the records were clustered they were counted then.
    pub counts: bool,
    /// What the first reading counted.
    pub counted: Counted,
    /// Where the shards are this host's own, its first worker.
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
    /// Where the counts go at the end, in the first pass.
    deposit: Option<Counted>,
}

/// What the workers counted, put together as each of them ends.
#[derive(Clone, Default)]
pub struct Counted {
    sums: Arc<Mutex<(Rejects, Tally)>>,
    progress: Arc<Progress>,
}

impl Counted {
    /// Nothing yet; rejects are shown in `progress` while they are counted.
    pub fn shown_in(progress: Arc<Progress>) -> Counted {
        Counted { progress, ..Counted::default() }
    }

    /// Adds what one worker counted.
    pub fn add(&self, rejects: Rejects, tally: Tally) {
        let mut counted = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        counted.0.merge(rejects);
        counted.1.merge(tally);
    }

    /// What was counted so far; taken out.
    pub fn take(&self) -> (Rejects, Tally) {
        std::mem::take(&mut *self.sums.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Part {
    /// Reads these shards. What was counted goes to `deposit` at the end.
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
