//! Origins that were met before.
//!
//! The URLs of a shard, of a queue, of a page name few hosts, and each again and again. Is it written as it should be, which
//! site has it, what do the rules of that site make of scheme and host: the answers of the last few origins are kept, so
//! that the next URL that starts with the same bytes asks none of it. Nothing but time depends on it.

use super::compiled::{CodedOrigin, KeptOrigin};
use crate::url::{self, Origin, Split};

/// Origins that are kept.
const KEPT: usize = 32;
/// Bytes of an origin that is kept: enough for two words, and as many as [`url::origin`] looks at.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=40;

/// The last origins: some seven kilobytes, when there were as many.
#[derive(Clone, Debug)]
pub(super) struct Origins {
    kept: Vec<Known>,
    /// Which of those an origin is, by its hash, if it is one.
    index: [u8; 256],
    /// What was last asked for, by hash: an origin is kept when it comes for the second time.
    asked: [u32; 32],
    /// How many were kept so far.
    count: u64,
}

/// What is known of the origin of one URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Met {
    #[default]
    New,
    /// It comes again, and should be kept under this hash.
    Again(u64),
    Known(Place),
}

/// Where an origin is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Which of all that were kept so far; the oldest give way.
    number: u64,
    /// The site that claims the host.
    pub(super) site: Option<u32>,
    pub(super) origin: Origin,
}

#[derive(Clone, Debug)]
struct Known {
    number: u64,
    /// Number of the rule set; none has 0.
    rules: u64,
    site: Option<u32>,
    ends: Ends,
    coded: Option<CodedOrigin>,
}

impl Default for Origins {
    fn default() -> Origins {
        Origins { kept: Vec::new(), index: [0; 256], asked: [0; 32], count: 0 }
    }
}

impl Origins {
    /// What is known of the origin of a URL under these rules.
    #[inline(always)]
    pub(super) fn find(&mut self, url: &[u8], rules: u64) -> Met {
        let Some(origin) = url::origin(url) else { return Met::New };
        let Some(ends) = Ends::of(&url[..origin.end]) else { return Met::New };
        let hash = ends.hash();
        if let Some(known) = self.kept.get(usize::from(self.index[(hash >> 56) as usize]))
            && known.ends == ends
            && known.rules == rules
        {
            return Met::Known(Place { number: known.number, site: known.site, origin });
        }
        let asked = &mut self.asked[(hash >> 59) as usize];
        if std::mem::replace(asked, hash as u32) == hash as u32 { Met::Again(hash) } else { Met::New }
    }

    /// Keeps an origin, the first bytes of this text, under a hash that was [met again](Met::Again).
    #[cold]
    pub(super) fn keep(&mut self, hash: u64, rules: u64, site: Option<u32>, origin: &[u8]) {
        let Some(ends) = Ends::of(origin) else { return };
        let number = self.count;
        let known = Known { number, rules, site, ends, coded: None };
        let at = number as usize % KEPT;
        self.index[(hash >> 56) as usize] = at as u8;
        match self.kept.get_mut(at) {
            Some(place) => *place = known,
            None => self.kept.push(known),
        }
        self.count += 1;
    }

    /// What the rules make of an origin, or where that is to be kept; nothing where others took its place.
    #[inline(always)]
    pub(super) fn coded(&mut self, place: Place) -> KeptOrigin<'_> {
        let known = self.kept.get_mut(place.number as usize % KEPT)?;
        (known.number == place.number).then_some(&mut known.coded)
    }
}

impl Met {
    /// The origin, where it is known.
    #[inline(always)]
    pub(super) fn origin(self) -> Option<Origin> {
        match self {
            Met::Known(place) => Some(place.origin),
            _ => None,
        }
    }

    /// The same, where the URL with this stage-1 form starts with an origin that may be kept.
    #[inline(always)]
    pub(super) fn unless_odd(self, url: &[u8], text: &[u8], split: &Split) -> Met {
        match self {
            Met::Again(_) if is_odd(url, text, split) => Met::New,
            met => met,
        }
    }
}

/// True unless the stage-1 form of a URL has the same origin, a scheme and a host alone.
#[cold]
fn is_odd(url: &[u8], text: &[u8], split: &Split) -> bool {
    let end = split.path.0 as usize;
    split.authority != split.host || !LENGTHS.contains(&end) || url.get(..=end) != text.get(..=end)
}

