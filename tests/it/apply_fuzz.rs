//! Random and mutated URLs through the invariants of the fuzz target `apply`: 40,000 here, as many as
//! UNDUST_FUZZ_URLS says for `scripts/fuzz`; alone and in the company of others.
#[path = "../fuzz/invariants/apply.rs"]
mod invariants;

use crate::fuzz_replay::{Random, mutate};
use crate::jobs_run::sites;
use invariants::{Became, learned, records};
use std::path::Path;
use undust::rules::batch::LANES;
use undust::rules::{Batch, RuleSet, Scratch, SiteRules};

/// Shares of the work, a thread each; every one has a seed of its own, so that the URLs are the same on
/// every machine.
const SHARES: usize = 8;

/// Pieces of URLs.
const PIECES: [&[u8]; 24] = [
    b"/",
    b"//",
    b"/../",
    b"/./",
    b"?",
    b"&",
    b"=",
    b"#",
    b";",
    b"%",
    b"%2F",
    b"%41",
    b" ",
    b"\x00",
    b"\xff",
    b"http://",
    b"https://www.",
    b"@",
    b":80",
    b"utm_source=a&",
    b"&sid=1",
    b"index.html",
    b"?do=",
    b"A",
];

/// The next input: bytes of a URL of the seeds with changes, or behind one of their hosts anything at
/// all.
fn next(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut url = seeds[random.below(seeds.len())].clone();
    if random.below(8) == 0 {
        let path = url.iter().skip(8).position(|&b| b == b'/').map_or(url.len(), |at| at + 8);
        url.truncate(path + 1);
        let length = random.below(60);
        url.extend((0..length).map(|_| random.below(256) as u8));
    }
    for _ in 0..random.below(4) {
        let at = random.below(url.len() + 1);
        drop(url.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied()));
    }
    if random.below(2) == 0 {
        mutate(&mut url, &seeds[random.below(seeds.len())], random);
    }
    url
}

#[test]
#[allow(clippy::print_stdout, reason = "who asks for ten million wants to see what they were")]
fn random_and_mutated_urls_keep_the_invariants() {
    let count: u64 = match std::env::var("UNDUST_FUZZ_URLS") {
        Ok(text) => text.parse().expect("UNDUST_FUZZ_URLS: a number"),
        Err(_) => 40_000,
    };
    let sample = records(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kb-sample.jsonl.gz"));
    let mut all = sites();
    all.push(learned(&sample));
    // Among so many sites URLs are canonicalized many at a time.
    let other = |n: usize| SiteRules {
        origins: undust::rules::origins::of_hosts([format!("{n}.test")]),
        site: format!("{n}.test"),
        ..Default::default()
    };
    let many = RuleSet::new(all.iter().cloned().chain((0..300).map(other)).collect());
    let rules = RuleSet::new(all);
    let mut seeds: Vec<Vec<u8>> = sample.iter().map(|record| record.url.to_vec()).collect();
    for origin in rules.sites().iter().flat_map(|site| &site.origins) {
        seeds.push(format!("{origin}/topic/7?t=7&highlight=x&sid=1").into_bytes());
        seeds.push(format!("{origin}/A//b.html;x=1?a=1&a=2#c").into_bytes());
    }
    let share = |number: usize| {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1) << 32);
        let (mut scratch, mut batch, mut met) = (Scratch::default(), Batch::default(), [0u64; 3]);
        for _ in 0..count.div_ceil(SHARES as u64 * LANES as u64) {
            let urls: [_; LANES] = std::array::from_fn(|_| next(&seeds, &mut random));
            let mut taken = 0;
            batch.apply(&many, urls.iter(), |url, together| {
                let became = invariants::check(&rules, url, &mut scratch).unwrap_or_else(|broken| panic!("{broken}"));
                met[became as usize] += 1;
                taken += 1;
                let alone = rules.apply(url, None, &mut scratch);
                let site = [(&rules, alone.site), (&many, together.site)].map(|(set, site)| Some(set.site_name(site?)));
                assert!(
                    (alone.url, alone.fired, alone.looked_up, alone.invalid, site[0])
                        == (together.url, together.fired, together.looked_up, together.invalid, site[1]),
                    "in company it is the same: {}",
                    url.escape_ascii()
                );
            });
            assert_eq!(taken, LANES);
        }
        met
    };
    let met = std::thread::scope(|scope| {
        let share = &share;
        let work: Vec<_> = (0..SHARES).map(|number| scope.spawn(move || share(number))).collect();
        let shares = work.into_iter().map(|work| work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        shares.fold([0; 3], |a, b: [u64; 3]| std::array::from_fn(|i| a[i] + b[i]))
    });
    let [invalid, same, changed] = [Became::Invalid, Became::Same, Became::Changed].map(|became| met[became as usize]);
    let total = invalid + same + changed;
    println!("{total} inputs: {invalid} no URLs, {same} unchanged by rules, {changed} changed; every invariant held");
    // Inputs that are all rubbish, or all untouched, would test nothing.
    assert!(invalid * 50 > total && same * 8 > total && changed * 20 > total, "{met:?}");
}
