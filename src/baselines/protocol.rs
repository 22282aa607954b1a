//! One site through the protocols of the papers: training sample, every method, every `fpr_max`, counts
//! on the test.
//!
//! - WWW10 (section 6.1): "we randomly select 20% samples (but no more than 0.1 million) as training
//!   set. The testing is carried out on the whole dataset." The sample is drawn by a hash of the URL
//!   with the seed, so it does not depend on the order of the records; beyond the limit the smallest
//!   hashes stay.
//! - SIGIR 2017 (section 3.1): "we use the first 15,000 pages for training and the remaining 5,000 for
//!   testing", and a crawl is simulated on the test. A site of fewer URLs is cut in the same
//!   proportion; what follows the first 20,000 is left out. Seeds change nothing here.
//!
//! Only labelled records count. Where the rules at one `fpr_max` are those of the one before, its
//! counts are taken over.

use super::results::{Fit, Mixed, Protocol, Run, Shown, Site, Split, Time, TreeNode};
use super::{Canonicalizer, Method, Name, RuleReport, Sample, Setup};
use crate::evaluate::{Counts, Pages};
use crate::model::{hash64_seeded, hash128};
use crate::site::Training;
use crate::site::published::keys::PublishedColumns;
use crate::site::published::tree::{Patterns, Slot};
use crate::site::tree::Branch;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Plan of a comparison: methods and protocol.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The protocol.
    pub protocol: Protocol,
    /// Methods in the order of the tables.
    pub methods: Vec<Name>,
    /// Input of methods beside the records.
    pub setup: Setup,
    /// Highest false-positive rates, rising, at least one.
    pub fpr_max: Vec<f64>,
    /// Index of the one that is timed and shown.
    pub headline: usize,
    /// Seeds of the training samples, at least one.
    pub seeds: Vec<u64>,
    /// Share of the URLs that train (WWW10).
    pub train_share: f64,
    /// Most URLs of a site that train.
    pub train_max: usize,
    /// Pages that train and test (SIGIR 2017): 15,000 and 5,000 in the paper.
    pub crawl: (usize, usize),
}

/// Labelled records of one site in crawl order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Records {
    /// The site.
    pub site: String,
    #[serde(with = "text")]
    bytes: Vec<u8>,
    /// End of the URL and of the label of each row.
    ends: Vec<(usize, usize)>,
    elsewhere: Vec<bool>,
    /// Bytes of each answer; 0 where not known.
    sizes: Vec<u64>,
    /// URLs without a label, end to end, with where each ends and its size.
    listed: (Vec<u8>, Vec<(usize, u64)>),
}

/// The bytes of records as one string, since an array of numbers is four times as long. Readers reject
/// what is not UTF-8.
mod text {
    use serde::{Deserialize, Deserializer, Serializer, ser::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(std::str::from_utf8(bytes).map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(from).map(String::into_bytes)
    }
}

impl Records {
    /// No record yet.
    pub fn new(site: &str) -> Records {
        Records { site: site.to_owned(), ..Records::default() }
    }

    /// Adds a record of which no size is known.
    pub fn push(&mut self, url: &[u8], label: &[u8], elsewhere: bool) {
        self.push_sized(url, label, elsewhere, 0);
    }

    /// Adds a record with the bytes of its answer, 0 where they are not known.
    pub fn push_sized(&mut self, url: &[u8], label: &[u8], elsewhere: bool, size: u64) {
        self.bytes.extend_from_slice(url);
        let url_end = self.bytes.len();
        self.bytes.extend_from_slice(label);
        self.ends.push((url_end, self.bytes.len()));
        self.elsewhere.push(elsewhere);
        self.sizes.push(size);
    }

    /// Adds a URL without a label, for methods that learn from lists of URLs and sizes.
    pub fn list(&mut self, url: &[u8], size: u64) {
        self.listed.0.extend_from_slice(url);
        self.listed.1.push((self.listed.0.len(), size));
    }

