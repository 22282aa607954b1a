//! URLs in flight: up to sixteen canonicalized together, each step for all of them before the next one.
//!
//! Of a large rule set little is in the cache, and one URL waits for memory many times, one after the other: for the table
//! of hosts, its site, the template and its lists, the table of pages, the table of look-ups, the canonical URL. In a
//! flight each step ends by asking for the memory that the next one needs, for all URLs, and memory answers many questions
//! in the time of one. A rule set that is in the cache anyway takes its URLs one at a time. Nothing but time depends on
//! it: `cargo bench --bench open` tells how much for many sites, `scripts/bench --only normalize` for many pages.

use super::applied::{Applied, Outcome};
use super::apply::{Compiled, RuleSet, Scratch};
use super::compiled::CompiledSite;
use super::origins::{Met, Origins};
use crate::model::hash64;
use crate::url::{self, Split};

/// URLs that fly together.
pub const TOGETHER: usize = 16;

/// Sites, or templates, up to which all are taken to be in the cache.
pub(super) const CACHED: usize = 256;
/// Seen members, of all sites, up to which tables of pages are: some 3 MB with the URLs.
pub(super) const CACHED_PAGES: usize = 1 << 15;

/// Buffers of one thread for URLs that fly together, reused from flight to flight: no allocation in the steady state. At
/// most sixteen times those of a [`Scratch`], each some kilobytes and a few times its longest URL.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    ways: Vec<Way>,
    /// The last origins of all of them.
    origins: Origins,
    /// For URLs of a rule set that is in the cache.
    alone: Scratch,
}

/// One URL on its way.
#[derive(Clone, Debug, Default)]
struct Way {
    scratch: Scratch,
    split: Split,
    /// What is known of its origin.
    met: Met,
    /// Bytes of its stage-1 form.
    length: usize,
    /// Hash of its host.
    host: u64,
    site: Option<u32>,
    /// The seen member that decides.
    member: Option<u32>,
    /// Where its canonical URL is, once it landed.
    outcome: Outcome,
    landed: bool,
}

impl Flight {
    /// Canonicalizes `urls` and gives each with what became of it to `take`, in their order.
    ///
    /// Up to [`TOGETHER`] are read before the first is given.
    pub fn apply<U: AsRef<[u8]>>(
        &mut self,
        rules: &RuleSet,
        urls: impl Iterator<Item = U>,
        mut take: impl FnMut(U, Applied<'_>),
    ) {
        if rules.is_cached() {
            for url in urls {
                let became = rules.apply(url.as_ref(), None, &mut self.alone);
                take(url, became);
            }
            return;
        }
        self.ways.resize_with(TOGETHER, Way::default);
        let mut urls = urls.fuse();
        loop {
            let together: [Option<U>; TOGETHER] = std::array::from_fn(|_| urls.next());
            let mut count = 0;
            for (way, url) in self.ways.iter_mut().zip(together.iter().flatten()) {
                way.start(url.as_ref(), rules.number(), &mut self.origins);
                count += 1;
            }
            fly(rules, &mut self.ways[..count], &mut self.origins);
            for (way, url) in self.ways.iter().zip(together.into_iter().flatten()) {
                take(url, rules.applied(way.site, way.outcome, &way.scratch));
            }
            if count < TOGETHER {
                return;
            }
        }
    }
}

/// The steps, each for all URLs. What is loaded ahead adds up to a number that says nothing.
fn fly(rules: &RuleSet, ways: &mut [Way], origins: &mut Origins) {
    let mut asked = 0;
    for way in &*ways {
        asked ^= rules.hosts.fetch(way.host);
    }
    for way in &mut *ways {
        way.find_site(rules, origins);
        // A site is one cache line.
        asked ^= way.compiled(rules).map_or(0, |site| u64::from(site.stays()));
    }
    if rules.templates > CACHED {
        for way in &*ways {
            asked ^= way.compiled(rules).map_or(0, |site| site.template().fetch_head());
        }
        for way in &*ways {
            asked ^= way.compiled(rules).map_or(0, |site| site.template().fetch());
        }
    }
    // What asks stands in loops of its own: behind as much work as a URL takes, the next question would wait its turn.
    for way in &mut *ways {
        if way.compiled(rules).is_some_and(|site| site.stands(way.split.hash)) {
            way.outcome = Outcome::Itself;
        }
    }
    for way in &mut *ways {
        way.reduce(rules, origins);
    }
    for way in &mut *ways {
        way.member = way.compiled(rules).and_then(|site| site.member(&mut way.scratch));
    }
    for way in &*ways {
        asked ^= way.compiled(rules).map_or(0, |site| site.fetch_end(way.member));
    }
    for way in &*ways {
        asked ^= way.compiled(rules).map_or(0, |site| site.fetch_member(way.member));
    }
    std::hint::black_box(asked);
    for way in ways {
        way.land(rules);
    }
}

impl Way {
    /// Stage 1.
    fn start(&mut self, url: &[u8], rules: u64, origins: &mut Origins) {
        let Way { scratch, .. } = self;
        scratch.fired.clear();
        (self.site, self.outcome) = (None, Outcome::Made);
        self.met = origins.find(url, rules);
        let normal = url::normalize_behind(self.met.origin(), url, &mut scratch.cells.text, &mut self.split);
        self.landed = normal.is_err();
        match normal {
            Ok(()) => {
                self.length = scratch.cells.text.len();
                self.met = self.met.unless_odd(url, &scratch.cells.text, &self.split);
                if self.met.origin().is_none() {
                    self.host = hash64(scratch.host(&self.split));
                }
            }
            Err(_) => {
                scratch.out.clear();
                scratch.out.extend_from_slice(url);
                self.outcome = Outcome::Invalid;
            }
        }
    }

