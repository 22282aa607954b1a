//! Rows of bytes, end to end in one buffer, as they travel between workers.
use serde::{Deserialize, Serialize};

/// Bytes of a batch that is full.
const FULL: usize = 256 << 10;

/// Rows of bytes. A batch holds less than 4 GiB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRows {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl ByteRows {
    /// Adds a row made of parts.
    pub fn push(&mut self, parts: &[&[u8]]) {
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.ends.push(self.bytes.len() as u32);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without a row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// True when the batch should be sent.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }

    /// Removes the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let row = &self.bytes[start..end as usize];
            start = end as usize;
            row
        })
    }
}

/// Four bytes of a row as a number, big-endian, so that rows order by it.
pub fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("four bytes of a row of our own"))
}
