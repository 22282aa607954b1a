//! Phase four: likely rules are validated by pages (section 5.3, Figures 3 and 4).

use super::canonize::rewrite;
use super::redundant::pair_refines;
use super::{Detected, Likely, Parameters, Rule, UrlList};
use crate::model::hash64_seeded;

/// Result of fetching a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The sketch of the document.
    Sketch(u64),
    /// It could not be fetched.
    Failed,
    /// The oracle has no answer.
    Unknown,
}

/// Oracle of pages: the fingerprints of a corpus, or a server.
pub trait Oracle {
    /// The page of a marked URL.
    fn page(&mut self, url: &[u8]) -> Page;
}

/// Server of pages for URLs of any host; [`Page::Unknown`] once no more requests are allowed.
///
/// Requests come in an order that follows from the list, so that one budget gives one result.
pub trait Server: std::fmt::Debug + Send + Sync {
    /// The page at `url`.
    fn page(&self, url: &[u8]) -> Page;
}

/// Verdict of pages on a likely rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Valid in at least one direction.
    Valid,
    /// Refuted in both directions, or in the only one with pages.
    Refuted,
    /// No page was available.
    Unknown,
}

/// The order in which URLs are drawn.
fn draws(list: &UrlList) -> Vec<u32> {
    let mut order: Vec<u32> = (0..list.len() as u32).collect();
    order.sort_by_key(|&at| hash64_seeded(&list.urls[at as usize], 0x6475_7374));
    order
}

/// Figure 3: is a rule valid on the URLs of `list`, drawn in this order?
fn judge(rule: &Rule, list: &UrlList, order: &[u32], oracle: &mut dyn Oracle, parameters: &Parameters) -> Verdict {
    let n = parameters.validations as f64;
    let refuted = parameters.refutation * n;
    let (mut positive, mut negative) = (0.0, 0.0);
    let mut to = Vec::new();
    for &at in order {
        let from = &list.urls[at as usize];
        if !rewrite(rule, from, &mut to) {
            continue;
        }
        let Page::Sketch(before) = oracle.page(from) else { continue };
        match oracle.page(&to) {
            Page::Sketch(after) if after == before => positive += 1.0,
            Page::Unknown => continue,
            _ => negative += 1.0,
        }
        if negative >= refuted {
            return Verdict::Refuted;
        }
        if positive >= n - refuted {
            return Verdict::Valid;
        }
    }
    match () {
        () if positive + negative == 0.0 => Verdict::Unknown,
        () if negative < parameters.refutation * (positive + negative) => Verdict::Valid,
        () => Verdict::Refuted,
    }
}

/// Both directions of a pair; the shrinking one first.
fn directions(rule: &Likely) -> [Rule; 2] {
    let rule_of = |from: &Vec<u8>, to: &Vec<u8>| Rule::Substitution { from: from.clone(), to: to.clone() };
    [rule_of(&rule.long, &rule.short), rule_of(&rule.short, &rule.long)]
}

/// Figure 4: the valid rules, parameter substitutions last. A pair that refines a valid one is not
/// tested.
pub fn validate(detected: &Detected, list: &UrlList, oracle: &mut dyn Oracle, parameters: &Parameters) -> Vec<Rule> {
    let order = draws(list);
    let mut holds = |rule: &Rule| judge(rule, list, &order, oracle, parameters) == Verdict::Valid;
    let mut pairs: Vec<&Likely> = Vec::new();
    let mut valid = Vec::new();
    for rule in &detected.likely {
        if pairs.iter().any(|broader| pair_refines(rule, broader)) {
            continue;
        }
        if let Some(rule_valid) = directions(rule).into_iter().find(&mut holds) {
            pairs.push(rule);
            valid.push(rule_valid);
        }
    }
    let substitutions = detected.parameters.iter();
    valid.extend(substitutions.filter(|rule| holds(rule)).cloned());
    valid
}

/// Verdict on each of `likely` (Figure 5 counts the valid ones among the first k).
pub fn verdicts(likely: &[Likely], list: &UrlList, oracle: &mut dyn Oracle, parameters: &Parameters) -> Vec<Verdict> {
    let order = draws(list);
    let mut of = |rule: &Likely| {
        let [shrinking, growing] = directions(rule);
        match judge(&shrinking, list, &order, oracle, parameters) {
            Verdict::Valid => Verdict::Valid,
            first => match judge(&growing, list, &order, oracle, parameters) {
                Verdict::Unknown => first,
                second => second,
            },
        }
    };
    likely.iter().map(&mut of).collect()
}
