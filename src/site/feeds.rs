//! Feeds, which name their own origin.
//!
//! An Atom feed has an id and links, an RSS feed the link of its channel, a site map the full URL of each page: of one
//! page on two hosts all else may be the same, and its feeds differ (RFC 4287, sections 4.2.6 and 4.2.7). A sample
//! that holds each feed on one host alone does not show it. So a rule that changes the origin acts on feeds only
//! where some show that it is right.

use super::covering::Covering;
use super::evidence::Bound;
use super::points::Reader;
use super::profile::names::{FORMATS, is_format};
use super::scopes::{self, Fired, Piece};
use super::tracking::is_tracking;
use super::{Thresholds, Training};
use crate::rules::{Constraint, Operation, Rule, SECTION, SiteRules, Test, Tokens};
use crate::url::{Fixed, Key, NormalRef, Part};
use std::collections::{BTreeMap, BTreeSet};

/// Values that a rule is kept from, at most, those of most URLs: a hostile site has a key a URL.
const MOST: usize = 48;

/// Segments of the path in which a format is excluded that was met in another: deeper lie few feeds.
const SEGMENTS: usize = 6;

/// A key, and a value of it that says that the page is a feed; `None` where the name of the key says so, whatever the
/// value (`rss=gallery`).
type FeedValue = (String, Option<String>);

/// A labelled URL, as far as feeds ask.
struct ReadUrl {
    section: Vec<u8>,
    /// What says that it is a feed.
    values: Vec<FeedValue>,
    cluster: Option<u32>,
}

/// Formats that a site may have beside one of them.
const USUAL: [&str; 6] = ["atom", "feed", "rdf", "rss", "rss2", "xml"];

/// True for a value that says that the page is a feed, once or among repeats: a format, a word and a format
/// (`news_rss`), or a format and a language (`rss_de`).
fn is_feed(value: &[u8]) -> bool {
    let is_language = |word: &[u8]| word.len() == 2 && word.is_ascii();
    let mut parts =
        value.split(|&byte| byte == b'&').map(|part| part.rsplit(|&byte| byte == b'=').next().unwrap_or(part));
    parts.any(|part| {
        let mut words = part.split(|byte| matches!(byte, b'-' | b'_'));
        match [words.next(), words.next(), words.next()] {
            [Some(first), Some(second), None] => is_format(second) || is_format(first) && is_language(second),
            _ => is_format(part),
        }
    })
}

/// True for a key and value of which the value is a format and nothing else. An article may be called `pet-feed`, and
/// `feed` may be what a shop sells.
fn is_sure((_, value): &FeedValue) -> bool {
    value.as_ref().is_some_and(|value| is_format(value.as_bytes()))
}

/// True where a format stands in a URL behind a byte that is no letter and no digit: in no other is there a feed.
fn may_be_feed(url: &[u8]) -> bool {
    let begins = |at: usize, format: &str| {
        url.get(at..at + format.len()).is_some_and(|word| word.eq_ignore_ascii_case(format.as_bytes()))
    };
    let mut words = (1..url.len()).filter(|&at| !url[at - 1].is_ascii_alphanumeric());
    words.any(|at| FORMATS.iter().any(|format| begins(at, format)))
}

/// The keys and values of a URL that say that it is a feed, but where the name of the key says where a visitor came
/// from (`utm_source=rss`).
fn feed_values(reader: &mut Reader, url: NormalRef<'_>) -> Vec<FeedValue> {
    if !may_be_feed(url.as_bytes()) {
        return Vec::new();
    }
    let feed_value = |(key, value): (String, Vec<u8>)| {
        let name = match Key::parse(&key) {
            Some(Key::Query(name) | Key::Param(name)) => name,
            _ => String::new(),
        };
        let (name, value) = (name.trim_end_matches('='), String::from_utf8(value).ok()?);
        if is_format(name.as_bytes()) {
            return Some((key, is_format(value.as_bytes()).then_some(value)));
        }
        (is_feed(value.as_bytes()) && !is_tracking(name)).then_some((key, Some(value)))
    };
    reader.values(url).into_iter().filter_map(feed_value).collect()
}

/// Whether the URL of each row says that it is a feed; empty where none does. O(rows).
pub fn rows(training: &Training, tokens: &Tokens) -> Vec<bool> {
    let mut reader = Reader::new(tokens);
    let is_row = |row: usize| training.normal(row).is_some_and(|url| !feed_values(&mut reader, url).is_empty());
    let rows: Vec<bool> = (0..training.len()).map(is_row).collect();
    if rows.contains(&true) { rows } else { Vec::new() }
}

