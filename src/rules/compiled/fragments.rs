//! Removal of fragments on a site whose pages do not differ by them: before rules and look-ups.

use super::CompiledSite;
use crate::url::{Split, is_route};

impl CompiledSite {
    /// True for a URL in normal form with a fragment that is left out: fragments are no keys of the site,
    /// and this is no route.
    #[inline(always)]
    pub fn leaves_out_fragment(&self, split: &Split, text: &[u8]) -> bool {
        let Some((start, end)) = split.fragment else { return false };
        let acts = self.template.tokenizer.learned || !self.is_trivial();
        acts && !self.template.tokenizer.fragments && !is_route(&text[start as usize..end as usize])
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::origins::of_hosts;
    use crate::rules::types::{Constraint, Fragments, Operation, Representative, Rule, SiteRules, Test, Tokens};
    use crate::rules::{Batch, RuleSet};

    fn site(fragments: Option<Fragments>, rules: Vec<Rule>) -> SiteRules {
        let tokens = Tokens { fragments, ..Tokens::default() };
        let look_ups = [["http://a.example/seen#x"; 2], ["http://a.example/alias", "http://a.example/page"]];
        let look_ups = if rules.is_empty() { vec![] } else { look_ups.to_vec() };
        let aliases = look_ups.into_iter().map(|pair| pair.map(str::to_owned)).collect();
        let origins = of_hosts(["a.example"]);
        SiteRules { site: "a.example".into(), origins, tokens, rules, aliases, ..SiteRules::default() }
    }

    fn left_out(key: &str, scope: &str) -> Rule {
        let scope = Constraint { key: scope.into(), test: Test::Present };
        let scope = if scope.key.is_empty() { vec![] } else { vec![scope] };
        Rule::of("r", scope, vec![(key.into(), Operation::Ignore(Representative::LeftOut))])
    }

    /// Canonical URL by all forms of applying: alone, in stages, among others and twice.
    fn canonical(site: &SiteRules, url: &str) -> String {
        let set = RuleSet::new(vec![site.clone()]);
        let out = set.canonicalize(url).url.into_owned();
        assert_eq!(set.canonicalize(&out).url, out, "twice is once: {url}");
        let many =
            (0..100).map(|n| SiteRules { site: format!("s{n}"), origins: of_hosts([format!("s{n}")]), ..site.clone() });
        let many = RuleSet::new(many.chain([site.clone()]).collect());
        Batch::default().apply(&many, [url].into_iter(), |_, applied| assert_eq!(applied.url, out.as_bytes()));
        let mut scratch = crate::rules::Scratch::default();
        if let Ok(normal) = crate::url::NormalUrl::new(url.as_bytes()) {
            let index = set.apply(url.as_bytes(), None, &mut scratch).site;
            assert_eq!(set.apply_normal(normal.by_ref(), index, &mut scratch).url, out.as_bytes(), "{url}");
        }
        let told = set.trace(url);
        assert!(
            !told.steps.iter().any(|step| matches!(step, crate::rules::explain::TraceStep::Refused { .. })),
            "{url}"
        );
        let told = told.text(false);
        assert!(told.as_str().ends_with(&format!("  canonical    {out}\n")), "{}", told.as_str());
        out
    }

    #[test]
    fn a_fragment_hinders_no_rule_and_no_look_up() {
        let site = site(None, vec![left_out("query sid=", "")]);
        for (url, to) in [
            ("http://a.example/x?sid=1#top", "http://a.example/x"),
            ("http://a.example/x?sid=1#a?b=c&sid=2", "http://a.example/x"),
            ("http://a.example/x#top", "http://a.example/x"),
            ("http://a.example/x#", "http://a.example/x"),
            ("http://a.example/alias#top", "http://a.example/page"),
            ("http://a.example/page#top", "http://a.example/page"),
            ("http://a.example/seen#x", "http://a.example/seen"),
            ("http://a.example/x?sid=1#!/route", "http://a.example/x#!/route"),
            ("http://a.example/x?sid=1#/route", "http://a.example/x#/route"),
            ("http://b.example/x?sid=1#top", "http://b.example/x?sid=1#top"),
        ] {
            assert_eq!(canonical(&site, url), to, "{url}");
        }
    }

    #[test]
    fn fragments_that_tell_pages_apart_are_keys() {
        let keys = site(Some(Fragments::Keys { clusters: 7 }), vec![left_out("query sid=", "")]);
        assert_eq!(canonical(&keys, "http://a.example/x?sid=1#top"), "http://a.example/x#top");
        assert_eq!(canonical(&keys, "http://a.example/alias#top"), "http://a.example/alias#top");
        // Rules of an older file that name fragments; one that leaves them out is no reason to keep them.
        let scoped = site(None, vec![left_out("query sid=", "fragment")]);
        assert_eq!(canonical(&scoped, "http://a.example/x?sid=1#top"), "http://a.example/x#top");
        assert_eq!(canonical(&scoped, "http://a.example/x?sid=1"), "http://a.example/x?sid=1");
        let dropped = site(None, vec![left_out("fragment", "")]);
        assert_eq!(canonical(&dropped, "http://a.example/x#top"), "http://a.example/x");
        assert_eq!(canonical(&dropped, "http://a.example/x#!top"), "http://a.example/x");
    }

    #[test]
    fn a_site_without_rules_keeps_fragments_unless_it_was_learned_that_they_do_not_matter() {
        assert_eq!(canonical(&site(None, vec![]), "http://a.example/x#top"), "http://a.example/x#top");
        let learned = site(Some(Fragments::LeftOut), vec![]);
        assert_eq!(canonical(&learned, "http://a.example/x#top"), "http://a.example/x");
        assert_eq!(canonical(&learned, "http://a.example/x#/top"), "http://a.example/x#/top");
    }
}
