//! What the proof decides: which rules of a site go (design, sections 4.3 and 6.2). Pure, in integers.
use super::tally::{RuleCounts, SiteCounts};
use crate::rules::types::{Evidence, Kind, Rule, SiteRules};
use crate::site::evidence::{Bound, upper_bound_ppm};
use serde::{Deserialize, Serialize};

/// Passes that may withdraw rules; past them a site that still fails falls back to stage 1. The first is for rules that
/// fail by themselves, two are for the pair rate, and the last must find that all is well.
pub const MAX_PASSES: usize = 4;

/// Observations under which the proof leaves a rule to its training evidence.
pub const MIN_OBSERVATIONS: u64 = 3;

/// Label noise of a site from which URLs are weighed instead of pairs.
pub const NOISY_PERMILLE: u32 = 10;

/// Why the proof withdrew a rule. The names (kebab-case) stand in `summary.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It fails the bound of design 4.3 on all records.
    Bound,
    /// It fails the bound on the records that did not train.
    BoundApart,
    /// The rules of the site join too many wrong pairs, and of those it has most above its share.
    PairRate,
    /// After the last pass the site still failed.
    FellBack,
}

impl Reason {
    /// In words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Bound => "too many wrong URLs",
            Reason::BoundApart => "too many wrong URLs among those that did not train",
            Reason::PairRate => "too many wrong pairs",
            Reason::FellBack => "the site still failed after the last pass",
        }
    }
}

/// What the counts of a pass mean for a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rules hold.
    Holds,
    /// These rules (indices, ascending) are withdrawn, and the site is counted again.
    Withdraw(Vec<(usize, Reason)>),
    /// No rule is to blame, but the look-ups may be: they are withdrawn, and the site is counted again.
    WithdrawLookups,
    /// Everything goes; the site is counted again for its figures.
    FallBack,
}

/// The verdict on a site after pass `pass` (counted from 0). A site without rules and look-ups always holds: what is
/// wrong there, stage 1 or the labels did.
///
/// A rule goes when it fails its [`Bound`] on all records, or on those that did not train, with at least
/// [`MIN_OBSERVATIONS`] in either case. Where the pair false-positive rate of the site exceeds `fpr_max_ppm`, the worst
/// rules go until what is left of the counted pairs is within the bound. The worst is the one with most false-positive
/// pairs above its share, that is, above what its pairs would hold at the rate of the site: a rule that fires nearly
/// everywhere (host, scheme) is in every wrong pair without being to blame for it. Ties: more false-positive pairs, more
/// bad URLs, then order. Pairs that two rules share are taken off with each, so the first pass leaves the rate alone where
/// rules fail their bound: on a university's site (43,087 URLs, a fifth trained on) they took 25,000 of 60,000 pairs with
/// them twice, and what was left condemned "ignore fragment" (1,372 good, 25 bad): saved share .634 -> .202.
pub fn judge(site: &SiteRules, counts: &SiteCounts, fpr_max_ppm: u32, pass: usize) -> Verdict {
    if site.rules.is_empty() && site.aliases.is_empty() && site.local.is_empty() {
        return Verdict::Holds;
    }
    let of = |index: usize| counts.rules.get(index).copied().unwrap_or_default();
    let mut withdrawn: Vec<(usize, Reason)> =
        (0..site.rules.len()).filter_map(|i| Some((i, fails(&site.rules[i], &of(i))?))).collect();

    // Pairs (WWW10 eq. 3) where labels can be trusted; where they are noisy, URLs: one split cluster of 300 URLs makes
    // more wrong pairs than all rules together.
    let noisy = site.label_noise_permille >= NOISY_PERMILLE;
    let weigh =
        |good: u64, bad: u64, support: u64, wrong: u64| if noisy { (good + bad, bad) } else { (support, wrong) };
    let of_rule = |i: usize| {
        let rule = of(i);
        weigh(rule.good, rule.bad, rule.support_pairs, rule.false_positive_pairs)
    };
    let whole = weigh(counts.good, counts.bad, counts.support_pairs, counts.false_positive_pairs);
    let allowed_ppm = u128::from(fpr_max_ppm) + u128::from(if noisy { 3_000 * site.label_noise_permille } else { 0 });
    let (mut support, mut wrong) = whole;
    for &(i, _) in &withdrawn {
        support = support.saturating_sub(of_rule(i).0);
        wrong = wrong.saturating_sub(of_rule(i).1);
    }
    let exceeds = |wrong: u64, support: u64| u128::from(wrong) * 1_000_000 > allowed_ppm * u128::from(support);
    let mut suspects: Vec<usize> =
        (0..site.rules.len()).filter(|&i| !withdrawn.iter().any(|w| w.0 == i) && of_rule(i).1 > 0).collect();
    // What two rules share is taken off twice, so after rules that fail by themselves the rest is judged on a count of its
    // own, while there are passes left for it.
    let later = pass == 0 && !withdrawn.is_empty();
    while !later && exceeds(wrong, support) {
        let excess = |i: usize| {
            let (rule, whole) = (of_rule(i), (i128::from(wrong), i128::from(support)));
            i128::from(rule.1) * whole.1 - i128::from(rule.0) * whole.0
        };
        let worst = suspects
            .iter()
            .enumerate()
            .max_by_key(|&(_, &i)| (excess(i), of_rule(i).1, of(i).bad, std::cmp::Reverse(i)));
        let Some((at, &i)) = worst else { break };
        suspects.remove(at);
        support = support.saturating_sub(of_rule(i).0);
        wrong = wrong.saturating_sub(of_rule(i).1);
        withdrawn.push((i, Reason::PairRate));
    }
    if withdrawn.is_empty() && !exceeds(whole.1, whole.0) {
        return Verdict::Holds;
    }
    if pass + 1 >= MAX_PASSES {
        return Verdict::FallBack;
    }
    if !withdrawn.is_empty() {
        withdrawn.sort_unstable();
        return Verdict::Withdraw(withdrawn);
    }
    if site.aliases.is_empty() && site.local.is_empty() { Verdict::FallBack } else { Verdict::WithdrawLookups }
}

