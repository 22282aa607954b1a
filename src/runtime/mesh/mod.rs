//! The mesh of a run on several processes: authenticated connections, handed to timely as streams.
//!
//! Each process connects to the peers with a lower index ([`dial`]) and accepts those with a higher one
//! ([`listener`], [`responder`]); both sides show that they know the secret and agree on the job
//! ([`hello`]). Each pair keeps one [`link`], with signs of life; one thread watches all links
//! ([`watch`]). The first thing that goes wrong ends the run at every process ([`shutdown`]): each
//! sends the others the reason before it ends. Names and clocks never decide what is learned.

mod dial;
mod error;
pub mod frame;
pub mod hello;
mod join;
mod link;
mod listener;
mod notices;
mod responder;
mod shutdown;
mod watch;
mod wire;

use super::hosts::Cluster;
use super::secret::Secret;
pub use error::MeshError;
use hello::Terms;
use link::Link;
pub use link::Traffic;
use notices::Notices;
pub use notices::Tell;
pub(super) use shutdown::park;
pub use shutdown::{Cause, Shutdown};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use watch::Pulse;
pub(super) use wire::Wire;

/// Time for one handshake.
const STEP: Duration = Duration::from_secs(5);
/// How often waiting threads look around.
const LOOK: Duration = Duration::from_millis(50);
/// Most time that a finished process gives the others to finish.
const FAREWELL: Duration = Duration::from_secs(2);
/// Time for what was said last to reach the peers before the connections close.
const LAST_WORDS: Duration = Duration::from_millis(150);

/// This process in the mesh.
#[derive(Clone, Debug)]
pub struct ThisProcess {
    /// Its index.
    pub process: usize,
    /// The shared secret.
    pub secret: Secret,
    /// Terms on which all must agree.
    pub terms: Terms,
}

/// State that all handshakes of this process share.
struct Handshakes {
    /// This process.
    place: ThisProcess,
    /// The job's name, once it is known.
    job: OnceLock<String>,
    /// Which indices have joined.
    taken: Mutex<Vec<bool>>,
    /// The run is over.
    closed: AtomicBool,
    /// All peers have joined.
    full: AtomicBool,
    /// Lines about refused connections.
    notices: Notices,
}

impl Handshakes {
    /// Takes an index; `false` when it is taken.
    fn take(&self, process: usize) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut taken[process], true)
    }

    fn is_taken(&self, process: usize) -> bool {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)[process]
    }
}

/// All links of a process.
pub struct Mesh {
    cluster: Cluster,
    place: ThisProcess,
    job: String,
    /// By process; `None` at this one.
    links: Vec<Option<Arc<Link>>>,
    shutdown: Arc<Shutdown>,
    pulse: Arc<Pulse>,
    handshakes: Arc<Handshakes>,
    over: Arc<AtomicBool>,
    /// Kept so that the listener's thread goes on and refuses late peers with a reason.
    _joined: Mutex<Receiver<link::Joined>>,
}

impl Mesh {
    /// Connects all processes; returns within the connect deadline, one way or the other.
    ///
    /// # Errors
    /// [`MeshError`].
    pub fn join(cluster: &Cluster, place: ThisProcess, tell: Tell) -> Result<Mesh, MeshError> {
        join::join(cluster, place, tell)
    }

    /// This process's index.
    pub fn process(&self) -> usize {
        self.place.process
    }

    /// Number of processes.
    pub fn processes(&self) -> usize {
        self.links.len()
    }

    /// The job's name.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// Traffic is encrypted.
    pub fn encrypts(&self) -> bool {
        self.place.terms.encrypt
    }

    /// The first thing that goes wrong in the run.
    pub fn shutdown(&self) -> &Arc<Shutdown> {
        &self.shutdown
    }

    /// Bytes over all links so far.
    pub fn traffic(&self) -> Traffic {
        self.links.iter().flatten().map(|link| link.traffic()).fold(Traffic::default(), |sum, link| Traffic {
            sent: sum.sent + link.sent,
            received: sum.received + link.received,
        })
    }

    /// Streams for timely, by process.
    pub(super) fn wires(&self) -> Vec<Option<Wire>> {
        self.links.iter().map(|link| link.clone().map(Wire::new)).collect()
    }

