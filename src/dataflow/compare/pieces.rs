//! Records cut into pieces of one site each, and joined at the owner of the site.

use super::state::{CompareState, Totals};
use super::{CompareError, Job};
use crate::baselines::protocol::Records;
use crate::dataflow::locate::Locator;
use crate::dataflow::source::{Batches, Source};
use crate::dataflow::types::{Epoch, Flow};
use crate::model::RecordBatch;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use timely::dataflow::Scope;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::generic::operator::source;

/// Rows of one site from one batch of one shard.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Piece {
    pub(super) site: Vec<u8>,
    /// Shard, and batch in it.
    place: (u64, u64),
    bytes: Vec<u8>,
    ends: Vec<(u32, u32)>,
    elsewhere: Vec<bool>,
    /// Bytes of each answer where the plan has them counted.
    sizes: Vec<u64>,
    /// Rows without a label, rising: present only where the plan uses sizes.
    unlabelled: Vec<u32>,
}

impl Piece {
    /// URLs of the rows with a label.
    pub(super) fn labelled_urls(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|ends| ends.1));
        let rows = (0..).zip(starts.zip(&self.ends));
        let labelled = rows.filter(|(row, _)| self.unlabelled.binary_search(row).is_err());
        labelled.map(|(_, (start, (end, _)))| &self.bytes[start as usize..*end as usize])
    }
}

/// Bytes of a row beside its strings, in a [`Piece`] and in [`Records`].
const ROW_BYTES: usize = 42;

/// A batch with its shard and its number there.
pub(super) type Placed = ((u64, u64), RecordBatch);

/// Most shards of a process, where each has its own.
const MOST_SHARDS: usize = 1 << 32;

/// This worker's shards, one batch a turn.
pub(super) fn read<'scope>(
    scope: Scope<'scope, Epoch>,
    records: Arc<dyn Source>,
    job: &Job,
    state: Arc<CompareState>,
) -> Flow<'scope, Placed> {
    let (workers, shards) = (job.workers.max(1), job.shards);
    let (first, step, before) = match job.local {
        true => (scope.index() % workers, workers, scope.index() / workers * MOST_SHARDS),
        false => (scope.index(), scope.peers(), 0),
    };
    let mut mine = (0..shards).skip(first).step_by(step);
    let mut open: Option<(u64, u64, Box<dyn Batches>)> = None;
    source(scope, "Read", move |capability, info| {
        let activator = scope.activator_for(info.address);
        let mut capability = Some(capability);
        move |output| {
            let Some(cap) = capability.as_ref() else { return };
            if open.is_none() && !state.failure.is_set() {
                open = mine.next().and_then(|shard| match records.open(shard, shards, 0) {
                    Ok(part) => Some(((before + shard) as u64, 0, part)),
                    Err(error) => {
                        state.failure.record(CompareError::Source(error));
                        None
                    }
                });
            }
            let Some((shard, number, part)) = open.as_mut().filter(|_| !state.failure.is_set()) else {
                (open, capability) = (None, None);
                return;
            };
            let mut batch = RecordBatch::default();
            match part.next_batch(&mut batch) {
                Ok(true) => {
                    output.session(cap).give(((*shard, *number), batch));
                    *number += 1;
                }
                Ok(false) => open = None,
                Err(error) => state.failure.record(CompareError::Source(error)),
            }
            activator.activate();
        }
    })
}

pub(super) trait Pieces<'scope> {
    /// Cuts batches into pieces of one site each, counted against the memory.
    fn pieces(self, job: &Job, state: Arc<CompareState>, totals: Rc<RefCell<Totals>>) -> Flow<'scope, Piece>;
}

impl<'scope> Pieces<'scope> for Flow<'scope, Placed> {
    fn pieces(self, job: &Job, state: Arc<CompareState>, totals: Rc<RefCell<Totals>>) -> Flow<'scope, Piece> {
        let mut locator = Locator::new(job.site_by);
        let limit = job.memory;
        let sizes = job.plan.setup.sizes;
        self.unary(Pipeline, "Pieces", move |_, _| {
            move |input, output| {
                input.for_each_stamp(|time, batches| {
                    let mut session = output.session(&time);
                    for (place, batch) in batches.flat_map(|b: &mut Vec<Placed>| b.drain(..)) {
                        let mut pieces: BTreeMap<Vec<u8>, Piece> = BTreeMap::new();
                        let mut totals = totals.borrow_mut();
                        for (row, record) in batch.iter().enumerate() {
                            let Some((site, _)) = locator.locate(record) else {
                                totals.invalid += 1;
                                continue;
                            };
                            totals.unlabelled += u64::from(record.cluster.is_none());
                            let facts = batch.facts(row);
                            // The paper's list holds URLs that can be fetched.
                            if record.cluster.is_none() && (!sizes || facts.status >= 400) {
                                continue;
                            }
                            if !pieces.contains_key(site) {
                                pieces.insert(site.to_vec(), Piece { site: site.to_vec(), place, ..Piece::default() });
                            }
                            let piece = pieces.get_mut(site).expect("just inserted");
                            piece.bytes.extend_from_slice(record.url);
                            let url = piece.bytes.len() as u32;
                            match record.cluster {
                                Some(label) => piece.bytes.extend_from_slice(label),
                                None => piece.unlabelled.push(piece.ends.len() as u32),
                            }
                            piece.ends.push((url, piece.bytes.len() as u32));
                            piece.elsewhere.push(record.elsewhere);
                            if sizes {
                                // The size of a redirect is no evidence about its page.
                                piece.sizes.push(if (300..400).contains(&facts.status) { 0 } else { facts.size });
                            }
                        }
                        let bytes: usize = pieces.values().map(|p| p.bytes.len() + p.ends.len() * ROW_BYTES).sum();
                        if state.held.fetch_add(bytes, Ordering::Relaxed) + bytes > limit {
                            state.failure.record(CompareError::Memory { limit });
                        }
                        session.give_iterator(pieces.into_values());
                    }
                });
            }
        })
    }
}

/// The records of a site in crawl order.
pub(super) fn records(name: &[u8], mut pieces: Vec<Piece>) -> Records {
    pieces.sort_by_key(|piece| piece.place);
    let mut out = Records::new(&String::from_utf8_lossy(name));
    for piece in pieces {
        let mut start = 0;
        let mut unlabelled = piece.unlabelled.iter().peekable();
        for (row, (&(end, label), &elsewhere)) in piece.ends.iter().zip(&piece.elsewhere).enumerate() {
            let (url, size) = (&piece.bytes[start..end as usize], piece.sizes.get(row).copied().unwrap_or(0));
            match unlabelled.next_if(|&&at| at as usize == row) {
                Some(_) => out.list(url, size),
                None => out.push_sized(url, &piece.bytes[end as usize..label as usize], elsewhere, size),
            }
            start = label as usize;
        }
    }
    out
}
