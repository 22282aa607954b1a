//! Result of a comparison, in whole numbers: the one input of every table, chart and report.
//!
//! `comparison.json` holds a [`Comparison`]; the same records and plan give the same bytes on any
//! number of workers. Times are kept apart in [`Times`], since no two runs agree on them.

use super::{Figures, Name, RuleReport};
use crate::evaluate::Counts;
use crate::site::Without;
use serde::{Deserialize, Serialize};

/// How records become training and test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// WWW10, section 6.1: a random share trains, at most so many URLs a site; all URLs test.
    #[default]
    Www10,
    /// SIGIR 2017, section 3.1: the first 15,000 URLs of a site train, the next 5,000 test, in crawl order.
    Sigir2017,
}

/// All sites under one plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Version of this format.
    pub version: u32,
    /// The protocol.
    pub protocol: Protocol,
    /// Methods in the order of the tables.
    pub methods: Vec<Name>,
    /// Highest false-positive rates, rising.
    pub fpr_max: Vec<f64>,
    /// The one that tables without such an axis show, by index.
    pub headline: usize,
    /// Seeds of the training samples.
    pub seeds: Vec<u64>,
    /// Share of the URLs that train (WWW10 protocol).
    pub train_share: f64,
    /// Most URLs of a site that train.
    pub train_max: u64,
    /// Stages of undust that were left out.
    #[serde(default, skip_serializing_if = "Without::is_nothing")]
    pub without: Without,
    /// Files of predictions, by method and seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<Coverage>,
    /// Sites by name.
    pub sites: Vec<Site>,
}

impl Comparison {
    /// A copy of the plan without sites.
    pub fn clone_plan(&self) -> Comparison {
        Comparison {
            version: self.version,
            protocol: self.protocol,
            methods: self.methods.clone(),
            fpr_max: self.fpr_max.clone(),
            headline: self.headline,
            seeds: self.seeds.clone(),
            train_share: self.train_share,
            train_max: self.train_max,
            without: self.without,
            predictions: Vec::new(),
            sites: Vec::new(),
        }
    }
}

/// Version of [`Comparison`].
pub const VERSION: u32 = 1;

/// One site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// Its name.
    pub site: String,
    /// Distinct labelled URLs that test.
    pub urls: u64,
    /// Their clusters.
    pub clusters: u64,
    /// URLs that trained, a number a seed.
    pub trained: Vec<u64>,
    /// A run a method and seed.
    pub runs: Vec<Run>,
    /// The pattern tree of the first seed (WWW10, Algorithm 1), root first.
    pub tree: Vec<TreeNode>,
    /// Nodes of that tree, those left out of `tree` included.
    pub tree_nodes: u64,
    /// Rules and examples of each method for the first seed.
    pub shown: Vec<Shown>,
}

/// One method on one site and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The method.
    pub method: Name,
    /// Index of the seed.
    pub seed: usize,
    /// Figures of learning.
    pub figures: Figures,
    /// One a highest false-positive rate.
    pub fits: Vec<Fit>,
    /// DustBuster's rules before validation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<Detection>,
    /// Distinct test URLs without a prediction of an outside method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
}

/// Coverage of one file of predictions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The outside method.
    pub method: Name,
    /// The seed that the file is for; `None`: all.
    pub seed: Option<u64>,
    /// Lines that are predictions, repeated ones included.
    pub lines: u64,
    /// Lines that are none.
    pub rejected: u64,
    /// Lines that repeat an earlier one.
    pub duplicated: u64,
    /// URLs that no labelled record has.
    pub unknown: u64,
}

/// Rules that DustBuster detects before any page is fetched, with the verdict of pages (WWW 2007, Table
/// 2 and Figure 5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detection {
    /// URLs that it learned from.
    pub urls: u64,
    /// Number of forms of these URLs under the rules that are valid at a refutation threshold of 5 %.
    pub forms: u64,
    /// With the cue to similarity: sizes or fingerprints.
    pub with_cue: Tried,
    /// Without it, by support alone.
    pub without_cue: Tried,
    /// The most likely rules, with the cue: each with its support.
    pub first: Vec<(String, u32)>,
}

/// Likely rules that were tried one by one, most likely first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Rules of the first phase.
    pub detected: u64,
    /// Rules that the elimination of redundant ones leaves.
    pub likely: u64,
    /// How many of them were tried, the first ones.
    pub tried: u64,
    /// Places, from 0, of those that are valid in at least one direction; rising.
    pub valid: Vec<u32>,
    /// Places of rules without a page; rising.
    pub unknown: Vec<u32>,
}

impl Tried {
    /// Counts among the first `k`, or among all where there are fewer: rules, valid ones, unknown ones.
    pub fn at(&self, k: u64) -> [u64; 3] {
        let below = |places: &[u32]| places.partition_point(|&place| u64::from(place) < k) as u64;
        [self.tried.min(k), below(&self.valid), below(&self.unknown)]
    }
}

/// The rules deployed at one highest false-positive rate, and what they do on the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fit {
    /// Candidates that qualify.
    pub qualified: u64,
    /// Rules deployed.
    pub deployed: u64,
    /// Counts on the test.
    pub counts: Counts,
}

/// A node of the pattern tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNode {
    /// Parent in the list; the root names itself.
    pub parent: usize,
    /// The branch that leads here: key and value.
    pub branch: String,
    /// The pattern, as a URL.
    pub pattern: String,
    /// Training URLs of the node.
    pub urls: u64,
}

/// Rules and examples of a method for a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// The method.
    pub method: Name,
    /// Rules, the first ones.
    pub rules: Vec<RuleReport>,
    /// Rules beyond those.
    pub more_rules: u64,
    /// Clusters that still cost most fetches.
    pub split: Vec<Split>,
    /// Canonical URLs that join clusters.
    pub mixed: Vec<Mixed>,
}

/// A cluster whose URLs keep several canonical URLs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Canonical URLs beyond the first.
    pub extra: u64,
    /// URLs with different canonical URLs.
    pub urls: Vec<[String; 2]>,
}

/// A canonical URL of several clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mixed {
    /// The canonical URL.
    pub canonical: String,
    /// URLs that are not of its largest cluster.
    pub wrong: u64,
    /// URLs of different clusters.
    pub urls: Vec<String>,
}

/// Seconds that the steps of a method took on one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// The site.
    pub site: String,
    /// The method.
    pub method: Name,
    /// Index of the seed.
    pub seed: usize,
    /// Training URLs; 0 where not known.
    #[serde(default)]
    pub trained: u64,
    /// Making candidates (WWW10 Figure 9).
    pub learn: f64,
    /// Selecting, at the headline rate.
    #[serde(default)]
    pub select: f64,
    /// Canonicalizing the test URLs, at the headline rate.
    pub apply: f64,
    /// URLs that `apply` is for, repeated ones included; 0 where not known: the test URLs of the site.
    #[serde(default)]
    pub urls: u64,
}

/// Times of a run, by site, method and seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// All of them.
    pub times: Vec<Time>,
}
