//! Origin cache: the last origins, with the data computed for each.
//!
//! The URLs of a shard, of a queue, of a page name few hosts, each many times. The cache keeps, for the
//! last origins, whether the origin is in normal form, the program that acts on it, and the coding of
//! scheme and host, so that the next URL that starts with the same bytes needs none of it. Only time
//! depends on it.

use super::compiled::{CodedOrigin, KeptOrigin};
use crate::url::{self, Origin, Split};

/// Most origins that are kept; the oldest is evicted.
const KEPT: usize = 32;
/// Places of the index: enough that few origins share one.
const PLACES: usize = 256;
/// Lengths of an origin that is kept, in bytes: enough for two words, and at most the bytes that
/// [`url::origin`] reads.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=40;

/// The last origins: some eight kilobytes when all are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct OriginCache {
    kept: Vec<Entry>,
    /// Candidate entry of an origin, by its hash.
    index: Vec<u8>,
    /// Entries made so far.
    count: u64,
}

/// Cache entry of the origin of one URL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// Number of the entry among all that were made.
    number: u64,
    /// Number of the program for the origin.
    pub(super) program: Option<u32>,
    pub(super) origin: Origin,
}

#[derive(Clone, Debug)]
struct Entry {
    /// Number of the rule set; none has 0.
    rules: u64,
    number: u64,
    bytes: Bytes,
    program: Option<u32>,
    coded: Option<CodedOrigin>,
}

impl OriginCache {
    /// The cache entry of the origin of a URL under these rules.
    #[inline(always)]
    pub(super) fn find(&self, url: &[u8], rules: u64) -> Option<Hit> {
        let origin = url::origin(url)?;
        let bytes = Bytes::of(&url[..origin.end])?;
        let entry = self.kept.get(usize::from(*self.index.get(bytes.place())?))?;
        let hit = Hit { number: entry.number, program: entry.program, origin };
        (entry.bytes == bytes && entry.rules == rules).then_some(hit)
    }

    /// Caches the origin of a URL with the normal form `text`, unless it has more than a scheme and a host
    /// or another normal form.
    #[inline(never)]
    pub(super) fn insert(&mut self, url: &[u8], text: &[u8], split: &Split, rules: u64, program: Option<u32>) {
        let end = split.path.0 as usize;
        let plain = split.authority == split.host && url.get(..=end) == text.get(..=end);
        let Some(bytes) = Bytes::of(&text[..end]).filter(|_| plain) else { return };
        let (number, at) = (self.count, self.count as usize % KEPT);
        self.index.resize(PLACES, 0);
        self.index[bytes.place()] = at as u8;
        let entry = Entry { rules, number, bytes, program, coded: None };
        match self.kept.get_mut(at) {
            Some(oldest) => *oldest = entry,
            None => self.kept.push(entry),
        }
        self.count += 1;
    }

    /// Place of the coding of scheme and host; `None` where another origin took the entry.
    #[inline(always)]
    pub(super) fn coded(&mut self, hit: &Hit) -> KeptOrigin<'_> {
        let entry = self.kept.get_mut(hit.number as usize % KEPT)?;
        (entry.number == hit.number).then_some(&mut entry.coded)
    }
}

/// All bytes of an origin, as words that overlap where it is short: faster to compare than a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bytes {
    length: usize,
    first: u128,
    middle: u64,
    last: u128,
}

impl Bytes {
    /// Words of an origin that may be kept.
    #[inline(always)]
    fn of(origin: &[u8]) -> Option<Bytes> {
        let length = origin.len();
        if length > *LENGTHS.end() {
            return None;
        }
        let (first, last) = (u128::from_le_bytes(*origin.first_chunk()?), u128::from_le_bytes(*origin.last_chunk()?));
        // Up to 8 bytes lie between the two.
        let middle = u64::from_le_bytes(*origin[length / 2 - 4..].first_chunk()?);
        Some(Bytes { length, first, middle, last })
    }