    fn find_site(&mut self, rules: &RuleSet, origins: &mut Origins) {
        match self.met {
            _ if self.landed => {}
            Met::Known(place) => self.site = place.site,
            met => {
                self.site = rules.site_of(self.host, self.scratch.host(&self.split));
                rules.keep_origin(met, self.site, &self.split, &self.scratch, origins);
            }
        }
        if self.split.fragment.is_some()
            && let Some(site) = self.compiled(rules)
            && site.leave_out_fragment(&mut self.split, &mut self.scratch.cells.text)
        {
            self.length = self.scratch.cells.text.len();
        }
    }

    /// Its site, where it has rules and still something to say.
    fn compiled<'r>(&self, rules: &'r RuleSet) -> Option<&'r CompiledSite> {
        match self.site.filter(|_| !self.landed).map(|site| rules.compiled(site)) {
            Some(Compiled::Undust(compiled)) => Some(compiled),
            _ => None,
        }
    }

    /// The rules, up to what they reduce it to.
    fn reduce(&mut self, rules: &RuleSet, origins: &mut Origins) {
        match self.compiled(rules) {
            Some(_) if self.outcome == Outcome::Itself => {
                std::mem::swap(&mut self.scratch.cells.text, &mut self.scratch.out);
                self.landed = true;
            }
            Some(site) if !site.is_trivial() => {
                let coded = match self.met {
                    Met::Known(place) => origins.coded(place),
                    _ => None,
                };
                site.reduce(&self.split, &mut self.scratch, coded);
            }
            _ => {
                if !self.landed {
                    rules.apply_normal(&self.split, self.site, &mut self.scratch);
                    self.landed = true;
                }
            }
        }
    }

    fn land(&mut self, rules: &RuleSet) {
        if let Some(site) = self.compiled(rules) {
            self.outcome = rules.conclude(site, self.member, &self.split, self.length, self.site, &mut self.scratch);
            self.landed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::apply::Line;
    use crate::rules::{Operation, Representative, Rule, SiteRules};
    use std::cell::Cell;

    /// A site with rules, and for each third one pages that were seen and one that is another.
    fn site(n: usize) -> SiteRules {
        let left_out = |key: String| (key, Operation::Ignore(Representative::LeftOut));
        let rule = Rule::of("", Vec::new(), vec![left_out("query a=".into()), left_out(format!("query k{n}="))]);
        let site = format!("s{n:03}.example");
        let page = |path: &str| format!("http://{site}/{path}");
        let (seen, aliases) = match n % 3 {
            0 => (vec![page("x"), page("y?b=2")], vec![[page("z"), page("x")]]),
            _ => (vec![], vec![]),
        };
        SiteRules {
            hosts: vec![site.clone()],
            rules: vec![rule],
            seen: seen.into(),
            aliases,
            site,
            ..Default::default()
        }
    }

    #[test]
    fn a_site_is_one_cache_line() {
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
    }

    #[test]
    fn urls_that_fly_together_come_out_as_others_do() {
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
        Flight::default().apply(&many, urls.iter(), |url, flown| {
            assert_eq!(*url, urls[taken]);
            let alone = many.apply(url.as_bytes(), None, &mut scratch);
            assert_eq!(format!("{alone:?}"), format!("{flown:?}"));
            looked_up += usize::from(alone.looked_up);
            taken += 1;
        });
        assert_eq!(taken, urls.len());
        // What stands, what is another page, and what the rules make a seen one.
        assert_eq!(looked_up, 30);
    }

    #[test]
    fn urls_whose_origins_come_again_come_out_as_others_do() {
        let many = RuleSet::new((0..CACHED + 1).map(site).collect());
        // More origins than are kept, a few at a time and again later: some give way while a URL of theirs is in flight.
        let url = |n: usize| match n % 5 {
            0 => format!("https://u@s{:03}.example/?a=1", n / 60),
            1 => format!("http://s{:03}.example/a/long/path?a={n}", n % 50),
            2 => format!("http://s{:03}.example/y?a=3&b=2", n / 60 * 3),
            3 => format!("http://www.s{:03}.example/z?a={n}&k{}=2", n % 40, n % 40),
            _ => format!("http://s{:03}.example/y?a=3&b={}", n / 100, n % 3),
        };
        let urls: Vec<String> = (0..4000).map(url).collect();
        let (mut flight, mut taken) = (Flight::default(), 0);
        flight.apply(&many, urls.iter(), |url, flown| {
            let alone = format!("{:?}", many.apply(url.as_bytes(), None, &mut Scratch::default()));
            assert_eq!(alone, format!("{flown:?}"), "{url}");
            taken += 1;
        });
        assert_eq!(taken, urls.len());
        assert!(flight.ways.iter().any(|way| way.met.origin().is_some()));
    }

    /// Whether a rule set reads several URLs before it gives the first.
    fn fly_together(rules: &RuleSet) -> bool {
        let read = Cell::new(0);
        let urls = ["http://s001.example/?a=1", "HTTP://s002.example", "http://s003.example/"];
        let mut became = Vec::new();
        let mut together = false;
        let count = |_: &&str| read.set(read.get() + 1);
        Flight::default().apply(rules, urls.into_iter().inspect(count), |_, applied| {
            together |= read.get() > became.len() + 1;
            became.push(String::from_utf8_lossy(applied.url).into_owned());
        });
        assert_eq!(became[1..], ["http://s002.example/", "http://s003.example/"]);
        together
    }

    #[test]
    fn few_sites_and_few_pages_take_their_urls_one_at_a_time() {
        let large = |pages: usize| {
            let pages = (0..pages).map(|n| format!("http://p.example/{n}")).collect();
            RuleSet::new(vec![SiteRules {
                site: "p.example".into(),
                hosts: vec!["p.example".into()],
                seen: pages,
                ..site(1)
            }])
        };
        assert!(!fly_together(&RuleSet::new((0..CACHED).map(site).collect())));
        assert!(fly_together(&RuleSet::new((0..CACHED + 1).map(site).collect())));
        assert!(!fly_together(&large(CACHED_PAGES)));
        assert!(fly_together(&large(CACHED_PAGES + 1)));
    }
}
