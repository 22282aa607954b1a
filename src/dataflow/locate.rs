//! Safe syntax and site of a record: the first step of both dataflows.
use crate::model::{Record, SiteBy, hash64};
use crate::url::safe;
use crate::url::site::site_of;
use std::collections::HashMap;

/// Hosts whose registrable domain is remembered; past it, all are forgotten.
const REMEMBERED: usize = 1 << 16;

/// Brings URLs to stage-1 normal form and finds their sites, in reused buffers.
///
/// The registrable domain of a host is its tail, so its length is remembered by the hash of the host: a look-up instead
/// of the suffix list a record. Memory: under 2 MiB.
#[derive(Debug)]
pub struct Locator {
    site_by: SiteBy,
    url: Vec<u8>,
    tails: HashMap<u64, u32, foldhash::fast::FixedState>,
}

impl Locator {
    /// A locator that deals by `site_by`.
    pub fn new(site_by: SiteBy) -> Locator {
        Locator { site_by, url: Vec::new(), tails: HashMap::default() }
    }

    /// The site of a record and its URL in stage-1 normal form; `None` for what is not an absolute http or https URL
    /// with a host.
    pub fn locate<'a>(&'a mut self, record: Record<'a>) -> Option<(&'a [u8], &'a [u8])> {
        let split = safe::normalize(record.url, &mut self.url).ok()?;
        let url = &self.url[..];
        let host = &url[split.host.0 as usize..split.host.1 as usize];
        let label = record.site.filter(|label| !label.is_empty());
        if label.is_some() || self.site_by == SiteBy::Host {
            return Some((site_of(label, host, self.site_by), url));
        }
        if self.tails.len() == REMEMBERED {
            self.tails.clear();
        }
        let by = self.site_by;
        let tail = *self.tails.entry(hash64(host)).or_insert_with(|| site_of(None, host, by).len() as u32);
        Some((&host[host.len().saturating_sub(tail as usize)..], url))
    }
}
