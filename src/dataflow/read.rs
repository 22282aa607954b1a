//! The source: records, a batch an epoch.

use super::pace::Pace;
use super::source::{Batches, SourceError};
use super::types::{Epoch, Flow, Shared};
use crate::model::RecordBatch;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::operator::source;

/// Pool of batches that were read, for reuse: no allocation a batch.
#[derive(Clone, Debug, Default)]
pub struct Pool(Rc<RefCell<Vec<RecordBatch>>>);

impl Pool {
    /// Returns a batch to the pool.
    pub fn give(&self, batch: RecordBatch) {
        self.0.borrow_mut().push(batch);
    }

    fn take(&self) -> RecordBatch {
        self.0.borrow_mut().pop().unwrap_or_default()
    }
}

/// This worker's `part` of the records, one batch an epoch, at its `pace`.
pub fn read<'scope>(
    scope: Scope<'scope, Epoch>,
    part: Result<Box<dyn Batches>, SourceError>,
    pace: Pace,
    pool: Pool,
    shared: Arc<Shared>,
) -> Flow<'scope, RecordBatch> {
    let mut part = match part {
        Ok(part) => Some(part),
        Err(error) => {
            shared.fail(super::types::RunError::Source(error));
            None
        }
    };
    source(scope, "Read", move |capability, info| {
        let activator = scope.activator_for(info.address);
        let mut capability = Some(capability);
        move |output| {
            let Some(cap) = capability.as_mut() else { return };
            let epoch = *cap.time();
            if shared.has_failed() {
                part = None;
            }
            if let Some(open) = part.as_mut() {
                if pace.holds_back(epoch, &activator) {
                    return;
                }
                let mut batch = pool.take();
                match open.next_batch(&mut batch) {
                    Ok(true) => {
                        shared.progress.add(batch.len(), batch.byte_len());
                        output.session(cap).give(batch);
                        cap.downgrade(&(epoch + 1));
                        activator.activate();
                        return;
                    }
                    Ok(false) => {}
                    Err(error) => shared.fail(super::types::RunError::Source(error)),
                }
            }
            (part, capability) = (None, None);
        }
    })
}
