//! Messages of the handshake between two processes.
//!
//! ```text
//! initiator                                  responder
//! hello (clear) + Noise message 1: Offer ->
//!                                         <- hello (clear)
//!                                         <- Noise message 2: Answer
//! Noise transport message: JOIN          ->
//!                                         <- Noise transport message: JOINED
//! Noise transport message: HERE          ->
//! ```
//!
//! Noise `NNpsk0`: a message 1 that decrypts was made by a process with the secret, and the sender of a
//! copy cannot seal [`JOIN`]. Both hellos are the prologue of the handshake, so a third party cannot
//! change them. Before message 1 has been decrypted, a responder has read at most [`HELLO`] + 2 +
//! [`MAX_MESSAGE`] bytes and has parsed only the fixed hello.
//!
//! The responder assigns the index at [`HERE`]; the initiator counts itself in at [`JOINED`]. A
//! connection that breaks before that is retried by the initiator and leaves nothing behind at the
//! responder.

use crate::runtime::secret::Secret;
use serde::{Deserialize, Serialize};
use snow::{Builder, HandshakeState, StatelessTransportState};

/// First bytes of every connection.
const MAGIC: &[u8; 8] = b"undust\r\n";
/// Version of all that follows the hello.
pub const PROTOCOL: u16 = 2;
/// Bytes of a hello.
pub const HELLO: usize = 40;
/// Bytes for the program's version in a hello.
const VERSION: usize = HELLO - 11;
/// Longest handshake message.
pub const MAX_MESSAGE: usize = 2048;
/// First transport message of the initiator: proof that message 1 was not replayed.
pub const JOIN: Word = b"join";
/// Acknowledgement of [`JOIN`] by the responder.
pub const JOINED: Word = b"good";
/// Second transport message of the initiator: it has read [`JOINED`].
pub const HERE: Word = b"here";
/// A transport message of the handshake.
pub type Word = &'static [u8; 4];
/// Bytes of a sealed [`Word`].
pub const SEALED_WORD: usize = 4 + 16;
/// Transport messages that the initiator and the responder have sealed when the handshake ends.
pub const WORDS_SEALED: (u64, u64) = (2, 1);

/// The handshake by its name in the Noise framework.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// Why a refusal is sent in the clear: the two have no common secret to say it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClearRefusal {
    /// Message 1 does not decrypt.
    Secret = 1,
}

/// This program's hello.
pub fn hello() -> [u8; HELLO] {
    hello_of(PROTOCOL, env!("CARGO_PKG_VERSION"))
}

/// A hello of any version.
pub fn hello_of(protocol: u16, version: &str) -> [u8; HELLO] {
    let mut hello = [0; HELLO];
    hello[..8].copy_from_slice(MAGIC);
    hello[8..10].copy_from_slice(&protocol.to_be_bytes());
    let version = &version.as_bytes()[..version.len().min(VERSION)];
    hello[10] = version.len() as u8;
    hello[11..11 + version.len()].copy_from_slice(version);
    hello
}

/// Fault of a hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadHello {
    /// Not this protocol at all.
    Foreign,
    /// Another version, in words.
    Version(String),
}

/// Checks the other side's hello; a short one may be the beginning of a good one.
///
/// # Errors
/// [`BadHello`].
pub fn check_hello(theirs: &[u8]) -> Result<(), BadHello> {
    let magic = theirs.len().min(MAGIC.len());
    if theirs[..magic] != MAGIC[..magic] {
        return Err(BadHello::Foreign);
    }
    if theirs.len() < HELLO || theirs[..HELLO] == hello() {
        return Ok(());
    }
    let protocol = u16::from_be_bytes([theirs[8], theirs[9]]);
    let version = &theirs[11..11 + usize::from(theirs[10]).min(VERSION)];
    // The bytes of a stranger: only what a version is made of is shown.
    let version: String = version
        .iter()
        .map(|&b| if b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+') { char::from(b) } else { '?' })
        .collect();
    Err(BadHello::Version(format!("undust {version} (mesh protocol {protocol})")))
}

/// This program in the words of [`BadHello::Version`].
pub fn own_version() -> String {
    format!("undust {} (mesh protocol {PROTOCOL})", env!("CARGO_PKG_VERSION"))
}

/// Terms on which all processes of a run must agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Number of processes.
    pub processes: usize,
    /// Worker threads of each.
    pub workers: usize,
    /// Traffic is encrypted.
    pub encrypt: bool,
    /// Digest of the executable: two builds of one version may learn different rules.
    pub build: String,
    /// Digest of the learning parameters.
    pub parameters: String,
    /// Digest of the shard list: names, sizes and samples of the content, not local paths.
    pub shards: String,
}

