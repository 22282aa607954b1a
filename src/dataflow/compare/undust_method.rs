//! The method `undust` of a comparison: [`alone`], which is `undust learn` on one site, byte for byte,
//! where no record redirects to another origin or declares it.
//!
//! - `undust` learns and proves on the training records alone, as `undust learn TRAINING` does: the
//!   labels of the test are unseen, as for every other method.
//! - `undust-whole` runs as users do: `undust learn CORPUS --train-share ...`, where undust draws its
//!   own sample and the proof counts all labelled records. Its proof sees the labels of the test (and
//!   can only withdraw rules by them), so it is shown beside the others and not ranked. Seeds change
//!   nothing there.

use crate::baselines::protocol::Records;
use crate::baselines::rule_set::SiteRuleSet;
use crate::baselines::{Canonicalizer, Figures, Learned, Method, RuleReport, Sample, Selected};
use crate::dataflow::alone;
use crate::dataflow::learned_site::LearnedSite;
use crate::dataflow::proven::ProvenSite;
use crate::dataflow::sample::SampleParams;
use crate::model::Record;
use crate::site::{Count, Params, Stage, Without};

/// The method.
#[derive(Clone, Copy, Debug)]
pub struct Undust {
    /// Samples by itself and proves on all records.
    pub whole: bool,
    /// Stages that are left out, to measure their worth.
    pub without: Without,
}

impl Method for Undust {
    fn learn(&self, sample: &Sample<'_>) -> Box<dyn Learned> {
        let (rows, params) = match self.whole {
            false => (sample.train, SampleParams::default()),
            true => {
                let max = u32::try_from(sample.max).unwrap_or(u32::MAX);
                (sample.whole, SampleParams { share: sample.share, max, ..SampleParams::default() })
            }
        };
        let records = rows_of(sample.records, rows);
        let how = Params { without: self.without, ..Params::default() };
        let learned = alone::learn(&sample.records.site, &borrowed(&records), &params, &how);
        Box::new(UndustTraining { records, sample: params, learned, without: self.without })
    }
}

/// Records of the proof.
fn rows_of(records: &Records, rows: &[usize]) -> Records {
    let mut out = Records::new(&records.site);
    for &row in rows {
        let (url, label) = records.get(row);
        out.push(url, label, records.elsewhere(row));
    }
    out
}

fn borrowed(records: &Records) -> Vec<Record<'_>> {
    let record = |row: usize| {
        let (url, label) = records.get(row);
        Record { url, cluster: Some(label), site: Some(records.site.as_bytes()), elsewhere: records.elsewhere(row) }
    };
    (0..records.len()).map(record).collect()
}

struct UndustTraining {
    records: Records,
    sample: SampleParams,
    learned: LearnedSite,
    without: Without,
}

impl Learned for UndustTraining {
    fn figures(&self) -> Figures {
        let count = |of: Count| self.learned.counts.get(&of).copied().unwrap_or(0);
        Figures {
            raw: count(Count::EvidenceTables) + count(Count::Candidates),
            nodes: count(Count::TreeNodes),
            height: 0,
        }
    }

    fn select(&self, fpr_max: f64) -> Selected {
        let params = Params { fpr_max_ppm: (fpr_max * 1e6).round() as u32, ..Params::default() };
        let learned = self.learned.rules.rules.len() as u64;
        let rules = match self.without.has(Stage::Proof) {
            true => self.learned.rules.clone(),
            false => {
                let records = borrowed(&self.records);
                let ProvenSite { rules, .. } = alone::prove(self.learned.clone(), &records, &self.sample, &params);
                rules
            }
        };
        let ranges = rules.local.iter().map(|local| local.pages.len()).sum();
        let look_ups = [rules.aliases.len(), ranges, rules.exceptions.len()];
        let selected = SiteRuleSet::selected(rules, learned);
        Selected { rules: Box::new(WithLookUps { look_ups, rules: selected.rules }), ..selected }
    }
}

/// Rules with their look-ups.
struct WithLookUps {
    look_ups: [usize; 3],
    rules: Box<dyn Canonicalizer>,
}

impl Canonicalizer for WithLookUps {
    fn canonicalize(&mut self, url: &[u8], out: &mut Vec<u8>) {
        self.rules.canonicalize(url, out);
    }

    fn report(&self) -> Vec<RuleReport> {
        let mut rules = self.rules.report();
        let [aliases, ranges, exceptions] = self.look_ups;
        if aliases + ranges + exceptions > 0 {
            let text = format!("{aliases} look-ups, {ranges} value ranges, {exceptions} exceptions");
            rules.push(RuleReport { text, evidence: None });
        }
        rules
    }
}
