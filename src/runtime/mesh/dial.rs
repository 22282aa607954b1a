//! How a process reaches the peers with a lower index.

use super::hello::{
    Answer, BadHello, HELLO, JOIN, MAX_MESSAGE, Offer, SEALED_JOIN, check_hello, framed, hello, noise, own_version,
};
use super::link::Joined;
use super::{Place, STEP};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(200);

/// Why a peer was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// The deadline is over; what the last attempt met.
    Late(String),
    /// It is there and will not have this process; trying again is no use.
    Refused(String),
}

/// Connects to process `to` at `address` before `deadline`, for the job `job` (empty when it is process 0, which names
/// it). Gives the connection and the job.
///
/// # Errors
/// [`Unreached`].
pub fn dial(
    place: &Place,
    to: usize,
    address: &str,
    job: &str,
    deadline: Instant,
) -> Result<(Joined, String), Unreached> {
    let mut last = "no attempt was made".to_owned();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Unreached::Late(last));
        }
        match connect(address, left.min(STEP)) {
            Ok(socket) => match shake(place, to, job, socket) {
                Ok(joined) => return Ok(joined),
                Err(Unreached::Late(why)) => last = why,
                Err(refused) => return Err(refused),
            },
            Err(why) => last = why,
        }
        std::thread::sleep(AGAIN.min(deadline.saturating_duration_since(Instant::now())));
    }
}

/// One attempt to connect, to each address of the name.
fn connect(address: &str, time: Duration) -> Result<TcpStream, String> {
    let addresses = address.to_socket_addrs().map_err(|error| error.to_string())?;
    let mut last = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, time) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

/// The initiator's side of the handshake.
fn shake(place: &Place, to: usize, job: &str, mut socket: TcpStream) -> Result<(Joined, String), Unreached> {
    let late = |error: std::io::Error| {
        Unreached::Late(match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => "it accepts connections but does not answer".to_owned(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                "it closed the connection during the handshake".to_owned()
            }
            _ => error.to_string(),
        })
    };
    let broken = |what: String| Unreached::Refused(format!("its answer is broken: {what}"));
    let begun = Instant::now();
    socket.set_nodelay(true).map_err(late)?;
    let offer = Offer { process: place.process, to, job: job.to_owned(), terms: place.terms.clone() };
    let mut state = noise(&place.secret, true).map_err(|error| broken(error.to_string()))?;
    let message = framed(&mut state, &offer).map_err(broken)?;
    socket.set_write_timeout(Some(STEP)).map_err(late)?;
    socket.write_all(&[&hello()[..], &message].concat()).map_err(late)?;

    let mut read = |buffer: &mut [u8]| read_exact_before(&mut socket, buffer, begun + STEP).map_err(late);
    let mut theirs = [0; HELLO];
    read(&mut theirs)?;
    match check_hello(&theirs) {
        Ok(()) => {}
        Err(BadHello::Foreign) => {
            return Err(Unreached::Refused("what listens there does not speak the protocol of undust".to_owned()));
        }
        Err(BadHello::Version(version)) => {
            let ours = own_version();
            return Err(Unreached::Refused(format!(
                "it is {version}, this is {ours}: run the same binary on all hosts"
            )));
        }
    }
    let mut length = [0; 2];
    read(&mut length)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length == 0 {
        return Err(Unreached::Refused("it has another secret".to_owned()));
    }
    if length > MAX_MESSAGE {
        return Err(broken("overlong".to_owned()));
    }
    let mut answer = vec![0; length];
    read(&mut answer)?;
    let mut payload = [0; MAX_MESSAGE];
    let n = state.read_message(&answer, &mut payload).map_err(|error| broken(error.to_string()))?;
    let answer: Answer = serde_json::from_slice(&payload[..n]).map_err(|error| broken(error.to_string()))?;
    if let Some(why) = answer.refused {
        return Err(Unreached::Refused(why));
    }
    let cipher = state.into_stateless_transport_mode().map_err(|error| broken(error.to_string()))?;
    let mut join = [0; SEALED_JOIN];
    let n = cipher.write_message(0, JOIN, &mut join).map_err(|error| broken(error.to_string()))?;
    socket.write_all(&join[..n]).map_err(late)?;
    let cipher = place.terms.encrypt.then_some(cipher);
    let nonces = if cipher.is_some() { (1, 0) } else { (0, 0) };
    Ok((Joined { process: to, socket, leftover: Vec::new(), cipher, nonces }, answer.job))
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
