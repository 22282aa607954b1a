//! Normal form and site of a record: the first step of both dataflows.

use super::table::SiteTable;
use crate::model::{Record, SiteBy, hash64};
use crate::url::site::site_of;
use crate::url::syntax;
use std::collections::HashMap;

/// Hosts whose site is remembered; beyond, all are forgotten.
const REMEMBERED: usize = 1 << 16;

/// Brings URLs to normal form and finds their sites, in reused buffers.
///
/// The registrable domain of a host is its tail, so its length is cached by the hash of the host: a
/// look-up instead of the suffix list a record. Memory: under 2 MiB.
#[derive(Debug)]
pub struct Locator {
    site_by: SiteBy,
    url: Vec<u8>,
    tails: HashMap<u64, u32, foldhash::fast::FixedState>,
}

impl Locator {
    /// A locator that assigns sites by `site_by`.
    pub fn new(site_by: SiteBy) -> Locator {
        Locator { site_by, url: Vec::new(), tails: HashMap::default() }
    }

    /// The site of a record and its URL in normal form; `None` for text that is not an absolute
    /// http or https URL with a host.
    pub fn locate<'a>(&'a mut self, record: Record<'a>) -> Option<(&'a [u8], &'a [u8])> {
        let split = syntax::normalize(record.url, &mut self.url).ok()?;
        let url = &self.url[..];
        let host = &url[split.host.0 as usize..split.host.1 as usize];
        let label = record.site.filter(|label| !label.is_empty());
        if label.is_some() || self.site_by == SiteBy::Host {
            return Some((site_of(label, host, self.site_by), url));
        }
        // A registrable domain has no trailing dot.
        let host = host.strip_suffix(b".").unwrap_or(host);
        if self.tails.len() == REMEMBERED {
            self.tails.clear();
        }
        let by = self.site_by;
        let tail = *self.tails.entry(hash64(host)).or_insert_with(|| site_of(None, host, by).len() as u32);
        Some((&host[host.len().saturating_sub(tail as usize)..], url))
    }
}

/// A site of a [`SiteTable`], or the reason why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundSite {
    /// Index of the site.
    Site(u32),
    /// A site that is not in the table.
    Unknown,
    /// Not an absolute http or https URL with a host.
    Invalid,
}

/// Finder of the sites of a table for the proof, without bringing URLs to normal form.
///
/// The site of a record without a label depends on its host alone, and the host on the bytes before the
/// path: they are looked up by their hash, and only new ones go through a [`Locator`]. Memory: under 4
/// MiB.
#[derive(Debug)]
pub struct Finder {
    locator: Locator,
    sites: HashMap<u64, u32, foldhash::fast::FixedState>,
    last: (u64, u32),
}

impl Finder {
    /// A finder that assigns sites as `locator` does.
    pub fn new(locator: Locator) -> Finder {
        Finder { locator, sites: HashMap::default(), last: (0, u32::MAX) }
    }

    /// The site of a record. An invalid URL may get a site where its host has been met before.
    pub fn find(&mut self, record: Record<'_>, table: &SiteTable) -> FoundSite {
        if let Some(label) = record.site.filter(|label| !label.is_empty()) {
            return table.site(label).map_or(FoundSite::Unknown, FoundSite::Site);
        }
        let head = hash64(before_path(record.url));
        if self.last.0 == head && self.last.1 != u32::MAX {
            return FoundSite::Site(self.last.1);
        }
        if let Some(&site) = self.sites.get(&head) {
            self.last = (head, site);
            return FoundSite::Site(site);
        }
        let Some((name, _)) = self.locator.locate(record) else { return FoundSite::Invalid };
        let Some(site) = table.site(name) else { return FoundSite::Unknown };
        if self.sites.len() == REMEMBERED {
            self.sites.clear();
        }
        self.sites.insert(head, site);
        self.last = (head, site);
        FoundSite::Site(site)
    }

    /// The name of a site that [`find`](Self::find) did not find.
    pub fn name(&mut self, record: Record<'_>) -> Option<String> {
        let (name, _) = self.locator.locate(record)?;
        Some(String::from_utf8_lossy(name).into_owned())
    }
}

/// The bytes up to the first `/`, `?` or `#` behind `http://` and one byte more: they contain the host
/// of an absolute URL.
fn before_path(url: &[u8]) -> &[u8] {
    let start = url.len().min(8);
    let end = url[start..].iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(url.len() - start);
    &url[..start + end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataflow::learned_site::LearnedSite;
    use crate::rules::types::SiteRules;

    #[test]
    fn a_finder_finds_what_a_locator_finds() {
        let rules = |site: &str| SiteRules { site: site.to_owned(), ..SiteRules::default() };
        let learned = |site| LearnedSite { rules: rules(site), ..LearnedSite::default() };
        let (table, _) = SiteTable::new(["a.org", "b.co.uk", "label"].map(learned).to_vec(), 2, 0);
        let mut finder = Finder::new(Locator::new(SiteBy::Domain));
        let mut locator = Locator::new(SiteBy::Domain);
        let urls = [
            "http://a.org/x",
            "http://a.org",
            "http://a.org?q",
            "HTTPS://W.A.org:80/",
            "http://u@b.co.uk#f",
            "http://c.org/",
            "http:///a.org/",
            "http://",
            "http",
            "ftp://a.org/",
            "http://a.org/x",
            "http://u:a@b.co.uk/@a.org",
            "http://a.org\\@b.co.uk/",
            "http://%61.org/",
            "http://a.org./",
            "http://w.b.co.uk.:81/x",
            "",
        ];
        for url in urls.iter().chain(&urls) {
            for site in [None, Some(&b"label"[..]), Some(b"other"), Some(b"")] {
                let record = Record { url: url.as_bytes(), cluster: None, site, elsewhere: false };
                let label = site.filter(|label| !label.is_empty());
                let want = match label.or_else(|| locator.locate(record).map(|(name, _)| name)) {
                    None => FoundSite::Invalid,
                    Some(name) => table.site(name).map_or(FoundSite::Unknown, FoundSite::Site),
                };
                assert_eq!(finder.find(record, &table), want, "{url} {site:?}");
            }
        }
    }
}
