//! The invariants of what comes over a connection of the mesh, for the fuzz target and the replay of its
//! corpus: the hello and first message of a stranger, and the frames of a link.
use std::io::ErrorKind;
use std::sync::{Arc, LazyLock};

use super::memory::bounded;
use snow::StatelessTransportState;
use undust::runtime::mesh::frame::{FRAME, FrameKind, Opener, Sealer};
use undust::runtime::mesh::hello::{
    BadHello, BadOffer, HELLO, MAX_MESSAGE, Offer, check_hello, framed, hello, noise, read_offer,
};
use undust::runtime::secret::Secret;

/// Most bytes that are read before an offer is refused or taken.
const FIRST: usize = HELLO + 2 + MAX_MESSAGE;

/// One end of a link that is encrypted.
type Cipher = Arc<StatelessTransportState>;
/// Kind and payload.
type Frame = (FrameKind, Vec<u8>);

/// What an input was as what a stranger says, as an offer, and as frames in the clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// An offer of a process with the secret.
    pub offered: bool,
    /// The text of an offer.
    pub is_offer: bool,
    /// Frames before the end or the first that is none.
    pub frames: usize,
}

/// Reads the input in each of these roles.
pub fn check(bytes: &[u8]) -> Result<Said, String> {
    Ok(Said { offered: stranger(bytes)?, is_offer: payload(bytes)?, frames: in_the_clear(bytes)? + sealed(bytes)? })
}

/// A stranger is waited for no longer than for what is missing of a hello and of the message that
/// it announces; what was refused is refused with more bytes, and with the same words.
fn stranger(bytes: &[u8]) -> Result<bool, String> {
    let secret = Secret::none();
    let heard = bounded(bytes.len(), 32 << 10, 4, || read_offer(bytes, &secret))?;
    for cut in [1, HELLO - 1, HELLO, HELLO + 1, HELLO + 2, bytes.len() / 2] {
        let before = read_offer(&bytes[..cut.min(bytes.len())], &secret);
        match (&before, &heard) {
            (Ok(None), _) => {}
            (Ok(Some(one)), Ok(Some(other))) if (&one.offer, one.length) == (&other.offer, other.length) => {}
            (Err(one), Err(other)) if one == other => {}
            _ => return Err(format!("after {cut} bytes: {before:?}, then {heard:?}")),
        }
    }
    match heard {
        Ok(None) if bytes.len() < awaited(bytes) => Ok(false),
        Ok(Some(heard)) if (HELLO + 2..=bytes.len().min(FIRST)).contains(&heard.length) => Ok(true),
        Err(BadOffer::Hello(BadHello::Version(theirs))) => {
            let is_plain = theirs.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) && theirs.len() < 100;
            if is_plain { Ok(false) } else { Err(format!("the words of a stranger are shown: {theirs:?}")) }
        }
        Err(BadOffer::Hello(BadHello::Foreign)) if bytes.starts_with(&hello()[..8]) => {
            Err("a hello of this protocol is not foreign".to_owned())
        }
        Err(BadOffer::Unanswerable) => Err("a handshake can be made here".to_owned()),
        Err(_) if check_hello(bytes).is_ok() && bytes.len() < HELLO + 2 => {
            Err("the beginning of a hello is no fault".to_owned())
        }
        Err(_) => Ok(false),
        other => Err(format!("{} bytes: {other:?}", bytes.len())),
    }
}

/// Bytes until an offer can be told, which is refused before them or never came.
fn awaited(bytes: &[u8]) -> usize {
    if !bytes.starts_with(&hello()[..bytes.len().min(8)]) {
        return 0;
    }
    match bytes.get(HELLO..).and_then(<[u8]>::split_first_chunk) {
        None => HELLO + 2,
        Some((length, _)) => match usize::from(u16::from_be_bytes(*length)) {
            length @ 0..=MAX_MESSAGE => HELLO + 2 + length,
            _ => 0,
        },
    }
}

/// The input as the text of message 1 of a process with the secret: an offer, or unreadable, as
/// JSON has it; with another secret, or a changed byte, it does not decrypt.
fn payload(bytes: &[u8]) -> Result<bool, String> {
    // The text of a message, less what sealing and the key of the sender take.
    let text = &bytes[..bytes.len().min(MAX_MESSAGE - 48)];
    let secret = Secret::none();
    let broken = |error: snow::Error| error.to_string();
    let mut message = vec![0; MAX_MESSAGE];
    let n = noise(&secret, true).and_then(|mut noise| noise.write_message(text, &mut message)).map_err(broken)?;
    let said = |message: &[u8]| [&hello()[..], &(message.len() as u16).to_be_bytes(), message].concat();
    let all = said(&message[..n]);
    let heard = read_offer(&[&all[..], b"more"].concat(), &secret);
    let wanted = serde_json::from_slice::<Offer>(text);
    match (&heard, &wanted) {
        (Ok(Some(heard)), Ok(offer)) if heard.offer == *offer && heard.length == all.len() => {}
        (Err(BadOffer::Unreadable), Err(_)) => {}
        _ => return Err(format!("{}: {heard:?}, not {wanted:?}", text.escape_ascii())),
    }
    // Any byte behind the length.
    let mut changed = all.clone();
    let at = HELLO + 2 + text.len() % n;
    changed[at] ^= 1 << (n % 8);
    if !matches!(read_offer(&changed, &secret), Err(BadOffer::Secret)) {
        return Err(format!("a changed byte {at} is known"));
    }
    let Ok(offer) = wanted else { return Ok(false) };
    let Ok(again) = noise(&secret, true).map_err(broken).and_then(|mut noise| framed(&mut noise, &offer)) else {
        // Numbers and escapes may be longer as they are written.
        return if text.len() * 6 > MAX_MESSAGE - 48 { Ok(true) } else { Err("read, but not written".to_owned()) };
    };
    match read_offer(&[&hello()[..], &again].concat(), &secret) {
        Ok(Some(heard)) if heard.offer == offer => Ok(true),
        other => Err(format!("written again, it is another: {other:?}")),
    }
}

