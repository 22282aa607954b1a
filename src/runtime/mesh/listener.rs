//! Accepts connections of peers with a higher index, among strangers.
//!
//! One thread, no blocking call on a connection that has not shown that it knows the secret. A stranger
//! costs a slot for at most [`STEP`]. When the slots are taken, every connection is read before one is
//! evicted, and only strangers are evicted: first those of the address that holds the most slots, the
//! oldest first. A message 1 that decrypts may be a copy of a peer's, so such a connection goes where
//! there is no other; one that has sealed `JOIN` stays until it has joined, failed, or taken longer
//! than [`STEP`]. The thread runs until the run ends, so that late peers learn why they are refused.

use super::STEP;
use super::link::Joined;
use super::notices::RefusalKind;
use super::responder::{Progress, Visitor};
use super::{Handshakes, MeshError};
use crate::runtime::hosts::Cluster;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Connections in handshake at one time.
const SLOTS: usize = 256;
/// Strangers of one address (of one /64 network for IPv6) among them.
const SLOTS_PER_ADDRESS: usize = 128;
/// Connections accepted between two reads of all sockets.
const BURST: usize = 32;
/// Pause between two reads while peers are awaited.
const PAUSE: Duration = Duration::from_millis(2);
/// Pause once all peers have joined.
const LATE_PAUSE: Duration = Duration::from_millis(50);

/// Binds the socket of process `own`.
///
/// # Errors
/// [`MeshError::Config`] with the address and what to check, also where a run that takes its addresses
/// for loopback would listen elsewhere.
pub fn bind(cluster: &Cluster, own: usize) -> Result<TcpListener, MeshError> {
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
        check_loopback(cluster, &address)?;
        match TcpListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener)) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(fail(last))
}

/// Whether `address`, to which a name of the list resolved, is a loopback address where the whole list
/// is taken for one of loopback addresses.
///
/// # Errors
/// [`MeshError::Config`]: without this check, a name such as `localhost` that resolves to another
/// address would be used without a secret.
pub fn check_loopback(cluster: &Cluster, address: &SocketAddr) -> Result<(), MeshError> {
    if cluster.is_local() && !address.ip().is_loopback() {
        return Err(MeshError::Config(format!(
            "a name in the list of hosts stands for {}, which is no loopback address: name the address itself",
            address.ip()
        )));
    }
    Ok(())
}

/// Accepts connections until `state.closed` is set; blocks, for a thread of its own. Joined connections
/// go to `joined`.
pub fn serve(listener: &TcpListener, state: &Arc<Handshakes>, joined: &Sender<Joined>) {
    let mut slots = Slots { visitors: Vec::new(), state, joined };
    while !state.closed.load(Ordering::Acquire) {
        if !slots.read_all() {
            return;
        }
        let mut accepted = 0;
        while accepted < BURST {
            let Ok((socket, from)) = listener.accept() else { break };
            if let Some(visitor) = Visitor::greet(socket, from) {
                slots.admit(visitor);
            }
            accepted += 1;
        }
        // A full burst means that more connections are queued: a pause would let the queue of the system
        // overflow.
        if accepted < BURST {
            let late = state.full.load(Ordering::Acquire) && slots.visitors.is_empty();
            std::thread::sleep(if late { LATE_PAUSE } else { PAUSE });
        }
    }
}

/// The connections in handshake, oldest first.
struct Slots<'a> {
    visitors: Vec<Visitor>,
    state: &'a Arc<Handshakes>,
    joined: &'a Sender<Joined>,
}

