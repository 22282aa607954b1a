//! DustBuster: Bar-Yossef, Keidar, Schonfeld, "Do Not Crawl in the DUST: Different URLs with Similar Text" (WWW 2007).
//!
//! Learns substring substitutions from a list of URLs with sizes or fingerprints. [`likely`] finds rules of large
//! support through buckets of envelopes (Figure 1), [`redundant`] eliminates those that others refine (Figure 2),
//! [`parameters`] adds parameter substitutions (section 5.3 of the full draft), [`validate`] asks pages (Figures 3 and
//! 4), [`canonize`] applies what is valid (section 5.4). The parameters are those of section 6.
//!
//! Readings:
//! - Supports for elimination are those of the higher bucket size, supports for ranking those of the lower one ("we run
//!   the first phase of the algorithm twice").
//! - Of a URL that holds a string several times a rule rewrites the first occurrence; the next iteration sees the next.
//! - The full draft, which defines parameter substitution, is not at hand: a parameter is a candidate where URLs that
//!   differ in its value alone are likely similar in at least `MS` contexts; its default is the value of most of these
//!   URLs, ties by bytes.
//! - A random URL is the next in the order of a hash; when the list ends before `N` validations, the share of negative
//!   ones decides.
//!
//! Departures:
//! - At most [`URLS_MAX`] URLs are learned from (the paper: 9,456 to 17,742), so that memory is bounded.
//! - Against a corpus a URL that was never crawled is unknown, not a failed fetch: it is passed over.
//! - Under an `fpr_max` the refutation threshold is that rate, within the 5 to 10 % of the paper.

pub mod canonize;
pub mod likely;
pub mod parameters;
pub mod redundant;
pub mod sketch;
pub mod validate;

use super::{Figures, Learned, Method, RuleReport, Sample, Selected};
use crate::model::{hash64, hash128};
use crate::site::Training;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use validate::{Oracle, Page};

/// URLs that are learned from, at most: those of smallest hash.
pub const URLS_MAX: usize = 20_000;

/// The parameters of section 6.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Longest substring in tokens (S).
    pub tokens: usize,
    /// Largest bucket for detecting rules (T low).
    pub bucket_low: usize,
    /// Largest bucket for eliminating redundant rules (T high).
    pub bucket_high: usize,
    /// Relative deficiency of support (MRD).
    pub relative_deficiency: f64,
    /// Absolute deficiency of support (MAD).
    pub absolute_deficiency: f64,
    /// Window of rules (MW).
    pub window: usize,
    /// Least support (MS).
    pub support: u32,
    /// Validations of a rule (N).
    pub validations: u64,
    /// Refutation threshold (epsilon).
    pub refutation: f64,
    /// Iterations of canonization.
    pub iterations: usize,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            tokens: 35,
            bucket_low: 6,
            bucket_high: 11,
            relative_deficiency: 0.05,
            absolute_deficiency: 1.0,
            window: 1100,
            support: 3,
            validations: 100,
            refutation: 0.05,
            iterations: 10,
        }
    }
}

/// What the list tells of the content of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cue {
    /// A sketch of the document: equal ones are similar.
    Sketch(u64),
    /// Smallest and largest size seen: overlapping ranges are likely similar.
    Sizes(u64, u64),
    /// Nothing: every two URLs may be similar.
    Unknown,
}

impl Cue {
    /// LikelySimilar of Figure 1.
    pub fn likely_similar(self, other: Cue) -> bool {
        match (self, other) {
            (Cue::Sketch(a), Cue::Sketch(b)) => a == b,
            (Cue::Sizes(a, b), Cue::Sizes(c, d)) => a <= d && c <= b,
            _ => true,
        }
    }
}

/// Unique URLs with what is known of their content. A URL is held between the marks [`START`] and [`END`].
#[derive(Clone, Debug, Default)]
pub struct UrlList {
    /// Sorted by bytes.
    pub urls: Vec<Vec<u8>>,
    /// One a URL.
    pub cues: Vec<Cue>,
}

/// `^`, the token before every URL; a control byte, which no URL holds.
pub const START: u8 = 2;
/// `$`, the token behind every URL.
pub const END: u8 = 3;

/// A URL between its marks.
pub fn marked(url: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(url.len() + 2);
    out.push(START);
    out.extend_from_slice(url);
    out.push(END);
    out
}

/// A string of a rule for readers: marks as the paper writes them.
pub fn readable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.replace(char::from(START), "^").replace(char::from(END), "$")
}

impl UrlList {
    /// From URLs and cues in any order; of a URL that comes again, ranges of sizes join and the first sketch stays. More
    /// than [`URLS_MAX`] are cut to those of smallest hash.
    pub fn new(records: impl IntoIterator<Item = (Vec<u8>, Cue)>) -> UrlList {
        let mut all: BTreeMap<Vec<u8>, Cue> = BTreeMap::new();
        for (url, cue) in records {
            if url.iter().any(|b| matches!(*b, START | END)) {
                continue;
            }
            let known = all.entry(marked(&url)).or_insert(cue);
            if let (Cue::Sizes(a, b), Cue::Sizes(c, d)) = (*known, cue) {
                *known = Cue::Sizes(a.min(c), b.max(d));
            }
        }
        if all.len() > URLS_MAX {
            let mut hashes: Vec<u64> = all.keys().map(|url| hash64(url)).collect();
            hashes.sort_unstable();
            let bound = hashes[URLS_MAX];
            all.retain(|url, _| hash64(url) < bound);
        }
        let (urls, cues) = all.into_iter().unzip();
        UrlList { urls, cues }
    }

