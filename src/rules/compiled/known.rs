//! Templates that were compiled before: most sites of a large rule set need not be compiled.
//!
//! What a template depends on is written down as bytes, hosts by their numbers; where the same bytes were compiled before,
//! the template is the same.

use super::compile::is_host;
use super::hosts::Hosts;
use super::{CompiledSite, Own, Template, stays};
use crate::rules::types::{Constraint, Operation, Representative, SiteRules, Test};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::Arc;

/// Templates that are known at a time; of more, all are forgotten.
const MOST: usize = 4096;

/// Templates by what they were compiled from.
#[derive(Debug, Default)]
pub struct Known {
    templates: HashMap<Box<[u8]>, Arc<Template>, FixedState>,
    key: Vec<u8>,
}

impl Known {
    /// Compiles a site, or takes the template of one that differs in its hosts alone.
    pub fn compile(&mut self, site: &SiteRules) -> CompiledSite {
        self.key.clear();
        let mut key = Key { bytes: &mut self.key, hosts: Vec::new(), usual: true };
        key.site(site);
        let Key { hosts, usual, .. } = key;
        if !usual {
            return CompiledSite::compile(site);
        }
        if let Some(template) = self.templates.get(self.key.as_slice()) {
            debug_assert_eq!(**template, **CompiledSite::compile(site).template());
            return CompiledSite::new(Arc::clone(template), Own { hosts: Hosts::new(&hosts), pages: None });
        }
        let compiled = CompiledSite::compile(site);
        if self.templates.len() == MOST {
            self.templates.clear();
        }
        self.templates.insert(self.key.as_slice().into(), Arc::clone(compiled.template()));
        compiled
    }
}

/// What compiling reads of a site, in its order. Texts stand behind their length, and each list behind its own: different
/// rules are different bytes.
struct Key<'k, 's> {
    bytes: &'k mut Vec<u8>,
    /// In the order of their codes.
    hosts: Vec<&'s [u8]>,
    /// All hosts are names that stand in a URL as they are.
    usual: bool,
}

impl<'s> Key<'_, 's> {
    fn site(&mut self, site: &'s SiteRules) {
        let cut = site.cut();
        let flags = [cut.semicolons, cut.fragments, cut.learned, stays::stays(site)].map(u8::from);
        self.bytes.push(cut.delimiters);
        self.bytes.extend(flags);
        self.bytes.extend([u8::from(!site.exceptions.is_empty()), u8::from(!site.seen.is_empty())]);
        self.list(&site.tokens.query_order, |key, name| key.text(name));
        self.list(&site.local, |key, local| key.text(&local.key));
        self.list(&site.rules, |key, rule| {
            key.bytes.push(rule.closed.into());
            key.list(&rule.scope, |key, Constraint { key: of, test }| {
                key.text(of);
                let host = is_host(of);
                match test {
                    Test::Equals(value) => key.value(0, host, value),
                    Test::OneOf(values) => {
                        key.bytes.push(1);
                        key.list(values, |key, value| key.value(0, host, value));
                    }
                    Test::NoneOf(values) => {
                        key.bytes.push(2);
                        key.list(values, |key, value| key.value(0, host, value));
                    }
                    Test::Present => key.bytes.push(3),
                    Test::Absent => key.bytes.push(4),
                }
            });
            key.list(&rule.operations, |key, (of, operation)| {
                key.text(of);
                let host = is_host(of);
                match operation {
                    Operation::Ignore(Representative::LeftOut) => key.bytes.push(0),
                    Operation::Ignore(Representative::WherePresent(value)) => key.value(1, host, value),
                    Operation::Ignore(Representative::Everywhere(value)) => key.value(2, host, value),
                    Operation::Keep(value) => key.value(3, host, value),
                    Operation::Classes(pairs) => {
                        key.bytes.push(4);
                        key.list(pairs, |key, (from, to)| {
                            for value in [from, to] {
                                match value {
                                    Some(value) => key.value(1, host, value),
                                    None => key.bytes.push(0),
                                }
                            }
                        });
                    }
                    Operation::Apply(function) => key.bytes.extend([5, *function as u8]),
                    Operation::Replace(from) => {
                        key.bytes.push(6);
                        key.text(from);
                    }
                }
            });
        });
    }

    fn list<T>(&mut self, items: &'s [T], write: impl Fn(&mut Self, &'s T)) {
        self.bytes.extend_from_slice(&(items.len() as u32).to_le_bytes());
        items.iter().for_each(|item| write(self, item));
    }

    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A value behind a byte that says what it is; a host by its number.
    fn value(&mut self, kind: u8, host: bool, value: &'s str) {
        self.bytes.push(kind);
        if !host {
            return self.text(value);
        }
        let value = value.as_bytes();
        let at = self.hosts.iter().position(|known| *known == value).unwrap_or_else(|| {
            self.usual &= is_name(value) && self.hosts.len() < MOST_HOSTS;
            self.hosts.push(value);
            self.hosts.len() - 1
        });
        self.bytes.extend_from_slice(&(at as u32).to_le_bytes());
    }
}

