//! The pattern tree as published (Lei et al., WWW 2010): [`crate::site::published`] with its candidates
//! kept, so that one tree serves every `fpr_max`.
//!
//! Departures: those of [`Switches`], all off unless asked for; the readings are listed in the modules
//! of [`crate::site::published`]. Candidates are made without a bound and filtered afterwards, which
//! gives the candidates that the bound would have given.

use super::rule_set::SiteRuleSet;
use super::{Figures, Learned, Method, Sample, Selected};
use crate::site::energy;
use crate::site::published::candidates::{self, Candidates, Maker};
use crate::site::published::keys::PublishedColumns;
use crate::site::published::tree::Patterns;
use crate::site::published::{Switches, emit, select};

/// The method.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Naive selection (5.3, first part); else by graph.
    pub naive: bool,
    /// Departures that are on.
    pub switches: Switches,
}

impl Method for Published {
    fn learn(&self, sample: &Sample<'_>) -> Box<dyn Learned> {
        let training = &sample.training;
        let columns = PublishedColumns::new(training);
        let patterns = Patterns::build(&columns, &self.switches);
        let candidates = candidates::generate(&columns, &patterns, &self.switches, f64::INFINITY);
        Box::new(PublishedTraining { site: training.site.clone(), method: *self, columns, patterns, candidates })
    }
}

struct PublishedTraining {
    site: String,
    method: Published,
    columns: PublishedColumns,
    patterns: Patterns,
    candidates: Candidates,
}

impl Learned for PublishedTraining {
    fn figures(&self) -> Figures {
        let height = self.patterns.tree.nodes.iter().map(|node| node.depth).max().unwrap_or(0);
        Figures { raw: self.candidates.raw, nodes: self.patterns.tree.nodes.len() as u64, height: height.into() }
    }

    fn select(&self, fpr_max: f64) -> Selected {
        let Published { naive, switches } = &self.method;
        let qualified: Vec<_> = self.candidates.rules.iter().filter(|c| c.fpr <= fpr_max).cloned().collect();
        let next = if *naive {
            select::naive(&qualified, &self.patterns.tree)
        } else {
            let (graph, vertices) = select::graph(&qualified, &self.patterns.tree, switches);
            select::by_energy(&qualified, &self.patterns.tree, &vertices, &energy::walk(&graph), switches)
        };
        let mut maker = Maker::new(&self.columns, &self.patterns, switches);
        let deployed = select::direct(&next, &mut maker, switches, fpr_max);
        let rules = emit::rules(&self.site, &self.columns, &self.patterns, &deployed, &mut maker, switches);
        Selected { deployed: deployed.len() as u64, ..SiteRuleSet::selected(rules, qualified.len() as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::protocol::Records;
    use crate::site::{Method as Which, Params};

    #[test]
    fn filtering_afterwards_is_filtering_at_once() {
        let rows: Vec<(String, String)> = (0..60)
            .flat_map(|i| {
                let page = |host: &str, sid: &str| format!("http://{host}.x.org/p?id={}&sid={sid}{i}", i / 2);
                [(page("us", "a"), format!("{}", i / 2)), (page("de", "b"), format!("{}", i / 3))]
            })
            .collect();
        let mut records = Records::new("x.org");
        rows.iter().for_each(|(url, label)| records.push(url.as_bytes(), label.as_bytes(), false));
        let train: Vec<usize> = (0..records.len()).collect();
        let sample = Sample::new(&records, &train);
        let training = &sample.training;
        for (naive, method) in [(true, Which::PublishedNaive), (false, Which::PublishedGraph)] {
            let learned = Published { naive, switches: Switches::default() }.learn(&sample);
            for ppm in [0, 10_000, 400_000] {
                let params = Params { method, fpr_max_ppm: ppm, ..Params::default() };
                let outcome = crate::site::published::learn(training, &params, &Switches::default());
                let selected = learned.select(f64::from(ppm) / 1e6);
                assert_eq!(selected.qualified, outcome.counts["published-qualified"]);
                assert_eq!(selected.deployed, outcome.counts["published-deployed"]);
                let mut at_once = SiteRuleSet::new(outcome.rules);
                assert_eq!(selected.rules.report(), super::super::Canonicalizer::report(&at_once));
                let (mut a, mut b, mut rules) = (Vec::new(), Vec::new(), selected.rules);
                for (url, _) in &rows {
                    rules.canonicalize(url.as_bytes(), &mut a);
                    super::super::Canonicalizer::canonicalize(&mut at_once, url.as_bytes(), &mut b);
                    assert_eq!(a, b);
                }
            }
        }
    }
}
