//! Where peers with a higher index come in.
//!
//! One thread, no blocking call on a connection that has not proven that it knows the secret: whoever connects and says
//! nothing, garbage, or connects a thousand times costs a slot of [`WAITING`] for at most [`STEP`], and the oldest slot
//! goes first when all are taken. The door stays until the run ends, so that whoever comes too late is told why.

use super::Notices;
use super::hello::{
    Answer, BadHello, ClearRefusal, HELLO, JOIN, MAX_MESSAGE, Offer, SEALED_JOIN, check_hello, framed, hello, noise,
    own_version, refusal,
};
use super::link::Joined;
use super::{Place, STEP};
use snow::{HandshakeState, StatelessTransportState};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Connections in handshake at one time.
const WAITING: usize = 128;
/// Between two looks at the sockets while peers are awaited.
const LOOK: Duration = Duration::from_millis(2);
/// And while the run goes on.
const LATE_LOOK: Duration = Duration::from_millis(50);

/// What the door and the rest of the mesh share.
pub struct Porch {
    /// This process and what it takes for agreed.
    pub place: Place,
    /// The job's name, once it is known.
    pub job: OnceLock<String>,
    /// Who is in, by index.
    pub taken: Mutex<Vec<bool>>,
    /// The run is over.
    pub closed: AtomicBool,
    /// All are in.
    pub full: AtomicBool,
    /// Refusals.
    pub notices: Notices,
}

impl Porch {
    /// Takes the place of a process; `false` when it is taken.
    pub fn take(&self, process: usize) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut taken[process], true)
    }

    fn is_taken(&self, process: usize) -> bool {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)[process]
    }
}

/// A connection in handshake.
struct Visitor {
    socket: TcpStream,
    from: SocketAddr,
    since: Instant,
    bytes: Vec<u8>,
    stage: Stage,
}

enum Stage {
    /// Hello and message 1 are awaited.
    Offering,
    /// All is well, but this process does not know the job yet.
    Asked(Box<HandshakeState>, Offer),
    /// Message 2 is out.
    Joining(Box<StatelessTransportState>, usize),
}

/// What becomes of a visitor after a look.
enum Next {
    Wait(Stage),
    Out(Option<String>),
    In(Box<StatelessTransportState>, usize),
}

/// Lets peers in until the porch is closed; runs on a thread of its own.
pub fn keep(listener: &TcpListener, porch: &Arc<Porch>, joined: &Sender<Joined>) {
    let mut visitors: Vec<Visitor> = Vec::new();
    while !porch.closed.load(Ordering::Acquire) {
        // So many at one time, so that a flood does not keep those who are in from being looked at.
        for (socket, from) in std::iter::from_fn(|| listener.accept().ok()).take(WAITING) {
            if visitors.len() >= WAITING {
                porch.notices.refused(visitors[0].from, "pushed out by newer connections before it said who it is");
                visitors.remove(0);
            }
            if socket.set_nonblocking(true).is_ok() && socket.set_nodelay(true).is_ok() {
                // A hello fits every fresh socket's buffer; if not, the visitor does without and gives up.
                let _ = (&socket).write(&hello());
                visitors.push(Visitor {
                    socket,
                    from,
                    since: Instant::now(),
                    bytes: Vec::new(),
                    stage: Stage::Offering,
                });
            }
        }
        let mut still = Vec::with_capacity(visitors.len());
        for mut visitor in visitors.drain(..) {
            let stage = std::mem::replace(&mut visitor.stage, Stage::Offering);
            match look(&mut visitor, stage, porch) {
                Next::Wait(stage) => {
                    visitor.stage = stage;
                    still.push(visitor);
                }
                Next::Out(Some(why)) => porch.notices.refused(visitor.from, &why),
                Next::Out(None) => {}
                Next::In(cipher, process) => {
                    let Visitor { socket, bytes: leftover, .. } = visitor;
                    let cipher = porch.place.terms.encrypt.then_some(*cipher);
                    let nonces = if cipher.is_some() { (0, 1) } else { (0, 0) };
                    if joined.send(Joined { process, socket, leftover, cipher, nonces }).is_err() {
                        return;
                    }
                }
            }
        }
        visitors = still;
        let late = porch.full.load(Ordering::Acquire) && visitors.is_empty();
        std::thread::sleep(if late { LATE_LOOK } else { LOOK });
    }
}

