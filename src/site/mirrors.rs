//! Mirrored directories (`http://seal.example.edu/x` and `http://www.example.edu/seal/x`), scripts that
//! can be left out (`/index.php/x` and `/x`), and parameters that hold the rest of a path
//! (`/wiki.php?title=x/y` and `/wiki/x/y`).
//!
//! Forms map keys of one depth to keys of one depth; a mirror rule moves everything below a front,
//! whatever its depth. This is DustBuster's substitution at the front of a URL (Bar-Yossef et al., WWW
//! 2007, section 4), with the support counted in clusters: two reduced URLs of one cluster that end in
//! the same path segments vote for the pair of their fronts. A pair is tested on every reduced URL
//! below one front whose twin below the other was seen.
//!
//! Of two directories beside each other the one with more URLs stays. Otherwise the direction is given:
//! a parameter becomes a path, and a script goes, or a directory that shows the pages around it (`/amp/x` and `/x`),
//! since only what they serve has them.

use super::Thresholds;
use super::binomial::power;
use super::evidence::{Bound, upper_bound_ppm};
use super::names_behind::{self, Behind};
use super::reduced::{Reduced, is_below, urls_below};
use super::siblings::Siblings;
use crate::model::hash64;
use crate::rules::twins::{Below, behind_origin, below, is_parameter, names, with_others};
use crate::rules::{Constraint, Evidence, Kind, Operation, PREFIX, Rule, RuleSet, SiteRules, Test};
use crate::url::section::{self, Section};
use foldhash::fast::FixedState;
use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Reduced URLs of one cluster that are compared with each other, at most: a bound of work.
const MAX_PER_CLUSTER: usize = 12;
/// Pairs that are tested, at most, those with most votes: a bound of work.
const MAX_PAIRS: usize = 1_000;

/// Two fronts that clusters vote for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fronts<'u> {
    /// Of a parameter with others behind it without their names, with the `&`: [`test()`] finds out which.
    pub(super) a: Cow<'u, str>,
    pub(super) b: Cow<'u, str>,
    /// `a` moves to `b`, never the other way.
    pub(super) is_directed: bool,
}

/// One pair of fronts that passed.
struct Pair {
    a: String,
    b: String,
    is_directed: bool,
    good: u64,
    bad: u64,
    clusters: u64,
    examples: Vec<[String; 2]>,
}

/// Settings and earlier rules that decide about mirror rules, beside the URLs of the site.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'s> {
    /// Label noise of the site in thousandths.
    pub noise: u64,
    /// Its directories move as before, where they are mirrors.
    pub previous: Option<&'s SiteRules>,
    /// Only directories beside each other move.
    pub without_fronts: bool,
    /// All that decides.
    pub thresholds: &'s Thresholds,
}