/// Keeps rules that change the origin from feeds of which none shows that they are right. Returns how many rules it
/// narrowed or, of mirrors, which have no other conditions, withdrew from a small sample. Rules between forms name all
/// that their URLs hold, and are left alone.
///
/// O(rows x pairs), and where some rows are feeds the rules are applied once more, and without each such rule to the
/// rows that it changes.
pub fn narrow(rules: &mut SiteRules, training: &Training, covering: &Covering) -> u64 {
    let (thresholds, is_small) = (&covering.thresholds, covering.is_small);
    let is_asked = |rule: &Rule| is_on_origin(rule) || is_small && is_between_origins(rule);
    let asked: Vec<usize> = (0..rules.rules.len()).filter(|&at| is_asked(&rules.rules[at])).collect();
    if asked.is_empty() {
        return 0;
    }
    let mut reader = Reader::new(&rules.tokens);
    let rows = (0..training.len()).filter_map(|row| Some((row, training.normal(row)?)));
    let rows = rows.map(|(row, url)| ReadUrl {
        section: rules.tokens.section(url.as_bytes()).to_vec(),
        values: feed_values(&mut reader, url),
        cluster: Some(training.clusters[row]).filter(|&cluster| cluster != u32::MAX),
    });
    let (pages, feeds): (Vec<ReadUrl>, Vec<ReadUrl>) = rows.partition(|row| row.values.is_empty());
    // A small sample may hold no feed: where scripts are told apart by a parameter, one may be that of feeds.
    let scripts = covering.scripts.iter().map(|&key| covering.columns.keys[key].to_string());
    let unmet: Vec<FeedValue> = scripts.filter(|_| is_small).flat_map(of_script).collect();
    if feeds.is_empty() && unmet.is_empty() {
        return 0;
    }
    let fired = Fired::new(rules, training);
    let (mut narrowed, mut withdrawn) = (0, BTreeSet::new());
    for at in asked {
        let pieces = fired.pieces(rules, at, training);
        let joined = Joined::new(&pieces, &mut reader);
        let rule = &mut rules.rules[at];
        let acts = |row: &&ReadUrl| rule.scope.iter().all(|of| of.key != SECTION || of.test.holds(Some(&row.section)));
        let [feeds, pages] = [&feeds, &pages].map(|rows| rows.iter().filter(acts).collect::<Vec<&ReadUrl>>());
        if is_on_origin(rule) {
            let unshown = joined.unshown((&feeds, &unmet), &pages, is_small, thresholds);
            narrowed += u64::from(keep_from(&mut rule.scope, unshown));
        } else if !joined.unshown((&feeds, &[]), &pages, is_small, thresholds).is_empty() {
            withdrawn.insert(at);
        }
    }
    withdrawn.iter().rev().for_each(|&at| _ = rules.rules.remove(at));
    narrowed + withdrawn.len() as u64
}

/// What one rule joins.
struct Joined {
    /// Right and wrong groups of feeds.
    shown: BTreeMap<FeedValue, [u64; 2]>,
    /// Clusters that the rule joins.
    clusters: BTreeSet<u32>,
}

impl Joined {
    fn new(pieces: &[Piece], reader: &mut Reader) -> Joined {
        let mut joined = Joined { shown: BTreeMap::new(), clusters: BTreeSet::new() };
        for group in scopes::groups(pieces) {
            let is_wrong = group.labels.iter().any(|label| *label != group.labels[0]);
            for value in feed_values(reader, group.first) {
                joined.shown.entry(value).or_default()[usize::from(is_wrong)] += 1;
            }
            joined.clusters.extend(group.labels.first().filter(|_| !is_wrong));
        }
        joined
    }