/// Hosts of a site that are compared one by one.
const MOST_HOSTS: usize = 64;

/// A host of labels in lower case: whatever compiling asks of it, the answer is that of any other.
fn is_name(host: &[u8]) -> bool {
    let label = |l: &[u8]| !l.is_empty() && l.iter().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    host.split(|&b| b == b'.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::types::{Function, Rule};

    fn site(scope: &[(&str, Test)], operations: &[(&str, Operation)], closed: bool) -> SiteRules {
        let scope = scope.iter().map(|(key, test)| Constraint { key: (*key).into(), test: test.clone() }).collect();
        let operations = operations.iter().map(|(key, operation)| ((*key).into(), operation.clone())).collect();
        let rule = Rule { closed, ..Rule::of("", scope, operations) };
        SiteRules { hosts: vec!["a.example".into()], rules: vec![rule], ..SiteRules::default() }
    }

    /// Compiling a site that looks known compares it with the real thing, in tests.
    #[test]
    fn other_rules_are_other_templates() {
        let text = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<String>>();
        let keep = |to: &str| Operation::Keep(to.to_owned());
        let set = |to: &str| Operation::Ignore(Representative::WherePresent(to.to_owned()));
        let class = |from: &str, to: Option<&str>| Operation::Classes(vec![(Some(from.into()), to.map(str::to_owned))]);
        let out = || ("query a=", Operation::Ignore(Representative::LeftOut));
        let mut sites = vec![
            site(&[], &[out()], false),
            site(&[], &[("query b=", out().1)], false),
            site(&[("path0", Test::Present)], &[out()], false),
            site(&[("path0", Test::Absent)], &[out()], false),
            site(&[("path0", Test::Equals("a".into()))], &[out()], false),
            site(&[("path0", Test::Equals("b".into()))], &[out()], false),
            site(&[("path0", Test::OneOf(text(&["a", "b"])))], &[out()], false),
            site(&[("path0", Test::NoneOf(text(&["a", "b"])))], &[out()], false),
            site(&[("path0", Test::OneOf(text(&["ab"])))], &[out()], false),
            site(&[("host", Test::Equals("b.example".into()))], &[out()], false),
            site(&[("host", Test::OneOf(text(&["b.example", "c.example"])))], &[out()], false),
            site(&[("host", Test::Equals("b.example".into()))], &[("host", set("a.example"))], false),
            site(&[("host", Test::Equals("a.example".into()))], &[("host", set("a.example"))], false),
            site(&[("host", Test::Equals("B.example".into()))], &[("host", set("a.example"))], false),
            site(&[], &[("host", set("a.example"))], false),
            site(&[], &[("host", set("x.example"))], false),
            site(&[], &[("path0", class("a", Some("b")))], false),
            site(&[], &[("path0", class("a", None))], false),
            site(&[], &[("path0", Operation::Apply(Function::LowerCase))], false),
            site(&[], &[("path0", Operation::Apply(Function::DropEmpty))], false),
            site(&[("host", Test::Present)], &[("path0", keep("a"))], true),
            site(&[("path1", Test::Present)], &[("path0", Operation::Replace("path1".into()))], true),
        ];
        sites.push(SiteRules { seen: vec!["http://a.example/"].into(), ..sites[0].clone() });
        sites.push(sites[0].clone());
        sites.last_mut().expect("one").tokens.query_order = text(&["a=", "b="]);
        let mut known = Known::default();
        let mut templates: Vec<Arc<Template>> = Vec::new();
        for site in sites.iter().chain(&sites) {
            let compiled = known.compile(site);
            assert_eq!(**compiled.template(), **CompiledSite::compile(site).template(), "{site:?}");
            templates.push(Arc::clone(compiled.template()));
        }
        let (first, again) = templates.split_at(sites.len());
        for (i, template) in again.iter().enumerate() {
            let is_own = |at: usize| Arc::ptr_eq(&first[at], template);
            // A host that is not written as it will stand is always compiled.
            let unusual = matches!(&sites[i].rules[0].scope[..], [Constraint { test: Test::Equals(to), .. }] if to == "B.example");
            assert_eq!(
                (0..first.len()).filter(|&at| is_own(at)).collect::<Vec<_>>(),
                if unusual { vec![] } else { vec![i] }
            );
        }
    }
}
