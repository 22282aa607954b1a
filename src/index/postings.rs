//! Posting lists: a term and, for each document that holds it, how often.

use super::error::{CiffError, Fault, Name, Part, shown};
use super::wire::{BYTES, Cursor, MAX_LENGTH, VARINT, put_number, put_text, put_varint, varint_len};

/// One posting in a word: document id above, tf below, so that postings order by document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting(u64);

impl Posting {
    /// A posting.
    #[inline]
    pub fn new(docid: u32, tf: u32) -> Posting {
        Posting(u64::from(docid) << 32 | u64::from(tf))
    }

    /// The document.
    #[inline]
    pub fn docid(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// How often the term is in it.
    #[inline]
    pub fn tf(self) -> u32 {
        self.0 as u32
    }
}

/// Head of a list, before its postings, borrowed from the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct List<'a> {
    /// The term. UTF-8.
    pub term: &'a [u8],
    /// Documents that hold it; as many as there are postings.
    pub df: u64,
    /// How often it is in all of them. As the file says: indexes of quantized scores state another sum.
    pub cf: u64,
}

/// Tag of a posting within a list.
const POSTING: u8 = 4 << 3 | BYTES;
/// Tags within a posting.
const GAP: u8 = 1 << 3 | VARINT;
const TF: u8 = 2 << 3 | VARINT;

/// Decodes the message in `bytes`, at offset `at` of the file; its postings go into `postings` (cleared
/// first) with their document ids, not gaps.
///
/// # Errors
/// [`CiffError`] for anything else than a list over documents below `docs`, ascending, as many as its
/// df says.
pub fn decode<'a>(bytes: &'a [u8], at: u64, docs: u32, postings: &mut Vec<Posting>) -> Result<List<'a>, CiffError> {
    postings.clear();
    let mut list = List::default();
    let mut cursor = Cursor::new(bytes, at, Part::List);
    let mut last = 0;
    loop {
        last = short_postings(&mut cursor, last, docs, postings);
        let Some(field) = cursor.field()? else { break };
        match (field.number, field.wire) {
            (1, BYTES) => list.term = cursor.text()?.as_bytes(),
            (2, VARINT) => list.df = cursor.natural64(Name::Df)?,
            (3, VARINT) => list.cf = cursor.natural64(Name::Cf)?,
            (4, BYTES) => {
                let inner = cursor.bytes()?;
                let (gap, tf) = posting(inner, cursor.position() - inner.len() as u64)?;
                let docid = u64::from(last) + u64::from(gap);
                let place = field.at;
                if docid > MAX_LENGTH {
                    return cursor.fail(place, Fault::GapOverflow { term: shown(list.term), docid });
                }
                let docid = docid as u32;
                if docid >= docs {
                    return cursor.fail(place, Fault::NoSuchDocument { part: Part::Posting, docid, docs });
                }
                if gap == 0 && !postings.is_empty() {
                    return cursor.fail(place, Fault::RepeatedPosting { term: shown(list.term), docid });
                }
                postings.push(Posting::new(docid, tf));
                last = docid;
            }
            _ => cursor.skip(field, 4)?,
        }
    }
    let found = postings.len() as u64;
    if list.df != found {
        return cursor.fail(at, Fault::WrongDf { term: shown(list.term), df: list.df, postings: found });
    }
    Ok(list)
}

/// Takes postings as almost all are: gap in one or two bytes, then tf in one. Gives the last document;
/// stops before the first that is not like that, or that is wrong.
#[inline]
fn short_postings(cursor: &mut Cursor<'_>, mut last: u32, docs: u32, postings: &mut Vec<Posting>) -> u32 {
    // The first gap may be 0: it is left to the long way.
    if postings.is_empty() {
        return last;
    }
    let all = cursor.rest();
    let mut rest = all;
    loop {
        let (gap, tf, length) = match *rest {
            [POSTING, 4, GAP, gap @ 0..0x80, TF, tf @ 0..0x80, ..] => (u32::from(gap), tf, 6),
            [POSTING, 5, GAP, low @ 0x80..=0xff, high @ 0..0x80, TF, tf @ 0..0x80, ..] => {
                (u32::from(low & 0x7f) | u32::from(high) << 7, tf, 7)
            }
            _ => break,
        };
        // Both are below 2^31.
        let docid = last + gap;
        if gap == 0 || docid >= docs {
            break;
        }
        postings.push(Posting::new(docid, u32::from(tf)));
        last = docid;
        rest = &rest[length..];
    }
    cursor.advance(all.len() - rest.len());
    last
}

/// Gap and tf of one posting.
fn posting(bytes: &[u8], at: u64) -> Result<(u32, u32), CiffError> {
    let mut cursor = Cursor::new(bytes, at, Part::Posting);
    let (mut gap, mut tf) = (0, 0);
    while let Some(field) = cursor.field()? {
        match (field.number, field.wire) {
            (1, VARINT) => gap = cursor.natural(Name::Docid)?,
            (2, VARINT) => tf = cursor.natural(Name::Tf)?,
            _ => cursor.skip(field, 2)?,
        }
    }
    Ok((gap, tf))
}

