//! Invariants of a learned rule set on synthetic sites and on the crawl sample, for the URLs that were
//! learned from and for URLs made of their parts; that order does not matter; and sites that are hardly
//! sites.

use super::fuzz_replay::Random;
use super::learner_site::{Row, learned, training};
use std::collections::BTreeSet;
use std::io::Read;
use std::sync::LazyLock;
use undust::model::{RecordBatch, hash64};
use undust::rules::explain::TraceStep;
use undust::rules::interpreter::Interpreter;
use undust::rules::{Operation, Representative, Rule, RuleSet, Scratch};
use undust::site::{Outcome, Params, Training, learn};
use undust::synth::{Options, parts::Parts};
use undust::url::{NormalUrl, normalize};

/// Sites with different page types and decorations; the last with 5 % fused and 5 % split clusters.
fn synthetic() -> Vec<(String, Vec<Row>)> {
    let options = |seed, noise| Options {
        seed,
        sites: 3,
        urls_min: 1_500,
        urls_max: 4_000,
        noise,
        split: noise,
        drop: 0.3,
        ..Options::default()
    };
    let plans =
        [options(11, 0.0), options(12, 0.0), options(13, 0.05)].map(|o| undust::synth::plan(&o).expect("sites"));
    plans
        .iter()
        .flatten()
        .map(|plan| {
            let mut scratch = Parts::default();
            let mut rows = Vec::new();
            for position in 0..plan.rows() {
                let mut url = Vec::new();
                let row = plan.record(position, &mut scratch, &mut url);
                if !row.dropped {
                    let url = String::from_utf8(url).expect("ASCII");
                    let cluster = Some(format!("{}{}", row.label, if row.half { "#" } else { "" }));
                    rows.push(Row { url, cluster, elsewhere: false });
                }
            }
            (plan.domain().to_owned(), rows)
        })
        .collect()
}

fn crawl_sample() -> Vec<Row> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kb-sample.jsonl.gz");
    let bytes = std::fs::read(file).expect("the crawl sample");
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("UTF-8");
    let mut batch = RecordBatch::default();
    text.lines().for_each(|line| undust::io::jsonl::parse(line.as_bytes(), &mut batch).expect("a record"));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    batch.iter().map(|r| Row { url: text(r.url), cluster: r.cluster.map(text), elsewhere: r.elsewhere }).collect()
}

struct Site {
    name: String,
    rows: Vec<Row>,
    outcome: Outcome,
    set: RuleSet,
}

/// Learned once for all tests of this file.
static SITES: LazyLock<Vec<Site>> = LazyLock::new(|| {
    let mut sites = synthetic();
    sites.push(("kb".to_owned(), crawl_sample()));
    let site = |(name, rows): (String, Vec<Row>)| {
        let outcome = learned(&name, &rows);
        let set = RuleSet::new(vec![outcome.rules.clone()]);
        Site { name, rows, outcome, set }
    };
    sites.into_iter().map(site).collect()
});

/// The invariants that hold for any URL; none where all do.
fn broken(site: &Site, url: &[u8], scratch: &mut Scratch) -> Option<String> {
    let applied = site.set.apply(url, Some(0), scratch);
    let once = applied.url.to_vec();
    let mut normal = Vec::new();
    if applied.invalid {
        let kept = once == url && normalize(url, &mut normal).is_err();
        return (!kept).then(|| format!("{}: called invalid", url.escape_ascii()));
    }
    let told = |invariant: &str| {
        Some(format!("{}: {invariant}: {} -> {}", site.name, url.escape_ascii(), once.escape_ascii()))
    };
    let Ok(split) = normalize(&once, &mut normal) else { return told("the output is a URL") };
    if normal != once {
        return told("the output is in normal form");
    }
    let origin = &normal[..split.path.0 as usize];
    let mut normal = Vec::new();
    let from = normalize(url, &mut normal).expect("valid");
    let own = &normal[..from.path.0 as usize];
    let is_own = site.outcome.rules.origins.iter().any(|of| of.as_bytes() == origin);
    if origin != own && !is_own {
        return told("the output stays on an origin of the site");
    }
    let twice = site.set.apply(&once, Some(0), scratch).url;
    (twice != once)
        .then(|| format!("{}: twice is not once: {} -> {}", site.name, once.escape_ascii(), twice.escape_ascii()))
}