/// Finds rules that move what lies below a front; ids are still empty. A pair of directories beside each
/// other moves to the one with more URLs. `reduced` are the URLs that `rules` compose.
pub fn learn(rules: &SiteRules, mut reduced: Vec<Reduced>, setting: Setting<'_>) -> Vec<Rule> {
    let Setting { previous, without_fronts, thresholds, .. } = setting;
    reduced.sort_unstable();
    // A tenant's copies of other pages do not move those.
    let voted = votes(&reduced, thresholds.mirror_min_clusters).into_iter();
    let voted =
        voted.filter(|fronts| !(without_fronts && fronts.is_directed) && tenant(&fronts.a) == tenant(&fronts.b));
    let plain = LazyCell::new(|| RuleSet::new(vec![rules.clone()]));
    let canonical = |url: &[u8]| plain.canonicalize(&String::from_utf8_lossy(url)).url.into_owned().into_bytes();
    let mut siblings = Siblings::default();
    let mut is_chance = |pair: &Pair| {
        let bound = Bound::form(thresholds).allowing(setting.noise);
        let twins = [pair.good, pair.bad];
        !pair.is_directed && siblings.explain(&reduced, [&pair.a, &pair.b], twins, bound, thresholds)
    };
    let tested = voted.filter_map(|fronts| test(&reduced, &fronts, &setting, &canonical));
    let pairs: Vec<Pair> = tested.filter(|pair| !is_chance(pair)).collect();
    let volume = |prefix: &str| urls_below(&reduced, prefix).len();
    let mut moves: Vec<(&Pair, &str, &str)> = pairs
        .iter()
        .map(|pair| {
            let known = |from: &str, to: &str| {
                let mut mirrors = previous.iter().flat_map(|rules| &rules.rules).filter_map(Rule::mirror);
                mirrors.any(|mirror| mirror == (from, to))
            };
            let other = |p: &str| if p == pair.a { pair.b.clone() } else { pair.a.clone() };
            let rank = |p: &str| (!known(&other(p), p), std::cmp::Reverse(volume(p)), p.len(), p.to_owned());
            if !pair.is_directed && rank(&pair.a) <= rank(&pair.b) {
                (pair, &*pair.b, &*pair.a)
            } else {
                (pair, &*pair.a, &*pair.b)
            }
        })
        .collect();
    // Best supported first, of equals what stays on its origin; a front moves once, and never to a directory that
    // has moved or lies below one that has. A parameter moves nothing below a directory.
    let rank = |of: &(&Pair, &str, &str)| (std::cmp::Reverse(of.0.good), origin(of.1) != origin(of.2));
    moves.sort_by(|x, y| rank(x).cmp(&rank(y)).then_with(|| (x.1, x.2).cmp(&(y.1, y.2))));
    let mut chosen: Vec<(&Pair, &str, &str)> = Vec::new();
    for (pair, source, target) in moves {
        let touches = |a: &str, b: &str| match is_parameter(a.as_bytes()) || is_parameter(b.as_bytes()) {
            true => a == b,
            false => is_below(a, b) || is_below(b, a),
        };
        let clash = chosen.iter().any(|(_, s, t)| touches(s, source) || touches(s, target) || touches(t, source));
        if !clash {
            chosen.push((pair, source, target));
        }
    }
    chosen.into_iter().map(|(pair, source, target)| rule(pair, source, target)).collect()
}

/// Pairs of fronts by falling number of clusters that vote for them, at least `least`.
fn votes(reduced: &[Reduced], least: usize) -> Vec<Fronts<'_>> {
    let mut by_cluster: Vec<(u32, &str)> = reduced.iter().map(|r| (r.cluster, r.url.as_str())).collect();
    by_cluster.sort_unstable();
    let mut seen: HashSet<(u64, u64, u32), FixedState> = HashSet::default();
    let mut count: HashMap<(u64, u64), (usize, Fronts<'_>), FixedState> = HashMap::default();
    for cluster in by_cluster.chunk_by(|x, y| x.0 == y.0).filter(|c| c.len() > 1) {
        let urls = &cluster[..cluster.len().min(MAX_PER_CLUSTER)];
        for (i, (_, x)) in urls.iter().enumerate() {
            for (_, y) in &urls[i + 1..] {
                for fronts in fronts_of(x, y).flat_map(|fronts| [on_own_origin(&fronts), Some(fronts)]).flatten() {
                    let id = (hash64(fronts.a.as_bytes()), hash64(fronts.b.as_bytes()));
                    if seen.insert((id.0, id.1, cluster[0].0)) {
                        count.entry(id).or_insert((0, fronts)).0 += 1;
                    }
                }
            }
        }
    }
    let mut pairs: Vec<(usize, Fronts<'_>)> = count.into_values().filter(|c| c.0 >= least).collect();
    pairs.sort_unstable_by(|x, y| y.0.cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    pairs.truncate(MAX_PAIRS);
    pairs.into_iter().map(|pair| pair.1).collect()
}

/// A parameter and the directory of its own origin, where the twins are met on another: rules on the origin may have
/// moved them there, in some sections alone.
fn on_own_origin<'u>(Fronts { a, b, is_directed }: &Fronts<'u>) -> Option<Fronts<'u>> {
    let moved = is_parameter(a.as_bytes()) && origin(a) != origin(b);
    let directory = || [origin(a), &b[origin(b).len()..]].concat();
    moved.then(|| Fronts { a: a.clone(), b: directory().into(), is_directed: *is_directed })
}

