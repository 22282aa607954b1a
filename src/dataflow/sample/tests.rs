use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

type TestRecord = (String, Option<String>, bool);

/// Sample of rows that are assigned to `parts` samplers, and sampled again at the owner: `(url, label,
/// elsewhere)`.
fn assigned(
    rows: &[TestRecord],
    params: SampleParams,
    parts: usize,
    assign: impl Fn(usize) -> usize,
    budget: usize,
) -> BTreeSet<TestRecord> {
    let mut samplers: Vec<Sampler> = (0..parts).map(|_| Sampler::new(params, parts, budget)).collect();
    let mut shipped = Vec::new();
    for (i, (url, label, elsewhere)) in rows.iter().enumerate() {
        let sampler = &mut samplers[assign(i) % parts];
        sampler.offer(b"site", url.as_bytes(), label.as_deref().map(str::as_bytes), *elsewhere);
        if sampler.is_full() {
            shipped.extend(sampler.flush());
        }
    }
    shipped.extend(samplers.iter_mut().flat_map(Sampler::flush));
    let mut all = Rows::default();
    let site = all.push_site(b"site");
    for (owner_of_site, rows) in &shipped {
        assert_eq!(*owner_of_site as usize, owner(b"site", parts));
        assert_eq!((rows.sites(), rows.site_name(0)), (1, &b"site"[..]));
        (0..rows.len()).for_each(|row| all.push_from(rows, row, site));
    }
    let mut keys: Vec<SampleKey> = (0..all.len())
        .map(|row| SampleKey { cluster: all.cluster_hash[row], url: all.url_hash[row], at: row as u64 })
        .collect();
    select(&mut keys, &params, |a, b| all.tie(a as usize, &all, b as usize), |at| all.record(at as usize).0);
    let origins = rows.iter().any(|row| row.1.is_some()).then_some("http://a".to_owned());
    let found = keys.iter().filter(|key| all.is_origin(key.at as usize));
    let found: Vec<String> =
        found.map(|key| String::from_utf8(all.record(key.at as usize).0.to_vec()).expect("text")).collect();
    assert_eq!(found, Vec::from_iter(origins), "each origin of labelled records, once");
    let got: Vec<TestRecord> = keys
        .iter()
        .filter(|key| !all.is_origin(key.at as usize))
        .map(|key| {
            let (url, label, elsewhere) = all.record(key.at as usize);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
            (text(url), label.map(text), elsewhere)
        })
        .collect();
    let set: BTreeSet<TestRecord> = got.iter().cloned().collect();
    assert_eq!(set.len(), got.len(), "repeats count once");
    set
}

/// The definition, in the plainest words: no hash order but by sorting everything.
fn by_definition(rows: &[TestRecord], params: SampleParams) -> BTreeSet<TestRecord> {
    let hash_bounds = HashBounds::new(&params);
    let draw = |row: &TestRecord| hash_bounds.draw(row.0.as_bytes(), row.1.as_deref().map(str::as_bytes));
    let distinct: BTreeSet<TestRecord> = rows.iter().filter(|row| draw(row).candidate).cloned().collect();
    let mut candidates: Vec<TestRecord> = distinct.into_iter().collect();
    candidates.sort_by_key(|row| (draw(row).url, draw(row).cluster, row.clone()));
    let (mut sizes, mut of_forms) = (std::collections::BTreeMap::new(), std::collections::BTreeMap::new());
    candidates.retain(|row| {
        let mut form = Vec::new();
        super::form(row.0.as_bytes(), &mut form);
        let of_form = of_forms.entry((row.1.clone(), hash64(&form) % FORMS)).or_insert(0);
        *of_form += 1;
        if row.1.is_none() || *of_form <= params.cluster_max.div_ceil(32) {
            return true;
        }
        let others = sizes.entry(row.1.clone()).or_insert(0);
        *others += 1;
        *others <= params.cluster_max
    });
    let mut clusters: Vec<TestRecord> = candidates.iter().filter(|row| row.1.is_some()).cloned().collect();
    clusters.sort_by_key(|row| (draw(row).cluster, draw(row).url, row.clone()));
    clusters.truncate((f64::from(params.max) * params.whole_weight) as usize);
    let mut sample: BTreeSet<TestRecord> = clusters.into_iter().collect();
    for row in candidates {
        if sample.len() == params.max as usize {
            break;
        }
        sample.insert(row);
    }
    sample
}

