//! The site of a host: its registrable domain by the public suffix list, private section included. STUB.

/// The registrable domain of a lower-case host, or the host itself where there is none (an IP address, a bare suffix,
/// a single label). No allocation.
pub fn registrable_domain(host: &[u8]) -> &[u8] {
    host
}
