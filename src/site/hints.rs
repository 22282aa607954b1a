//! Preferences among equals: which origin, value, form or page represents others that are proven to be
//! the same. The tests that a rule must pass are the same with them.
//!
//! - The origins that records of the site redirect to or declare, counted over all records
//!   ([`Targets`]).
//! - The rules of the site in an earlier result (`learn --previous`): where they moved URLs to one of
//!   several values, that value stays, as long as it is one of them. Which of these rules stay is decided
//!   once those of this run are found ([`relearn`](super::relearn)).

use crate::model::hash64;
use crate::rules::SiteRules;
use crate::rules::origins::of as origin;
use crate::url::normalize;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The hints of one site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// Origins that records redirect to or declare.
    pub targets: Targets,
    /// Rules of the site in an earlier result.
    pub previous: Option<Arc<SiteRules>>,
}

/// Records that redirect to an origin other than their own, or declare it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Votes {
    /// Votes for an origin of another scheme.
    pub scheme: u64,
    /// Votes for an origin of another host or port.
    pub host: u64,
}

/// Votes by origin (`https://www.example.org:8443`), of at most [`Targets::MAX`] origins of a site:
/// those of smallest hash. The counts of these are exact, and the same for any order and any division
/// of the records. Memory: 80 bytes and its text an origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets(BTreeMap<(u64, Box<[u8]>), Votes>);

impl Targets {
    /// Origins of a site that are counted: a bound of memory.
    pub const MAX: usize = 256;

    /// Adds votes for an origin.
    pub fn add(&mut self, origin: &[u8], votes: Votes) {
        let sum = self.0.entry((hash64(origin), origin.into())).or_default();
        (sum.scheme, sum.host) = (sum.scheme + votes.scheme, sum.host + votes.host);
        if self.0.len() > Targets::MAX {
            // An origin that was dropped has as many smaller ones ahead of it in the whole: it returns only to be
            // dropped again.
            self.0.pop_last();
        }
    }

    /// Counts a record with this URL, in normal form, that redirects to `target` or declares it. Its own
    /// origin, and a target that is no http or https URL, are not counted.
    pub fn count(&mut self, url: &[u8], target: &[u8], scratch: &mut Vec<u8>) {
        let (from, to) = (origin(url), normalize(target, scratch).is_ok().then(|| origin(scratch)));
        let Some(to) = to.filter(|to| *to != from) else { return };
        let (scheme, host) = (scheme(from) != scheme(to), from[scheme(from).len()..] != to[scheme(to).len()..]);
        self.add(to, Votes { scheme: scheme.into(), host: host.into() });
    }

    /// Origins and their votes, by hash.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Votes)> {
        self.0.iter().map(|((_, origin), votes)| (&**origin, *votes))
    }
}

pub(super) fn scheme(origin: &[u8]) -> &[u8] {
    &origin[..memchr::memchr(b':', origin).unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_vote_for_other_origins_alone() {
        let mut targets = Targets::default();
        let mut scratch = Vec::new();
        let records = [
            ("http://a.org/x", "https://a.org/x"),
            ("http://a.org/x", "HTTPS://www.A.org:443/y?z"),
            ("http://a.org/x", "http://a.org:80/y"),
            ("http://a.org/x", "/y"),
            ("http://a.org/x", "mailto:b@a.org"),
            ("https://a.org:8443/x", "https://www.a.org"),
        ];
        records.iter().for_each(|(url, to)| targets.count(url.as_bytes(), to.as_bytes(), &mut scratch));
        let mut found: Vec<(String, Votes)> =
            targets.iter().map(|(origin, votes)| (String::from_utf8_lossy(origin).into_owned(), votes)).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let votes = |scheme, host| Votes { scheme, host };
        assert_eq!(found, [("https://a.org".to_owned(), votes(1, 0)), ("https://www.a.org".to_owned(), votes(1, 2))]);
    }

    #[test]
    fn the_counts_do_not_depend_on_order_or_division() {
        let all: Vec<String> = (0..3 * Targets::MAX).map(|n| format!("https://h{}.org", n % 700)).collect();
        let sum = |origins: &mut dyn Iterator<Item = &String>| {
            let mut targets = Targets::default();
            origins.for_each(|origin| targets.add(origin.as_bytes(), Votes { scheme: 1, host: 2 }));
            targets
        };
        let whole = sum(&mut all.iter());
        assert_eq!(whole.iter().count(), Targets::MAX);
        assert_eq!(sum(&mut all.iter().rev()), whole);
        let mut merged = sum(&mut all[..100].iter());
        for part in [&all[100..500], &all[500..]] {
            sum(&mut part.iter()).iter().for_each(|(origin, votes)| merged.add(origin, votes));
        }
        assert_eq!(merged, whole);
    }
}
