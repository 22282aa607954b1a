//! Rule sets made by hand, for mistakes that random rule sets show seldom or never.

use super::SiteRules;
use super::compare::{Applier, Forms, Input, check};
use crate::rules::types::SECTION;
use crate::rules::value_ranges::{RangedKey, ValueRange};
use crate::rules::{Constraint, Function, Kind, Operation, Representative, Rule, Test};

fn left_out(key: &str) -> (String, Operation) {
    (key.to_owned(), Operation::Ignore(Representative::LeftOut))
}

fn function(key: &str, function: Function) -> (String, Operation) {
    (key.to_owned(), Operation::Apply(function))
}

fn classes(key: &str, pairs: &[(&str, &str)]) -> (String, Operation) {
    let pairs = pairs.iter().map(|(from, to)| (Some((*from).to_owned()), Some((*to).to_owned())));
    (key.to_owned(), Operation::Classes(pairs.collect()))
}

/// A site with one rule an operation.
fn site(operations: Vec<(String, Operation)>) -> SiteRules {
    let rule = |(number, operation)| Rule::of(&format!("{number:016x}"), Vec::new(), vec![operation]);
    let origins = crate::rules::origins::of_hosts(["a.example", "m.a.example", "www.a.example"]);
    let rules = (0..).zip(operations).map(rule).collect();
    SiteRules { site: "a.example".to_owned(), origins, rules, ..SiteRules::default() }
}

/// A rule from the form of paths of one segment and these other keys to itself: the segment becomes another
/// one.
fn form(from: &str, to: &str, others: &[&str]) -> Rule {
    let keys = ["scheme", "host", "depth", "path0"].into_iter().chain(others.iter().copied());
    let rule = keys.map(|key| {
        let (test, operation) = match key {
            "path0" => (Test::Equals(from.to_owned()), Operation::Keep(to.to_owned())),
            "depth" => (Test::Present, Operation::Keep("1".to_owned())),
            _ => (Test::Present, Operation::Replace(key.to_owned())),
        };
        (Constraint { key: key.to_owned(), test }, (key.to_owned(), operation))
    });
    let (scope, operations) = rule.unzip();
    Rule { closed: true, kind: Kind::Form, ..Rule::of(&format!("{from:0>16}"), scope, operations) }
}

/// Compares URLs, and what becomes of them with what is expected.
fn equal(site: SiteRules, cases: &[(&str, &str)]) {
    let inputs: Vec<Input> = cases.iter().map(|case| Input { url: case.0.into(), site: None }).collect();
    let found = check(vec![site], &inputs, Forms::Files, &mut Applier::default(), |_, pairs| {
        for (pair, (url, expected)) in pairs.iter().zip(cases) {
            assert_eq!(String::from_utf8_lossy(&pair.outcome.url), *expected, "{url}");
        }
    });
    assert!(found.is_ok(), "{found:?}");
}

#[test]
fn a_path_that_lost_its_parameter_may_have_another_normal_form() {
    let cases = [
        ("http://a.example/x/y;v", "http://a.example/x/y"),
        ("http://a.example/x/..;v", "http://a.example/x/..;v"),
        ("http://a.example/x/.;v", "http://a.example/x/.;v"),
    ];
    equal(site(vec![left_out("param v")]), &cases);
}

#[test]
fn of_two_classes_of_one_value_the_first_counts() {
    let pairs = [("1", "3"), ("1", "2"), ("4", "5")];
    let cases = [
        ("http://a.example/?a=1", "http://a.example/?a=3"),
        ("http://a.example/?a=4", "http://a.example/?a=5"),
        ("http://a.example/?a=2", "http://a.example/?a=2"),
    ];
    equal(site(vec![classes("query a=", &pairs)]), &cases);
}

#[test]
fn a_host_that_moves_on_goes_all_the_way() {
    let pairs = [("www.a.example", "a.example"), ("a.example", "m.a.example")];
    let cases = [
        ("http://www.a.example/", "http://m.a.example/"),
        ("http://a.example/", "http://m.a.example/"),
        ("http://m.a.example/", "http://m.a.example/"),
    ];
    equal(site(vec![classes("host", &pairs)]), &cases);
}

#[test]
fn functions_act_on_a_host_that_a_rule_wrote() {
    let host = Operation::Ignore(Representative::WherePresent("www.a.example".to_owned()));
    let rules = vec![("host".to_owned(), host), function("host", Function::DropWww)];
    equal(site(rules), &[("http://m.a.example/", "http://a.example/")]);
}

