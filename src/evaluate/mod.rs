//! From canonical URLs to figures: the quality of a rule set on labelled records.
//!
//! Pure. A row is a URL, its canonical URL and the label of its duplicate cluster, in the order in
//! which a crawler meets them. [`Pages`] keeps the rows of one site as hashes, [`Pages::counts`] turns
//! them into [`Counts`] (sufficient statistics, whole numbers), [`Rates::of`] turns counts into
//! figures, and [`Summary`] joins the sites: micro (rates of the summed counts) and macro (mean of the
//! sites' rates). [`Evaluation`] does all of it over batches of records.
//!
//! What the papers leave open is read so:
//!
//! - **One canonical URL is one page**, the first URL in input order that has this canonical URL: that
//!   is what a crawler fetches. The clusters of those pages are *covered* (the `#Covered` of the SIGIR
//!   2017 paper).
//! - Compression rate (WWW10 eq. 1): 1 - canonical URLs / URLs.
//! - Dup-reduction rate (WWW10 eq. 2): the number of clusters after normalization is not defined where
//!   a canonical URL mixes clusters. One-page reading: the covered clusters; the rate is then 1 for
//!   "merge everything", so it says nothing without recall. Naive reading: all clusters, before as
//!   after; it exceeds 1 as soon as clusters are mixed.
//! - Pair fpr (WWW10 eq. 3): over unordered pairs of distinct URLs of one canonical URL.
//! - A URL that is seen again counts once, its first row wins; a row without a label counts for
//!   nothing.

mod counts;
mod pages;
mod rates;
mod sites;
#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use pages::Pages;
pub use rates::{Rates, Summary};
pub use sites::{Evaluation, Grouping, SiteFigures};
