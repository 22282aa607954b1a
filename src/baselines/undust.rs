//! This program: [`crate::site::learn`], then the proof of its rules.
//!
//! Departure from `undust learn`: the proof weighs the rules on the training records only, so that the labels of the
//! test stay unseen, as for every other method. What it decides is the same: while the site's pair false-positive rate
//! exceeds `fpr_max`, the rule with most wrong pairs above its share goes; where labels are noisy, URLs are weighed
//! instead of pairs and three times the noise is allowed.

use super::rule_set::SiteRuleSet;
use super::{Canonicalizer, Figures, Learned, Method, RuleReport, Selected};
use crate::model::hash128;
use crate::rules::types::SiteRules;
use crate::rules::{RuleSet, Scratch};
use crate::site::{Outcome, Params, Training};

/// The method.
#[derive(Clone, Copy, Debug)]
pub struct Undust;

/// Times that rules may be withdrawn; past them none is left.
const PASSES: usize = 3;
/// Thousandths of label noise from which URLs are weighed instead of pairs.
const NOISY: u32 = 10;

impl Method for Undust {
    fn learn(&self, training: &Training) -> Box<dyn Learned> {
        let outcome = crate::site::learn(training.clone(), &Params::default());
        Box::new(Candidate { training: training.clone(), outcome })
    }
}

struct Candidate {
    training: Training,
    outcome: Outcome,
}

impl Learned for Candidate {
    fn figures(&self) -> Figures {
        let count = |name: &str| self.outcome.counts.get(name).copied().unwrap_or(0);
        Figures { raw: count("evidence tables") + count("candidates"), nodes: count("tree nodes"), height: 0 }
    }

    fn select(&self, fpr_max: f64) -> Selected {
        let mut rules = self.outcome.rules.clone();
        let learned = rules.rules.len() as u64;
        for pass in 0.. {
            let gone = judge(&rules, &self.training, fpr_max);
            match gone {
                None => break,
                Some(gone) if pass < PASSES && !gone.is_empty() => {
                    let mut at = 0;
                    rules.rules.retain(|_| {
                        at += 1;
                        !gone.contains(&(at - 1))
                    });
                }
                Some(_) if pass < PASSES && !(rules.aliases.is_empty() && rules.seen.is_empty()) => {
                    rules.aliases.clear();
                    rules.seen = Default::default();
                }
                Some(_) => {
                    rules = SiteRules { site: rules.site, hosts: rules.hosts, ..SiteRules::default() };
                    break;
                }
            }
        }
        let look_ups = [rules.seen.len(), rules.aliases.len(), rules.exceptions.len()];
        let selected = SiteRuleSet::selected(rules, learned);
        Selected { rules: Box::new(WithLookUps { look_ups, rules: selected.rules }), ..selected }
    }
}

/// Rules, and the look-ups that travel with them.
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
        let [seen, aliases, exceptions] = self.look_ups;
        if seen + aliases + exceptions > 0 {
            let text = format!("look-ups: {seen} seen members, {aliases} aliases, {exceptions} exceptions");
            rules.push(RuleReport { text, evidence: None });
        }
        rules
    }
}

/// What falls together, by good and wrong.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    whole: u64,
    wrong: u64,
}

/// Rules (indices) that go so that the rest is within `fpr_max` on the training records; `None` when all hold.
fn judge(rules: &SiteRules, training: &Training, fpr_max: f64) -> Option<Vec<usize>> {
    let noisy = rules.label_noise_permille >= NOISY;
    let allowed = fpr_max + if noisy { 3.0 * f64::from(rules.label_noise_permille) / 1e3 } else { 0.0 };
    let (mut site, mut of) = weigh(rules, training, noisy);
    let exceeds = |w: Weight| w.wrong as f64 > allowed * w.whole as f64;
    if !exceeds(site) {
        return None;
    }
    let mut gone = Vec::new();
    while exceeds(site) {
        let excess =
            |w: Weight| i128::from(w.wrong) * i128::from(site.whole) - i128::from(w.whole) * i128::from(site.wrong);
        let suspects = (0..of.len()).filter(|&i| of[i].wrong > 0);
        let Some(worst) = suspects.max_by_key(|&i| (excess(of[i]), of[i].wrong, std::cmp::Reverse(i))) else { break };
        let weight = std::mem::take(&mut of[worst]);
        site.whole = site.whole.saturating_sub(weight.whole);
        site.wrong = site.wrong.saturating_sub(weight.wrong);
        gone.push(worst);
    }
    Some(gone)
}

/// The weight of the site and of each rule.
fn weigh(rules: &SiteRules, training: &Training, noisy: bool) -> (Weight, Vec<Weight>) {
    let set = RuleSet::new(vec![rules.clone()]);
    let mut scratch = Scratch::default();
    let mut rows: Vec<(u128, u32, Vec<u16>)> = Vec::with_capacity(training.len());
    for row in (0..training.len()).filter(|&row| training.clusters[row] != u32::MAX) {
        let applied = set.apply(training.url(row), Some(0), &mut scratch);
        rows.push((hash128(applied.url), training.clusters[row], applied.fired.to_vec()));
    }
    rows.sort_unstable();
    let mut site = Weight::default();
    let mut of = vec![Weight::default(); rules.rules.len()];
    for page in rows.chunk_by(|a, b| a.0 == b.0).filter(|page| page.len() > 1) {
        let n = page.len() as u64;
        let parts = || page.chunk_by(|a, b| a.1 == b.1);
        let largest = parts().max_by_key(|part| part.len()).map_or(0, |part| part[0].1);
        let pairs = |n: u64| n * n.saturating_sub(1) / 2;
        if noisy {
            let own = page.iter().filter(|row| row.1 == largest).count() as u64;
            site.whole += n - 1;
            site.wrong += n - own;
        } else {
            let same: u64 = parts().map(|part| pairs(part.len() as u64)).sum();
            site.whole += pairs(n);
            site.wrong += pairs(n) - same;
        }
        for part in parts() {
            let others = n - part.len() as u64;
            for row in part {
                for &rule in &row.2 {
                    let weight = &mut of[usize::from(rule)];
                    weight.whole += if noisy { 1 } else { n - 1 };
                    weight.wrong += if noisy { u64::from(row.1 != largest) } else { others };
                }
            }
        }
    }
    (site, of)
}
