//! Readings of the published method.

use serde::{Deserialize, Serialize};

/// Which values of a key are salient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Salient {
    /// Those before the largest drop of the log frequency (eq. 5, sign mended).
    #[default]
    Eq5,
    /// Those in at least max(8, 1 %) of the clusters of the node, no bare numbers.
    Frequency,
}

/// The denominators of eq. 6 and of the duplicate rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// All URLs of the nodes.
    #[default]
    AllUrls,
    /// URLs of clusters with at least two training URLs, so that the overlap does not shrink with the
    /// sampling rate.
    Duplicated,
}

/// Similarity measure of two keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sigma {
    /// The share of common values (Algorithm 3).
    #[default]
    ValueSets,
    /// The share of common clusters in which the keys share a value.
    Agreement,
}

/// The false-positive rate that qualifies a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fpr {
    /// Pairs (eq. 3).
    #[default]
    Pair,
    /// URLs that fall to another cluster's.
    Url,
    /// Upper Wilson bound (z = 1) of the per-URL rate.
    Wilson,
}

/// The departures of undust from WWW10 that can be made one by one, and the thresholds of the paper.
/// The default is the literal reading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switches {
    /// Which values get a node of their own.
    pub salient: Salient,
    /// An absent key is a value of its own when a node is split; otherwise URLs without it count as
    /// trivial.
    pub presence: bool,
    /// A node and its ancestor may be a pair of duplicate nodes.
    pub nested: bool,
    /// Denominators of the overlap.
    pub overlap: Overlap,
    /// Similarity measure of keys.
    pub sigma: Sigma,
    /// False-positive rate that qualifies a candidate.
    pub fpr: Fpr,
    /// Rules from a destination to itself are kept, against "remove those rules which start from the
    /// destinations".
    pub self_rules: bool,
    /// Concatenated rules must qualify again.
    pub revalidate: bool,
    /// Least overlap of duplicate nodes (0.5 in the paper).
    pub overlap_min: f64,
    /// A mapping needs a rate of common values above this (0.5 in the paper).
    pub sigma_min: f64,
    /// A replace is fake when more than this share of the common clusters shows several values (no figure
    /// in the paper).
    pub fake_max: f64,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches {
            salient: Salient::Eq5,
            presence: true,
            nested: true,
            overlap: Overlap::AllUrls,
            sigma: Sigma::ValueSets,
            fpr: Fpr::Pair,
            self_rules: false,
            revalidate: false,
            overlap_min: 0.5,
            sigma_min: 0.5,
            fake_max: 0.5,
        }
    }
}

impl Switches {
    /// Names of the departures that are on, for [`crate::rules::types::Rule::departures`].
    pub fn departures(&self) -> Vec<String> {
        let literal = Switches::default();
        let all = [
            ("salient-by-frequency", self.salient != literal.salient),
            ("absence-no-value", self.presence != literal.presence),
            ("no-nested-pairs", self.nested != literal.nested),
            ("overlap-of-duplicated", self.overlap != literal.overlap),
            ("mapping-by-agreement", self.sigma != literal.sigma),
            ("fpr-per-url", self.fpr == Fpr::Url),
            ("fpr-wilson", self.fpr == Fpr::Wilson),
            ("self-rules-kept", self.self_rules != literal.self_rules),
            ("chains-proven-again", self.revalidate != literal.revalidate),
        ];
        all.into_iter().filter(|d| d.1).map(|d| d.0.to_owned()).collect()
    }
}