#[test]
fn functions_act_on_values_that_rules_wrote() {
    // The first of the values is empty, and no value of the URL is.
    let rules = vec![function("query a=", Function::FirstRepeat), function("query a=", Function::DropEmpty)];
    let cases =
        [("http://a.example/?a=&a=1", "http://a.example/"), ("http://a.example/?a=1&a=", "http://a.example/?a=1")];
    equal(site(rules), &cases);
    // No value of the URL has a capital, that of the rule between forms has. The first rule acts in the
    // second turn, in which the last one finds nothing to do.
    let mut site = site(vec![classes("path0", &[("x", "q")]), function("path0", Function::LowerCase)]);
    site.rules.insert(1, form("a", "X", &[]));
    equal(site, &[("http://a.example/a", "http://a.example/q"), ("http://a.example/x", "http://a.example/q")]);
}

#[test]
fn the_values_of_a_family_are_sorted_where_its_names_are() {
    let mut site = site(vec![function("query f[#]=", Function::SortFamily), left_out("query sid=")]);
    site.tokens.name_families = true;
    let cases = [
        ("http://a.example/?f[0]=y&sid=1&f[1]=x&f[2]=x", "http://a.example/?f[0]=x&f[1]=x&f[2]=y"),
        ("http://a.example/?f[0]=z&a=1&f[10]=&f[2]=y", "http://a.example/?f[0]=&a=1&f[10]=y&f[2]=z"),
        ("http://a.example/?f[1]=y&f[0]=x", "http://a.example/?f[1]=y&f[0]=x"),
        ("http://a.example/?f[0]=y&f[0]=x", "http://a.example/?f[0]=y&f[0]=x"),
        ("http://a.example/?f[0]=y", "http://a.example/?f[0]=y"),
    ];
    equal(site, &cases);
}

#[test]
fn a_rule_between_forms_counts_the_keys_of_its_own_form() {
    let mut site = site(vec![left_out("query sid=")]);
    // The form that the first one leads to has one key more than the second one names.
    site.rules.extend([form("a", "c", &["query b="]), form("c", "d", &[])]);
    let cases = [
        ("http://a.example/a?b=1&sid=2", "http://a.example/c?b=1"),
        ("http://a.example/a?b=1", "http://a.example/c?b=1"),
        ("http://a.example/c?sid=2", "http://a.example/d"),
    ];
    equal(site, &cases);
}

#[test]
fn rules_stay_on_origins_of_the_site() {
    let scheme = || ("scheme".to_owned(), Operation::Ignore(Representative::WherePresent("https".to_owned())));
    let host = || ("host".to_owned(), Operation::Ignore(Representative::WherePresent("a.example".to_owned())));
    let origins = ["http://www.a.example", "http://a.example", "https://a.example", "http://a.example:8080"];
    let of = |operations| SiteRules { origins: origins.map(str::to_owned).to_vec(), ..site(operations) };
    let cases = [
        ("http://a.example/x?s=1", "https://a.example/x"),
        // No record has https://www.a.example: the scheme stays until the host has changed, and changes in
        // the second turn.
        ("http://www.a.example/x?s=1", "https://a.example/x"),
        // Other ports, schemes, hosts and users are of no site.
        ("https://www.a.example/x?s=1", "https://www.a.example/x?s=1"),
        ("https://a.example:8443/x?s=1", "https://a.example:8443/x?s=1"),
        ("https://m.a.example/x?s=1", "https://m.a.example/x?s=1"),
        ("http://u@a.example/x?s=1", "http://u@a.example/x?s=1"),
    ];
    let rules = || vec![scheme(), host(), left_out("query s=")];
    equal(of(rules()), &cases);
    // In the other order both act.
    let cases =
        [("http://www.a.example/x?s=1", "https://a.example/x"), ("http://a.example:8080/", "https://a.example/")];
    equal(of(vec![host(), scheme(), left_out("query s=")]), &cases);
}

#[test]
fn a_port_that_becomes_the_default_port_is_no_normal_form() {
    let https = Operation::Ignore(Representative::WherePresent("https".to_owned()));
    // The second is in no normal form either: a rule file made by hand.
    let origins = ["http://a.example:443", "https://a.example:443", "http://a.example:81", "https://a.example:81"];
    let origins = origins.map(str::to_owned).to_vec();
    let site = SiteRules { origins, ..site(vec![("scheme".to_owned(), https)]) };
    let cases =
        [("http://a.example:443/x", "http://a.example:443/x"), ("http://a.example:81/x", "https://a.example:81/x")];
    equal(site, &cases);
}

