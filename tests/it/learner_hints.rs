//! What decides between equals: declared origins, and an earlier result. Neither decides whether a rule
//! holds.

use super::learner_site::{Row, training};
use std::sync::Arc;
use undust::rules::{Constraint, Operation, Representative, Rule, RuleSet, SiteRules, Test};
use undust::site::hints::Votes;
use undust::site::{Params, learn};

/// Rows of pages, each at these places (`{}` is the number of the page) on the first so many pages.
fn rows(places: &[(&str, u32)]) -> Vec<Row> {
    let row = |place: &str, i: u32| Row {
        url: place.replace("{}", &i.to_string()),
        cluster: Some(format!("p{i}")),
        elsewhere: false,
    };
    places.iter().flat_map(|&(place, pages)| (0..pages).map(move |i| row(place, i))).collect()
}

fn with(rows: &[Row], votes: &[(&str, u64, u64)], previous: Option<&SiteRules>) -> SiteRules {
    with_moves(rows, votes, previous, Params::default().thresholds.moved_permille)
}

fn with_moves(
    rows: &[Row],
    votes: &[(&str, u64, u64)],
    previous: Option<&SiteRules>,
    moved_permille: u64,
) -> SiteRules {
    let mut training = training("e.com", rows);
    for &(origin, scheme, host) in votes {
        training.hints.targets.add(origin.as_bytes(), Votes { scheme, host });
    }
    training.hints.previous = previous.map(|rules| Arc::new(rules.clone()));
    let mut params = Params::default();
    params.thresholds.moved_permille = moved_permille;
    learn(training, &params).rules
}

fn canonical(rules: &SiteRules, url: &str) -> String {
    RuleSet::new(vec![rules.clone()]).canonicalize(url).url.into_owned()
}

#[test]
fn the_origin_is_the_one_that_records_lead_to() {
    let rows = rows(&[
        ("http://e.com/a/{}", 60),
        ("https://e.com/a/{}", 60),
        ("http://www.e.com/a/{}", 40),
        ("https://www.e.com/a/{}", 40),
    ]);
    let origin = |votes| canonical(&with(&rows, votes, None), "http://www.e.com/a/777");
    assert_eq!(origin(&[]), "https://e.com/a/777");
    assert_eq!(origin(&[("https://www.e.com", 0, 3), ("https://e.com", 0, 2)]), "https://www.e.com/a/777");
    assert_eq!(origin(&[("http://e.com", 5, 0)]), "http://e.com/a/777");
    // One that crosses schemes says nothing of hosts; one that no record is on, nothing at all.
    assert_eq!(origin(&[("https://www.e.com", 9, 0)]), "https://e.com/a/777");
    assert_eq!(origin(&[("https://m.e.com", 0, 9), ("http://e.com:8080", 9, 9)]), "https://e.com/a/777");
}

/// A third host shows other pages at the same paths, so that no rule ignores the host.
#[test]
fn www_is_not_dropped_where_records_lead_to_it() {
    let mut rows = rows(&[("https://e.com/a/{}", 60), ("https://www.e.com/a/{}", 60)]);
    let row = |i| Row { url: format!("https://m.e.com/a/{i}"), cluster: Some(format!("m{i}")), elsewhere: false };
    rows.extend((0..60).map(row));
    let host = |votes, previous| canonical(&with(&rows, votes, previous), "https://e.com/a/777");
    assert_eq!(host(&[], None), "https://e.com/a/777");
    let votes: &[_] = &[("https://www.e.com", 0, 1)];
    assert_eq!(host(votes, None), "https://www.e.com/a/777");
    assert_eq!(host(&[], Some(&with(&rows, votes, None))), "https://www.e.com/a/777");
}

#[test]
fn scheme_and_host_make_an_origin_that_was_met() {
    // The host that is shorter and more frequent has no https.
    let rows = rows(&[("http://e.com/a/{}", 60), ("http://www.e.com/a/{}", 50), ("https://www.e.com/a/{}", 40)]);
    let rules = with(&rows, &[], None);
    for url in ["http://e.com/a/777", "http://www.e.com/a/777", "https://www.e.com/a/777"] {
        assert_eq!(canonical(&rules, url), "https://www.e.com/a/777");
    }
}

