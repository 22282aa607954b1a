//! The invariants of the applier on rule files that no learner would write, and on URLs near them; what
//! `explain` prints ends in the same canonical URL.
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use undust::rules::origins::of_hosts;
use undust::rules::{
    Constraint, Function, Kind, Operation, Representative, Rule, RuleSet, Scratch, SiteRules, Test, Tokens,
};
use undust::url::normalize;

const KEYS: &[&str] = &[
    "scheme",
    "host",
    "double slash",
    "index",
    "trailing slash",
    "depth",
    "ext",
    "empty query",
    "order",
    "fragment",
    "whole query",
    "path0",
    "path0.number",
    "path1",
    "path1.ext",
    "path1.group",
    "path2.tail",
    "path23",
    "query a=",
    "query b=",
    "query c",
    "query ",
    "query sid=",
    "param s=",
    "param ",
    "host.sub",
    "prefix",
    "no key",
    "path99",
    "",
];
/// Keys of most rules.
const COMMON: &[&str] = &["scheme", "host", "path0", "order", "query a=", "query b=", "query c", "query sid="];
const PARAMETERS: &[&str] = &["a=1", "a=2", "b=2", "c", "d=4", "sid=9", "sid=", "%2F=+", ""];
const VALUES: &[&str] = &[
    "",
    "1",
    "2",
    "x",
    "X",
    "a.example",
    "www.a.example",
    "b.a.example",
    "evil.test",
    "http",
    "https",
    "/",
    "index.php",
    ".html",
    "..",
    ".",
    "%7e",
    "%2F",
    "a&b=1",
    "1&a=2",
    "99999999999999999999",
    "-1",
    "a/b",
    "x;y",
    "x?y#z",
    "b=&a=",
    "a.example:443",
    "a.example:80",
    "u@a.example",
    "\u{e9}",
    "+",
    "http://a.example/x",
];
const PIECES: &[&str] = &[
    "/",
    "//",
    "x",
    "X",
    "1",
    "2",
    ".html",
    "index.php",
    "/index.html",
    ";s=1",
    ";",
    "?",
    "a=1",
    "&",
    "b=2",
    "a=",
    "c",
    "sid=9",
    "=",
    "%7e",
    "%2F",
    "+",
    "#",
    "f",
    "..",
    ".",
    "/a/b",
    "&a=2",
    "x-12",
    "/1:2",
];
const HEADS: &[&str] = &[
    "http://a.example",
    "https://a.example",
    "http://www.a.example",
    "http://b.a.example:443",
    "https://u:p@a.example",
    "http://www.www.a.example",
    "HTTP://A.example:80",
    "http://c.example",
    "http://a.test",
    "http://[::1]",
    "ftp://x",
    "",
];

fn text(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![9 => select(of).prop_map(str::to_owned), 1 => ".{0,6}"]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![text(KEYS), text(COMMON)]
}

fn url() -> impl Strategy<Value = String> {
    let rest = prop_oneof![
        2 => vec(select(PIECES), 0..9).prop_map(|pieces| pieces.concat()),
        1 => (select(&["", "x", "x/1/"][..]), vec(select(PARAMETERS), 1..6))
            .prop_map(|(path, parameters)| format!("{path}?{}", parameters.join("&"))),
    ];
    (select(HEADS), rest).prop_map(|(head, rest)| format!("{head}/{rest}"))
}

fn constraint() -> impl Strategy<Value = Constraint> {
    let values = || vec(text(VALUES), 0..4);
    let test = prop_oneof![
        text(VALUES).prop_map(Test::Equals),
        values().prop_map(Test::OneOf),
        values().prop_map(Test::NoneOf),
        values().prop_map(Test::Not),
        Just(Test::Present),
        Just(Test::Absent),
    ];
    (key(), test).prop_map(|(key, test)| Constraint { key, test })
}

