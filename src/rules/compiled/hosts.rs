//! The hosts that the rules of a site name: what its rules do not have in common with those of other sites.

use super::index::Index;
use crate::url::hash::hash;
use serde::{Deserialize, Serialize};

/// Seed of their hashes.
const SEED: u64 = 0;

/// Hosts in the order of their codes, end to end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hosts {
    text: Box<[u8]>,
    ends: Box<[u32]>,
    /// Hosts by hash.
    index: Index,
}

impl Hosts {
    /// Of hosts that are told apart.
    pub(super) fn new(hosts: &[&[u8]]) -> Hosts {
        let ends = hosts.iter().scan(0, |end, host| {
            *end += host.len() as u32;
            Some(*end)
        });
        let index = Index::new(hosts.iter().map(|host| hash(host, SEED)), 0);
        Hosts { text: hosts.concat().into(), ends: ends.collect(), index }
    }

    /// The host at `index`.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)? as usize;
        Some(&self.text[index.checked_sub(1).map_or(0, |before| self.ends[before] as usize)..end])
    }

    /// Index of a host.
    #[inline]
    pub(super) fn find(&self, host: &[u8]) -> Option<usize> {
        let found =
            self.index.find(hash(host, SEED), |index| hash(self.get(index as usize).unwrap_or_default(), SEED))?;
        Some(found as usize).filter(|&found| self.get(found) == Some(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_where_they_stand() {
        let long = "a".repeat(43);
        let many: Vec<String> = (0..300).map(|n| format!("h{n}.example")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for hosts in
            [&[][..], &["a.example"], &["", "a"], &["a", "b", "c", "d"], &["a", "b", "c", "d", "e"], &[&long], &many]
        {
            let bytes: Vec<&[u8]> = hosts.iter().map(|host| host.as_bytes()).collect();
            let hosts = Hosts::new(&bytes);
            assert_eq!(hosts.get(bytes.len()), None);
            for (index, host) in bytes.iter().enumerate() {
                assert_eq!((hosts.get(index), hosts.find(host)), (Some(*host), Some(index)));
            }
            assert_eq!((hosts.find(b"a.examples"), hosts.find(b"x")), (None, None));
        }
    }
}
