//! Synthetic sites with known truth, for trials and benchmarks: every kind of DUST that the papers
//! name, at the scale of WWW10, table 1, with label noise on request; and, where they are asked
//! for, sites that mislead a learner of rules ([`kind::TRAPS`]), and sites that need or tempt single
//! kinds of rules ([`kind::SHAPES`]).
//!
//! A corpus is a function of its [`Options`]. A [`SitePlan`] gives any record of a site by its position
//! in the crawl, in constant memory, so workers and shards change nothing; URLs are written into
//! buffers of the caller. No URL comes twice in a site: a page's members differ in form, mirror or
//! scheme, and beyond these in a session or click id. Writing files is the job's business.

mod aliases;
mod comma_lists;
mod constant;
pub mod decor;
mod facets;
pub mod kind;
mod lists;
mod mapping;
mod negatives;
pub mod options;
pub mod parts;
mod place;
pub mod plan;
pub mod record;
pub mod rng;
mod shapes;
pub mod sizes;
mod syntax;
mod titles;
mod traps;
mod value_ends;
pub mod view;
mod views;
pub mod words;

pub use options::{Error, Options};
pub use plan::{PlannedRecord, SitePlan};
pub use record::{Counts, Layout, Writer};

#[cfg(test)]
mod tests;

/// Plans every site of a corpus.
///
/// # Errors
/// Parameters that make no corpus.
pub fn plan(options: &Options) -> Result<Vec<SitePlan>, Error> {
    options.check()?;
    let sizes = options.sizes();
    Ok((0..).zip(sizes).map(|(index, rows)| SitePlan::new(options, index, rows)).collect())
}
