//! Exit codes.

/// Kind of failure, with the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The reader of standard output closed it: no error, no message.
    ReaderGone = 0,
    /// The run failed.
    Failed = 1,
    /// Usage or configuration.
    Usage = 2,
    /// A peer was lost or never connected.
    PeerLost = 3,
    /// More records were rejected than allowed.
    TooManyRejects = 4,
}
