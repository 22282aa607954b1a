//! Expected values worked out by hand on sites of a few URLs, and the invariants of joining.

use super::{Counts, Evaluation, Grouping, Pages, Rates, Summary};
use crate::model::{Record, RecordBatch, SiteBy};
use crate::rules::RuleSet;
use proptest::prelude::*;

/// Rows of (URL, cluster, canonical URL) as the pages of one site.
fn pages(rows: &[(&str, &str, &str)]) -> Pages {
    let mut pages = Pages::default();
    rows.iter().for_each(|(url, cluster, canonical)| {
        pages.push(url.as_bytes(), canonical.as_bytes(), Some(cluster.as_bytes()));
    });
    pages
}

fn rates(rows: &[(&str, &str, &str)]) -> Rates {
    Rates::of(&pages(rows).counts())
}

#[track_caller]
fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} is not {b}");
}

/// Five URLs of two clusters and their canonical URLs.
fn five(canonical: [&str; 5]) -> Vec<(&'static str, &'static str, &str)> {
    let urls = [("a1", "A"), ("a2", "A"), ("a3", "A"), ("b1", "B"), ("b2", "B")];
    urls.into_iter().zip(canonical).map(|((url, cluster), canonical)| (url, cluster, canonical)).collect()
}

#[test]
fn nothing_normalized() {
    let r = rates(&five(["a1", "a2", "a3", "b1", "b2"]));
    close(r.comp, 0.0);
    close(r.oracle, 0.6);
    close(r.dupred, 0.0);
    close(r.fpr, 0.0);
    close(r.prec, 0.4);
    close(r.rec, 1.0);
    close(r.f1, 0.8 / 1.4);
    close(r.saved_share, 0.0);
    close(r.pair_rec, 0.0);
    assert!(r.fetch_ok.is_nan() && r.fetch_bad.is_nan());
}

#[test]
fn every_cluster_one_page() {
    let r = rates(&five(["a", "a", "a", "b", "b"]));
    close(r.comp, 0.6);
    close(r.dupred, 1.0);
    close(r.dupred_naive, 1.0);
    close(r.fpr, 0.0);
    close(r.f1, 1.0);
    close(r.saved_share, 1.0);
    close(r.pair_rec, 1.0);
}

/// Ten support pairs, 3 + 1 of them true. Merging everything has a perfect dup-reduction rate: the flaw
/// of the measure.
#[test]
fn everything_one_page() {
    let r = rates(&five(["x"; 5]));
    close(r.comp, 0.8);
    close(r.fpr, 0.6);
    close(r.prec, 1.0);
    close(r.rec, 0.5);
    close(r.f1, 2.0 / 3.0);
    close(r.dupred, 1.0);
    assert!(r.dupred_naive > 1.0);
    close(r.urlfpr, 0.4);
    close(r.lost, 1.0);
    close(r.saved_share, 1.0);
}

/// Groups {a1, a2}, {a3, b1}, {b2}: a1, a3 and b2 are fetched, both clusters are covered.
#[test]
fn one_wrong_join() {
    let r = rates(&five(["p", "p", "z", "z", "q"]));
    close(r.comp, 0.4);
    close(r.fpr, 0.5);
    close(r.prec, 2.0 / 3.0);
    close(r.rec, 1.0);
    close(r.dupred, 1.0 - (1.0 / 3.0) / 0.6);
    close(r.pair_rec, 0.25);
    close(r.urlfpr, 0.25);
}

#[test]
fn the_first_url_of_a_canonical_url_is_the_page() {
    let r = rates(&[("a1", "A", "p"), ("s", "S", "p"), ("a2", "A", "r")]);
    close(r.prec, 0.5);
    close(r.rec, 0.5);
    let r = rates(&[("s", "S", "p"), ("a1", "A", "p"), ("a2", "A", "r")]);
    close(r.prec, 1.0);
    close(r.rec, 1.0);
}

#[test]
fn without_duplicates_there_is_nothing_to_reduce() {
    let r = rates(&[("a", "A", "a"), ("b", "B", "b")]);
    assert!(r.dupred.is_nan() && r.dupred_naive.is_nan() && r.saved_share.is_nan() && r.pair_rec.is_nan());
    close(r.f1, 1.0);
}

/// a1 to a2 (listed, same cluster), b1 to a1 (listed, other cluster), b2 to a URL that is not listed.
#[test]
fn fetchable_means_listed_in_the_same_cluster() {
    let r = rates(&[("a1", "A", "a2"), ("a2", "A", "a2"), ("b1", "B", "a1"), ("b2", "B", "b*")]);
    close(r.fetch_ok, 1.0 / 3.0);
    close(r.fetch_bad, 1.0 / 3.0);
    close(r.star, 0.25);
}

#[test]
fn micro_sums_and_macro_averages() {
    let nothing = pages(&five(["a1", "a2", "a3", "b1", "b2"])).counts();
    let perfect = pages(&five(["a", "a", "a", "d", "d"])).counts();
    let Summary { macro_mean, micro } = Summary::of(&[nothing, perfect]);
    close(macro_mean.comp, 0.3);
    close(micro.comp, 0.3);
    close(macro_mean.prec, 0.7);
    close(micro.prec, 4.0 / 7.0);
    close(macro_mean.n, 5.0);
    close(micro.n, 10.0);
}

#[test]
fn an_undefined_figure_is_left_out_of_the_mean() {
    let plain = pages(&[("a", "A", "a")]).counts();
    let perfect = pages(&five(["a", "a", "a", "d", "d"])).counts();
    let Summary { macro_mean, .. } = Summary::of(&[plain, perfect, Counts::default()]);
    close(macro_mean.dupred, 1.0);
    close(macro_mean.saved_share, 1.0);
    let none = Summary::of(&[]);
    assert!(none.macro_mean.comp.is_nan() && none.micro.comp.is_nan());
}

