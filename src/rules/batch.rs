//! Batches: many URLs canonicalized together, each stage for all of them before the next one.
//!
//! Little of a large rule set is in the cache, and a single URL has one cache miss after the other: the
//! index of hosts, its site, the template and its lists, the tables of pages, the canonical URL. In a
//! batch each stage runs for sixteen URLs, so that their cache misses overlap. A rule set that is in
//! the cache takes its URLs one at a time. Only time depends on it: `cargo bench --bench open` measures
//! many sites, `scripts/bench normalize` many pages.

use super::applied::Applied;
use super::apply::Scratch;
use super::lane::Lane;
use super::origin_cache::OriginCache;
use super::set::{CACHED, RuleSet};

/// URLs of a batch.
pub const LANES: usize = 16;

/// Buffers of one thread for batches, reused: no allocation in the steady state. At most sixteen times
/// those of a [`Scratch`].
#[derive(Clone, Debug, Default)]
pub struct Batch {
    lanes: Vec<Lane>,
    /// The origins of all lanes; all buffers for rule sets that are in the cache.
    alone: Scratch,
}

impl Batch {
    /// Canonicalizes `urls` and passes each with its result to `take`, in their order. Up to [`LANES`] are
    /// read before the first is passed.
    pub fn apply<U: AsRef<[u8]>>(
        &mut self,
        rules: &RuleSet,
        urls: impl Iterator<Item = U>,
        mut take: impl FnMut(U, Applied<'_>),
    ) {
        if rules.is_cached() {
            for url in urls {
                let applied = rules.apply(url.as_ref(), None, &mut self.alone);
                take(url, applied);
            }
            return;
        }
        self.lanes.resize_with(LANES, Lane::default);
        let mut urls = urls.fuse();
        loop {
            let batch: [Option<U>; LANES] = std::array::from_fn(|_| urls.next());
            let count = batch.iter().flatten().count();
            let lanes = &mut self.lanes[..count];
            run(rules, lanes, batch.iter().flatten().map(AsRef::as_ref), &mut self.alone.origins);
            for (lane, url) in lanes.iter().zip(batch.into_iter().flatten()) {
                take(url, lane.applied(rules));
            }
            if count < LANES {
                return;
            }
        }
    }
}

/// Runs the stages. Prefetches run in separate loops so that cache misses overlap; the sum of their
/// loads has no meaning.
fn run<'u>(
    rules: &RuleSet,
    lanes: &mut [Lane],
    urls: impl Iterator<Item = &'u [u8]> + Clone,
    origins: &mut OriginCache,
) {
    for (lane, url) in lanes.iter_mut().zip(urls.clone()) {
        lane.normalize(url, rules, origins);
    }
    for (lane, url) in lanes.iter_mut().zip(urls) {
        lane.find_site(None, url, rules, origins);
    }
    // A site is one cache line, and so is the start of its template.
    std::hint::black_box(lanes.iter().filter(|lane| lane.compiled(rules).is_some()).count());
    if rules.templates > CACHED {
        lanes.iter().for_each(|lane| lane.prefetch(rules));
    }
    for lane in &mut *lanes {
        match lane.compiled(rules) {
            Some(site) => lane.reduce(site, origins),
            None => lane.pass(rules),
        }
    }
    let compiled = |lane: &Lane| lane.compiled(rules);
    lanes.iter_mut().for_each(|lane| compiled(lane).into_iter().for_each(|site| lane.look_up(site)));
    lanes.iter_mut().for_each(|lane| compiled(lane).into_iter().for_each(|site| lane.finish(rules, site, origins)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::origins::of_hosts;
    use crate::rules::set::CACHED_PAGES;
    use crate::rules::{Operation, Representative, Rule, SiteRules};
    use std::cell::Cell;

    /// A site with rules, and for each third one look-ups, two of them to themselves.
    fn site(n: usize) -> SiteRules {
        let left_out = |key: String| (key, Operation::Ignore(Representative::LeftOut));
        let rule = Rule::of("", Vec::new(), vec![left_out("query a=".into()), left_out(format!("query k{n}="))]);
        let site = format!("s{n:03}.example");
        let page = |path: &str| format!("http://{site}/{path}");
        let itself = |url: String| [url.clone(), url];
        let aliases = match n % 3 {
            0 => vec![itself(page("x")), itself(page("y?b=2")), [page("z"), page("x")]],
            _ => vec![],
        };
        SiteRules { origins: of_hosts([&site]), rules: vec![rule], aliases, site, ..Default::default() }
    }

    #[test]
    fn urls_of_a_batch_come_out_as_others_do() {
        let many = RuleSet::new((0..CACHED + 1).map(site).collect());
        let urls: Vec<String> = (0..90)
            .map(|n| match n % 9 {
                0 => format!("HTTP://S{n:03}.example/?a=1&b=2"),
                1 => format!("https://u@s{n:03}.example:81/?a=1"),
                2 => "mailto:x".to_owned(),
                3 => format!("http://www.s{n:03}.example?a=1"),
                4 => format!("http://other{n}.example/?a=1"),
                5 => format!("http://s{:03}.example/x", n / 9 * 3),
                6 => format!("http://s{:03}.example/z?a=2", n / 9 * 3),
                7 => format!("http://s{:03}.example/y?a=3&b=2", n / 9 * 3),
                _ => format!("http://s{n:03}.example/{n}?a=1"),
            })
            .collect();
        let mut scratch = Scratch::default();
        let (mut taken, mut looked_up) = (0, 0);
        Batch::default().apply(&many, urls.iter(), |url, together| {
            assert_eq!(*url, urls[taken]);
            let alone = many.apply(url.as_bytes(), None, &mut scratch);
            assert_eq!(format!("{alone:?}"), format!("{together:?}"));
            looked_up += usize::from(alone.looked_up);
            taken += 1;
        });
        assert_eq!(taken, urls.len());
        // Also URLs that the rules lead to a page.
        assert_eq!(looked_up, 30);
    }

    #[test]
    fn urls_whose_origins_come_again_come_out_as_others_do() {
        let many = RuleSet::new((0..CACHED + 1).map(site).collect());
        // More origins than are kept, a few at a time and repeated later: some are evicted within a batch.
        let url = |n: usize| match n % 5 {
            0 => format!("https://u@s{:03}.example/?a=1", n / 60),
            1 => format!("http://s{:03}.example/a/long/path?a={n}", n % 50),
            2 => format!("http://s{:03}.example/y?a=3&b=2", n / 60 * 3),
            3 => format!("http://www.s{:03}.example/z?a={n}&k{}=2", n % 40, n % 40),
            _ => format!("http://s{:03}.example/y?a=3&b={}", n / 100, n % 3),
        };
        let urls: Vec<String> = (0..4000).map(url).collect();
        let (mut batch, mut taken) = (Batch::default(), 0);
        batch.apply(&many, urls.iter(), |url, together| {
            let alone = format!("{:?}", many.apply(url.as_bytes(), None, &mut Scratch::default()));
            assert_eq!(alone, format!("{together:?}"), "{url}");
            taken += 1;
        });
        assert_eq!(taken, urls.len());
        assert!(batch.lanes.iter().any(|lane| lane.hit.is_some()));
    }

    /// Whether a rule set reads several URLs before it gives the first.
    fn reads_ahead(rules: &RuleSet) -> bool {
        let read = Cell::new(0);
        let urls = ["http://s001.example/?a=1", "HTTP://s002.example", "http://s003.example/"];
        let mut became = Vec::new();
        let mut together = false;
        let count = |_: &&str| read.set(read.get() + 1);
        Batch::default().apply(rules, urls.into_iter().inspect(count), |_, applied| {
            together |= read.get() > became.len() + 1;
            became.push(String::from_utf8_lossy(applied.url).into_owned());
        });
        assert_eq!(became[1..], ["http://s002.example/", "http://s003.example/"]);
        together
    }

    #[test]
    fn few_sites_and_few_pages_take_their_urls_one_at_a_time() {
        let large = |pages: usize| {
            let page = |n: usize| format!("http://p.example/{n}");
            let aliases = (0..pages).map(|n| [page(n), page(n)]).collect();
            RuleSet::new(vec![SiteRules {
                site: "p.example".into(),
                origins: of_hosts(["p.example"]),
                aliases,
                ..site(1)
            }])
        };
        assert!(!reads_ahead(&RuleSet::new((0..CACHED).map(site).collect())));
        assert!(reads_ahead(&RuleSet::new((0..CACHED + 1).map(site).collect())));
        assert!(!reads_ahead(&large(CACHED_PAGES)));
        assert!(reads_ahead(&large(CACHED_PAGES + 1)));
    }
}
