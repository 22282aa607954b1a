//! One URL at a time, with buffers of the thread.

use super::apply::Scratch;
use super::fired::Fired;
use super::names::Names;
use super::set::RuleSet;
use std::borrow::Cow;
use std::cell::RefCell;

/// Result for one URL. An unchanged URL is borrowed from the input, the page of a look-up, the site and
/// the rules from the rule set; only a URL that rules made is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical<'a> {
    /// The canonical URL; the input itself where it is not valid.
    pub url: Cow<'a, str>,
    /// The rules that fired.
    pub rules: FiredRules<'a>,
    /// True if the input is not an absolute http or https URL; it is returned unchanged.
    pub invalid: bool,
}

impl<'a> Canonical<'a> {
    /// The site that claims the host.
    pub fn site(&self) -> Option<&'a str> {
        self.rules.names.map(Names::site)
    }
}

/// The rules of a site that fired on a URL, in firing order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiredRules<'r> {
    names: Option<&'r Names>,
    fired: Fired,
}

impl<'r> FiredRules<'r> {
    /// Their ids.
    pub fn iter(&self) -> impl Iterator<Item = &'r str> {
        self.names.into_iter().flat_map(|names| self.fired.iter().map(|rule| names.id(rule)))
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.fired.iter().count()
    }

    /// True where no rule fired.
    pub fn is_empty(&self) -> bool {
        self.fired.is_empty()
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl RuleSet {
    /// The canonical URL of `url`. Total: never fails, never panics. Convenience form of
    /// [`apply`](Self::apply): reuses the buffers of the thread, allocates a URL that rules made.
    pub fn canonicalize<'a>(&'a self, url: &'a str) -> Canonical<'a> {
        SCRATCH.with_borrow_mut(|scratch| {
            self.apply(url.as_bytes(), None, scratch);
            let lane = &scratch.lane;
            let names = lane.program.map(|program| self.names(self.site_of(program)));
            let rules = FiredRules { names, fired: lane.buffers.fired.clone() };
            let url = match lane.page(self) {
                Some(page) => Cow::Borrowed(page),
                None if lane.buffers.out == url.as_bytes() => Cow::Borrowed(url),
                None => Cow::Owned(String::from_utf8_lossy(&lane.buffers.out).into_owned()),
            };
            Canonical { url, rules, invalid: lane.invalid }
        })
    }
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
        let origins = crate::rules::origins::of_hosts(["a.example"]);
        let aliases = vec![["http://a.example/seen"; 2].map(str::to_owned)];
        let site = SiteRules { site: "a.example".into(), origins, rules, aliases, ..SiteRules::default() };
        let set = RuleSet::new(vec![site]);
        let made = |url: &'static str| {
            let canonical = set.canonicalize(url);
            let rules: Vec<String> = canonical.rules.iter().map(str::to_owned).collect();
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
}