/// The pairs of fronts of two URLs.
pub(super) fn fronts_of<'u>(x: &'u str, y: &'u str) -> impl Iterator<Item = Fronts<'u>> {
    fronts(x, y).into_iter().chain(parameter_fronts(x, y)).chain(parameter_fronts(y, x))
}

/// Fronts of two URLs before their longest common run of path segments at the end; `None` without a
/// common one.
fn fronts<'a>(x: &'a str, y: &'a str) -> Option<Fronts<'a>> {
    let common = x.bytes().rev().zip(y.bytes().rev()).take_while(|(p, q)| p == q).count();
    let tail = &x[x.len() - common..];
    // Only whole segments, and only those of the path; a slash alone says nothing.
    let path_end = tail.find(['?', '#']).unwrap_or(tail.len());
    let slash = tail[..path_end].find('/')?;
    let kept = common - slash;
    let (a, b) = (&x[..x.len() - kept], &y[..y.len() - kept]);
    let whole = |url: &str| url.find("://").is_some_and(|at| url.len() > at + 3 && !url.contains(['?', '#']));
    let (a, b) = if is_below(a, b) || !is_below(b, a) && a <= b { (a, b) } else { (b, a) };
    let is_directed = is_below(a, b);
    // A directory or a script leaves out itself alone.
    let are_fronts = !is_directed || b.len() == a.rfind('/')?;
    (kept > 1 && whole(a) && whole(b) && are_fronts).then(|| Fronts { a: a.into(), b: b.into(), is_directed })
}

/// Fronts of two URLs of which the second is the twin of the first, once the value of a parameter is the
/// rest of the path.
fn parameter_fronts<'a>(x: &'a str, y: &'a str) -> Option<Fronts<'a>> {
    let (front, query) = x.split_at(x.find('?').map_or(x.len(), |at| at + 1));
    let path = &y[..y.find(['?', '#']).unwrap_or(y.len())];
    let value = query.find(['=', '#']).filter(|&at| query[at..].starts_with('=')).map_or(0, |at| at + 1);
    let value = front.len() + value + usize::from(query[value..].starts_with('/'));
    let end = x.find('#').unwrap_or(x.len());
    let of_value = |value: usize| {
        let (start, rest) = (&x[..value], x.get(value..end).filter(|rest| !rest.is_empty())?);
        let others = with_others(x.as_bytes(), start.as_bytes());
        let directory = path.strip_suffix(rest.split('&').next()?)?.strip_suffix('/')?;
        let mut twin = Vec::new();
        below(x.as_bytes(), others.as_deref().unwrap_or(start.as_bytes()))?.write(directory.as_bytes(), &mut twin);
        let is_twin = twin == y.as_bytes() && directory.find("://").is_some_and(|at| directory.len() > at + 3);
        let front = if others.is_some() { format!("{start}&").into() } else { start.into() };
        is_twin.then(|| Fronts { a: front, b: directory.into(), is_directed: true })
    };
    of_value(value).filter(|_| !query.is_empty())
}

fn origin(url: &str) -> &str {
    &url[..url.len() - behind_origin(url.as_bytes()).len()]
}

/// Tenant that holds a URL or a directory, if any.
fn tenant(url: &str) -> Option<&[u8]> {
    match section::of(section::path(url.as_bytes())) {
        Section::Tenant(name) | Section::Member(_, name) => Some(name),
        Section::Word(_) | Section::Number | Section::Other => None,
    }
}

