//! Stage 1, safe syntax (RFC 3986 sections 6.2.2 and 6.2.3). STUB: signatures agreed, body being written.

/// Where the parts of a stage-1 normal URL stand in its bytes; offsets are half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// The scheme is `https` (else `http`).
    pub https: bool,
    /// User information, host and port, as in the URL.
    pub authority: (u32, u32),
    /// The host alone, without user information and port.
    pub host: (u32, u32),
    /// The path; starts with `/`.
    pub path: (u32, u32),
    /// What follows `?`, without it; may be empty.
    pub query: Option<(u32, u32)>,
    /// What follows `#`, without it; may be empty.
    pub fragment: Option<(u32, u32)>,
}

/// Why a string is not a URL undust works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Invalid {
    /// Not an absolute `http` or `https` URL.
    #[error("not an absolute http or https URL")]
    Scheme,
    /// No host.
    #[error("no host")]
    Host,
    /// An ASCII control character.
    #[error("control character")]
    Control,
    /// Longer than offsets can tell (4 GiB).
    #[error("longer than 4 GiB")]
    Length,
}

/// Writes the stage-1 normal form of `url` into `out` (cleared first) and tells where its parts stand.
///
/// # Errors
/// [`Invalid`] when `url` is not an absolute http or https URL with a host; `out` is then unspecified.
pub fn normalize(_url: &[u8], _out: &mut Vec<u8>) -> Result<Split, Invalid> {
    Err(Invalid::Scheme)
}
