//! The decision whether the fragments of a site tell its pages apart.
//!
//! A server never gets the fragment, so two URLs that differ in nothing else are one page unless a
//! program in the page reads it. The evidence are records whose URLs are equal up to the fragment and
//! lie in different clusters. A few of these are expected: pages that change between two fetches get
//! wrong labels.

use super::Training;
use crate::model::hash64;
use crate::rules::Fragments;
use crate::url::is_route;
use foldhash::fast::FixedState;
use std::collections::HashSet;

/// Evidence of the labelled records about fragments; `None` where they have none but routes (`#!`,
/// `#/`), which are keys on every site. `least` is the number of clusters from which on fragments are
/// keys.
pub fn decide(training: &Training, least: u32) -> Option<Fragments> {
    // Hashes of the URL up to the fragment, and of the fragment; 0 for none.
    let parts = |row: usize| {
        let url = training.normal(row)?;
        let (normal, place) = (url.as_bytes(), url.split().fragment);
        let (start, end) = place.map_or((normal.len() + 1, normal.len()), |(a, b)| (a as usize, b as usize));
        let fragment = place.map(|_| &normal[start..end]);
        (!fragment.is_some_and(is_route)).then(|| (hash64(&normal[..start - 1]), fragment.map_or(0, hash64)))
    };
    let labelled = || (0..training.len()).filter(|&row| training.clusters[row] != u32::MAX);
    let with_fragment = |row: &usize| memchr::memchr(b'#', training.url(*row)).is_some();
    let bases: HashSet<u64, FixedState> =
        labelled().filter(with_fragment).filter_map(|row| parts(row).map(|found| found.0)).collect();
    if bases.is_empty() {
        return None;
    }
    let row = |row: usize| parts(row).map(|(base, fragment)| (base, fragment, training.clusters[row]));
    let mut rows: Vec<(u64, u64, u32)> = labelled().filter_map(row).filter(|row| bases.contains(&row.0)).collect();
    rows.sort_unstable();
    let mut apart: HashSet<u32, FixedState> = HashSet::default();
    for page in rows.chunk_by(|a, b| a.0 == b.0) {
        let differ = |part: fn(&(u64, u64, u32)) -> u64| page.iter().any(|row| part(row) != part(&page[0]));
        if differ(|row| row.1) && differ(|row| row.2.into()) {
            apart.extend(page.iter().map(|row| row.2));
        }
    }
    let clusters = apart.len() as u32;
    Some(if clusters >= least { Fragments::Keys { clusters } } else { Fragments::LeftOut })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(urls: &[(&str, Option<&str>)]) -> Option<Fragments> {
        let record =
            |&(url, label): &(&'static str, Option<&'static str>)| (url.as_bytes(), label.map(str::as_bytes), false);
        let urls: Vec<(&'static str, Option<&'static str>)> =
            urls.iter().map(|&(url, label)| (&*url.to_owned().leak(), label.map(|l| &*l.to_owned().leak()))).collect();
        decide(&Training::new("a", urls.iter().map(record)), 3)
    }

    #[test]
    fn three_clusters_make_fragments_keys() {
        let two = [("http://a/x", Some("1")), ("http://a/x#b", Some("2")), ("http://a/y#c", Some("3"))];
        assert_eq!(decided(&two), Some(Fragments::LeftOut));
        let three = [&two[..], &[("http://a/y", Some("1"))]].concat();
        assert_eq!(decided(&three), Some(Fragments::Keys { clusters: 3 }));
        // One page with three views; other spellings of a URL are the same URL.
        let views = [("http://a/x#a", Some("1")), ("HTTP://A/x#b", Some("2")), ("http://a/x#c?d=e", Some("3"))];
        assert_eq!(decided(&views), Some(Fragments::Keys { clusters: 3 }));
    }

    #[test]
    fn what_says_nothing_of_fragments_does_not_count() {
        // No fragment, none with a label, routes alone.
        assert_eq!(decided(&[("http://a/x", Some("1")), ("http://a/y", Some("2"))]), None);
        assert_eq!(decided(&[("http://a/x#a", None), ("http://a/x#b", None)]), None);
        let routes = ["http://a/#!a", "http://a/#!b", "http://a/#/c", "http://a/#/d"];
        let routes: Vec<_> = routes.into_iter().zip(["1", "2", "3", "4"].map(Some)).collect();
        assert_eq!(decided(&routes), None);
        // Two labels at one URL, and one label at two fragments.
        let noise = [("http://a/x#a", Some("1")), ("HTTP://a/x#a", Some("2")), ("http://A/x#a", Some("3"))];
        assert_eq!(decided(&noise), Some(Fragments::LeftOut));
        let same = [("http://a/x#a", Some("1")), ("http://a/x#b", Some("1")), ("http://a/y#a", Some("2"))];
        assert_eq!(decided(&same), Some(Fragments::LeftOut));
    }
}
