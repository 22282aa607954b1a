//! Mirrored directories (`http://seal.example.edu/x` and `http://www.example.edu/seal/x`).
//!
//! Forms map keys of one depth to keys of one depth; a mirrored directory moves everything below it,
//! whatever its depth. This is DustBuster's substitution at the front of a URL (Bar-Yossef et al., WWW
//! 2007, section 4), with the support counted in clusters: two reduced URLs of one cluster that end in
//! the same path segments vote for the pair of their fronts. A pair is tested on every reduced URL
//! below one directory whose twin below the other was seen.

use super::evidence::{Bound, upper_bound_ppm};
use crate::model::hash64;
use crate::rules::{Constraint, Evidence, Kind, Operation, PREFIX, Rule, SiteRules, Test};
use crate::url::section::{self, Section};
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};

/// Reduced URLs of one cluster that are compared with each other, at most.
const MAX_PER_CLUSTER: usize = 12;
/// Clusters that must vote for a pair before it is tested.
const MIN_VOTES: usize = 3;
/// Pairs that are tested, at most: those with most votes.
const MAX_PAIRS: usize = 1_000;

/// A reduced URL with its cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reduced {
    /// URL that the rules compose.
    pub url: String,
    /// The largest cluster of its members.
    pub cluster: u32,
}

/// One pair of directories that passed.
struct Pair {
    a: String,
    b: String,
    good: u64,
    bad: u64,
    clusters: u64,
    examples: Vec<[String; 2]>,
}

/// Finds rules that move directories to their mirrors; ids are still empty. `noise` is the label noise
/// of the site in thousandths. A pair of directories in the `previous` rules moves as before, others to
/// the one with more URLs.
pub fn learn(mut reduced: Vec<Reduced>, noise: u64, previous: Option<&SiteRules>) -> Vec<Rule> {
    reduced.sort_unstable();
    // A tenant's copies of other pages do not move those.
    let pairs = votes(&reduced).into_iter().filter(|(a, b)| tenant(a) == tenant(b));
    let pairs: Vec<Pair> = pairs.filter_map(|(a, b)| test(&reduced, &a, &b, noise)).collect();
    let volume = |prefix: &str| below(&reduced, prefix).len();
    let mut moves: Vec<(&Pair, &str, &str)> = pairs
        .iter()
        .map(|pair| {
            let known = |from: &str, to: &str| {
                let mut mirrors = previous.iter().flat_map(|rules| &rules.rules).filter_map(Rule::mirror);
                mirrors.any(|mirror| mirror == (from, to))
            };
            let other = |p: &str| if p == pair.a { pair.b.clone() } else { pair.a.clone() };
            let rank = |p: &str| (!known(&other(p), p), std::cmp::Reverse(volume(p)), p.len(), p.to_owned());
            if rank(&pair.a) <= rank(&pair.b) { (pair, &*pair.b, &*pair.a) } else { (pair, &*pair.a, &*pair.b) }
        })
        .collect();
    // Best supported first; a directory moves once, and never to one that has moved or lies below one that
    // has.
    moves.sort_by(|x, y| y.0.good.cmp(&x.0.good).then_with(|| (x.1, x.2).cmp(&(y.1, y.2))));
    let mut chosen: Vec<(&Pair, &str, &str)> = Vec::new();
    for (pair, source, target) in moves {
        let touches = |a: &str, b: &str| is_below(a, b) || is_below(b, a);
        let clash = chosen.iter().any(|(_, s, t)| touches(s, source) || touches(s, target) || touches(t, source));
        if !clash {
            chosen.push((pair, source, target));
        }
    }
    chosen.into_iter().map(|(pair, source, target)| rule(pair, source, target)).collect()
}

/// Pairs of directories by falling number of clusters that vote for them.
fn votes(reduced: &[Reduced]) -> Vec<(String, String)> {
    let mut by_cluster: Vec<(u32, &str)> = reduced.iter().map(|r| (r.cluster, r.url.as_str())).collect();
    by_cluster.sort_unstable();
    let mut seen: HashSet<(u64, u64, u32), FixedState> = HashSet::default();
    let mut count: HashMap<(u64, u64), (usize, &str, &str), FixedState> = HashMap::default();
    for cluster in by_cluster.chunk_by(|x, y| x.0 == y.0).filter(|c| c.len() > 1) {
        let urls = &cluster[..cluster.len().min(MAX_PER_CLUSTER)];
        for (i, (_, x)) in urls.iter().enumerate() {
            for (_, y) in &urls[i + 1..] {
                let Some((a, b)) = fronts(x, y) else { continue };
                let (a, b) = if a <= b { (a, b) } else { (b, a) };
                let id = (hash64(a.as_bytes()), hash64(b.as_bytes()));
                if !is_below(a, b) && !is_below(b, a) && seen.insert((id.0, id.1, cluster[0].0)) {
                    count.entry(id).or_insert((0, a, b)).0 += 1;
                }
            }
        }
    }
    let mut pairs: Vec<(usize, &str, &str)> = count.into_values().filter(|c| c.0 >= MIN_VOTES).collect();
    pairs.sort_unstable_by(|x, y| y.0.cmp(&x.0).then_with(|| (x.1, x.2).cmp(&(y.1, y.2))));
    pairs.truncate(MAX_PAIRS);
    pairs.into_iter().map(|(_, a, b)| (a.to_owned(), b.to_owned())).collect()
}

