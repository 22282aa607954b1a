//! Rules learned before URLs in normal form were ASCII: they hold keys, values and hosts in UTF-8,
//! which no URL has any more. They are compiled with escapes and ASCII host names in their place.

use super::origins::parts;
use super::types::{Constraint, Operation, Rule, SiteRules, Test};
use crate::url::{normalize, push_escape};

impl SiteRules {
    /// These rules with hosts, keys and values as URLs in normal form have them. Ids are kept, so that
    /// disabled rules stay disabled; look-ups are kept, and those that are no normal URLs
    /// are not compiled.
    pub(super) fn into_ascii(mut self) -> SiteRules {
        self.origins.iter_mut().for_each(origin);
        self.tokens.query_order.iter_mut().chain(&mut self.tokens.sections).for_each(escape);
        self.rules.iter_mut().for_each(rule);
        self
    }
}

fn rule(rule: &mut Rule) {
    rule.for_each_value(|key, value| if key == "host" { host(value) } else { escape(value) });
    for Constraint { key, test } in &mut rule.scope {
        escape(key);
        if let Test::OneOf(values) | Test::NoneOf(values) | Test::Not(values) = test {
            values.sort_unstable();
        }
    }
    for (key, operation) in &mut rule.operations {
        escape(key);
        if let Operation::Replace(from) = operation {
            escape(from);
        }
    }
}

/// The host becomes ASCII; the port stays.
fn origin(origin: &mut String) {
    if !origin.is_ascii() {
        let (scheme, name) = parts(origin);
        let mut name = name.to_owned();
        host(&mut name);
        *origin = format!("{scheme}://{name}");
    }
}

/// Bytes above 0x7F become escapes.
fn escape(text: &mut String) {
    if !text.is_ascii() {
        let mut out = Vec::new();
        text.bytes().for_each(|b| if b.is_ascii() { out.push(b) } else { push_escape(b, &mut out) });
        *text = String::from_utf8(out).expect("ASCII");
    }
}

/// Replaces a host, with user and port where present, by that of a normal URL; an invalid one is kept.
fn host(text: &mut String) {
    let mut out = Vec::new();
    if !text.is_ascii()
        && let Ok(split) = normalize(format!("http://{text}/").as_bytes(), &mut out)
        && let Ok(host) = str::from_utf8(&out[split.authority.0 as usize..split.authority.1 as usize])
    {
        *text = host.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::RuleSet;
    use crate::rules::types::{Constraint, Operation, Representative, Rule, SiteRules, Test};

    #[test]
    fn rules_in_utf_8_act_on_urls_in_ascii() {
        let scope = |key: &str, test| Constraint { key: key.to_owned(), test };
        let becomes =
            |key: &str, to: &str| (key.to_owned(), Operation::Ignore(Representative::WherePresent(to.to_owned())));
        let rules = vec![
            Rule::of("a", vec![scope("query é=", Test::OneOf(vec!["ö".into()]))], vec![becomes("query é=", "ü")]),
            Rule::of("b", vec![], vec![becomes("host", "bücher.example")]),
        ];
        let origins = super::super::origins::of_hosts(["bücher.example", "www.bücher.example"]);
        let site = SiteRules { site: "bücher.example".into(), origins, rules, ..SiteRules::default() };
        let set = RuleSet::new(vec![site]);
        let canonical = set.canonicalize("http://www.BÜCHER.example/é?é=ö");
        assert_eq!(canonical.url, "http://xn--bcher-kva.example/%C3%A9?%C3%A9=%C3%BC");
        assert_eq!(canonical.rules.iter().map(|id| id.to_string()).collect::<Vec<_>>(), ["a", "b"]);
    }
}
