//! Records of many sites in, figures a site out.

use super::{Counts, Pages, Rates};
use crate::model::{Record, RecordBatch, SiteBy};
use crate::rules::{RuleSet, Scratch};
use crate::url::site::registrable_domain;
use crate::url::syntax;
use foldhash::fast::FixedState;
use serde::Serialize;
use std::collections::HashMap;

/// Definition of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// The record's own label, else its registrable domain or host. The label also decides which rules
    /// apply.
    Site(SiteBy),
    /// All records that follow are one site of this name; the host alone decides which rules apply.
    One(String),
}

/// The figures of one site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteFigures {
    /// The site's label, registrable domain or host, or the name given to [`Grouping::One`].
    pub site: String,
    /// The counts.
    pub counts: Counts,
    /// Rates of the counts.
    pub rates: Rates,
}

/// An evaluation under way. Holds 48 bytes a labelled record (see [`Pages`]), for all sites until the
/// end, since a site may come up again.
pub struct Evaluation<'r> {
    rules: &'r RuleSet,
    grouping: Grouping,
    /// Site label to its place in `pages`.
    places: HashMap<Vec<u8>, usize, FixedState>,
    /// In order of first appearance.
    pages: Vec<(String, Pages)>,
    scratch: Scratch,
    normal: Vec<u8>,
    unlabelled: u64,
    invalid: u64,
    provisional: u64,
    with_site: u64,
    ruled: u64,
}

impl<'r> Evaluation<'r> {
    /// Starts an evaluation of `rules`.
    pub fn new(rules: &'r RuleSet, grouping: Grouping) -> Evaluation<'r> {
        Evaluation {
            rules,
            grouping,
            places: HashMap::default(),
            pages: Vec::new(),
            scratch: Scratch::default(),
            normal: Vec::new(),
            unlabelled: 0,
            invalid: 0,
            provisional: 0,
            with_site: 0,
            ruled: 0,
        }
    }

    /// Changes what is taken for a site, from the next record on.
    pub fn set_grouping(&mut self, grouping: Grouping) {
        self.grouping = grouping;
    }

    /// Takes the next records of the input.
    pub fn add(&mut self, batch: &RecordBatch) {
        batch.iter().for_each(|record| self.add_record(record));
    }

    /// Takes the next record of the input.
    pub fn add_record(&mut self, record: Record<'_>) {
        if record.cluster.is_none() {
            self.unlabelled += 1;
            return;
        }
        let forced = match (&self.grouping, record.site) {
            (Grouping::Site(_), Some(label)) => std::str::from_utf8(label).ok().and_then(|l| self.rules.site_index(l)),
            _ => None,
        };
        let site: &[u8] = match (&self.grouping, record.site) {
            (Grouping::One(name), _) => name.as_bytes(),
            (Grouping::Site(_), Some(label)) => label,
            (Grouping::Site(by), None) => match syntax::normalize(record.url, &mut self.normal) {
                Ok(parts) => {
                    let host = &self.normal[parts.host.0 as usize..parts.host.1 as usize];
                    if *by == SiteBy::Host { host } else { registrable_domain(host) }
                }
                // A site of its own: such URLs are never rewritten, but they are pages to fetch.
                Err(_) => b"",
            },
        };
        let place = match self.places.get(site) {
            Some(&place) => place,
            None => {
                self.places.insert(site.to_vec(), self.pages.len());
                self.pages.push((String::from_utf8_lossy(site).into_owned(), Pages::default()));
                self.pages.len() - 1
            }
        };
        let applied = self.rules.apply(record.url, forced, &mut self.scratch);
        self.invalid += u64::from(applied.invalid);
        self.with_site += u64::from(applied.site.is_some());
        self.ruled += u64::from(applied.looked_up || !applied.fired.is_empty());
        if self.rules.has_provisional() && applied.url != record.url {
            let is_provisional = |site| applied.fired.iter().any(|rule| self.rules.is_provisional(site, rule));
            self.provisional += u64::from(applied.site.is_some_and(is_provisional));
        }
        self.pages[place].1.push(record.url, applied.url, record.cluster);
    }

    /// Records without a cluster label, which count for nothing.
    pub fn unlabelled(&self) -> u64 {
        self.unlabelled
    }

    /// Labelled records whose URL is not an absolute http or https URL: they count, as URLs that no rule
    /// rewrites.
    pub fn invalid(&self) -> u64 {
        self.invalid
    }

    /// Labelled records whose URL changed and on which a provisional rule fired.
    pub fn provisional(&self) -> u64 {
        self.provisional
    }

    /// Labelled records whose origin is one that a site with rules has.
    pub fn with_site(&self) -> u64 {
        self.with_site
    }

    /// Labelled records on which a rule fired, or for which a look-up or a value range decided.
    pub fn ruled(&self) -> u64 {
        self.ruled
    }

    /// The figures, in order of the sites' first appearance. URLs without a host and without a label of
    /// their own are the site with the empty name.
    pub fn finish(self) -> Vec<SiteFigures> {
        let figures = |(site, pages): (String, Pages)| {
            let counts = pages.counts();
            SiteFigures { site, counts, rates: Rates::of(&counts) }
        };
        self.pages.into_iter().map(figures).collect()
    }
}
