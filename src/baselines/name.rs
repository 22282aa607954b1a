//! Names of methods: those of this program, and labels of outside ones.

use super::{Method, Setup};
use crate::model::shown::within;
use serde::{Deserialize, Serialize};

/// Longest name of an outside method in bytes.
pub const LONGEST: usize = 32;

/// Name of an outside method: 1 to [`LONGEST`] letters (ASCII), digits, `.`, `_` and `-`, the first a
/// letter or digit, and not the name of a method of this program in letters of any case. Such a name
/// needs no escape in a table, a page or a terminal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// Filled up with zeros, so that labels are ordered as their texts.
    bytes: [u8; LONGEST],
}

impl Label {
    /// The label of a text; `None` for a text that is none.
    pub fn new(text: &str) -> Option<Label> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let first = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        let ours = || Name::ALL.iter().any(|name| name.text().eq_ignore_ascii_case(text));
        if !first || text.len() > LONGEST || !text.bytes().all(fits) || ours() {
            return None;
        }
        let mut bytes = [0; LONGEST];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Some(Label { bytes })
    }

    /// The text.
    pub fn text(&self) -> &str {
        let length = self.bytes.iter().position(|&b| b == 0).unwrap_or(LONGEST);
        std::str::from_utf8(&self.bytes[..length]).unwrap_or_default()
    }
}

impl std::fmt::Debug for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.text(), f)
    }
}

/// The methods, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Name {
    /// [`keep_all`](super::keep_all)
    KeepAll,
    /// [`rfc3986`](super::rfc3986)
    Rfc3986,
    /// [`catalogue`](super::catalogue) with all switches on
    Catalogue,
    /// [`drop_query`](super::drop_query)
    DropQuery,
    /// [`tracking`](super::tracking)
    Tracking,
    /// Lines of the catalogue of platforms for the programs that the site runs, without evidence
    Platforms,
    /// [`fan_out`](super::fan_out) of 5
    FanOut5,
    /// [`fan_out`](super::fan_out) of 10
    FanOut10,
    /// [`dustbuster`](super::dustbuster) with the clusters as fingerprints
    Dustbuster,
    /// [`decision_tree`](super::decision_tree)
    DecisionTree,
    /// [`published`](super::published) with naive selection
    PublishedNaive,
    /// [`published`](super::published) with selection by graph
    PublishedGraph,
    /// `undust learn` on the training records
    Undust,
    /// `undust learn` on all records with `--train-share`: its proof sees the labels of the test
    UndustWhole,
    /// [`outside`](super::outside): predictions of another program
    Outside(Label),
}

impl Name {
    /// All methods of this program.
    pub const ALL: [Name; 14] = [
        Name::KeepAll,
        Name::Rfc3986,
        Name::Catalogue,
        Name::DropQuery,
        Name::Tracking,
        Name::Platforms,
        Name::FanOut5,
        Name::FanOut10,
        Name::Dustbuster,
        Name::DecisionTree,
        Name::PublishedNaive,
        Name::PublishedGraph,
        Name::Undust,
        Name::UndustWhole,
    ];

    /// Name on the command line and in the tables.
    pub fn text(&self) -> &str {
        match self {
            Name::KeepAll => "keep-all",
            Name::Rfc3986 => "rfc3986",
            Name::Catalogue => "catalogue",
            Name::DropQuery => "drop-query",
            Name::Tracking => "tracking",
            Name::Platforms => "platforms",
            Name::FanOut5 => "fan-out-5",
            Name::FanOut10 => "fan-out-10",
            Name::Dustbuster => "dustbuster",
            Name::DecisionTree => "decision-tree",
            Name::PublishedNaive => "published-naive",
            Name::PublishedGraph => "published-graph",
            Name::Undust => "undust",
            Name::UndustWhole => "undust-whole",
            Name::Outside(label) => label.text(),
        }
    }

    /// The method of this program with this name.
    pub fn parse(text: &str) -> Option<Name> {
        Name::ALL.into_iter().find(|name| name.text() == text)
    }

    /// True for a method whose rules use no labels of the test: these are ranked. Outside methods are
    /// ranked: whether they saw those labels is unknown here.
    pub fn is_blind(self) -> bool {
        self != Name::UndustWhole
    }

    /// The method, ready to learn; `None` for undust itself and for `platforms`, which need more than this
    /// module has.
    pub fn method(self, setup: &Setup) -> Option<Box<dyn Method>> {
        Some(match self {
            Name::KeepAll => Box::new(super::keep_all::KeepAll),
            Name::Rfc3986 => Box::new(super::rfc3986::Rfc3986),
            Name::Catalogue => {
                Box::new(super::catalogue::Catalogue { switches: setup.catalogue, hosts: setup.hosts.clone() })
            }
            Name::DropQuery => Box::new(super::drop_query::DropQuery),
            Name::Tracking => Box::new(super::tracking::Tracking),
            Name::FanOut5 => Box::new(super::fan_out::FanOut { least: 5 }),
            Name::FanOut10 => Box::new(super::fan_out::FanOut { least: 10 }),
            Name::Dustbuster => Box::new(super::dustbuster::DustBuster {
                sizes: setup.sizes,
                server: setup.server.clone(),
                ..super::dustbuster::DustBuster::default()
            }),
            Name::DecisionTree => Box::new(super::decision_tree::DecisionTree),
            Name::PublishedNaive => Box::new(super::published::Published { naive: true, switches: setup.published }),
            Name::PublishedGraph => Box::new(super::published::Published { naive: false, switches: setup.published }),
            Name::Outside(label) => Box::new(setup.outside.get(&label).cloned().unwrap_or_default()),
            Name::Platforms | Name::Undust | Name::UndustWhole => return None,
        })
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.text().to_owned()
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Name, String> {
        let name = Name::parse(&text).or_else(|| Label::new(&text).map(Name::Outside));
        name.ok_or_else(|| format!("{:?} is not the name of a method", within(&text, 2 * LONGEST)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_plain_and_not_ours() {
        let longest = "x".repeat(LONGEST);
        for text in ["w3lib", "url-normalize", "a.b_c-1", &longest] {
            let label = Label::new(text).expect(text);
            assert_eq!((label.text(), Name::Outside(label).text()), (text, text));
        }
        let long = "x".repeat(LONGEST + 1);
        for text in [
            "", "undust", "Undust", "KEEP-ALL", "keep-all", "-x", ".x", "a b", "a=b", "a@1", "<b>", "\u{1b}", "ü",
            &long,
        ] {
            assert_eq!(Label::new(text), None, "{text}");
        }
        assert!(Label::new("a") < Label::new("aa") && Label::new("aa") < Label::new("b"));
    }

    #[test]
    fn names_are_written_as_the_tables_write_them() {
        let outside = Name::Outside(Label::new("w3lib").expect("a label"));
        for name in Name::ALL.into_iter().chain([outside]) {
            let json = serde_json::to_string(&name).expect("JSON");
            assert_eq!(json, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Name>(&json).expect("the same"), name);
        }
        assert!(serde_json::from_str::<Name>("\"<script>\"").is_err());
        let long = serde_json::from_str::<Name>(&format!("\"{}\"", "x".repeat(10_000))).expect_err("too long");
        assert!(long.to_string().len() < 200, "{long}");
    }
}
