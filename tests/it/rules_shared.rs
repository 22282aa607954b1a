//! A rule set in use: replaced under load, shared by many threads, and kept to the site's own domains.

use crate::jobs_run::{rule_set, sites};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use undust::rules::filter::SeenFilter;
use undust::rules::{Operation, Representative, RuleSet, Scratch, SharedRules};

/// Every batch is made with one rule set, old or new, while another thread replaces it without a pause.
#[test]
fn rules_are_replaced_under_load() {
    // The second set writes hosts the other way round, so that a mixture would show.
    let other = || {
        let mut sites = sites();
        let to = Representative::Everywhere("b.mirror.example".into());
        sites[1].rules[0].operations = vec![("host".into(), Operation::Ignore(to))];
        RuleSet::new(sites)
    };
    let shared = SharedRules::new(rule_set());
    let (done, batches) = (AtomicBool::new(false), AtomicU64::new(0));
    let met = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let (mut scratch, mut met) = (Scratch::default(), [0u64; 2]);
                    while !done.load(Ordering::Relaxed) {
                        let rules = shared.current();
                        let mut of = |host: &str| {
                            let url = format!("http://{host}.mirror.example/x");
                            rules.apply(url.as_bytes(), None, &mut scratch).url.to_vec()
                        };
                        let first = of("a");
                        assert!(
                            (0..50).all(|i| of(if i % 2 == 0 { "a" } else { "b" }) == first),
                            "a mixture of two sets"
                        );
                        met[usize::from(first.starts_with(b"http://b."))] += 1;
                        batches.fetch_add(1, Ordering::Relaxed);
                    }
                    met
                })
            })
            .collect();
        let mut replaced = 0u64;
        while replaced < 400 || batches.load(Ordering::Relaxed) < 400 {
            let old = shared.replace(if replaced.is_multiple_of(2) { other() } else { rule_set() });
            assert_eq!(old.len(), 2);
            replaced += 1;
            std::thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
        workers.into_iter().map(|w| w.join().expect("no panic")).fold([0, 0], |a, b| [a[0] + b[0], a[1] + b[1]])
    });
    assert!(met[0] > 0 && met[1] > 0, "both sets were met: {met:?}");
}

#[test]
fn sixty_four_threads_share_one_rule_set() {
    let rules = rule_set();
    let expected = rules.canonicalize("http://www.forum.example/topic/7?highlight=x&sid=1&t=7");
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let found = rules.canonicalize("http://www.forum.example/topic/7?highlight=x&sid=1&t=7");
                    assert_eq!(found, expected);
                }
            });
        }
    });
    assert_eq!(expected.url, "http://www.forum.example/topic/7?t=7");
}

/// Also where a rule file says otherwise: a rule that writes a host of another domain does not act.
#[test]
fn no_url_leaves_the_domains_of_its_site() {
    let mut sites = sites();
    let url = "http://a.mirror.example/x";
    for (host, becomes) in [
        ("evil.example", url),
        ("www.forum.example", url),
        ("b.mirror.example", "http://b.mirror.example/x"),
        // A host that no record has, of the same registrable domain.
        ("c.mirror.example", url),
    ] {
        let to = Representative::Everywhere(host.into());
        sites[1].rules[0].operations = vec![("host".into(), Operation::Ignore(to))];
        assert_eq!(RuleSet::new(sites.clone()).canonicalize(url).url, becomes, "{host}");
    }
    // Two domains that the records of one site span are one site's.
    sites[1].origins.push("http://mirror2.example".into());
    let to = Representative::Everywhere("mirror2.example".into());
    sites[1].rules[0].operations = vec![("host".into(), Operation::Ignore(to))];
    assert_eq!(RuleSet::new(sites).canonicalize(url).url, "http://mirror2.example/x");
}

/// At most two bytes a URL, and at most one in a hundred of those not seen is taken for seen; none seen
/// is missed.
#[test]
fn the_set_of_seen_urls_is_small() {
    let url = |i: u32| format!("https://www.shop.example/item/{i}/details?page={}", i % 7);
    let hash = |i: u32| undust::model::hash64(url(i).as_bytes());
    for n in [1_000u32, 200_000] {
        let filter = SeenFilter::build((0..n).map(hash).collect()).unwrap();
        assert!((0..n).all(|i| filter.contains(url(i).as_bytes())));
        let wrong = (n..n + 100_000).filter(|&i| filter.contains(url(i).as_bytes())).count();
        let bytes = filter.to_bytes().len() as f64 / f64::from(n);
        assert!(bytes <= 2.0 && wrong <= 1_000, "{bytes:.2} bytes a URL, {wrong} of 100,000 wrong");
    }
}
