//! Learning parameters, as the rule file carries them.

use serde::{Deserialize, Serialize};

/// Learning parameters; all of them are written into the rule file. A file made before a parameter was added opens with
/// its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// The learner.
    pub method: Method,
    /// Highest pair false-positive rate (WWW10 eq. 3) of a deployed set, in millionths: 10,000 is 0.01.
    pub fpr_max_ppm: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { method: Method::Undust, fpr_max_ppm: 10_000 }
    }
}

/// Which learner, and what is measured apart from the records (design, section 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Stages 1 to 8 of the design.
    #[default]
    Undust,
    /// WWW10 as published, graph selection (5.3).
    PublishedGraph,
    /// WWW10 as published, naive selection (5.3).
    PublishedNaive,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_a_file_does_not_name_have_their_defaults() {
        let read = |text: &str| serde_json::from_str::<Params>(text).unwrap();
        assert_eq!(read("{}"), Params::default());
        let want = Params { method: Method::PublishedNaive, ..Params::default() };
        assert_eq!(read(r#"{"method":"published-naive"}"#), want);
    }
}
