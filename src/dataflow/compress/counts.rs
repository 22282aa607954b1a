//! Counts of documents and URLs.

use serde::{Deserialize, Serialize};

/// Counts of documents and URLs; those of several workers add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Documents of the old index.
    pub docs: u64,
    /// Documents without a URL, or with one that is not http or https: each stays, alone.
    pub without_url: u64,
    /// Documents that were merged into another.
    pub merged: u64,
    /// Groups of more than one document.
    pub groups: u64,
    /// Lines of the list of URLs.
    pub lines: u64,
    /// Lines without a tab, whose URL is no absolute http or https URL, or whose id is no number.
    pub bad_lines: u64,
    /// Good lines that name no document.
    pub idle_lines: u64,
    /// Two lines that give one document two canonical URLs: the first such pair.
    pub conflict: Option<(u64, u64)>,
}

impl Counts {
    /// Adds those of another worker.
    pub fn add(&mut self, other: Counts) {
        self.docs += other.docs;
        self.without_url += other.without_url;
        self.merged += other.merged;
        self.groups += other.groups;
        self.lines += other.lines;
        self.bad_lines += other.bad_lines;
        self.idle_lines += other.idle_lines;
        self.conflict = [self.conflict, other.conflict].into_iter().flatten().min();
    }
}
