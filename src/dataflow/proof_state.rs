//! The proof of the rules of all sites, from pass to pass.

use super::change::{Change, Reason};
use super::counts::SiteCounts;
use super::learned_site::LearnedSite;
use super::proof::Counts;
use super::proven::ProvenSite;
use super::table::{PassRequest, SiteTable};
use super::verdict::{Pending, Verdict, judge};
use crate::rules::types::{Evidence, Rule, SECTION, SiteRules};
use crate::site::evidence::Bound;
use crate::site::{Params, Thresholds};
use crate::url::NormalUrl;
use std::sync::Arc;

/// Proof state after some passes.
#[derive(Clone, Debug)]
pub(super) struct ProofState {
    pub(super) passes: usize,
    /// Threads that compile rules.
    pub(super) threads: usize,
    pub(super) table: Arc<SiteTable>,
    pub(super) sites: Vec<ProvenSite>,
    /// State of each site from pass to pass.
    pub(super) pending: Vec<Pending>,
    /// Nothing is left to count.
    pub(super) closed: bool,
}

impl ProofState {
    /// The state before the first pass.
    pub(super) fn open(learned: Vec<LearnedSite>, threads: usize, room: u64) -> ProofState {
        let (table, learned) = SiteTable::new(learned, threads, room);
        let sites: Vec<ProvenSite> = learned
            .into_iter()
            .map(|mut learned| ProvenSite {
                rules: std::mem::take(&mut learned.rules),
                learned,
                ..ProvenSite::default()
            })
            .collect();
        let pending = vec![Pending::default(); sites.len()];
        ProofState { passes: 0, threads, closed: sites.is_empty(), table: Arc::new(table), sites, pending }
    }

    /// The state before the first pass of a proof of given rules.
    pub(super) fn given(sites: &[SiteRules], threads: usize, room: u64) -> ProofState {
        let learned = |rules: &SiteRules| LearnedSite { rules: rules.clone(), ..LearnedSite::default() };
        let state = ProofState::open(sites.iter().map(learned).collect(), threads, room);
        let mut table = Arc::into_inner(state.table).expect("nobody shares it yet");
        table.passes_over = true;
        ProofState { table: Arc::new(table), ..state }
    }

    /// Adds the counts of a pass, withdraws rules that do not hold, and selects the sites that are counted
    /// again.
    pub(super) fn conclude_pass(&mut self, parts: Vec<Counts>, params: &Params) {
        let mut again = vec![false; self.sites.len()];
        for (site, &counted) in self.sites.iter_mut().zip(&self.table.counted) {
            if counted {
                // Distinct clusters are those of the labels, whatever the rules.
                site.counts = SiteCounts::default();
            }
        }
        for (index, counts) in parts.iter().flatten() {
            self.sites[*index as usize].counts.add(counts);
        }
        let spilled: Vec<bool> = self.sites.iter().map(|site| site.counts.spilled == site.counts.records).collect();
        self.sites.iter_mut().for_each(|site| site.counts.spilled = 0);
        for (index, site) in self.sites.iter_mut().enumerate() {
            if !self.table.counted[index] {
                continue;
            }
            again[index] = true;
            let pending = &mut self.pending[index];
            match judge(&site.rules, &site.counts, params, self.passes, pending) {
                Verdict::Holds => {
                    again[index] = false;
                    site.drift = pending.drift;
                    site.change(Vec::new(), pending);
                    site.rules.rules.iter_mut().for_each(|rule| bear_out(rule, &params.thresholds));
                    site.counts.forget_samples();
                    if !site.rules.rules.iter().any(|rule| rule.scope.iter().any(|of| of.key == SECTION)) {
                        site.rules.tokens.sections.clear();
                    }
                    *pending = Pending::default();
                }
                Verdict::CountAgain => {}
                Verdict::Change(changes) => {
                    let wrong: Vec<NormalUrl> = site
                        .counts
                        .misremembered
                        .0
                        .iter()
                        .filter_map(|hash| NormalUrl::new(site.counts.texts.get(hash)?.as_bytes()).ok())
                        .collect();
                    if !site.counts.misremembered.0.is_empty() {
                        site.forget(&wrong);
                    }
                    let places = site.change(changes, pending);
                    pending.suspects = pending.suspects.iter().filter_map(|&rule| places[usize::from(rule)]).collect();
                    pending.wanted.clear();
                }
                Verdict::WithdrawMemory => site.withdraw_lookups(),
                Verdict::FallBack => {
                    site.fell_back = true;
                    let all = (0..site.rules.rules.len()).map(|at| (at, Change::Withdraw(Reason::FellBack))).collect();
                    site.change(all, pending);
                    site.withdraw_lookups();
                    *pending = Pending::default();
                }
            }
        }
        self.closed = !again.contains(&true);
        if !self.closed {
            let rules: Vec<&SiteRules> = self.sites.iter().map(|site| &site.rules).collect();
            let spilled = spilled.iter().zip(&again).all(|(&spilled, &again)| spilled || !again);
            let request = PassRequest {
                suspects: self.pending.iter().map(|pending| pending.suspects.clone()).collect(),
                wanted: self.pending.iter().map(|pending| pending.wanted.clone()).collect(),
            };
            self.table = Arc::new(self.table.again(&rules, again, spilled, request, self.threads));
        }
        self.passes += 1;
    }
}

/// Clears the provisional mark of a rule with as much evidence as a candidate line needs.
fn bear_out(rule: &mut Rule, thresholds: &Thresholds) {
    let Evidence { good, bad, clusters, .. } = rule.evidence;
    let holds = Bound::operation(thresholds).holds(good, bad, thresholds.prior);
    let holds = holds && clusters >= thresholds.min_clusters as u64;
    rule.provisional &= !holds;
}