#[test]
fn an_earlier_result_decides_between_equals() {
    // Values of a part of the path, forms, values of a parameter: what comes more often in the first
    // sample comes less often in the second, by more than samples of one site differ.
    let places = [
        ["http://e.com/python/{}/x", "http://e.com/python-stable/{}/x"],
        ["http://e.com/show?id={}", "http://e.com/article/{}"],
        ["http://e.com/list/{}?sort=a", "http://e.com/list/{}?sort=b"],
    ];
    for [one, other] in places {
        let (first, second) = (rows(&[(one, 60), (other, 150)]), rows(&[(one, 150), (other, 60)]));
        let old = with(&first, &[], None);
        let new = with(&second, &[], None);
        let kept = with(&second, &[], Some(&old));
        let of = |rules: &SiteRules| canonical(rules, &one.replace("{}", "777"));
        assert_ne!(of(&old), of(&new), "the data alone say otherwise: {one}");
        assert_eq!(of(&old), of(&kept), "{one}");
        assert_eq!(with(&second, &[], Some(&kept)), kept, "what is kept stays: {one}");
        assert_eq!(with(&second, &[], Some(&new)), new, "and what is chosen anyway: {one}");
    }
}

#[test]
fn a_few_look_ups_of_an_earlier_result_do_not_outvote_its_rule() {
    // Nearly all pages were and are met with a slash; some look-ups led to URLs without one.
    let sample = rows(&[("http://e.com/page/{}/", 200), ("http://e.com/page/{}", 20)]);
    let mut old = with(&sample, &[], None);
    assert_eq!(canonical(&old, "http://e.com/page/777"), "http://e.com/page/777/");
    old.aliases = (100..130).map(|i| [format!("http://e.com/page/{i}/"), format!("http://e.com/page/{i}")]).collect();
    assert_eq!(canonical(&old, "http://e.com/page/101/"), "http://e.com/page/101");
    let kept = with(&sample, &[], Some(&old));
    assert_eq!(canonical(&kept, "http://e.com/page/777"), "http://e.com/page/777/");
}

#[test]
fn equals_of_like_frequency_do_not_move_with_the_sample() {
    let places = ["http://e.com/python/{}/x", "http://e.com/python-stable/{}/x"];
    let of = |pages: [u32; 2]| {
        let rules = with(&rows(&[(places[0], pages[0]), (places[1], pages[1])]), &[], None);
        canonical(&rules, &places[0].replace("{}", "777"))
    };
    assert_eq!(of([60, 90]), of([90, 60]));
    assert_ne!(of([60, 150]), of([150, 60]), "a value that hardly comes is no canonical one");
}

/// What two samples prove by other rules: here the earlier result moves two parameters at once, by a
/// condition, where the sample alone would drop each.
#[test]
fn rules_of_an_earlier_result_come_first_where_they_hold() {
    let first = rows(&[("http://e.com/a/{}", 60), ("http://e.com/a/{}?v=1&w=2", 60)]);
    let old = with(&first, &[], None);
    let second = rows(&[
        ("http://e.com/a/{}", 60),
        ("http://e.com/a/{}?v=1", 60),
        ("http://e.com/a/{}?w=2", 60),
        ("http://e.com/a/{}?v=1&w=2", 60),
    ]);
    let ids = |rules: &SiteRules| rules.rules.iter().map(|rule| rule.id.clone()).collect::<Vec<_>>();
    let (alone, kept) = (with(&second, &[], None), with(&second, &[], Some(&old)));
    assert_ne!(ids(&old), ids(&alone), "the data alone say otherwise");
    assert_eq!(ids(&old)[0], ids(&kept)[0]);
    assert_eq!(canonical(&kept, "http://e.com/a/777?v=1"), "http://e.com/a/777");
}

/// Where `x` matters for most pages, an earlier rule that excepts just these does not make it hold for
/// pages never met.
#[test]
fn values_that_an_earlier_rule_excepts_do_not_make_it_hold() {
    let page = |i: u32, x: &str| Row {
        url: format!("http://e.com/item?id=i{i}k&x={x}"),
        cluster: Some(if i % 10 < 3 { format!("p{i}") } else { format!("p{i}-{x}") }),
        elsewhere: false,
    };
    let all: Vec<Row> = (0..300).flat_map(|i| ["red", "blue", "green"].map(|x| page(i, x))).collect();
    let alone = with(&all, &[], None);
    assert!(alone.rules.is_empty());
    let excepted = (0..300).filter(|i| i % 10 >= 3).map(|i| format!("i{i}k"));
    let mut values: Vec<String> = excepted.collect();
    values.sort();
    let scope = vec![Constraint { key: "query id=".to_owned(), test: Test::NoneOf(values) }];
    let left_out = vec![("query x=".to_owned(), Operation::Ignore(Representative::LeftOut))];
    let old = SiteRules { rules: vec![Rule::of("0000000000000001", scope, left_out)], ..alone.clone() };
    assert_eq!(canonical(&old, "http://e.com/item?id=i999k&x=red"), "http://e.com/item?id=i999k");
    assert_eq!(with(&all, &[], Some(&old)).rules, []);
}

