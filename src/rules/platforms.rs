//! Programs that serve web sites: their entries in the catalogue ([`crate::platforms`]), and the
//! programs that a site runs.
//!
//! Keys of scopes are those of an installation at the root of a host;
//! [`platforms::place`](mod@crate::platforms::place) moves them into the directory in which the program was recognised.

use super::types::{Constraint, Operation};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One line of a catalogue file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A program and its signature.
    Program(Program),
    /// A rule for a part of the URLs of a program.
    Line(Line),
}

/// A program, and the URLs by which it is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Short name, for example `phpbb-2`.
    pub id: String,
    /// Name for people, for example `phpBB 2`.
    pub title: String,
    /// Its own links separate parameters by `;`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub semicolons: bool,
    /// Scopes of URLs that count towards the share of the signature.
    pub counts: Vec<Vec<Constraint>>,
    /// Scopes of URLs that count as well, one of which a site must show: they distinguish the program from
    /// its relatives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Vec<Constraint>>,
    /// Scopes of URLs that only relatives have: where they are more than the marks, it is not this program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<Vec<Constraint>>,
}

/// A rule that holds wherever a program runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Short name within the program, for example `topic-session`.
    pub id: String,
    /// Id of the program.
    pub program: String,
    /// Versions of the program for which it holds.
    pub versions: String,
    /// Source of the documentation: a page of the vendor, or a file in the vendor's repository.
    pub source: String,
    /// Whether a public corpus holds the program.
    pub status: Status,
    /// Scope; names a script or another part of the path.
    pub scope: Vec<Constraint>,
    /// Operations, one a key.
    pub operations: Vec<(String, Operation)>,
    /// URLs before and after.
    pub examples: Vec<[String; 2]>,
    /// URLs that it must not change.
    pub stays: Vec<String>,
}

impl Line {
    /// Its name among the lines of all programs: `phpbb-2/topic-session`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.program, self.id)
    }
}

/// Data that a line was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// A public corpus holds the program: the line is a candidate by default.
    Tested,
    /// No public corpus holds it: the line acts provisionally or not at all.
    Untested,
}

/// A program that a site runs in one of its directories.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Recognised {
    /// Id of the program.
    pub program: String,
    /// The directory, with a slash at either end: `/` or `/forum/`.
    pub directory: String,
    /// Hosts that show it, where not all hosts of the site with URLs in the directory do; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Sampled URLs that meet the signature; 0 where the program was named by the user.
    pub met: u64,
    /// Sampled URLs in the directory on these hosts.
    pub urls: u64,
}

/// Role of the catalogue in learning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Platforms {
    /// Lines of recognised programs act before any evidence.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// Least share of the URLs of a directory that meet the signature of its program, in thousandths.
    pub share_permille: u32,
    /// Least number of these URLs.
    pub urls: u32,
    /// Ids of programs that every site runs at its root, whatever its URLs show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// Lines of the user's own file.
    #[serde(skip_serializing_if = "is_empty")]
    pub own: Arc<Vec<Entry>>,
}

impl Default for Platforms {
    fn default() -> Platforms {
        Platforms { provisional: false, share_permille: 200, urls: 10, named: Vec::new(), own: Arc::default() }
    }
}

impl Platforms {
    /// True for the defaults, which rule files do not write.
    pub fn is_default(&self) -> bool {
        *self == Platforms::default()
    }
}

fn is_empty(entries: &Arc<Vec<Entry>>) -> bool {
    entries.is_empty()
}
