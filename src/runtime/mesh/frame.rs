//! Frames of a link.
//!
//! A frame is a length (two bytes, big-endian) and a body: one byte for its kind, and its payload;
//! the whole body is sealed where traffic is encrypted (Noise transport, one counter a direction: a
//! frame lost, repeated or out of order does not open).

use snow::StatelessTransportState;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Most payload bytes of a frame: two of them take what timely's buffer holds.
pub const FRAME: usize = 1 << 15;
/// Bytes that sealing adds.
pub const TAG: usize = 16;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A sign of life.
    Beat = 0,
    /// Bytes of the dataflow.
    Data = 1,
    /// No more data comes.
    End = 2,
    /// Part of a note; more follows.
    NotePart = 3,
    /// The last part of a note.
    Note = 4,
    /// The sender has lost the process named in the first four bytes; how it showed.
    Lost = 5,
    /// The sender gives up, with the reason.
    Failed = 6,
    /// The sender is done and will close.
    Bye = 7,
}

impl FrameKind {
    /// The kind of this byte.
    pub fn of(byte: u8) -> Option<FrameKind> {
        use FrameKind::{Beat, Bye, Data, End, Failed, Lost, Note, NotePart};
        [Beat, Data, End, NotePart, Note, Lost, Failed, Bye].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The sending half.
#[derive(Debug)]
pub struct Sealer<W> {
    to: W,
    cipher: Option<Arc<StatelessTransportState>>,
    nonce: u64,
    plain: Vec<u8>,
    frame: Vec<u8>,
    sent: u64,
}

impl<W: Write> Sealer<W> {
    /// Writes to `to`, in the clear without a cipher; `nonce` is the counter of the next frame.
    pub fn new(to: W, cipher: Option<Arc<StatelessTransportState>>, nonce: u64) -> Sealer<W> {
        Sealer { to, cipher, nonce, plain: Vec::new(), frame: Vec::new(), sent: 0 }
    }

    /// Bytes written so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Writes a frame of at most [`FRAME`] bytes.
    ///
    /// # Errors
    /// Those of the writer, and of the cipher.
    pub fn write(&mut self, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
        assert!(payload.len() <= FRAME, "the length has two bytes");
        self.frame.clear();
        match &self.cipher {
            None => {
                self.frame.extend_from_slice(&(payload.len() as u16 + 1).to_be_bytes());
                self.frame.push(kind as u8);
                self.frame.extend_from_slice(payload);
            }
            Some(cipher) => {
                self.plain.clear();
                self.plain.push(kind as u8);
                self.plain.extend_from_slice(payload);
                self.frame.resize(2 + self.plain.len() + TAG, 0);
                let n =
                    cipher.write_message(self.nonce, &self.plain, &mut self.frame[2..]).map_err(io::Error::other)?;
                self.nonce += 1;
                self.frame[..2].copy_from_slice(&(n as u16).to_be_bytes());
            }
        }
        self.sent += self.frame.len() as u64;
        self.to.write_all(&self.frame)
    }
}

/// The receiving half.
#[derive(Debug)]
pub struct Opener<R> {
    from: R,
    cipher: Option<Arc<StatelessTransportState>>,
    nonce: u64,
    body: Vec<u8>,
}

impl<R: Read> Opener<R> {
    /// Reads from `from`, in the clear without a cipher; `nonce` is the counter of the next frame.
    pub fn new(from: R, cipher: Option<Arc<StatelessTransportState>>, nonce: u64) -> Opener<R> {
        Opener { from, cipher, nonce, body: Vec::new() }
    }

    /// Reads the next frame into `out`: kind byte and payload. Memory: the longest frame, twice.
    ///
    /// # Errors
    /// Those of the reader; of kind `InvalidData` for a frame that is none, or does not open.
    pub fn next(&mut self, out: &mut Vec<u8>) -> io::Result<FrameKind> {
        let damaged = |what: &'static str| io::Error::new(io::ErrorKind::InvalidData, what);
        let mut length = [0; 2];
        self.from.read_exact(&mut length)?;
        let length = usize::from(u16::from_be_bytes(length));
        match &self.cipher {
            None => {
                out.resize(length, 0);
                self.from.read_exact(out)?;
            }
            Some(cipher) => {
                self.body.resize(length, 0);
                self.from.read_exact(&mut self.body)?;
                out.resize(length.checked_sub(TAG).ok_or_else(|| damaged("a frame that is too short"))?, 0);
                let n = cipher
                    .read_message(self.nonce, &self.body, out)
                    .map_err(|_| damaged("a frame was tampered with"))?;
                self.nonce += 1;
                out.truncate(n);
            }
        }
        out.first().copied().and_then(FrameKind::of).ok_or_else(|| damaged("a frame of no known kind"))
    }
}