    /// URLs without a label and their sizes, 0 where not known.
    pub fn listed(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let (bytes, rows) = &self.listed;
        let starts = std::iter::once(0).chain(rows.iter().map(|row| row.0));
        starts.zip(rows).map(|(start, &(end, size))| (&bytes[start..end], size))
    }

    /// Bytes of the answer of a row; 0 where not known.
    pub fn size(&self, row: usize) -> u64 {
        self.sizes[row]
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// URL and label of a row.
    pub fn get(&self, row: usize) -> (&[u8], &[u8]) {
        let start = if row == 0 { 0 } else { self.ends[row - 1].1 };
        let (url, label) = self.ends[row];
        (&self.bytes[start..url], &self.bytes[url..label])
    }

    /// True where the record of a row redirects to, or declares as canonical, another URL.
    pub fn elsewhere(&self, row: usize) -> bool {
        self.elsewhere[row]
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// First rows of distinct URLs, in order.
    fn distinct(&self) -> Vec<usize> {
        let mut seen: HashSet<u128, foldhash::fast::FixedState> = HashSet::default();
        (0..self.len()).filter(|&row| seen.insert(hash128(self.get(row).0))).collect()
    }

    /// The training set of these rows.
    pub fn training(&self, rows: impl IntoIterator<Item = usize>) -> Training {
        let row = |row: usize| (self.get(row).0, Some(self.get(row).1), self.elsewhere[row]);
        Training::new(&self.site, rows.into_iter().map(row))
    }
}

impl Plan {
    /// Seeds of the training samples that the protocol takes.
    pub fn samples(&self) -> &[u64] {
        if self.protocol == Protocol::Sigir2017 { &self.seeds[..1] } else { &self.seeds }
    }

    /// Rows that train and rows that test, for a seed.
    pub fn split(&self, records: &Records, seed: u64) -> (Vec<usize>, Vec<usize>) {
        match self.protocol {
            Protocol::Www10 => {
                let bound = (self.train_share.clamp(0.0, 1.0) * 2f64.powi(64)) as u128;
                let hash = |row: usize| hash64_seeded(records.get(row).0, seed);
                let mut train: Vec<(u64, usize)> = (0..records.len()).map(|row| (hash(row), row)).collect();
                train.retain(|&(hash, _)| u128::from(hash) < bound);
                train.sort_unstable();
                train.truncate(self.train_max);
                (train.into_iter().map(|(_, row)| row).collect(), (0..records.len()).collect())
            }
            Protocol::Sigir2017 => {
                let mut rows = records.distinct();
                let (train, test) = self.crawl;
                rows.truncate(train + test);
                let cut = if rows.len() < train + test { rows.len() * train / (train + test).max(1) } else { train };
                let test = rows.split_off(cut);
                (rows, test)
            }
        }
    }
}

/// Runs a plan on one site. `methods` makes the methods of the plan; `clock` returns the seconds since
/// any moment, or those that the calling thread has worked.
pub fn compare(
    records: &Records,
    plan: &Plan,
    methods: &dyn Fn(Name) -> Box<dyn Method>,
    clock: &dyn Fn() -> f64,
) -> (Site, Vec<Time>) {
    let mut site = Site { site: records.site.clone(), ..Site::default() };
    let mut times = Vec::new();
    for (seed, &number) in plan.samples().iter().enumerate() {
        let (train, test) = plan.split(records, number);
        // In the crawl simulation training and test lie apart.
        let whole: Vec<usize> = match plan.protocol {
            Protocol::Www10 => test.clone(),
            Protocol::Sigir2017 => train.iter().chain(&test).copied().collect(),
        };
        let share = match plan.protocol {
            Protocol::Www10 => plan.train_share,
            Protocol::Sigir2017 => plan.crawl.0 as f64 / (plan.crawl.0 + plan.crawl.1).max(1) as f64,
        };
        let sample = Sample { whole: &whole, share, max: plan.train_max, seed: number, ..Sample::new(records, &train) };
        let training = &sample.training;
        site.trained.push(training.len() as u64);
        if seed == 0 {
            let mut pages = Pages::default();
            test.iter().map(|&row| records.get(row)).for_each(|(url, label)| pages.push(url, url, Some(label)));
            let counts = pages.counts();
            (site.urls, site.clusters) = (counts.urls, counts.clusters);
            (site.tree, site.tree_nodes) = tree(training);
        }
        for &method in &plan.methods {
            let mut time = Time {
                site: records.site.clone(),
                method,
                seed,
                trained: training.len() as u64,
                learn: 0.0,
                select: 0.0,
                apply: 0.0,
                urls: test.len() as u64,
            };
            let began = clock();
            let learned = methods(method).learn(&sample);
            time.learn = clock() - began;
            let detection = learned.detection(&sample);
            let missing = learned.missing(records, &test);
            let mut fits: Vec<Fit> = Vec::with_capacity(plan.fpr_max.len());
            let mut last: Option<Vec<RuleReport>> = None;
            for (index, &fpr_max) in plan.fpr_max.iter().enumerate() {
                let began = clock();
                let mut selected = learned.select(fpr_max);
                let chosen = clock();
                if index == plan.headline {
                    // Before anything is in the caches of the rules.
                    apply(records, &test, selected.rules.as_mut());
                    (time.select, time.apply) = (chosen - began, clock() - chosen);
                }
                let rules = selected.rules.report();
                let counts = match (&last, fits.last()) {
                    (Some(before), Some(fit)) if *before == rules && index != plan.headline => fit.counts,
                    _ => count(records, &test, selected.rules.as_mut()),
                };
                if index == plan.headline && seed == 0 {
                    site.shown.push(show(records, &test, method, &rules, selected.rules.as_mut()));
                }
                fits.push(Fit { qualified: selected.qualified, deployed: selected.deployed, counts });
                last = Some(rules);
            }
            site.runs.push(Run { method, seed, figures: learned.figures(), fits, detection, missing });
            // What an outside method took is not known here: a look-up is no time of its own.
            if !matches!(method, Name::Outside(_)) {
                times.push(time);
            }
        }
    }
    (site, times)
}

/// Canonicalizes the rows `test`, and nothing else.
fn apply(records: &Records, test: &[usize], rules: &mut dyn Canonicalizer) {
    let mut out = Vec::new();
    test.iter().for_each(|&row| rules.canonicalize(records.get(row).0, &mut out));
}

fn count(records: &Records, test: &[usize], rules: &mut dyn Canonicalizer) -> Counts {
    let mut pages = Pages::default();
    let mut out = Vec::new();
    for (url, label) in test.iter().map(|&row| records.get(row)) {
        rules.canonicalize(url, &mut out);
        pages.push(url, &out, Some(label));
    }
    pages.counts()
}

/// Rules of a method that are shown.
const SHOWN_RULES: usize = 40;
/// Misses of each kind that are shown.
const SHOWN_MISSES: usize = 5;
/// URLs of a miss that are shown.
const SHOWN_URLS: usize = 3;
/// Nodes of a tree that are shown.
const SHOWN_NODES: usize = 160;

fn show(
    records: &Records,
    test: &[usize],
    method: Name,
    rules: &[RuleReport],
    canonicalizer: &mut dyn Canonicalizer,
) -> Shown {
    let mut out = Vec::new();
    // (label, canonical, row), and the other way round below.
    let mut rows: Vec<(&[u8], Vec<u8>, usize)> = Vec::with_capacity(test.len());
    for &row in test {
        let (url, label) = records.get(row);
        canonicalizer.canonicalize(url, &mut out);
        rows.push((label, out.clone(), row));
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let url = |row: usize| text(records.get(row).0);
    rows.sort_unstable();
    let mut split: Vec<Split> = Vec::new();
    for cluster in rows.chunk_by(|a, b| a.0 == b.0) {
        let forms = || cluster.chunk_by(|a, b| a.1 == b.1);
        let extra = forms().count() as u64 - 1;
        if extra > 0 {
            let urls = forms().take(SHOWN_URLS).map(|form| [url(form[0].2), text(&form[0].1)]).collect();
            split.push(Split { extra, urls });
            keep(&mut split, |s| s.extra);
        }
    }
    rows.sort_unstable_by(|a, b| (&a.1, a.0, a.2).cmp(&(&b.1, b.0, b.2)));
    let mut mixed: Vec<Mixed> = Vec::new();
    for page in rows.chunk_by(|a, b| a.1 == b.1) {
        let clusters = || page.chunk_by(|a, b| a.0 == b.0);
        let wrong = (page.len() - clusters().map(<[_]>::len).max().unwrap_or(0)) as u64;
        if wrong > 0 {
            let urls = clusters().take(SHOWN_URLS).map(|cluster| url(cluster[0].2)).collect();
            mixed.push(Mixed { canonical: text(&page[0].1), wrong, urls });
            keep(&mut mixed, |m| m.wrong);
        }
    }
    let more_rules = rules.len().saturating_sub(SHOWN_RULES) as u64;
    Shown { method, rules: rules.iter().take(SHOWN_RULES).cloned().collect(), more_rules, split, mixed }
}

/// Keeps the worst, in falling order; those that came first go before later ones of the same weight.
fn keep<T>(list: &mut Vec<T>, weight: impl Fn(&T) -> u64) {
    list.sort_by_key(|item| std::cmp::Reverse(weight(item)));
    list.truncate(SHOWN_MISSES);
}

/// The pattern tree, its largest nodes, and how many it has.
fn tree(training: &Training) -> (Vec<TreeNode>, u64) {
    let columns = PublishedColumns::new(training);
    if columns.is_empty() {
        return (Vec::new(), 0);
    }
    let patterns = Patterns::build(&columns, &crate::site::published::Switches::default());
    let tree = &patterns.tree;
    let all = tree.nodes.len();
    let mut order: Vec<usize> = (0..all).collect();
    // A parent has at least the URLs of its child and comes before it, so its place is among the kept ones
    // too.
    order.sort_by_key(|&node| (std::cmp::Reverse(tree.volume(node as u32)), node));
    order.truncate(SHOWN_NODES);
    order.sort_unstable();
    let nodes = order.iter().map(|&node| {
        let at = &tree.nodes[node];
        let parent = order.binary_search(&(at.parent as usize)).unwrap_or(0);
        let key = || columns.keys.get(at.key as usize).map(ToString::to_string).unwrap_or_default();
        let branch = match (node, &at.branch) {
            (0, _) => "all URLs".to_owned(),
            (_, Branch::Is(crate::site::published::keys::ABSENT)) => format!("{} absent", key()),
            (_, Branch::Is(value)) => format!("{} {}", key(), columns.text(*value)),
            (_, _) => format!("{} *", key()),
        };
        let slots = patterns.of(node as u32);
        let values: Vec<Option<Vec<u8>>> = slots
            .iter()
            .map(|slot| match *slot {
                Slot::One(crate::site::published::keys::ABSENT) => None,
                Slot::One(value) => Some(columns.value(value).to_vec()),
                Slot::Many(_) => Some(b"*".to_vec()),
            })
            .collect();
        let mut pattern = Vec::new();
        crate::rules::published::keys::compose(&columns.keys, |key| values[key].as_deref(), &mut pattern);
        let pattern = String::from_utf8_lossy(&pattern).into_owned();
        TreeNode { parent, branch, pattern, urls: u64::from(tree.volume(node as u32)) }
    });
    (nodes.collect(), all as u64)
}
