//! The rules of many sites, as `learn` writes them: six a site.

use undust::rules::{Constraint, Evidence, Operation, Representative, Rule, SiteRules, Test, file};

/// Rules of a site.
pub const RULES: usize = 6;

/// A parameter that the rules of a site leave out; sites with another one have another template.
pub fn key(n: usize, templates: usize) -> String {
    if templates == 1 { "ref".to_owned() } else { format!("ref{}", n % templates) }
}

/// The site of a number; of so many sites after each other no two have one template.
pub fn site(n: usize, templates: usize) -> SiteRules {
    let name = format!("site{n}.example");
    let example = |q: &str| [format!("http://www.{name}/topic/{n}?{q}"), format!("http://{name}/topic/{n}")];
    let rule = |scope: Vec<Constraint>, key: &str, to: Representative| {
        let mut rule = Rule {
            evidence: Evidence {
                good: 120 + n as u64 % 1000,
                bad: 1,
                support_pairs: 4_000,
                upper_bound_ppm: 8_260,
                clusters: 43,
                examples: vec![example("utm_source=a&sid=1"), example("sid=2"), example("ref=x")],
                ..Evidence::default()
            },
            ..Rule::of("", scope, vec![(key.to_owned(), Operation::Ignore(to))])
        };
        rule.id = file::rule_id(&name, &rule);
        rule
    };
    let topic = || vec![Constraint { key: "path0".into(), test: Test::Equals("topic".into()) }];
    let page = vec![Constraint { key: "query page=".into(), test: Test::Present }];
    SiteRules {
        origins: undust::rules::origins::of_hosts([name.clone(), format!("www.{name}")]),
        rules: vec![
            rule(Vec::new(), "scheme", Representative::WherePresent("http".into())),
            rule(Vec::new(), "host", Representative::WherePresent(name.clone())),
            rule(Vec::new(), "query utm_source=", Representative::LeftOut),
            rule(topic(), "query sid=", Representative::LeftOut),
            rule(page, "trailing slash", Representative::LeftOut),
            rule(topic(), &format!("query {}=", key(n, templates)), Representative::LeftOut),
        ],
        site: name,
        ..SiteRules::default()
    }
}
