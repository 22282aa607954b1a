//! The provisional rules of a set: those supported by the catalogue of platforms alone. Applying does
//! not depend on it.

use super::names::Names;
use super::set::{LoadedSite, RuleSet};
use super::types::SiteRules;

impl Names {
    /// True for a rule that is provisional.
    fn is_provisional(&self, rule: u16) -> bool {
        let mut ids = self.text.get(self.site as usize..).unwrap_or_default().split('\n');
        ids.nth(usize::from(rule) + 1).is_some_and(|id| id.starts_with('\t'))
    }

    /// True where some rule is provisional.
    pub(super) fn has_provisional(&self) -> bool {
        self.text.contains("\n\t")
    }
}

impl LoadedSite {
    /// True where some rule of it is provisional.
    pub fn has_provisional(&self) -> bool {
        self.names.has_provisional()
    }
}

impl RuleSet {
    /// True where some rule of some site is provisional.
    pub fn has_provisional(&self) -> bool {
        self.provisional
    }

    /// True for a rule that is provisional.
    pub fn is_provisional(&self, site: u32, rule: u16) -> bool {
        self.provisional && self.names(site).is_provisional(rule)
    }
}

impl SiteRules {
    /// Removes the provisional rules, and the look-ups of URLs that they wrote.
    pub fn leave_out_provisional(&mut self) {
        self.rules.retain(|rule| !rule.provisional);
        self.forget_written();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::types::Rule;

    #[test]
    fn names_keep_the_mark_and_ids_come_back_without_it() {
        let rule = |id: &str, provisional| Rule { provisional, ..Rule::of(id, Vec::new(), Vec::new()) };
        let mut site = SiteRules { site: "a.example".into(), ..SiteRules::default() };
        site.rules = vec![rule("one", false), rule("two", true)];
        let names = Names::of(&site);
        assert_eq!((names.id(0), names.id(1)), ("one", "two"));
        assert_eq!([0, 1, 2].map(|rule| names.is_provisional(rule)), [false, true, false]);
        let set = RuleSet::new(vec![site.clone()]);
        assert!(set.has_provisional() && set.is_provisional(0, 1) && !set.is_provisional(0, 0));
        site.leave_out_provisional();
        assert!(!Names::of(&site).has_provisional() && !RuleSet::new(vec![site]).has_provisional());
    }
}
