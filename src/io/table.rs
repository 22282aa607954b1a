//! Labelled records as files: JSON lines, and Parquet with the same names.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::mime;
use crate::model::{Facts, Record};

/// Writes the line of a record without its cluster and its opening brace, the input of [`labelled`].
pub fn line(record: Record<'_>, facts: Facts<'_>, out: &mut Vec<u8>) {
    out.clear();
    text("url", Some(record.url), out);
    text("site", record.site, out);
    number("status", (facts.status > 0).then_some(u64::from(facts.status)), out);
    number("size", (facts.size > 0).then_some(facts.size), out);
    text("mime", mime::written(facts), out);
    text("digest", facts.digest, out);
    if let Some(print) = facts.text {
        text("simhash", Some(format!("{:016x}", print.simhash).as_bytes()), out);
        text("text", Some(format!("{:016x}", print.text).as_bytes()).filter(|_| print.text != 0), out);
        number("tokens", (print.tokens != u32::MAX).then_some(print.tokens.into()), out);
        number("edits", print.edits.then_some(1), out);
    }
    text("title", facts.title, out);
    text("canonical", facts.canonical, out);
    text("redirect", facts.redirect, out);
    out.extend_from_slice(b"}\n");
}

/// Adds a [`fn@line`] with the label of the cluster that it is in, if any, to `out`.
pub fn labelled(line: &[u8], cluster: Option<&[u8]>, out: &mut Vec<u8>) {
    let start = out.len();
    text("cluster", cluster, out);
    // Fields are written with the comma before them; the brace replaces the first one's.
    out.extend_from_slice(line);
    out[start] = b'{';
}

fn text(name: &str, value: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(value) = value else { return };
    out.push(b',');
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    let plain = value.iter().fold(true, |plain, &b| plain & (b >= 0x20) & (b != b'"') & (b != b'\\'));
    if plain {
        out.push(b'"');
        out.extend_from_slice(value);
        out.push(b'"');
    } else {
        // A vector accepts everything.
        let _ = serde_json::to_writer(out, &String::from_utf8_lossy(value));
    }
}

fn number(name: &str, value: Option<u64>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        let _ = write!(out, ",\"{name}\":{value}");
    }
}

/// The columns of the Parquet form, in order.
const SCHEMA: &str = "message records {
    required binary url (STRING);
    optional binary cluster (STRING);
    optional binary site (STRING);
    optional int32 status;
    optional int64 size;
    optional binary mime (STRING);
    optional binary digest (STRING);
    optional binary simhash (STRING);
    optional binary text (STRING);
    optional int64 tokens;
    optional int32 edits;
    optional binary title (STRING);
    optional binary canonical (STRING);
    optional binary redirect (STRING);
}";
/// Rows of a row group.
const GROUP_ROWS: usize = 128 << 10;
/// Bytes of strings of a row group (one row more).
const GROUP_BYTES: usize = 64 << 20;

/// Writes records as Parquet (zstd inside). Memory: one row group.
pub struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    /// Values and whether there is one, of each column.
    texts: Vec<(Vec<ByteArray>, Vec<i16>)>,
    numbers: Vec<(Vec<i64>, Vec<i16>)>,
    rows: usize,
    bytes: usize,
}

/// Begins a Parquet file of this schema, with the settings of all: zstd, and the name of the program.
pub(super) fn begin<W: Write + Send>(schema: &str, out: W) -> io::Result<SerializedFileWriter<W>> {
    let schema = parse_message_type(schema).map_err(io::Error::other)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("undust ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(io::Error::other)
}

/// Places in the schema of the texts and the numbers.
const TEXTS: [usize; 10] = [0, 1, 2, 5, 6, 7, 8, 11, 12, 13];
const NUMBERS: [usize; 4] = [3, 4, 9, 10];

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn new(out: W) -> io::Result<Self> {
        let writer = begin(SCHEMA, out)?;
        let texts = vec![Default::default(); TEXTS.len()];
        let numbers = vec![Default::default(); NUMBERS.len()];
        Ok(Self { writer, texts, numbers, rows: 0, bytes: 0 })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn push(&mut self, record: Record<'_>, facts: Facts<'_>) -> io::Result<()> {
        let simhash = facts.text.map(|print| format!("{:016x}", print.simhash));
        let text = facts.text.filter(|print| print.text != 0).map(|print| format!("{:016x}", print.text));
        let texts = [
            Some(record.url),
            record.cluster,
            record.site,
            mime::written(facts),
            facts.digest,
            simhash.as_deref().map(str::as_bytes),
            text.as_deref().map(str::as_bytes),
            facts.title,
            facts.canonical,
            facts.redirect,
        ];
        for ((values, levels), text) in self.texts.iter_mut().zip(texts) {
            levels.push(i16::from(text.is_some()));
            if let Some(text) = text {
                self.bytes += text.len();
                values.push(ByteArray::from(text.to_vec()));
            }
        }
        let numbers = [
            (facts.status > 0).then_some(i64::from(facts.status)),
            (facts.size > 0).then_some(i64::try_from(facts.size).unwrap_or(i64::MAX)),
            facts.text.filter(|print| print.tokens != u32::MAX).map(|print| print.tokens.into()),
            facts.text.map(|print| i64::from(print.edits)),
        ];
        for ((values, levels), number) in self.numbers.iter_mut().zip(numbers) {
            levels.push(i16::from(number.is_some()));
            values.extend(number);
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES { self.end_group() } else { Ok(()) }
    }

    /// Ends the file and returns the writer. Without it the file cannot be read.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_group()?;
        self.writer.into_inner().map_err(io::Error::other)
    }

    fn end_group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(io::Error::other)?;
        let mut at = 0;
        while let Some(mut column) = group.next_column().map_err(io::Error::other)? {
            if let Some(text) = TEXTS.iter().position(|&place| place == at) {
                let (values, levels) = &self.texts[text];
                let levels = (at > 0).then_some(&levels[..]);
                column.typed::<ByteArrayType>().write_batch(values, levels, None).map_err(io::Error::other)?;
            } else if let Some(number) = NUMBERS.iter().position(|&place| place == at) {
                let (values, levels) = &self.numbers[number];
                // Status and edits are short, size and tokens long.
                if at == 3 || at == 10 {
                    let short: Vec<i32> = values.iter().map(|&value| value as i32).collect();
                    column.typed::<Int32Type>().write_batch(&short, Some(levels), None).map_err(io::Error::other)?;
                } else {
                    column.typed::<Int64Type>().write_batch(values, Some(levels), None).map_err(io::Error::other)?;
                }
            }
            column.close().map_err(io::Error::other)?;
            at += 1;
        }
        group.close().map_err(io::Error::other)?;
        self.texts.iter_mut().for_each(|(values, levels)| (values.clear(), levels.clear()).0);
        self.numbers.iter_mut().for_each(|(values, levels)| (values.clear(), levels.clear()).0);
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}
