//! One authenticated connection to a peer: frames of data, notes, and signs of life.
//!
//! A thread a link reads all its life, so that silence is always seen; data goes on through a short
//! queue, notes (the few words that processes exchange beside the dataflow) through another.

use super::frame::{FRAME, FrameKind, Opener, Sealer};
use super::shutdown::{Cause, Shutdown, park};
use super::watch::Pulse;
use snow::StatelessTransportState;
use std::io::{self, BufReader, Cursor, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Frames of data queued for timely's thread.
const QUEUE: usize = 64;

/// A connection whose handshake is over.
pub struct Joined {
    /// Index of the peer.
    pub process: usize,
    /// The connection, blocking.
    pub socket: TcpStream,
    /// Bytes of frames that were read with the handshake.
    pub leftover: Vec<u8>,
    /// Seals and opens; `None` in the clear.
    pub cipher: Option<StatelessTransportState>,
    /// Counters of the next frames out and in: the handshake may have used some.
    pub nonces: (u64, u64),
}

/// Bytes over a link, frames and all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// One peer, from the side of this process.
pub struct Link {
    /// Its index.
    pub process: usize,
    socket: TcpStream,
    writer: Mutex<Sealer<TcpStream>>,
    shutdown: Arc<Shutdown>,
    pulse: Arc<Pulse>,
    born: Instant,
    /// When the last frame came, in milliseconds since `born`.
    seen: AtomicU64,
    received: AtomicU64,
    /// The reader is blocked until timely takes data: silence then is not the peer's.
    full: AtomicBool,
    /// The peer sent Bye: closing is then no loss.
    bye: AtomicBool,
    data: Mutex<Receiver<Vec<u8>>>,
    notes: Mutex<Receiver<Vec<u8>>>,
}

impl Link {
    /// Starts to read and to give signs of life every `beat`.
    ///
    /// # Errors
    /// What the system says when it cannot.
    pub fn start(joined: Joined, shutdown: Arc<Shutdown>, pulse: Arc<Pulse>, beat: Duration) -> io::Result<Arc<Link>> {
        let Joined { process, socket, leftover, cipher, nonces } = joined;
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(None)?;
        socket.set_write_timeout(None)?;
        let cipher = cipher.map(Arc::new);
        let (data_in, data) = sync_channel(QUEUE);
        let (notes_in, notes) = channel();
        let link = Arc::new(Link {
            process,
            writer: Mutex::new(Sealer::new(socket.try_clone()?, cipher.clone(), nonces.0)),
            shutdown,
            pulse,
            born: Instant::now(),
            seen: AtomicU64::new(0),
            received: AtomicU64::new(0),
            full: AtomicBool::new(false),
            bye: AtomicBool::new(false),
            data: Mutex::new(data),
            notes: Mutex::new(notes),
            socket: socket.try_clone()?,
        });
        let from = BufReader::with_capacity(1 << 17, Cursor::new(leftover).chain(socket));
        let opener = Opener::new(from, cipher, nonces.1);
        let (reads, beats) = (link.clone(), Arc::downgrade(&link));
        std::thread::Builder::new()
            .name(format!("mesh:read-{process}"))
            .spawn(move || reads.read(opener, &data_in, &notes_in))?;
        std::thread::Builder::new().name(format!("mesh:beat-{process}")).spawn(move || {
            // Ends with the link or with the connection.
            while let Some(link) = beats.upgrade() {
                if !link.beat() {
                    break;
                }
                drop(link);
                std::thread::sleep(beat);
            }
        })?;
        Ok(link)
    }

    /// Time since the last bytes of the peer; `None` once it has sent Bye, and while no thread reads here.
    pub fn silence(&self) -> Option<Duration> {
        let hears = !self.bye.load(Ordering::Acquire) && !self.full.load(Ordering::Acquire);
        let seen = Duration::from_millis(self.seen.load(Ordering::Acquire));
        hears.then(|| self.born.elapsed().saturating_sub(seen))
    }

    /// Counts as a sign of life of the peer.
    pub(super) fn heard(&self) {
        self.seen.store(self.born.elapsed().as_millis() as u64, Ordering::Release);
    }

    /// The peer has said Bye.
    pub fn is_done(&self) -> bool {
        self.bye.load(Ordering::Acquire)
    }

    /// Bytes so far.
    pub fn traffic(&self) -> Traffic {
        let sent = self.writer.lock().unwrap_or_else(PoisonError::into_inner).sent();
        Traffic { sent, received: self.received.load(Ordering::Relaxed) }
    }

    fn send(&self, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).write(kind, payload)
    }

    /// Sends, and turns a connection that is broken into the loss of the peer.
    fn send_or_lose(&self, kind: FrameKind, payload: &[u8]) {
        if let Err(error) = self.send(kind, payload) {
            self.lose(&error);
        }
    }

    fn lose(&self, error: &io::Error) {
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                "the connection was closed at its end".to_owned()
            }
            _ => error.to_string(),
        };
        if !self.is_done() {
            self.shutdown.record(self.pulse.blame(self.process, what));
        }
    }

    /// A sign of life; `false` when the connection is broken.
    fn beat(&self) -> bool {
        match self.writer.try_lock() {
            // Data is on its way, which is sign enough.
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Poisoned(_)) => false,
            // The reader reports a broken connection: it has the bytes before the break.
            Ok(mut writer) => writer.write(FrameKind::Beat, &[]).is_ok(),
        }
    }

    /// Bytes of the dataflow.
    pub(super) fn send_data(&self, bytes: &[u8]) {
        bytes.chunks(FRAME).for_each(|chunk| self.send_or_lose(FrameKind::Data, chunk));
    }

    /// No more bytes of the dataflow.
    pub(super) fn send_end(&self) {
        self.send_or_lose(FrameKind::End, &[]);
    }

    /// The next frame of data, its kind byte first: a lone kind byte is the end. Never returns once the run
    /// is lost.
    pub(super) fn next_data(&self) -> Vec<u8> {
        match self.data.lock().unwrap_or_else(PoisonError::into_inner).recv() {
            Ok(frame) => frame,
            Err(_) => park(),
        }
    }

    /// Sends a note.
    pub fn send_note(&self, note: &[u8]) {
        let last = note.len().saturating_sub(1) / FRAME * FRAME;
        note[..last].chunks(FRAME).for_each(|part| self.send_or_lose(FrameKind::NotePart, part));
        self.send_or_lose(FrameKind::Note, &note[last..]);
    }

    /// The next note, if one comes within `time`.
    pub fn next_note(&self, time: Duration) -> Option<Vec<u8>> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        match notes.recv_timeout(time) {
            Ok(note) => Some(note),
            // The reader has ended and recorded why; what it left in the queue is still taken.
            Err(RecvTimeoutError::Disconnected) => {
                self.shutdown.wait(time);
                None
            }
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// Sends the peer the reason why this process ends, if that is quick.
    pub fn give_up(&self, cause: &Cause, reason: &str) {
        let (kind, payload) = match cause {
            Cause::Lost { process, what } => {
                (FrameKind::Lost, [&(*process as u32).to_be_bytes()[..], what.as_bytes()].concat())
            }
            Cause::Failed { .. } | Cause::Panicked(_) => (FrameKind::Failed, reason.as_bytes().to_vec()),
        };
        for _ in 0..20 {
            match self.writer.try_lock() {
                Ok(mut writer) => {
                    let _ = self.socket.set_write_timeout(Some(Duration::from_millis(200)));
                    // A failure here is not reported: the peer will see the connection close.
                    let _ = writer.write(kind, &payload[..payload.len().min(FRAME)]);
                    return;
                }
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Says that this process is done.
    pub fn bye(&self) {
        let _ = self.send(FrameKind::Bye, &[]);
    }

    /// Ends the connection.
    pub fn close(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }

    /// The reader's thread.
    fn read(&self, mut opener: Opener<impl Read>, data: &SyncSender<Vec<u8>>, notes: &Sender<Vec<u8>>) {
        let mut note = Vec::new();
        loop {
            let mut frame = Vec::new();
            let kind = match opener.next(&mut frame) {
                Ok(kind) => kind,
                Err(error) => return self.lose(&error),
            };
            self.heard();
            self.received.fetch_add(frame.len() as u64 + 2, Ordering::Relaxed);
            match kind {
                FrameKind::Beat => {}
                FrameKind::Data | FrameKind::End => {
                    if kind == FrameKind::End {
                        frame.truncate(1);
                    } else if frame.len() == 1 {
                        continue;
                    }
                    self.full.store(true, Ordering::Release);
                    let taken = data.send(frame);
                    self.heard();
                    self.full.store(false, Ordering::Release);
                    if taken.is_err() {
                        return;
                    }
                }
                FrameKind::NotePart => note.extend_from_slice(&frame[1..]),
                FrameKind::Note => {
                    note.extend_from_slice(&frame[1..]);
                    if notes.send(std::mem::take(&mut note)).is_err() {
                        return;
                    }
                }
                FrameKind::Lost => {
                    let (process, what) = frame[1..].split_at_checked(4).unwrap_or_default();
                    let process = process.try_into().map_or(self.process, |bytes| u32::from_be_bytes(bytes) as usize);
                    let what = String::from_utf8_lossy(what);
                    let what = match process == self.pulse.own() {
                        true => format!("the others say of this process: {what}"),
                        false => what.into_owned(),
                    };
                    self.shutdown.record(Cause::Lost { process, what });
                    return;
                }
                FrameKind::Failed => {
                    let reason = String::from_utf8_lossy(&frame[1..]).into_owned();
                    self.shutdown.record(Cause::Failed { process: self.process, reason });
                    return;
                }
                FrameKind::Bye => {
                    self.bye.store(true, Ordering::Release);
                    self.shutdown.notify();
                }
            }
        }
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("process", &self.process).finish_non_exhaustive()
    }
}
