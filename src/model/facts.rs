//! Facts of a record beside its URL and labels: properties that show which pages are alike.

/// Facts of one record, borrowed from the batch that holds it. Strings are valid UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts<'a> {
    /// HTTP status; 0 where it is not known.
    pub status: u16,
    /// Kind of document.
    pub kind: DocumentKind,
    /// Media type, as the source writes it.
    pub mime: Option<&'a [u8]>,
    /// Bytes of the answer, as the source counts them; 0 where it is not known.
    pub size: u64,
    /// Digest of the content, as the source writes it.
    pub digest: Option<&'a [u8]>,
    /// Title of the page, white space collapsed.
    pub title: Option<&'a [u8]>,
    /// Absolute URL that the page declares as canonical.
    pub canonical: Option<&'a [u8]>,
    /// Absolute URL that the answer redirects to.
    pub redirect: Option<&'a [u8]>,
    /// Fingerprint of the main text.
    pub text: Option<Fingerprint>,
}

/// Kind of document of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DocumentKind {
    /// Not said.
    #[default]
    Unknown,
    /// A page.
    Html,
    /// Something else: an image, a feed, a robots file. It does not train.
    Other,
}

/// Fingerprint of the main text of a page (`content`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Simhash over weighted shingles.
    pub simhash: u64,
    /// Hash of the whole text; 0 where only the simhash is known.
    pub text: u64,
    /// Tokens of the text; [`u32::MAX`] where only the simhash is known.
    pub tokens: u32,
    /// The page holds a form to write text into.
    pub edits: bool,
}

/// Length of an absent string.
const ABSENT: u32 = u32::MAX;

/// Facts in columns: one buffer of strings, one fixed row a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FactColumns {
    bytes: Vec<u8>,
    rows: Vec<FactRow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FactRow {
    start: u32,
    /// Digest, title, canonical, redirect, media type.
    lengths: [u32; 5],
    status: u16,
    kind: DocumentKind,
    size: u64,
    text: Option<Fingerprint>,
}

impl FactColumns {
    /// Forgets the facts, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    /// Notes the facts of `row`, which is behind all rows noted before.
    pub(super) fn put(&mut self, row: usize, facts: Facts<'_>) {
        let start = self.bytes.len() as u32;
        let nothing =
            FactRow { start, lengths: [ABSENT; 5], status: 0, kind: DocumentKind::Unknown, size: 0, text: None };
        self.rows.resize(row, nothing);
        let texts = [facts.digest, facts.title, facts.canonical, facts.redirect, facts.mime];
        let lengths = texts.map(|value| match value {
            Some(value) => {
                self.bytes.extend_from_slice(value);
                value.len() as u32
            }
            None => ABSENT,
        });
        let Facts { status, kind, size, text, .. } = facts;
        self.rows.push(FactRow { start, lengths, status, kind, size, text });
    }

    /// The facts of `row`.
    pub(super) fn get(&self, row: usize) -> Facts<'_> {
        let Some(row) = self.rows.get(row) else { return Facts::default() };
        let mut at = row.start as usize;
        let [digest, title, canonical, redirect, mime] = row.lengths.map(|length| {
            (length != ABSENT).then(|| {
                at += length as usize;
                &self.bytes[at - length as usize..at]
            })
        });
        let FactRow { status, kind, size, text, .. } = *row;
        Facts { status, kind, mime, size, digest, title, canonical, redirect, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Record, RecordBatch};

    #[test]
    fn facts_stay_with_their_record() {
        let record = Record { url: b"http://a/", cluster: None, site: None, elsewhere: false };
        let full = Facts {
            status: 200,
            kind: DocumentKind::Html,
            mime: Some(b"text/html"),
            size: 7,
            digest: Some(b"d"),
            title: Some(b""),
            canonical: None,
            redirect: Some(b"http://b/"),
            text: Some(Fingerprint { simhash: 1, text: 2, tokens: 3, edits: true }),
        };
        let mut batch = RecordBatch::default();
        for _ in 0..2 {
            batch.push(record);
            batch.push_with(record, full);
            batch.push_with(record, Facts::default());
            batch.push(record);
            assert_eq!((batch.len(), batch.iter().count()), (4, 4));
            let facts: Vec<_> = (0..4).map(|row| batch.facts(row)).collect();
            assert_eq!(facts, [Facts::default(), full, Facts::default(), Facts::default()]);
            batch.clear();
        }
    }
}