#[test]
fn invariants_hold_for_the_urls_learned_from() {
    let mut scratch = Scratch::default();
    for site in SITES.iter() {
        let found: Vec<String> =
            site.rows.iter().filter_map(|row| broken(site, row.url.as_bytes(), &mut scratch)).collect();
        assert!(found.is_empty(), "{} of {}: {}", found.len(), site.rows.len(), found[0]);
        assert!(!site.outcome.rules.rules.is_empty(), "{} has rules to test", site.name);
    }
}

/// Pieces that have a meaning somewhere in a URL.
const PIECES: [&str; 30] = [
    "/",
    "//",
    "/../",
    "/./",
    "..",
    "?",
    "&",
    "=",
    "#",
    ";",
    "%",
    "%2F",
    "%2f",
    "%41",
    "+",
    "%20",
    "www.",
    "index.php",
    ".html",
    "a=1",
    "&&",
    ";x=1",
    "@",
    ":80",
    "//evil.org/",
    "%00",
    "\u{fc}",
    ".",
    "login",
    "Index.HTML",
];

/// Parts of two URLs of the site, and a few small changes.
fn mutated(rows: &[Row], random: &mut Random) -> Vec<u8> {
    let mut url = rows[random.below(rows.len())].url.clone().into_bytes();
    let other = rows[random.below(rows.len())].url.as_bytes();
    for _ in 0..=random.below(3) {
        let at = random.below(url.len() + 1);
        match random.below(6) {
            0 => drop(url.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
            1 => {
                // A parameter of the other URL.
                let query: Vec<&[u8]> = other.split(|b| b"?&".contains(b)).skip(1).collect();
                if !query.is_empty() {
                    url.push(if url.contains(&b'?') { b'&' } else { b'?' });
                    url.extend_from_slice(query[random.below(query.len())]);
                }
            }
            2 => {
                // The host of the one, the rest of the other.
                let end = |u: &[u8]| 8 + u.iter().skip(8).position(|&b| b == b'/').unwrap_or(u.len().saturating_sub(8));
                let (mine, theirs) = (end(&url).min(url.len()), end(other).min(other.len()));
                url.splice(mine.., other[theirs..].iter().copied());
            }
            3 if at < url.len() => drop(url.drain(at..(at + random.below(8)).min(url.len()))),
            4 if at < url.len() => url[at] = url[at].to_ascii_uppercase(),
            _ => {
                let from = random.below(other.len());
                let to = (from + random.below(20)).min(other.len());
                url.splice(at..at, other[from..to].iter().copied());
            }
        }
    }
    url
}

#[test]
fn invariants_hold_for_urls_made_of_their_parts() {
    let mut scratch = Scratch::default();
    let (mut changed, mut fired) = (0, 0);
    for site in SITES.iter() {
        let mut random = Random(hash64(site.name.as_bytes()) | 1);
        for _ in 0..20_000 {
            let url = mutated(&site.rows, &mut random);
            if let Some(invariant) = broken(site, &url, &mut scratch) {
                panic!("{invariant}");
            }
            let applied = site.set.apply(&url, Some(0), &mut scratch);
            changed += usize::from(applied.url != url);
            fired += usize::from(!applied.fired.is_empty());
        }
    }
    assert!(changed > 50_000 && fired > 20_000, "mutations meet the rules: {changed} changed, {fired} fired");
}

/// On sites without noise what falls together is one cluster, but for a share that the evidence allows.
#[test]
fn synthetic_sites_are_learned() {
    for site in SITES.iter().filter(|s| s.name != "kb").take(6) {
        let mut pages: Vec<(String, &str)> = site
            .rows
            .iter()
            .map(|r| (site.set.canonicalize(&r.url).url.into_owned(), r.cluster.as_deref().expect("labelled")))
            .collect();
        pages.sort();
        pages.dedup();
        let clusters: BTreeSet<&str> = pages.iter().map(|p| p.1).collect();
        let mixed = pages.windows(2).filter(|w| w[0].0 == w[1].0).count();
        let spare = pages.len() - clusters.len();
        let name = &site.name;
        assert!(mixed * 200 <= pages.len(), "{name}: {mixed} of {} pages mix clusters", pages.len());
        assert!(spare * 4 <= clusters.len(), "{name}: {spare} pages too many for {} clusters", clusters.len());
    }
}

#[test]
fn the_order_of_records_does_not_matter() {
    for site in SITES.iter() {
        for seed in 1..3u64 {
            let mut rows = site.rows.clone();
            rows.sort_by_key(|row| hash64(&[&seed.to_le_bytes(), row.url.as_bytes()].concat()));
            // Repeats of a record change nothing either.
            rows.extend_from_within(..rows.len() / 3);
            let again = learned(&site.name, &rows);
            assert_eq!(again.rules, site.outcome.rules, "{}", site.name);
            assert_eq!(again.counts, site.outcome.counts, "{}", site.name);
        }
    }
}

/// A URL that redirects is no canonical URL where a member of its page does not: rules decide the
/// origin for all pages, and of a page its path and query are chosen among those of its members that
/// have no parameter more.
#[test]
fn canonical_urls_do_not_redirect() {
    let mut tested = 0;
    for site in SITES.iter() {
        let mut rows = site.rows.clone();
        // A server does not see fragments: a URL redirects with all of them or with none.
        let page = |url: &str| hash64(url.split('#').next().unwrap_or(url).as_bytes());
        rows.iter_mut().for_each(|r| r.elsewhere |= page(&r.url).is_multiple_of(3));
        let set = RuleSet::new(vec![learned(&site.name, &rows).rules]);
        let mut normal = Vec::new();
        let elsewhere: BTreeSet<&str> = rows.iter().filter(|r| r.elsewhere).map(|r| r.url.as_str()).collect();
        let tail = |url: &str| url.splitn(4, '/').nth(3)?.split('#').next().map(str::to_owned);
        let query = |url: &str| url.split('#').next()?.split_once('?').map(|(_, query)| query.to_owned());
        let fetched: BTreeSet<_> = rows.iter().filter(|r| !r.elsewhere).map(|r| tail(&r.url)).collect();
        for row in rows.iter().filter(|r| !r.elsewhere && r.cluster.is_some()) {
            normalize(row.url.as_bytes(), &mut normal).expect("a URL");
            let url = set.canonicalize(&row.url).url;
            let own_form = normal == row.url.as_bytes();
            tested += usize::from(own_form && url != row.url);
            // Its path and query on the canonical origin: another page where a directory became a host.
            let origin = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            let there = format!("{origin}/{}", tail(&row.url).unwrap_or_default());
            // A page has no parameter that rules leave out; where two clusters fell together, the members of the
            // larger one count.
            let excused = !own_form
                || set.canonicalize(&there).url != url
                || query(&row.url).is_some_and(|own| query(&url).is_none_or(|query| query.len() < own.len()))
                || rows.iter().any(|r| r.url == url && r.cluster != row.cluster);
            let redirects = elsewhere.contains(&*url) && !fetched.contains(&tail(&url));
            assert!(excused || !redirects, "{}: {} becomes {url}", site.name, row.url);
        }
    }
    assert!(tested > 1_000, "{tested} rewritten URLs");
}

/// A parameter that a rule leaves out of every URL is in no canonical URL, but for pages that are
/// exceptions: neither of URLs that were learned from nor of these with each such parameter, and
/// whatever form or look-up makes the URL. Where parameters are in an unusual order until some are left
/// out, rules between forms act in the second turn. Next to none is left as it is since that is not the end.
#[test]
fn what_rules_leave_out_is_in_no_canonical_url() {
    let (mut tested, mut refused) = (0, 0);
    for site in SITES.iter() {
        let is_everywhere = |rule: &&Rule| rule.scope.is_empty() && !rule.closed;
        let operations = site.outcome.rules.rules.iter().filter(is_everywhere).flat_map(|rule| &rule.operations);
        let left_out = operations.filter(|(_, does)| *does == Operation::Ignore(Representative::LeftOut));
        let names: Vec<&str> = left_out.filter_map(|(key, _)| key.strip_prefix("query ")?.strip_suffix('=')).collect();
        let keeps = |url: &str| {
            let query = url.split('#').next().and_then(|url| url.split_once('?')).map_or("", |url| url.1);
            query.split('&').any(|pair| pair.split_once('=').is_some_and(|(name, _)| names.contains(&name)))
        };
        let interpreter = Interpreter::new(&site.outcome.rules);
        let steps = |url: &str| {
            let normal = NormalUrl::new(url.as_bytes()).expect("a URL");
            interpreter.canonicalize(&normal).steps
        };
        let is_exception = |url: &str| steps(url).iter().any(|step| matches!(step, TraceStep::Exception { .. }));
        let is_refused = |url: &str| matches!(steps(url).last(), Some(TraceStep::Refused { .. }));
        for (i, row) in site.rows.iter().enumerate() {
            let url = row.url.split('#').next().expect("a URL");
            let name = names.get(i % names.len().max(1));
            let with = name.map(|name| format!("{url}{}{name}=z{i}", if url.contains('?') { '&' } else { '?' }));
            for url in [Some(row.url.clone()), with].into_iter().flatten() {
                let canonical = site.set.canonicalize(&url).url;
                tested += usize::from(keeps(&url) && !keeps(&canonical));
                if !keeps(&canonical) || is_exception(&url) {
                    continue;
                }
                assert!(is_refused(&url), "{}: {url} becomes {canonical}: {:?}", site.name, steps(&url));
                refused += 1;
            }
        }
    }
    assert!(tested > 10_000, "{tested} URLs had such a parameter");
    assert!(1_000 * refused <= tested, "{refused} of {tested} are not rewritten at all");
}

/// Adds the rows of a page: number, URL without scheme, label.
type Add<'a> = &'a dyn Fn(&mut Vec<Row>, u64, String, Option<String>);

/// Where some form of a page always redirects to another, that other form is what rules write: also for
/// URLs that were not in training, which would be sent back to where they came from.
#[test]
fn rules_never_lead_to_a_form_that_redirects_to_their_source() {
    let pages = |with: Add<'_>| {
        let mut rows = Vec::new();
        for i in 0..200u64 {
            with(&mut rows, i, format!("e.com/a/{:x}w", hash64(&i.to_le_bytes()) % 100_000), Some(format!("c{i}")));
        }
        RuleSet::new(vec![learned("e.com", &rows).rules])
    };
    let row = |rows: &mut Vec<Row>, url: String, cluster: &Option<String>, elsewhere: bool| {
        rows.push(Row { url, cluster: cluster.clone(), elsewhere });
    };
    // The forms that redirect are the more frequent ones each time.
    let scheme = pages(&|rows, i, page, cluster| {
        row(rows, format!("http://{page}"), &cluster, true);
        row(rows, format!("http://www.{page}"), &cluster, true);
        if i % 3 > 0 {
            row(rows, format!("https://{page}"), &cluster, false);
        }
    });
    assert_eq!(scheme.canonicalize("https://e.com/a/new").url, "https://e.com/a/new");
    assert_eq!(scheme.canonicalize("http://www.e.com/a/new").url, "https://e.com/a/new");
    let slash = pages(&|rows, i, page, cluster| {
        row(rows, format!("http://{page}"), &cluster, true);
        if i % 3 > 0 {
            row(rows, format!("http://{page}/"), &cluster, false);
        }
    });
    assert_eq!(slash.canonicalize("http://e.com/a/new/").url, "http://e.com/a/new/");
    let language = pages(&|rows, i, page, cluster| {
        row(rows, format!("http://{page}"), &cluster, true);
        row(rows, format!("http://{page}?lang=en"), &cluster, false);
        if i % 3 > 0 {
            row(rows, format!("http://{page}?lang=EN"), &cluster, i % 2 > 0);
        }
    });
    let canonical = language.canonicalize("http://e.com/a/new?lang=en").url;
    assert_ne!(canonical, "http://e.com/a/new");
    let folder = pages(&|rows, i, page, cluster| {
        row(rows, format!("http://{}", page.replace("/a/", "/old/")), &cluster, true);
        row(rows, format!("http://{}", page.replace("/a/", "/older/")), &cluster, true);
        if i % 3 > 0 {
            row(rows, format!("http://{page}"), &cluster, false);
        }
    });
    assert_eq!(folder.canonicalize("http://e.com/a/new").url, "http://e.com/a/new");
    assert_eq!(folder.canonicalize("http://e.com/old/new").url, "http://e.com/a/new");
    // Rules between forms: articles by number redirect to articles by path.
    let forms = pages(&|rows, i, _, cluster| {
        row(rows, format!("http://e.com/show?id={}", 7 * i + 100), &cluster, true);
        row(rows, format!("http://e.com/show?id={}&from=feed", 7 * i + 100), &cluster, true);
        if i % 3 > 0 {
            row(rows, format!("http://e.com/article/{}", 7 * i + 100), &cluster, false);
        }
    });
    assert_eq!(forms.canonicalize("http://e.com/article/5").url, "http://e.com/article/5");
}