#[test]
fn the_first_row_of_a_repeated_url_wins_and_unlabelled_rows_are_skipped() {
    let mut with = pages(&[("a1", "A", "x"), ("a1", "B", "y"), ("b1", "B", "x"), ("b1", "B", "x")]);
    with.push(b"c", b"x", None);
    assert_eq!(with.counts(), pages(&[("a1", "A", "x"), ("b1", "B", "x")]).counts());
}

#[test]
fn sites_are_told_apart_by_label_and_joined_on_request() {
    let rules = RuleSet::default();
    let mut batch = RecordBatch::default();
    let row = |url, cluster, site| Record { url, cluster, site, elsewhere: false };
    batch.push(row(b"http://www.example.org/1", Some(b"1".as_slice()), Some(b"one".as_slice())));
    batch.push(row(b"http://www.example.org/2", Some(b"1"), Some(b"two")));
    batch.push(row(b"http://www.example.org/3", None, Some(b"two")));
    batch.push(row(b"http://www.example.org/1", Some(b"1"), Some(b"one")));
    let mut evaluation = Evaluation::new(&rules, Grouping::Site(SiteBy::Domain));
    evaluation.add(&batch);
    assert_eq!(evaluation.unlabelled(), 1);
    let sites = evaluation.finish();
    assert_eq!(sites.iter().map(|s| (s.site.as_str(), s.counts.urls)).collect::<Vec<_>>(), [("one", 1), ("two", 1)]);

    let mut evaluation = Evaluation::new(&rules, Grouping::One("f".into()));
    evaluation.add(&batch);
    let sites = evaluation.finish();
    assert_eq!(sites.len(), 1);
    assert_eq!((sites[0].counts.urls, sites[0].counts.clusters), (2, 1));
}

/// Counts straight from the definitions, in quadratic time.
fn by_definition(rows: &[(u8, u8, u8)]) -> Counts {
    let mut seen: Vec<(u8, u8, u8)> = Vec::new();
    for &row in rows {
        if !seen.iter().any(|s| s.0 == row.0) {
            seen.push(row);
        }
    }
    let mut c = Counts { urls: seen.len() as u64, ..Counts::default() };
    let (mut pages, mut clusters, mut covered) = (Vec::new(), Vec::new(), Vec::new());
    for (i, &(url, cluster, canonical)) in seen.iter().enumerate() {
        if !clusters.contains(&cluster) {
            clusters.push(cluster);
        }
        if !pages.contains(&canonical) {
            pages.push(canonical);
            if !covered.contains(&cluster) {
                covered.push(cluster);
            }
        }
        for other in &seen[..i] {
            c.support_pairs += u64::from(other.2 == canonical);
            c.false_positive_pairs += u64::from(other.2 == canonical && other.1 != cluster);
            c.duplicate_pairs += u64::from(other.1 == cluster);
        }
        c.merged += u64::from(seen.iter().filter(|o| o.2 == canonical).count() > 1);
        if url != canonical {
            c.rewritten += 1;
            if let Some(listed) = seen.iter().find(|o| o.0 == canonical) {
                c.fetch_ok += u64::from(listed.1 == cluster);
                c.fetch_bad += u64::from(listed.1 != cluster);
            }
        }
    }
    for page in &pages {
        let of = |cluster: &u8| seen.iter().filter(|o| o.2 == *page && o.1 == *cluster).count() as u64;
        let size = seen.iter().filter(|o| o.2 == *page).count() as u64;
        c.wrong += size - clusters.iter().map(of).max().unwrap_or(0);
    }
    (c.canonical, c.clusters, c.covered) = (pages.len() as u64, clusters.len() as u64, covered.len() as u64);
    c
}

fn pages_of(rows: &[(u8, u8, u8)]) -> Pages {
    let mut pages = Pages::default();
    rows.iter().for_each(|&(url, cluster, canonical)| pages.push(&[url], &[canonical], Some(&[cluster])));
    pages
}

proptest! {
    // Values stay below `*` (42), so that no canonical URL holds one.
    #[test]
    fn counts_are_what_the_definitions_say(rows in prop::collection::vec((0u8..20, 0u8..6, 0u8..20), 0..40)) {
        prop_assert_eq!(pages_of(&rows).counts(), by_definition(&rows));
    }

    #[test]
    fn blocks_merged_are_the_whole(
        rows in prop::collection::vec((0u8..20, 0u8..6, 0u8..20), 0..60),
        cuts in prop::collection::vec(0usize..60, 0..5),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(rows.len())).collect();
        cuts.extend([0, rows.len()]);
        cuts.sort_unstable();
        let mut joined = Pages::default();
        cuts.windows(2).for_each(|w| joined.append(&pages_of(&rows[w[0]..w[1]])));
        prop_assert_eq!(joined.counts(), pages_of(&rows).counts());
    }

    #[test]
    fn counts_of_sites_add_up(
        one in prop::collection::vec((0u8..20, 0u8..6, 0u8..20), 0..40),
        two in prop::collection::vec((0u8..20, 0u8..6, 0u8..20), 0..40),
    ) {
        // The same URLs of another site: other hashes, so that nothing of the two falls together.
        let other = |rows: &[(u8, u8, u8)]| {
            let mut pages = Pages::default();
            rows.iter().for_each(|&(u, c, k)| pages.push(&[u, 1], &[k, 1], Some(&[c, 1])));
            pages
        };
        let mut both = pages_of(&one);
        both.append(&other(&two));
        prop_assert_eq!(both.counts(), pages_of(&one).counts() + pages_of(&two).counts());
    }
}
