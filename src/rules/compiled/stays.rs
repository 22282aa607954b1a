//! Whether rules can take a URL to a host that is not of their site, told from the rules alone: what need not be asked
//! of every URL.

use crate::rules::set::host_of;
use crate::rules::types::{Operation, PREFIX, Representative, Rule, SiteRules};
use foldhash::fast::FixedState;
use std::collections::HashSet;

/// Hosts of a site up to which they are looked at one by one.
const FEW: usize = 8;

/// True when whatever the rules make of a URL stays on a host of the site. False says nothing: the URL is then asked.
///
/// A host comes from a rule, a mirrored directory, a look-up or a value range; and it ends where the path begins, so that a URL
/// must keep its scheme and the first slash of its path.
pub(super) fn stays(site: &SiteRules) -> bool {
    let many: Option<HashSet<&[u8], FixedState>> =
        (site.hosts.len() > FEW).then(|| site.hosts.iter().map(|host| host.as_bytes()).collect());
    let own = |host: &[u8]| match &many {
        Some(many) => many.contains(host),
        None => site.hosts.iter().any(|own| own.as_bytes() == host),
    };
    let keeps = |rule: &Rule| {
        let has = |key: &str| rule.operations.iter().any(|o| o.0 == key);
        let is_form = !rule.closed || ["scheme", "host", "depth"].into_iter().all(has);
        let flat = rule.closed && !has("ext");
        is_form
            && rule.operations.iter().all(|(key, operation)| match key.as_str() {
                "scheme" => writes(operation, |to| to == "http" || to == "https"),
                "host" => writes(operation, |to| own(to.as_bytes())),
                "depth" => writes(operation, |to| to.parse::<u8>().is_ok_and(|depth| depth > 0 || flat)),
                "host.sub" => false,
                // An extension of no segment would stand at the host.
                "ext" if !rule.closed => {
                    matches!(operation, Operation::Apply(_) | Operation::Ignore(Representative::LeftOut))
                        || matches!(operation, Operation::Ignore(Representative::WherePresent(_)))
                }
                PREFIX => writes(operation, |to| own(host_of(to.as_bytes()))),
                _ => true,
            })
    };
    let pages = site.local.iter().flat_map(|local| &local.pages).map(|span| &span.page);
    let pages = site.aliases.iter().map(|[_, to]| to).chain(pages);
    site.rules.iter().all(keeps) && pages.map(String::as_bytes).all(|url| own(host_of(url)))
}

/// True when an operation leaves a key as it is or gives it one of the values that `may` stand there.
fn writes(operation: &Operation, may: impl Fn(&str) -> bool) -> bool {
    match operation {
        Operation::Ignore(Representative::WherePresent(to) | Representative::Everywhere(to)) => may(to),
        Operation::Keep(to) => may(to),
        Operation::Classes(pairs) => pairs.iter().all(|(_, to)| to.as_deref().is_some_and(&may)),
        Operation::Ignore(Representative::LeftOut) | Operation::Apply(_) | Operation::Replace(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::types::Function;

    fn site(closed: bool, operations: &[(&str, Operation)]) -> SiteRules {
        let operations = operations.iter().map(|(key, operation)| ((*key).to_owned(), operation.clone())).collect();
        let rule = Rule { closed, ..Rule::of("", Vec::new(), operations) };
        SiteRules { hosts: vec!["a.example".into(), "b.example".into()], rules: vec![rule], ..SiteRules::default() }
    }

    #[test]
    fn rules_that_may_leave_the_site_are_known() {
        let set = |to: &str| Operation::Ignore(Representative::WherePresent(to.into()));
        let keep = |to: &str| Operation::Keep(to.into());
        let left_out = Operation::Ignore(Representative::LeftOut);
        let class = |to: Option<&str>| Operation::Classes(vec![(None, to.map(str::to_owned))]);
        for (key, operation, expected) in [
            ("host", set("a.example"), true),
            ("host", set("c.example"), false),
            ("host", class(Some("b.example")), true),
            ("host", class(None), false),
            ("host", Operation::Apply(Function::DropWww), false),
            ("host.sub", Operation::Replace("path0".into()), false),
            ("scheme", set("http"), true),
            ("scheme", set("a.example"), false),
            ("depth", set("1"), true),
            ("depth", set("0"), false),
            ("depth", left_out.clone(), false),
            ("ext", left_out.clone(), true),
            ("ext", Operation::Ignore(Representative::Everywhere(".html".into())), false),
            ("query a=", left_out, true),
            (PREFIX, keep("http://b.example/x"), true),
            (PREFIX, keep("http://b.example.com/x"), false),
        ] {
            assert_eq!(stays(&site(false, &[(key, operation.clone())])), expected, "{key} {operation:?}");
        }
        let form = [("scheme", keep("http")), ("host", keep("a.example")), ("depth", keep("0")), ("ext", keep(".php"))];
        assert!(stays(&site(true, &form[..3])));
        assert!(!stays(&site(true, &form)), "the extension stands at the host");
        assert!(!stays(&site(true, &form[1..3])), "no scheme");
        let leads = |url: &str| SiteRules { aliases: vec![[String::new(), url.to_owned()]], ..site(false, &[]) };
        assert!(stays(&leads("http://a.example/")) && !stays(&leads("http://c.example/")));
    }
}