    /// Clusters of rows that the rule joins, and the others.
    fn count<'r>(&self, rows: impl Iterator<Item = &'r ReadUrl>) -> [u64; 2] {
        let clusters: BTreeSet<u32> = rows.filter_map(|row| row.cluster).collect();
        let shown = clusters.intersection(&self.clusters).count();
        [shown as u64, (clusters.len() - shown) as u64]
    }

    /// Of the feeds and pages that the rule reaches the values that say of a feed that it is one and that nothing shows
    /// to be right, and others that the site may have for them; with their rows.
    fn unshown(
        &self,
        (feeds, unmet): (&[&ReadUrl], &[FeedValue]),
        pages: &[&ReadUrl],
        is_small: bool,
        thresholds: &Thresholds,
    ) -> Vec<(FeedValue, u64)> {
        let bound = Bound::operation(thresholds);
        let of_pages = self.count(pages.iter().copied());
        // A small sample holds few pairs of feeds that differ, and all that are one: they show the rule where nearly as
        // many are joined as of other pages, or enough (`small_sure`).
        let are_silent = |has: &dyn Fn(&ReadUrl) -> bool| {
            let [shown, silent] = self.count(feeds.iter().copied().filter(|row| has(row)));
            let as_pages = of_pages[0] * (shown + silent) * thresholds.feeds_least_percent;
            let is_sure = shown >= thresholds.small_sure as u64;
            is_small && !is_sure && shown * (of_pages[0] + of_pages[1]) * 100 < as_pages
        };
        // Other feeds of the site speak for those of which nothing is known, or of one page, which may be empty.
        let sure = self.shown.iter().filter(|of| is_sure(of.0));
        let [good, bad] = sure.fold([0, 0], |sum, (_, of)| [sum[0] + of[0], sum[1] + of[1]]);
        let others = good >= thresholds.min_clusters as u64
            && bound.allows(good, bad, 0)
            && !are_silent(&|row| row.values.iter().any(|of| is_sure(of) && self.shown.contains_key(of)));
        let least = thresholds.section_min_clusters as u64;
        let is_shown = |value: &FeedValue| match self.shown.get(value) {
            Some(&[good, bad]) if good >= least || bad > 0 => {
                good > 0 && bound.allows(good, bad, 0) && !are_silent(&|row| row.values.contains(value))
            }
            _ => others,
        };
        let mut unshown: BTreeMap<FeedValue, u64> = BTreeMap::new();
        feeds.iter().flat_map(|row| &row.values).for_each(|value| *unshown.entry(value.clone()).or_default() += 1);
        unshown.retain(|value, _| !is_shown(value));
        let sure = || unshown.keys().filter(|value| is_sure(value));
        let mut usual: Vec<FeedValue> = sure().flat_map(siblings).chain(unmet.iter().cloned()).collect();
        if is_small {
            let is_other = |key: &str| is_named_so(key) && !self.shown.keys().any(|of| of.0 == *key);
            usual.extend(sure().flat_map(elsewhere));
            usual.extend(unshown.keys().filter(|of| is_other(&of.0)).map(|of| (of.0.clone(), None)));
        }
        usual.into_iter().filter(|value| !is_shown(value)).for_each(|value| _ = unshown.entry(value).or_default());
        unshown.into_iter().collect()
    }
}

/// The [`USUAL`] formats as other values of the same key.
fn siblings((key, value): &FeedValue) -> impl Iterator<Item = FeedValue> {
    let dot = if value.as_ref().is_some_and(|value| value.starts_with('.')) { "." } else { "" };
    USUAL.iter().map(move |format| (key.clone(), Some(format!("{dot}{format}"))))
}

/// Values of a key that names scripts, of which each may be the script of feeds.
fn of_script(key: String) -> impl Iterator<Item = FeedValue> {
    USUAL.iter().chain(&[".xml", "sitemap", "syndication"]).map(move |format| (key.clone(), Some((*format).to_owned())))
}

/// A format in other segments of the path, where one is in one: `/tag/x/feed/` says that there is `/a/b/c/feed/`.
fn elsewhere((key, value): &FeedValue) -> impl Iterator<Item = FeedValue> {
    let places = (0..SEGMENTS).map(|at| Key::Fixed(Fixed::path(at, Part::Head)).to_string());
    let places: Vec<String> = places.collect();
    let is_of_path = places.contains(key);
    places.into_iter().filter(move |_| is_of_path).map(|place| (place, value.clone()))
}

/// True for a parameter that has the name of a format: whatever its value, the page is a feed.
fn is_named_so(key: &str) -> bool {
    let Some(Key::Query(name) | Key::Param(name)) = Key::parse(key) else { return false };
    is_format(name.trim_end_matches('=').as_bytes())
}

