//! Protobuf's wire format, as far as CIFF needs it: varints, tags, lengths, and their offsets in the
//! file.

use super::error::{CiffError, Fault, Name, Part};

/// Wire type of integers.
pub const VARINT: u8 = 0;
/// Wire type of doubles.
pub const FIXED64: u8 = 1;
/// Wire type of strings and messages.
pub const BYTES: u8 = 2;
/// Wire type of floats.
const FIXED32: u8 = 5;
/// Longest message: protobuf's own limit.
pub const MAX_LENGTH: u64 = i32::MAX as u64;
/// Longest varint in bytes.
pub const MAX_VARINT: usize = 10;

/// One message, read from front to back.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Offset of `bytes` in the file.
    base: u64,
    part: Part,
}

/// The field at a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Number.
    pub number: u64,
    /// Wire type.
    pub wire: u8,
    /// Offset of its tag in the file.
    pub at: u64,
}

impl<'a> Cursor<'a> {
    /// A reader of `bytes`, at offset `base` of the file.
    pub fn new(bytes: &'a [u8], base: u64, part: Part) -> Cursor<'a> {
        Cursor { bytes, at: 0, base, part }
    }

    /// Offset in the file of what comes next.
    pub fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Skips `bytes` that the caller has read from [`rest`](Self::rest).
    pub fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// An error at `at`.
    pub fn fail<T>(&self, at: u64, fault: Fault) -> Result<T, CiffError> {
        Err(CiffError { at, fault })
    }

    /// The next field; `None` at the end of the message.
    ///
    /// # Errors
    /// [`CiffError`] where there is no tag.
    pub fn field(&mut self) -> Result<Option<Field>, CiffError> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let at = self.position();
        let tag = self.varint()?;
        Ok(Some(Field { number: tag >> 3, wire: (tag & 7) as u8, at }))
    }

    /// A varint.
    ///
    /// # Errors
    /// [`CiffError`] where the message ends within it or it does not end.
    pub fn varint(&mut self) -> Result<u64, CiffError> {
        match varint(self.rest()) {
            Varint::Is(value, length) => {
                self.at += length;
                Ok(value)
            }
            Varint::Short => self.fail(self.base + self.bytes.len() as u64, Fault::Truncated { part: self.part }),
            Varint::Bad => self.fail(self.position(), Fault::BadVarint { part: self.part }),
        }
    }

    /// An `int32` or a count that must lie in 0 ..= 2^31 - 1.
    ///
    /// # Errors
    /// [`CiffError`] also where it does not.
    pub fn natural(&mut self, name: Name) -> Result<u32, CiffError> {
        let at = self.position();
        let value = self.varint()?;
        if value > MAX_LENGTH {
            return self.fail(at, Fault::OutOfRange { part: self.part, name, value: value as i64 });
        }
        Ok(value as u32)
    }

    /// An `int64` that must not be negative.
    ///
    /// # Errors
    /// [`CiffError`] also where it is.
    pub fn natural64(&mut self, name: Name) -> Result<u64, CiffError> {
        let at = self.position();
        let value = self.varint()?;
        if value > i64::MAX as u64 {
            return self.fail(at, Fault::OutOfRange { part: self.part, name, value: value as i64 });
        }
        Ok(value)
    }

    /// A double.
    ///
    /// # Errors
    /// [`CiffError`] where the message ends within it.
    pub fn double(&mut self) -> Result<f64, CiffError> {
        let bytes = self.take(8)?;
        Ok(f64::from_le_bytes(bytes.try_into().expect("eight bytes were taken")))
    }

    /// A string or a message, as its bytes.
    ///
    /// # Errors
    /// [`CiffError`] where the message ends within it.
    pub fn bytes(&mut self) -> Result<&'a [u8], CiffError> {
        let length = self.varint()?;
        self.take(length)
    }

    /// A string.
    ///
    /// # Errors
    /// [`CiffError`] also where it is not UTF-8.
    pub fn text(&mut self) -> Result<&'a str, CiffError> {
        let at = self.position();
        let part = self.part;
        std::str::from_utf8(self.bytes()?).map_err(|_| CiffError { at, fault: Fault::NotUtf8 { part } })
    }

    /// Passes over an unknown field. One of a known number but another wire type is an error, as is a
    /// group.
    ///
    /// # Errors
    /// [`CiffError`].
    pub fn skip(&mut self, field: Field, known: u64) -> Result<(), CiffError> {
        let unknown = field.number > known;
        match field.wire {
            VARINT if unknown => drop(self.varint()?),
            FIXED64 if unknown => drop(self.take(8)?),
            BYTES if unknown => drop(self.bytes()?),
            FIXED32 if unknown => drop(self.take(4)?),
            wire => return self.fail(field.at, Fault::BadField { part: self.part, field: field.number, wire }),
        }
        Ok(())
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], CiffError> {
        let rest = self.rest();
        if length > rest.len() as u64 {
            return self.fail(self.base + self.bytes.len() as u64, Fault::Truncated { part: self.part });
        }
        self.at += length as usize;
        Ok(&rest[..length as usize])
    }
}

/// Result of reading a varint at the front of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varint {
    /// A value and its length in bytes.
    Is(u64, usize),
    /// The bytes end within it.
    Short,
    /// More than ten bytes, or more than 64 bits.
    Bad,
}

/// Reads a varint.
#[inline]
pub fn varint(bytes: &[u8]) -> Varint {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(MAX_VARINT).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            // Of the tenth byte only one bit is left.
            return if index == 9 && byte > 1 { Varint::Bad } else { Varint::Is(value, index + 1) };
        }
    }
    if bytes.len() < MAX_VARINT { Varint::Short } else { Varint::Bad }
}

/// Length of a varint in bytes.
#[inline]
pub fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Writes a varint.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes an integer field, unless it has the default value 0, as protobuf 3 does.
pub fn put_number(out: &mut Vec<u8>, number: u8, value: u64) {
    if value != 0 {
        out.push(number << 3 | VARINT);
        put_varint(out, value);
    }
}

/// Writes a string field, unless it is empty.
pub fn put_text(out: &mut Vec<u8>, number: u8, text: &[u8]) {
    if !text.is_empty() {
        out.push(number << 3 | BYTES);
        put_varint(out, text.len() as u64);
        out.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back() {
        for value in (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1]).chain([u64::MAX]) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out.len(), varint_len(value), "{value}");
            assert_eq!(varint(&out), Varint::Is(value, out.len()));
            assert_eq!(varint(&out[..out.len() - 1]), Varint::Short);
        }
        // Longer than need be, as our own header may be; and too long.
        assert_eq!(varint(&[0x81, 0x80, 0]), Varint::Is(1, 3));
        assert_eq!(varint(&[0xff; 10]), Varint::Bad);
        assert_eq!(varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), Varint::Bad);
    }

    #[test]
    fn unknown_fields_are_passed_over() {
        // Fields 9 to 12 of the four wire types, then a group, which no writer uses any more.
        let bytes = [0x48, 5, 0x51, 1, 2, 3, 4, 5, 6, 7, 8, 0x5a, 2, b'h', b'i', 0x65, 1, 2, 3, 4, 0x6b];
        let mut cursor = Cursor::new(&bytes, 100, Part::List);
        for number in 9..13 {
            let field = cursor.field().unwrap().unwrap();
            assert_eq!(field.number, number);
            cursor.skip(field, 8).unwrap();
        }
        let group = cursor.field().unwrap().unwrap();
        let fault = Fault::BadField { part: Part::List, field: 13, wire: 3 };
        assert_eq!(cursor.skip(group, 8), Err(CiffError { at: 120, fault }));
    }
}