fn operation() -> impl Strategy<Value = Operation> {
    let maybe = || proptest::option::of(text(VALUES));
    prop_oneof![
        4 => Just(Operation::Ignore(Representative::LeftOut)),
        1 => text(VALUES).prop_map(|v| Operation::Ignore(Representative::WherePresent(v))),
        1 => text(VALUES).prop_map(|v| Operation::Ignore(Representative::Everywhere(v))),
        1 => text(VALUES).prop_map(Operation::Keep),
        1 => text(KEYS).prop_map(Operation::Replace),
        2 => vec((maybe(), maybe()), 0..4).prop_map(Operation::Classes),
        2 => select(&Function::ALL[..]).prop_map(Operation::Apply),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    let scope = prop_oneof![2 => Just(Vec::new()).boxed(), 3 => vec(constraint(), 0..4).boxed()];
    (scope, vec((key(), operation()), 0..4), proptest::bool::weighted(0.2))
        .prop_map(|(scope, operations, closed)| Rule { closed, ..Rule::of("", scope, operations) })
}

fn site() -> impl Strategy<Value = SiteRules> {
    let hosts = vec(select(&["a.example", "www.a.example", "b.a.example", "c.example", ""][..]), 1..4);
    let tokens = (text(&[":", ":,=!", ""]), any::<bool>(), vec(select(&["a=", "b=", "c", "sid="][..]), 0..4));
    let exceptions = vec((url(), select(&["*", "0", "1"][..])), 0..3);
    (hosts, tokens, vec(rule(), 0..6), vec(url(), 0..4), exceptions, vec((url(), url()), 0..3)).prop_map(
        |(hosts, (delimiters, semicolons, order), mut rules, seen, exceptions, aliases)| {
            rules.iter_mut().enumerate().for_each(|(i, rule)| rule.id = i.to_string());
            let mut aliases: Vec<[String; 2]> = aliases.into_iter().map(|(a, b)| [a, b]).collect();
            aliases.extend(seen.windows(2).map(|w| [w[0].clone(), w[1].clone()]));
            aliases.extend(seen.into_iter().map(|url| [url.clone(), url]));
            SiteRules {
                site: hosts[0].to_owned(),
                origins: of_hosts(hosts),
                tokens: Tokens {
                    delimiters,
                    semicolons: semicolons && rules.len() > 3,
                    query_order: order.into_iter().map(str::to_owned).collect(),
                    ..Tokens::default()
                },
                rules,
                exceptions: exceptions.into_iter().map(|(url, rule)| [url, rule.to_owned()]).collect(),
                aliases,
                ..SiteRules::default()
            }
        },
    )
}

fn origin(url: &[u8]) -> String {
    let mut text = Vec::new();
    let split = normalize(url, &mut text).expect("a URL");
    String::from_utf8(text[..split.path.0 as usize].to_vec()).expect("ASCII")
}

fn check(rules: &RuleSet, url: &str, scratch: &mut Scratch) -> Result<(), TestCaseError> {
    let applied = rules.apply(url.as_bytes(), None, scratch);
    let (out, site, invalid) = (applied.url.to_vec(), applied.site, applied.invalid);
    let mut normal = Vec::new();
    if normalize(url.as_bytes(), &mut normal).is_err() {
        prop_assert!(invalid && out == url.as_bytes());
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&out).into_owned();
    prop_assert!(!invalid);
    prop_assert!(normalize(&out, &mut normal).is_ok() && normal == out, "{url} became {shown}: not in normal form");
    let again = rules.apply(&out, None, scratch).url.to_vec();
    let again = String::from_utf8_lossy(&again).into_owned();
    prop_assert_eq!(&again, &shown, "{} twice", url);
    let (before, after) = (origin(url.as_bytes()), origin(&out));
    let of_site = |site: u32| rules.sites()[site as usize].origins.contains(&after);
    prop_assert!(before == after || site.is_some_and(of_site), "{url} became {shown}: left its site");
    let trace = rules.trace(url);
    let end = format!("{}\n", undust::model::shown::brief(&format!("  canonical    {shown}")));
    prop_assert!(trace.text(false).as_str().ends_with(&end), "the trace of {url} does not end in {shown}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_rules_keep_the_invariants(sites in vec(site(), 1..3), urls in vec(url(), 1..8)) {
        let urls: Vec<String> = urls.into_iter().chain(sites.iter().flat_map(|s| s.aliases.iter().map(|[_, to]| to.clone()))).collect();
        let rules = RuleSet::new(sites);
        let mut scratch = Scratch::default();
        for url in &urls {
            check(&rules, url, &mut scratch)?;
        }
    }
}

fn plain(operations: Vec<(String, Operation)>) -> Rule {
    Rule::of("0", Vec::new(), operations)
}

fn left_out(key: &str) -> Rule {
    plain(vec![(key.into(), Operation::Ignore(Representative::LeftOut))])
}

#[test]
fn more_keys_and_rules_than_there_is_room_for() {
    let rules = (0..70_000).map(|i| left_out(&format!("query k{i}="))).collect();
    let site = SiteRules { site: "a.example".into(), origins: of_hosts(["a.example"]), rules, ..SiteRules::default() };
    let rules = RuleSet::new(vec![site]);
    let canonical = |url: &str| rules.canonicalize(url).url.into_owned();
    assert_eq!(canonical("http://a.example/?k3=1&k60000=1&x=2"), "http://a.example/?x=2");
    // The last ones never fire.
    assert_eq!(canonical("http://a.example/?k69999=1"), "http://a.example/?k69999=1");
}

#[test]
fn a_form_that_writes_a_key_twice_does_nothing() {
    let named = |key: &str| Constraint { key: key.into(), test: Test::Present };
    let same = |key: &str| (key.to_owned(), Operation::Replace(key.into()));
    let form = |again: &[(&str, &str)]| {
        let mut operations = vec![same("scheme"), same("host"), ("depth".into(), Operation::Keep("0".into()))];
        operations.extend(again.iter().map(|&(key, value)| (key.to_owned(), Operation::Keep(value.into()))));
        let scope = vec![named("scheme"), named("host"), named("depth"), named("query a=")];
        let form = Rule { scope, closed: true, kind: Kind::Form, ..plain(operations) };
        // It is asked for by the value that the form would have written.
        let scope = vec![Constraint { key: "host".into(), test: Test::Equals("other".into()) }];
        let behind = Rule { scope, ..plain(vec![("scheme".into(), Operation::Keep("https".into()))]) };
        let site = "example.com".to_owned();
        RuleSet::new(vec![SiteRules {
            origins: of_hosts([&site]),
            site,
            rules: vec![form, behind],
            ..SiteRules::default()
        }])
    };
    let url = "http://example.com/?a=1";
    assert_eq!(form(&[]).canonicalize(url).url, "http://example.com/");
    assert_eq!(form(&[("host", "other")]).canonicalize(url).url, url);
}

#[test]
fn a_rule_that_writes_a_key_twice_keeps_the_invariants() {
    let classes = Operation::Classes(vec![(None, Some("/".into()))]);
    let fragment = |operation| ("fragment".to_owned(), operation);
    let rule = plain(vec![fragment(classes), fragment(Operation::Apply(Function::DropEmpty))]);
    let site = "example.com".to_owned();
    let set =
        RuleSet::new(vec![SiteRules { origins: of_hosts([&site]), site, rules: vec![rule], ..Default::default() }]);
    // Left out, the fragment is given anew when the URL comes again.
    for (url, canonical) in
        [("http://example.com/#", "http://example.com/#/"), ("http://example.com/", "http://example.com/#/")]
    {
        let once = set.canonicalize(url).url.into_owned();
        assert_eq!((&*once, &*set.canonicalize(&once).url), (canonical, canonical));
    }
}

#[test]
fn long_urls_of_many_parameters() {
    let rules = vec![left_out("query k1="), left_out("param s1="), left_out("fragment")];
    let site = SiteRules { site: "a.example".into(), origins: of_hosts(["a.example"]), rules, ..SiteRules::default() };
    let rules = RuleSet::new(vec![site]);
    let many = |mark: char, name: &str| (0..100_000).map(|i| format!("{mark}{name}{i}=")).collect::<String>();
    for url in [format!("http://a.example/x{}#f", many(';', "s")), format!("http://a.example/?a{}#f", many('&', "k"))] {
        let out = rules.canonicalize(&url).url;
        assert_eq!(out, url.trim_end_matches("#f"));
        assert_eq!(rules.canonicalize(&out).url, out);
    }
}

/// Rules of every kind, exceptions, look-ups and seen members.
fn every_kind() -> SiteRules {
    let ignore = |key: &str, r| (key.to_owned(), Operation::Ignore(r));
    let present = |key: &str| Constraint { key: key.into(), test: Test::Present };
    let mut rules = vec![
        left_out("query sid="),
        plain(vec![ignore("scheme", Representative::WherePresent("https".into()))]),
        plain(vec![("host".into(), Operation::Classes(vec![(Some("b.a.example".into()), Some("a.example".into()))]))]),
        plain(vec![("host".into(), Operation::Apply(Function::DropWww))]),
        plain(vec![ignore("trailing slash", Representative::LeftOut), ignore("index", Representative::LeftOut)]),
        plain(vec![("path0".into(), Operation::Apply(Function::LowerCase))]),
        plain(vec![("query q=".into(), Operation::Apply(Function::PlusIsSpace))]),
        plain(vec![ignore("order", Representative::LeftOut)]),
        plain(vec![ignore("query page=", Representative::Everywhere("1".into()))]),
        Rule {
            closed: true,
            scope: ["depth", "host", "path0", "query page=", "query t=", "scheme"].map(present).to_vec(),
            operations: vec![
                ("depth".into(), Operation::Keep("2".into())),
                ("host".into(), Operation::Replace("host".into())),
                ("path0".into(), Operation::Replace("path0".into())),
                ("path1.number".into(), Operation::Replace("query t=".into())),
                ("scheme".into(), Operation::Replace("scheme".into())),
            ],
            ..left_out("scheme")
        },
    ];
    // Only below a path that ends in a number: elsewhere the key stays absent.
    rules[8].scope.push(present("query t="));
    rules.iter_mut().enumerate().for_each(|(i, rule)| rule.id = format!("rule{i}"));
    SiteRules {
        site: "a.example".into(),
        origins: of_hosts(["a.example", "b.a.example", "www.a.example"]),
        rules,
        exceptions: vec![["https://a.example/kept".into(), "rule0".into()]],
        aliases: vec![
            ["https://a.example/Seen/".into(), "https://a.example/Seen/".into()],
            ["https://a.example/other".into(), "https://a.example/target".into()],
        ],
        ..SiteRules::default()
    }
}

const EVERY_KIND: &[(&str, &str)] = &[
    ("http://www.a.example/X/index.php?sid=1", "https://a.example/x"),
    ("http://b.a.example/x/?q=a+b&sid=2", "https://a.example/x?q=a%20b"),
    ("http://a.example/topic?t=7", "https://a.example/topic/7"),
    ("http://a.example/seen?sid=3", "https://a.example/Seen/"),
    ("http://a.example/other?sid=3", "https://a.example/target"),
    ("http://a.example/kept?sid=4", "https://a.example/kept?sid=4"),
    ("http://c.example/%7ea", "http://c.example/~a"),
    ("no URL", "no URL"),
];

#[test]
fn rules_of_every_kind_allocate_nothing_a_url() {
    let rules = RuleSet::new(vec![every_kind()]);
    let mut scratch = Scratch::default();
    let mut apply_all = || {
        for (url, expected) in EVERY_KIND {
            let out = rules.apply(url.as_bytes(), None, &mut scratch).url;
            assert!(out == expected.as_bytes(), "{url} became {}", String::from_utf8_lossy(out));
        }
    };
    // Buffers change places: each has to have held the longest once.
    (0..4).for_each(|_| apply_all());
    assert_eq!(allocation_counter::measure(apply_all).count_total, 0);
}

#[test]
fn a_trace_tells_what_each_rule_did() {
    let mut site = every_kind();
    site.rules.truncate(4);
    site.rules[2].scope = vec![Constraint { key: "query do=".into(), test: Test::Equals("login".into()) }];
    let rules = RuleSet::new(vec![site]);
    let evidence = "  [good 0, bad 0, <= 0.0 %, 0 clusters]";
    let expected = r#"http://www.a.example/seen?sid=1
  normal form  http://www.a.example/seen?sid=1
  site         a.example (origin http://www.a.example)
  keys         scheme "http"
               host "www.a.example"
               depth "1"
               path0 "seen"
               query sid= "1"
  rule 1       rule0 everywhere: ignore query sid= (left out)EVIDENCE
               fired: query sid= "1" -> absent
               would be stopped by: no query sid=
               or by 1 more URL of other clusters in the data, or `undust rules disable rule0`
  rule 2       rule1 everywhere: ignore scheme (becomes "https")EVIDENCE
               fired: scheme "http" -> "https"
               would be stopped by: 1 more URL of other clusters in the data, or `undust rules disable rule1`
  rule 3       rule2 where query do= is "login": for host "b.a.example" take "a.example"EVIDENCE
               stopped: query do= is absent, the rule asks that query do= is "login"
  rule 4       rule3 everywhere: drop "www." from hostEVIDENCE
               fired: host "www.a.example" -> "a.example"
               would be stopped by: 1 more URL of other clusters in the data, or `undust rules disable rule3`
  canonical    https://a.example/seen
"#;
    assert_eq!(
        rules.trace("http://www.a.example/seen?sid=1").text(false).as_str(),
        expected.replace("EVIDENCE", evidence)
    );

    let rules = RuleSet::new(vec![every_kind()]);
    let ends = |url: &str| rules.trace(url).text(true).as_str().to_owned();
    assert!(ends("http://a.example/other?sid=3").ends_with(
        "  look-up      https://a.example/other is the same page as\n               -> https://a.example/target\n  canonical    https://a.example/target\n"
    ));
    assert!(
        ends("http://a.example/kept?sid=4")
            .contains("  exception    rule0 does not hold for https://a.example/kept: passed over below\n")
    );
}
