//! DustBuster: Bar-Yossef, Keidar, Schonfeld, "Do Not Crawl in the DUST: Different URLs with Similar
//! Text" (WWW 2007).
//!
//! Learns substring substitutions from a list of URLs with sizes or fingerprints. [`likely`] finds
//! rules of large support through buckets of envelopes (Figure 1), [`redundant`] eliminates those that
//! others refine (Figure 2), [`parameters`] adds parameter substitutions (section 5.3 of the full
//! draft), [`validate`] compares pages (Figures 3 and 4), [`canonize`] applies what is valid (section 5.4).
//! The parameters are those of section 6.
//!
//! Readings:
//! - Supports for elimination are those of the higher bucket size, supports for ranking those of the
//!   lower one ("we run the first phase of the algorithm twice").
//! - Of a URL that holds a string several times a rule rewrites the first occurrence; the next
//!   iteration sees the next.
//! - The full draft, which defines parameter substitution, is not at hand: a parameter is a candidate
//!   where URLs that differ in its value alone are likely similar in at least `MS` contexts; its
//!   default is the value of most of these URLs, ties by bytes.
//! - A random URL is the next in the order of a hash; when the list ends before `N` validations, the
//!   share of negative ones decides.
//! - A redirect has no size of its own: its URL stays in a list of sizes without one.
//!
//! Departures:
//! - At most [`URLS_MAX`] URLs are learned from (the paper: 9,456 to 17,742), so that memory is
//!   bounded.
//! - Against a corpus a URL that was never crawled is unknown, not a failed fetch: it is passed over.
//!   Against a server (`--fetch`) it is as in the paper.
//! - Under an `fpr_max` the refutation threshold is that rate, within the 5 to 10 % of the paper.

pub mod canonize;
pub mod likely;
mod method;
pub mod parameters;
pub mod redundant;
pub mod sketch;
pub mod validate;

use crate::model::hash64;
use crate::site::Training;
pub use method::DustBuster;
use std::collections::BTreeMap;

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

/// Evidence of the list about the content of a URL.
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

/// Unique URLs with what is known of their content. A URL is held between the marks [`START`] and
/// [`END`].
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
    /// From URLs and cues in any order; of a URL that comes again, ranges of sizes join and the first
    /// sketch stays. More than [`URLS_MAX`] are cut to those of smallest hash.
    pub fn new(records: impl IntoIterator<Item = (Vec<u8>, Cue)>) -> UrlList {
        let mut all: BTreeMap<Vec<u8>, Cue> = BTreeMap::new();
        for (url, cue) in records {
            if url.iter().any(|b| matches!(*b, START | END)) {
                continue;
            }
            let known = all.entry(marked(&url)).or_insert(cue);
            *known = match (*known, cue) {
                (Cue::Sizes(a, b), Cue::Sizes(c, d)) => Cue::Sizes(a.min(c), b.max(d)),
                (Cue::Unknown, cue) => cue,
                (known, _) => known,
            };
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

/// A pair of strings with its support: a likely rule in both directions. The first shrinks to the
/// second: it is longer, or as long and later in the order of bytes.
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

impl Likely {
    /// In one line.
    pub fn text(&self) -> String {
        format!("\"{}\" ↔ \"{}\"", readable(&self.long), readable(&self.short))
    }
}

/// A valid rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A string becomes another one.
    Substitution {
        /// Text that is replaced.
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

/// Result of the first three phases, before any page is fetched.
#[derive(Clone, Debug, Default)]
pub struct Detected {
    /// Rules of the first phase (Table 2, "rules detected").
    pub detected: u64,
    /// Rules left by the second phase, most likely first.
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
