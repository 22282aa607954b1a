//! Lines about refused connections: a few of each kind, so that a flood neither fills the log nor hides
//! a peer.
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Takes one line of text for the log.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Different refusals of strangers that are reported, for each kind; further ones are counted only.
const REPORTED: usize = 5;
/// Different refusals of peers that are remembered, so that each is reported once.
const REMEMBERED: usize = 64;

/// Kind of connection that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// Nothing, or not enough, was sent in time.
    Silent,
    /// Another protocol.
    Foreign,
    /// Another version of the protocol.
    Version,
    /// Another secret.
    Secret,
    /// A first message that decrypts was left behind, which may be a copy of a peer's.
    Copy,
    /// The secret, or a copy of the first message of a process that has it: a peer of this run or of
    /// another one.
    Peer,
}

impl RefusalKind {
    /// Kinds of connections that have not proved the secret, each with a plural description.
    const STRANGERS: [(RefusalKind, &str); 5] = [
        (RefusalKind::Silent, "that did not say enough"),
        (RefusalKind::Foreign, "with another protocol"),
        (RefusalKind::Version, "of another version"),
        (RefusalKind::Secret, "with another secret"),
        (RefusalKind::Copy, "that left behind their first message"),
    ];
}

/// Refusals by kind, and the log.
pub struct Notices {
    tell: Tell,
    strangers: [AtomicU64; RefusalKind::STRANGERS.len()],
    reported: Mutex<Vec<(RefusalKind, String)>>,
}

impl Notices {
    /// Without refusals so far.
    pub fn new(tell: Tell) -> Notices {
        Notices { tell, strangers: Default::default(), reported: Mutex::default() }
    }

    /// Writes a line that is not about a refused connection.
    pub fn say(&self, line: &str) {
        (self.tell)(line);
    }

    /// Counts one refused connection, and reports it unless the same was reported before: of the same
    /// address for a stranger, in the same words for a peer. Strangers are reported [`REPORTED`] times a
    /// kind, so that they never use up the reports of peers.
    pub fn refused(&self, kind: RefusalKind, from: SocketAddr, why: &str) {
        let stranger = RefusalKind::STRANGERS.iter().position(|(stranger, _)| *stranger == kind);
        if let Some(at) = stranger {
            self.strangers[at].fetch_add(1, Ordering::Relaxed);
        }
        let line = match stranger {
            Some(_) => format!("refused a connection from {}: {why}", from.ip()),
            // Without the address: a copy of a peer's first message may come from any number of them.
            None => format!("refused a peer: {why}"),
        };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let same_kind = reported.iter().filter(|(other, _)| *other == kind).count();
        if reported.iter().any(|(_, other)| *other == line) || stranger.is_some() && same_kind > REPORTED {
            return;
        }
        if stranger.is_none() && same_kind >= REMEMBERED {
            let oldest = reported.iter().position(|(other, _)| *other == kind);
            oldest.map(|at| reported.remove(at));
        }
        match stranger {
            Some(at) if same_kind == REPORTED => {
                let what = RefusalKind::STRANGERS[at].1;
                (self.tell)(&format!("refused more connections {what}; they are counted from here on"));
            }
            _ => (self.tell)(&line),
        }
        reported.push((kind, line));
    }

    /// Counts of refused strangers, for an error message: `refused here: 7 connections that did not say
    /// enough`.
    pub fn summary(&self) -> Option<String> {
        let counts = RefusalKind::STRANGERS.iter().zip(&self.strangers);
        let said: Vec<String> = counts
            .map(|((_, what), count)| (what, count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{count} connection{} {what}", if count == 1 { "" } else { "s" }))
            .collect();
        (!said.is_empty()).then(|| format!("refused here: {}", said.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_strangers_does_not_hide_a_peer() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = lines.clone();
        let notices = Notices::new(Arc::new(move |line: &str| log.lock().unwrap().push(line.to_owned())));
        let from = |host: u8| SocketAddr::from(([10, 0, 0, host], 9));
        assert_eq!(notices.summary(), None);
        for host in 0..=255 {
            for _ in 0..4 {
                notices.refused(RefusalKind::Silent, from(host), "said nothing");
                notices.refused(RefusalKind::Peer, from(1), "(process 1) the parameters differ");
            }
        }
        notices.refused(RefusalKind::Secret, from(2), "has another secret");
        notices.refused(RefusalKind::Peer, from(3), "(process 2) the parameters differ");
        for process in 0..200 {
            notices.refused(RefusalKind::Peer, from(4), &format!("(process {process}) something else"));
        }
        let lines = lines.lock().unwrap();
        let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
        assert_eq!((count("said nothing"), count("counted from here on")), (5, 1));
        assert_eq!(
            (count("(process 1) the"), count("(process 2) the"), count("another secret")),
            (1, 1, 1),
            "{lines:?}"
        );
        assert_eq!(count("something else"), 200, "peers are always reported");
        assert_eq!(
            notices.summary().unwrap(),
            "refused here: 1024 connections that did not say enough, 1 connection with another secret"
        );
    }
}
