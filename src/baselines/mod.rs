//! Every method that undust is compared with, and undust itself, behind one small trait: learn on the
//! records of one site, canonicalize a URL, report the rules. Pure.
//!
//! | module | method | source |
//! |---|---|---|
//! | [`keep_all`] | no rule | SIGIR 2017, KeepAll |
//! | [`rfc3986`] | syntax-based normalization | RFC 3986, section 6.2.2 and 6.2.3 |
//! | [`catalogue`] | fixed normalizations, a switch each | the normalization catalogue (2012) |
//! | [`drop_query`] | no query | folklore |
//! | [`tracking`] | known superfluous parameters | their vendors' documentation |
//! | `dataflow::compare::Platforms` | catalogue lines of recognised programs | `docs/platforms.md` |
//! | [`fan_out`] | rule lattice generalized by fan-out | Dasgupta et al., KDD 2008, as WWW10 uses it |
//! | [`dustbuster`] | substring substitutions | Bar-Yossef et al., WWW 2007 |
//! | [`decision_tree`] | pairwise rules generalized by decision trees | Koppula et al., WSDM 2010 |
//! | [`published`] | pattern tree, naive or graph selection | Lei et al., WWW 2010 |
//! | [`outside`] | canonical URLs that another program predicted | `docs/method.md` |
//! | `dataflow::compare::Undust` | this program | `docs/method.md` |
//!
//! Each module names its paper and lists where it departs from it. [`protocol`] runs methods on one
//! site under the protocols of WWW10 and of SIGIR 2017 and gives counts; [`crate::report`] makes tables
//! and charts of them.

pub mod catalogue;
pub mod decision_tree;
pub mod drop_query;
pub mod dustbuster;
pub mod fan_out;
pub mod keep_all;
pub mod name;
pub mod outside;
pub mod protocol;
pub mod published;
pub mod results;
pub mod rfc3986;
pub mod rule_set;
pub mod tracking;

use crate::rules::types::Evidence;
use crate::site::Training;
pub use name::Name;
use protocol::Records;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A way to learn the canonical URLs of a site.
pub trait Method: Send + Sync {
    /// Learns on the training records of one site, up to the point where the highest false-positive rate
    /// matters: what WWW10 Figure 9 times.
    fn learn(&self, sample: &Sample<'_>) -> Box<dyn Learned>;
}

/// Input of a method.
pub struct Sample<'a> {
    /// The records that train, distinct, as found.
    pub training: Training,
    /// Records of the site.
    pub records: &'a Records,
    /// Rows that train.
    pub train: &'a [usize],
    /// Rows that a crawl would have given; only [`Name::UndustWhole`] looks at their labels.
    pub whole: &'a [usize],
    /// Share of the rows that was to train.
    pub share: f64,
    /// Most rows that were to train.
    pub max: usize,
    /// Seed of the training sample.
    pub seed: u64,
}

impl<'a> Sample<'a> {
    /// The rows `train` of `records`, and nothing beside them.
    pub fn new(records: &'a Records, train: &'a [usize]) -> Sample<'a> {
        let training = records.training(train.iter().copied());
        Sample { training, records, train, whole: train, share: 1.0, max: train.len(), seed: 0 }
    }
}

/// Candidate rules of one site.
pub trait Learned {
    /// How many candidates there are, and what they were made from.
    fn figures(&self) -> Figures {
        Figures::default()
    }

    /// The rules to deploy when no candidate (or, where the method bounds the set, no set) may have a
    /// higher pair false-positive rate (WWW10 eq. 3) than `fpr_max`, from 0 to 1.
    fn select(&self, fpr_max: f64) -> Selected;

    /// Counts of likely rules before any is validated (DustBuster, Figure 5); `None` for methods without
    /// such.
    fn detection(&self, _: &Sample<'_>) -> Option<results::Detection> {
        None
    }

    /// Distinct URLs among the rows `test` without a prediction; `None` for methods that predict nothing.
    fn missing(&self, _records: &Records, _test: &[usize]) -> Option<u64> {
        None
    }
}

/// Result of a selection.
pub struct Selected {
    /// Candidates that qualify (WWW10 Table 3).
    pub qualified: u64,
    /// Rules deployed (WWW10 Table 4).
    pub deployed: u64,
    /// The rules at work.
    pub rules: Box<dyn Canonicalizer>,
}

/// Deployed rules of one site.
pub trait Canonicalizer {
    /// Writes the canonical URL of `url` into `out`, which is cleared first. Total: what is no URL comes
    /// out as it is.
    fn canonicalize(&mut self, url: &[u8], out: &mut Vec<u8>);

    /// The rules in the order in which they are tried.
    fn report(&self) -> Vec<RuleReport>;
}

/// Figures of learning, before any rule is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Raw candidate rules (WWW10 Table 3).
    pub raw: u64,
    /// Nodes of the pattern tree; 0 without one (WWW10 Table 2).
    pub nodes: u64,
    /// Levels of the pattern tree below its root.
    pub height: u64,
}

/// A rule for readers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleReport {
    /// The rule in one line.
    pub text: String,
    /// Evidence for it, where the method counts evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// Input of methods beside the records.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Rows of the catalogue that are on.
    pub catalogue: catalogue::Switches,
    /// Host of an IP address, for the catalogue.
    pub hosts: BTreeMap<String, String>,
    /// Departures from WWW10 that are on in the published method.
    pub published: crate::site::published::Switches,
    /// Stages of undust that are left out.
    pub without: crate::site::Without,
    /// DustBuster learns from sizes of answers, not from clusters.
    pub sizes: bool,
    /// Predictions of outside methods, by name.
    pub outside: BTreeMap<name::Label, outside::Outside>,
    /// Page server of DustBuster, in place of the corpus.
    pub server: Option<std::sync::Arc<dyn dustbuster::validate::Server>>,
}

/// A method without anything to learn: a function of the URL, with the text that describes it.
#[derive(Clone)]
pub(crate) struct Constant<F> {
    pub(crate) function: F,
    pub(crate) rules: Vec<String>,
}

impl<F: Fn(&[u8], &mut Vec<u8>) + Clone + 'static> Learned for Constant<F> {
    fn figures(&self) -> Figures {
        Figures { raw: self.rules.len() as u64, ..Figures::default() }
    }

    fn select(&self, _: f64) -> Selected {
        let rules = self.rules.len() as u64;
        Selected { qualified: rules, deployed: rules, rules: Box::new(self.clone()) }
    }
}

impl<F: Fn(&[u8], &mut Vec<u8>)> Canonicalizer for Constant<F> {
    fn canonicalize(&mut self, url: &[u8], out: &mut Vec<u8>) {
        out.clear();
        (self.function)(url, out);
    }

    fn report(&self) -> Vec<RuleReport> {
        self.rules.iter().map(|text| RuleReport { text: text.clone(), evidence: None }).collect()
    }
}

/// Writes the normal form of `url` into `out`, or `url` itself where it has none.
pub(crate) fn normalize_into(url: &[u8], out: &mut Vec<u8>) -> Option<crate::url::Split> {
    let split = crate::url::normalize(url, out).ok();
    if split.is_none() {
        out.clear();
        out.extend_from_slice(url);
    }
    split
}