/// Whether a rule fails on what was counted.
///
/// A departure from design 4.3, which knows no prior here: a catalogue operation or a constant page that nothing in the
/// whole corpus contradicts keeps its prior. Measured on held-out halves, taking it away lost 0.005 of the saved share of
/// crawl-blog and 0.004 of crawl-forum, under 0.001 elsewhere, and gained no recall anywhere. A rule with all its support
/// from one cluster is one for a constant page too, whatever its kind: it was learned from a page behind very many URLs
/// (`src/site/sinks.rs`), of which it gathers one form, and that form may be rare.
fn fails(rule: &Rule, counts: &RuleCounts) -> Option<Reason> {
    let constant = rule.kind == Kind::ConstantPage || counts.clusters == 1;
    if counts.bad == 0 && (rule.evidence.prior > 0 || constant) {
        return None;
    }
    let bound = if matches!(rule.kind, Kind::Form | Kind::Mirror) { Bound::FORM } else { Bound::OPERATION };
    let fails = |good: u64, bad: u64| good + bad >= MIN_OBSERVATIONS && !bound.wilson(good, bad, 0);
    if fails(counts.good, counts.bad) {
        return Some(Reason::Bound);
    }
    // Apart from the training records a sample may be too small to reach the bound without any bad URL.
    (counts.apart_bad > 0 && fails(counts.apart_good, counts.apart_bad)).then_some(Reason::BoundApart)
}

