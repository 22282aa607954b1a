//! A run of `learn` for the engineer of a crawl: what its rules save, what they risk, and how to switch
//! them off.
//!
//! One page up to [`PER_PAGE`] sites; beyond, a page that lists the sites and one for each [`PER_PAGE`]
//! of them. The same result gives the same bytes: no dates of the run, no paths, no machine. Cost: the
//! rules of one site are compiled at a time, for the canonical URLs of its examples; one page is in
//! memory.

mod head;
mod keys;
mod rejected;
mod rules;
mod site;
mod traps;
mod words;

use super::frame;
use crate::dataflow::summary::{Figures, Summary};
use crate::rules::file::Header;
use crate::rules::{Overrides, SiteRules};
use crate::site::profile::Profile;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Name of the page, or of the page that lists the others.
pub const PAGE: &str = "report.html";
/// Sites of one page.
pub const PER_PAGE: usize = 1_000;
/// Command that makes the pages again.
const COMMAND: &str = "undust report";

/// Input of the pages.
#[derive(Clone, Copy, Debug)]
pub struct Run<'r> {
    /// First line of the rule file.
    pub header: &'r Header,
    /// Figures.
    pub summary: &'r Summary,
    /// Rules of each site.
    pub sites: &'r BTreeMap<&'r str, &'r SiteRules>,
    /// Profiles by site; may lack some or all.
    pub profiles: &'r BTreeMap<&'r str, &'r Profile>,
    /// Disabled rules.
    pub overrides: &'r Overrides,
}

/// A site with all that is known of it.
#[derive(Clone, Copy, Debug)]
struct OneSite<'r> {
    name: &'r str,
    figures: &'r Figures,
    rules: Option<&'r SiteRules>,
    profile: Option<&'r Profile>,
}

impl OneSite<'_> {
    /// Fetches that the rules save on the records.
    fn saved(&self) -> u64 {
        saved(self.figures)
    }
}

fn saved(figures: &Figures) -> u64 {
    figures.urls.saturating_sub(figures.canonical)
}

/// File name and content of each page, first the one to begin with.
pub fn pages(run: Run<'_>) -> impl Iterator<Item = (String, String)> {
    let sites = by_saving(run);
    let count = if sites.len() <= PER_PAGE { 0 } else { sites.len().div_ceil(PER_PAGE) };
    (0..=count).map(move |number| match (number, count) {
        (0, 0) => (PAGE.to_owned(), whole(run, &sites)),
        (0, _) => (PAGE.to_owned(), index(run, &sites)),
        _ => (name(number), part(run, &sites, number, count)),
    })
}

/// File name of a page of many, from 1.
pub fn name(number: usize) -> String {
    format!("report-{number}.html")
}

/// Largest saving first, ties by name.
fn by_saving(run: Run<'_>) -> Vec<OneSite<'_>> {
    let mut sites: Vec<OneSite<'_>> = (run.summary.sites.iter())
        .map(|(name, figures)| OneSite {
            name,
            figures,
            rules: run.sites.get(name.as_str()).copied(),
            profile: run.profiles.get(name.as_str()).copied(),
        })
        .collect();
    sites.sort_by_key(|site| (std::cmp::Reverse(site.saved()), site.name));
    sites
}

fn whole(run: Run<'_>, sites: &[OneSite<'_>]) -> String {
    let mut out = frame::begin("undust: what was learned");
    head::whole(&mut out, run, sites.len());
    out.push_str("<main>");
    head::details(&mut out, run);
    out.push_str("<h2 id=sites>Sites</h2>");
    let shown = site::Shown::of(sites.len());
    sites.iter().enumerate().for_each(|(at, one)| site::section(&mut out, run, one, at, at == 0, shown));
    frame::end(&mut out, COMMAND);
    out
}

fn index(run: Run<'_>, sites: &[OneSite<'_>]) -> String {
    let mut out = frame::begin("undust: what was learned");
    head::whole(&mut out, run, sites.len());
    out.push_str("<main>");
    head::details(&mut out, run);
    head::list(&mut out, sites);
    frame::end(&mut out, COMMAND);
    out
}

fn part(run: Run<'_>, sites: &[OneSite<'_>], number: usize, count: usize) -> String {
    let mut out = frame::begin(&format!("undust: what was learned, page {number} of {count}"));
    let from = (number - 1) * PER_PAGE;
    let sites = &sites[from..(from + PER_PAGE).min(sites.len())];
    head::part(&mut out, number, count);
    let _ = write!(out, "<main><h2 id=sites>{} by what they save</h2>", head::range(from, sites.len()));
    let shown = site::Shown::MANY;
    sites.iter().zip(from..).for_each(|(one, at)| site::section(&mut out, run, one, at, false, shown));
    out.push_str("<p class=parts>");
    head::links(&mut out, number, count);
    out.push_str("</p>");
    frame::end(&mut out, COMMAND);
    out
}

#[cfg(test)]
mod tests;