/// Fronts of two URLs before their longest common run of path segments at the end; `None` without a
/// common one.
fn fronts<'a>(x: &'a str, y: &'a str) -> Option<(&'a str, &'a str)> {
    let common = x.bytes().rev().zip(y.bytes().rev()).take_while(|(p, q)| p == q).count();
    let tail = &x[x.len() - common..];
    // Only whole segments, and only those of the path; a slash alone says nothing.
    let path_end = tail.find(['?', '#']).unwrap_or(tail.len());
    let slash = tail[..path_end].find('/')?;
    let kept = common - slash;
    let (a, b) = (&x[..x.len() - kept], &y[..y.len() - kept]);
    let whole = |url: &str| url.find("://").is_some_and(|at| url.len() > at + 3 && !url.contains(['?', '#']));
    (kept > 1 && whole(a) && whole(b)).then_some((a, b))
}

/// Tenant that holds a URL or a directory, if any.
fn tenant(url: &str) -> Option<&[u8]> {
    match section::of(section::path(url.as_bytes())) {
        Section::Tenant(name) | Section::Member(_, name) => Some(name),
        Section::Word(_) | Section::Number | Section::Other => None,
    }
}

/// True for `url` itself and everything below the directory.
pub fn is_below(url: &str, directory: &str) -> bool {
    url.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The reduced URLs below a directory.
fn below<'a>(reduced: &'a [Reduced], directory: &str) -> &'a [Reduced] {
    let first = format!("{directory}/");
    let start = reduced.partition_point(|r| r.url.as_str() < first.as_str());
    let length = reduced[start..].partition_point(|r| r.url.starts_with(&first));
    &reduced[start..start + length]
}

fn test(reduced: &[Reduced], a: &str, b: &str, noise: u64) -> Option<Pair> {
    let mut pair = Pair { a: a.to_owned(), b: b.to_owned(), good: 0, bad: 0, clusters: 0, examples: Vec::new() };
    let mut clusters = Vec::new();
    let mut twin = String::new();
    for one in below(reduced, a) {
        twin.clear();
        twin.push_str(b);
        twin.push_str(&one.url[a.len()..]);
        let Ok(at) = reduced.binary_search_by(|r| r.url.as_str().cmp(&twin)) else { continue };
        if reduced[at].cluster == one.cluster {
            if tenant(a).is_none() && (tenant(&one.url).is_some() || tenant(&twin).is_some()) {
                continue;
            }
            pair.good += 1;
            clusters.push(one.cluster);
            if pair.examples.len() < 3 {
                pair.examples.push([one.url.clone(), twin.clone()]);
            }
        } else {
            pair.bad += 1;
        }
    }
    clusters.sort_unstable();
    clusters.dedup();
    pair.clusters = clusters.len() as u64;
    (clusters.len() >= MIN_VOTES && Bound::FORM.allowing(noise).holds(pair.good, pair.bad, 0)).then_some(pair)
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

    #[test]
    fn fronts_are_what_stands_before_the_common_segments() {
        let cases = [
            ("http://a.com/x/y", "http://b.com/q/x/y", Some(("http://a.com", "http://b.com/q"))),
            ("http://a.com/x/?p=1", "http://a.com/z/x/?p=1", Some(("http://a.com", "http://a.com/z"))),
            ("http://a.com/x", "http://a.com/yx", None),
            ("http://a.com/x/", "http://a.com/y/", None),
            ("http://a.com/?u=/x", "http://b.com/?v=/x", None),
        ];
        for (x, y, expected) in cases {
            assert_eq!(fronts(x, y), expected, "{x} {y}");
        }
    }

    #[test]
    fn a_mirrored_directory_moves_to_the_larger_one() {
        let mut reduced = Vec::new();
        for i in 0..12u32 {
            reduced.push(Reduced { url: format!("http://www.e.edu/seal/p{i}/x"), cluster: i });
            if i < 8 {
                reduced.push(Reduced { url: format!("http://seal.e.edu/p{i}/x"), cluster: i });
            }
            reduced
                .push(Reduced { url: format!("http://other.e.edu/p{i}/x"), cluster: if i < 4 { i } else { 100 + i } });
        }
        let rules = learn(reduced, 0, None);
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].scope[0].test, Test::Equals("http://seal.e.edu".to_owned()));
        assert_eq!(rules[0].operations[0].1, Operation::Keep("http://www.e.edu/seal".to_owned()));
        assert_eq!((rules[0].evidence.good, rules[0].evidence.bad), (8, 0));
    }

    #[test]
    fn a_tenant_that_copies_pages_moves_nobody() {
        let learned = |directories: [&str; 2]| {
            let rows = (0..12u32).flat_map(|i| {
                directories.map(|directory| Reduced { url: format!("http://{directory}/p{i}/x"), cluster: i })
            });
            learn(rows.collect(), 0, None).len()
        };
        assert_eq!(learned(["a.e.edu/shop", "a.e.edu/~bob"]), 0);
        assert_eq!(learned(["a.e.edu/users/ann", "a.e.edu/users/bob"]), 0);
        // One tenant's pages on two hosts are the front of nobody else's.
        assert_eq!(learned(["a.e.edu/~bob", "b.e.edu/~bob"]), 0);
        assert_eq!(learned(["a.e.edu/~bob/old", "a.e.edu/~bob/new"]), 1);
        assert_eq!(learned(["a.e.edu/shop", "b.e.edu/shop"]), 1);
    }
}