fn training_of(rows: &[(&str, Option<&str>, bool)]) -> Training {
    Training::new("s", rows.iter().map(|(u, c, e)| (u.as_bytes(), c.map(str::as_bytes), *e)))
}

fn label_mates(training: &Training, a: &str, b: &str) -> bool {
    let of = |url: &str| (0..training.len()).find(|&r| training.url(r) == url.as_bytes()).expect("a row");
    let cluster = |url: &str| training.clusters[of(url)];
    cluster(a) != u32::MAX && cluster(a) == cluster(b)
}

#[test]
fn of_two_labels_the_larger_cluster_wins() {
    let rows = [("http://a/", Some("2"), false), ("http://a/", Some("1"), false), ("http://b/", Some("2"), false)];
    let larger = training_of(&rows);
    assert_eq!((larger.len(), larger.conflicts), (2, 1));
    assert!(label_mates(&larger, "http://a/", "http://b/"));
    // A tie goes to the smaller label by bytes: 10 before 9.
    let tie = [("http://a/", Some("9"), false), ("http://a/", Some("10"), false), ("http://b/", Some("10"), true)];
    let tie = [tie.as_slice(), &[("http://c/", Some("9"), false)]].concat();
    let tied = training_of(&tie);
    assert!(label_mates(&tied, "http://a/", "http://b/") && tied.conflicts == 1);
    // Repeats with one label, and an absent label beside one, are no conflict; redirecting once is
    // redirecting.
    let rows = [("http://a/", Some("1"), false), ("http://a/", None, false), ("http://a/", Some("1"), true)];
    let one = training_of(&rows);
    assert_eq!((one.len(), one.conflicts, one.elsewhere[0], one.clusters[0]), (1, 0, true, 0));
    let mut reversed = tie.clone();
    reversed.reverse();
    assert_eq!(training_of(&reversed), tied);
    assert!(training_of(&[]).is_empty());
}

