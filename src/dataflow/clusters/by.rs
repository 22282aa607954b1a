//! Kinds of evidence that two pages are one cluster.

/// Evidence that two pages are one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Equal digests of the content.
    Digest,
    /// Equal main texts, or near ones under one title.
    Simhash,
    /// The canonical URL that a page declares.
    Canonical,
    /// The URL that an answer redirects to.
    Redirect,
}
