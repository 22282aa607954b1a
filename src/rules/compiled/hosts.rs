//! The hosts that the rules of a site name: what its rules do not have in common with those of other sites.

use super::index::Index;
use crate::url::hash::hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Hosts up to which they stand in the site itself.
const FEW: usize = 4;
/// Bytes of all of them up to which they do: with them a site takes one cache line.
const SHORT: usize = 42;
/// Seed of their hashes.
const SEED: u64 = 0;

/// Hosts in the order of their codes. Those of most sites are one or two, and are compared one by one.
#[derive(Debug)]
pub(super) enum Hosts {
    Few(Few),
    Many(Box<Many>),
}

#[derive(Debug)]
pub(super) struct Few {
    count: u8,
    ends: [u8; FEW],
    text: [u8; SHORT],
}

#[derive(Debug)]
pub(super) struct Many {
    text: Box<[u8]>,
    ends: Box<[u32]>,
    hashes: Box<[u64]>,
    index: Index,
}

impl Hosts {
    /// Of hosts that are told apart.
    pub(super) fn new(hosts: &[&[u8]]) -> Hosts {
        if hosts.len() <= FEW && hosts.iter().map(|host| host.len()).sum::<usize>() <= SHORT {
            let (mut few, mut end) = (Few { count: 0, ends: [0; FEW], text: [0; SHORT] }, 0);
            for (host, own) in hosts.iter().zip(&mut few.ends) {
                few.text[end..end + host.len()].copy_from_slice(host);
                end += host.len();
                (few.count, *own) = (few.count + 1, end as u8);
            }
            return Hosts::Few(few);
        }
        let end = |end: &mut u32, host: &&[u8]| {
            *end += host.len() as u32;
            Some(*end)
        };
        let hashes: Box<[u64]> = hosts.iter().map(|host| hash(host, SEED)).collect();
        let index = Index::new(hashes.iter().copied(), 0);
        Hosts::Many(Box::new(Many {
            text: hosts.concat().into(),
            ends: hosts.iter().scan(0, end).collect(),
            hashes,
            index,
        }))
    }

    /// Number of hosts.
    pub(super) fn len(&self) -> usize {
        match self {
            Hosts::Few(few) => few.count.into(),
            Hosts::Many(many) => many.ends.len(),
        }
    }

    /// The host at `index`, below their number.
    #[inline]
    pub(super) fn get(&self, index: usize) -> &[u8] {
        let before = index.checked_sub(1);
        match self {
            Hosts::Few(few) => {
                let start = before.map_or(0, |before| few.ends[before]);
                &few.text[usize::from(start)..usize::from(few.ends[index])]
            }
            Hosts::Many(many) => {
                let start = before.map_or(0, |before| many.ends[before]);
                &many.text[start as usize..many.ends[index] as usize]
            }
        }
    }

    /// Where a host stands.
    #[inline]
    pub(super) fn find(&self, host: &[u8]) -> Option<usize> {
        match self {
            Hosts::Few(few) => (0..usize::from(few.count)).find(|&index| self.get(index) == host),
            Hosts::Many(many) => {
                let found = many.index.find(hash(host, SEED), |index| many.hashes[index as usize])?;
                Some(found as usize).filter(|&found| self.get(found) == host)
            }
        }
    }
}

/// A list of hosts.
impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq((0..self.len()).map(|index| self.get(index)))
    }
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Hosts, D::Error> {
        Ok(Hosts::new(&Vec::<&[u8]>::deserialize(input)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_where_they_stand() {
        let long = "a".repeat(SHORT + 1);
        let many: Vec<String> = (0..300).map(|n| format!("h{n}.example")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for hosts in
            [&[][..], &["a.example"], &["", "a"], &["a", "b", "c", "d"], &["a", "b", "c", "d", "e"], &[&long], &many]
        {
            let bytes: Vec<&[u8]> = hosts.iter().map(|host| host.as_bytes()).collect();
            let hosts = Hosts::new(&bytes);
            assert_eq!(hosts.len(), bytes.len());
            for (index, host) in bytes.iter().enumerate() {
                assert_eq!((hosts.get(index), hosts.find(host)), (*host, Some(index)));
            }
            assert_eq!((hosts.find(b"a.examples"), hosts.find(b"x")), (None, None));
        }
    }
}