    /// The notes of all processes by index at process 0, `None` elsewhere. Every process must call it.
    ///
    /// # Errors
    /// [`MeshError`] when a peer is lost or fails first.
    pub fn gather(&self, note: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, MeshError> {
        self.gather_before(note, None)
    }

    /// Sends the note of process 0 to every process and returns it. Every process must call it; the note of
    /// the others does not count.
    ///
    /// # Errors
    /// [`MeshError`] when a peer is lost or fails first.
    pub fn broadcast(&self, note: Vec<u8>) -> Result<Vec<u8>, MeshError> {
        self.broadcast_before(note, None)
    }

    /// Ends the run on account of this process: the others get the reason and end too.
    pub fn give_up(&self, reason: &str) {
        let failed = Cause::Failed { process: self.process(), reason: reason.to_owned() };
        let cause = self.shutdown.cause().unwrap_or(failed);
        self.over.store(true, Ordering::Release);
        self.links.iter().flatten().for_each(|link| link.give_up(&cause, reason));
        std::thread::sleep(LAST_WORDS);
        self.close();
    }

    /// Orderly shutdown: sends Bye, and allows the others a little time to send theirs.
    pub fn farewell(&self) {
        self.over.store(true, Ordering::Release);
        self.links.iter().flatten().for_each(|link| link.bye());
        let until = Instant::now() + FAREWELL;
        while !self.links.iter().flatten().all(|link| link.is_done()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.close();
    }

    /// The error that the run ends with, once something went wrong.
    pub fn error(&self) -> Option<MeshError> {
        self.shutdown.cause().map(|cause| MeshError::of(&self.cluster, cause))
    }

    fn close(&self) {
        self.over.store(true, Ordering::Release);
        self.handshakes.closed.store(true, Ordering::Release);
        self.links.iter().flatten().for_each(|link| link.close());
    }

    /// Waits until all have come here.
    fn agree(&self, word: &[u8], deadline: Option<Instant>) -> Result<(), MeshError> {
        self.gather_before(word.to_vec(), deadline)?;
        self.broadcast_before(word.to_vec(), deadline).map(drop)
    }

    fn gather_before(&self, note: Vec<u8>, deadline: Option<Instant>) -> Result<Option<Vec<Vec<u8>>>, MeshError> {
        if self.process() > 0 {
            self.links.iter().flatten().take(1).for_each(|link| link.send_note(&note));
            return Ok(None);
        }
        let mut notes = vec![note];
        for link in self.links.iter().flatten() {
            notes.push(self.next_note(link, deadline)?);
        }
        Ok(Some(notes))
    }

    fn broadcast_before(&self, note: Vec<u8>, deadline: Option<Instant>) -> Result<Vec<u8>, MeshError> {
        match self.links.iter().flatten().next() {
            Some(first) if self.process() > 0 => self.next_note(first, deadline),
            _ => {
                self.links.iter().flatten().for_each(|link| link.send_note(&note));
                Ok(note)
            }
        }
    }

    fn next_note(&self, link: &Link, deadline: Option<Instant>) -> Result<Vec<u8>, MeshError> {
        loop {
            // Whatever it had to say came before its Bye.
            let done = link.is_done();
            if let Some(note) = link.next_note(LOOK) {
                return Ok(note);
            }
            if let Some(error) = self.error() {
                return Err(error);
            }
            if done {
                self.shutdown.record(self.pulse.blame(link.process, "it ended before the run did".to_owned()));
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline + STEP) {
                self.shutdown.record(self.pulse.blame(link.process, "it did not begin in time".to_owned()));
            }
        }
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Mesh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mesh")
            .field("process", &self.process())
            .field("processes", &self.processes())
            .finish_non_exhaustive()
    }
}

/// Waits for either of two things: an answer, or the end of the run.
pub(super) fn either<T>(shutdown: &Shutdown, answer: &Mutex<Option<T>>) -> Option<T> {
    loop {
        if let Some(value) = answer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Some(value);
        }
        if shutdown.is_set() {
            return None;
        }
        shutdown.wait(LOOK);
    }
}
