//! Why there is no mesh, or none any more: names and addresses of processes, and a way out.
use super::Cause;
use crate::runtime::hosts::Cluster;

/// Why there is no mesh, or none any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshError {
    /// The configuration is impossible.
    #[error("{0}")]
    Config(String),
    /// A peer is there and will not have this process.
    #[error("process {process} ({address}) refuses this process ({own}): {why}")]
    Refused {
        /// Which.
        process: usize,
        /// Where.
        address: String,
        /// This process.
        own: usize,
        /// Reason that the peer gave.
        why: String,
    },
    /// Peers did not come in time.
    #[error("{} {} never came, within {seconds} s{hint}", if peers.contains(',') { "processes" } else { "process" }, peers)]
    NeverCame {
        /// Index and address of each.
        peers: String,
        /// The deadline.
        seconds: u64,
        /// Known cause.
        hint: String,
    },
    /// A peer was lost.
    #[error("process {process} ({address}) is lost: {what}; run again (`learn` goes on where it was with --resume)")]
    Lost {
        /// Which.
        process: usize,
        /// Where.
        address: String,
        /// How that shows.
        what: String,
    },
    /// A peer failed and said so.
    #[error("process {process} ({address}) failed: {reason}")]
    Failed {
        /// Which.
        process: usize,
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
}

impl MeshError {
    /// The error of a cause: with the address of the process that it names.
    pub(super) fn of(cluster: &Cluster, cause: Cause) -> MeshError {
        let address = |process: usize| cluster.hosts.get(process).map_or("?".to_owned(), |host| host.address.clone());
        match cause {
            Cause::Lost { process, what } => MeshError::Lost { process, address: address(process), what },
            Cause::Failed { process, reason } => MeshError::Failed { process, address: address(process), reason },
            Cause::Panicked(said) => MeshError::Config(format!("a worker panicked: {said}")),
        }
    }
}
