//! The invariants of the applier for any rules: also for a rule file that was made by hand, or damaged.

use proptest::prelude::*;
use undust::rules::*;
use undust::url::normalize;

const KEYS: [&str; 25] = [
    "scheme",
    "host",
    "host.sub",
    "path0",
    "path0.number",
    "path0.ext",
    "path1",
    "path1.tail",
    "path23",
    "ext",
    "depth",
    "trailing slash",
    "index",
    "double slash",
    "order",
    "separator",
    "fragment",
    "empty query",
    "whole query",
    "query a=",
    "query a",
    "query b=",
    "query ",
    "param x=",
    "moon",
];
const VALUES: [&str; 36] = [
    "",
    "/",
    "a",
    "b",
    "1",
    "2",
    "03",
    "..",
    ".",
    "a/b",
    "&",
    "1&a=2",
    ".html",
    ".php",
    "index.php",
    "http",
    "https",
    "ftp",
    "example.com",
    "www.example.com",
    "evil.org",
    "%2F",
    "%41",
    "%",
    "a b",
    "\u{fc}",
    "a=&b=",
    "b=&a=&a=",
    "0.1",
    "99999999999999999999999",
    "-1",
    "#",
    "?",
    ";x=1",
    "A",
    "x\u{1}",
];
const URLS: [&str; 25] = [
    "http://example.com/",
    "https://www.example.com/a/b/",
    "http://example.com/a.html?a=1&b=2",
    "http://example.com/a/1",
    "http://example.com/index.php?a=1&a=2",
    "http://example.com//a//b//?b=2&a=1",
    "http://a.b.example.com/1-b;x=1?a",
    "http://example.com/?",
    "http://example.com/?a=1&b=2&a=3#1",
    "http://example.com/a/1.php;x=1;x=2",
    "http://u@example.com:81/a",
    "http://example.com/?a=b&&b=a",
    "http://example.com/a/?",
    "http://example.com/..a/b",
    "http://example.com/a1",
    "http://example.com/?a=..",
    "http://example.com/?a=a/b",
    "http://example.com/A/index.php",
    "http://example.com/a;x=",
    "http://example.com/?a=&b=&=",
    "http://www.example.com/b",
    "http://1.example.com/?b=1",
    "http://example.com/2?a=03",
    "http://example.com/a/b?b=%2F",
    // More keys than rules leave out at once.
    concat!(
        "http://example.com/?c0&c1&c2&c3&c4&c5&c6&c7&c8&c9&c10&c11&c12&c13&c14&c15&c16&c17&c18&c19&c20&c21",
        "&c22&c23&c24&c25&c26&c27&c28&c29&c30&c31&c32&c33&c34&c35&c36&c37&c38&c39&c40&c41&c42&c43",
        "&c44&c45&c46&c47&c48&c49&c50&c51&c52&c53&c54&c55&c56&c57&c58&c59&c60&a=1&b=2"
    ),
];

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(&KEYS[..]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = String> {
    prop::sample::select(&VALUES[..]).prop_map(str::to_owned)
}

pub fn url() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(&URLS[..]).prop_map(str::to_owned),
        1 => (prop::sample::select(&URLS[..]), value()).prop_map(|(u, v)| format!("{u}{v}")),
    ]
}

