//! Small sites whose figures can be counted by hand.

use super::*;
use crate::site::{self, Params};
use std::cell::RefCell;
use std::collections::BTreeSet;

fn training<'a>(records: impl IntoIterator<Item = (&'a str, &'a str)>) -> Training {
    let records = records.into_iter();
    let label = |label: &'a str| (!label.is_empty()).then_some(label.as_bytes());
    Training::new("a.org", records.map(|(url, cluster)| (url.as_bytes(), label(cluster), false)))
}

/// Look-ups are rules that join exactly what they name.
fn look_ups(pairs: &[[&str; 2]]) -> SiteRules {
    SiteRules {
        site: "a.org".to_owned(),
        origins: vec!["http://a.org".to_owned()],
        aliases: pairs.iter().map(|pair| pair.map(|path| format!("http://a.org/{path}"))).collect(),
        ..SiteRules::default()
    }
}

fn urls(training: &Training) -> BTreeSet<String> {
    (0..training.len()).map(|row| String::from_utf8_lossy(training.url(row)).into_owned()).collect()
}

/// Rows by cluster: sixty clusters of four URLs that differ in a session, on two hosts, and URLs
/// without a label.
fn sessions() -> Vec<(String, String)> {
    let mut records = Vec::new();
    for page in 0..60 {
        for session in 0..4 {
            let url = format!("http://a.org/item/{page}.html?view={}&sid={}", page % 3, page * 31 + session * 977);
            records.push((url, format!("c{page}")));
        }
        records.push((format!("http://a.org/other/{page}"), String::new()));
    }
    records.push(("http://b.a.org/".to_owned(), "b".to_owned()));
    records
}

fn borrowed(records: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    records.iter().map(|(url, cluster)| (url.as_str(), cluster.as_str()))
}

#[test]
fn the_same_rules_in_all_folds_give_the_figures_of_the_whole() {
    let site = training([
        ("http://a.org/a1", "a"),
        ("http://a.org/a2", "a"),
        ("http://a.org/a3", "a"),
        ("http://a.org/b1", "b"),
        ("http://a.org/b2", "b"),
        ("http://a.org/c", "c"),
        ("http://a.org/x", ""),
    ]);
    // Groups: a1 a2 | a3 | b1 c | b2.
    let counts = cross_fit(&site, Extent { rows: 100, folds: 2 }, &Thresholds::default(), |_| {
        look_ups(&[["a1", "a2"], ["b1", "c"]])
    });
    assert_eq!((counts.rows, counts.clusters), (6, 3));
    // One fetch of the three that perfect rules save.
    assert_eq!((counts.by_cluster.ppm(), counts.by_url.ppm()), (Some(333_333), Some(333_333)));
    // Of four rows in two groups, one is outside the largest cluster.
    assert_eq!(counts.wrong.ppm(), Some(250_000));
    // Clusters a and b have something to save; a group with a and one with the smaller id of b and c.
    assert_eq!((counts.by_cluster.units, counts.wrong.units), (2, 2));
}

#[test]
fn own_rows_in_a_wrong_group_are_rightly_joined() {
    let site = training([
        ("http://a.org/a1", "a"),
        ("http://a.org/a2", "a"),
        ("http://a.org/a3", "a"),
        ("http://a.org/b1", "b"),
        ("http://a.org/b2", "b"),
    ]);
    let counts = cross_fit(&site, Extent { rows: 100, folds: 2 }, &Thresholds::default(), |_| {
        look_ups(&[["a1", "b1"], ["a2", "b1"], ["a3", "b1"], ["b2", "b1"]])
    });
    // Five URLs become one page and b is lost: 5 - 1 - 1 of 3 to save, as `saved` of `evaluate` has it.
    assert_eq!(counts.by_url.ppm(), Some(1_000_000));
    assert_eq!((counts.wrong.ppm(), counts.wrong.units), (Some(400_000), 1));
}

#[test]
fn each_fold_is_left_out_once_and_clusters_as_a_whole() {
    let records = sessions();
    let site = training(borrowed(&records));
    let parts = RefCell::new(Vec::new());
    cross_fit(&site, Extent { rows: 1_000, folds: 2 }, &Thresholds::default(), |part| {
        parts.borrow_mut().push(part);
        SiteRules::default()
    });
    let parts = parts.into_inner();
    assert_eq!(parts.len(), 4);
    let cluster: std::collections::BTreeMap<&str, &str> = borrowed(&records).collect();
    for scheme in parts.chunks(2) {
        let [one, other] = [urls(&scheme[0]), urls(&scheme[1])];
        assert!(one.is_disjoint(&other) && one.len() + other.len() == site.len());
        assert!(one.len() * 3 > site.len() && other.len() * 3 > site.len(), "{} {}", one.len(), other.len());
    }
    let clusters = |part: &Training| -> BTreeSet<String> {
        let labels = urls(part).into_iter().map(|url| cluster[url.as_str()].to_owned());
        labels.filter(|label| !label.is_empty()).collect()
    };
    assert!(clusters(&parts[0]).is_disjoint(&clusters(&parts[1])));
    assert!(clusters(&parts[2]).intersection(&clusters(&parts[3])).count() > 50);
    // The second host has one URL: rules that did not see it do not act on it.
    for part in &parts {
        let seen = urls(part).contains("http://b.a.org/");
        assert_eq!(part.origins.contains("http://b.a.org"), seen);
    }
}