#[test]
fn an_earlier_result_makes_no_rule_hold() {
    let old = with(&rows(&[("http://e.com/a/{}", 60), ("http://e.com/a/{}?v=1", 60)]), &[], None);
    assert_eq!(canonical(&old, "http://e.com/a/777?v=1"), "http://e.com/a/777");
    let mut other = rows(&[("http://e.com/a/{}", 60), ("http://e.com/a/{}?v=1", 60)]);
    for (i, row) in other.iter_mut().enumerate() {
        row.cluster = Some(format!("c{i}"));
    }
    let new = with(&other, &[], Some(&old));
    assert_eq!(canonical(&new, "http://e.com/a/777?v=1"), "http://e.com/a/777?v=1");
}

/// The value that represents all others is kept, though this run has not met it and would take another one.
#[test]
fn the_value_that_stands_for_all_others_stays() {
    let sample = |shortest: &str| {
        let names = (b'b'..=b'p').map(|letter| char::from(letter).to_string().repeat(6));
        let places: Vec<String> = names.map(|name| format!("http://e.com/{name}?do=login&for={{}}")).collect();
        let shortest = format!("http://e.com/{shortest}?do=login&for={{}}");
        let places = [shortest.as_str()].into_iter().chain(places.iter().map(String::as_str));
        rows(&places.map(|place| (place, 60)).collect::<Vec<_>>())
    };
    let (first, second) = (sample("aa"), sample("aaaaaaa"));
    let old = with(&first, &[], None);
    let of = |rules: &SiteRules| canonical(rules, "http://e.com/bbbbbb?do=login&for=777");
    assert_eq!(of(&old), "http://e.com/aa?do=login&for=777");
    assert_eq!(of(&with(&second, &[], None)), "http://e.com/bbbbbb?do=login&for=777", "the data alone say otherwise");
    assert_eq!(of(&with(&second, &[], Some(&old))), "http://e.com/aa?do=login&for=777");
}

#[test]
fn a_value_that_always_redirects_now_is_not_kept() {
    let first = rows(&[("http://e.com/list/{}?sort=a", 150), ("http://e.com/list/{}?sort=b", 60)]);
    let old = with(&first, &[], None);
    let of = |rules: &SiteRules| canonical(rules, "http://e.com/list/777?sort=b");
    assert_eq!(of(&old), "http://e.com/list/777?sort=a");
    let mut second = rows(&[("http://e.com/list/{}?sort=a", 100), ("http://e.com/list/{}?sort=b", 100)]);
    assert_eq!(of(&with(&second, &[], Some(&old))), "http://e.com/list/777?sort=a");
    second.iter_mut().for_each(|row| row.elsewhere = row.url.ends_with("=a"));
    assert_eq!(of(&with(&second, &[], Some(&old))), "http://e.com/list/777?sort=b");
}

/// Three pages of the directory that stood for all others are other pages now: the rule no longer holds there,
/// and leads there no more.
#[test]
fn a_value_under_which_pages_differ_now_does_not_stand_for_others() {
    let names = (b'b'..=b'p').map(|letter| char::from(letter).to_string().repeat(6));
    let places: Vec<String> = names.map(|name| format!("http://e.com/{name}/p-{{}}")).collect();
    let places: Vec<(&str, u32)> =
        [("http://e.com/aa/p-{}", 60)].into_iter().chain(places.iter().map(|place| (place.as_str(), 60))).collect();
    let first = rows(&places);
    let old = with(&first, &[], None);
    let of = |rules: &SiteRules| canonical(rules, "http://e.com/bbbbbb/p-777");
    assert_eq!(of(&old), "http://e.com/aa/p-777");
    let mut second = first;
    for row in second.iter_mut().filter(|row| ["aa/p-0", "aa/p-1", "aa/p-2"].iter().any(|end| row.url.ends_with(end))) {
        row.cluster = row.cluster.take().map(|cluster| format!("other-{cluster}"));
    }
    assert_ne!(of(&with(&second, &[], Some(&old))), "http://e.com/aa/p-777");
}

