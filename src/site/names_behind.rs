//! Which parameters may stand behind one that holds the rest of a path (`/?q=A/B&page=2` and `/A/B?page=2`): what
//! a script shows with one of them beside says nothing of the others.

use super::Thresholds;
use std::collections::{BTreeMap, BTreeSet};

/// Rounds in which a name is taken out because a twin is another page, at most: a bound of work. Sites have a few
/// such names.
const MAX_ROUNDS: usize = 64;

/// A URL with such a parameter and others behind it.
#[derive(Clone, Debug)]
pub struct Behind {
    /// Names of the others, each once, with their `=`.
    pub names: Vec<Vec<u8>>,
    /// Whether the twin is the same page; `None` where it was not met.
    pub twin: Option<bool>,
    /// Cluster of the URL.
    pub cluster: u32,
}

/// What URLs with a name show.
#[derive(Default)]
struct Shown {
    urls: u64,
    good: u64,
    bad: u64,
    clusters: BTreeSet<u32>,
}

/// Names of which URLs have twins, in the order of bytes: in `mirror_min_clusters` clusters, by one of `form_rarer`
/// URLs at least, none of them another page. Only URLs count that have no other name; where a twin is another page, the
/// name with the largest share of such (ties: the last one) goes, and the rest is counted again.
/// O(URLs x names taken out).
pub fn names(urls: &[Behind], thresholds: &Thresholds) -> Vec<Vec<u8>> {
    let mut listed: BTreeSet<&[u8]> = urls.iter().flat_map(|url| &url.names).map(Vec::as_slice).collect();
    for _ in 0..MAX_ROUNDS {
        let mut shown: BTreeMap<&[u8], Shown> = listed.iter().map(|&name| (name, Shown::default())).collect();
        for url in urls.iter().filter(|url| url.names.iter().all(|name| listed.contains(&name[..]))) {
            for name in &url.names {
                let of = shown.entry(name).or_default();
                of.urls += 1;
                of.good += u64::from(url.twin == Some(true));
                of.bad += u64::from(url.twin == Some(false));
                of.clusters.extend(url.twin.filter(|&same| same).map(|_| url.cluster));
            }
        }
        let before = listed.len();
        listed.retain(|name| {
            let Shown { urls, good, clusters, .. } = &shown[name];
            clusters.len() >= thresholds.mirror_min_clusters && good * thresholds.form_rarer as u64 >= *urls
        });
        if listed.len() < before {
            continue;
        }
        let share = |of: &Shown| of.bad * 1_000_000 / of.urls.max(1);
        match shown.iter().filter(|(_, of)| of.bad > 0).max_by_key(|(_, of)| share(of)) {
            Some((name, _)) => _ = listed.remove(name),
            None => return listed.into_iter().map(<[u8]>::to_vec).collect(),
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(urls: &[(&str, Option<bool>)]) -> Vec<String> {
        let behind = |(at, (names, twin)): (u32, &(&str, Option<bool>))| Behind {
            names: names.split('&').map(|name| name.as_bytes().to_vec()).collect(),
            twin: *twin,
            cluster: at,
        };
        let urls: Vec<Behind> = (0..).zip(urls).map(behind).collect();
        names(&urls, &Thresholds::default()).into_iter().map(|name| String::from_utf8(name).expect("ASCII")).collect()
    }

    fn times(n: usize, url: (&str, Option<bool>)) -> Vec<(&str, Option<bool>)> {
        vec![url; n]
    }

    #[test]
    fn a_name_needs_twins_of_its_own() {
        let page = times(9, ("page=", Some(true)));
        assert_eq!(listed(&page), ["page="]);
        assert_eq!(listed(&page[..4]), [""; 0]);
        assert_eq!(listed(&[page.clone(), times(9, ("print=", None))].concat()), ["page="]);
        // Twins of one URL in ten say little of the others.
        assert_eq!(listed(&[page.clone(), times(90, ("page=", None))].concat()), [""; 0]);
        assert_eq!(listed(&[page.clone(), times(30, ("page=", None))].concat()), ["page="]);
        assert_eq!(listed(&[page.clone(), times(9, ("page=&sort=", Some(true)))].concat()), ["page=", "sort="]);
    }

    #[test]
    fn what_makes_another_page_goes_and_not_what_stands_beside_it() {
        let page = times(9, ("page=", Some(true)));
        let beside = times(9, ("page=&print=", Some(false)));
        assert_eq!(listed(&[page.clone(), beside.clone()].concat()), ["page="]);
        let print = times(9, ("print=", Some(true)));
        assert_eq!(listed(&[page.clone(), beside, print, times(9, ("print=", Some(false)))].concat()), ["page="]);
        assert_eq!(listed(&[page, times(1, ("page=", Some(false)))].concat()), [""; 0]);
    }
}
