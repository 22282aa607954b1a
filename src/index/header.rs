//! The first message: what the file holds.

use super::error::{CiffError, Fault, Name, Part};
use super::wire::{BYTES, Cursor, FIXED64, VARINT, put_number, put_text, put_varint, varint_len};

/// The header of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Posting lists in the file.
    pub num_postings_lists: u32,
    /// Document records in the file. Document ids are below it.
    pub num_docs: u32,
    /// Posting lists of the collection, of which the file may hold some.
    pub total_postings_lists: u32,
    /// Documents of the collection, of which the file may hold some.
    pub total_docs: u32,
    /// Sum of the lengths of all documents of the collection.
    pub total_terms_in_collection: u64,
    /// Average length of a document.
    pub average_doclength: f64,
    /// For people.
    pub description: String,
}

impl Header {
    /// Decodes the message in `bytes`, at offset `at` of the file.
    ///
    /// # Errors
    /// [`CiffError`] for anything else than a header of version 1.
    pub fn decode(bytes: &[u8], at: u64) -> Result<Header, CiffError> {
        let mut header = Header::default();
        let mut cursor = Cursor::new(bytes, at, Part::Header);
        let mut version = 0;
        while let Some(field) = cursor.field()? {
            match (field.number, field.wire) {
                (1, VARINT) => version = cursor.natural(Name::Version)?,
                (2, VARINT) => header.num_postings_lists = cursor.natural(Name::NumPostingsLists)?,
                (3, VARINT) => header.num_docs = cursor.natural(Name::NumDocs)?,
                (4, VARINT) => header.total_postings_lists = cursor.natural(Name::TotalPostingsLists)?,
                (5, VARINT) => header.total_docs = cursor.natural(Name::TotalDocs)?,
                (6, VARINT) => header.total_terms_in_collection = cursor.natural64(Name::TotalTerms)?,
                (7, FIXED64) => header.average_doclength = cursor.double()?,
                (8, BYTES) => header.description = cursor.text()?.to_owned(),
                _ => cursor.skip(field, 8)?,
            }
        }
        if version != 1 {
            return cursor.fail(at, Fault::UnknownVersion { version });
        }
        Ok(header)
    }

    /// Appends the message after its length. Numbers take as many bytes as those of `room` would, the most
    /// they can be: a header that is written once everything is counted fits where the other was written
    /// before. (A varint may be longer than need be; readers of protobuf accept it.)
    pub fn encode(&self, room: &Header, out: &mut Vec<u8>) {
        let mut body = Vec::with_capacity(64 + self.description.len());
        put_number(&mut body, 1, 1);
        let numbers = |header: &Header| {
            [header.num_postings_lists, header.num_docs, header.total_postings_lists, header.total_docs].map(u64::from)
        };
        for (number, (value, room)) in (2..).zip(numbers(self).into_iter().zip(numbers(room))) {
            put_padded(&mut body, number, value, room);
        }
        put_padded(&mut body, 6, self.total_terms_in_collection, room.total_terms_in_collection);
        if room.average_doclength != 0.0 || self.average_doclength != 0.0 {
            body.push(7 << 3 | FIXED64);
            body.extend_from_slice(&self.average_doclength.to_le_bytes());
        }
        put_text(&mut body, 8, self.description.as_bytes());
        put_varint(out, body.len() as u64);
        out.append(&mut body);
    }

    /// The header of an index in which `docs` documents are left, with `removed_terms` terms less; the
    /// lists are counted later. What the file does not hold of the collection stays counted in its totals.
    pub fn without(&self, docs: u32, removed_terms: u64) -> Header {
        let total_docs = self.total_docs.saturating_sub(self.num_docs - docs);
        let total_terms = self.total_terms_in_collection.saturating_sub(removed_terms);
        Header {
            num_docs: docs,
            total_docs,
            total_terms_in_collection: total_terms,
            average_doclength: if total_docs == 0 { 0.0 } else { total_terms as f64 / f64::from(total_docs) },
            ..self.clone()
        }
    }

    /// A copy of the header with `lists` posting lists left.
    pub fn with_lists(&self, lists: u32) -> Header {
        let dropped = self.num_postings_lists - lists;
        let total_postings_lists = self.total_postings_lists.saturating_sub(dropped);
        Header { num_postings_lists: lists, total_postings_lists, ..self.clone() }
    }
}

/// Writes a number in the bytes that `room`, which is at least as large, takes.
fn put_padded(out: &mut Vec<u8>, number: u8, mut value: u64, room: u64) {
    if room == 0 {
        return put_number(out, number, value);
    }
    out.push(number << 3 | VARINT);
    for _ in 1..varint_len(room) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            num_postings_lists: 300,
            num_docs: 5,
            total_postings_lists: 400,
            total_docs: 8,
            total_terms_in_collection: 1000,
            average_doclength: 125.0,
            description: "toy".into(),
        }
    }

    /// The message after its length.
    fn body(header: &Header, room: &Header) -> Vec<u8> {
        let mut out = Vec::new();
        header.encode(room, &mut out);
        assert_eq!(usize::from(out[0]), out.len() - 1);
        out.split_off(1)
    }

    #[test]
    fn a_header_comes_back_and_fits_its_room() {
        let room = header();
        for lists in [0, 1, 127, 128, 300] {
            let less = room.without(lists % 6, 1000 - u64::from(lists)).with_lists(lists);
            assert_eq!(less.total_postings_lists, 100 + lists);
            let bytes = body(&less, &room);
            assert_eq!(bytes.len(), body(&room, &room).len());
            assert_eq!(Header::decode(&bytes, 7).unwrap(), less);
        }
        let empty = Header::default();
        assert_eq!(Header::decode(&body(&empty, &empty), 0).unwrap(), empty);
    }

    #[test]
    fn what_is_removed_leaves_the_totals() {
        let less = header().without(3, 240);
        assert_eq!((less.num_docs, less.total_docs, less.total_terms_in_collection), (3, 6, 760));
        assert!((less.average_doclength - 760.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_header_is_told() {
        let error = |bytes: &[u8]| Header::decode(bytes, 50).unwrap_err();
        assert_eq!(error(&[]), CiffError { at: 50, fault: Fault::UnknownVersion { version: 0 } });
        assert_eq!(error(&[8, 2]), CiffError { at: 50, fault: Fault::UnknownVersion { version: 2 } });
        let negative = [[8, 1, 0x18].as_slice(), &[0xff; 9], &[1]].concat();
        let fault = Fault::OutOfRange { part: Part::Header, name: Name::NumDocs, value: -1 };
        assert_eq!(error(&negative), CiffError { at: 53, fault });
        let fault = Fault::BadField { part: Part::Header, field: 1, wire: BYTES };
        assert_eq!(error(&[0x0a, 1, b'x']), CiffError { at: 50, fault });
        assert_eq!(error(&[8, 1, 0x42, 9]), CiffError { at: 54, fault: Fault::Truncated { part: Part::Header } });
        assert_eq!(error(&[8, 1, 0x42, 1, 0xff]), CiffError { at: 53, fault: Fault::NotUtf8 { part: Part::Header } });
    }
}
