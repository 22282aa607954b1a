//! DustBuster as a method of a comparison: its input, and its oracle of pages.

use super::validate::{Oracle, Page, Server, Verdict, validate, verdicts};
use super::{Cue, Detected, Parameters, Rule, UrlList, canonize, detect, marked};
use crate::baselines::protocol::Records;
use crate::baselines::results::{Detection, Tried};
use crate::baselines::{Figures, Learned, Method, Sample, Selected};
use crate::model::hash128;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Likely rules that are tried for the precision at k, at most; the paper shows 50, 350 and 1,200 of
/// its sites.
pub const TRIED_MAX: usize = 300;

/// Likely rules that are shown.
const SHOWN: usize = 10;

/// The method.
#[derive(Clone, Debug, Default)]
pub struct DustBuster {
    /// Its parameters.
    pub parameters: Parameters,
    /// Learns from the sizes of answers, and from records without a cluster too, as of a server's log.
    /// Otherwise from the clusters of the training records, in place of sketches.
    pub sizes: bool,
    /// Oracle of pages; `None`: the fingerprints (clusters) of the training records.
    pub server: Option<Arc<dyn Server>>,
}

impl Method for DustBuster {
    fn learn(&self, sample: &Sample<'_>) -> Box<dyn Learned> {
        let records = sample.records;
        let list = match self.sizes {
            false => UrlList::of(&sample.training),
            true => {
                let training = sample.train.iter().map(|&row| (records.get(row).0, records.size(row)));
                UrlList::new(training.chain(records.listed()).map(|(url, size)| (url.to_vec(), cue(size))))
            }
        };
        let detected = detect(&list, &self.parameters);
        let corpus = Corpus::of(records, sample.train);
        Box::new(Candidates { method: self.clone(), list, detected, corpus, valid: RefCell::default() })
    }
}

fn cue(size: u64) -> Cue {
    if size == 0 { Cue::Unknown } else { Cue::Sizes(size, size) }
}

/// The corpus as oracle: the cluster of each URL.
#[derive(Clone, Debug, Default)]
pub struct Corpus(HashMap<u128, u64, foldhash::fast::FixedState>);

impl Corpus {
    /// Oracle of these rows; of a URL with two clusters the first is used.
    pub fn of(records: &Records, rows: &[usize]) -> Corpus {
        let mut out = Corpus::default();
        for (url, cluster) in rows.iter().map(|&row| records.get(row)) {
            out.0.entry(hash128(&marked(url))).or_insert_with(|| crate::model::hash64(cluster));
        }
        out
    }
}

impl Oracle for &Corpus {
    fn page(&mut self, url: &[u8]) -> Page {
        self.0.get(&hash128(url)).map_or(Page::Unknown, |&sketch| Page::Sketch(sketch))
    }
}

/// A server as oracle.
struct Live<'a>(&'a dyn Server);

impl Oracle for Live<'_> {
    fn page(&mut self, url: &[u8]) -> Page {
        // Between the marks.
        self.0.page(&url[1..url.len() - 1])
    }
}

struct Candidates {
    method: DustBuster,
    list: UrlList,
    detected: Detected,
    corpus: Corpus,
    /// Valid rules by refutation threshold, in millionths.
    valid: RefCell<BTreeMap<u64, Vec<Rule>>>,
}

impl Candidates {
    /// The valid rules under a refutation threshold.
    fn valid(&self, refutation: f64) -> Vec<Rule> {
        let parameters = Parameters { refutation, ..self.method.parameters };
        let validate = |oracle: &mut dyn Oracle| validate(&self.detected, &self.list, oracle, &parameters);
        let found = || match &self.method.server {
            Some(server) => validate(&mut Live(&**server)),
            None => validate(&mut &self.corpus),
        };
        self.valid.borrow_mut().entry((refutation * 1e6) as u64).or_insert_with(found).clone()
    }
}

impl Learned for Candidates {
    fn figures(&self) -> Figures {
        Figures { raw: self.detected.detected + self.detected.parameters.len() as u64, ..Figures::default() }
    }

    fn select(&self, fpr_max: f64) -> Selected {
        let rules = self.valid(fpr_max.clamp(0.05, 0.10));
        let count = rules.len() as u64;
        let iterations = self.method.parameters.iterations;
        let rules = Box::new(canonize::Rules { rules, iterations, url: Vec::new() });
        Selected { qualified: count, deployed: count, rules }
    }

    /// Figure 5. URLs for validation are those that did not train ("additional logs, different from those
    /// used to detect the rules"), the ones of the list where there are no others.
    fn detection(&self, sample: &Sample<'_>) -> Option<Detection> {
        let parameters = &self.method.parameters;
        let trained: BTreeSet<usize> = sample.train.iter().copied().collect();
        let others = sample.whole.iter().filter(|row| !trained.contains(row));
        let others = UrlList::new(others.map(|&row| (sample.records.get(row).0.to_vec(), Cue::Unknown)));
        let urls = if others.is_empty() { &self.list } else { &others };
        let corpus = Corpus::of(sample.records, sample.whole);
        let tried = |detected: &Detected| {
            let likely = &detected.likely[..detected.likely.len().min(TRIED_MAX)];
            let found = match &self.method.server {
                Some(server) => verdicts(likely, urls, &mut Live(&**server), parameters),
                None => verdicts(likely, urls, &mut &corpus, parameters),
            };
            let of = |wanted: Verdict| (0..).zip(&found).filter(|(_, v)| **v == wanted).map(|(at, _)| at).collect();
            Tried {
                detected: detected.detected,
                likely: detected.likely.len() as u64,
                tried: found.len() as u64,
                valid: of(Verdict::Valid),
                unknown: of(Verdict::Unknown),
            }
        };
        let blind = UrlList { urls: self.list.urls.clone(), cues: vec![Cue::Unknown; self.list.len()] };
        let mut forms: HashSet<u128, foldhash::fast::FixedState> = HashSet::default();
        let mut rules = self.select(0.0).rules;
        let mut form = Vec::new();
        for url in &self.list.urls {
            rules.canonicalize(&url[1..url.len() - 1], &mut form);
            forms.insert(hash128(&form));
        }
        Some(Detection {
            urls: self.list.len() as u64,
            forms: forms.len() as u64,
            with_cue: tried(&self.detected),
            without_cue: tried(&detect(&blind, parameters)),
            first: self.detected.likely.iter().take(SHOWN).map(|rule| (rule.text(), rule.support)).collect(),
        })
    }
}
