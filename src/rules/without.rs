//! Sets of stages that are left out, to measure their worth (docs/method.md).

use crate::model::Stage;
use serde::{Deserialize, Serialize};

/// The stages that are left out; none by default. In a file a list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<&'static str>")]
pub struct Without(u64);

const _: () = assert!(Stage::ALL.len() <= u64::BITS as usize, "a bit for each stage");

impl Without {
    /// True where no stage is left out.
    pub fn is_nothing(&self) -> bool {
        self.0 == 0
    }

    /// True where `stage` is left out.
    pub fn has(self, stage: Stage) -> bool {
        self.0 & 1 << stage as u32 != 0
    }

    /// This set and `stage`, one that can be left out.
    #[must_use]
    pub fn and(self, stage: Stage) -> Without {
        assert!(stage.description().without.is_some(), "{stage:?} cannot be left out");
        Without(self.0 | 1 << stage as u32)
    }

    /// Its stages, in order.
    pub fn stages(self) -> impl Iterator<Item = Stage> {
        Stage::optional().filter(move |&stage| self.has(stage))
    }
}

impl FromIterator<Stage> for Without {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Without {
        stages.into_iter().fold(Without::default(), Without::and)
    }
}

impl TryFrom<Vec<String>> for Without {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Without, String> {
        let stage = |name: &String| Stage::optional().find(|stage| stage.text() == name);
        names.iter().map(|name| stage(name).ok_or_else(|| format!("no stage {name:?} can be left out"))).collect()
    }
}

impl From<Without> for Vec<&'static str> {
    fn from(without: Without) -> Vec<&'static str> {
        without.stages().map(Stage::text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_and_sets_know_their_members() {
        assert_eq!(Stage::optional().count(), 22, "a stage is new or gone: change `OF_ALL` below, too");
        for stage in Stage::optional() {
            let set = Without::default().and(stage);
            let text = format!("[\"{}\"]", stage.text());
            assert_eq!(serde_json::to_string(&set).unwrap(), text);
            assert_eq!(serde_json::from_str::<Without>(&text).unwrap(), set);
            assert_eq!(set.stages().collect::<Vec<_>>(), [stage]);
        }
        let all: Without = Stage::optional().collect();
        assert_eq!(serde_json::to_string(&all).unwrap(), OF_ALL);
        for text in ["[\"nothing\"]", "[\"reading\"]", "[\"cover\"]"] {
            assert!(serde_json::from_str::<Without>(text).is_err(), "{text}");
        }
        assert!(Without::default().is_nothing());
    }

    /// Names and order are those of files of earlier releases.
    const OF_ALL: &str = "[\"tokens\",\"functions\",\"platforms\",\"joint\",\"conditions\",\"prefixes\",\"classes\",\
        \"defaults\",\"sinks\",\"noise\",\"forms\",\"parts\",\"energy-walk\",\"mirrors\",\"fronts\",\
        \"small-samples\",\"feeds\",\"chance\",\"exceptions\",\"look-ups\",\"spans\",\"proof\"]";
}