fn test() -> impl Strategy<Value = Test> {
    let values = || prop::collection::vec(value(), 0..3);
    prop_oneof![
        value().prop_map(Test::Equals),
        values().prop_map(Test::OneOf),
        values().prop_map(Test::NoneOf),
        values().prop_map(Test::Not),
        Just(Test::Present),
        Just(Test::Present),
        Just(Test::Absent),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    use Representative::*;
    let absent_or = || prop::option::of(value());
    prop_oneof![
        value().prop_map(Operation::Keep),
        key().prop_map(Operation::Replace),
        Just(Operation::Ignore(LeftOut)),
        value().prop_map(|v| Operation::Ignore(WherePresent(v))),
        value().prop_map(|v| Operation::Ignore(Everywhere(v))),
        prop::collection::vec((absent_or(), absent_or()), 0..4).prop_map(|mut pairs| {
            pairs.sort();
            Operation::Classes(pairs)
        }),
        prop::sample::select(Function::ALL.to_vec()).prop_map(Operation::Apply),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    let scope = prop::collection::vec((key(), test()).prop_map(|(key, test)| Constraint { key, test }), 0..3);
    let operations = prop::collection::vec((key(), operation()), 1..4);
    (scope, operations, any::<bool>(), any::<bool>()).prop_map(|(scope, operations, closed, extended)| Rule {
        closed,
        extended,
        ..Rule::of("", scope, operations)
    })
}

/// A rule between forms that fits a URL: its scope names every key, and the values go anywhere.
fn form() -> impl Strategy<Value = Rule> {
    let sources = [
        vec!["scheme", "host", "depth", "query a="],
        vec!["scheme", "host", "depth", "path0", "path1"],
        vec!["scheme", "host", "depth", "path0"],
    ];
    let fixed = prop::sample::select(vec![("depth", "0"), ("depth", "1"), ("depth", "2")]);
    let operations = prop::collection::vec(
        (key(), prop_oneof![value().prop_map(Operation::Keep), key().prop_map(Operation::Replace)]),
        0..3,
    );
    (prop::sample::select(sources.to_vec()), fixed, operations, any::<bool>()).prop_map(
        |(source, fixed, more, keep)| {
            let mut operations = vec![("scheme".to_owned(), Operation::Replace("scheme".to_owned()))];
            if keep {
                operations.push(("host".to_owned(), Operation::Replace("host".to_owned())));
            }
            operations.push((fixed.0.to_owned(), Operation::Keep(fixed.1.to_owned())));
            operations.extend(more);
            let scope = source.iter().map(|key| Constraint { key: (*key).to_owned(), test: Test::Present }).collect();
            Rule { kind: Kind::Form, closed: true, extended: keep, ..Rule::of("", scope, operations) }
        },
    )
}

pub fn site() -> impl Strategy<Value = SiteRules> {
    let rules = prop::collection::vec(prop_oneof![3 => rule(), 2 => form()], 0..4);
    let pairs = || prop::collection::vec((url(), url()).prop_map(|(a, b)| [a, b]), 0..3);
    let order = prop::collection::vec(prop::sample::select(vec!["a=", "b=", "a", ""]).prop_map(str::to_owned), 0..3);
    let fragments = prop::sample::select(vec![None, Some(Fragments::LeftOut), Some(Fragments::Keys { clusters: 3 })]);
    let tokens =
        (order, fragments).prop_map(|(query_order, fragments)| Tokens { query_order, fragments, ..Tokens::default() });
    (rules, prop::collection::vec(url(), 0..3), pairs(), prop::collection::vec((url(), 0usize..4), 0..2), tokens)
        .prop_map(|(mut rules, seen, mut aliases, exceptions, tokens)| {
            rules.iter_mut().enumerate().for_each(|(i, rule)| rule.id = i.to_string());
            // Half of the look-ups lead to the page of another one.
            aliases.iter_mut().zip(&seen).for_each(|(alias, seen)| alias[1].clone_from(seen));
            aliases.extend(seen.into_iter().map(|url| [url.clone(), url]));
            SiteRules {
                site: "example.com".to_owned(),
                origins: undust::rules::origins::of_hosts(["example.com"]),
                tokens,
                rules,
                exceptions: exceptions
                    .into_iter()
                    .map(|(url, rule)| [url, if rule == 3 { "*".to_owned() } else { rule.to_string() }])
                    .collect(),
                aliases,
                ..SiteRules::default()
            }
        })
}

fn check(set: &RuleSet, url: &str, scratch: &mut Scratch) -> Result<(), String> {
    let once = set.canonicalize(url);
    let mut normal = Vec::new();
    if normalize(url.as_bytes(), &mut normal).is_err() {
        return if once.invalid && once.url == url {
            Ok(())
        } else {
            Err(format!("{url} is no URL, but {}", once.url))
        };
    }
    let told =
        |invariant: &str, more: &str| Err(format!("{invariant}: {url} -> {} {more}\n{:#?}", once.url, set.sites()));
    if once.invalid || normalize(once.url.as_bytes(), &mut normal).is_err() {
        return told("a URL stays a URL", "");
    }
    if normal != once.url.as_bytes() {
        return told("the output is in normal form", &String::from_utf8_lossy(&normal));
    }
    let twice = set.canonicalize(&once.url).url;
    if twice != once.url {
        return told("twice is once", &twice);
    }
    let site = &set.sites()[0];
    if once.site().is_some() && !url.contains('#') && !site.rules.is_empty() && !site.tokenizer().fragments {
        let fragment = set.canonicalize(&format!("{url}#a?b=c")).url.into_owned();
        if fragment != once.url {
            return told("a fragment that is no key changes nothing", &fragment);
        }
    }
    let reused = set.apply(url.as_bytes(), None, scratch);
    if reused.url != once.url.as_bytes() {
        return told("a scratch leaves no traces", &String::from_utf8_lossy(reused.url));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8192, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_for_any_rules(site in site(), urls in prop::collection::vec(url(), 1..12)) {
        let set = RuleSet::new(vec![site]);
        let mut scratch = Scratch::default();
        for url in urls {
            check(&set, &url, &mut scratch).map_err(TestCaseError::fail)?;
        }
    }
}
