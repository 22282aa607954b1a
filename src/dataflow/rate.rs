//! The rate of wrong pairs that the rules of a site join (WWW10 eq. 3), and the rules to blame for it. Pure.

use super::counts::{RuleCounts, SiteCounts};
use crate::rules::types::SiteRules;
use crate::site::{Params, Thresholds};
use std::cmp::Reverse;

/// Result of the test of the pair rate of a site.
pub enum Rate {
    /// The rate is within its bound.
    Holds,
    /// These rules (by index, ascending) are to blame.
    Worst(Vec<usize>),
    /// No rule takes part in a wrong pair.
    Nobody,
}

/// Whether a site joins more wrong pairs than `fpr_max_ppm` allows, and the rules with most above their share.
///
/// The worst rule is the one with most false-positive pairs above its share, that is, above the number that its
/// pairs would hold at the rate of the site: a rule that fires nearly everywhere (host, scheme) is in every wrong
/// pair without being to blame for it. Ties: more false-positive pairs, more bad URLs, then order.
pub fn over_the_rate(site: &SiteRules, counts: &SiteCounts, of: &dyn Fn(usize) -> RuleCounts, params: &Params) -> Rate {
    // Pairs (WWW10 eq. 3) where labels can be trusted; where they are noisy, URLs: one split cluster of
    // 300 URLs makes more wrong pairs than all rules together.
    let Thresholds { proof_noisy_permille, noise_factor, .. } = params.thresholds;
    let noisy = site.label_noise_permille >= proof_noisy_permille;
    let weigh =
        |good: u64, bad: u64, support: u64, wrong: u64| if noisy { (good + bad, bad) } else { (support, wrong) };
    let of_rule = |i: usize| {
        let rule = of(i);
        weigh(rule.good, rule.bad, rule.support_pairs, rule.false_positive_pairs)
    };
    let noise_ppm = if noisy { 1_000 * noise_factor * u64::from(site.label_noise_permille) } else { 0 };
    let allowed_ppm = u128::from(params.fpr_max_ppm) + u128::from(noise_ppm);
    let (mut support, mut wrong) = weigh(counts.good, counts.bad, counts.support_pairs, counts.false_positive_pairs);
    let exceeds = |wrong: u64, support: u64| u128::from(wrong) * 1_000_000 > allowed_ppm * u128::from(support);
    if !exceeds(wrong, support) {
        return Rate::Holds;
    }
    let mut suspects: Vec<usize> = (0..site.rules.len()).filter(|&i| of_rule(i).1 > 0).collect();
    let mut worst = Vec::new();
    while exceeds(wrong, support) {
        let excess = |i: usize| {
            let (rule, whole) = (of_rule(i), (i128::from(wrong), i128::from(support)));
            i128::from(rule.1) * whole.1 - i128::from(rule.0) * whole.0
        };
        let next = suspects.iter().enumerate().max_by_key(|&(_, &i)| (excess(i), of_rule(i).1, of(i).bad, Reverse(i)));
        let Some((at, &i)) = next else { break };
        suspects.remove(at);
        support = support.saturating_sub(of_rule(i).0);
        wrong = wrong.saturating_sub(of_rule(i).1);
        worst.push(i);
    }
    worst.sort_unstable();
    if worst.is_empty() { Rate::Nobody } else { Rate::Worst(worst) }
}