#[test]
fn extended_rules_act_on_unseen_hosts_of_the_domain() {
    let host = ("host".to_owned(), Operation::Ignore(Representative::WherePresent("a.example".to_owned())));
    let mut site = site(vec![left_out("query s="), host, left_out("query t="), classes("query b=", &[("1", "2")])]);
    for rule in [0, 1, 3] {
        site.rules[rule].extended = true;
    }
    // The rule between does not act there.
    site.rules[3].scope = vec![Constraint { key: "query t=".to_owned(), test: Test::Present }];
    site.aliases = vec![["http://a.example/alias", "http://a.example/page"].map(str::to_owned)];
    site.exceptions = vec![["http://a.example/kept?s=1".to_owned(), "*".to_owned()]];
    let mut other = SiteRules { site: "other.example".to_owned(), ..site.clone() };
    other.origins = ["http://n.a.example", "http://other.example"].map(str::to_owned).to_vec();
    let cases = [
        (None, "http://x.a.example/?b=1&s=1&t=1", "http://x.a.example/?b=2&t=1"),
        (None, "https://x.a.example/#top", "https://x.a.example/"),
        (None, "http://x.a.example/kept?s=1", "http://x.a.example/kept"),
        (None, "http://x.a.example/alias", "http://x.a.example/alias"),
        (None, "http://www.a.example/?s=1", "http://a.example/"),
        (None, "http://x.a.example./?s=1", "http://x.a.example./"),
        // Ports and users, the origin of another site, and other domains.
        (None, "http://x.a.example:8080/?s=1", "http://x.a.example:8080/?s=1"),
        (None, "http://u@x.a.example/?s=1", "http://u@x.a.example/?s=1"),
        (Some(0), "http://n.a.example/?s=1", "http://n.a.example/?s=1"),
        (None, "http://b.example/?s=1", "http://b.example/?s=1"),
        // A label that is given widens nothing.
        (Some(0), "http://b.example/?s=1", "http://b.example/?s=1"),
        (Some(1), "http://b.example/?s=1", "http://b.example/?s=1"),
        (Some(1), "http://x.a.example/?s=1", "http://x.a.example/?s=1"),
        (Some(0), "http://x.a.example/?s=1", "http://x.a.example/"),
        (Some(1), "http://x.other.example/?s=1", "http://x.other.example/"),
    ];
    let inputs: Vec<Input> = cases.iter().map(|case| Input { url: case.1.into(), site: case.0 }).collect();
    let found = check(vec![site, other], &inputs, Forms::Files, &mut Applier::default(), |_, pairs| {
        for (pair, (_, url, expected)) in pairs.iter().zip(cases) {
            assert_eq!(String::from_utf8_lossy(&pair.outcome.url), expected, "{url}");
        }
    });
    assert!(found.is_ok(), "{found:?}");
}

#[test]
fn names_that_repeat_are_part_of_the_value() {
    let mut site = site(vec![function("query A=", Function::LowerCase), left_out("query a=")]);
    let test = Test::OneOf(["X", "X&A=Y"].map(str::to_owned).into());
    site.rules[0].scope = vec![Constraint { key: "query A=".to_owned(), test }];
    let cases = [
        ("http://a.example/?A=X", "http://a.example/?A=x"),
        // In lower case the second name is another key, and goes in the second turn.
        ("http://a.example/?A=X&A=Y", "http://a.example/?A=x"),
    ];
    equal(site, &cases);
}

#[test]
fn a_slash_that_was_decoded_ends_a_segment() {
    let cases = [
        ("http://a.example/x%2Fy", "http://a.example/x/y"),
        // Another segment is there then, and becomes another one.
        ("http://a.example/x%2Fb", "http://a.example/x/c"),
        ("http://a.example/x/b", "http://a.example/x/c"),
    ];
    equal(site(vec![classes("path1", &[("b", "c")]), function("path0", Function::DecodeSlash)]), &cases);
}

#[test]
fn a_rule_for_the_scheme_acts_in_its_section_alone() {
    // More than one batch, so that what scheme and host were coded to is taken from the cache.
    let case = |at: usize| match at % 2 {
        0 => (format!("http://m.a.example/a/{at}"), format!("https://m.a.example/a/{at}")),
        _ => (format!("http://m.a.example/b/{at}"), format!("http://m.a.example/b/{at}")),
    };
    let urls: Vec<(String, String)> = (0..64).map(case).collect();
    let cases: Vec<(&str, &str)> = urls.iter().map(|(url, expected)| (url.as_str(), expected.as_str())).collect();
    let scope = vec![Constraint { key: SECTION.to_owned(), test: Test::Equals("a".to_owned()) }];
    let https = Operation::Ignore(Representative::WherePresent("https".to_owned()));
    let mut site = site(vec![("scheme".to_owned(), https)]);
    site.rules[0].scope = scope;
    site.tokens.sections = vec!["a".to_owned()];
    equal(site, &cases);
}