/// All frames that the bytes hold, and how they end.
fn frames(bytes: &[u8], cipher: Option<&Cipher>) -> Result<(Vec<Frame>, ErrorKind), String> {
    let (mut opener, mut all) = (Opener::new(bytes, cipher.cloned(), 0), Vec::new());
    loop {
        let mut frame = Vec::new();
        // A frame as long as its length says, opened and sealed.
        match bounded(0, 256 << 10, 0, || opener.next(&mut frame))? {
            Ok(kind) if frame.first().copied().and_then(FrameKind::of) == Some(kind) => {
                all.push((kind, frame.split_off(1)))
            }
            Ok(kind) => return Err(format!("a frame of kind {kind:?}: {}", frame.escape_ascii())),
            Err(error) => return Ok((all, error.kind())),
        }
    }
}

fn written(all: &[Frame], cipher: Option<&Cipher>) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut sealer = Sealer::new(&mut out, cipher.cloned(), 0);
    for (kind, payload) in all {
        sealer.write(*kind, payload).map_err(|error| error.to_string())?;
    }
    let sent = sealer.sent();
    if sent == out.len() as u64 { Ok(out) } else { Err(format!("{sent} bytes of {}", out.len())) }
}

/// Any bytes are frames up to the first that is none, and written again are the same bytes.
fn in_the_clear(bytes: &[u8]) -> Result<usize, String> {
    let (all, end) = frames(bytes, None)?;
    if !matches!(end, ErrorKind::UnexpectedEof | ErrorKind::InvalidData) {
        return Err(format!("frames end with the bytes, or with one that is none: {end:?}"));
    }
    // Nobody writes longer ones; they are read.
    if all.iter().all(|(_, payload)| payload.len() <= FRAME) && !bytes.starts_with(&written(&all, None)?) {
        return Err("frames that are read are written again".to_owned());
    }
    Ok(all.len())
}

/// The input as payloads, sealed: they come back in their order; one that is changed, repeated or
/// left out ends the link. As it is it does not open.
fn sealed(bytes: &[u8]) -> Result<usize, String> {
    static CIPHERS: LazyLock<Result<[Cipher; 2], String>> = LazyLock::new(ciphers);
    let [ours, theirs] = CIPHERS.as_ref().map_err(Clone::clone)?;
    if !frames(bytes, Some(theirs))?.0.is_empty() {
        return Err("a stranger cannot seal".to_owned());
    }
    let kinds = (0..8).filter_map(FrameKind::of).cycle();
    let all: Vec<Frame> = kinds.zip(bytes.chunks(1 + bytes.len() / 3).map(<[u8]>::to_vec)).collect();
    let whole = written(&all, Some(ours))?;
    if frames(&whole, Some(theirs))? != (all.clone(), ErrorKind::UnexpectedEof) {
        return Err("what is sealed opens".to_owned());
    }
    if let Some((_, payload)) = all.first() {
        let first = 2 + 1 + payload.len() + 16;
        let mut changed = whole.clone();
        changed[2 + bytes.len() % (first - 2)] ^= 1 << (bytes[0] % 8);
        for (wrong, good) in [(changed, 0), (whole[first..].to_vec(), 0), ([&whole[..first], &whole].concat(), 1)] {
            let (read, end) = frames(&wrong, Some(theirs))?;
            if read.len() != good || (end != ErrorKind::InvalidData && !wrong.is_empty()) {
                return Err(format!("{} frames open, not {good}, then {end:?}", read.len()));
            }
        }
    }
    Ok(0)
}

/// Both ends of a handshake.
fn ciphers() -> Result<[Cipher; 2], String> {
    let shaken = || -> Result<_, snow::Error> {
        let (mut ours, mut theirs) = (noise(&Secret::none(), true)?, noise(&Secret::none(), false)?);
        let (mut message, mut text) = ([0; MAX_MESSAGE], [0; MAX_MESSAGE]);
        let n = ours.write_message(&[], &mut message)?;
        theirs.read_message(&message[..n], &mut text)?;
        let n = theirs.write_message(&[], &mut message)?;
        ours.read_message(&message[..n], &mut text)?;
        Ok([Arc::new(ours.into_stateless_transport_mode()?), Arc::new(theirs.into_stateless_transport_mode()?)])
    };
    shaken().map_err(|error| error.to_string())
}
