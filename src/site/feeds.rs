//! Feeds, which name their own origin.
//!
//! An Atom feed has an id and links, an RSS feed the link of its channel, a site map the full URL of each page: of one
//! page on two hosts all else may be the same, and its feeds differ (RFC 4287, sections 4.2.6 and 4.2.7). A sample
//! that holds each feed on one host alone does not show it. So a rule that changes the origin acts on feeds only
//! where some show that it is right.

use super::evidence::Bound;
use super::operations::is_tracking;
use super::points::Reader;
use super::scopes::{self, Fired};
use super::{Thresholds, Training};
use crate::rules::{Constraint, Operation, Rule, SiteRules, Test};
use crate::url::{Fixed, Key, NormalRef};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Formats of feeds, as URLs name them.
const FORMATS: [&str; 7] = ["atom", "feed", "feeds", "rdf", "rss", "syndication", "xml"];

/// Bytes of the version behind a format, at most (`rss2`, `atom1.0`): what is longer is the number of a page.
const VERSION: usize = 4;

/// Values that a rule is kept from, at most, those of most URLs: a hostile site has a key a URL.
const MOST: usize = 32;

/// A key, and a value of it that says that the page is a feed.
type FeedValue = (String, String);

/// True for a value that says that the page is a feed.
fn is_feed(value: &[u8]) -> bool {
    let value = value.strip_prefix(b".").unwrap_or(value);
    let is_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let end = value.iter().rposition(|byte| !is_version(byte)).map_or(0, |at| at + 1);
    let is_format = |format: &&str| value[..end].eq_ignore_ascii_case(format.as_bytes());
    value.len() - end <= VERSION && FORMATS.iter().any(is_format)
}

/// The values of a URL that say that it is a feed, but where the name of the key says where a visitor came from
/// (`utm_source=rss`).
fn feed_values(reader: &mut Reader, url: NormalRef<'_>) -> Vec<FeedValue> {
    let mut some = false;
    reader.each(url, |_, value| some |= is_feed(value));
    if !some {
        return Vec::new();
    }
    let is_of_visitor = |key: &str| match Key::parse(key) {
        Some(Key::Query(name) | Key::Param(name)) => is_tracking(name.trim_end_matches('=')),
        _ => false,
    };
    let values = reader.values(url).into_iter().filter(|(key, value)| is_feed(value) && !is_of_visitor(key));
    values.filter_map(|(key, value)| Some((key, String::from_utf8(value).ok()?))).collect()
}

