//! The source of the first dataflow: documents, then URLs.

use super::found::FirstResult;
use super::types::{CompressError, Documents, Input, Pull, Shared};
use crate::dataflow::pace::Pace;
use crate::dataflow::types::{Epoch, Flow};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::operator::source;

/// A piece of the input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Item {
    Documents(Documents),
    /// The number of the first line, and lines.
    Lines(u64, Vec<u8>),
}

/// Documents, then URLs.
struct Reading {
    documents: Option<Pull<Documents>>,
    lines: Option<Pull<Vec<u8>>>,
    next_line: u64,
    next_doc: u32,
    ascending: bool,
}

impl Reading {
    fn open(input: &dyn Input) -> Result<Reading, CompressError> {
        let documents = Some(input.documents().map_err(CompressError::Edge)?);
        let lines = input.url_lines().map_err(CompressError::Edge)?;
        Ok(Reading { documents, lines, next_line: 1, next_doc: 0, ascending: true })
    }

    fn next(&mut self) -> Result<Option<Item>, CompressError> {
        if let Some(pull) = &mut self.documents {
            let mut documents = Documents::default();
            if pull(&mut documents).map_err(CompressError::Edge)? {
                for &(doc, _) in &documents.docs {
                    self.ascending &= doc == self.next_doc;
                    self.next_doc += 1;
                }
                return Ok(Some(Item::Documents(documents)));
            }
            self.documents = None;
        }
        let Some(pull) = &mut self.lines else { return Ok(None) };
        let mut lines = Vec::new();
        if !pull(&mut lines).map_err(CompressError::Edge)? {
            return Ok(None);
        }
        let first = self.next_line;
        self.next_line += memchr::memchr_iter(b'\n', &lines).count() as u64;
        Ok(Some(Item::Lines(first, lines)))
    }
}

/// The input, at the first worker; an item an epoch, sent to the workers in turn.
pub(super) fn read<'scope>(
    scope: Scope<'scope, Epoch>,
    input: &dyn Input,
    pace: Pace,
    shared: &Arc<Shared>,
    found: Rc<RefCell<FirstResult>>,
) -> Flow<'scope, (u64, Item)> {
    let (shared, peers) = (shared.clone(), scope.peers() as u64);
    let mut reading = (scope.index() == 0).then(|| Reading::open(input)).and_then(|opened| match opened {
        Ok(reading) => Some(reading),
        Err(error) => {
            shared.failure.record(error);
            None
        }
    });
    source(scope, "ReadDocuments", move |capability, info| {
        let activator = scope.activator_for(info.address);
        let mut capability = Some(capability);
        move |output| {
            let Some(cap) = capability.as_mut() else { return };
            let epoch = *cap.time();
            if let Some(open) = reading.as_mut().filter(|_| !shared.failure.is_set()) {
                if pace.holds_back(epoch, &activator) {
                    return;
                }
                match open.next() {
                    Ok(Some(item)) => {
                        output.session(cap).give((epoch % peers, item));
                        cap.downgrade(&(epoch + 1));
                        activator.activate();
                        return;
                    }
                    Ok(None) => found.borrow_mut().ascending = open.ascending,
                    Err(error) => shared.failure.record(error),
                }
            }
            (reading, capability) = (None, None);
        }
    })
}
