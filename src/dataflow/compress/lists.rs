//! The second dataflow: posting lists under the map.
//!
//! The first worker reads blocks and gives each to the worker that has the fewest; it takes one itself
//! only when the others are full, since it reads and writes besides. Blocks come back one by one and
//! are written in the order in which they were read. The number of blocks under way is bounded by count
//! and bytes, from reading to writing, so a long list holds the source back and does not use memory.
//! Records that keep their order follow the lists by the same way.

use super::assemble::Nothing;
use super::types::{CompressError, Input, ListBlock, Output, Pack, Pull, Shared};
use crate::dataflow::types::{Epoch, Flow};
use crate::index::remap::{Buffers, ListCounts, remap_block, remap_records};
use crate::index::{CiffError, DocMap};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use timely::dataflow::Scope;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::core::Exchange;
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::probe::{Handle, Probe};
use timely::dataflow::operators::{Capability, Operator};
use timely::scheduling::Activator;

/// Blocks of one worker that are queued or processed.
const QUEUE: usize = 3;
/// Blocks under way, from reading to writing, a worker.
const UNDER_WAY: usize = 5;
/// Their bytes; one block more where it is larger.
const UNDER_WAY_BYTES: usize = 64 << 20;

/// Arguments of the second dataflow.
#[derive(Clone)]
pub struct Lists {
    /// New id of each document.
    pub map: Arc<DocMap>,
    /// The records follow the lists, by the same way; the value at the first worker of all decides.
    pub records: bool,
    /// How blocks are compressed.
    pub pack: Pack,
    /// Output of the blocks, at the first process.
    pub output: Arc<Mutex<Option<Output>>>,
}

/// A block on its way out and back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Block {
    sequence: u64,
    /// The worker that has it.
    worker: u64,
    at: u64,
    /// Of a block of records: how many came before.
    records: Option<u32>,
    /// Bytes of the input block, whose buffer is returned empty.
    size: usize,
    input: Vec<u8>,
    output: Vec<u8>,
    counts: ListCounts,
    error: Option<BlockError>,
}

/// Error in a block.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum BlockError {
    List(CiffError),
    Pack(String),
}

/// Counts of the blocks at the first worker.
#[derive(Default)]
struct Ledger {
    /// Blocks at each worker.
    held: Vec<usize>,
    /// Blocks read and not written, and bytes of them.
    blocks: usize,
    bytes: usize,
    /// Blocks to be filled again.
    spare: Vec<Block>,
    /// Wakes the source.
    source: Option<Activator>,
}

impl Ledger {
    /// The worker that the next block goes to, if one may be read.
    fn next_worker(&self) -> Option<usize> {
        if self.blocks >= UNDER_WAY * self.held.len() || (self.blocks > 0 && self.bytes > UNDER_WAY_BYTES) {
            return None;
        }
        let others = (1..self.held.len()).filter(|&worker| self.held[worker] < QUEUE);
        // The others first: their blocks have a longer way.
        others.min_by_key(|&worker| self.held[worker]).or((self.held[0] == 0).then_some(0))
    }
}

/// Builds the dataflow; `end` is done when it is. Returns the counts, at the first worker.
pub fn lists<'scope>(
    scope: Scope<'scope, Epoch>,
    input: &dyn Input,
    lists: &Lists,
    shared: &Arc<Shared>,
    end: &Handle<Epoch>,
) -> Rc<RefCell<ListCounts>> {
    let counts: Rc<RefCell<ListCounts>> = Rc::default();
    let ledger = Ledger { held: vec![0; scope.peers()], ..Ledger::default() };
    let ledger = Rc::new(RefCell::new(ledger));
    read(scope, input, lists.records, ledger.clone(), shared)
        .exchange(|block| block.worker)
        .remap(lists)
        .exchange(|_| 0)
        .write(lists, ledger, counts.clone(), shared)
        .probe_with(end);
    counts
}

/// The lists, at the first worker.
fn read<'scope>(
    scope: Scope<'scope, Epoch>,
    input: &dyn Input,
    records: bool,
    ledger: Rc<RefCell<Ledger>>,
    shared: &Arc<Shared>,
) -> Flow<'scope, Block> {
    let shared = shared.clone();
    let mut pull: Option<Pull<ListBlock>> = None;
    if scope.index() == 0 && !shared.failure.is_set() {
        pull = input.lists(records).map_err(|error| shared.failure.record(CompressError::Edge(error))).ok();
    }
    let mut sequence = 0;
    source(scope, "ReadLists", move |capability, info| {
        ledger.borrow_mut().source = Some(scope.activator_for(info.address));
        let mut capability = Some(capability);
        move |output| {
            let Some(cap) = capability.as_ref() else { return };
            let mut session = output.session(cap);
            while let Some(open) = pull.as_mut() {
                let mut ledger = ledger.borrow_mut();
                let Some(worker) = ledger.next_worker().filter(|_| !shared.failure.is_set()) else { break };
                let mut block = ledger.spare.pop().unwrap_or_default();
                let mut read = ListBlock { bytes: std::mem::take(&mut block.input), ..ListBlock::default() };
                match open(&mut read) {
                    Ok(true) => {
                        ledger.held[worker] += 1;
                        ledger.blocks += 1;
                        ledger.bytes += read.bytes.len();
                        (block.sequence, block.worker) = (sequence, worker as u64);
                        (block.at, block.records) = (read.at, read.records);
                        (block.size, block.input) = (read.bytes.len(), read.bytes);
                        sequence += 1;
                        session.give(block);
                    }
                    Ok(false) => pull = None,
                    Err(error) => {
                        shared.failure.record(CompressError::Edge(error));
                        pull = None;
                    }
                }
            }
            drop(session);
            if pull.is_none() || shared.failure.is_set() {
                (pull, capability) = (None, None);
            }
        }
    })
}

