//! Shards as the source of a dataflow.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use undust::dataflow::{Batches, Source, SourceError};
use undust::io::{Rejects, Shard, ShardReader};
use undust::model::RecordBatch;

/// Shards, dealt to workers by position.
pub struct Shards {
    pub shards: Vec<Shard>,
    pub line_limit: usize,
    /// The first pass counts rejects; where the records were clustered they were counted then.
    pub counts: bool,
    /// Those of the first reading.
    pub rejects: Arc<Mutex<Rejects>>,
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
    /// Where the rejects go at the end, in the first pass.
    deposit: Option<Arc<Mutex<Rejects>>>,
}

impl Part {
    /// Reads these shards. What was rejected goes to `deposit` at the end.
    pub fn new(shards: Vec<Shard>, line_limit: usize, deposit: Option<Arc<Mutex<Rejects>>>) -> Part {
        let (shards, facts) = (shards.into_iter(), false);
        Part { shards, open: None, line_limit, facts, rejects: Rejects::default(), deposit }
    }
}

impl Shards {
    /// What was rejected so far; taken out.
    pub fn take_rejects(&self) -> Rejects {
        std::mem::take(&mut *self.rejects.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Source for Shards {
    fn open(&self, index: usize, peers: usize, pass: usize) -> Result<Box<dyn Batches>, SourceError> {
        let (index, peers) = self.local.map_or((index, peers), |first| (index - first, self.workers));
        let shards: Vec<Shard> = self.shards.iter().skip(index).step_by(peers).cloned().collect();
        let deposit = (pass == 0 && self.counts).then(|| self.rejects.clone());
        Ok(Box::new(Part { facts: self.facts, ..Part::new(shards, self.line_limit, deposit) }))
    }
}

impl Batches for Part {
    fn next_batch(&mut self, batch: &mut RecordBatch) -> Result<bool, SourceError> {
        loop {
            if let Some(reader) = &mut self.open
                && reader.next_batch(batch, &mut self.rejects)?
            {
                return Ok(true);
            }
            let Some(shard) = self.shards.next() else {
                if let Some(deposit) = self.deposit.take() {
                    let rejects = std::mem::take(&mut self.rejects);
                    deposit.lock().unwrap_or_else(PoisonError::into_inner).merge(rejects);
                }
                self.open = None;
                return Ok(false);
            };
            let open = if self.facts { ShardReader::open_with_facts } else { ShardReader::open };
            self.open = Some(open(&shard, self.line_limit, Arc::new(AtomicU64::new(0)))?);
        }
    }
}