#[test]
fn a_url_that_comes_to_another_section_is_under_its_rules() {
    // Without its slash the path has no directory.
    let mut site = site(vec![left_out("trailing slash"), left_out("query sid="), left_out("query ref=")]);
    let other = Test::OneOf(vec![crate::url::section::OTHER.to_owned()]);
    site.rules[1].scope = vec![Constraint { key: SECTION.to_owned(), test: other }];
    site.tokens.sections = vec!["a".to_owned()];
    let cases = [
        ("http://a.example/a/?id=1", "http://a.example/a?id=1"),
        ("http://a.example/a/?id=1&ref=2", "http://a.example/a?id=1"),
        ("http://a.example/a/?sid=1", "http://a.example/a"),
        ("http://a.example/b/?sid=1", "http://a.example/b"),
    ];
    equal(site, &cases);
}

#[test]
fn a_parameter_without_a_name_alone_is_an_empty_query() {
    let cases = [
        ("http://a.example/?b=1&sid=1", "http://a.example/?b=1"),
        ("http://a.example/?&sid=1", "http://a.example/"),
        ("http://a.example/?", "http://a.example/"),
    ];
    equal(site(vec![left_out("query sid="), left_out("empty query")]), &cases);
}

#[test]
fn a_range_without_an_end_holds_numbers_alone() {
    let [like, page] = ["http://a.example/?id=1", "http://a.example/page"].map(str::to_owned);
    let value_range = ValueRange { like, range: Some([5, u64::MAX]), page: page.clone() };
    let local = RangedKey { key: "query id=".to_owned(), pages: vec![value_range], ..RangedKey::default() };
    let site = SiteRules { local: vec![local], ..site(Vec::new()) };
    let cases = [
        ("http://a.example/?id=4", "http://a.example/?id=4"),
        ("http://a.example/?id=5", "http://a.example/page"),
        ("http://a.example/?id=x", "http://a.example/?id=x"),
        ("http://a.example/?id=", "http://a.example/?id="),
    ];
    equal(site, &cases);
}

#[test]
fn a_range_of_inner_numbers_holds_behind_its_text_alone() {
    let [like, page] = ["http://a.example/?topic=10.msg5", "http://a.example/?topic=10.15"].map(str::to_owned);
    let local = |range| RangedKey {
        key: "query topic=".to_owned(),
        absent: true,
        inner: true,
        pages: vec![ValueRange { like: like.clone(), range, page: page.clone() }],
        ..RangedKey::default()
    };
    let within = |value: &str| (format!("http://a.example/?topic={value}"), page.clone());
    let outside =
        |value: &str| (format!("http://a.example/?topic={value}"), format!("http://a.example/?topic={value}"));
    let cases = [
        (
            Some([5, 9]),
            vec![within("10.msg5"), within("10.msg9"), outside("10.msg10"), outside("11.msg5"), outside("5")],
        ),
        (None, vec![within("10.msg5"), within("10.msg77"), outside("10.msg"), outside("10.msg05"), outside("11.msg5")]),
    ];
    for (range, cases) in cases {
        let cases: Vec<(&str, &str)> = cases.iter().map(|(url, page)| (url.as_str(), page.as_str())).collect();
        equal(SiteRules { local: vec![local(range)], ..site(Vec::new()) }, &cases);
    }
}

#[test]
fn a_range_of_all_numbers_precedes_one_of_any_value() {
    let [like, any, numbers] = ["?id=1", "any", "numbers"].map(|end| format!("http://a.example/{end}"));
    let value_range = |range, page: &String| ValueRange { like: like.clone(), range, page: page.clone() };
    let pages = vec![value_range(None, &any), value_range(Some([0, u64::MAX]), &numbers)];
    let local = RangedKey { key: "query id=".to_owned(), pages, ..RangedKey::default() };
    let site = SiteRules { local: vec![local], ..site(Vec::new()) };
    equal(site, &[("http://a.example/?id=7", numbers.as_str()), ("http://a.example/?id=x", any.as_str())]);
}

