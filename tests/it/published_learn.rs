//! `--method published` from records to canonical URLs on small synthetic sites.

use proptest::prelude::*;
use undust::rules::published::PublishedSite;
use undust::rules::types::SiteRules;
use undust::site::published::{Switches, learn};
use undust::site::{Method, Params, Training};

/// Two mirrors of 40 pages with a session id each, beside 40 articles without duplicates.
fn two_mirrors() -> Vec<(String, String)> {
    let mut records = Vec::new();
    for page in 0..40 {
        for (host, session) in [("us", "a"), ("de", "b")] {
            let url = format!("http://{host}.example.org/page?id={page}&sid={session}{page:03}");
            records.push((url, format!("page {page}")));
        }
        records.push((format!("http://www.example.org/news/{page}"), format!("news {page}")));
    }
    records
}

fn training(records: &[(String, String)]) -> Training {
    Training::new("example.org", records.iter().map(|(url, label)| (url.as_bytes(), Some(label.as_bytes()), false)))
}

fn rules(records: &[(String, String)], method: Method, switches: &Switches) -> SiteRules {
    learn(&training(records), &Params { method, fpr_max_ppm: 50_000, ..Params::default() }, switches).rules
}

fn canonical(site: &PublishedSite, url: &str) -> String {
    let mut out = Vec::new();
    site.canonicalize(url.as_bytes(), &mut out);
    String::from_utf8(out).expect("UTF-8 in, UTF-8 out")
}

#[test]
fn mirrors_and_session_ids_fall_together_and_articles_stay() {
    let records = two_mirrors();
    let self_rules = Switches { self_rules: true, ..Switches::default() };
    for (method, switches) in [(Method::PublishedNaive, Switches::default()), (Method::PublishedGraph, self_rules)] {
        let rules = rules(&records, method, &switches);
        let site = PublishedSite::new(&rules);
        let hosts = undust::rules::origins::hosts(&rules.origins);
        assert_eq!(hosts, ["de.example.org", "us.example.org", "www.example.org"]);
        let mut seen = std::collections::BTreeMap::new();
        for (url, label) in &records {
            let form = canonical(&site, url);
            let first = seen.entry(form.clone()).or_insert(label);
            assert_eq!(*first, label, "{form} joins two clusters ({method:?})");
        }
        assert_eq!(seen.len(), 80, "{method:?}: one form a cluster");
        // A page and a session never seen.
        let [us, de] = ["http://us.example.org/page?id=977&sid=q", "http://de.example.org/page?id=977&sid=r"];
        assert_eq!(canonical(&site, us), canonical(&site, de), "{method:?}");
        let other = "http://us.example.org/page?id=977&sid=q&new=1";
        assert_eq!(canonical(&site, other), other, "a key that no rule names");
    }
}

#[test]
fn each_switch_names_itself_and_the_default_is_literal() {
    let records = two_mirrors();
    assert!(
        rules(&records, Method::PublishedNaive, &Switches::default()).rules.iter().all(|r| r.departures.is_empty())
    );
    let switches = Switches { self_rules: true, presence: false, ..Switches::default() };
    let named = rules(&records, Method::PublishedGraph, &switches);
    assert!(!named.rules.is_empty());
    assert!(named.rules.iter().all(|r| r.departures == ["absence-no-value", "self-rules-kept"]));
}

#[test]
fn rules_survive_their_file_form() {
    let rules = rules(&two_mirrors(), Method::PublishedNaive, &Switches::default());
    let text = serde_json::to_string(&rules).expect("plain data");
    assert!(text.contains("\"published\":true"));
    let read: SiteRules = serde_json::from_str(&text).expect("what was written");
    assert_eq!(read, rules);
}

#[test]
fn tiny_and_odd_sites_learn_without_a_panic() {
    let odd = |urls: &[&str]| urls.iter().map(|u| (u.to_string(), "one".to_owned())).collect::<Vec<_>>();
    let many_keys: String = (0..5_000).map(|i| format!("&k{i}={i}")).collect();
    let repeated = "&a=1".repeat(5_000);
    let deep = "/x".repeat(5_000);
    for records in [
        odd(&[]),
        odd(&["http://a.org/"]),
        odd(&["not a url", "mailto:x@y"]),
        odd(&["http://a.org/?", "http://a.org/?#", "http://a.org/?a&a&a=", "http://a.org/?a=1&a=2"]),
        odd(&[&format!("http://a.org/?x{many_keys}"), &format!("http://a.org/?y{many_keys}"), "http://a.org/"]),
        odd(&[&format!("http://a.org/?x{repeated}"), &format!("http://a.org{deep}"), "http://a.org/"]),
    ] {
        for method in [Method::PublishedNaive, Method::PublishedGraph] {
            let site = PublishedSite::new(&rules(&records, method, &Switches::default()));
            records.iter().for_each(|(url, _)| assert!(!canonical(&site, url).is_empty()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Order and repeats of the records do not reach the rules.
    #[test]
    fn shuffled_records_give_the_same_rules(order in Just(two_mirrors()).prop_shuffle(), again in 0usize..100) {
        let mut shuffled = order;
        shuffled.push(shuffled[again].clone());
        for method in [Method::PublishedNaive, Method::PublishedGraph] {
            let switches = Switches::default();
            prop_assert_eq!(rules(&shuffled, method, &switches), rules(&two_mirrors(), method, &switches));
        }
    }

    /// Applying is total: any URL comes out as UTF-8 text with a host, never as a panic.
    #[test]
    fn any_url_comes_out(tail in "[a-z0-9/?&=#.%*:@-]{0,40}") {
        let site = PublishedSite::new(&rules(&two_mirrors(), Method::PublishedNaive, &Switches::default()));
        let mut normal = Vec::new();
        if undust::url::normalize(format!("http://us.example.org/{tail}").as_bytes(), &mut normal).is_ok() {
            let url = String::from_utf8(normal).expect("UTF-8 in, UTF-8 out");
            prop_assert!(canonical(&site, &url).starts_with("http://"));
        }
    }
}
