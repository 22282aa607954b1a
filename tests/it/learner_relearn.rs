//! An earlier result and what is learned now: whose rules stay, and whose go.

use super::learner_site::{Row, training};
use std::sync::Arc;
use undust::rules::{Constraint, Operation, Representative, Rule, RuleSet, SiteRules, Test};
use undust::site::hints::Votes;
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

/// Beside each page at `/list?cat=C&id=I` of the earlier run, `id` said nothing; now each `cat` was met once.
#[test]
fn an_earlier_rule_under_which_nothing_is_merged_goes_although_it_rewrites_urls() {
    let old = earlier(&[left_out("id", &[], "id")]);
    let once = rows("http://e.com/list?cat={}&id=7", 0..60);
    assert_eq!(ids(&with(&once, Some(&old), |_| ())), Vec::<&str>::new());
}

/// In `/shop/` the parameter names the page, so that the earlier rule excludes that section. The new records have so
/// few URLs of it that it is no section by itself.
#[test]
fn a_section_that_an_earlier_rule_excludes_stays_one() {
    let place = |section: &str, query: &str| format!("http://e.com/{section}/{{}}/p{query}");
    let mut old_rows = Vec::new();
    let names =
        ["shop", "one"].into_iter().map(str::to_owned).chain((b'a'..=b'z').map(|at| format!("x{}", char::from(at))));
    for section in names {
        for query in ["", "?v=1"] {
            old_rows.extend(rows(&place(&section, query), 0..20));
        }
    }
    let named = |row: &mut Row| {
        let section = row.url.split('/').nth(3).unwrap();
        let value = if section == "shop" && row.url.ends_with("v=1") { "1" } else { "" };
        row.cluster = row.cluster.take().map(|page| format!("{section}-{page}-{value}"));
    };
    old_rows.iter_mut().for_each(named);
    let old = with(&old_rows, None, |_| ());
    let shop = "http://e.com/shop/777/p?v=1";
    assert_eq!(canonical(&old, shop), shop);
    assert_eq!(canonical(&old, "http://e.com/one/777/p?v=1"), "http://e.com/one/777/p");
    let mut sample = [rows(&place("one", ""), 0..60), rows(&place("one", "?v=1"), 0..60)].concat();
    sample.extend(rows(&place("shop", "?v=1"), 0..2));
    sample.iter_mut().for_each(named);
    let new = with(&sample, Some(&old), |_| ());
    assert_eq!(canonical(&new, shop), shop);
    assert_eq!(canonical(&new, "http://e.com/one/777/p?v=1"), "http://e.com/one/777/p");
}

/// Six pages on two hosts are too few to learn that these serve the same; the earlier result says so. A record that
/// redirects to another site says nothing of them.
#[test]
fn what_a_foreign_origin_says_leaves_earlier_rules_on_the_origin() {
    let old = with(&[rows("http://www.e.com/a/{}", 0..60), rows("http://e.com/a/{}", 0..60)].concat(), None, |_| ());
    let sample = [rows("http://www.e.com/a/{}", 0..30), rows("http://e.com/a/{}", 28..60)].concat();
    let of = |origin: Option<&str>| {
        let mut training = training("e.com", &sample);
        training.hints.previous = Some(Arc::new(old.clone()));
        if let Some(origin) = origin {
            training.hints.targets.add(origin.as_bytes(), Votes { scheme: 0, host: 1 });
        }
        canonical(&learn(training, &Params::default()).rules, "http://www.e.com/a/777")
    };
    let foreign = [None, Some("http://ads.other.com")].map(of);
    assert_eq!(foreign, ["http://e.com/a/777"; 2]);
    assert_eq!(of(Some("http://www.e.com")), "http://www.e.com/a/777");
}

/// Endings of the earlier result that no URL has any more.
#[test]
fn endings_that_no_record_has_go() {
    let sample = [rows("http://e.com/a/{}", 0..60), rows("http://e.com/a/{}/print", 0..60)].concat();
    let mut old = with(&sample, None, |_| ());
    old.tokens.endings = (0..8).map(|i| format!("gone{i}")).collect();
    assert_eq!(with(&sample, Some(&old), |_| ()).tokens.endings, Vec::<String>::new());
    old.tokens.endings = vec!["print".to_owned()];
    assert_eq!(with(&sample, Some(&old), |_| ()).tokens.endings, ["print"]);
}

/// Each page has two names, one with `view`. That `view` says nothing is new, and makes both names as plain.
#[test]
fn a_page_keeps_its_name_where_a_new_rule_writes_the_others() {
    let word = |i: u32| [i / 26, i % 26].map(|of| char::from(b'a' + of as u8)).iter().collect::<String>();
    let row = |url: String, page: String| Row { url, cluster: Some(page), elsewhere: false };
    let art = |of: &str, end: &str| format!("http://e.com/art/{of}{end}");
    let named =
        |i: u32| [("z", ""), ("a", "?view=full")].map(|(of, end)| row(art(&(of.to_owned() + &word(i)), end), word(i)));
    let old: Vec<Row> = (0..100).flat_map(named).chain(rows("http://e.com/b/{}", 0..60)).collect();
    let both = |i: u32| ["", "?view=full"].map(|end| row(art(&("m".to_owned() + &word(i)), end), format!("m{i}")));
    let new: Vec<Row> = old.iter().cloned().chain((0..40).flat_map(both)).collect();
    let before = SiteRules { rules: vec![left_out("v", &[], "v")], ..with(&old, None, |_| ()) };
    let of = |rules: &SiteRules| [("zab", ""), ("aab", "?view=full")].map(|(of, end)| canonical(rules, &art(of, end)));
    let [now, alone] = [Some(&before), None].map(|previous| of(&with(&new, previous, |_| ())));
    assert_eq!((of(&before), now), ([(); 2].map(|()| art("zab", "")), [(); 2].map(|()| art("zab", ""))));
    assert_eq!(alone, [(); 2].map(|()| art("aab", "")), "by itself it would be the other");
}
