//! Asking for memory ahead of the URLs that need it.
//!
//! Of 100,000 sites nothing is in the cache, and one URL waits for memory two times, one after the other: for the table of
//! hosts and for its site; where the sites have many templates, twice more, for the template and for its lists. Of several
//! URLs that come after each other all tables, then all sites, then all lists are asked for together, and memory answers
//! many questions in the time of one. Nothing but time depends on it; `cargo bench --bench open` tells how much.

use super::RuleSet;
use super::apply::Scratch;
use crate::model::hash64;
use memchr::memchr;

/// URLs that are asked for together.
pub const TOGETHER: usize = 16;

/// Sites, or templates, up to which all are taken to be in the cache.
pub(super) const CACHED: usize = 256;

impl Scratch {
    /// Asks for the memory that the next URLs will need, up to sixteen of them, which then are applied with this
    /// scratch. Gives how many it took; none for a rule set that is in the cache.
    pub fn expect<'u>(&mut self, rules: &RuleSet, urls: impl Iterator<Item = &'u [u8]>) -> usize {
        self.expected = 0;
        if rules.len() <= CACHED {
            return 0;
        }
        let mut hosts = [0; TOGETHER];
        for (hash, url) in hosts.iter_mut().zip(urls) {
            *hash = likely_host(url).map_or(0, hash64);
            self.expected += 1;
        }
        rules.fetch(&hosts[..self.expected]);
        self.expected
    }

    /// True where the memory for a URL was not asked for.
    pub(super) fn is_unexpected(&mut self) -> bool {
        let expected = self.expected > 0;
        self.expected = self.expected.saturating_sub(1);
        !expected
    }
}

/// The host of a URL that is written as most are.
fn likely_host(url: &[u8]) -> Option<&[u8]> {
    let rest = url.strip_prefix(b"http")?;
    let rest = rest.strip_prefix(b"s").unwrap_or(rest).strip_prefix(b"://")?;
    Some(&rest[..memchr(b'/', rest).unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::apply::Line;
    use crate::rules::{Operation, Representative, Rule, SiteRules};

    fn site(n: usize) -> SiteRules {
        let left_out = |key: String| (key, Operation::Ignore(Representative::LeftOut));
        let rule = Rule::of("", Vec::new(), vec![left_out("query a=".into()), left_out(format!("query k{n}="))]);
        let site = format!("s{n:03}.example");
        SiteRules { hosts: vec![site.clone()], site, rules: vec![rule], ..SiteRules::default() }
    }

    #[test]
    fn a_site_is_one_cache_line() {
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
    }

    #[test]
    fn expected_urls_come_out_as_others_do() {
        let few = RuleSet::new((0..CACHED).map(site).collect());
        let many = RuleSet::new((0..CACHED + 1).map(site).collect());
        let urls: Vec<String> = (0..40)
            .map(|n| match n % 5 {
                0 => format!("HTTP://S{:03}.example/?a=1&b=2", n),
                1 => format!("https://u@s{:03}.example:81/?a=1", n),
                2 => "mailto:x".to_owned(),
                3 => format!("http://www.s{:03}.example?a=1", n),
                _ => format!("http://s{:03}.example/{n}?a=1", n * 9 % CACHED),
            })
            .collect();
        let bytes = || urls.iter().map(String::as_bytes);
        let (mut plain, mut ahead) = (Scratch::default(), Scratch::default());
        assert_eq!(ahead.expect(&few, bytes()), 0);
        let mut at = 0;
        while at < urls.len() {
            let taken = ahead.expect(&many, bytes().skip(at));
            assert_eq!(taken, TOGETHER.min(urls.len() - at));
            for url in bytes().skip(at).take(taken) {
                assert_eq!(many.apply(url, None, &mut ahead).url, many.apply(url, None, &mut plain).url);
            }
            // Those that were expected have come.
            assert!(ahead.is_unexpected());
            at += taken;
        }
        assert_eq!(likely_host(b"https://a.b:8/c"), Some(&b"a.b:8"[..]));
        assert_eq!((likely_host(b"http://a"), likely_host(b"ftp://a/")), (Some(&b"a"[..]), None));
    }
}
