//! All that was learned of one site.

use super::operation::{Operation, Representative};
use super::rule::Rule;
use super::tokens::{Fragments, Tokens};
use crate::rules::origins;
use crate::rules::platforms::Recognised;
use crate::rules::value_ranges::RangedKey;
use crate::url::Tokenizer;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// All that was learned of one site; one line of `rules.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteRules {
    /// The site's label or registrable domain.
    pub site: String,
    /// Origins on which the rules act, sorted: scheme, host and port as in URLs in normal form
    /// (`http://a.example`, `https://a.example:8443`). Format 1 has `hosts` in their place, each of which
    /// is two origins.
    #[serde(alias = "hosts", deserialize_with = "origins::read")]
    pub origins: Vec<String>,
    /// How its URLs are tokenized.
    #[serde(default)]
    pub tokens: Tokens,
    /// Programs that it runs, by its URLs; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<Recognised>,
    /// Share of labels that contradict even the best-supported operation, in thousandths: what the proof
    /// takes as the noise of the labels.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub label_noise_permille: u32,
    /// Rules in the order in which they fire, each at most once.
    pub rules: Vec<Rule>,
    /// Pages for which a rule does not hold: a URL that the rules reduce to the page (first) and the id of
    /// the rule that is passed over for all URLs that they reduce to it, or `*` for all rules (second);
    /// sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<[String; 2]>,
    /// Learned look-ups: a URL that the rules reduce (first) to what is the same page as another URL, which
    /// is its own canonical URL (second); sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<[String; 2]>,
    /// Keys whose values are known page by page, best proven first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local: Vec<RangedKey>,
    /// URLs of look-ups and value ranges that no record has, on its origin, each with the ids of the rules that write
    /// it from a URL of a record; sorted. What the rules made of another URL says nothing without one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<(String, Vec<String>)>,
}

impl SiteRules {
    /// Takes out the look-ups and value ranges of and to URLs that a rule wrote whose id is not that of a rule of the
    /// site, once rules were taken out or got another id. Returns how many.
    pub fn forget_written(&mut self) -> u64 {
        let ids: HashSet<&str> = self.rules.iter().map(|rule| rule.id.as_str()).collect();
        let is_gone = |of: &&(String, Vec<String>)| of.1.iter().any(|id| !ids.contains(id.as_str()));
        let gone: HashSet<String> = self.written.iter().filter(is_gone).map(|of| of.0.clone()).collect();
        let count = |site: &SiteRules| site.aliases.len() + site.local.iter().map(|of| of.pages.len()).sum::<usize>();
        let before = count(self);
        self.written.retain(|(url, _)| !gone.contains(url));
        self.aliases.retain(|look_up| !look_up.iter().any(|url| gone.contains(url)));
        for local in &mut self.local {
            local.pages.retain(|range| ![&range.like, &range.page].into_iter().any(|url| gone.contains(url)));
        }
        self.local.retain(|local| !local.pages.is_empty());
        (before - count(self)) as u64
    }

    /// True for an origin that none of its records has and on which its [extended](Rule::extended)
    /// rules act: of a host whose registrable domain is the site, on a default port, without user
    /// information.
    pub fn extends_to(&self, origin: &str) -> bool {
        !self.tokens.published
            && self.rules.iter().any(|rule| rule.extended)
            && origins::domain(origin) == Some(&self.site)
            && !self.origins.iter().any(|of| of == origin)
    }

    /// The rules that act on unseen hosts. Rules that are not extended are replaced by rules without
    /// operations, so that the numbers of rules stay. There are no origins, so that no rule changes
    /// scheme or host. `None` if no rule is extended.
    pub(crate) fn for_unseen_hosts(&self) -> Option<SiteRules> {
        let acts = |rule: &Rule| rule.extended && rule.mirror().is_none();
        if self.tokens.published || !self.rules.iter().any(|rule| rule.extended) {
            return None;
        }
        let mut rules = self.rules.clone();
        for rule in rules.iter_mut().filter(|rule| !acts(rule)) {
            (rule.scope, rule.operations, rule.closed) = (Vec::new(), Vec::new(), false);
        }
        let mut tokens = self.tokens.clone();
        if self.tokenizer().fragments {
            // In files without this token the rules decide; some of them are gone.
            tokens.fragments.get_or_insert(Fragments::Keys { clusters: 0 });
        }
        Some(SiteRules { site: self.site.clone(), tokens, rules, ..SiteRules::default() })
    }

    /// How its URLs are tokenized into keys. In rules without [`Tokens::fragments`] (older ones, or made by hand)
    /// fragments are keys where a rule does more with a fragment than to leave it out everywhere.
    pub fn tokenizer(&self) -> Tokenizer {
        const KEY: &str = "fragment";
        let left_out = Operation::Ignore(Representative::LeftOut);
        let taken = Operation::Replace(KEY.to_owned());
        let names = self.rules.iter().any(|rule| {
            let everywhere = rule.scope.is_empty() && !rule.closed;
            rule.scope.iter().any(|constraint| constraint.key == KEY && constraint.test.needs_key())
                || rule.operations.iter().any(|(key, operation)| {
                    *operation == taken || key == KEY && !(everywhere && *operation == left_out)
                })
        });
        let tokenizer = self.tokens.tokenizer();
        Tokenizer { fragments: tokenizer.fragments || self.tokens.fragments.is_none() && names, ..tokenizer }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
