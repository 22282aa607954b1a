use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A labelled or unlabelled record on a page, and the rules that fired on it.
#[derive(Clone, Debug)]
struct On {
    page: u64,
    url: u64,
    cluster: u64,
    trained: bool,
    rules: Vec<u16>,
}

fn counted(records: &[On]) -> (SiteCounts, BTreeSet<(u64, u32)>) {
    let name = |on: &On| crate::model::hash64(format!("{}{:?}", on.trained, on.rules).as_bytes());
    let firings = records
        .iter()
        .map(|on| (name(on), Firing { site: 0, trained: on.trained, rules: on.rules.clone(), view: View::Both }));
    let mut tally = Tally::new(1, firings.collect());
    let mut rows: Vec<Page> = records.iter().map(|on| [on.page, 0, on.url, on.cluster, name(on)]).collect();
    rows.sort_unstable();
    let mut clusters = BTreeSet::new();
    let mut take = |cluster, site| {
        clusters.insert((cluster, site));
    };
    rows.iter().for_each(|row| tally.row(row, &mut take));
    tally.finish(&mut take);
    (tally.sites.remove(0), clusters)
}

/// The counts by their definitions, URL by URL and pair by pair.
fn by_definition(records: &[On]) -> SiteCounts {
    let mut counts = SiteCounts::default();
    let mut pages: BTreeMap<u64, BTreeMap<u64, Vec<&On>>> = BTreeMap::new();
    for on in records {
        pages.entry(on.page).or_default().entry(on.url).or_default().push(on);
    }
    let rules = records.iter().flat_map(|on| on.rules.iter().map(|&r| r as usize + 1)).max().unwrap_or(0);
    let mut by_rule = vec![RuleCounts::default(); rules];
    for urls in pages.values() {
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        for labelled_urls in urls.values() {
            let labels: BTreeSet<u64> =
                labelled_urls.iter().map(|on| on.cluster).filter(|&c| c != NO_CLUSTER).collect();
            labels.iter().for_each(|&label| *sizes.entry(label).or_default() += 1);
        }
        let mut members: Vec<&On> = Vec::new();
        for labelled_urls in urls.values() {
            let labelled = labelled_urls.iter().filter(|on| on.cluster != NO_CLUSTER);
            let labels: BTreeSet<u64> = labelled.clone().map(|on| on.cluster).collect();
            counts.conflicts += u64::from(labels.len() > 1);
            members.extend(labelled.max_by_key(|on| (sizes[&on.cluster], std::cmp::Reverse(on.cluster))));
        }
        counts.urls += urls.len() as u64;
        counts.canonical += 1;
        counts.labelled += members.len() as u64;
        let mut by_cluster: BTreeMap<u64, Vec<&On>> = BTreeMap::new();
        members.iter().for_each(|&on| by_cluster.entry(on.cluster).or_default().push(on));
        let Some((&majority, most)) = by_cluster.iter().max_by_key(|(c, urls)| (urls.len(), std::cmp::Reverse(**c)))
        else {
            continue;
        };
        let bad = members.len() - most.len();
        counts.good += most.len() as u64 - 1;
        counts.bad += bad as u64;
        for (i, a) in members.iter().enumerate() {
            for b in &members[..i] {
                let wrong = u64::from(a.cluster != b.cluster);
                counts.support_pairs += 1;
                counts.false_positive_pairs += wrong;
                for (r, rule) in (0u16..).zip(&mut by_rule) {
                    if a.rules.contains(&r) || b.rules.contains(&r) {
                        rule.support_pairs += 1;
                        rule.false_positive_pairs += wrong;
                    }
                }
            }
        }
        if members.len() < 2 {
            continue;
        }
        for (r, rule) in (0u16..).zip(&mut by_rule) {
            let fired: Vec<&On> = most.iter().filter(|on| on.rules.contains(&r)).copied().collect();
            let apart = fired.iter().filter(|on| !on.trained).count();
            let all = fired.len() == most.len();
            if members.iter().any(|on| on.rules.contains(&r)) {
                rule.good += fired.len() as u64 - u64::from(all);
                rule.apart_good += apart as u64 - u64::from(all && apart == most.len());
                for on in members.iter().filter(|on| on.cluster != majority) {
                    if on.rules.contains(&r) || 2 * fired.len() >= most.len() {
                        rule.bad += 1;
                        rule.apart_bad += u64::from(!on.trained);
                    }
                }
            }
            rule.clusters +=
                by_cluster.values().filter(|c| c.len() > 1 && c.iter().any(|on| on.rules.contains(&r))).count() as u64;
        }
    }
    counts.rules = by_rule;
    counts
}

fn on() -> impl Strategy<Value = On> {
    (0..60u64, 0..6u64, 0..10u8).prop_map(|(url, label, odd)| On {
        page: url / 12,
        url,
        cluster: match odd {
            0 => NO_CLUSTER,
            1 => 100 + label,
            _ => 1 + url / 5,
        },
        trained: url % 3 != 0,
        rules: (0..4).filter(|r| (url >> r) & 1 == 1).collect(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn counts_are_those_of_the_definitions(records in proptest::collection::vec(on(), 0..150)) {
        let (mut got, clusters) = counted(&records);
        let mut want = by_definition(&records);
        let rules = got.rules.len().max(want.rules.len());
        got.rules.resize(rules, RuleCounts::default());
        want.rules.resize(rules, RuleCounts::default());
        prop_assert_eq!(got, want);
        // A label that lost every one of its URLs is no cluster of a page.
        let labels: BTreeSet<u64> = records.iter().map(|on| on.cluster).filter(|&c| c != NO_CLUSTER).collect();
        prop_assert!(clusters.iter().all(|(cluster, _)| labels.contains(cluster)));
    }
}

#[test]
fn a_wrong_merge_is_charged_to_the_rules_on_it_and_on_most_of_the_majority() {
    let on = |url, cluster, rules: &[u16]| On { page: 0, url, cluster, trained: true, rules: rules.to_vec() };
    // Ten URLs of cluster 1 came by rule 0, one by rule 2; a stranger by rule 1.
    let mut records: Vec<On> = (0..10).map(|url| on(url, 1, &[0])).collect();
    records.extend([on(10, 1, &[2]), on(11, 2, &[1])]);
    let (counts, _) = counted(&records);
    let bad: Vec<u64> = counts.rules.iter().map(|rule| rule.bad).collect();
    let good: Vec<u64> = counts.rules.iter().map(|rule| rule.good).collect();
    assert_eq!((bad, good), (vec![1, 1, 0], vec![10, 0, 1]));
    assert_eq!((counts.good, counts.bad, counts.support_pairs, counts.false_positive_pairs), (10, 1, 66, 11));
}
