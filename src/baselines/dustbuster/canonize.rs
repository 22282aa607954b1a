//! Canonization: all rules again and again, until nothing changes (section 5.4).

use super::parameters::value_of;
use super::{Rule, marked};
use crate::baselines::{Canonicalizer, RuleReport};

/// Writes what `rule` makes of a marked URL into `out`; false where it changes nothing.
pub fn rewrite(rule: &Rule, url: &[u8], out: &mut Vec<u8>) -> bool {
    let (range, to) = match rule {
        Rule::Substitution { from, to } => match find(url, from) {
            Some(at) => (at..at + from.len(), to),
            None => return false,
        },
        Rule::Parameter { name, value } => match value_of(url, name) {
            Some(range) => (range, value),
            None => return false,
        },
    };
    if url[range.clone()] == to[..] {
        return false;
    }
    out.clear();
    out.extend_from_slice(&url[..range.start]);
    out.extend_from_slice(to);
    out.extend_from_slice(&url[range.end..]);
    true
}

/// The first place of `part` as whole tokens: a word does not match inside a longer one.
fn find(url: &[u8], part: &[u8]) -> Option<usize> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b >= 0x80;
    let cuts = |at: usize| at == 0 || at == url.len() || !(word(url[at - 1]) && word(url[at]));
    if part.is_empty() {
        // The empty string is everywhere; the first place behind the mark is as good as any.
        return Some(1);
    }
    memchr::memmem::find_iter(url, part).find(|&at| cuts(at) && cuts(at + part.len()))
}

/// Valid rules at work.
pub struct Rules {
    /// In the order in which they are applied.
    pub rules: Vec<Rule>,
    /// Iterations at most.
    pub iterations: usize,
    /// The marked URL; a buffer.
    pub url: Vec<u8>,
}

impl Canonicalizer for Rules {
    fn canonicalize(&mut self, url: &[u8], out: &mut Vec<u8>) {
        self.url = marked(url);
        for _ in 0..self.iterations {
            let mut changed = false;
            for rule in &self.rules {
                if rewrite(rule, &self.url, out) {
                    std::mem::swap(&mut self.url, out);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        out.clear();
        out.extend(self.url.iter().filter(|b| !matches!(**b, super::START | super::END)));
    }

    fn report(&self) -> Vec<RuleReport> {
        self.rules.iter().map(|rule| RuleReport { text: rule.text(), evidence: None }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_match_whole_tokens_and_parameters_whole_values() {
        let rule = Rule::Substitution { from: b"art".to_vec(), to: b"x".to_vec() };
        let mut out = Vec::new();
        assert!(!rewrite(&rule, &marked(b"http://a/party"), &mut out));
        assert!(rewrite(&rule, &marked(b"http://a/my-art"), &mut out));
        assert_eq!(out, marked(b"http://a/my-x"));
        let rule = Rule::Parameter { name: b"sid".to_vec(), value: b"0".to_vec() };
        assert!(rewrite(&rule, &marked(b"http://a/?xsid=1&sid=2#z"), &mut out));
        assert_eq!(out, marked(b"http://a/?xsid=1&sid=0#z"));
        assert!(!rewrite(&rule, &out.clone(), &mut Vec::new()));
    }

    #[test]
    fn canonization_ends_where_rules_undo_each_other() {
        let rule = |from: &str, to: &str| Rule::Substitution { from: from.into(), to: to.into() };
        let rules = vec![rule("a", "b"), rule("b", "c"), rule("c", "a")];
        let mut rules = Rules { rules, iterations: 10, url: Vec::new() };
        let mut out = Vec::new();
        rules.canonicalize(b"http://x/a", &mut out);
        assert_eq!(out, b"http://x/a");
    }
}