/// Learns `urls`, with a label each or none, and checks the invariants on them.
fn learn_and_check<'a>(urls: impl IntoIterator<Item = (String, Option<&'a str>)>) -> Outcome {
    let rows: Vec<Row> = urls
        .into_iter()
        .map(|(url, cluster)| Row { url, cluster: cluster.map(str::to_owned), elsewhere: false })
        .collect();
    let outcome = learn(training("example.com", &rows), &Params::default());
    let set = RuleSet::new(vec![outcome.rules.clone()]);
    let site = Site { name: "example.com".to_owned(), rows, outcome, set };
    let mut scratch = Scratch::default();
    for row in site.rows.iter().step_by(1 + site.rows.len() / 2_000) {
        assert_eq!(broken(&site, row.url.as_bytes(), &mut scratch), None);
    }
    site.outcome
}

#[test]
fn hardly_a_site() {
    assert_eq!(learn_and_check([]).rules.rules, []);
    assert_eq!(learn_and_check([("http://example.com/a?b=c#d".to_owned(), Some("1"))]).rules.rules, []);
    assert_eq!(learn_and_check([("http://example.com/a".to_owned(), None)]).rules.rules, []);
    let same = (0..1_000).map(|_| ("http://example.com/a?b=1".to_owned(), Some("1")));
    assert_eq!(learn_and_check(same).rules.rules, []);
    let unlabelled = (0..2_000).map(|i| (format!("http://example.com/a/{i}?s={}", hash64(&[i as u8])), None));
    assert_eq!(learn_and_check(unlabelled).rules.rules, []);
    let not_urls = ["", "mailto:x", "http://", "/a", "http://example.com/\u{1}"].map(|u| (u.to_owned(), Some("1")));
    assert_eq!(learn_and_check(not_urls).rules.rules, []);
}

