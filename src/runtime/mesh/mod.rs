//! The mesh of a run on several processes: ours up to the sockets, then timely's (design, section 7).
//!
//! Each process calls the peers with a lower index ([`dial`]) and lets in those with a higher one ([`door`]); both
//! sides prove that they know the secret and agree on the job ([`hello`]). Of each pair one [`link`] remains, with
//! signs of life; a thread watches them all. Whatever goes wrong first is the [`fate`] of the run, at every process:
//! each tells the others why before it ends. A name or a clock never decides what is learned.

mod dial;
mod door;
mod error;
mod fate;
pub mod hello;
mod link;
mod wire;

use super::hosts::Cluster;
use super::secret::Secret;
use dial::Unreached;
use door::Porch;
pub use error::MeshError;
pub(super) use fate::rest;
pub use fate::{Cause, Fate};
use hello::Terms;
pub use link::Traffic;
use link::{Joined, Link};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
pub(super) use wire::Wire;

/// Time for one handshake.
const STEP: Duration = Duration::from_secs(5);
/// How often waiting threads look around.
const LOOK: Duration = Duration::from_millis(50);
/// How long a process that is done waits for the others to say so too.
const FAREWELL: Duration = Duration::from_secs(2);
/// Time for what was said last to reach the peers before the connections close.
const LAST_WORDS: Duration = Duration::from_millis(150);
/// Refusals that are told one by one.
const TOLD: u64 = 20;

/// Takes the lines that a mesh has to say.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// This process in the mesh.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its index.
    pub process: usize,
    /// The shared secret.
    pub secret: Secret,
    /// What all must agree on.
    pub terms: Terms,
}

/// Refusals, told one by one at first and then only counted.
pub struct Notices {
    tell: Tell,
    count: AtomicU64,
}

impl Notices {
    /// One more was refused.
    fn refused(&self, from: SocketAddr, why: &str) {
        match self.count.fetch_add(1, Ordering::Relaxed) {
            told if told < TOLD => (self.tell)(&format!("refused a connection from {from}: {why}")),
            TOLD => (self.tell)("refused more connections; they are no longer told one by one"),
            _ => {}
        }
    }
}

/// All links of a process.
pub struct Mesh {
    cluster: Cluster,
    place: Place,
    job: String,
    /// By process; `None` at this one.
    links: Vec<Option<Arc<Link>>>,
    fate: Arc<Fate>,
    porch: Arc<Porch>,
    over: Arc<AtomicBool>,
    /// Kept so that the door's thread has someone to send to, and late joiners are seen to be refused.
    _joined: Mutex<std::sync::mpsc::Receiver<Joined>>,
}