/// All bytes of an origin: words that lie over one another where it is short, since a comparison of so many bytes as there
/// happen to be takes as long as all the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    length: usize,
    first: u128,
    middle: u64,
    last: u128,
}

impl Ends {
    /// Of an origin that may be kept.
    #[inline(always)]
    fn of(origin: &[u8]) -> Option<Ends> {
        let length = origin.len();
        if length > *LENGTHS.end() {
            return None;
        }
        let (first, last) = (u128::from_le_bytes(*origin.first_chunk()?), u128::from_le_bytes(*origin.last_chunk()?));
        // Up to 8 bytes lie between the two.
        let middle = u64::from_le_bytes(*origin[length / 2 - 4..].first_chunk()?);
        Some(Ends { length, first, middle, last })
    }

    #[inline(always)]
    fn hash(&self) -> u64 {
        let ends =
            (self.first >> 64) as u64 ^ (self.last as u64).rotate_left(29) ^ ((self.last >> 64) as u64).rotate_left(7);
        (ends ^ self.length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let hosts = vec!["site.example".into(), "www.site.example".into()];
        RuleSet::new(vec![SiteRules { site: "site.example".into(), hosts, rules, ..Default::default() }])
    }

    #[test]
    fn urls_of_known_origins_come_out_as_others_do() {
        let sets = [set("http", "site.example"), set("https", "www.site.example")];
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
        let mut scratch = Scratch::default();
        // Three rounds: an origin is kept when it comes for the second time.
        for round in 0..3 {
            for rest in ["/", "/a?sid=1&b=2", "/A/../b c", "?x", ""] {
                for (origin, rules) in origins.iter().flat_map(|origin| sets.iter().map(move |set| (origin, set))) {
                    let url = format!("{origin}{rest}");
                    for site in [None, Some(0)] {
                        let alone = format!("{:?}", rules.apply(url.as_bytes(), site, &mut Scratch::default()));
                        let known = format!("{:?}", rules.apply(url.as_bytes(), site, &mut scratch));
                        assert_eq!(alone, known, "{url} in round {round}");
                    }
                }
            }
        }
        assert!(scratch.origins.is_some_and(|origins| !origins.kept.is_empty()));
    }

    #[test]
    fn an_origin_is_kept_when_it_comes_again_and_the_oldest_gives_way() {
        let rules = set("http", "site.example");
        let mut scratch = Scratch::default();
        let is_known = |scratch: &mut Scratch, url: &str| {
            let origins = scratch.origins.as_mut().expect("made by the first URL");
            let place = match origins.find(url.as_bytes(), rules.number()) {
                Met::Known(place) => Some(place),
                _ => None,
            };
            assert!(origins.kept.len() <= KEPT && place.is_none_or(|place| origins.coded(place).is_some()));
            place.is_some()
        };
        let mut known = |url: &str| {
            rules.apply(url.as_bytes(), None, &mut scratch);
            is_known(&mut scratch, url)
        };
        assert!(!known("https://site.example/a/b"));
        assert!(known("https://site.example/a/b") && known("https://site.example/a?b"));
        for odd in ["u@site.example", "site.example:81", "Site.example", "a.io"] {
            let url = format!("http://{odd}/page/of/a/length");
            assert!(!known(&url) && !known(&url) && !known(&url), "{odd}");
        }
        for n in 0..KEPT {
            let url = format!("https://h{n:02}.site.example/");
            assert!(!known(&url) && known(&url), "{url}");
        }
        assert!(!is_known(&mut scratch, "https://site.example/a/b"));
    }

    #[test]
    fn every_byte_of_an_origin_counts() {
        for length in LENGTHS {
            let origin = vec![b'a'; length];
            let ends = Ends::of(&origin).expect("of a length that is kept");
            for at in 0..length {
                let mut other = origin.clone();
                other[at] = b'b';
                assert!(Ends::of(&other).expect("as long") != ends, "{length} {at}");
            }
            assert!(length == *LENGTHS.start() || Ends::of(&origin[1..]) != Some(ends));
        }
        assert!(Ends::of(&[b'a'; 15]).is_none() && Ends::of(&[b'a'; 41]).is_none());
    }
}
