//! One site through the whole of `undust learn` in plain code: the oracle of both dataflows, and the
//! method `undust` of a comparison. Records come without the origins they lead to, so these decide
//! nothing here. No worker, no scratch: all rows of the site are held, 40 bytes a record beside the
//! memory of learning.

use super::counts::SiteCounts;
use super::learned_site::LearnedSite;
use super::locate::Locator;
use super::pages::{Firing, Page, PageMaker, Pages};
use super::proof_state::ProofState;
use super::proven::ProvenSite;
use super::sample::{BudgetBounds, HashBounds, SampleKey, SampleParams, select};
use super::table::SiteTable;
use super::tally::Tally;
use crate::model::{Record, SiteBy};
use crate::rules::types::SiteRules;
use crate::site::{self, Params, Training, held_out};
use std::collections::HashSet;
use std::sync::Arc;

/// Runs the first dataflow on the records of one site: sample, learn, walk, select. Records of URLs
/// that are not absolute http or https URLs with a host are skipped.
pub fn learn(site: &str, records: &[Record<'_>], sample: &SampleParams, params: &Params) -> LearnedSite {
    let (training, bounds) = training(site, records, sample);
    profiled(training, bounds, params)
}

/// Runs [`learn`] with cross-fitted figures.
pub fn cross_fitted(
    site: &str,
    records: &[Record<'_>],
    sample: &SampleParams,
    params: &Params,
    extent: held_out::Extent,
) -> LearnedSite {
    let (training, bounds) = training(site, records, sample);
    let held_out = held_out::cross_fit(&training, extent, &params.thresholds, |part| proven(part, sample, params));
    LearnedSite { held_out: Some(held_out), ..profiled(training, bounds, params) }
}

/// The rules that are learned from `training` and hold on it.
pub fn proven(training: Training, sample: &SampleParams, params: &Params) -> SiteRules {
    let labels: Vec<Option<[u8; 4]>> =
        training.clusters.iter().map(|&id| (id != u32::MAX).then(|| id.to_le_bytes())).collect();
    let record = |row: usize| Record {
        url: training.url(row),
        cluster: labels[row].as_ref().map(<[u8; 4]>::as_slice),
        site: Some(training.site.as_bytes()),
        elsewhere: training.elsewhere[row],
    };
    let records: Vec<Record<'_>> = (0..training.len()).map(record).collect();
    let learned = learn_from(training.clone(), None, params);
    prove(learned, &records, sample, params).rules
}

/// Candidates for training among the records of a site, repeats included.
pub fn candidates(records: &[Record<'_>], sample: &SampleParams) -> u64 {
    let (hash_bounds, mut url) = (HashBounds::new(sample), Vec::new());
    let mut is_candidate = |record: &&Record<'_>| {
        crate::url::normalize(record.url, &mut url).is_ok() && hash_bounds.draw(&url, record.cluster).candidate
    };
    records.iter().filter(|record| is_candidate(record)).count() as u64
}

/// Learns without a profile.
fn learn_from(training: Training, bounds: Option<BudgetBounds>, params: &Params) -> LearnedSite {
    let (trained, conflicts) = (training.len() as u64, training.conflicts);
    let site::Outcome { rules, counts } = site::learn(training, params);
    LearnedSite { rules, counts, bounds, trained, conflicts, ..LearnedSite::default() }
}

/// Learns with a profile.
fn profiled(training: Training, bounds: Option<BudgetBounds>, params: &Params) -> LearnedSite {
    let (trained, conflicts) = (training.len() as u64, training.conflicts);
    let prepared = site::prepare(training, params);
    let profile = prepared.profile();
    let energy = site::energy::walk(prepared.graph());
    let site::Outcome { rules, counts } = prepared.select_rules(&energy).refine_rules();
    LearnedSite { rules, counts, bounds, trained, conflicts, profile, ..LearnedSite::default() }
}

/// The training set of a site, and the bounds of the sample where the budget does not suffice for all candidates.
fn training(site: &str, records: &[Record<'_>], sample: &SampleParams) -> (Training, Option<BudgetBounds>) {
    let hash_bounds = HashBounds::new(sample);
    let (mut bytes, mut ends): (Vec<u8>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    let mut keys: Vec<SampleKey> = Vec::new();
    let mut url = Vec::new();
    for (at, record) in records.iter().enumerate() {
        let start = bytes.len();
        if crate::url::normalize(record.url, &mut url).is_ok() {
            let draw = hash_bounds.draw(&url, record.cluster);
            if draw.candidate {
                keys.push(SampleKey { cluster: draw.cluster, url: draw.url, at: at as u64 });
                bytes.extend_from_slice(&url);
            }
        }
        ends.push((start, bytes.len()));
    }
    let row = |at: u64| {
        let (start, end) = ends[at as usize];
        let record = &records[at as usize];
        (&bytes[start..end], record.cluster, record.elsewhere)
    };
    let bounds = select(&mut keys, sample, |a, b| row(a).cmp(&row(b)), |at| row(at).0);
    (Training::new(site, keys.iter().map(|key| row(key.at))), bounds)
}

/// Runs the second dataflow on the records of the site of `learned`, in as many passes as it needs.
pub fn prove(learned: LearnedSite, records: &[Record<'_>], sample: &SampleParams, params: &Params) -> ProvenSite {
    let name = learned.rules.site.clone();
    let mut state = ProofState::open(vec![learned], 1, 0);
    while !state.closed {
        let counts = count(&name, &state.table, records, sample);
        state.conclude_pass(vec![vec![(0, counts)]], params);
    }
    state.sites.pop().unwrap_or_default()
}

/// Counts of one pass.
fn count(site: &str, table: &Arc<SiteTable>, records: &[Record<'_>], sample: &SampleParams) -> SiteCounts {
    let mut maker = PageMaker::new(table.clone(), Locator::new(SiteBy::Domain), HashBounds::new(sample), 1);
    let (mut rows, mut firings): (Vec<Page>, Vec<(u64, Firing)>) = (Vec::new(), Vec::new());
    let mut take = |mut pages: Pages| {
        firings.append(&mut pages.firings);
        rows.extend((0..pages.len()).map(|row| pages.get(row)));
    };
    for record in records {
        maker.offer(Record { site: Some(site.as_bytes()), ..*record });
        maker.ready.drain(..).for_each(|(_, pages)| take(pages));
    }
    maker.flush().into_iter().for_each(|(_, pages)| take(pages));
    rows.sort_unstable();
    let mut tally = Tally::new(1, firings);
    let mut labels: HashSet<u64, foldhash::fast::FixedState> = HashSet::default();
    let mut distinct = |label: u64, _: u32| {
        labels.insert(label);
    };
    rows.iter().for_each(|row| tally.row(row, &mut distinct));
    tally.finish(&mut distinct);
    let counts = tally.sites.pop().unwrap_or_default();
    let texts = std::mem::take(&mut maker.texts).into_iter().map(|((_, hash), url)| (hash, url)).collect();
    SiteCounts { records: maker.records[0], clusters: labels.len() as u64, texts, ..counts }
}