impl Mesh {
    /// Meets the others; ends within the connect deadline, one way or the other.
    ///
    /// # Errors
    /// [`MeshError`].
    pub fn join(cluster: &Cluster, place: Place, tell: Tell) -> Result<Mesh, MeshError> {
        let deadline = Instant::now() + cluster.connect_deadline;
        let (own, processes) = (place.process, cluster.hosts.len());
        if own >= processes {
            return Err(MeshError::Config(format!(
                "there is no process {own}: the list of hosts has processes 0 to {}",
                processes - 1
            )));
        }
        let porch = Arc::new(Porch {
            place: place.clone(),
            job: OnceLock::new(),
            taken: Mutex::new((0..processes).map(|process| process == own).collect()),
            closed: AtomicBool::new(false),
            full: AtomicBool::new(false),
            notices: Notices { tell, count: AtomicU64::new(0) },
        });
        if own == 0 {
            let job = hello::mint().map_err(|error| MeshError::Config(format!("no random numbers: {error}")))?;
            porch.job.get_or_init(|| job);
        }
        let (joined_in, joined) = channel();
        if own + 1 < processes {
            let listener = listen(cluster, own)?;
            let (porch, joined_in) = (porch.clone(), joined_in.clone());
            spawn("mesh:door", move || door::keep(&listener, &porch, &joined_in))?;
        }
        let (refused_in, refused) = channel();
        for to in 0..own {
            let (porch, joined_in, refused_in) = (porch.clone(), joined_in.clone(), refused_in.clone());
            let address = cluster.hosts[to].address.clone();
            spawn("mesh:dial", move || call(&porch, to, &address, deadline, &joined_in, &refused_in))?;
        }
        drop((joined_in, refused_in));

        let fate = Arc::new(Fate::default());
        let beat = (cluster.silence_deadline / 6).max(Duration::from_millis(20));
        let mut links: Vec<Option<Arc<Link>>> = vec![None; processes];
        let close = |error: MeshError, links: &[Option<Arc<Link>>]| {
            porch.closed.store(true, Ordering::Release);
            let cause = match &error {
                MeshError::Lost { process, what, .. } => Cause::Lost { process: *process, what: what.clone() },
                MeshError::NeverCame { .. } => {
                    let missing = (0..processes).find(|&process| process != own && links[process].is_none());
                    Cause::Lost { process: missing.unwrap_or(own), what: "it never came".to_owned() }
                }
                _ => Cause::Failed { process: own, reason: String::new() },
            };
            links.iter().flatten().for_each(|link| link.give_up(&cause, &error.to_string()));
            std::thread::sleep(LAST_WORDS);
            links.iter().flatten().for_each(|link| link.close());
            Err(error)
        };
        let mut hints: Vec<String> = Vec::new();
        while links.iter().filter(|link| link.is_some()).count() + 1 < processes {
            match joined.recv_timeout(LOOK) {
                Ok(joined) => {
                    let process = joined.process;
                    match Link::start(joined, fate.clone(), beat) {
                        Ok(link) => links[process] = Some(link),
                        Err(error) => {
                            return close(MeshError::Config(format!("cannot start threads: {error}")), &links);
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let address = |process: usize| cluster.hosts[process].address.clone();
            for (process, unreached) in refused.try_iter() {
                match unreached {
                    Unreached::Refused(why) => {
                        return close(MeshError::Refused { process, address: address(process), own, why }, &links);
                    }
                    Unreached::Late(why) => hints.push(format!("process {process}: {why}")),
                }
            }
            if let Some(cause) = fate.cause() {
                return close(MeshError::of(cluster, own, cause), &links);
            }
            if Instant::now() >= deadline {
                let missing = (0..processes).filter(|&process| process != own && links[process].is_none());
                let peers: Vec<String> = missing.map(|process| format!("{process} ({})", address(process))).collect();
                let hint = hints.pop().map_or(String::new(), |hint| format!(" ({hint})"));
                let seconds = cluster.connect_deadline.as_secs();
                return close(MeshError::NeverCame { peers: peers.join(", "), seconds, hint }, &links);
            }
        }
        porch.full.store(true, Ordering::Release);
        let job = porch.job.get().cloned().unwrap_or_default();
        let over = Arc::new(AtomicBool::new(false));
        watch(&links, &fate, &over, cluster.silence_deadline)?;
        let mesh = Mesh { cluster: cluster.clone(), place, job, links, fate, porch, over, _joined: Mutex::new(joined) };
        // Nobody begins before all have met all.
        match mesh.agree(b"ready", Some(deadline)) {
            Ok(()) => Ok(mesh),
            Err(error) => {
                // Whoever noticed first tells the others whom they lost: else they would only see this process go.
                mesh.give_up(&error.to_string());
                Err(error)
            }
        }
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

    /// What becomes of the run.
    pub fn fate(&self) -> &Arc<Fate> {
        &self.fate
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

    /// What process 0 gives, at every process. Every process must call it; the note of the others does not count.
    ///
    /// # Errors
    /// [`MeshError`] when a peer is lost or fails first.
    pub fn broadcast(&self, note: Vec<u8>) -> Result<Vec<u8>, MeshError> {
        self.broadcast_before(note, None)
    }

    /// Ends the run on account of this process: the others are told why and end too.
    pub fn give_up(&self, reason: &str) {
        let failed = Cause::Failed { process: self.process(), reason: reason.to_owned() };
        let cause = self.fate.cause().unwrap_or(failed);
        self.over.store(true, Ordering::Release);
        self.links.iter().flatten().for_each(|link| link.give_up(&cause, reason));
        std::thread::sleep(LAST_WORDS);
        self.close();
    }

    /// All is done: says so, and waits a little for the others to say so too.
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
        self.fate.cause().map(|cause| MeshError::of(&self.cluster, self.process(), cause))
    }

    fn close(&self) {
        self.over.store(true, Ordering::Release);
        self.porch.closed.store(true, Ordering::Release);
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
                self.fate.seal(Cause::Lost { process: link.process, what: "it ended before the run did".to_owned() });
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline + STEP) {
                self.fate.seal(Cause::Lost { process: link.process, what: "it did not begin in time".to_owned() });
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

/// Opens the door of process `own`.
fn listen(cluster: &Cluster, own: usize) -> Result<TcpListener, MeshError> {
    let host = &cluster.hosts[own];
    let at = host.listen.as_ref().unwrap_or(&host.address);
    let fail = |error: io::Error| {
        let way = match error.kind() {
            io::ErrorKind::AddrNotAvailable => "this machine does not have that address: is --process right?",
            io::ErrorKind::AddrInUse => {
                "another process listens there: is --process right, or does an older run go on?"
            }
            _ => "check the address",
        };
        MeshError::Config(format!("process {own} cannot listen at {at}: {error}; {way}"))
    };
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for address in at.to_socket_addrs().map_err(fail)? {
        match TcpListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener)) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(fail(last))
}

/// Calls one peer: process 0 at once, the others when the job is known.
fn call(
    porch: &Arc<Porch>,
    to: usize,
    address: &str,
    deadline: Instant,
    joined: &Sender<Joined>,
    refused: &Sender<(usize, Unreached)>,
) {
    let job = loop {
        match porch.job.get() {
            _ if to == 0 => break String::new(),
            Some(job) => break job.clone(),
            None if Instant::now() > deadline || porch.closed.load(Ordering::Acquire) => return,
            None => std::thread::sleep(LOOK),
        }
    };
    match dial::dial(&porch.place, to, address, &job, deadline) {
        Ok((link, job)) => {
            porch.job.get_or_init(|| job);
            // Who is no longer waited for is let go.
            let _ = joined.send(link);
        }
        Err(unreached) => drop(refused.send((to, unreached))),
    }
}

/// The thread that notices silence.
fn watch(
    links: &[Option<Arc<Link>>],
    fate: &Arc<Fate>,
    over: &Arc<AtomicBool>,
    silence: Duration,
) -> Result<(), MeshError> {
    let links: Vec<_> = links.iter().flatten().map(Arc::downgrade).collect();
    let (fate, over) = (fate.clone(), over.clone());
    spawn("mesh:watch", move || {
        while !over.load(Ordering::Acquire) && !fate.is_sealed() {
            for link in &links {
                let Some(link) = link.upgrade() else { return };
                if let Some(quiet) = link.silence().filter(|&quiet| quiet > silence) {
                    let what = format!("it has said nothing for {:.1} s", quiet.as_secs_f64());
                    fate.seal(Cause::Lost { process: link.process, what });
                }
            }
            std::thread::sleep((silence / 20).clamp(Duration::from_millis(10), Duration::from_millis(250)));
        }
    })
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), MeshError> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    spawned.map(drop).map_err(|error| MeshError::Config(format!("cannot start threads: {error}")))
}

/// Waits for either of two things: an answer, or the end of the run.
pub(super) fn either<T>(fate: &Fate, answer: &Mutex<Option<T>>) -> Option<T> {
    loop {
        if let Some(value) = answer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Some(value);
        }
        if fate.is_sealed() {
            return None;
        }
        fate.wait(LOOK);
    }
}