    #[inline(always)]
    fn place(&self) -> usize {
        let bytes =
            (self.first >> 64) as u64 ^ (self.last as u64).rotate_left(29) ^ ((self.last >> 64) as u64).rotate_left(7);
        ((bytes ^ self.length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::origins::of_hosts;
    use crate::rules::{Operation, Representative, Rule, RuleSet, Scratch, SiteRules};

    /// A site that goes by one scheme and one host, and leaves out a parameter.
    fn set(scheme: &str, host: &str) -> RuleSet {
        let ignore =
            |key: &str, to: Representative| Rule::of("", Vec::new(), vec![(key.into(), Operation::Ignore(to))]);
        let becomes = |text: &str| Representative::WherePresent(text.into());
        let rules = vec![
            ignore("scheme", becomes(scheme)),
            ignore("host", becomes(host)),
            ignore("query sid=", Representative::LeftOut),
        ];
        let origins = of_hosts(["site.example", "www.site.example", host]);
        RuleSet::new(vec![SiteRules { site: "site.example".into(), origins, rules, ..Default::default() }])
    }

    #[test]
    fn urls_of_known_origins_come_out_as_others_do() {
        // An origin too long to be kept is canonicalized all the same.
        let long = format!("{}.site.example", "a".repeat(60));
        let sets = [set("http", "site.example"), set("https", "www.site.example"), set("http", &long)];
        let origins = [
            "http://site.example",
            "https://site.example",
            "https://www.site.example",
            "http://WWW.site.example",
            "http://site.example:80",
            "http://site.example:81",
            "http://u@site.example",
            "http://other.example",
            "http://m.site.example",
            "http://a.io",
            "http://a-host-with-a-name-that-is-too-long.site.example",
            "mailto:site.example",
        ];
        let moved = sets[2].canonicalize("http://www.site.example/a").url.into_owned();
        assert_eq!(moved, format!("http://{long}/a"));
        let mut scratch = Scratch::default();
        // An origin is cached when it repeats under the same rules, and coded the time after.
        for (round, rules) in (0..3).flat_map(|round| sets.iter().map(move |set| (round, set))) {
            for rest in ["/", "/a?sid=1&b=2", "/A/../b c", "?x", ""] {
                for origin in origins {
                    let url = format!("{origin}{rest}");
                    for site in [None, Some(0)] {
                        let alone = format!("{:?}", rules.apply(url.as_bytes(), site, &mut Scratch::default()));
                        let known = format!("{:?}", rules.apply(url.as_bytes(), site, &mut scratch));
                        assert_eq!(alone, known, "{url} in round {round}");
                    }
                }
            }
        }
        assert!(!scratch.origins.kept.is_empty());
    }

    #[test]
    fn an_origin_is_kept_unless_it_is_odd() {
        let rules = set("http", "site.example");
        let mut scratch = Scratch::default();
        let mut is_known = |url: &str| {
            rules.apply(url.as_bytes(), None, &mut scratch);
            let hit = scratch.origins.find(url.as_bytes(), rules.number);
            assert!(hit.is_none_or(|hit| scratch.origins.coded(&hit).is_some()));
            hit.is_some()
        };
        assert!(is_known("https://site.example/a/b") && is_known("https://site.example/a?b"));
        for odd in ["u@site.example", "site.example:81", "Site.example", "a.io"] {
            let url = format!("http://{odd}/page/of/a/length");
            assert!(!is_known(&url) && !is_known(&url), "{odd}");
        }
        let places = 4 * KEPT;
        assert!((0..places).all(|n| is_known(&format!("https://h{n:03}.site.example/"))));
        assert_eq!(scratch.origins.kept.len(), KEPT);
        let other = set("http", "site.example");
        assert!(scratch.origins.find(b"https://h127.site.example/", rules.number).is_some());
        assert!(scratch.origins.find(b"https://h127.site.example/", other.number).is_none());
    }

    #[test]
    fn a_hit_of_a_replaced_entry_is_none() {
        let rules = set("http", "site.example");
        let mut origins = OriginCache::default();
        let mut insert = |url: &str| {
            let mut text = Vec::new();
            let split = url::normalize(url.as_bytes(), &mut text).expect("a URL");
            origins.insert(url.as_bytes(), &text, &split, rules.number, Some(0));
            origins.find(url.as_bytes(), rules.number).expect("kept")
        };
        let first = insert("https://h000.site.example/");
        let others: Vec<Hit> = (1..1000).map(|n| insert(&format!("https://h{n:03}.site.example/"))).collect();
        assert!(origins.coded(&first).is_none());
        assert!(origins.coded(&others[998]).is_some());
    }

    #[test]
    fn every_byte_of_an_origin_counts() {
        for length in LENGTHS {
            let origin = vec![b'a'; length];
            let bytes = Bytes::of(&origin).expect("of a length that is kept");
            for at in 0..length {
                let mut other = origin.clone();
                other[at] = b'b';
                assert!(Bytes::of(&other).expect("as long") != bytes, "{length} {at}");
            }
            assert!(length == *LENGTHS.start() || Bytes::of(&origin[1..]) != Some(bytes));
        }
        assert!(Bytes::of(&[b'a'; 15]).is_none() && Bytes::of(&[b'a'; 41]).is_none());
    }
}