/// Blocks under the map.
trait Remap<'scope> {
    /// Remaps and packs blocks, one a turn, so that each goes back as soon as it is done; a fault stays
    /// with its block.
    fn remap(self, lists: &Lists) -> Flow<'scope, Block>;
}

impl<'scope> Remap<'scope> for Flow<'scope, Block> {
    fn remap(self, lists: &Lists) -> Flow<'scope, Block> {
        let (map, pack, mut buffers) = (lists.map.clone(), lists.pack.clone(), Buffers::default());
        let mut waiting: VecDeque<(Capability<Epoch>, Block)> = VecDeque::new();
        let scope = self.scope();
        self.unary(Pipeline, "Remap", move |_, info| {
            let activator = scope.activator_for(info.address);
            move |input, output| {
                input.for_each_stamp(|time, blocks| {
                    let blocks = blocks.flat_map(|b: &mut Vec<Block>| b.drain(..));
                    waiting.extend(blocks.map(|block| (time.retain_least(0).expect("a message has a time"), block)));
                });
                let Some((capability, mut block)) = waiting.pop_front() else { return };
                block.output.clear();
                let (bytes, to) = (&block.input, &mut block.output);
                let done = match block.records {
                    None => remap_block(Some(&map), map.old_docs(), bytes, block.at, &mut buffers, to),
                    Some(first) => remap_records(&map, first, bytes, block.at, to),
                };
                match done {
                    Ok(counts) => {
                        block.counts = counts;
                        let compressed = pack(&mut block.output);
                        block.error = compressed.err().map(|error| BlockError::Pack(error.to_string()));
                    }
                    Err(error) => block.error = Some(BlockError::List(error)),
                }
                block.input.clear();
                output.session(&capability).give(block);
                if !waiting.is_empty() {
                    activator.activate();
                }
            }
        })
    }
}

/// Blocks to the output.
trait Write<'scope> {
    /// Writes blocks in order, at the first worker.
    fn write(
        self,
        lists: &Lists,
        ledger: Rc<RefCell<Ledger>>,
        counts: Rc<RefCell<ListCounts>>,
        shared: &Arc<Shared>,
    ) -> Flow<'scope, ()>;
}

impl<'scope> Write<'scope> for Flow<'scope, Block> {
    fn write(
        self,
        lists: &Lists,
        ledger: Rc<RefCell<Ledger>>,
        counts: Rc<RefCell<ListCounts>>,
        shared: &Arc<Shared>,
    ) -> Flow<'scope, ()> {
        let (output, shared) = (lists.output.clone(), shared.clone());
        let mut waiting: BTreeMap<u64, Block> = BTreeMap::new();
        let mut next = 0;
        self.unary(Pipeline, "Write", move |_, _| {
            move |input, _output: &mut Nothing<'_>| {
                let mut came = false;
                input.for_each_stamp(|_, blocks| {
                    for block in blocks.flat_map(|b: &mut Vec<Block>| b.drain(..)) {
                        ledger.borrow_mut().held[block.worker as usize] -= 1;
                        waiting.insert(block.sequence, block);
                        came = true;
                    }
                });
                while let Some(mut block) = waiting.remove(&next) {
                    next += 1;
                    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                    let failed = match (block.error.take(), output.as_mut()) {
                        (Some(BlockError::List(error)), _) => Some(CompressError::List(error)),
                        (Some(BlockError::Pack(error)), _) => Some(CompressError::Edge(error.into())),
                        (None, Some(output)) if !shared.failure.is_set() => {
                            *counts.borrow_mut() += block.counts;
                            output(&block.output).map_err(CompressError::Edge).err()
                        }
                        _ => None,
                    };
                    if let Some(error) = failed {
                        shared.failure.record(error);
                    }
                    let mut ledger = ledger.borrow_mut();
                    ledger.blocks -= 1;
                    ledger.bytes -= block.size;
                    assert!(ledger.blocks > 0 || ledger.bytes == 0, "what is written is no longer under way");
                    ledger.spare.push(block);
                }
                if came && let Some(source) = &ledger.borrow().source {
                    source.activate();
                }
            }
        })
    }
}
