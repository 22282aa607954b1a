//! One URL at a time, for who brings no buffers.

use super::apply::{Applied, RuleSet, Scratch};
use super::fired::Fired;
use super::names::{Names, RuleId};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

/// What became of one URL. What did not change is borrowed from the URL, site and rules from the rule set: one allocation,
/// and none where the URL is canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical<'u, 'r> {
    /// The canonical URL; the input itself where it is not valid.
    pub url: Cow<'u, str>,
    /// The site that claims the host.
    pub site: Option<&'r str>,
    /// The rules that fired.
    pub rules: FiredRules<'r>,
    /// Not an absolute http or https URL: it came out unchanged.
    pub invalid: bool,
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
        self.iter().eq(other.iter())
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
    /// The canonical URL of `url`. Total: never fails, never panics. Buffers of the thread are reused; a URL that changed is
    /// allocated, which [`apply`](Self::apply) saves.
    pub fn canonicalize<'u>(&self, url: &'u str) -> Canonical<'u, '_> {
        SCRATCH.with_borrow_mut(|scratch| {
            let Applied { url: canonical, site, fired, invalid, .. } = self.apply(url.as_bytes(), None, scratch);
            let names = site.map(|site| self.names(site));
            let url = if canonical == url.as_bytes() {
                Cow::Borrowed(url)
            } else {
                // What makes good for bytes that are no text looks at each by itself, which takes as long as a third of
                // the rules.
                let text = std::str::from_utf8(canonical).map(str::to_owned);
                Cow::Owned(text.unwrap_or_else(|_| String::from_utf8_lossy(canonical).into_owned()))
            };
            let rules = FiredRules { names, fired: fired.clone() };
            Canonical { url, site: names.map(Names::site), rules, invalid }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Operation, Representative, Rule, SiteRules};

    #[test]
    fn what_did_not_change_is_borrowed() {
        let left_out = |id: &str, key: &str| {
            Rule::of(id, Vec::new(), vec![(key.to_owned(), Operation::Ignore(Representative::LeftOut))])
        };
        let rules = vec![left_out("one", "query a="), left_out("two", "query b=")];
        let hosts = vec!["a.example".to_owned()];
        let set = RuleSet::new(vec![SiteRules { site: "a.example".into(), hosts, rules, ..SiteRules::default() }]);
        let made = |url: &'static str| {
            let canonical = set.canonicalize(url);
            let rules: Vec<String> = canonical.rules.iter().map(|id| id.to_string()).collect();
            assert_eq!((rules.len(), rules.is_empty()), (canonical.rules.len(), canonical.rules.is_empty()));
            (
                matches!(canonical.url, Cow::Borrowed(_)),
                canonical.url,
                canonical.site,
                rules.join(" "),
                canonical.invalid,
            )
        };
        let site = Some("a.example");
        assert_eq!(made("http://a.example/?c=1"), (true, "http://a.example/?c=1".into(), site, String::new(), false));
        assert_eq!(
            made("http://a.example/?b=1&a=2"),
            (false, "http://a.example/".into(), site, "one two".into(), false)
        );
        assert_eq!(
            made("HTTP://b.example/\u{e9}"),
            (false, "http://b.example/\u{e9}".into(), None, String::new(), false)
        );
        assert_eq!(made("mailto:\u{e9}"), (true, "mailto:\u{e9}".into(), None, String::new(), true));
    }
}