impl Slots<'_> {
    /// Reads every connection once; `false` when joined connections are no longer taken.
    fn read_all(&mut self) -> bool {
        let visitors = std::mem::take(&mut self.visitors);
        visitors.into_iter().all(|visitor| self.read(visitor))
    }

    /// Reads one connection and keeps it, hands it on, or drops it with a notice; `false` as for
    /// `read_all`.
    fn read(&mut self, mut visitor: Visitor) -> bool {
        match visitor.advance(self.state) {
            Progress::Waiting if visitor.since.elapsed() <= STEP => self.visitors.push(visitor),
            Progress::Waiting => {
                let why = format!("said nothing useful for {} s", STEP.as_secs());
                self.state.notices.refused(RefusalKind::Silent, visitor.from, &why);
            }
            Progress::Refused(kind, why) => self.state.notices.refused(kind, visitor.from, &why),
            Progress::Left => {}
            Progress::Joined(cipher, process) => {
                let encrypt = self.state.place.terms.encrypt;
                return self.joined.send(visitor.into_joined(process, encrypt.then_some(*cipher))).is_ok();
            }
        }
        true
    }

    /// Adds a connection, after evicting a stranger where there is no slot for it.
    fn admit(&mut self, visitor: Visitor) {
        let network_of = |visitor: &Visitor| network(visitor.from.ip());
        loop {
            let slots: Vec<_> = self.visitors.iter().map(|other| (network_of(other), other.rank())).collect();
            let Some(at) = to_evict(&slots, network_of(&visitor)) else { break };
            let rank = slots[at].1;
            // It may have said who it is since it was read last.
            let candidate = self.visitors.remove(at);
            let (from, before) = (candidate.from, self.visitors.len());
            if !self.read(candidate) {
                return;
            }
            let still = self.visitors.len() > before && self.visitors.last().is_some_and(|last| last.rank() <= rank);
            if still {
                self.visitors.pop();
                self.state.notices.refused(
                    RefusalKind::Silent,
                    from,
                    "evicted by newer connections before it said who it is",
                );
            }
        }
        if self.visitors.len() < SLOTS {
            self.visitors.push(visitor);
        } else {
            self.state.notices.refused(RefusalKind::Silent, visitor.from, "came while all slots were taken by peers");
        }
    }
}

/// Index of the connection that makes room for one from `network`; `None` where there is room, or all
/// have joined but for a word. `slots`: network and rank of each, oldest first. Of the lowest rank that
/// is there: a first message that decrypts may be a copy, so it counts for more than none, and for less
/// than a sealed word.
fn to_evict(slots: &[(IpAddr, u8)], network: IpAddr) -> Option<usize> {
    let lowest = slots.iter().map(|(_, rank)| *rank).min().filter(|&rank| rank < 2);
    let strangers = || slots.iter().filter(|(_, rank)| Some(*rank) == lowest).map(|(network, _)| *network);
    let count_of = |network: IpAddr| strangers().filter(|&other| other == network).count();
    let crowded = if count_of(network) >= SLOTS_PER_ADDRESS {
        network
    } else if slots.len() >= SLOTS {
        // Ties go to the lower address: the choice does not depend on the order of arrival.
        strangers().max_by_key(|&network| (count_of(network), std::cmp::Reverse(network)))?
    } else {
        return None;
    };
    slots.iter().position(|&(network, rank)| network == crowded && Some(rank) == lowest)
}

/// The address, or for IPv6 its /64 network: one machine has as many addresses there as it likes.
fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_none() => {
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64)))
        }
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_of_the_most_crowded_network_go_first() {
        let host = |n: u8| IpAddr::from([10, 0, 0, n]);
        let many = |network: IpAddr, rank: u8, count: usize| vec![(network, rank); count];
        // Room for anybody.
        assert_eq!(to_evict(&[], host(1)), None);
        // The quota of an address is its own concern.
        let mut slots = [many(host(2), 0, 1), many(host(1), 0, SLOTS_PER_ADDRESS)].concat();
        assert_eq!(to_evict(&slots, host(1)), Some(1), "its oldest");
        assert_eq!(to_evict(&slots, host(2)), None);
        // All slots are taken: the oldest stranger of the address with the most, never a peer in handshake.
        slots.extend(many(host(3), 2, SLOTS - slots.len()));
        assert_eq!(to_evict(&slots, host(9)), Some(1));
        assert_eq!(to_evict(&slots, host(2)), Some(1));
        assert_eq!(to_evict(&many(host(1), 2, SLOTS), host(1)), None, "no stranger, no eviction");
        let copies = [many(host(1), 2, 1), many(host(2), 1, SLOTS - 1)].concat();
        assert_eq!(to_evict(&copies, host(9)), Some(1), "a first message may be a copy of a peer's");
        let even = [many(host(2), 0, SLOTS / 2), many(host(1), 0, SLOTS / 2)].concat();
        assert_eq!(to_evict(&even, host(9)), Some(SLOTS / 2), "a tie goes to the lower address");
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2:a::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
