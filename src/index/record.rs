//! The last messages: one document each.

use super::error::{CiffError, Fault, Name, Part};
use super::wire::{BYTES, Cursor, VARINT, put_number, put_text, put_varint, varint_len};

/// A document of the index, borrowed from the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocRecord<'a> {
    /// Its id in the posting lists.
    pub docid: u32,
    /// Its name in the collection: often its URL. UTF-8.
    pub collection_docid: &'a [u8],
    /// Its length in terms.
    pub length: u32,
}

impl<'a> DocRecord<'a> {
    /// Decodes the message in `bytes`, at offset `at` of the file.
    ///
    /// # Errors
    /// [`CiffError`] for anything else than a record of one of `docs` documents.
    pub fn decode(bytes: &'a [u8], at: u64, docs: u32) -> Result<DocRecord<'a>, CiffError> {
        let mut record = DocRecord::default();
        let mut cursor = Cursor::new(bytes, at, Part::Record);
        while let Some(field) = cursor.field()? {
            match (field.number, field.wire) {
                (1, VARINT) => record.docid = cursor.natural(Name::Docid)?,
                (2, BYTES) => record.collection_docid = cursor.text()?.as_bytes(),
                (3, VARINT) => record.length = cursor.natural(Name::Doclength)?,
                _ => cursor.skip(field, 3)?,
            }
        }
        if record.docid >= docs {
            return cursor.fail(at, Fault::NoSuchDocument { part: Part::Record, docid: record.docid, docs });
        }
        Ok(record)
    }

    /// Appends the message after its length.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let number = |value: u32| if value == 0 { 0 } else { 1 + varint_len(u64::from(value)) };
        let text = self.collection_docid.len();
        let text = if text == 0 { 0 } else { 1 + varint_len(text as u64) + text };
        put_varint(out, (number(self.docid) + text + number(self.length)) as u64);
        put_number(out, 1, u64::from(self.docid));
        put_text(out, 2, self.collection_docid);
        put_number(out, 3, u64::from(self.length));
    }
}

/// Which documents had their record: each must have one.
#[derive(Clone, Debug)]
pub struct Seen {
    words: Vec<u64>,
}

impl Seen {
    /// None of `docs` documents; a bit a document.
    pub fn new(docs: u32) -> Seen {
        Seen { words: vec![0; (docs as usize).div_ceil(64)] }
    }

    /// Marks a document whose record is at offset `at`.
    ///
    /// # Errors
    /// [`Fault::RepeatedRecord`] the second time.
    pub fn mark(&mut self, docid: u32, at: u64) -> Result<(), CiffError> {
        let (word, bit) = (&mut self.words[docid as usize / 64], 1 << (docid % 64));
        if *word & bit != 0 {
            return Err(CiffError { at, fault: Fault::RepeatedRecord { docid } });
        }
        *word |= bit;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back() {
        for (docid, name, length) in [(0, "", 0), (1, "http://a/", 5), (300, "x", 70_000), (2, &"y".repeat(200), 1)] {
            let record = DocRecord { docid, collection_docid: name.as_bytes(), length };
            let mut out = Vec::new();
            record.encode(&mut out);
            let Some(&[low, high]) = out.get(..2) else {
                assert_eq!((docid, out), (0, vec![0]));
                continue;
            };
            let prefix = if low < 0x80 { 1 } else { 2 };
            let length = usize::from(low & 0x7f) | if prefix == 2 { usize::from(high) << 7 } else { 0 };
            assert_eq!(out.len(), prefix + length);
            assert_eq!(DocRecord::decode(&out[prefix..], 0, 301).unwrap(), record);
        }
    }

    #[test]
    fn ids_are_below_the_number_of_documents_and_come_once() {
        let fault = Fault::NoSuchDocument { part: Part::Record, docid: 9, docs: 9 };
        assert_eq!(DocRecord::decode(&[8, 9], 40, 9), Err(CiffError { at: 40, fault }));
        let mut seen = Seen::new(65);
        for docid in [64, 0, 63] {
            seen.mark(docid, 1).unwrap();
        }
        assert_eq!(seen.mark(64, 77), Err(CiffError { at: 77, fault: Fault::RepeatedRecord { docid: 64 } }));
    }

    #[test]
    fn a_posting_list_is_no_record() {
        // A term where the document id should be: the header announced fewer lists than there are.
        let fault = Fault::BadField { part: Part::Record, field: 1, wire: BYTES };
        assert_eq!(DocRecord::decode(&[0x0a, 1, b'a', 0x10, 1], 9, 5), Err(CiffError { at: 9, fault }));
    }
}
