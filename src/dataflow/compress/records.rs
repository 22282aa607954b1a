//! Document records under a map, in the order of new ids.

use super::rows::number;
use super::sorter::RowSorter;
use super::types::{CompressError, Documents, Output, Pull};
use crate::index::error::{Fault, Name};
use crate::index::{DocMap, DocRecord};
use crate::spill::Scratch;
use std::sync::Arc;

/// Bytes of records that are written at once.
const WRITTEN_AT_ONCE: usize = 64 << 10;

/// Writes the records of the surviving documents: their names, their new ids, and their own lengths, or
/// the sum over their groups where the map merges. Returns the sum of lengths of the removed records.
/// Sorted in `budget` bytes of memory, then in `scratch`.
/// in `scratch`.
///
/// # Errors
/// [`CompressError`] when something cannot be read or written, or a sum of lengths does not fit.
pub fn write(
    map: &DocMap,
    mut documents: Pull<Documents>,
    output: &mut Output,
    budget: usize,
    scratch: Arc<Scratch>,
) -> Result<u64, CompressError> {
    let mut sorter = RowSorter::new(budget, scratch);
    let mut batch = Documents::default();
    let (mut row, mut before) = (Vec::new(), 0);
    while documents(&mut batch).map_err(CompressError::Edge)? {
        for (&(doc, length), name) in batch.docs.iter().zip(batch.names.iter()) {
            before += u64::from(length);
            let is_kept = map.survives(doc);
            if is_kept || map.merges_tf() {
                row.clear();
                row.extend_from_slice(&map.new_of(doc).to_be_bytes());
                row.push(u8::from(!is_kept));
                row.extend_from_slice(&length.to_be_bytes());
                row.extend_from_slice(if is_kept { name } else { &[] });
                sorter.push(&row)?;
            }
        }
    }
    let (mut sorted, mut after) = (sorter.finish()?, 0);
    // The survivor comes first of its group.
    let (mut name, mut open): (Vec<u8>, Option<(u32, u64)>) = (Vec::new(), None);
    let mut messages = Vec::new();
    loop {
        let row = sorted.next_row()?;
        if let (Some(row), Some((id, sum))) = (row, open.as_mut())
            && number(&row[..4]) == *id
        {
            *sum += u64::from(number(&row[5..9]));
            continue;
        }
        if let Some((docid, sum)) = open {
            after += sum;
            let Ok(length) = i32::try_from(sum) else {
                let fault = Fault::SumOverflow { name: Name::Doclength, value: sum };
                return Err(CompressError::Record { new: docid, source: fault });
            };
            DocRecord { docid, collection_docid: &name, length: length as u32 }.encode(&mut messages);
        }
        if messages.len() >= WRITTEN_AT_ONCE || row.is_none() {
            output(&messages).map_err(CompressError::Edge)?;
            messages.clear();
        }
        let Some(row) = row else { break };
        open = Some((number(&row[..4]), u64::from(number(&row[5..9]))));
        name.clear();
        name.extend_from_slice(&row[9..]);
    }
    Ok(before - after)
}
