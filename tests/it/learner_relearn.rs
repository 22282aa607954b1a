//! An earlier result and what is learned now: whose rules stay, and whose go.

use super::learner_site::{Row, training};
use std::sync::Arc;
use undust::rules::{Constraint, Operation, Representative, Rule, RuleSet, SiteRules, Test};
use undust::site::{Params, learn};

/// Rows of the pages in `pages` at this place (`{}` is the number of the page).
fn rows(place: &str, pages: std::ops::Range<u32>) -> Vec<Row> {
    let row =
        |i: u32| Row { url: place.replace("{}", &i.to_string()), cluster: Some(format!("p{i}")), elsewhere: false };
    pages.map(row).collect()
}

fn with(rows: &[Row], previous: Option<&SiteRules>, set: impl Fn(&mut Params)) -> SiteRules {
    let mut training = training("e.com", rows);
    training.hints.previous = previous.map(|rules| Arc::new(rules.clone()));
    let mut params = Params::default();
    set(&mut params);
    learn(training, &params).rules
}

fn canonical(rules: &SiteRules, url: &str) -> String {
    RuleSet::new(vec![rules.clone()]).canonicalize(url).url.into_owned()
}

/// A rule by hand, which leaves out a parameter where `scope` holds.
fn left_out(id: &str, scope: &[(&str, Test)], name: &str) -> Rule {
    let scope = scope.iter().map(|(key, test)| Constraint { key: (*key).to_owned(), test: test.clone() });
    Rule::of(id, scope.collect(), vec![(format!("query {name}="), Operation::Ignore(Representative::LeftOut))])
}

fn earlier(rules: &[Rule]) -> SiteRules {
    let mut out = with(&rows("http://e.com/a/{}", 0..60), None, |_| ());
    out.rules = rules.to_vec();
    out
}

fn ids(rules: &SiteRules) -> Vec<&str> {
    rules.rules.iter().map(|rule| rule.id.as_str()).collect()
}

/// Four pages are too few to learn that `v` says nothing. The earlier result says so, and they bear it out.
#[test]
fn an_earlier_rule_stays_where_the_records_show_too_little_to_find_it() {
    let sample = [rows("http://e.com/a/{}", 0..60), rows("http://e.com/a/{}?v=1", 0..4)].concat();
    let old = earlier(&[left_out("v", &[], "v")]);
    let of = |rules: &SiteRules| canonical(rules, "http://e.com/a/777?v=1");
    assert_eq!(of(&with(&sample, None, |_| ())), "http://e.com/a/777?v=1");
    assert_eq!(of(&with(&sample, Some(&old), |_| ())), "http://e.com/a/777");
}

/// No record has the parameter any more.
#[test]
fn an_earlier_rule_that_no_record_shows_goes() {
    let old = earlier(&[left_out("v", &[], "v")]);
    assert_eq!(ids(&with(&rows("http://e.com/a/{}", 0..60), Some(&old), |_| ())), Vec::<&str>::new());
}

/// What the earlier result says of one parameter is wrong now, of the other it is right.
#[test]
fn of_earlier_rules_the_wrong_one_goes_alone() {
    let mut sample =
        [rows("http://e.com/a/{}", 0..60), rows("http://e.com/a/{}?v=1", 0..60), rows("http://e.com/a/{}?w=1", 0..60)]
            .concat();
    for row in sample.iter_mut().filter(|row| row.url.ends_with("v=1")) {
        row.cluster = row.cluster.take().map(|page| format!("other-{page}"));
    }
    let old = earlier(&[left_out("v", &[], "v"), left_out("w", &[("query w=", Test::Present)], "w")]);
    let new = with(&sample, Some(&old), |_| ());
    let of = |query: &str| canonical(&new, &format!("http://e.com/a/777?{query}"));
    assert_eq!([of("v=1"), of("w=1")], ["http://e.com/a/777?v=1", "http://e.com/a/777"].map(str::to_owned));
}

/// The earlier rule holds in fewer places than the new one, which says the same there.
#[test]
fn what_a_new_rule_says_as_well_is_said_once() {
    let old_rows = [rows("http://e.com/a/{}/x", 0..60), rows("http://e.com/a/{}/x?v=1", 0..60)].concat();
    let old = with(&old_rows, None, |_| ());
    let more = [rows("http://e.com/b/{}/x", 100..160), rows("http://e.com/b/{}/x?v=1", 100..160)].concat();
    let sample = [old_rows, more].concat();
    let (alone, both) = (with(&sample, None, |_| ()), with(&sample, Some(&old), |_| ()));
    assert_eq!(both, with(&sample, Some(&both), |_| ()), "and it stays so");
    assert_eq!(both.rules.len(), alone.rules.len());
    assert_eq!(canonical(&both, "http://e.com/b/777/x?v=1"), "http://e.com/b/777/x");
}

/// Pages at `/show` are those at `/item`, and the earlier result leads there; most are met at `/show` now.
#[test]
fn a_rule_between_forms_leads_where_it_led() {
    let at = |place: &str, pages| rows(&format!("http://e.com{place}"), pages);
    let old = with(&[at("/show?id={}", 0..60), at("/item/{}.html", 0..300)].concat(), None, |_| ());
    let sample = [at("/show?id={}", 0..300), at("/item/{}.html", 0..60)].concat();
    let of = |rules: &SiteRules| canonical(rules, "http://e.com/show?id=777");
    assert_eq!(of(&old), "http://e.com/item/777.html");
    assert_eq!(of(&with(&sample, None, |_| ())), "http://e.com/show?id=777");
    assert_eq!(of(&with(&sample, Some(&old), |_| ())), "http://e.com/item/777.html");
}
