//! Learning parameters, as the rule file carries them.

use super::platforms::Platforms;
use super::thresholds::{Threshold, Thresholds, parse};
use super::without::Without;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::ops::RangeInclusive;

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
    /// Thresholds; those that are not the default are written.
    #[serde(skip_serializing_if = "Thresholds::is_default")]
    pub thresholds: Thresholds,
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
            thresholds: Thresholds::default(),
        }
    }
}

/// A parameter outside of [`Thresholds`] that is set by name.
struct Own {
    name: &'static str,
    of: fn(&mut Params) -> &mut u32,
    range: RangeInclusive<u32>,
    reason: &'static str,
}

const OWN: [Own; 3] = [
    Own {
        name: "fragment_clusters",
        of: |params| &mut params.fragment_clusters,
        range: 1..=1_000_000,
        reason: "Clusters that must show that the fragments of a site tell its pages apart, so that they are keys: one \
                 or two may be pages that changed between two fetches.",
    },
    Own {
        name: "platforms.share_permille",
        of: |params| &mut params.platforms.share_permille,
        range: 0..=1_000,
        reason: "Share of the URLs of a directory that meet the signature of a program for it to be recognised, in \
                 thousandths.",
    },
    Own {
        name: "platforms.urls",
        of: |params| &mut params.platforms.urls,
        range: 1..=1_000_000,
        reason: "URLs of a directory that meet the signature of a program for it to be recognised.",
    },
];

/// Parameters that options of `learn` set.
const BY_OPTION: [(&str, &str); 6] = [
    ("method", "--method and --selection"),
    ("fpr_max_ppm", "--fpr-max"),
    ("extend_to_domain", "--extend-to-domain"),
    ("platforms", "--platforms"),
    ("without", "--without of `compare`, and --platforms off"),
    ("thresholds", "--set, one by one"),
];

impl Params {
    /// The parameters that are set by name, with their values here: one row each.
    pub fn table(&self) -> Vec<Threshold> {
        let (mut default, mut own) = (Params::default(), self.clone());
        let row = |Own { name, of, range, reason }: Own| {
            Threshold::of(name, [*of(&mut default), *of(&mut own)], range, reason)
        };
        OWN.into_iter().map(row).chain(self.thresholds.table()).collect()
    }

    /// Sets a parameter of [`table`](Self::table) from its text.
    ///
    /// # Errors
    /// A text that is no number or out of range, with the range; a name that is none, with those near it,
    /// or with the option that sets it.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        if let Some(own) = OWN.into_iter().find(|own| own.name == name) {
            return parse((own.of)(self), name, text, own.range);
        }
        if self.thresholds.set(name, text)? {
            return Ok(());
        }
        if let Some((_, option)) = BY_OPTION.iter().find(|(of, _)| *of == name) {
            return Err(format!("{name} is set by {option}"));
        }
        let near = near(name);
        let near = if near.is_empty() { String::new() } else { format!(" (near it: {})", near.join(", ")) };
        Err(format!("no parameter is named {name}{near}; --set help lists all"))
    }
}

/// Names of parameters like `name`, at most five: those that have its words, then those of few other
/// letters.
fn near(name: &str) -> Vec<&'static str> {
    let words: Vec<&str> = name.split(['_', '-', '.']).filter(|word| word.len() > 2).collect();
    let rank = |of: &'static str| {
        let common = words.iter().filter(|word| of.contains(**word)).count();
        let letters = distance(name, of);
        let is_near = letters <= 2 + name.len() / 5 || common > 0;
        is_near.then_some((letters > 2 + name.len() / 5, Reverse(common), letters, of))
    };
    let names = OWN.into_iter().map(|of| of.name).chain(Thresholds::NAMES.iter().copied());
    let mut ranked: Vec<_> = names.filter_map(rank).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(5).map(|of| of.3).collect()
}

/// Letters to insert, remove or replace to make one text of the other. O(product of their lengths).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
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
    use super::*;
    use crate::model::Stage;

    #[test]
    fn parameters_that_a_file_does_not_name_have_their_defaults() {
        let read = |text: &str| serde_json::from_str::<Params>(text).unwrap();
        assert_eq!(read("{}"), Params::default());
        let want = Params { method: Method::PublishedNaive, ..Params::default() };
        assert_eq!(read(r#"{"method":"published-naive"}"#), want);
        let less = Params { without: Without::default().and(Stage::ValueRanges), ..Params::default() };
        let text = serde_json::to_string(&less).unwrap();
        assert_eq!(text, r#"{"method":"undust","fpr_max_ppm":10000,"fragment_clusters":3,"without":["spans"]}"#);
        assert_eq!(read(&text), less);
        assert!(!serde_json::to_string(&Params::default()).unwrap().contains("without"));
        let wider = Params { extend_to_domain: true, ..Params::default() };
        let text = serde_json::to_string(&wider).unwrap();
        assert_eq!(text, r#"{"method":"undust","fpr_max_ppm":10000,"fragment_clusters":3,"extend_to_domain":true}"#);
        assert_eq!(read(&text), wider);
    }

    #[test]
    fn parameters_are_set_by_name() {
        let mut params = Params::default();
        for (name, value) in [("min_good", "4"), ("fragment_clusters", "7"), ("platforms.urls", "30")] {
            assert_eq!(params.set(name, value), Ok(()));
        }
        assert_eq!((params.thresholds.min_good, params.fragment_clusters, params.platforms.urls), (4, 7, 30));
        let text = serde_json::to_string(&params).unwrap();
        assert!(text.ends_with(r#""urls":30},"thresholds":{"min_good":4}}"#), "{text}");
        assert_eq!(serde_json::from_str::<Params>(&text).unwrap(), params);
        assert!(!serde_json::to_string(&Params::default()).unwrap().contains("thresholds"));
        let changed = params.table().into_iter().filter(|of| of.value != of.default);
        let changed: Vec<_> = changed.map(|of| (of.name, of.value)).collect();
        assert_eq!(changed.len(), 3, "{changed:?}");
    }

    #[test]
    fn a_name_that_is_none_is_answered_with_those_near_it() {
        let error = |name: &str| Params::default().set(name, "1").unwrap_err();
        assert!(
            error("agreement").contains("near it: agreement_percent, agreement_some_percent, "),
            "{}",
            error("agreement")
        );
        assert!(error("min_goods").contains("(near it: min_good, "), "{}", error("min_goods"));
        assert!(error("zzzzzzzz").ends_with("no parameter is named zzzzzzzz; --set help lists all"));
        assert_eq!(error("fpr_max_ppm"), "fpr_max_ppm is set by --fpr-max");
        let out = Params::default().set("fragment_clusters", "0").unwrap_err();
        assert_eq!(out, "fragment_clusters=0: fragment_clusters is a number from 1 to 1000000");
        assert_eq!((distance("a", "abc"), distance("min", "main"), distance("", "x")), (2, 1, 1));
    }
}