#[test]
fn rules_behind_the_first_64_remove_keys_and_move_hosts() {
    let keys = |count: usize| (0..count).map(|n| left_out(&format!("query k{n}="))).collect::<Vec<_>>();
    let cases = [
        ("http://a.example/?b=2&k0=1&k63=1&k64=1&k65=1", "http://a.example/?b=2"),
        ("http://a.example/?b=2&k64=1", "http://a.example/?b=2"),
        ("http://a.example/?b=2&k65=1", "http://a.example/?b=2"),
    ];
    equal(site(keys(66)), &cases);
    let host = ("host".to_owned(), Operation::Ignore(Representative::WherePresent("a.example".to_owned())));
    let rules = [keys(64), vec![host]].concat();
    equal(site(rules), &[("http://www.a.example/?b=2&k0=1&k63=1", "http://a.example/?b=2")]);
}

#[test]
fn parameters_around_the_64th_pair_are_removed_whatever_their_order() {
    // Look-ups make their order count; of more than 64 parameters none is a pair.
    let look_up = ["http://a.example/alias", "http://a.example/page"].map(str::to_owned);
    let keys = (60..74).map(|n| left_out(&format!("query k{n}="))).collect();
    let site = SiteRules { aliases: vec![look_up], ..site(keys) };
    let url = |numbers: Vec<usize>| {
        let parameters: Vec<String> = numbers.into_iter().map(|n| format!("k{n}={n}")).collect();
        format!("http://a.example/?{}", parameters.join("&"))
    };
    let usual: Vec<usize> = (10..74).collect();
    let unusual: Vec<usize> = [11, 10].into_iter().chain(12..74).collect();
    let cases = [usual, unusual].map(|numbers| {
        let kept = numbers.iter().copied().filter(|n| !(60..74).contains(n)).collect();
        (url(numbers), url(kept))
    });
    equal(site, &cases.each_ref().map(|(url, expected)| (url.as_str(), expected.as_str())));
}

#[test]
fn a_site_with_too_many_rules_and_values_for_rows_is_a_site_as_others() {
    let (values, rules) = (8_400, 8_300);
    let value = |n: u32| format!("v{n}v");
    let values: Vec<String> = (0..values).map(value).collect();
    let mut many = site((0..rules).map(|n| left_out(&format!("query k{}=", n % 50))).collect());
    for (rule, n) in many.rules.iter_mut().zip(0..) {
        let test = if n == 0 { Test::OneOf(values.clone()) } else { Test::Equals(value(n)) };
        rule.scope = vec![Constraint { key: "path0".to_owned(), test }];
    }
    let cases = [
        ("http://a.example/v0v?k0=1&k1=2", "http://a.example/v0v?k1=2"),
        ("http://a.example/v51v?k0=1&k1=2", "http://a.example/v51v"),
        ("http://a.example/v8299v?k0=1&k49=2", "http://a.example/v8299v"),
        ("http://a.example/v8301v?k0=1&k1=2", "http://a.example/v8301v?k1=2"),
        ("http://a.example/x?k0=1", "http://a.example/x?k0=1"),
    ];
    equal(many, &cases);
}

#[test]
fn a_value_like_the_placeholder_of_a_host_is_no_host() {
    let keep = ("double slash".to_owned(), Operation::Keep("-1".to_owned()));
    let empty = ("host".to_owned(), Operation::Ignore(Representative::WherePresent(String::new())));
    let mut site = site(vec![keep, empty, left_out("query k=")]);
    // The second host that rules name has the placeholder -1.
    site.rules[2].scope = vec![Constraint { key: "host".to_owned(), test: Test::Equals("x?y#z".to_owned()) }];
    equal(site, &[("http://a.example/", "http://a.example/")]);
}

#[test]
fn a_host_of_the_site_that_is_no_normal_form_is_not_written() {
    let mut site = site(vec![classes("host", &[("www.a.example", "A.example")])]);
    site.origins.push("http://A.example".to_owned());
    site.origins.sort();
    let url = "http://www.a.example/x";
    equal(site, &[(url, url)]);
}

#[test]
fn a_host_that_one_rule_leaves_out_and_names_keeps_its_place() {
    let keep = ("host".to_owned(), Operation::Keep("www.a.example".to_owned()));
    let absent = ("host".to_owned(), Operation::Classes(vec![(Some("www.a.example".to_owned()), None)]));
    let mut site = site(vec![left_out("host"), absent]);
    site.rules[0].operations.push(keep);
    let canonical = "http://www.a.example/x";
    equal(site, &[("http://a.example/x", canonical), ("http://m.a.example/x", canonical), (canonical, canonical)]);
}

#[test]
fn an_origin_without_a_host_is_none() {
    let mut site = site(vec![left_out("host")]);
    site.rules[0].operations.push(left_out("path0"));
    site.origins.insert(0, "http://".to_owned());
    equal(site, &[("http://www.a.example/x?a=1", "http://www.a.example/x?a=1")]);
}