/// A split of the earlier result is kept where the records show it, be it too seldom to be chosen anew.
#[test]
fn cuts_of_an_earlier_result_stay_where_records_show_them() {
    let semicolons = |pages: u32, previous: Option<&SiteRules>| {
        let rows = rows(&[("http://e.com/t?id={}&bare", 90), ("http://e.com/t?id={};bare", pages)]);
        with(&rows, &[], previous).tokens.semicolons
    };
    let old = with(&rows(&[("http://e.com/t?id={}&bare", 90), ("http://e.com/t?id={};bare", 90)]), &[], None);
    assert!(old.tokens.semicolons);
    assert!(!semicolons(8, None) && semicolons(8, Some(&old)));
    assert!(!semicolons(0, Some(&old)), "no record has a semicolon");
}

/// `view=full` changes nothing. Of 60 pages both URLs were met, of 90 others the one with it alone: beside an earlier
/// result, which had no evidence, the rule is new, and moves those 90 of 230.
#[test]
fn a_new_rule_is_taken_where_no_more_urls_move_than_may() {
    let of = |permille: u64, previous: Option<&SiteRules>| {
        let both = [("http://e.com/a/{}", 60), ("http://e.com/a/{}?view=full", 150), ("http://e.com/a/{}?sid=7", 20)];
        let mut training = training("e.com", &rows(&both));
        training.hints.previous = previous.map(|rules| Arc::new(rules.clone()));
        let mut params = Params::default();
        params.thresholds.moved_permille = permille;
        let outcome = learn(training, &params);
        let count = |name: &str| outcome.counts.get(name).copied().unwrap_or(0);
        let counts = [
            "rules that move too many URLs",
            "URLs that all new rules would merge",
            "URLs that all new rules would move",
        ];
        (canonical(&outcome.rules, "http://e.com/a/777?view=full"), counts.map(count))
    };
    let old = with(&rows(&[("http://e.com/a/{}?view=full", 60), ("http://e.com/a/{}?view=full&sid=7", 60)]), &[], None);
    assert_eq!(canonical(&old, "http://e.com/a/777?view=full&sid=7"), "http://e.com/a/777?view=full");
    let (moved, kept) = ("http://e.com/a/777".to_owned(), "http://e.com/a/777?view=full".to_owned());
    assert_eq!(of(0, None), (moved.clone(), [0, 0, 0]));
    // 90 of 230 are 391.3 of 1,000.
    assert_eq!([of(391, Some(&old)), of(392, Some(&old))], [(kept, [1, 60, 90]), (moved, [0, 0, 0])]);
}

/// The pages of both hosts were one before, under the old one. Now records redirect to the other: all canonical URLs
/// move, and pages that were met under the old host alone move with them.
#[test]
fn where_records_lead_elsewhere_canonical_urls_move_and_stay_merged() {
    let places = [("http://a.e.com/p/{}", 200), ("http://b.e.com/p/{}", 90)];
    let votes: &[_] = &[("http://b.e.com", 0, 9)];
    let old = with(&rows(&places), &[("http://a.e.com", 0, 9)], None);
    // No URL may move for what is merged.
    let new = with_moves(&rows(&places), votes, Some(&old), 0);
    let both = ["http://a.e.com/p/777", "http://b.e.com/p/777"];
    assert_eq!(both.map(|url| canonical(&old, url)), ["http://a.e.com/p/777"; 2]);
    assert_eq!(both.map(|url| canonical(&new, url)), ["http://b.e.com/p/777"; 2]);
}

/// The value that stood for all redirects away now, so another one must, and the pages stay one.
#[test]
fn a_value_that_leads_away_is_replaced_and_its_pages_stay_merged() {
    let old_rows = rows(&[("http://e.com/aa/{}", 90), ("http://e.com/bbb/{}", 90)]);
    let old = with(&old_rows, &[], None);
    let mut new_rows = rows(&[("http://e.com/aa/{}", 90), ("http://e.com/bbb/{}", 90)]);
    new_rows.iter_mut().filter(|row| row.url.contains("/aa/")).for_each(|row| row.elsewhere = true);
    let new = with_moves(&new_rows, &[], Some(&old), 0);
    let both = ["http://e.com/aa/777", "http://e.com/bbb/777"];
    assert_eq!(both.map(|url| canonical(&old, url)), ["http://e.com/aa/777"; 2]);
    assert_eq!(both.map(|url| canonical(&new, url)), ["http://e.com/bbb/777"; 2]);
}