/// Takes values out of a scope, the [`MOST`] that are surest and have most rows, where no test names other values of
/// their keys; true where the scope changed.
fn keep_from(scope: &mut Vec<Constraint>, mut unshown: Vec<(FeedValue, u64)>) -> bool {
    let before = scope.clone();
    unshown.sort_unstable_by(|(a, rows), (b, others)| (!is_sure(a), others, a).cmp(&(!is_sure(b), rows, b)));
    unshown.truncate(MOST);
    unshown.sort_unstable();
    for of_key in unshown.chunk_by(|a, b| a.0.0 == b.0.0) {
        // Rules may write values in lower case before the URL comes again.
        let values = of_key.iter().filter_map(|of| of.0.1.as_ref());
        let values = values.flat_map(|value| [value.clone(), value.to_ascii_lowercase()]);
        let key = &of_key[0].0.0;
        let is_name = of_key[0].0.1.is_none();
        match scope.iter_mut().find(|of| of.key == *key).map(|of| &mut of.test) {
            None if is_name => scope.push(Constraint { key: key.clone(), test: Test::Absent }),
            None => scope.push(Constraint { key: key.clone(), test: Test::Not(sorted(values.collect())) }),
            Some(test @ Test::Not(_)) if is_name => *test = Test::Absent,
            Some(_) if is_name => {}
            Some(Test::NoneOf(others) | Test::Not(others)) => {
                *others = sorted(others.drain(..).chain(values).collect());
            }
            Some(test @ Test::Present) => *test = Test::NoneOf(sorted(values.collect())),
            Some(Test::Equals(_) | Test::OneOf(_) | Test::Absent) => {}
        }
    }
    scope.sort_unstable();
    *scope != before
}

fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort_unstable();
    values.dedup();
    values
}

/// True for a rule that changes scheme or host, and not between forms.
fn is_on_origin(rule: &Rule) -> bool {
    let is = |(key, _): &(String, Operation)| {
        Key::parse(key).is_some_and(|key| [Fixed::SCHEME, Fixed::HOST].iter().any(|&fixed| key.is(fixed)))
    };
    !rule.closed && rule.operations.iter().any(is)
}

/// True for a mirror rule between origins.
fn is_between_origins(rule: &Rule) -> bool {
    let origin = |front: &str| front.split('/').take(3).map(str::to_owned).collect::<Vec<String>>();
    rule.mirror().is_some_and(|(from, to)| origin(from) != origin(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_with_or_without_a_version_is_that_of_a_feed() {
        for value in [
            "rss",
            "RSS2",
            "rss092",
            "atom1.0",
            ".xml",
            "feed",
            "syndication",
            "rdf",
            "news_rss",
            "all-feeds",
            "rss_de",
            "html&type=rss",
        ] {
            assert!(is_feed(value.as_bytes()), "{value}");
        }
        for value in [
            "",
            ".",
            "2.0",
            "feed-the-birds",
            "feed2024-1",
            "feed12345",
            "xmlrpc",
            "html",
            "_",
            "rss_to_mail",
            "feed-reader",
        ] {
            assert!(!is_feed(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn values_are_taken_out_of_a_scope_that_names_no_other() {
        let found = [("ext", ".xml", 3), ("path0", "feed", 2), ("query type=", "rss", 9), ("query type=", "atom", 9)];
        let found: Vec<(FeedValue, u64)> =
            found.iter().map(|(key, value, rows)| (((*key).to_owned(), Some((*value).to_owned())), *rows)).collect();
        let of = |key: &str, test: Test| Constraint { key: key.to_owned(), test };
        let texts = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>();
        let mut scope = vec![of("ext", Test::NoneOf(texts(&[".gif"]))), of("path0", Test::Equals("feed".to_owned()))];
        assert!(keep_from(&mut scope, found));
        let added = of("query type=", Test::Not(texts(&["atom", "rss"])));
        let kept = of("path0", Test::Equals("feed".to_owned()));
        assert_eq!(scope, [of("ext", Test::NoneOf(texts(&[".gif", ".xml"]))), kept, added]);
        assert!(!keep_from(&mut scope, Vec::new()));
        let named = |key: &str| ((key.to_owned(), None), 5);
        let named = ["query rss=", "query type="].map(named);
        assert!(keep_from(&mut scope, named.to_vec()));
        let absent = ["query rss=", "query type="].map(|key| of(key, Test::Absent));
        assert_eq!(scope[2..], absent);
        let value = |n: u64| ((format!("path{}", n % 2), Some(format!("feed{n:02}"))), n);
        let many: Vec<(FeedValue, u64)> = (0..80).map(value).collect();
        let mut scope = Vec::new();
        keep_from(&mut scope, many);
        let [Constraint { test: Test::Not(even), .. }, Constraint { test: Test::Not(odd), .. }] = &scope[..] else {
            panic!("{scope:?}")
        };
        assert_eq!((even.len() + odd.len(), &*even[0], &*odd[0], &*odd[23]), (MOST, "feed32", "feed33", "feed79"));
    }
}
