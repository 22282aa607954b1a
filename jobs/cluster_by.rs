//! Kinds of evidence that make a cluster.

use clap::ValueEnum;
use undust::dataflow::clusters::By;

/// Evidence that makes a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClusterBy {
    Auto,
    Label,
    Digest,
    Simhash,
    Canonical,
    Redirect,
}

impl ClusterBy {
    /// Evidence by which the records are clustered; `None` where their own labels count.
    pub fn by(self) -> Option<By> {
        match self {
            ClusterBy::Auto | ClusterBy::Label => None,
            ClusterBy::Digest => Some(By::Digest),
            ClusterBy::Simhash => Some(By::Simhash),
            ClusterBy::Canonical => Some(By::Canonical),
            ClusterBy::Redirect => Some(By::Redirect),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            ClusterBy::Auto => "auto",
            ClusterBy::Label => "label",
            ClusterBy::Digest => "digest",
            ClusterBy::Simhash => "simhash",
            ClusterBy::Canonical => "canonical",
            ClusterBy::Redirect => "redirect",
        }
    }
}