/// Appends the message of a list after its length; df and cf are those of `postings`, which must
/// ascend. `body` is a buffer to be reused.
pub fn encode(term: &[u8], postings: &[Posting], body: &mut Vec<u8>, out: &mut Vec<u8>) {
    body.clear();
    body.reserve(postings.len() * 7);
    let (mut last, mut cf) = (0, 0u64);
    for posting in postings {
        let (gap, tf) = (posting.docid() - last, posting.tf());
        last = posting.docid();
        cf += u64::from(tf);
        if (1..0x80).contains(&gap) && (1..0x80).contains(&tf) {
            body.extend_from_slice(&[POSTING, 4, GAP, gap as u8, TF, tf as u8]);
        } else if (0x80..0x4000).contains(&gap) && (1..0x80).contains(&tf) {
            body.extend_from_slice(&[POSTING, 5, GAP, gap as u8 | 0x80, (gap >> 7) as u8, TF, tf as u8]);
        } else {
            let number = |value: u32| if value == 0 { 0 } else { 1 + varint_len(u64::from(value)) };
            body.extend_from_slice(&[POSTING, (number(gap) + number(tf)) as u8]);
            put_number(body, 1, u64::from(gap));
            put_number(body, 2, u64::from(tf));
        }
    }
    let mut head = Vec::with_capacity(term.len() + 32);
    put_text(&mut head, 1, term);
    put_number(&mut head, 2, postings.len() as u64);
    put_number(&mut head, 3, cf);
    put_varint(out, (head.len() + body.len()) as u64);
    out.extend_from_slice(&head);
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(term: &[u8], postings: &[Posting]) -> Vec<u8> {
        let (mut body, mut out) = (Vec::new(), Vec::new());
        encode(term, postings, &mut body, &mut out);
        let skip = out.iter().position(|&b| b < 0x80).unwrap() + 1;
        out.split_off(skip)
    }

    fn error(bytes: &[u8], docs: u32) -> CiffError {
        decode(bytes, 1000, docs, &mut Vec::new()).unwrap_err()
    }

    #[test]
    fn a_list_comes_back() {
        let lists: [&[(u32, u32)]; 6] = [
            &[],
            &[(0, 1)],
            &[(5, 0), (6, 1)],
            &[(0, 127), (127, 128), (254, 1), (383, 1), (16_766, 3), (33_150, 3)],
            &[(1 << 20, 1 << 30), ((1 << 31) - 2, i32::MAX as u32)],
            &[(1, 1), (2, 1), (1 << 14, 1), ((1 << 14) + 1, 1)],
        ];
        for list in lists {
            let list: Vec<_> = list.iter().map(|&(docid, tf)| Posting::new(docid, tf)).collect();
            let bytes = message(b"term", &list);
            let mut postings = vec![Posting::default(); 3];
            let head = decode(&bytes, 0, i32::MAX as u32, &mut postings).unwrap();
            let cf = list.iter().map(|p| u64::from(p.tf())).sum();
            assert_eq!(head, List { term: b"term", df: list.len() as u64, cf });
            assert_eq!(postings, list);
        }
    }

    #[test]
    fn bytes_are_those_of_protobuf() {
        // term "head", df 3, cf 3, documents 0, 1, 2: from a list that Anserini wrote.
        let hex = b"\x0a\x04head\x10\x03\x18\x03\x22\x02\x10\x01\x22\x04\x08\x01\x10\x01\x22\x04\x08\x01\x10\x01";
        assert_eq!(message(b"head", &[Posting::new(0, 1), Posting::new(1, 1), Posting::new(2, 1)]), hex);
    }

    #[test]
    fn wrong_lists_are_told_with_their_place() {
        let good = message(b"ab", &[Posting::new(3, 1), Posting::new(9, 2)]);
        let postings = good.len() - 12;
        let at = |offset: usize| 1000 + offset as u64;
        let part = Part::Posting;
        assert_eq!(error(&good, 9).fault, Fault::NoSuchDocument { part, docid: 9, docs: 9 });
        assert_eq!(error(&good, 9).at, at(postings + 6));
        assert_eq!(error(&good, 3).at, at(postings));
        // After the term alone comes a list without postings, which is one.
        for cut in (1..good.len()).filter(|&cut| cut != 4) {
            let fault = error(&good[..cut], 10).fault;
            let between_fields = [6, 8, 14].contains(&cut);
            assert_eq!(matches!(fault, Fault::Truncated { .. }), !between_fields, "cut at {cut}: {fault}");
            assert_eq!(matches!(fault, Fault::WrongDf { .. }), between_fields, "cut at {cut}: {fault}");
        }
    }

    #[test]
    fn gaps_are_positive_and_stay_below_two_to_the_31() {
        let term = "ab".to_owned();
        let head = b"\x0a\x02ab\x10\x02\x18\x02\x22\x04\x08\x01\x10\x01".as_slice();
        let with = |posting: &[u8]| [head, &[POSTING, posting.len() as u8], posting].concat();
        let again = error(&with(&[TF, 1]), 10);
        assert_eq!(again, CiffError { at: 1014, fault: Fault::RepeatedPosting { term: term.clone(), docid: 1 } });
        assert_eq!(error(&with(&[GAP, 0, TF, 1]), 10), again);
        let most = [GAP, 0xff, 0xff, 0xff, 0xff, 0x07, TF, 1];
        assert_eq!(error(&with(&most), 10).fault, Fault::GapOverflow { term, docid: 1 << 31 });
        let minus = [GAP, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, TF, 1];
        let fault = Fault::OutOfRange { part: Part::Posting, name: Name::Docid, value: -1 };
        assert_eq!(error(&with(&minus), 10), CiffError { at: 1017, fault });
    }
}