#[test]
fn who_learns_by_heart_saves_nothing() {
    let records = sessions();
    let site = training(borrowed(&records));
    let by_heart = |part: Training| {
        let first = first_rows(&part);
        let text = |row: usize| String::from_utf8_lossy(part.url(row)).into_owned();
        let labelled = (0..part.len()).filter(|&row| part.clusters[row] != u32::MAX);
        let pair = |row: usize| [text(row), text(first[part.clusters[row] as usize] as usize)];
        let mut aliases: Vec<[String; 2]> = labelled.map(pair).filter(|[from, to]| from != to).collect();
        aliases.sort();
        SiteRules { aliases, origins: part.origins.iter().cloned().collect(), ..look_ups(&[]) }
    };
    let counts = cross_fit(&site, Extent { rows: 1_000, folds: 2 }, &Thresholds::default(), by_heart);
    assert_eq!((counts.by_cluster.ppm(), counts.by_url.ppm()), (Some(0), Some(0)));
    // On what it learned from it is perfect.
    let mut sums = Sums { saved: vec![0; 61], merged: vec![0; 61], wrong: vec![0; 61] };
    count(&site, by_heart(site.clone()), &(0..61).collect::<Vec<u32>>(), |_| true, &mut sums);
    assert_eq!(sums.saved(&sizes(&site, 61)).ppm(), Some(1_000_000));
}

/// It may have been learned from the rows that are left out.
#[test]
fn an_earlier_result_takes_no_part() {
    let sessions = sessions();
    let mut training = training(borrowed(&sessions));
    training.hints.previous = Some(std::sync::Arc::new(look_ups(&[])));
    cross_fit(&training, Extent { rows: 1_000, folds: 3 }, &Thresholds::default(), |part| {
        assert!(part.hints.previous.is_none());
        look_ups(&[])
    });
}

#[test]
fn what_holds_for_new_clusters_is_saved() {
    let records = sessions();
    let learn = |part| site::learn(part, &Params::default()).rules;
    let counts =
        cross_fit(&training(borrowed(&records)), Extent { rows: 1_000, folds: 2 }, &Thresholds::default(), learn);
    assert_eq!((counts.by_cluster.ppm(), counts.by_url.ppm()), (Some(1_000_000), Some(1_000_000)));
    assert_eq!((counts.wrong.ppm(), counts.rows, counts.clusters), (Some(0), 241, 61));
    // Sixty clusters, none wrong: Wilson's bound.
    assert_eq!(counts.wrong.upper_ppm(), 60_174);
}

#[test]
fn a_large_site_is_sampled_by_whole_clusters_in_any_order() {
    let mut records = sessions();
    let whole = training(borrowed(&records));
    records.reverse();
    let turned = training(borrowed(&records));
    for most in [0, 1, 50, 120, 300] {
        let part = sample(&whole, most).expect("the site has 301 rows");
        assert!(part.len() as u64 <= most && (most < 50 || part.len() as u64 + 4 > most), "{} of {most}", part.len());
        assert!(sizes(&part, first_rows(&part).len()).iter().all(|&size| size == 4 || size == 1));
        assert_eq!(urls(&part), urls(&sample(&turned, most).expect("the site has 301 rows")));
    }
    assert!(sample(&whole, 301).is_none());
    let learn = |part| site::learn(part, &Params::default()).rules;
    let extent = |rows| Extent { rows, folds: 3 };
    assert_eq!(
        cross_fit(&whole, extent(120), &Thresholds::default(), learn),
        cross_fit(&turned, extent(120), &Thresholds::default(), learn)
    );
    assert_eq!(cross_fit(&whole, extent(0), &Thresholds::default(), learn), Counts::default());
}

#[test]
fn folds_without_a_labelled_row_are_not_learned_without() {
    let site =
        training([("http://a.org/1", "a"), ("http://a.org/2", "a"), ("http://a.org/3", "b"), ("http://a.org/4", "")]);
    let fits = std::cell::Cell::new(0);
    let counts = cross_fit(&site, Extent { rows: 10, folds: 10 }, &Thresholds::default(), |_| {
        fits.set(fits.get() + 1);
        look_ups(&[["1", "2"]])
    });
    // Two clusters and three labelled URLs at most.
    assert!(fits.get() <= 5, "{}", fits.get());
    assert_eq!((counts.by_cluster.ppm(), counts.by_url.ppm()), (Some(1_000_000), Some(1_000_000)));
}
