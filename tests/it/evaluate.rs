//! The evaluation over batches: blocks of records, sites and rules together.

use crate::jobs_run::{rule_set, urls};
use undust::evaluate::{Evaluation, Grouping, Pages, SiteFigures};
use undust::model::{Record, RecordBatch, SiteBy, hash64};
use undust::rules::Scratch;

/// URLs in a scrambled order, with repeats and with labels that the rules get right or wrong.
fn records() -> Vec<(String, Option<String>)> {
    let mut rows: Vec<(String, Option<String>)> = Vec::new();
    for (i, url) in urls(3_000).lines().filter(|url| url.starts_with("http")).enumerate() {
        let cluster = (i % 7 != 0).then(|| format!("c{}", hash64(url.as_bytes()) % 900));
        rows.push((url.to_owned(), cluster.clone()));
        let label = if i % 11 == 0 { Some("odd".to_owned()) } else { cluster };
        rows.push((url.replace("sid=", "sid=f").replace("//b.", "//a."), label));
    }
    rows.sort_by_key(|(url, _)| hash64(url.as_bytes()));
    rows
}

fn evaluate(rows: &[(String, Option<String>)], block: usize, grouping: Grouping) -> Vec<SiteFigures> {
    let rules = rule_set();
    let mut evaluation = Evaluation::new(&rules, grouping);
    for rows in rows.chunks(block) {
        let mut batch = RecordBatch::default();
        for (url, cluster) in rows {
            let cluster = cluster.as_ref().map(String::as_bytes);
            batch.push(Record { url: url.as_bytes(), cluster, site: None, elsewhere: false });
        }
        evaluation.add(&batch);
    }
    evaluation.finish()
}

#[test]
fn the_size_of_batches_does_not_matter() {
    let rows = records();
    let whole = evaluate(&rows, rows.len(), Grouping::Site(SiteBy::Domain));
    assert_eq!(whole.len(), 3, "{whole:?}");
    for block in [1, 7, 1_000] {
        let parts = evaluate(&rows, block, Grouping::Site(SiteBy::Domain));
        // Debug, since an undefined figure equals nothing.
        assert_eq!(format!("{parts:?}"), format!("{whole:?}"));
    }
}

#[test]
fn one_site_counts_what_normalize_gives() {
    let rows = records();
    let (rules, mut scratch) = (rule_set(), Scratch::default());
    let mut pages = Pages::default();
    for (url, cluster) in &rows {
        let canonical = rules.apply(url.as_bytes(), None, &mut scratch).url;
        pages.push(url.as_bytes(), canonical, cluster.as_ref().map(String::as_bytes));
    }
    let counts = pages.counts();
    assert!(counts.rewritten > 0 && counts.false_positive_pairs > 0 && counts.fetch_ok > 0);
    assert_eq!(evaluate(&rows, 100, Grouping::One("all".into()))[0].counts, counts);
}