fn row() -> impl Strategy<Value = TestRecord> {
    (0..300u32, proptest::option::of(0..40u32), proptest::bool::weighted(0.1)).prop_map(|(url, label, elsewhere)| {
        // A URL mostly has one label, sometimes another or none.
        let label = label.map(|l| if l < 30 { url / 7 } else { l });
        let form = ["", "x/", "y/z/", "?a=", "?b=", "?a=1&c="][url as usize % 6];
        (format!("http://a/{form}{url}"), label.map(|l| format!("c{l}")), elsewhere)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_split_gives_the_same_sample(
        rows in proptest::collection::vec(row(), 0..600),
        (max, cluster_max) in (1..200u32, 1..12u32),
        (share, whole_weight) in (0.05..1.0f64, 0.0..=1.0f64),
        (parts, seed, budget) in (1..5usize, any::<u64>(), prop_oneof![Just(usize::MAX), 0..20_000usize]),
    ) {
        for share in [share, 1.0] {
            let params = SampleParams { share, max, whole_weight, cluster_max, held_back: 0.0 };
            let want = by_definition(&rows, params);
            let assign = |i: usize| hash64_seeded(&i.to_le_bytes(), seed) as usize;
            prop_assert_eq!(&assigned(&rows, params, 1, |_| 0, usize::MAX), &want);
            prop_assert_eq!(&assigned(&rows, params, parts, assign, budget), &want);
        }
    }
}

#[test]
fn the_share_is_kept_with_and_without_labels() {
    for share in [0.05, 0.2, 0.5, 0.9, 1.0] {
        for whole_weight in [0.0, 0.5, 1.0] {
            let hash_bounds = HashBounds::new(&SampleParams { share, whole_weight, ..SampleParams::default() });
            for labelled in [true, false] {
                let n = 40_000;
                let drawn = (0..n)
                    .filter(|i| {
                        let (url, label) = (format!("http://a/{i}"), format!("{}", i / 2));
                        hash_bounds.draw(url.as_bytes(), labelled.then_some(label.as_bytes())).candidate
                    })
                    .count() as f64;
                let got = drawn / f64::from(n);
                // Five standard deviations of pairs.
                let bound = 5.0 * (2.0 * share * (1.0 - share) / f64::from(n)).sqrt();
                assert!((got - share).abs() <= bound, "share {share}, w {whole_weight}, labelled {labelled}: {got}");
            }
        }
    }
}

#[test]
fn held_back_urls_never_train() {
    let params = SampleParams { held_back: 0.2, ..SampleParams::default() };
    let hash_bounds = HashBounds::new(&params);
    let drawn =
        (0..20_000).filter(|i| hash_bounds.draw(format!("http://a/{i}").as_bytes(), Some(b"c")).candidate).count();
    assert!((15_700..16_300).contains(&drawn), "{drawn}");
}

#[test]
fn a_worker_ships_no_more_than_the_budget_of_a_site_a_flush() {
    let params = SampleParams { max: 100, ..SampleParams::default() };
    let mut sampler = Sampler::new(params, 2, 100_000);
    let (mut flushes, mut shipped) = (0, 0);
    for i in 0..50_000 {
        let (url, label) = (format!("http://a/{i}"), format!("{}", i / 4));
        sampler.offer(b"big", url.as_bytes(), Some(label.as_bytes()), false);
        if sampler.is_full() {
            let rows = |rows: &Rows| (0..rows.len()).filter(|&row| !rows.is_origin(row)).count();
            let rows: usize = sampler.flush().iter().map(|(_, of)| rows(of)).sum();
            assert!(rows <= 100, "{rows}");
            (flushes, shipped) = (flushes + 1, shipped + rows);
        }
    }
    // Once the budget is full, only records within its bounds are held at all.
    assert!(flushes >= 1 && shipped < 2_000, "{flushes} flushes, {shipped} rows");
}

#[test]
fn every_site_is_named_to_its_owner_even_without_candidates() {
    let params = SampleParams { share: 1e-9, ..SampleParams::default() };
    let mut sampler = Sampler::new(params, 3, 1 << 20);
    for i in 0..50 {
        sampler.offer(format!("site{i}").as_bytes(), b"http://a/", Some(b"c"), false);
    }
    let mut named = BTreeSet::new();
    for (to, rows) in sampler.flush() {
        assert!((0..rows.len()).all(|row| rows.is_origin(row)));
        for site in 0..rows.sites() {
            assert_eq!(owner(rows.site_name(site as u32), 3) as u64, to);
            named.insert(rows.site_name(site as u32).to_vec());
        }
    }
    assert_eq!(named.len(), 50);
}

#[test]
fn a_rare_form_of_a_large_cluster_trains() {
    let rows: Vec<TestRecord> = (0..30_000)
        .map(|i| {
            let url =
                if i % 1000 == 0 { format!("http://a/post.php?f={i}") } else { format!("http://a/write.php?u={i}") };
            (url, Some("login".to_owned()), false)
        })
        .collect();
    let sample = assigned(&rows, SampleParams::default(), 1, |_| 0, usize::MAX);
    assert_eq!(sample.iter().filter(|row| row.0.contains("post")).count(), 30);
    assert!((1000..=1064).contains(&sample.len()), "{}", sample.len());
}
