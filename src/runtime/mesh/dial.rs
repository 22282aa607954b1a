//! Connects to the peers with a lower index: the initiator's side of the handshake.

use super::hello::{
    Answer, BadHello, HELLO, HERE, JOIN, JOINED, MAX_MESSAGE, Offer, SEALED_WORD, WORDS_SEALED, Word, check_hello,
    framed, hello, is_word, noise, own_version, seal_word,
};
use super::link::Joined;
use super::listener::check_loopback;
use super::{Handshakes, STEP, ThisProcess};
use crate::runtime::hosts::Cluster;
use snow::StatelessTransportState;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Pause between two attempts.
const AGAIN: Duration = Duration::from_millis(200);
/// Pause after a refusal: a person must change something before the next attempt can succeed.
const REFUSED_AGAIN: Duration = Duration::from_secs(1);

/// Why a peer was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// No attempt was answered before the deadline; how the last one ended.
    Late(String),
    /// No attempt succeeded before the deadline, and the last answer was a refusal. It came in the clear,
    /// so anybody may have sent it.
    RefusedInTheClear(String),
    /// A peer with the secret refuses this process: another attempt is of no use.
    Refused(String),
}

/// Connects to process `to` of `cluster` before `deadline`, for the job `job` (empty for process 0,
/// which names it). Returns the connection and the job.
///
/// # Errors
/// [`Unreached`].
pub fn dial(
    cluster: &Cluster,
    state: &Handshakes,
    to: usize,
    job: &str,
    deadline: Instant,
) -> Result<(Joined, String), Unreached> {
    let mut last = Unreached::Late("no attempt was made".to_owned());
    let mut reported = false;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(last);
        }
        let attempt = connect(cluster, to, left.min(STEP)).and_then(|socket| shake(&state.place, to, job, socket));
        last = match (attempt, last) {
            (Ok(joined), _) => return Ok(joined),
            (Err(Unreached::Refused(why)), _) => return Err(Unreached::Refused(why)),
            // An answer says more than that there is none any more.
            (Err(Unreached::Late(_)), Unreached::RefusedInTheClear(why)) => Unreached::RefusedInTheClear(why),
            (Err(unreached), _) => unreached,
        };
        let mut pause = AGAIN;
        if let Unreached::RefusedInTheClear(why) = &last {
            pause = REFUSED_AGAIN;
            if !std::mem::replace(&mut reported, true) {
                let address = &cluster.hosts[to].address;
                let seconds = cluster.connect_deadline.as_secs();
                state.notices.say(&format!("process {to} ({address}): {why}; trying again for up to {seconds} s"));
            }
        }
        std::thread::sleep(pause.min(deadline.saturating_duration_since(Instant::now())));
    }
}

/// One attempt to connect, to each address of the name.
fn connect(cluster: &Cluster, to: usize, time: Duration) -> Result<TcpStream, Unreached> {
    let addresses = cluster.hosts[to].address.to_socket_addrs();
    let mut last = "the name has no address".to_owned();
    for address in addresses.map_err(|error| Unreached::Late(error.to_string()))? {
        check_loopback(cluster, &address).map_err(|error| Unreached::Refused(error.to_string()))?;
        match TcpStream::connect_timeout(&address, time) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error.to_string(),
        }
    }
    Err(Unreached::Late(last))
}

/// One handshake, within [`STEP`].
fn shake(place: &ThisProcess, to: usize, job: &str, mut socket: TcpStream) -> Result<(Joined, String), Unreached> {
    let late = |error: std::io::Error| {
        Unreached::Late(match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => "it accepts connections but does not answer".to_owned(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                "it closed the connection during the handshake".to_owned()
            }
            _ => error.to_string(),
        })
    };
    // Until message 2 has decrypted, anybody may have written what is read here.
    let broken = |what: String| Unreached::Late(format!("its answer is broken: {what}"));
    let deadline = Instant::now() + STEP;
    socket.set_nodelay(true).map_err(late)?;
    let offer = Offer { process: place.process, to, job: job.to_owned(), terms: place.terms.clone() };
    let mut state = noise(&place.secret, true).map_err(|error| broken(error.to_string()))?;
    let message = framed(&mut state, &offer).map_err(broken)?;
    socket.set_write_timeout(Some(STEP)).map_err(late)?;
    socket.write_all(&[&hello()[..], &message].concat()).map_err(late)?;

    let mut read = |buffer: &mut [u8]| read_exact_before(&mut socket, buffer, deadline).map_err(late);
    let mut theirs = [0; HELLO];
    read(&mut theirs)?;
    let refused = |why: String| Err(Unreached::RefusedInTheClear(why));
    match check_hello(&theirs) {
        Ok(()) => {}
        Err(BadHello::Foreign) => {
            return refused("what listens there does not speak the protocol of undust".to_owned());
        }
        Err(BadHello::Version(version)) => {
            return refused(format!("it is {version}, this is {}: run the same binary on all hosts", own_version()));
        }
    }
    let mut length = [0; 2];
    read(&mut length)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length == 0 {
        return refused("it has another secret".to_owned());
    }
    if length > MAX_MESSAGE {
        return Err(broken("overlong".to_owned()));
    }
    let mut answer = vec![0; length];
    read(&mut answer)?;
    let mut payload = [0; MAX_MESSAGE];
    let n = state.read_message(&answer, &mut payload).map_err(|error| broken(error.to_string()))?;
    let answer: Answer = serde_json::from_slice(&payload[..n])
        .map_err(|error| Unreached::Refused(format!("its answer cannot be read: {error}")))?;
    if let Some(why) = answer.refused {
        return Err(Unreached::Refused(why));
    }
    let cipher = state.into_stateless_transport_mode().map_err(|error| broken(error.to_string()))?;
    join(&cipher, &mut socket, deadline).map_err(late)?;
    let cipher = place.terms.encrypt.then_some(cipher);
    let nonces = if cipher.is_some() { WORDS_SEALED } else { (0, 0) };
    Ok((Joined { process: to, socket, leftover: Vec::new(), cipher, nonces }, answer.job))
}

/// The last three messages. An error leaves nothing behind at the responder, except after the last
/// message: the connection then broke when both sides had joined.
fn join(cipher: &StatelessTransportState, socket: &mut TcpStream, deadline: Instant) -> std::io::Result<()> {
    let seal = |nonce: u64, word: Word| seal_word(cipher, nonce, word).map_err(std::io::Error::other);
    socket.write_all(&seal(0, JOIN)?)?;
    let mut answer = [0; SEALED_WORD];
    read_exact_before(socket, &mut answer, deadline)?;
    if !is_word(cipher, 0, &answer, JOINED) {
        return Err(std::io::Error::other("its acknowledgement is broken"));
    }
    socket.write_all(&seal(1, HERE)?)
}

/// `read_exact` that ends at `deadline`, however slowly the bytes come.
fn read_exact_before(socket: &mut TcpStream, buffer: &mut [u8], deadline: Instant) -> std::io::Result<()> {
    let mut at = 0;
    while at < buffer.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut buffer[at..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => at += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