/// The evidence of the reduced URLs about a pair of fronts; `None` where it does not pass. `canonical` is
/// what the other rules make of a URL.
fn test(
    reduced: &[Reduced],
    Fronts { a, b, is_directed }: &Fronts<'_>,
    setting: &Setting<'_>,
    canonical: &dyn Fn(&[u8]) -> Vec<u8>,
) -> Option<Pair> {
    let Setting { noise, thresholds, .. } = *setting;
    let twin_of = |one: &Reduced, below: Below<'_>| twin(reduced, one, (below, a, b), *is_directed, canonical);
    // What is shown by the URLs with other parameters says which of them the front lists, and counts below, too.
    let start = a.strip_suffix('&').filter(|start| is_parameter(start.as_bytes()));
    let is_same = |one: &Reduced, below: Below<'_>| twin_of(one, below).map(|(_, is_same)| is_same);
    let listing = |start: &str| listing_names(reduced, start, is_same, thresholds);
    let a = &start.map_or(Some(a.to_string()), listing)?;
    let mut pair = Pair {
        a: a.clone(),
        b: b.to_string(),
        is_directed: *is_directed,
        good: 0,
        bad: 0,
        clusters: 0,
        examples: Vec::new(),
    };
    let (mut clusters, mut names) = (Vec::new(), Names::default());
    for one in urls_below(reduced, a) {
        let Some(below) = below(one.url.as_bytes(), a.as_bytes()) else { continue };
        let name = names.0.entry(below.name()).or_default();
        name[0] += 1;
        let Some((at, is_same)) = twin_of(one, below) else { continue };
        if is_same {
            name[1] += 1;
            // A tenant's pages show their own name, and nothing of the others.
            if tenant(a).is_none() && (tenant(&one.url).is_some() || tenant(&reduced[at].url).is_some()) {
                continue;
            }
            pair.good += 1;
            clusters.push(one.cluster);
            if pair.examples.len() < 3 {
                pair.examples.push([one.url.clone(), reduced[at].url.clone()]);
            }
        } else {
            pair.bad += 1;
        }
    }
    clusters.sort_unstable();
    clusters.dedup();
    pair.clusters = clusters.len() as u64;
    // Pages of a directory and of the one around it are mostly pages of their own: few names say nothing of others.
    let is_plain = a.strip_prefix(&**b).is_some_and(|front| !front.contains(['.', '?']));
    let least = if is_plain { usize::MAX } else { thresholds.mirror_min_names };
    let is_shown = !is_directed || names.are_shown(least, thresholds) && pair.bad == 0;
    let bound = Bound::form(thresholds).allowing(noise);
    let holds = bound.holds(pair.good, pair.bad, 0);
    (clusters.len() >= thresholds.mirror_min_clusters && is_shown && holds).then_some(pair)
}

