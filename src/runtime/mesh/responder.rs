//! The responder's side of one handshake, as far as the bytes that have come allow.

use super::Handshakes;
use super::hello::{
    Answer, BadHello, BadOffer, ClearRefusal, HELLO, HERE, Heard, JOIN, JOINED, MAX_MESSAGE, Offer, SEALED_WORD,
    WORDS_SEALED, framed, hello, is_word, own_version, read_offer, refusal, seal_word,
};
use super::link::Joined;
use super::notices::RefusalKind;
use snow::{HandshakeState, StatelessTransportState};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

/// A connection in handshake.
pub struct Visitor {
    socket: TcpStream,
    /// Address of the other end.
    pub from: SocketAddr,
    /// When it was accepted.
    pub since: Instant,
    bytes: Vec<u8>,
    stage: HandshakeStage,
}

/// How far the handshake is.
enum HandshakeStage {
    /// Hello and message 1 are awaited: a stranger.
    Offering,
    /// Message 1 decrypted; the job of this process is not known yet.
    Offered(Box<HandshakeState>, Offer),
    /// Message 2 is sent, `JOIN` is awaited.
    Answered(Box<StatelessTransportState>, usize),
    /// `JOINED` is sent, `HERE` is awaited.
    Acknowledged(Box<StatelessTransportState>, usize),
}

/// Result of [`Visitor::advance`].
pub enum Progress {
    /// More bytes are needed.
    Waiting,
    /// The connection is to be dropped, for this reason.
    Refused(RefusalKind, String),
    /// It was closed before any byte, as by health checks.
    Left,
    /// The handshake is over: the ciphers and the index of the peer.
    Joined(Box<StatelessTransportState>, usize),
}

/// Result of one step.
enum HandshakeStep {
    Wait(HandshakeStage),
    On(HandshakeStage),
    End(Progress),
}