/// Keeps rules that change the origin from feeds of which none shows that they are right. Returns how many rules it
/// narrowed. Rules between forms name all that their URLs hold, and are left alone.
///
/// O(rows x pairs), and where some rows are feeds the rules are applied once more, and without each such rule to the
/// rows that it changes.
pub fn narrow(rules: &mut SiteRules, training: &Training, thresholds: &Thresholds) -> u64 {
    let of_origin: Vec<usize> = (0..rules.rules.len()).filter(|&at| is_on_origin(&rules.rules[at])).collect();
    if of_origin.is_empty() {
        return 0;
    }
    let mut reader = Reader::new(&rules.tokens);
    let mut seen: BTreeMap<FeedValue, u64> = BTreeMap::new();
    for url in (0..training.len()).filter_map(|row| training.normal(row)) {
        feed_values(&mut reader, url).into_iter().for_each(|value| *seen.entry(value).or_default() += 1);
    }
    if seen.is_empty() {
        return 0;
    }
    let (fired, bound) = (Fired::new(rules, training), Bound::operation(thresholds));
    let mut narrowed = 0;
    for at in of_origin {
        let pieces = fired.pieces(rules, at, training);
        // Right and wrong groups of feeds that the rule joins.
        let mut shown: BTreeMap<FeedValue, [u64; 2]> = BTreeMap::new();
        for group in scopes::groups(&pieces) {
            let is_wrong = group.labels.iter().any(|label| *label != group.labels[0]);
            let values = feed_values(&mut reader, group.first).into_iter();
            values.for_each(|value| shown.entry(value).or_default()[usize::from(is_wrong)] += 1);
        }
        // Other feeds of the site speak for those of which nothing is known.
        let [good, bad] = shown.values().fold([0, 0], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
        let others = good >= thresholds.min_clusters as u64 && bound.allows(good, bad, 0);
        let is_right = |&[good, bad]: &[u64; 2]| good > 0 && bound.allows(good, bad, 0);
        let is_shown = |value: &FeedValue| shown.get(value).map_or(others, is_right);
        let unshown = seen.iter().filter(|of| !is_shown(of.0)).map(|(value, rows)| (value, *rows));
        narrowed += u64::from(keep_from(&mut rules.rules[at].scope, unshown.collect()));
    }
    narrowed
}

/// Takes values out of a scope, the [`MOST`] with most rows, where no test names other values of their keys; true
/// where the scope changed.
fn keep_from(scope: &mut Vec<Constraint>, mut unshown: Vec<(&FeedValue, u64)>) -> bool {
    let before = scope.clone();
    unshown.sort_unstable_by_key(|&(value, rows)| (Reverse(rows), value));
    unshown.truncate(MOST);
    unshown.sort_unstable();
    for of_key in unshown.chunk_by(|a, b| a.0.0 == b.0.0) {
        // Rules may write values in lower case before the URL comes again.
        let values = of_key.iter().flat_map(|of| [of.0.1.clone(), of.0.1.to_ascii_lowercase()]);
        let key = &of_key[0].0.0;
        match scope.iter_mut().find(|of| of.key == *key).map(|of| &mut of.test) {
            None => scope.push(Constraint { key: key.clone(), test: Test::Not(sorted(values.collect())) }),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_with_or_without_a_version_is_that_of_a_feed() {
        for value in ["rss", "RSS2", "rss092", "atom1.0", ".xml", "feed", "syndication", "rdf"] {
            assert!(is_feed(value.as_bytes()), "{value}");
        }
        for value in ["", ".", "2.0", "feed-the-birds", "feed2024-1", "feed12345", "xmlrpc", "html"] {
            assert!(!is_feed(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn values_are_taken_out_of_a_scope_that_names_no_other() {
        let found = [("ext", ".xml", 3), ("path0", "feed", 2), ("query type=", "rss", 9), ("query type=", "atom", 9)];
        let found: Vec<(FeedValue, u64)> =
            found.iter().map(|(key, value, rows)| (((*key).to_owned(), (*value).to_owned()), *rows)).collect();
        let of = |key: &str, test: Test| Constraint { key: key.to_owned(), test };
        let texts = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>();
        let mut scope = vec![of("ext", Test::NoneOf(texts(&[".gif"]))), of("path0", Test::Equals("feed".to_owned()))];
        assert!(keep_from(&mut scope, found.iter().map(|(value, rows)| (value, *rows)).collect()));
        let added = of("query type=", Test::Not(texts(&["atom", "rss"])));
        let kept = of("path0", Test::Equals("feed".to_owned()));
        assert_eq!(scope, [of("ext", Test::NoneOf(texts(&[".gif", ".xml"]))), kept, added]);
        assert!(!keep_from(&mut scope, Vec::new()));
        let value = |n: u64| ((format!("path{}", n % 2), format!("feed{n:02}")), n);
        let many: Vec<(FeedValue, u64)> = (0..80).map(value).collect();
        let mut scope = Vec::new();
        keep_from(&mut scope, many.iter().map(|(value, rows)| (value, *rows)).collect());
        let [Constraint { test: Test::Not(even), .. }, Constraint { test: Test::Not(odd), .. }] = &scope[..] else {
            panic!("{scope:?}")
        };
        assert_eq!((even.len() + odd.len(), &*even[0], &*odd[0], &*odd[15]), (MOST, "feed48", "feed49", "feed79"));
    }
}
