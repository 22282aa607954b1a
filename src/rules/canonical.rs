//! One URL at a time, for who brings no buffers.

use super::applied::Outcome;
use super::apply::{RuleSet, Scratch};
use super::fired::Fired;
use super::names::{Names, RuleId};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

/// What became of one URL. What did not change is borrowed from the URL; a seen member that stands for it, the site and the
/// rules from the rule set: only what rules made and nobody has seen is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical<'a> {
    /// The canonical URL; the input itself where it is not valid.
    pub url: Cow<'a, str>,
    /// The rules that fired.
    pub rules: FiredRules<'a>,
    /// Not an absolute http or https URL: it came out unchanged.
    pub invalid: bool,
}

impl<'a> Canonical<'a> {
    /// The site that claims the host.
    pub fn site(&self) -> Option<&'a str> {
        self.rules.names.map(Names::site)
    }
}

/// The rules of a site that fired on a URL, in firing order.
#[derive(Clone)]
pub struct FiredRules<'r> {
    names: Option<&'r Names>,
    fired: Fired,
}

impl<'r> FiredRules<'r> {
    /// Their ids.
    pub fn iter(&self) -> impl Iterator<Item = RuleId<'r>> {
        self.names.into_iter().flat_map(|names| self.fired.iter().map(|rule| names.id(rule)))
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.fired.len()
    }

    /// True where no rule fired.
    pub fn is_empty(&self) -> bool {
        self.fired.is_empty()
    }
}

impl PartialEq for FiredRules<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.names.map(Names::site) == other.names.map(Names::site) && self.iter().eq(other.iter())
    }
}

impl Eq for FiredRules<'_> {}

impl fmt::Debug for FiredRules<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl RuleSet {
    /// The canonical URL of `url`. Total: never fails, never panics. Buffers of the thread are reused; what rules made of a URL
    /// is allocated, which [`apply`](Self::apply) saves.
    pub fn canonicalize<'a>(&'a self, url: &'a str) -> Canonical<'a> {
        SCRATCH.with_borrow_mut(|scratch| {
            let (site, outcome) = self.outcome_here(url.as_bytes(), None, scratch);
            let names = site.map(|site| self.names(site));
            let rules = FiredRules { names, fired: scratch.fired.clone() };
            let url = match self.member(site, outcome) {
                Some(seen) => Cow::Borrowed(seen),
                None if scratch.out == url.as_bytes() => Cow::Borrowed(url),
                None => Cow::Owned(text(&mut scratch.out)),
            };
            Canonical { url, rules, invalid: outcome == Outcome::Invalid }
        })
    }
}

/// A URL as text. What makes good for bytes that are no text looks at each by itself, which takes as long as a third of the
/// rules; so does what tells bytes from text with the last ones of a URL, up to fifteen, unless zeros stand behind them.
fn text(url: &mut Vec<u8>) -> String {
    let length = url.len();
    url.extend_from_slice(&[0; 16]);
    let padded = std::str::from_utf8(&url[..length.next_multiple_of(16)]);
    let text = padded.map(|text| text[..length].to_owned());
    url.truncate(length);
    text.unwrap_or_else(|_| String::from_utf8_lossy(url).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Operation, Representative, Rule, SiteRules};

    #[test]
    fn what_did_not_change_or_was_seen_is_borrowed() {
        let left_out = |id: &str, key: &str| {
            Rule::of(id, Vec::new(), vec![(key.to_owned(), Operation::Ignore(Representative::LeftOut))])
        };
        let rules = vec![left_out("one", "query a="), left_out("two", "query b=")];
        let hosts = vec!["a.example".to_owned()];
        let seen = vec!["http://a.example/seen"].into();
        let site = SiteRules { site: "a.example".into(), hosts, rules, seen, ..SiteRules::default() };
        let set = RuleSet::new(vec![site]);
        let made = |url: &'static str| {
            let canonical = set.canonicalize(url);
            let rules: Vec<String> = canonical.rules.iter().map(|id| id.to_string()).collect();
            assert_eq!((rules.len(), rules.is_empty()), (canonical.rules.len(), canonical.rules.is_empty()));
            let borrowed = matches!(canonical.url, Cow::Borrowed(_));
            (borrowed, canonical.url.into_owned(), rules.join(" "), canonical.rules.names.is_some(), canonical.invalid)
        };
        let came_out = |borrowed: bool, url: &str, rules: &str, site: bool, invalid: bool| {
            (borrowed, url.to_owned(), rules.to_owned(), site, invalid)
        };
        assert_eq!(set.canonicalize("https://a.example").site(), Some("a.example"));
        assert_eq!(made("http://a.example/?c=1"), came_out(true, "http://a.example/?c=1", "", true, false));
        assert_eq!(made("http://a.example/?b=1&a=2"), came_out(false, "http://a.example/", "one two", true, false));
        assert_eq!(made("http://a.example/seen?b=1"), came_out(true, "http://a.example/seen", "two", true, false));
        assert_eq!(made("http://a.example/seen"), came_out(true, "http://a.example/seen", "", true, false));
        assert_eq!(made("HTTP://b.example/a"), came_out(false, "http://b.example/a", "", false, false));
        assert_eq!(made("mailto:\u{e9}"), came_out(true, "mailto:\u{e9}", "", false, true));
    }

    #[test]
    fn text_of_any_length_is_text_and_other_bytes_are_made_good() {
        for length in 0..50 {
            let mut url = "a".repeat(length).into_bytes();
            assert_eq!(text(&mut url), "a".repeat(length));
            url.extend("\u{e9}\u{20ac}".as_bytes());
            assert_eq!(text(&mut url), "a".repeat(length) + "\u{e9}\u{20ac}");
            url.pop();
            assert_eq!(text(&mut url), "a".repeat(length) + "\u{e9}\u{fffd}");
            assert_eq!(url.len(), length + 4);
        }
    }
}