impl Visitor {
    /// Takes a new connection and sends this program's hello; `None` if the system refuses.
    pub fn greet(socket: TcpStream, from: SocketAddr) -> Option<Visitor> {
        socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true)).ok()?;
        // A hello fits the buffer of every fresh socket; if not, the other side goes without and gives up.
        let _ = (&socket).write(&hello());
        Some(Visitor { socket, from, since: Instant::now(), bytes: Vec::new(), stage: HandshakeStage::Offering })
    }

    /// How little it has shown of knowing the secret: 0 for nothing, 1 for a message 1 that decrypts, which
    /// may be a copy of another's, 2 for a sealed `JOIN`.
    pub fn rank(&self) -> u8 {
        match self.stage {
            HandshakeStage::Offering => 0,
            HandshakeStage::Offered(..) | HandshakeStage::Answered(..) => 1,
            HandshakeStage::Acknowledged(..) => 2,
        }
    }

    /// The index that it claims, once message 1 has decrypted.
    fn process(&self) -> Option<usize> {
        match &self.stage {
            HandshakeStage::Offering => None,
            HandshakeStage::Offered(_, offer) => Some(offer.process),
            HandshakeStage::Answered(_, process) | HandshakeStage::Acknowledged(_, process) => Some(*process),
        }
    }

    /// The connection as one that has joined.
    pub fn into_joined(self, process: usize, cipher: Option<StatelessTransportState>) -> Joined {
        let (theirs, ours) = WORDS_SEALED;
        let nonces = if cipher.is_some() { (ours, theirs) } else { (0, 0) };
        Joined { process, socket: self.socket, leftover: self.bytes, cipher, nonces }
    }

    /// Reads what has come, without blocking, and takes every step that it allows.
    pub fn advance(&mut self, state: &Handshakes) -> Progress {
        let closed = self.fill().map_or(true, |open| !open);
        loop {
            let step = match std::mem::replace(&mut self.stage, HandshakeStage::Offering) {
                HandshakeStage::Offering => self.offer(state),
                HandshakeStage::Offered(noise, offer) => match state.job.get() {
                    None => HandshakeStep::Wait(HandshakeStage::Offered(noise, offer)),
                    Some(job) => self.answer(*noise, &offer, job, state),
                },
                HandshakeStage::Answered(cipher, process) => self.acknowledge(cipher, process),
                HandshakeStage::Acknowledged(cipher, process) => self.join(cipher, process, state),
            };
            match step {
                HandshakeStep::On(stage) => self.stage = stage,
                HandshakeStep::End(progress) => return progress,
                HandshakeStep::Wait(stage) => {
                    self.stage = stage;
                    break;
                }
            }
        }
        let left = "left during the handshake";
        match (closed, self.process()) {
            (false, _) => Progress::Waiting,
            (true, Some(_)) if self.rank() < 2 => Progress::Refused(RefusalKind::Copy, left.to_owned()),
            (true, Some(process)) => Progress::Refused(RefusalKind::Peer, format!("(process {process}) {left}")),
            (true, None) if self.bytes.is_empty() => Progress::Left,
            (true, None) => Progress::Refused(RefusalKind::Silent, left.to_owned()),
        }
    }

    /// Reads what the socket holds, up to the longest first message; `false` when the other side has
    /// closed.
    fn fill(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        while self.bytes.len() <= HELLO + 2 + MAX_MESSAGE {
            match self.socket.read(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(n) => self.bytes.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Hello and message 1.
    fn offer(&mut self, state: &Handshakes) -> HandshakeStep {
        let refuse = |kind, why: &str| HandshakeStep::End(Progress::Refused(kind, why.to_owned()));
        match read_offer(&self.bytes, &state.place.secret) {
            Ok(None) => HandshakeStep::Wait(HandshakeStage::Offering),
            Ok(Some(Heard { noise, offer, length })) => {
                self.bytes.drain(..length);
                HandshakeStep::On(HandshakeStage::Offered(Box::new(noise), offer))
            }
            Err(BadOffer::Hello(BadHello::Foreign)) => {
                refuse(RefusalKind::Foreign, "does not speak the protocol of undust")
            }
            Err(BadOffer::Hello(BadHello::Version(theirs))) => {
                let why = format!("is {theirs}, this is {}: run the same binary on all hosts", own_version());
                refuse(RefusalKind::Version, &why)
            }
            Err(BadOffer::Overlong) => refuse(RefusalKind::Foreign, "sent an overlong handshake"),
            Err(BadOffer::Unanswerable) => {
                refuse(RefusalKind::Foreign, "cannot be answered: no handshake can be made here")
            }
            Err(BadOffer::Secret) => {
                let _ = self.socket.write(&refusal(ClearRefusal::Secret));
                refuse(RefusalKind::Secret, "has another secret")
            }
            Err(BadOffer::Unreadable) => refuse(RefusalKind::Peer, "sent an unreadable offer"),
        }
    }

    /// Message 2.
    fn answer(&self, mut noise: HandshakeState, offer: &Offer, job: &str, state: &Handshakes) -> HandshakeStep {
        let refuse = |why: String| {
            HandshakeStep::End(Progress::Refused(RefusalKind::Peer, format!("(process {}) {why}", offer.process)))
        };
        let refused = objection(offer, job, state);
        let answer = Answer { job: job.to_owned(), refused: refused.clone() };
        let sent = framed(&mut noise, &answer)
            .and_then(|message| (&self.socket).write_all(&message).map_err(|error| error.to_string()));
        match (sent, refused) {
            (_, Some(why)) => refuse(why),
            (Err(why), None) => refuse(format!("cannot be answered: {why}")),
            (Ok(()), None) => match noise.into_stateless_transport_mode() {
                Ok(cipher) => HandshakeStep::On(HandshakeStage::Answered(Box::new(cipher), offer.process)),
                Err(error) => refuse(error.to_string()),
            },
        }
    }

    /// `JOIN`, which is acknowledged.
    fn acknowledge(&mut self, cipher: Box<StatelessTransportState>, process: usize) -> HandshakeStep {
        if self.bytes.len() < SEALED_WORD {
            return HandshakeStep::Wait(HandshakeStage::Answered(cipher, process));
        }
        let broken = || {
            HandshakeStep::End(Progress::Refused(RefusalKind::Silent, "sent a repeated or broken handshake".to_owned()))
        };
        if !is_word(&cipher, 0, &self.bytes[..SEALED_WORD], JOIN) {
            return broken();
        }
        self.bytes.drain(..SEALED_WORD);
        match seal_word(&cipher, 0, JOINED).map(|sealed| self.socket.write_all(&sealed)) {
            Ok(Ok(())) => HandshakeStep::On(HandshakeStage::Acknowledged(cipher, process)),
            _ => broken(),
        }
    }

    /// `HERE`, with which the index is taken.
    fn join(&mut self, cipher: Box<StatelessTransportState>, process: usize, state: &Handshakes) -> HandshakeStep {
        if self.bytes.len() < SEALED_WORD {
            return HandshakeStep::Wait(HandshakeStage::Acknowledged(cipher, process));
        }
        let refuse = |why: String| HandshakeStep::End(Progress::Refused(RefusalKind::Peer, why));
        if !is_word(&cipher, 1, &self.bytes[..SEALED_WORD], HERE) {
            return refuse(format!("(process {process}) sent a broken handshake"));
        }
        if !state.take(process) {
            return refuse(format!("(process {process}) {}", taken(process)));
        }
        self.bytes.drain(..SEALED_WORD);
        HandshakeStep::End(Progress::Joined(cipher, process))
    }
}

/// Reason why a peer with the secret is refused.
fn objection(offer: &Offer, job: &str, state: &Handshakes) -> Option<String> {
    let place = &state.place;
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
    state.is_taken(process).then(|| taken(process))
}

fn taken(process: usize) -> String {
    format!("process {process} is here already: each process needs an index of its own")
}