#[test]
fn no_cluster_with_two_urls() {
    let labels: Vec<String> = (0..3_000).map(|i| format!("c{i}")).collect();
    let url = |i: usize| format!("http://www{}.example.com/{}/p{i}.html?a={}&b={i}", i % 3, i % 7, i % 5);
    let outcome = learn_and_check((0..3_000).map(|i| (url(i), Some(labels[i].as_str()))));
    assert_eq!((outcome.rules.rules, outcome.rules.aliases), (vec![], vec![]));
}

/// The constant page of a site, and nothing else: no pages are there to be confused with it.
#[test]
fn one_cluster_of_twenty_thousand() {
    let url = |i: u64| format!("http://example.com/{}/{:x}?back={i}", i % 50, hash64(&i.to_le_bytes()));
    learn_and_check((0..20_000).map(|i| (url(i), Some("login"))));
}

#[test]
fn a_hundred_thousand_query_keys() {
    let labels: Vec<String> = (0..2_500).map(|i| format!("c{i}")).collect();
    let url = |i: usize| {
        let keys: Vec<String> = (0..40).map(|k| format!("k{}=v", (i * 40 + k) % 100_000)).collect();
        format!("http://example.com/p{}?{}", i / 2, keys.join("&"))
    };
    let outcome = learn_and_check((0..5_000).map(|i| (url(i), Some(labels[i / 2].as_str()))));
    assert!(outcome.rules.tokens.query_order.len() <= 100_000);
}

#[test]
fn urls_of_sixty_kib() {
    let long = 60 << 10;
    let shapes: [fn(usize) -> String; 6] = [
        |n| format!("http://example.com/{}", "a".repeat(n)),
        |n| format!("http://example.com/{}", "a/".repeat(n / 2)),
        |n| format!("http://example.com/{}", "/".repeat(n)),
        |n| format!("http://example.com/?{}", "a=1&".repeat(n / 4)),
        |n| format!("http://example.com/a{}", ";x=1;y=2".repeat(n / 8)),
        |n| format!("http://example.com/?{}#{}", "%41".repeat(n / 6), "#".repeat(n / 2)),
    ];
    let labels: Vec<String> = (0..120).map(|i| format!("c{i}")).collect();
    let url = |i: usize| {
        if i.is_multiple_of(2) { shapes[i / 2 % 6](long) + &i.to_string() } else { format!("http://example.com/{i}") }
    };
    learn_and_check((0..240).map(|i| (url(i), Some(labels[i / 2].as_str()))));
}