/// Reads what has come, and goes on as far as that allows.
fn look(visitor: &mut Visitor, mut stage: Stage, porch: &Porch) -> Next {
    let gone = match fill(visitor) {
        Ok(open) => !open,
        Err(_) => true,
    };
    loop {
        stage = match stage {
            Stage::Offering => match offer(visitor, porch) {
                Step::Wait => break,
                Step::Out(why) => return Next::Out(Some(why)),
                Step::On(noise, offer) => Stage::Asked(noise, offer),
            },
            Stage::Asked(noise, offer) => {
                let Some(job) = porch.job.get() else {
                    stage = Stage::Asked(noise, offer);
                    break;
                };
                match answer(visitor, *noise, &offer, job, porch) {
                    Ok(cipher) => Stage::Joining(Box::new(cipher), offer.process),
                    Err(why) => return Next::Out(Some(why)),
                }
            }
            Stage::Joining(cipher, process) => {
                if visitor.bytes.len() < SEALED_JOIN {
                    stage = Stage::Joining(cipher, process);
                    break;
                }
                let mut said = [0; SEALED_JOIN];
                let opened = cipher.read_message(0, &visitor.bytes[..SEALED_JOIN], &mut said);
                if opened.ok().is_none_or(|n| said[..n] != *JOIN) {
                    return Next::Out(Some("a repeated or broken handshake".to_owned()));
                }
                if !porch.take(process) {
                    return Next::Out(Some(taken(process)));
                }
                visitor.bytes.drain(..SEALED_JOIN);
                return Next::In(cipher, process);
            }
        };
    }
    if gone {
        // Health checks and scanners connect and leave; only who has begun to speak is told of.
        return Next::Out((!visitor.bytes.is_empty()).then(|| "left during the handshake".to_owned()));
    }
    if visitor.since.elapsed() > STEP {
        return Next::Out(Some(format!("said nothing useful for {} s", STEP.as_secs())));
    }
    Next::Wait(stage)
}

/// Takes in what the socket holds; `false` when the other side has closed.
fn fill(visitor: &mut Visitor) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    while visitor.bytes.len() <= HELLO + 2 + MAX_MESSAGE {
        match visitor.socket.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(n) => visitor.bytes.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

enum Step {
    Wait,
    Out(String),
    On(Box<HandshakeState>, Offer),
}

/// Hello and message 1.
fn offer(visitor: &mut Visitor, porch: &Porch) -> Step {
    match check_hello(&visitor.bytes) {
        Ok(()) => {}
        Err(BadHello::Foreign) => return Step::Out("does not speak the protocol of undust".to_owned()),
        Err(BadHello::Version(theirs)) => {
            return Step::Out(format!("is {theirs}, this is {}: run the same binary on all hosts", own_version()));
        }
    }
    let Some(rest) = visitor.bytes.get(HELLO..).filter(|rest| rest.len() >= 2) else { return Step::Wait };
    let length = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
    if length > MAX_MESSAGE {
        return Step::Out("an overlong handshake".to_owned());
    }
    let Some(message) = rest.get(2..2 + length) else { return Step::Wait };
    let mut payload = [0; MAX_MESSAGE];
    let Ok(mut state) = noise(&porch.place.secret, false) else {
        return Step::Out("no handshake can be made here".to_owned());
    };
    let Ok(n) = state.read_message(message, &mut payload) else {
        let _ = visitor.socket.write(&refusal(ClearRefusal::Secret));
        return Step::Out("has another secret".to_owned());
    };
    let Ok(offer) = serde_json::from_slice::<Offer>(&payload[..n]) else {
        return Step::Out("an unreadable offer".to_owned());
    };
    visitor.bytes.drain(..HELLO + 2 + length);
    Step::On(Box::new(state), offer)
}

/// Message 2.
fn answer(
    visitor: &Visitor,
    mut state: HandshakeState,
    offer: &Offer,
    job: &str,
    porch: &Porch,
) -> Result<StatelessTransportState, String> {
    let refused = objection(offer, job, porch);
    let answer = Answer { job: job.to_owned(), refused: refused.clone() };
    let message = framed(&mut state, &answer)?;
    (&visitor.socket).write_all(&message).map_err(|error| error.to_string())?;
    match refused {
        Some(why) => Err(format!("(process {}) {why}", offer.process)),
        None => state.into_stateless_transport_mode().map_err(|error| error.to_string()),
    }
}

/// Why an authenticated peer is not let in.
fn objection(offer: &Offer, job: &str, porch: &Porch) -> Option<String> {
    let place = &porch.place;
    let (process, processes) = (offer.process, place.terms.processes);
    if let Some(why) = place.terms.difference(&offer.terms) {
        return Some(why);
    }
    if process >= processes {
        return Some(format!("there is no process {process}: the cluster has processes 0 to {}", processes - 1));
    }
    if offer.to != place.process {
        return Some(format!(
            "it asks for process {}, this is process {}: the hosts are listed in another order",
            offer.to, place.process
        ));
    }
    if process <= place.process {
        return Some(format!("process {process} does not call process {}", place.process));
    }
    if place.process > 0 && offer.job != job {
        return Some("it belongs to another job".to_owned());
    }
    porch.is_taken(process).then(|| taken(process))
}

fn taken(process: usize) -> String {
    format!("process {process} is here already: each process needs an index of its own")
}