    /// From labelled training records: the cluster is the sketch.
    pub fn of(training: &Training) -> UrlList {
        let rows = (0..training.len()).filter(|&row| training.clusters[row] != u32::MAX);
        UrlList::new(rows.map(|row| (training.url(row).to_vec(), Cue::Sketch(training.clusters[row].into()))))
    }

    /// Number of URLs.
    pub fn len(&self) -> usize {
        self.urls.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }
}

/// A pair of strings with its support: a likely rule in both directions. The first shrinks to the second: it is longer,
/// or as long and later in the order of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Likely {
    /// The longer string.
    pub long: Vec<u8>,
    /// The shorter one.
    pub short: Vec<u8>,
    /// Support by buckets of the lower size.
    pub support: u32,
    /// Support by buckets of the higher size.
    pub support_high: u32,
}

/// A valid rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A string becomes another one.
    Substitution {
        /// What is replaced.
        from: Vec<u8>,
        /// By what.
        to: Vec<u8>,
    },
    /// A parameter gets a default value.
    Parameter {
        /// Its name.
        name: Vec<u8>,
        /// The default.
        value: Vec<u8>,
    },
}

impl Rule {
    /// In one line, as the paper writes it.
    pub fn text(&self) -> String {
        match self {
            Rule::Substitution { from, to } => format!("\"{}\" → \"{}\"", readable(from), readable(to)),
            Rule::Parameter { name, value } => format!("{}=* → {}={}", readable(name), readable(name), readable(value)),
        }
    }
}

/// The first three phases: everything before a page is asked for.
#[derive(Clone, Debug, Default)]
pub struct Detected {
    /// Rules of the first phase (Table 2, "rules detected").
    pub detected: u64,
    /// What the second phase left, most likely first.
    pub likely: Vec<Likely>,
    /// Parameter substitutions, by falling support.
    pub parameters: Vec<Rule>,
}

/// Phases one to three.
pub fn detect(list: &UrlList, parameters: &Parameters) -> Detected {
    let found = likely::detect(list, parameters);
    let detected = found.len() as u64;
    let likely = redundant::eliminate(found, parameters);
    Detected { detected, likely, parameters: parameters::find(list, parameters) }
}

/// The method: the clusters of the training records are the fingerprints.
#[derive(Clone, Copy, Debug, Default)]
pub struct DustBuster {
    /// Its parameters.
    pub parameters: Parameters,
}

impl Method for DustBuster {
    fn learn(&self, sample: &Sample<'_>) -> Box<dyn Learned> {
        let list = UrlList::of(&sample.training);
        let detected = detect(&list, &self.parameters);
        let corpus = Corpus::new(&list);
        Box::new(Candidates { parameters: self.parameters, list, detected, corpus, valid: RefCell::default() })
    }
}

/// The corpus as oracle.
#[derive(Clone, Debug, Default)]
pub struct Corpus(HashMap<u128, u64, foldhash::fast::FixedState>);

impl Corpus {
    /// Of the sketches of a list.
    pub fn new(list: &UrlList) -> Corpus {
        let known = list.urls.iter().zip(&list.cues).filter_map(|(url, cue)| match cue {
            Cue::Sketch(sketch) => Some((hash128(url), *sketch)),
            _ => None,
        });
        Corpus(known.collect())
    }
}

impl Oracle for &Corpus {
    fn page(&mut self, url: &[u8]) -> Page {
        self.0.get(&hash128(url)).map_or(Page::Unknown, |&sketch| Page::Sketch(sketch))
    }
}

struct Candidates {
    parameters: Parameters,
    list: UrlList,
    detected: Detected,
    corpus: Corpus,
    /// Valid rules by refutation threshold, in millionths.
    valid: RefCell<BTreeMap<u64, Vec<Rule>>>,
}

impl Learned for Candidates {
    fn figures(&self) -> Figures {
        Figures { raw: self.detected.detected + self.detected.parameters.len() as u64, ..Figures::default() }
    }

    fn select(&self, fpr_max: f64) -> Selected {
        let parameters = Parameters { refutation: fpr_max.clamp(0.05, 0.10), ..self.parameters };
        let mut valid = self.valid.borrow_mut();
        let rules = valid
            .entry((parameters.refutation * 1e6) as u64)
            .or_insert_with(|| validate::validate(&self.detected, &self.list, &mut &self.corpus, &parameters))
            .clone();
        let count = rules.len() as u64;
        let rules = Box::new(canonize::Rules { rules, iterations: parameters.iterations, url: Vec::new() });
        Selected { qualified: count, deployed: count, rules }
    }
}

/// Rules for readers.
fn report(rules: &[Rule]) -> Vec<RuleReport> {
    rules.iter().map(|rule| RuleReport { text: rule.text(), evidence: None }).collect()
}