/// The front that starts so and lists the parameters that may stand behind; `None` where none may.
fn listing_names(
    reduced: &[Reduced],
    start: &str,
    is_same: impl Fn(&Reduced, Below<'_>) -> Option<bool>,
    thresholds: &Thresholds,
) -> Option<String> {
    let behind = urls_below(reduced, start).iter().filter_map(|one| {
        let front = with_others(one.url.as_bytes(), start.as_bytes())?;
        let twin = is_same(one, below(one.url.as_bytes(), &front)?);
        Some(Behind { names: names(&front).map(<[u8]>::to_vec).collect(), twin, cluster: one.cluster })
    });
    let listed = names_behind::names(&behind.collect::<Vec<_>>(), thresholds);
    (!listed.is_empty()).then(|| format!("{start}&{}", String::from_utf8_lossy(&listed.join(&b'&'))))
}

/// The twin of a URL below the front `a` in the directory `b`, by its place, and whether it is the same page; `None`
/// where it was not met.
fn twin(
    reduced: &[Reduced],
    one: &Reduced,
    (below, a, b): (Below<'_>, &str, &str),
    is_directed: bool,
    canonical: &dyn Fn(&[u8]) -> Vec<u8>,
) -> Option<(usize, bool)> {
    let mut twin = Vec::new();
    below.write(b.as_bytes(), &mut twin);
    if is_directed {
        // What the other rules make of the twin may be another page; of a parameter such a twin is none, but for the
        // origin.
        let to = canonical(&twin);
        if is_parameter(a.as_bytes()) && behind_origin(&to) != behind_origin(&twin) {
            return None;
        }
        twin = to;
    }
    let at = reduced.binary_search_by(|r| r.url.as_bytes().cmp(&twin)).ok()?;
    // Where the twin leads elsewhere, the site itself says that it is not the page.
    let leads_back = is_directed && reduced[at].elsewhere && !one.elsewhere;
    Some((at, reduced[at].cluster == one.cluster && !leads_back))
}

/// URLs below a front by their first name, and those of them that have twins.
#[derive(Default)]
struct Names<'u>(BTreeMap<&'u [u8], [u64; 2]>);

impl Names<'_> {
    /// True where the twins speak for all URLs: they are many, of many names, and no name lacks them that
    /// would have some, were its URLs as the others; `least` names do where they are those of most URLs. A
    /// front with a direction moves what was never met.
    fn are_shown(&self, least: usize, thresholds: &Thresholds) -> bool {
        let Thresholds { mirror_names, mirror_covered_percent, form_rarer, breadth_alone, breadth_slack_ppm, .. } =
            *thresholds;
        let names = || self.0.values().copied();
        let with_twins = || names().filter(|name| name[1] > 0);
        let (count, covered) = with_twins().fold((0, 0), |sum, name| (sum.0 + 1, sum.1 + name[0]));
        let (all, good) = names().fold((0, 0), |sum, name| (sum.0 + name[0], sum.1 + name[1]));
        let chance = good as f64 / all.max(1) as f64;
        // In millionths of a URL: integer sums do not depend on their order.
        let due = |[urls, _]: [u64; 2]| (1e6 * urls as f64 * (1.0 - power(1.0 - chance, urls as u32))) as u64;
        let are_many = count >= mirror_names || count >= least && covered * 100 >= all * mirror_covered_percent;
        let none_is_alone = names().all(|[urls, twins]| twins > 0 || urls as f64 * chance <= breadth_alone);
        are_many
            && none_is_alone
            && good * form_rarer as u64 >= all
            && covered * 1_000_000 + all * breadth_slack_ppm >= names().map(due).sum()
    }
}

