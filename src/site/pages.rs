//! Pages and their variants: how a list is told from the same list in another order.
//!
//! One page gives many URLs: a list in four orders and three lengths, each a cluster of its own where order
//! and length matter. Evidence that counts them one by one takes one page for many. Parameters of few
//! values make variants; the URL without them is the *stem* of the page.

use super::columns::Columns;
use super::points::{Reader, Values};
use super::{Thresholds, Training};
use crate::model::{hash64, hash64_seeded};
use crate::rules::Tokens;
use crate::url::Key;
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The parameters of a site that make variants of pages.
#[derive(Clone, Debug)]
pub struct Variants {
    /// Their keys, in the notation of rules.
    keys: HashSet<String, FixedState>,
    /// Clusters up to which URLs of one stem are one page; a stem of more is a script, and no page.
    most_clusters: usize,
}

impl Variants {
    /// By the dictionaries of the columns of a site.
    pub fn of_columns(columns: &Columns, thresholds: &Thresholds) -> Variants {
        let few = |k: usize| columns.codes_len(k) <= thresholds.page_most_values + 1;
        let keys = columns.keys.iter().enumerate().filter(|(k, key)| key.optional() && few(*k));
        let keys = keys.map(|(_, key)| key.to_string()).collect();
        Variants { keys, most_clusters: thresholds.page_most_clusters }
    }

    /// True for the key of a parameter that makes variants.
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// Hash of the stem of a URL, from its values by key.
    pub fn stem(&self, values: &Values) -> u64 {
        let is_of_page = |key: &str| !["scheme", "host", "order"].contains(&key) && !self.has(key);
        let pairs = values.iter().filter(|(key, _)| is_of_page(key));
        pairs.map(|(key, value)| hash64_seeded(value, hash64(key.as_bytes()))).fold(0, u64::wrapping_add)
    }

    /// Number of pages among URLs, by stem and cluster of each: distinct clusters, or distinct stems where these
    /// are fewer.
    pub fn count(&self, urls: impl Iterator<Item = (u64, u32)>) -> u64 {
        let mut stems: HashMap<u64, HashSet<u32, FixedState>, FixedState> = HashMap::default();
        let mut clusters: HashSet<u32, FixedState> = HashSet::default();
        for (stem, cluster) in urls {
            stems.entry(stem).or_default().insert(cluster);
            clusters.insert(cluster);
        }
        let most = self.most_clusters;
        let pages: usize = stems.values().map(|of| if of.len() > most { of.len() } else { 1 }).sum();
        pages.min(clusters.len()) as u64
    }
}

/// The page of each cluster of a site with `clusters` clusters, named by its smallest cluster: clusters that
/// have URLs of one stem are variants of one page, up to `page_most_clusters`. URLs are tokenized as on most
/// sites. O(rows x pairs).
pub fn of_clusters(training: &Training, clusters: usize, thresholds: &Thresholds) -> Vec<u32> {
    let mut reader = Reader::new(&Tokens::default());
    let mut values: HashMap<String, BTreeSet<Vec<u8>>, FixedState> = HashMap::default();
    let labelled = || (0..training.len()).filter(|&row| training.clusters[row] != u32::MAX);
    let rows: Vec<(u32, Values)> =
        labelled().filter_map(|row| Some((training.clusters[row], reader.values(training.normal(row)?)))).collect();
    for (key, value) in rows.iter().flat_map(|row| &row.1) {
        let of = values.entry(key.clone()).or_default();
        if of.len() <= thresholds.page_most_values {
            of.insert(value.clone());
        }
    }
    let is_minor = |key: &str| Key::parse(key).is_some_and(|key| key.optional());
    let few = values.iter().filter(|(key, of)| is_minor(key) && of.len() <= thresholds.page_most_values);
    let keys = few.map(|(key, _)| key.clone()).collect();
    let variants = Variants { keys, most_clusters: thresholds.page_most_clusters };
    // In the order of their hashes, so that it is the same for any order of rows.
    let mut stems: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for (cluster, values) in &rows {
        stems.entry(variants.stem(values)).or_default().insert(*cluster);
    }
    let mut page: Vec<u32> = (0..clusters as u32).collect();
    let mut sizes = vec![1; clusters];
    for of in stems.into_values().filter(|of| of.len() <= variants.most_clusters) {
        for (&a, &b) in of.iter().zip(of.iter().skip(1)) {
            let [a, b] = [root(&mut page, a), root(&mut page, b)];
            let [least, other] = [a.min(b) as usize, a.max(b) as usize];
            // A login page has URLs of all pages, and is no variant of them.
            if least != other && sizes[least] + sizes[other] <= variants.most_clusters {
                page[other] = least as u32;
                sizes[least] += sizes[other];
            }
        }
    }
    (0..clusters as u32).map(|cluster| root(&mut page, cluster)).collect()
}

/// The smallest cluster of the page of a cluster. Paths are halved on the way.
fn root(page: &mut [u32], mut cluster: u32) -> u32 {
    while page[cluster as usize] != cluster {
        page[cluster as usize] = page[page[cluster as usize] as usize];
        cluster = page[cluster as usize];
    }
    cluster
}

#[cfg(test)]
mod tests {
    use super::*;

    fn training<'a>(records: impl IntoIterator<Item = (&'a str, &'a str)>) -> Training {
        let records = records.into_iter();
        Training::new("a.org", records.map(|(url, cluster)| (url.as_bytes(), Some(cluster.as_bytes()), false)))
    }

    #[test]
    fn clusters_of_one_list_are_one_page_and_those_of_a_script_are_not() {
        let site = training([
            ("http://a.org/list?c=1", "a"),
            ("http://a.org/list?c=1&sort=up", "b"),
            ("https://a.org/list?c=1&sort=down", "c"),
            ("http://a.org/list?c=2&sort=up", "d"),
            ("http://a.org/other?c=2&sort=up", "a"),
        ]);
        let of = |values: usize, clusters: usize| {
            let thresholds =
                Thresholds { page_most_values: values, page_most_clusters: clusters, ..Thresholds::default() };
            let pages = of_clusters(&site, 4, &thresholds);
            let row = |url: &str| (0..site.len()).find(|&row| site.url(row) == url.as_bytes()).expect("a row");
            let page = |url: &str| pages[site.clusters[row(url)] as usize];
            let list = page("http://a.org/list?c=1");
            let sorted = ["http://a.org/list?c=1&sort=up", "https://a.org/list?c=1&sort=down"].map(page);
            (sorted.map(|page| page == list), page("http://a.org/list?c=2&sort=up") == list)
        };
        // Neither parameter has few values: each URL is a page.
        assert_eq!(of(1, 32), ([false, false], false));
        // Both have: the script is one page, unless that has too many clusters.
        assert_eq!(of(2, 32), ([true, true], true));
        assert_eq!(of(2, 2), ([false, false], false));
    }

    #[test]
    fn pages_are_the_fewer_of_clusters_and_stems() {
        let variants = Variants { keys: HashSet::default(), most_clusters: 2 };
        let count = |urls: &[(u64, u32)]| variants.count(urls.iter().copied());
        assert_eq!(count(&[(1, 1), (1, 2), (2, 3)]), 2);
        assert_eq!(count(&[(1, 1), (2, 1), (3, 1)]), 1);
        // Three clusters are too many for variants of one page.
        assert_eq!(count(&[(1, 1), (1, 2), (1, 3)]), 3);
    }
}
