//! The invariants of the generator, each against something that does not share its code: the oracle that
//! reads URLs back, sets of what was written, the public suffix list.

use super::kind::{SHAPES, TRAPS, TYPES};
use super::*;
use std::collections::{BTreeMap, HashMap, HashSet};

/// All records of a site in crawl order: `(url, true cluster)`.
fn records(site: &SitePlan) -> Vec<(String, u64)> {
    let mut scratch = parts::Parts::default();
    let mut out = Vec::new();
    let record = |position| {
        out.clear();
        let row = site.record(position, &mut scratch, &mut out);
        (String::from_utf8(out.clone()).expect("URLs are ASCII"), row.cluster)
    };
    (0..site.rows()).map(record).collect()
}

fn options(types: &[&str], decorations: Option<&[&str]>, urls: u64, seed: u64) -> Options {
    let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    Options {
        seed,
        sites: 1,
        urls_min: urls,
        urls_max: urls,
        types: (!types.is_empty()).then(|| owned(types)),
        decorations: decorations.map(owned),
        ..Options::default()
    }
}

/// URLs are distinct, the oracle has each, and its classes are the clusters.
fn assert_invariants(site: &SitePlan) -> HashMap<u64, u64> {
    let records = records(site);
    let mut seen = HashSet::<_>::default();
    let mut clusters: HashMap<u64, (&str, u64)> = HashMap::default();
    let mut pages: HashMap<(&str, u64), u64> = HashMap::default();
    let mut sizes: HashMap<u64, u64> = HashMap::default();
    for (url, cluster) in &records {
        assert!(seen.insert(url.as_str()), "{url} comes twice");
        assert!(url.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\'), "{url}");
        let page = site.truth(url).unwrap_or_else(|| panic!("the oracle does not know {url}: {:?}", site.facts()));
        assert_eq!(*clusters.entry(*cluster).or_insert(page), page, "{url}: one cluster, two pages");
        assert_eq!(*pages.entry(page).or_insert(*cluster), *cluster, "{url}: one page, two clusters");
        *sizes.entry(*cluster).or_default() += 1;
    }
    assert_eq!(records.len() as u64, site.rows());
    assert_eq!(sizes.len() as u64, site.clusters());
    sizes
}

#[test]
fn every_type_keeps_the_invariants_plain_and_with_every_decoration() {
    for (name, ..) in TYPES.into_iter().chain(TRAPS).chain(SHAPES) {
        for seed in 0..4 {
            for decorations in [None, Some(&[][..]), Some(&decor::NAMES[..])] {
                for site in plan(&options(&[name], decorations, 3000, seed)).expect("fits") {
                    assert_eq!(site.facts()[0].name, name);
                    assert_invariants(&site);
                }
            }
        }
    }
}

#[test]
fn types_of_one_site_do_not_claim_each_others_urls() {
    let all: Vec<&str> = TYPES.iter().map(|t| t.0).chain([kind::ALL_TRAPS, kind::ALL_SHAPES]).collect();
    for seed in 0..6 {
        for site in plan(&options(&all, Some(&decor::NAMES), 20_000, seed)).expect("fits") {
            assert_eq!(site.facts().len(), TYPES.len() + TRAPS.len() + SHAPES.len());
            assert_invariants(&site);
        }
    }
}

#[test]
fn drawn_sites_keep_the_invariants_and_use_every_type_and_decoration() {
    let options = Options { sites: 60, urls_min: 200, urls_max: 4000, seed: 5, ..Options::default() };
    let mut types = HashSet::<_>::default();
    let mut plain = HashSet::<_>::default();
    let mut decorated = HashSet::<_>::default();
    for site in plan(&options).expect("fits") {
        assert_invariants(&site);
        types.extend(site.facts().iter().map(|f| f.name));
        let d = site.decor();
        let flags = [d.mirrors.len() > 1, d.https, d.session.is_some(), d.utm, d.case, d.dslash, d.empty_query];
        for (i, on) in flags.into_iter().chain([d.port, d.fragment]).enumerate() {
            if on {
                decorated.insert(i)
            } else {
                plain.insert(i)
            };
        }
    }
    assert_eq!(types.len(), TYPES.len());
    assert_eq!((plain.len(), decorated.len()), (decor::NAMES.len(), decor::NAMES.len()));
}

#[test]
fn distribution_is_that_of_the_published_table() {
    // Table 1 of WWW10 (mean 3.8 URLs a cluster) and its duplicate ratio (63.36 %), on 200,000 URLs.
    for seed in 0..8 {
        let site = SitePlan::new(&options(&[], None, 200_000, seed), 0, 200_000);
        let sizes: Vec<u64> = site.sizes().flat_map(|(size, n)| std::iter::repeat_n(size, n as usize)).collect();
        assert_eq!(sizes.iter().sum::<u64>(), 200_000);
        let several: Vec<u64> = sizes.iter().copied().filter(|&s| s > 1).collect();
        let mean = several.iter().sum::<u64>() as f64 / several.len() as f64;
        let ratio = 1.0 - sizes.len() as f64 / 200_000.0;
        let single = 1.0 - several.len() as f64 / sizes.len() as f64;
        assert!((3.5..4.1).contains(&mean), "seed {seed}: {mean} URLs a cluster");
        assert!((0.60..0.68).contains(&ratio), "seed {seed}: duplicate ratio {ratio}");
        assert!((0.30..0.42).contains(&single), "seed {seed}: {single} singletons");
        assert!(several.iter().any(|&s| s > 200), "seed {seed}: no tail");
    }
}

#[test]
fn constant_pages_reach_hundreds_of_thousands_of_urls_and_stop_at_the_published_largest() {
    let site = SitePlan::new(&options(&["login", "story"], None, 3_000_000, 3), 0, 3_000_000);
    let largest = site.sizes().map(|s| s.0).max().expect("not empty");
    assert!((30_000..=plan::LARGEST_CLUSTER).contains(&largest), "{largest}");
    let most = (0..40)
        .map(|seed| SitePlan::new(&options(&["login", "story"], None, 3_000_000, seed), 0, 3_000_000))
        .filter_map(|site| site.sizes().map(|s| s.0).max())
        .max();
    assert!(most > Some(250_000), "{most:?}");
}

#[test]
fn only_pages_with_renderings_have_several_labels_without_noise() {
    let site = SitePlan::new(&options(&[kind::ALL_TRAPS], None, 20_000, 3), 0, 20_000);
    assert!(site.has_renderings());
    let (mut scratch, mut labels) = (parts::Parts::default(), BTreeMap::<u64, [u64; 5]>::new());
    for position in 0..site.rows() {
        let row = site.record(position, &mut scratch, &mut Vec::new());
        assert_eq!(row.label, row.cluster);
        labels.entry(row.cluster).or_default()[row.rendering as usize] += 1;
    }
    let drifting: Vec<_> = labels.values().filter(|l| l[1..].iter().any(|&n| n > 0)).collect();
    assert_eq!(drifting.len(), 1, "{drifting:?}");
    let all: u64 = drifting[0].iter().sum();
    assert!(drifting[0].iter().all(|&n| n * 6 > all && n * 4 < all), "{drifting:?}");
}

#[test]
fn noise_has_the_rates_asked_for_and_spares_the_rest() {
    let quiet = options(&["story", "list", "archive"], None, 60_000, 9);
    let loud = Options { noise: 0.05, split: 0.1, drop: 0.2, ..quiet.clone() };
    let (site, noisy) = (SitePlan::new(&quiet, 0, 60_000), SitePlan::new(&loud, 0, 60_000));
    let mut scratch = parts::Parts::default();
    let (mut dropped, mut urls) = (0, 0);
    // True cluster: whether fused, halves seen, URLs.
    let mut seen: BTreeMap<u64, (bool, [u64; 2])> = BTreeMap::new();
    for position in 0..site.rows() {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let plain = site.record(position, &mut scratch, &mut a);
        let row = noisy.record(position, &mut scratch, &mut b);
        assert_eq!(a, b, "noise changes labels only");
        assert_eq!(
            plain,
            PlannedRecord { cluster: row.cluster, label: row.cluster, half: false, rendering: 0, dropped: false }
        );
        assert!(row.label < noisy.clusters());
        dropped += u64::from(row.dropped);
        urls += 1;
        let entry = seen.entry(row.cluster).or_default();
        entry.0 |= row.label != row.cluster;
        entry.1[usize::from(row.half)] += 1;
    }
    let share = |n: usize, of: usize| n as f64 / of as f64;
    assert!((dropped as f64 / urls as f64 - 0.2).abs() < 0.01);
    assert!((share(seen.values().filter(|c| c.0).count(), seen.len()) - 0.05).abs() < 0.006);
    // A cluster of ten and more shows its split but for 2 in 1,000.
    let large: Vec<_> = seen.values().filter(|c| c.1[0] + c.1[1] >= 10).collect();
    let split = share(large.iter().filter(|c| c.1[1] > 0).count(), large.len());
    assert!(large.len() > 400 && (split - 0.1).abs() < 0.04, "{split} of {}", large.len());
    assert!(seen.values().filter(|c| c.1[0] + c.1[1] == 1).all(|c| c.1[1] == 0), "a singleton cannot be split");
}

#[test]
fn sites_differ_in_registrable_domain_under_suffixes_of_one_and_several_labels() {
    let options = Options { sites: 300, urls_min: 50, urls_max: 60, ..Options::default() };
    let sites = plan(&options).expect("fits");
    let mut domains = HashSet::<_>::default();
    for site in &sites {
        for (url, _) in records(site).iter().take(20) {
            let host = url.split('/').nth(2).expect("absolute").trim_end_matches(":80");
            assert_eq!(psl::domain_str(host), Some(site.domain()), "{url}");
        }
        domains.insert(site.domain().to_owned());
    }
    assert_eq!(domains.len(), sites.len());
    for suffix in [".co.uk", ".github.io", ".com"] {
        assert!(domains.iter().any(|d| d.ends_with(suffix)), "none under {suffix}");
    }
}

#[test]
fn a_site_depends_on_seed_and_index_alone() {
    let few = Options { sites: 3, urls_min: 500, urls_max: 900, ..Options::default() };
    let many = Options { sites: 8, ..few.clone() };
    let (few_sites, many_sites) = (plan(&few).expect("fits"), plan(&many).expect("fits"));
    for (a, b) in few_sites.iter().zip(&many_sites) {
        assert_eq!(records(a), records(b));
    }
    let other = plan(&Options { seed: 2, ..few }).expect("fits");
    assert_ne!(records(&few_sites[0]), records(&other[0]));
}

#[test]
fn the_crawl_does_not_go_cluster_by_cluster() {
    let site = SitePlan::new(&options(&["story", "list"], None, 20_000, 1), 0, 20_000);
    let records = records(&site);
    let neighbours = records.windows(2).filter(|w| w[0].1 == w[1].1).count();
    assert!(neighbours < 100, "{neighbours} of 20,000 stand beside a duplicate");
    let (head, tail) = records.split_at(10_000);
    let lists = |part: &[(String, u64)]| part.iter().filter(|r| !r.0.contains("id=")).count() as f64;
    assert!((lists(head) / lists(tail) - 1.0).abs() < 0.1);
}

#[test]
fn json_and_tsv_hold_the_same() {
    let options = Options { noise: 0.2, split: 0.2, ..options(&["enc", "list"], None, 2000, 4) };
    let site = SitePlan::new(&options, 0, 2000);
    let layout = |json| Layout { json, site: true, truth: true };
    let (mut tsv, mut json) = (Vec::new(), Vec::new());
    let mut writer = Writer::default();
    writer.write(&site, 0..1000, layout(false), &mut tsv, None);
    writer.write(&site, 1000..2000, layout(false), &mut tsv, None);
    assert!(writer.counts.mislabelled > 200 && writer.counts.urls == 2000, "{:?}", writer.counts);
    let mut truth = Vec::new();
    Writer::default().write(&site, 0..2000, layout(true), &mut json, Some(&mut truth));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("ASCII");
    let (tsv, json, truth) = (text(tsv), text(json), text(truth));
    assert_eq!(tsv.lines().count(), 2000);
    for ((line, object), pair) in tsv.lines().zip(json.lines()).zip(truth.lines()) {
        let object: BTreeMap<String, String> = serde_json::from_str(object).expect("JSON");
        let columns: Vec<&str> = line.split('\t').collect();
        assert_eq!(columns, ["url", "cluster", "site", "truth"].map(|k| object[k].as_str()));
        assert_eq!(pair, format!("{}\t{}", columns[0], columns[3]));
    }
}

#[test]
fn three_million_urls_are_distinct_and_the_oracle_agrees() {
    if std::env::var_os("UNDUST_SLOW").is_none() {
        return;
    }
    let all: Vec<&str> = TYPES.iter().map(|t| t.0).collect();
    let site = SitePlan::new(&options(&all, None, 3_000_000, 11), 0, 3_000_000);
    let mut scratch = parts::Parts::default();
    let mut out = Vec::new();
    let mut hashes: HashSet<u128> = HashSet::<_>::default();
    let mut clusters: HashMap<u64, (&str, u64)> = HashMap::default();
    let mut pages = HashSet::<_>::default();
    for position in 0..site.rows() {
        out.clear();
        let row = site.record(position, &mut scratch, &mut out);
        assert!(hashes.insert(crate::model::hash128(&out)));
        let url = std::str::from_utf8(&out).expect("ASCII");
        let page = site.truth(url).unwrap_or_else(|| panic!("the oracle does not know {url}"));
        assert_eq!(*clusters.entry(row.cluster).or_insert(page), page, "{url}");
        pages.insert(page);
    }
    assert_eq!((clusters.len(), hashes.len()), (pages.len(), 3_000_000));
}
