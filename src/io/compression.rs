//! Plain, gzip and zstd, for reading and writing.
//!
//! A file is read by its first bytes, whatever its name: archives are renamed and servers decompress in
//! transfer. The name decides for writing. Readers read all members of a gzip file and all frames of a
//! zstd file; data cut short is an error, never an early end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

pub use super::codec::Compression;
use super::error::IoError;
use super::unread::refuse_compression;

/// Size of the buffer between a file and its decoder.
const FILE_BUFFER: usize = 256 << 10;

impl Compression {
    /// A reader of the decompressed data of `inner`. Memory: 256 KiB and the window of the decoder.
    pub(crate) fn reader<R: Read + Send + 'static>(self, inner: R) -> io::Result<Box<dyn Read + Send>> {
        let buffered = |inner| BufReader::with_capacity(FILE_BUFFER, inner);
        Ok(match self {
            // Lines are cut from a large buffer of their own.
            Self::Plain => Box::new(inner),
            Self::Gzip => Box::new(NotEmpty::new(MultiGzDecoder::new(buffered(inner)))),
            Self::Zstd => Box::new(NotEmpty::new(zstd::Decoder::with_buffer(buffered(inner))?)),
        })
    }
}

/// Opens a file of one column or more for reading, decompressed, with a large buffer.
///
/// # Errors
/// Errors of [`open_detected`]; errors while reading come from the reader.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, IoError> {
    let (file, compression) = open_detected(path, path)?;
    let reader = compression.reader(file).map_err(IoError::read(path))?;
    Ok(Box::new(BufReader::with_capacity(FILE_BUFFER, reader)))
}

/// Opens a regular file, which messages call `name`, and detects its compression from the first bytes;
/// the file position is its start.
///
/// # Errors
/// [`IoError::NotFound`], [`IoError::Read`], or [`IoError::UnreadCompression`].
pub(crate) fn open_detected(path: &Path, name: &Path) -> Result<(File, Compression), IoError> {
    let begin = || -> io::Result<(File, Vec<u8>)> {
        let mut file = File::open(path)?;
        let mut head = Vec::with_capacity(4);
        (&mut file).take(4).read_to_end(&mut head)?;
        io::Seek::rewind(&mut file)?;
        Ok((file, head))
    };
    let (file, head) = begin().map_err(IoError::read(name))?;
    refuse_compression(name, &head)?;
    Ok((file, Compression::detect(name, &head)))
}

/// Wraps a decoder and refuses an input without a single byte of compressed data: the zstd decoder
/// reads it as no frames, as a copy that never began.
struct NotEmpty<D> {
    decoder: D,
    begun: bool,
}

impl<D: Inner> NotEmpty<D> {
    fn new(decoder: D) -> Self {
        Self { decoder, begun: false }
    }
}

/// A decoder that gives access to its source.
trait Inner: Read {
    fn inner(&mut self) -> &mut dyn BufRead;
}

impl<R: BufRead> Inner for MultiGzDecoder<R> {
    fn inner(&mut self) -> &mut dyn BufRead {
        self.get_mut()
    }
}

impl<R: BufRead> Inner for zstd::Decoder<'_, R> {
    fn inner(&mut self) -> &mut dyn BufRead {
        self.get_mut()
    }
}

impl<D: Inner> Read for NotEmpty<D> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.begun {
            if self.decoder.inner().fill_buf()?.is_empty() {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty"));
            }
            self.begun = true;
        }
        self.decoder.read(out)
    }
}

/// Writes plain, gzip (level 6, no time stamp) or zstd (level 3, with a checksum).
pub enum Encoder<W: Write> {
    /// Uncompressed.
    Plain(W),
    /// One gzip member.
    Gzip(GzEncoder<W>),
    /// One zstd frame.
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    /// An encoder into `inner`.
    ///
    /// # Errors
    /// When zstd finds no memory.
    pub fn new(compression: Compression, inner: W) -> io::Result<Self> {
        Ok(match compression {
            Compression::Plain => Self::Plain(inner),
            Compression::Gzip => Self::Gzip(GzEncoder::new(inner, flate2::Compression::new(6))),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(inner, 3)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
        })
    }

    /// Ends the compressed data and returns the writer. Without it the data are cut short.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(inner) => Ok(inner),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(inner) => inner.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(inner) => inner.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(compression: Compression, text: &[u8]) -> Vec<u8> {
        let mut encoder = Encoder::new(compression, Vec::new()).unwrap();
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(compression: Compression, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        compression.reader(io::Cursor::new(bytes.to_vec()))?.read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn bytes_win_over_names() {
        let gz = encode(Compression::Gzip, b"x");
        let zst = encode(Compression::Zstd, b"x");
        assert_eq!(Compression::detect(Path::new("a.tsv"), &gz), Compression::Gzip);
        assert_eq!(Compression::detect(Path::new("a.gz"), &zst), Compression::Zstd);
        assert_eq!(Compression::detect(Path::new("a.GZ"), b"http"), Compression::Plain);
        assert_eq!(Compression::detect(Path::new("a.GZ"), b""), Compression::Gzip);
        assert_eq!(Compression::detect(Path::new("a.zst"), b"\x28\xb5"), Compression::Zstd);
        assert_eq!(Compression::detect(Path::new("a.tsv"), b""), Compression::Plain);
    }

    #[test]
    fn all_members_and_frames_are_read() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let mut bytes = encode(compression, b"one\n");
            bytes.extend(encode(compression, b""));
            bytes.extend(encode(compression, b"two\n"));
            assert_eq!(decode(compression, &bytes).unwrap(), b"one\ntwo\n", "{compression}");
        }
    }

    #[test]
    fn skippable_frames_are_skipped() {
        let mut bytes = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        assert_eq!(Compression::of_magic(&bytes), Compression::Zstd);
        bytes.extend(encode(Compression::Zstd, b"one\n"));
        assert_eq!(decode(Compression::Zstd, &bytes).unwrap(), b"one\n");
    }

    #[test]
    fn every_cut_is_an_error() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let first = encode(compression, b"one\n");
            let both = [first.clone(), encode(compression, b"two\n")].concat();
            for cut in (0..both.len()).filter(|&cut| cut != first.len()) {
                let error = decode(compression, &both[..cut]).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{compression} cut at {cut}: {error}");
            }
        }
    }

    #[test]
    fn damage_is_an_error() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let mut bytes = encode(compression, &b"http://a.example/\t1\n".repeat(50));
            let last = bytes.len() - 1;
            bytes[last - 5] ^= 0xff;
            assert!(decode(compression, &bytes).is_err(), "{compression}");
        }
    }
}