fn rule(pair: &Pair, source: &str, target: &str) -> Rule {
    Rule {
        kind: Kind::Mirror,
        evidence: Evidence {
            good: pair.good,
            bad: pair.bad,
            prior: 0,
            support_pairs: pair.good + pair.bad,
            false_positive_pairs: pair.bad,
            upper_bound_ppm: upper_bound_ppm(pair.bad, pair.good + pair.bad),
            clusters: pair.clusters,
            examples: pair.examples.clone(),
        },
        ..Rule::of(
            "",
            vec![Constraint { key: PREFIX.to_owned(), test: Test::Equals(source.to_owned()) }],
            vec![(PREFIX.to_owned(), Operation::Keep(target.to_owned()))],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    fn setting() -> Setting<'static> {
        static DEFAULTS: LazyLock<Thresholds> = LazyLock::new(Thresholds::default);
        Setting { noise: 0, previous: None, without_fronts: false, thresholds: &DEFAULTS }
    }

    #[test]
    fn fronts_are_what_stands_before_the_common_segments() {
        let cases = [
            ("http://a.com/x/y", "http://b.com/q/x/y", Some(("http://a.com", "http://b.com/q"))),
            // A script before a path comes first: it goes.
            ("http://a.com/x/?p=1", "http://a.com/z.cgi/x/?p=1", Some(("http://a.com/z.cgi", "http://a.com"))),
            ("http://a.com/y/z.php/x", "http://a.com/y/x", Some(("http://a.com/y/z.php", "http://a.com/y"))),
            ("http://a.com/y/z.php/x", "http://a.com/x", None),
            // So does a directory; two levels do not go at once.
            ("http://a.com/z/x", "http://a.com/x", Some(("http://a.com/z", "http://a.com"))),
            ("http://a.com/y/z/x", "http://a.com/x", None),
            ("http://a.com/x", "http://a.com/yx", None),
            ("http://a.com/x/", "http://a.com/y/", None),
            ("http://a.com/?u=/x", "http://b.com/?v=/x", None),
        ];
        for (x, y, expected) in cases {
            let found = fronts(x, y);
            assert_eq!(found.as_ref().map(|of| (&*of.a, &*of.b)), expected, "{x} {y}");
        }
    }

    #[test]
    fn fronts_with_a_parameter_are_those_of_twins() {
        let cases = [
            ("http://a/i.php?t=x/y", "http://a/w/x/y", Some(("http://a/i.php?t=", "http://a/w"))),
            ("http://a/i.php?t=x/y", "http://a/x/y", Some(("http://a/i.php?t=", "http://a"))),
            ("http://a/?q=/x/y", "http://a/x/y", Some(("http://a/?q=/", "http://a"))),
            ("http://a/i.php?/x/y", "http://a/x/y", Some(("http://a/i.php?/", "http://a"))),
            ("http://a/i.php?x/y", "http://a/x/y", Some(("http://a/i.php?", "http://a"))),
            ("http://a/i.php?t=x/y&p=1", "http://a/w/x/y?p=1", Some(("http://a/i.php?t=&", "http://a/w"))),
            ("http://a/i.php?t=x/y&p=1;q=2", "http://a/w/x/y?p=1;q=2", None),
            ("http://a/i.php?t=x/y&p=1", "http://a/w/x/y", None),
            ("http://a/i.php?t=x/y&p=1", "http://a/w/x/y?p=2", None),
            ("http://a/i.php?p=1&t=x/y", "http://a/w/x/y", None),
            ("http://a/i.php#?t=x", "http://a/w/x", None),
            ("http://a/i.php?t=x/y", "http://a/wx/y", None),
            ("http://a/i.php?t=", "http://a/w/", None),
        ];
        for (x, y, expected) in cases {
            let found = parameter_fronts(x, y);
            assert_eq!(found.as_ref().map(|of| (&*of.a, &*of.b)), expected, "{x} {y}");
        }
    }

    #[test]
    fn a_mirrored_directory_moves_to_the_larger_one() {
        let mut reduced = Vec::new();
        for i in 0..12u32 {
            reduced.push(Reduced { url: format!("http://www.e.edu/seal/p{i}/x"), cluster: i, elsewhere: false });
            if i < 8 {
                reduced.push(Reduced { url: format!("http://seal.e.edu/p{i}/x"), cluster: i, elsewhere: false });
            }
            reduced.push(Reduced {
                url: format!("http://other.e.edu/p{i}/x"),
                cluster: if i < 4 { i } else { 100 + i },
                elsewhere: false,
            });
        }
        let rules = learn(&SiteRules::default(), reduced, setting());
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].scope[0].test, Test::Equals("http://seal.e.edu".to_owned()));
        assert_eq!(rules[0].operations[0].1, Operation::Keep("http://www.e.edu/seal".to_owned()));
        assert_eq!((rules[0].evidence.good, rules[0].evidence.bad), (8, 0));
    }

    #[test]
    fn a_tenant_that_copies_pages_moves_nobody() {
        let learned = |directories: [&str; 2]| {
            let rows = (0..12u32).flat_map(|i| {
                directories.map(|directory| Reduced {
                    url: format!("http://{directory}/p{i}/x"),
                    cluster: i,
                    elsewhere: false,
                })
            });
            learn(&SiteRules::default(), rows.collect(), setting()).len()
        };
        assert_eq!(learned(["a.e.edu/shop", "a.e.edu/~bob"]), 0);
        assert_eq!(learned(["a.e.edu/users/ann", "a.e.edu/users/bob"]), 0);
        // One tenant's pages on two hosts are the front of no other tenant.
        assert_eq!(learned(["a.e.edu/~bob", "b.e.edu/~bob"]), 0);
        assert_eq!(learned(["a.e.edu/~bob/old", "a.e.edu/~bob/new"]), 1);
        assert_eq!(learned(["a.e.edu/shop", "b.e.edu/shop"]), 1);
    }
}