/// Writes what the proof counted into the evidence of a rule.
pub fn overwrite(evidence: &mut Evidence, counts: &RuleCounts) {
    evidence.good = counts.good;
    evidence.bad = counts.bad;
    evidence.prior = 0;
    evidence.support_pairs = counts.support_pairs;
    evidence.false_positive_pairs = counts.false_positive_pairs;
    evidence.clusters = counts.clusters;
    evidence.upper_bound_ppm = upper_bound_ppm(counts.bad, counts.good + counts.bad);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(id: &str) -> Rule {
        Rule::of(id, Vec::new(), Vec::new())
    }

    fn counts(good: u64, bad: u64, support_pairs: u64, false_positive_pairs: u64) -> RuleCounts {
        RuleCounts { good, bad, support_pairs, false_positive_pairs, ..RuleCounts::default() }
    }

    #[test]
    fn verdicts() {
        let site = SiteRules { rules: vec![rule("a"), rule("b"), rule("c")], ..SiteRules::default() };
        let with = |rules: Vec<RuleCounts>| SiteCounts {
            support_pairs: rules.iter().map(|r| r.support_pairs).sum(),
            false_positive_pairs: rules.iter().map(|r| r.false_positive_pairs).sum(),
            rules,
            ..SiteCounts::default()
        };
        let fine = counts(1000, 0, 1000, 0);
        assert_eq!(judge(&site, &with(vec![fine; 3]), 10_000, 0), Verdict::Holds);
        // Too little seen to judge; and rules that never fired.
        assert_eq!(judge(&site, &with(vec![counts(2, 0, 3, 0)]), 10_000, 0), Verdict::Holds);
        // Few, but of one page, which nothing contradicts.
        let rare = RuleCounts { clusters: 1, ..counts(5, 0, 15, 0) };
        assert_eq!(judge(&site, &with(vec![rare]), 10_000, 0), Verdict::Holds);
        let several = RuleCounts { clusters: 2, ..rare };
        assert_eq!(judge(&site, &with(vec![several]), 10_000, 0), Verdict::Withdraw(vec![(0, Reason::Bound)]));
        // The bound of 4.3.
        let one = with(vec![fine, counts(20, 5, 25, 0), fine]);
        assert_eq!(judge(&site, &one, 10_000, 0), Verdict::Withdraw(vec![(1, Reason::Bound)]));
        assert_eq!(judge(&site, &one, 10_000, MAX_PASSES - 1), Verdict::FallBack);
        // The pair rate: the worst goes, and that suffices.
        let pairs = with(vec![counts(1000, 10, 1000, 5), counts(1000, 10, 1000, 300), fine]);
        assert_eq!(judge(&site, &pairs, 10_000, 0), Verdict::Withdraw(vec![(1, Reason::PairRate)]));
        assert_eq!(judge(&site, &pairs, 200_000, 0), Verdict::Holds);
        // A rule that fires everywhere is in every wrong pair; the one above its share goes.
        let everywhere = SiteCounts {
            support_pairs: 10_000,
            false_positive_pairs: 400,
            rules: vec![counts(9000, 100, 10_000, 400), counts(500, 40, 1_000, 390), fine],
            ..SiteCounts::default()
        };
        assert_eq!(judge(&site, &everywhere, 10_000, 0), Verdict::Withdraw(vec![(1, Reason::PairRate)]));
        // What fails by itself goes first; the rate of the rest is known when it has gone.
        let shared = SiteCounts { support_pairs: 10_000, false_positive_pairs: 150, ..with(vec![]) };
        let shared = SiteCounts { rules: vec![counts(20, 5, 9_500, 100), counts(1372, 25, 1428, 25)], ..shared };
        assert_eq!(judge(&site, &shared, 10_000, 0), Verdict::Withdraw(vec![(0, Reason::Bound)]));
        let both = vec![(0, Reason::Bound), (1, Reason::PairRate)];
        assert_eq!(judge(&site, &shared, 10_000, 1), Verdict::Withdraw(both));
        // Records that did not train tell against it.
        let apart = RuleCounts { apart_good: 5, apart_bad: 5, ..counts(1000, 5, 1000, 0) };
        assert_eq!(judge(&site, &with(vec![apart]), 10_000, 0), Verdict::Withdraw(vec![(0, Reason::BoundApart)]));
        // Nobody to blame.
        let nobody = SiteCounts { support_pairs: 10, false_positive_pairs: 5, ..SiteCounts::default() };
        assert_eq!(judge(&site, &nobody, 10_000, 0), Verdict::FallBack);
        let look_up = ["http://a/b", "http://a/"].map(str::to_owned);
        let site = SiteRules { aliases: vec![look_up], ..site.clone() };
        assert_eq!(judge(&site, &nobody, 10_000, 0), Verdict::WithdrawLookups);
        assert_eq!(judge(&SiteRules::default(), &nobody, 10_000, 0), Verdict::Holds);
    }
}
