//! The hosts of a site and those that its rules name: the part in which its rules differ from those of
//! other sites.

use super::index::Index;
use crate::rules::origins::parts;
use crate::url::hash::hash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Seed of their hashes.
const SEED: u64 = 0;

/// Hosts, with their ports: first those that rules name, in the order of their codes, then the others
/// of the site.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hosts {
    text: Box<[u8]>,
    /// End of each host in `text`; behind it one bit each that the site has its http and its https origin.
    ends: Box<[u32]>,
    /// Hosts by hash.
    index: Index,
}

impl Hosts {
    /// The hosts that rules name, which are distinct, and the origins of the site.
    pub(super) fn new(named: &[String], origins: &[String]) -> Hosts {
        let mut schemes: BTreeMap<&str, u32> = BTreeMap::new();
        for (scheme, host) in origins.iter().map(|origin| parts(origin)) {
            *schemes.entry(host).or_default() |= bit(scheme.as_bytes());
        }
        let named = named.iter().map(|host| (host.as_str(), schemes.remove(host.as_str()).unwrap_or(0)));
        let mut all: Vec<(&str, u32)> = named.collect();
        all.extend(schemes);
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for (host, schemes) in &all {
            text.extend_from_slice(host.as_bytes());
            ends.push((text.len() as u32) << 2 | schemes);
        }
        let index = Index::new(all.iter().map(|(host, _)| hash(host.as_bytes(), SEED)), 0);
        Hosts { text: text.into(), ends: ends.into(), index }
    }

    /// The host at `index`.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&[u8]> {
        let end = (*self.ends.get(index)? >> 2) as usize;
        Some(&self.text[index.checked_sub(1).map_or(0, |before| (self.ends[before] >> 2) as usize)..end])
    }

    /// Index of a host.
    #[inline]
    pub(super) fn find(&self, host: &[u8]) -> Option<usize> {
        let found = self.index.find(hash(host, SEED), |index| self.get(index as usize) == Some(host))?;
        Some(found as usize)
    }

    /// True where the site has this origin.
    pub(super) fn has_origin(&self, scheme: &[u8], host: &[u8]) -> bool {
        self.find(host).is_some_and(|index| self.ends[index] & bit(scheme) != 0)
    }
}

/// The bit of a scheme; 0 for text that is no scheme.
fn bit(scheme: &[u8]) -> u32 {
    match scheme {
        b"http" => 1,
        b"https" => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::origins::of_hosts;

    #[test]
    fn hosts_are_found_at_their_index() {
        let long = "a".repeat(43);
        let many: Vec<String> = (0..300).map(|n| format!("h{n}.example")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for named in
            [&[][..], &["a.example"], &["", "a"], &["a", "b", "c", "d"], &["a", "b", "c", "d", "e"], &[&long], &many]
        {
            let text: Vec<String> = named.iter().map(|&host| host.to_owned()).collect();
            let hosts = Hosts::new(&text, &of_hosts(["z.example", "a"]));
            let count = named.len() + 2 - usize::from(named.contains(&"a"));
            assert_eq!((hosts.get(count - 1), hosts.get(count)), (Some(&b"z.example"[..]), None));
            for (index, host) in named.iter().map(|host| host.as_bytes()).enumerate() {
                assert_eq!((hosts.get(index), hosts.find(host)), (Some(host), Some(index)));
            }
            assert_eq!((hosts.find(b"a.examples"), hosts.find(b"x")), (None, None));
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origins = ["http://a", "http://b:81", "https://b", "https://c"].map(str::to_owned);
        let hosts = Hosts::new(&["b".to_owned(), "d".to_owned()], &origins);
        let has = |scheme: &str, host: &str| hosts.has_origin(scheme.as_bytes(), host.as_bytes());
        for (host, schemes) in [("a", "http"), ("b:81", "http"), ("b", "https"), ("c", "https"), ("d", ""), ("e", "")] {
            assert_eq!(
                ["http", "https", "ftp"].map(|scheme| has(scheme, host)),
                ["http", "https", ""].map(|of| of == schemes && !of.is_empty()),
                "{host}"
            );
        }
    }
}
