//! Learning parameters, as the rule file carries them.

use super::platforms::Platforms;
use super::stages::Without;
use serde::{Deserialize, Serialize};

/// Learning parameters; all of them are written into the rule file. A file made before a parameter was
/// added opens with its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// The learner.
    pub method: Method,
    /// Highest pair false-positive rate (WWW10 eq. 3) of a deployed set, in millionths: 10,000 is 0.01.
    pub fpr_max_ppm: u32,
    /// Clusters that must show that the fragments of a site tell its pages apart, so that they are keys:
    /// one or two may be pages that changed between two fetches.
    pub fragment_clusters: u32,
    /// Rules also act on hosts of the registrable domain that no record has, where hosts enough show them
    /// ([`Rule::extended`](crate::rules::Rule)); not written where it is off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub extend_to_domain: bool,
    /// Role of the catalogue of platforms; not written where that is the default.
    #[serde(skip_serializing_if = "Platforms::is_default")]
    pub platforms: Platforms,
    /// Stages of the undust method that are left out, to measure their worth; not written where there are
    /// none.
    #[serde(skip_serializing_if = "Without::is_nothing")]
    pub without: Without,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            method: Method::Undust,
            fpr_max_ppm: 10_000,
            fragment_clusters: 3,
            extend_to_domain: false,
            platforms: Platforms::default(),
            without: Without::default(),
        }
    }
}

/// Learner of the rules: undust, or the published method that it is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The undust method (docs/method.md, "What undust does").
    #[default]
    Undust,
    /// WWW10 as published, graph selection (5.3).
    PublishedGraph,
    /// WWW10 as published, naive selection (5.3).
    PublishedNaive,
}

#[cfg(test)]
mod tests {
    use super::super::stages::Stage;
    use super::*;

    #[test]
    fn parameters_that_a_file_does_not_name_have_their_defaults() {
        let read = |text: &str| serde_json::from_str::<Params>(text).unwrap();
        assert_eq!(read("{}"), Params::default());
        let want = Params { method: Method::PublishedNaive, ..Params::default() };
        assert_eq!(read(r#"{"method":"published-naive"}"#), want);
        let less = Params { without: Without::default().and(Stage::Spans), ..Params::default() };
        let text = serde_json::to_string(&less).unwrap();
        assert_eq!(text, r#"{"method":"undust","fpr_max_ppm":10000,"fragment_clusters":3,"without":["spans"]}"#);
        assert_eq!(read(&text), less);
        assert!(!serde_json::to_string(&Params::default()).unwrap().contains("without"));
        let wider = Params { extend_to_domain: true, ..Params::default() };
        let text = serde_json::to_string(&wider).unwrap();
        assert_eq!(text, r#"{"method":"undust","fpr_max_ppm":10000,"fragment_clusters":3,"extend_to_domain":true}"#);
        assert_eq!(read(&text), wider);
    }
}
