//! Template cache: sites that run the same software have the same rules but for their hosts, so that
//! most sites of a large rule set need not be compiled.

use super::compile::Generic;
use super::hosts::Hosts;
use super::{CompiledSite, Own, Template};
use crate::rules::types::SiteRules;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::Arc;

/// Templates kept at a time; with more, all are compiled anew.
const MOST: usize = 4096;

/// Templates by the rules that they were compiled from.
#[derive(Debug, Default)]
pub struct TemplateCache(HashMap<Vec<u8>, Arc<Template>, FixedState>);

impl TemplateCache {
    /// Compiles a site, or takes the template of one that differs in its hosts alone.
    pub fn compile(&mut self, site: &SiteRules) -> CompiledSite {
        let (generic, hosts) = Generic::of(site);
        let key = serde_json::to_vec(&generic).expect("writing into memory cannot fail");
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let template = self.0.entry(key).or_insert_with(|| Arc::new(Template::compile(&generic)));
        CompiledSite::new(Arc::clone(template), Own { hosts: Hosts::new(&hosts, &site.origins), pages: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::origins::of_hosts;
    use crate::rules::types::{Constraint, Function, Operation, Representative, Rule, Test};

    fn site(scope: &[(&str, Test)], operations: &[(&str, Operation)], closed: bool) -> SiteRules {
        let scope = scope.iter().map(|(key, test)| Constraint { key: (*key).into(), test: test.clone() }).collect();
        let operations = operations.iter().map(|(key, operation)| ((*key).into(), operation.clone())).collect();
        let rule = Rule { closed, ..Rule::of("", scope, operations) };
        SiteRules { origins: of_hosts(["a.example"]), rules: vec![rule], ..SiteRules::default() }
    }

    #[test]
    fn other_rules_are_other_templates() {
        let text = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<String>>();
        let keep = |to: &str| Operation::Keep(to.to_owned());
        let set = |to: &str| Operation::Ignore(Representative::WherePresent(to.to_owned()));
        let class = |from: &str, to: Option<&str>| Operation::Classes(vec![(Some(from.into()), to.map(str::to_owned))]);
        let out = || ("query a=", Operation::Ignore(Representative::LeftOut));
        let form =
            || [("depth", keep("1")), ("host", keep("a.example")), ("path0", keep("a")), ("scheme", keep("http"))];
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
            site(&[], &[("path0", class("a", Some("b")))], false),
            site(&[], &[("path0", class("a", None))], false),
            site(&[], &[("path0", Operation::Apply(Function::LowerCase))], false),
            site(&[], &[("path0", Operation::Apply(Function::DropEmpty))], false),
            site(&[("host", Test::Present)], &[("path0", keep("a"))], true),
            site(&[("path1", Test::Present)], &[("path0", Operation::Replace("path1".into()))], true),
            site(&[("host", Test::Present)], &form(), true),
            site(&[("host", Test::Present)], &form(), false),
        ];
        sites.push(SiteRules { aliases: vec![["http://a.example/"; 2].map(str::to_owned)], ..sites[0].clone() });
        sites.push(sites[0].clone());
        sites.last_mut().expect("one").tokens.query_order = text(&["a=", "b="]);
        let mut cache = TemplateCache::default();
        let mut templates: Vec<Arc<Template>> = Vec::new();
        for site in sites.iter().chain(&sites) {
            let compiled = cache.compile(site);
            assert_eq!(**compiled.template(), **TemplateCache::default().compile(site).template(), "{site:?}");
            templates.push(Arc::clone(compiled.template()));
        }
        let (first, again) = templates.split_at(sites.len());
        for (i, template) in again.iter().enumerate() {
            let is_own = |at: usize| Arc::ptr_eq(&first[at], template);
            assert_eq!((0..first.len()).filter(|&at| is_own(at)).collect::<Vec<_>>(), [i]);
        }
    }
}