impl Terms {
    /// In what `theirs` differ from these, in words for both sides.
    pub fn difference(&self, theirs: &Terms) -> Option<String> {
        let differs = |what: &str, ours: usize, theirs: usize| Some(format!("{what}: {ours} here, {theirs} there"));
        let encrypt = |on: bool| if on { "on" } else { "off" };
        if self.processes != theirs.processes {
            return differs("the lists of hosts differ in length", self.processes, theirs.processes);
        }
        if self.workers != theirs.workers {
            return differs("the numbers of worker threads differ", self.workers, theirs.workers);
        }
        if self.encrypt != theirs.encrypt {
            let (ours, theirs) = (encrypt(self.encrypt), encrypt(theirs.encrypt));
            return Some(format!("encryption is {ours} here, {theirs} there"));
        }
        if self.build != theirs.build {
            let short = |build: &str| build.get(..8).unwrap_or(build).to_owned();
            let (ours, theirs) = (short(&self.build), short(&theirs.build));
            return Some(format!(
                "the executables differ ({ours} here, {theirs} there): copy the same file to all hosts"
            ));
        }
        if self.parameters != theirs.parameters {
            return Some("the learning parameters differ: give the same options to all processes".to_owned());
        }
        if self.shards != theirs.shards {
            return Some(
                "the shards differ in name, size or content: name the same inputs, or give --local-shards".to_owned(),
            );
        }
        None
    }
}

/// Message 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Sender.
    pub process: usize,
    /// Recipient.
    pub to: usize,
    /// The job as process 0 named it; empty in a message to process 0, which chooses it.
    pub job: String,
    /// Terms of the sender.
    pub terms: Terms,
}

/// Message 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The job.
    pub job: String,
    /// Why not, if not.
    pub refused: Option<String>,
}

/// A handshake that is about to begin.
pub fn noise(secret: &Secret, initiates: bool) -> Result<HandshakeState, snow::Error> {
    let prologue = [hello(), hello()].concat();
    let builder = Builder::new(PATTERN.parse()?).psk(0, secret.key())?.prologue(&prologue)?;
    if initiates { builder.build_initiator() } else { builder.build_responder() }
}

/// Fault of the first bytes of an initiator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadOffer {
    /// That of its hello.
    Hello(BadHello),
    /// The frame announces more than [`MAX_MESSAGE`] bytes.
    Overlong,
    /// No handshake can be made on this machine.
    Unanswerable,
    /// Message 1 does not decrypt.
    Secret,
    /// Message 1 decrypts and is no [`Offer`].
    Unreadable,
}

/// An [`Offer`] that decrypted.
#[derive(Debug)]
pub struct Heard {
    /// The handshake that it begins.
    pub noise: HandshakeState,
    /// What it says.
    pub offer: Offer,
    /// Bytes of the hello and of message 1; what follows belongs to later messages.
    pub length: usize,
}

/// Reads hello and message 1 of an initiator, a stranger until then, as far as they have come;
/// `None` where more bytes are needed.
///
/// # Errors
/// [`BadOffer`].
pub fn read_offer(bytes: &[u8], secret: &Secret) -> Result<Option<Heard>, BadOffer> {
    check_hello(bytes).map_err(BadOffer::Hello)?;
    let Some((length, rest)) = bytes.get(HELLO..).and_then(<[u8]>::split_first_chunk) else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes(*length));
    if length > MAX_MESSAGE {
        return Err(BadOffer::Overlong);
    }
    let Some(message) = rest.get(..length) else { return Ok(None) };
    let mut payload = [0; MAX_MESSAGE];
    let mut noise = noise(secret, false).map_err(|_| BadOffer::Unanswerable)?;
    let n = noise.read_message(message, &mut payload).map_err(|_| BadOffer::Secret)?;
    let offer = serde_json::from_slice(&payload[..n]).map_err(|_| BadOffer::Unreadable)?;
    Ok(Some(Heard { noise, offer, length: HELLO + 2 + length }))
}

