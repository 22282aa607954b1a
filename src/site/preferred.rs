//! What records and an earlier result say of canonical URLs ([`hints`](super::hints)), in terms of the columns of a
//! site: origins with votes, and the earlier canonical URL of each row.

use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};

/// The hints in terms of the columns of a site.
#[derive(Clone, Debug, Default)]
pub struct Preferred {
    /// Codes of the canonical URL of each row under the earlier rules, `[key][row]`; empty without them.
    pub(super) before: Vec<Vec<u32>>,
    /// Schemes and hosts of the rows, by code.
    pub(super) origins: HashSet<(u32, u32), FixedState>,
    /// Votes for hosts, in origins of the rows.
    pub(super) hosts: HashMap<u32, u64, FixedState>,
    /// The scheme with most votes in origins of the rows, if any has one.
    pub(super) scheme: Option<u32>,
}

impl Preferred {
    /// Keeps the given rows.
    pub fn retain(&mut self, rows: &[u32]) {
        for column in &mut self.before {
            *column = rows.iter().map(|&r| column[r as usize]).collect();
        }
    }

    /// The scheme that records redirect to or declare.
    pub fn scheme(&self) -> Option<u32> {
        self.scheme
    }

    /// Records that redirect to a host, or declare it, from another one.
    pub fn host_votes(&self, host: u32) -> u64 {
        self.hosts.get(&host).copied().unwrap_or(0)
    }

    /// True where some row has this scheme and this host.
    pub fn is_origin(&self, scheme: u32, host: u32) -> bool {
        self.origins.contains(&(scheme, host))
    }

    /// True with an earlier result.
    pub fn has_earlier(&self) -> bool {
        !self.before.is_empty()
    }

    /// Code of the canonical URL of a row under the earlier rules; `None` without them.
    pub fn before(&self, key: usize, row: u32) -> Option<u32> {
        Some(self.before.get(key)?[row as usize])
    }
}
