//! Stages of the undust method that can be left out, to measure their worth (docs/method.md).

use serde::{Deserialize, Serialize};

/// A stage of the method, with the module of `site` that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Cuts at delimiters, chosen by hold-out (`tokens`): without it segments and queries are cut as every
    /// site's.
    Tokens,
    /// String functions of values (`operations`).
    Functions,
    /// Lines of the catalogue of recognised programs (`lines`).
    Platforms,
    /// Ignores of several keys together (`joint`).
    Joint,
    /// Operations under a condition (`conditions`).
    Conditions,
    /// Paths of which the front alone names the page (`prefixes`).
    Prefixes,
    /// Classes of values (`classes`).
    Classes,
    /// Defaults that are written out together (`defaults`).
    Defaults,
    /// Rows of constant pages that need less evidence (`sinks`).
    Soft404s,
    /// Tolerance of the label noise that a site shows (`noise`).
    Noise,
    /// Rules between forms (`forms`, `select`).
    Forms,
    /// Forms of their own for the values of a key that show the pages of another form (`parts`).
    Parts,
    /// The energy walk (`energy`): without it destinations come by fewest unmapped keys and largest volume.
    EnergyWalk,
    /// Mirrored directories (`mirrors`).
    Mirrors,
    /// Of those, scripts that can be left out and parameters that hold the rest of a path.
    Fronts,
    /// More evidence where the sample is small (`small_samples`).
    SmallSamples,
    /// Scopes that are right by chance (`chance`).
    Chance,
    /// Exceptions of rules, page by page (`lookups`).
    Exceptions,
    /// Look-ups of single URLs (`lookups`).
    LookUps,
    /// Value ranges of one key on one page (`spans`).
    ValueRanges,
    /// The proof over all records (`dataflow::verdict`). Only a comparison can leave it out.
    Proof,
}

impl Stage {
    /// All stages, about in the order of learning: noise is measured in the first pass of the covering loop, and
    /// constant pages and small samples count in several of its levels.
    pub const ALL: [Stage; 21] = [
        Stage::Tokens,
        Stage::Functions,
        Stage::Platforms,
        Stage::Joint,
        Stage::Conditions,
        Stage::Prefixes,
        Stage::Classes,
        Stage::Defaults,
        Stage::Soft404s,
        Stage::Noise,
        Stage::Forms,
        Stage::Parts,
        Stage::EnergyWalk,
        Stage::Mirrors,
        Stage::Fronts,
        Stage::SmallSamples,
        Stage::Chance,
        Stage::Exceptions,
        Stage::LookUps,
        Stage::ValueRanges,
        Stage::Proof,
    ];

    /// Name on the command line and in the rule file.
    pub fn text(self) -> &'static str {
        match self {
            Stage::Tokens => "tokens",
            Stage::Functions => "functions",
            Stage::Platforms => "platforms",
            Stage::Joint => "joint",
            Stage::Conditions => "conditions",
            Stage::Prefixes => "prefixes",
            Stage::Classes => "classes",
            Stage::Defaults => "defaults",
            Stage::Soft404s => "sinks",
            Stage::Noise => "noise",
            Stage::Forms => "forms",
            Stage::Parts => "parts",
            Stage::EnergyWalk => "energy-walk",
            Stage::Mirrors => "mirrors",
            Stage::Fronts => "fronts",
            Stage::SmallSamples => "small-samples",
            Stage::Chance => "chance",
            Stage::Exceptions => "exceptions",
            Stage::LookUps => "look-ups",
            Stage::ValueRanges => "spans",
            Stage::Proof => "proof",
        }
    }

    /// The inverse of [`text`](Self::text).
    pub fn parse(text: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.text() == text)
    }
}

/// The stages that are left out; none by default. In a file a list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Stage>", into = "Vec<Stage>")]
pub struct Without(u32);

impl Without {
    /// True where no stage is left out.
    pub fn is_nothing(&self) -> bool {
        self.0 == 0
    }

    /// True where `stage` is left out.
    pub fn has(self, stage: Stage) -> bool {
        self.0 & 1 << stage as u16 != 0
    }

    /// This set and `stage`.
    #[must_use]
    pub fn and(self, stage: Stage) -> Without {
        Without(self.0 | 1 << stage as u16)
    }
}

impl From<Vec<Stage>> for Without {
    fn from(stages: Vec<Stage>) -> Without {
        stages.into_iter().fold(Without::default(), Without::and)
    }
}

impl From<Without> for Vec<Stage> {
    fn from(without: Without) -> Vec<Stage> {
        Stage::ALL.into_iter().filter(|&stage| without.has(stage)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_and_sets_know_their_members() {
        for stage in Stage::ALL {
            assert_eq!(Stage::parse(stage.text()), Some(stage));
            let set = Without::default().and(stage);
            assert_eq!(serde_json::to_string(&set).unwrap(), format!("[\"{}\"]", stage.text()));
            assert_eq!(serde_json::from_str::<Without>(&format!("[\"{}\"]", stage.text())).unwrap(), set);
            assert_eq!(Stage::ALL.iter().filter(|&&other| set.has(other)).count(), 1);
        }
        assert!(serde_json::from_str::<Without>("[\"nothing\"]").is_err() && Without::default().is_nothing());
    }
}