/// A handshake message with its length before it.
pub fn framed(noise: &mut HandshakeState, payload: &impl Serialize) -> Result<Vec<u8>, String> {
    let payload = serde_json::to_vec(payload).map_err(|error| error.to_string())?;
    let mut out = vec![0; 2 + MAX_MESSAGE];
    let n = noise.write_message(&payload, &mut out[2..]).map_err(|error| error.to_string())?;
    out[..2].copy_from_slice(&(n as u16).to_be_bytes());
    out.truncate(2 + n);
    Ok(out)
}

/// Seals a word as the transport message of number `nonce`.
pub fn seal_word(cipher: &StatelessTransportState, nonce: u64, word: Word) -> Result<[u8; SEALED_WORD], snow::Error> {
    let mut sealed = [0; SEALED_WORD];
    cipher.write_message(nonce, word, &mut sealed)?;
    Ok(sealed)
}

/// Whether `sealed` is this word as the transport message of number `nonce`.
pub fn is_word(cipher: &StatelessTransportState, nonce: u64, sealed: &[u8], word: Word) -> bool {
    let mut said = [0; SEALED_WORD];
    cipher.read_message(nonce, sealed, &mut said).is_ok_and(|n| said[..n] == *word)
}

/// A clear refusal: length 0 and a code.
pub fn refusal(why: ClearRefusal) -> [u8; 3] {
    [0, 0, why as u8]
}

/// 16 random bytes in hexadecimal: the name of a job.
pub fn mint() -> Result<String, snow::Error> {
    use snow::resolvers::{CryptoResolver, DefaultResolver};
    let mut bytes = [0; 16];
    DefaultResolver.resolve_rng().ok_or(snow::Error::Rng)?.try_fill_bytes(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos_tell_strangers_from_versions() {
        assert_eq!(check_hello(&hello()), Ok(()));
        assert_eq!(check_hello(&hello()[..5]), Ok(()), "it may still become one");
        assert_eq!(check_hello(b"GET / HTTP/1.1\r\n"), Err(BadHello::Foreign));
        assert_eq!(check_hello(b"G"), Err(BadHello::Foreign));
        let other = check_hello(&hello_of(9, "7.1.0\x1b[2J"));
        assert_eq!(other, Err(BadHello::Version("undust 7.1.0??2J (mesh protocol 9)".to_owned())));
        assert!(check_hello(&hello_of(PROTOCOL, "0.0.1")).is_err(), "the program's version counts");
    }

    #[test]
    fn only_the_same_secret_opens_the_first_message() {
        let (ours, theirs) = (Secret::none(), Secret::of(b"another secret of 32 bytes or so").unwrap());
        let message = framed(&mut noise(&ours, true).unwrap(), &"offer").unwrap();
        let mut out = [0; MAX_MESSAGE];
        let n = noise(&ours, false).unwrap().read_message(&message[2..], &mut out).unwrap();
        assert_eq!(&out[..n], b"\"offer\"");
        assert!(noise(&theirs, false).unwrap().read_message(&message[2..], &mut out).is_err());
    }

    #[test]
    fn differences_are_named() {
        let terms = Terms {
            processes: 2,
            workers: 1,
            encrypt: true,
            build: "0123456789".into(),
            parameters: "p".into(),
            shards: "s".into(),
        };
        let all = [
            (Terms { processes: 3, ..terms.clone() }, "length: 2 here, 3 there"),
            (Terms { workers: 4, ..terms.clone() }, "threads differ: 1 here, 4 there"),
            (Terms { encrypt: false, ..terms.clone() }, "encryption is on here, off there"),
            (Terms { build: "abcdefghij".into(), ..terms.clone() }, "(01234567 here, abcdefgh there)"),
            (Terms { build: "new".into(), ..terms.clone() }, "executables differ (01234567 here, new there)"),
            (Terms { parameters: "q".into(), ..terms.clone() }, "parameters differ"),
            (Terms { shards: "t".into(), ..terms.clone() }, "shards differ"),
        ];
        assert_eq!(terms.difference(&terms), None);
        for (theirs, want) in all {
            let said = terms.difference(&theirs).expect("a difference");
            assert!(said.contains(want), "{said}");
        }
        assert_ne!(mint().unwrap(), mint().unwrap());
    }
}
