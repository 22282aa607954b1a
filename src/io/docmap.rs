//! New ids and canonical URLs of the documents of an index, as a file: tab-separated lines, or Parquet.
//!
//! Columns `old`, `new`, `survivor` (ids of 32 bits) and `canonical`, the canonical URL, which is empty
//! in lines and null in Parquet for a document without one; a row a document, in the order of old ids.

use std::io::{self, Write};
use std::path::Path;

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::writer::SerializedFileWriter;

use super::table;

const SCHEMA: &str = "message docmap {
    required int64 old;
    required int64 new;
    required int64 survivor;
    optional binary canonical (STRING);
}";
/// Rows of a row group, and bytes of strings in it (one row more).
const GROUP_ROWS: usize = 128 << 10;
const GROUP_BYTES: usize = 64 << 20;

/// A document with its entry in the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentEntry<'a> {
    /// Its id in the old index.
    pub old: u32,
    /// The id of its survivor in the new index.
    pub new: u32,
    /// Its survivor's id in the old index.
    pub survivor: u32,
    /// The canonical URL; empty without one.
    pub canonical: &'a [u8],
}

/// Writes the map. Memory: nothing for lines, one row group for Parquet.
pub enum DocMapWriter<W: Write + Send> {
    /// Lines, after a head that names the columns.
    Lines(W, Vec<u8>),
    /// Parquet, zstd inside.
    DocMapFile(Box<DocMapFile<W>>),
}

/// A Parquet file being written.
pub struct DocMapFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    numbers: [Vec<i64>; 3],
    urls: Vec<ByteArray>,
    levels: Vec<i16>,
    bytes: usize,
}

impl<W: Write + Send> DocMapWriter<W> {
    /// Begins a file of this name: Parquet where it ends in `.parquet`, else lines.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn new(path: &Path, mut out: W) -> io::Result<Self> {
        if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet")) {
            out.write_all(b"old\tnew\tsurvivor\tcanonical\n")?;
            return Ok(Self::Lines(out, Vec::new()));
        }
        let writer = table::begin(SCHEMA, out)?;
        let (numbers, urls, levels) = Default::default();
        Ok(Self::DocMapFile(Box::new(DocMapFile { writer, numbers, urls, levels, bytes: 0 })))
    }

    /// Adds a document.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn push(&mut self, entry: DocumentEntry<'_>) -> io::Result<()> {
        match self {
            Self::Lines(out, line) => {
                line.clear();
                write!(line, "{}\t{}\t{}\t", entry.old, entry.new, entry.survivor)?;
                line.extend_from_slice(entry.canonical);
                line.push(b'\n');
                out.write_all(line)
            }
            Self::DocMapFile(table) => table.push(entry),
        }
    }

    /// Ends the file and returns the writer.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Lines(out, _) => Ok(out),
            Self::DocMapFile(mut table) => {
                table.group()?;
                table.writer.into_inner().map_err(io::Error::other)
            }
        }
    }
}

impl<W: Write + Send> DocMapFile<W> {
    fn push(&mut self, entry: DocumentEntry<'_>) -> io::Result<()> {
        for (column, id) in self.numbers.iter_mut().zip([entry.old, entry.new, entry.survivor]) {
            column.push(i64::from(id));
        }
        let there = !entry.canonical.is_empty();
        self.levels.push(i16::from(there));
        if there {
            self.urls.push(ByteArray::from(entry.canonical.to_vec()));
            self.bytes += entry.canonical.len();
        }
        if self.levels.len() >= GROUP_ROWS || self.bytes >= GROUP_BYTES {
            self.group()?;
        }
        Ok(())
    }

    /// Writes the pending rows as a row group.
    fn group(&mut self) -> io::Result<()> {
        if self.levels.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(io::Error::other)?;
        for column in &mut self.numbers {
            let mut to = group.next_column().map_err(io::Error::other)?.expect("a column of the schema");
            to.typed::<Int64Type>().write_batch(column, None, None).map_err(io::Error::other)?;
            to.close().map_err(io::Error::other)?;
            column.clear();
        }
        let mut to = group.next_column().map_err(io::Error::other)?.expect("the last column of the schema");
        to.typed::<ByteArrayType>().write_batch(&self.urls, Some(&self.levels), None).map_err(io::Error::other)?;
        to.close().map_err(io::Error::other)?;
        group.close().map_err(io::Error::other)?;
        self.urls.clear();
        self.levels.clear();
        self.bytes = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    const ENTRIES: [DocumentEntry<'static>; 3] = [
        DocumentEntry { old: 0, new: 1, survivor: 2, canonical: b"http://a/" },
        DocumentEntry { old: 1, new: 0, survivor: 1, canonical: b"" },
        DocumentEntry { old: u32::MAX - 1, new: 1, survivor: 2, canonical: b"http://a/" },
    ];

    fn written(name: &str) -> Vec<u8> {
        let mut writer = DocMapWriter::new(Path::new(name), Vec::new()).unwrap();
        ENTRIES.iter().for_each(|&entry| writer.push(entry).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn lines() {
        let text = "old\tnew\tsurvivor\tcanonical\n0\t1\t2\thttp://a/\n1\t0\t1\t\n4294967294\t1\t2\thttp://a/\n";
        assert_eq!(String::from_utf8(written("map.tsv")).unwrap(), text);
    }

    #[test]
    fn a_table_holds_what_the_lines_hold() {
        let file = tempfile::tempfile().unwrap();
        (&file).write_all(&written("map.Parquet")).unwrap();
        let file = SerializedFileReader::new(file).unwrap();
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
        assert_eq!(rows.len(), ENTRIES.len());
        for (row, entry) in rows.iter().zip(ENTRIES) {
            let ids = [0, 1, 2].map(|at| row.get_long(at).unwrap());
            assert_eq!(ids, [entry.old, entry.new, entry.survivor].map(i64::from));
            assert_eq!(row.get_string(3).map_or(&b""[..], |url| url.as_bytes()), entry.canonical);
        }
    }
}
