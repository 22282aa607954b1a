//! Decisions of the proof: the rules of a site that are narrowed or withdrawn (docs/method.md, "The
//! proof"). Pure, in integers.
//!
//! The first pass counts the wrong merges in which each rule takes part. Rules that take part in some
//! are suspected: later passes count their marginal evidence, the merges that would not exist without
//! them. A rule that fails its bound there loses the sections and values that are against it; or else a
//! sample of its merges is requested, to find one test that separates the wrong ones; or else it is
//! withdrawn. One that passes with several wrong merges is narrowed, too, where they lie together. After any change the
//! site is counted again.

use super::change::{Change, Reason};
use super::counts::{RuleCounts, SiteCounts};
use super::marginal::Marginal;
use super::narrow::{self, Against};
use super::rate::{self, Rate};
use super::table::does_the_same;
use crate::rules::types::{Evidence, Kind, Rule, SiteRules};
use crate::site::evidence::{Bound, upper_bound_ppm};
use crate::site::operations::{is_of_lists_or_versions, prior_of, prior_to_narrow};
use crate::site::{Params, Thresholds};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Passes that may change rules, a bound of work: beyond them a site that still fails falls back to
/// syntax-based normalization. Each change takes two (request, count again), and rules that share wrong
/// merges are withdrawn one after the other: one a pass where all are wrong. Only sites with rules that
/// change are counted again.
pub const MAX_PASSES: usize = 24;

/// Decision on a site after a pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The rules hold.
    Holds,
    /// Rules are suspected, or URLs are requested: the site is counted again.
    CountAgain,
    /// These rules (by index, ascending) change, memory of wrong pages is removed, and the site is counted
    /// again.
    Change(Vec<(usize, Change)>),
    /// No rule is to blame, but memory may be: it is withdrawn, and the site is counted again.
    WithdrawMemory,
    /// All rules are withdrawn; the site is counted again for its figures.
    FallBack,
}

/// State of a site from pass to pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Rules that are suspected: their marginal evidence is counted in the next pass.
    pub suspects: Vec<u16>,
    /// Hashes of requested URLs.
    pub wanted: BTreeSet<u64>,
    /// Ids of rules that were narrowed by a test, or could not be: they are not tried again.
    pub tried: BTreeSet<String>,
    /// Ids of rules that fail, or may be narrowed, and whose merges were requested.
    pub requested: BTreeSet<String>,
    /// Wrong merges of the kept rules that are drift of the labels.
    pub drift: u64,
}

/// A rule with wrong merges, by index.
struct Contradicted {
    at: usize,
    marginal: Marginal,
    /// Why it fails; `None` where it passes.
    fails: Option<Reason>,
}

impl Contradicted {
    /// Share of its merges that are wrong, in millionths.
    fn share(&self) -> u128 {
        let Marginal { good, .. } = self.marginal;
        u128::from(self.marginal.wrong()) * 1_000_000 / u128::from(good + self.marginal.wrong()).max(1)
    }
}

/// The bound that a rule must pass on a site with this noise of its labels.
pub fn bound(site: &SiteRules, rule: &Rule, thresholds: &Thresholds) -> Bound {
    let of = if matches!(rule.kind, Kind::Form | Kind::Mirror) { Bound::form } else { Bound::operation };
    of(thresholds).allowing(u64::from(site.label_noise_permille))
}

/// The verdict on a site after pass `pass` (counted from 0). A site without rules and memory always
/// holds: its wrong merges are those of syntax-based normalization or of the labels.
///
/// Where the pair false-positive rate of the site exceeds `fpr_max_ppm` though no rule fails, the
/// [worst](rate::over_the_rate) rules are withdrawn until the other counted pairs are within the bound.
pub fn judge(site: &SiteRules, counts: &SiteCounts, params: &Params, pass: usize, pending: &mut Pending) -> Verdict {
    if site.rules.is_empty() && !super::table::has_memory(site) {
        return Verdict::Holds;
    }
    let of = |index: usize| counts.rules.get(index).cloned().unwrap_or_default();
    let asked = std::mem::take(&mut pending.suspects);
    let wanted = std::mem::take(&mut pending.wanted);
    pending.suspects = (0..site.rules.len() as u16).filter(|&rule| of(rule.into()).bad > 0).collect();
    pending.wanted.extend(&counts.misremembered.0);
    let news = pending.suspects.iter().any(|rule| !asked.contains(rule)) || !pending.wanted.is_subset(&wanted);
    if news && pass + 2 < MAX_PASSES {
        return Verdict::CountAgain;
    }
    let changes = changes(site, counts, &of, &params.thresholds, pass, pending);
    if !changes.is_empty() || !counts.misremembered.0.is_empty() {
        return if pass + 1 >= MAX_PASSES { Verdict::FallBack } else { Verdict::Change(changes) };
    }
    if !pending.requested.is_empty() {
        return Verdict::CountAgain;
    }
    match rate::over_the_rate(site, counts, &of, params) {
        Rate::Holds => Verdict::Holds,
        _ if pass + 1 >= MAX_PASSES => Verdict::FallBack,
        Rate::Worst(rules) => {
            Verdict::Change(rules.into_iter().map(|rule| (rule, Change::Withdraw(Reason::PairRate))).collect())
        }
        Rate::Nobody if super::table::has_memory(site) => Verdict::WithdrawMemory,
        Rate::Nobody => Verdict::Holds,
    }
}

/// Rules that change by their marginal evidence. Those whose merges are requested first are put into
/// `pending`.
fn changes(
    site: &SiteRules,
    counts: &SiteCounts,
    of: &dyn Fn(usize) -> RuleCounts,
    thresholds: &Thresholds,
    pass: usize,
    pending: &mut Pending,
) -> Vec<(usize, Change)> {
    let last = pass + 2 >= MAX_PASSES;
    let asked = std::mem::take(&mut pending.requested);
    pending.drift = 0;
    let (mut contradicted, mut changes): (Vec<Contradicted>, Vec<(usize, Change)>) = Default::default();
    let is_small = counts.labelled < thresholds.small_sample as u64;
    for (at, rule) in site.rules.iter().enumerate() {
        let counts = of(at);
        // What is left of a narrowed rule was never met.
        let is_gone = counts.good + counts.bad == 0 && pending.tried.contains(&rule.id);
        changes.extend(is_gone.then_some((at, Change::Withdraw(Reason::Bound))));
        let Some(marginal) = counts.marginal else { continue };
        let (bound, prior) = (bound(site, rule, thresholds), prior_of(rule, thresholds));
        let fails = if rule.provisional && marginal.wrong() > 0 {
            // A rule from the catalogue alone is withdrawn once a cluster contradicts it.
            Some(Reason::Contradicted)
        } else if is_drift(&marginal, thresholds.proof_min_recurring) {
            pending.drift += marginal.wrong();
            continue;
        } else {
            let is_refuted = || is_small && is_refuted(rule, &marginal, thresholds);
            fails(&marginal, counts.good, bound, prior, thresholds).or_else(|| is_refuted().then_some(Reason::Bound))
        };
        let several = thresholds.narrow_min_held_clusters as u64;
        let may_be_narrowed = || !last && bound.unexplained(marginal.good, marginal.wrong(), 0) >= several;
        if fails.is_some() || may_be_narrowed() && !pending.tried.contains(&rule.id) {
            contradicted.push(Contradicted { at, marginal: *marginal, fails });
        }
    }
    // Rules that share wrong merges have them as common evidence: the worst is withdrawn first, the others
    // are counted again. Those that pass come last.
    contradicted.sort_by_key(|of| (of.fails.is_none(), Reverse(of.share()), of.at));
    let mut now: Vec<&Contradicted> = Vec::new();
    for of in &contradicted {
        if !last && now.iter().any(|before| !before.marginal.is_apart_from(&of.marginal)) {
            continue;
        }
        let Contradicted { at, marginal, fails } = of;
        let (rule, bound) = (&site.rules[*at], bound(site, &site.rules[*at], thresholds));
        let against = Against::of(marginal, bound, thresholds.narrow_min_clusters);
        let (good, bad) = against.rest(marginal);
        let passes = {
            let prior = prior_to_narrow(rule, thresholds);
            bound.allows(good, bad, prior) && bound.wilson(good, bound.unexplained(good, bad, prior), prior)
        };
        let may = fails.is_some() && !site.tokens.published && !against.is_empty() && good > 0 && passes;
        let may = may && against.is_outvoted(rule, marginal, bound, thresholds);
        let narrowed = may.then(|| against.taken_from(rule)).flatten();
        let is_asked = asked.contains(&rule.id) || last || marginal.good == 0 || pending.tried.contains(&rule.id);
        let change = if let (true, Some(reason)) = (rule.provisional, fails) {
            Some(Change::Withdraw(*reason))
        } else if let Some(rule) = narrowed {
            Some(Change::Narrow(Reason::Parts, Box::new(rule)))
        } else if is_asked {
            let bound = (bound, fails.is_none());
            let narrowed = narrow::by_test(site, rule, marginal, &counts.texts, bound, thresholds);
            let narrowed = narrowed.filter(|_| !pending.tried.contains(&rule.id));
            pending.tried.extend((narrowed.is_none() && fails.is_none()).then(|| rule.id.clone()));
            narrowed
                .map(|rule| Change::Narrow(Reason::Test, Box::new(rule)))
                .or_else(|| Some(Change::Withdraw((*fails)?)))
        } else {
            pending.requested.insert(rule.id.clone());
            let sample = marginal.good_sample.0.iter().chain(&marginal.bad_sample.0);
            pending.wanted.extend(sample.map(|kept| kept.0));
            None
        };
        // Others that pass are asked together: most of them stay as they are.
        if fails.is_some() || change.is_some() {
            now.push(of);
        }
        changes.extend(change.map(|change| (*at, change)));
    }
    if !changes.is_empty() {
        pending.requested.clear();
    }
    changes.extend(twins(site, of, &changes));
    changes.sort_by_key(|(at, _)| *at);
    changes
}

/// Rules withdrawn with others: they do the same, and took part in no other merge. One by one they
/// would be found in later passes, and a wrong rule would take as many passes as it has copies.
fn twins(site: &SiteRules, of: &dyn Fn(usize) -> RuleCounts, changes: &[(usize, Change)]) -> Vec<(usize, Change)> {
    let gone = changes.iter().filter(|(_, change)| matches!(change, Change::Withdraw(_)));
    let gone: Vec<&Rule> = gone.map(|(at, _)| &site.rules[*at]).collect();
    let is_silent = |at: usize| of(at).support_pairs == 0 && changes.iter().all(|(changed, _)| *changed != at);
    // A line of the catalogue has a source of its own, whatever the fate of one for another script.
    let is_line = |at: usize| site.rules[at].line.is_some();
    let is_twin =
        |at: &usize| !is_line(*at) && gone.iter().any(|rule| does_the_same(&site.rules[*at], rule)) && is_silent(*at);
    (0..site.rules.len()).filter(is_twin).map(|at| (at, Change::Withdraw(Reason::Twin))).collect()
}

/// Whether a rule fails on its marginal merges; on fewer than `proof_min_observations` only if half of them are wrong.
///
/// A rule without a wrong merge, or with no more than noise explains (`prior` is that of its operations), never fails,
/// nor does one of the catalogue with one more beside `proof_one_wrong` right ones; others are tested without a prior.
/// Measured on held-out halves, taking away the prior of catalogue operations altogether lost 0.005 of the saved share
/// of crawl-blog and 0.004 of crawl-forum, and gained no recall anywhere.
///
/// Wrong merges that several rules make, each of which would suffice, are compared with `acted`, the right merges in
/// which the rule takes part, since of these others make many, too: `ignore scheme` alone joins one page in twenty
/// where hosts and parameters join all of them, and three wrong labels of 1,400 URLs refused it.
fn fails(marginal: &Marginal, acted: u64, bound: Bound, prior: u64, of: &Thresholds) -> Option<Reason> {
    let least = of.proof_min_observations;
    let fails = |good: u64, bad: u64| match bound.unexplained(good, bad, prior) {
        0 => false,
        1 if prior > 0 && good >= of.proof_one_wrong => false,
        unexplained if good + bad < least => unexplained >= good,
        unexplained => !bound.allows(good, bad, prior) || !bound.wilson(good, unexplained, 0),
    };
    if fails(marginal.good, marginal.bad) || fails(marginal.good.max(acted), marginal.wrong()) {
        return Some(Reason::Bound);
    }
    let many = marginal.apart_good + marginal.apart_bad >= least;
    (many && fails(marginal.apart_good, marginal.apart_bad)).then_some(Reason::BoundApart)
}

/// Whether a rule on lists or versions has too many wrong merges for a small sample, which holds few of the lists that
/// its pages belong to: as when rules are learned. One with a prior is exempt.
fn is_refuted(rule: &Rule, marginal: &Marginal, of: &Thresholds) -> bool {
    let is_asked = is_of_lists_or_versions(rule) && prior_of(rule, of) == 0;
    is_asked && marginal.wrong() * of.small_wrong_of_lists > marginal.good
}

/// Whether the wrong merges of a rule are drift of the labels: the values that it removes and that
/// occur twice or more, at least `least`, meet several clusters more often than not, so that they do not
/// determine the cluster. The lower Wilson bound (z = 1) of that share must exceed one half.
fn is_drift(of: &Marginal, least: u64) -> bool {
    let (n, k) = (u128::from(of.recurring), u128::from(of.recurring_several));
    // (k - n / 2)^2 > n / 4, on the upper side.
    of.wrong() > 0 && of.recurring >= least && 2 * k > n && (2 * k - n).pow(2) > n
}

/// Writes the counts of the proof into the evidence of a rule.
pub fn overwrite(evidence: &mut Evidence, counts: &RuleCounts) {
    (evidence.good, evidence.bad) = match &counts.marginal {
        Some(marginal) => (marginal.good, marginal.wrong()),
        None => (counts.good, counts.bad),
    };
    evidence.prior = 0;
    evidence.support_pairs = counts.support_pairs;
    evidence.false_positive_pairs = counts.false_positive_pairs;
    evidence.clusters = counts.clusters;
    evidence.upper_bound_ppm = upper_bound_ppm(evidence.bad, evidence.good + evidence.bad);
}

#[cfg(test)]
mod tests {
    use super::super::marginal::{Cell, CellCounts, Smallest};
    use super::*;
    use crate::rules::types::{Constraint, Operation, Representative, SECTION, Test};

    fn rule(id: &str) -> Rule {
        Rule::of(id, Vec::new(), vec![(format!("query {id}="), Operation::Ignore(Representative::LeftOut))])
    }

    fn judge(site: &SiteRules, counts: &SiteCounts, fpr_max_ppm: u32, pass: usize, pending: &mut Pending) -> Verdict {
        let params = Params { fpr_max_ppm, ..Params::default() };
        super::judge(site, counts, &params, pass, pending)
    }

    fn site(rules: &[Rule]) -> SiteRules {
        SiteRules { site: "s".to_owned(), rules: rules.to_vec(), ..SiteRules::default() }
    }

    /// Counts of a rule that takes part in `taking_part` wrong merges and has this marginal evidence.
    fn counts(taking_part: u64, marginal: Option<(u64, u64)>) -> RuleCounts {
        let marginal = marginal.map(|(good, bad)| Box::new(Marginal { good, bad, ..Marginal::default() }));
        RuleCounts { good: 1000, bad: taking_part, marginal, ..RuleCounts::default() }
    }

    fn of(rules: Vec<RuleCounts>) -> SiteCounts {
        SiteCounts { rules, support_pairs: 1000, ..SiteCounts::default() }
    }

    #[test]
    fn who_takes_part_in_wrong_merges_is_asked_what_it_answers_for() {
        let site = site(&[rule("a"), rule("b")]);
        let mut pending = Pending::default();
        assert_eq!(judge(&site, &of(vec![counts(0, None), counts(0, None)]), 10_000, 0, &mut pending), Verdict::Holds);
        let first = of(vec![counts(5, None), counts(0, None)]);
        assert_eq!(judge(&site, &first, 10_000, 0, &mut pending), Verdict::CountAgain);
        assert_eq!(pending.suspects, [0]);
        // Others make them.
        let innocent = of(vec![counts(5, Some((900, 0))), counts(0, None)]);
        assert_eq!(judge(&site, &innocent, 10_000, 1, &mut pending), Verdict::Holds);
    }

    #[test]
    fn a_rule_that_fails_is_withdrawn_once_a_sample_of_its_merges_is_there() {
        let site = site(&[rule("a"), rule("b")]);
        let mut pending = Pending { suspects: vec![0, 1], ..Pending::default() };
        let both = of(vec![counts(50, Some((20, 30))), counts(50, Some((900, 30)))]);
        assert_eq!(judge(&site, &both, 10_000, 1, &mut pending), Verdict::CountAgain);
        // The worse one first: the other may share its wrong merges.
        assert_eq!(pending.requested.iter().collect::<Vec<_>>(), ["a"]);
        let gone = vec![(0, Change::Withdraw(Reason::Bound))];
        assert_eq!(judge(&site, &both, 10_000, 2, &mut pending), Verdict::Change(gone));
        // Without another pass, all that fail are withdrawn; and then everything.
        let mut late = Pending { suspects: vec![0, 1], ..Pending::default() };
        let all = [0, 1].map(|at| (at, Change::Withdraw(Reason::Bound))).to_vec();
        assert_eq!(judge(&site, &both, 10_000, MAX_PASSES - 2, &mut late), Verdict::Change(all));
        assert_eq!(judge(&site, &both, 10_000, MAX_PASSES - 1, &mut late), Verdict::FallBack);
    }

    #[test]
    fn rules_that_pass_with_several_wrong_merges_are_asked_once_and_together() {
        let site = site(&[rule("a"), rule("b"), rule("c")]);
        let mut pending = Pending { suspects: vec![0, 1, 2], ..Pending::default() };
        let mut passing = of(vec![counts(5, Some((900, 3))), counts(5, Some((800, 3))), counts(5, Some((900, 2)))]);
        // Two wrong labels make a section fail, which says little where all others pass.
        let cell = |name: &str| Cell { section: name.to_owned(), value: None };
        let of_cell = |good, bad| CellCounts { good, bad, clusters: Smallest((0..bad).collect()) };
        if let Some(marginal) = &mut passing.rules[0].marginal {
            marginal.cells.extend([(cell("shop"), of_cell(20, 2)), (cell("news"), of_cell(880, 1))]);
        }
        assert_eq!(judge(&site, &passing, 10_000, 1, &mut pending), Verdict::CountAgain);
        assert_eq!(pending.requested.iter().collect::<Vec<_>>(), ["a", "b"]);
        // Nothing separates their wrong merges: they stay, and are not asked again.
        assert_eq!(judge(&site, &passing, 10_000, 2, &mut pending), Verdict::Holds);
        assert_eq!(pending.tried.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(judge(&site, &passing, 10_000, 3, &mut pending), Verdict::Holds);
        // One that was narrowed to what no record shows goes.
        passing.rules[1] = RuleCounts::default();
        let gone = vec![(1, Change::Withdraw(Reason::Bound))];
        assert_eq!(judge(&site, &passing, 10_000, 4, &mut pending), Verdict::Change(gone));
    }

    #[test]
    fn few_merges_fail_where_as_many_are_wrong_as_right() {
        let all = Thresholds::default();
        let fails_by =
            |prior, marginal: Marginal, acted| fails(&marginal, acted, Bound::operation(&all), prior, &all).is_some();
        let fails = |good, bad| fails_by(0, Marginal { good, bad, ..Marginal::default() }, 0);
        assert_eq!(
            [fails(0, 0), fails(0, 1), fails(1, 1), fails(2, 1), fails(60, 1), fails(1000, 5), fails(1000, 30)],
            [false, true, true, true, false, false, true]
        );
        // One page of 25 says less than the name of a session, of ten it does not, nor do two of any number.
        let named = |good, bad| fails_by(8, Marginal { good, bad, ..Marginal::default() }, 0);
        assert_eq!([fails(24, 1), named(24, 1), named(9, 1), named(40, 2)], [true, false, true, true]);
        // In a small sample one wrong merge of 256 is too many for a rule on lists.
        let is_kept = |name, good, labelled| {
            let counts = SiteCounts { labelled, ..of(vec![counts(1, Some((good, 1)))]) };
            let mut pending = Pending { suspects: vec![0], ..Pending::default() };
            judge(&site(&[rule(name)]), &counts, 10_000, 1, &mut pending) == Verdict::Holds
        };
        assert_eq!([is_kept("page", 255, 999), is_kept("page", 256, 999), is_kept("a", 255, 999)], [false, true, true]);
        assert!(is_kept("page", 255, 1000));
        // What others join as well is compared with all that they and the rule join.
        let joint = |good, joint, acted| fails_by(0, Marginal { good, joint, ..Marginal::default() }, acted);
        assert_eq!([joint(45, 3, 1400), joint(45, 3, 100), joint(45, 30, 1400)], [false, true, true]);
    }

    #[test]
    fn noise_of_the_labels_is_no_fault_of_a_rule() {
        let verdict = |noise: u32, rule: Rule, good, bad| {
            let site = SiteRules { label_noise_permille: noise, ..site(&[rule]) };
            let marginal = Some(Box::new(Marginal { good, bad, ..Marginal::default() }));
            let counts = RuleCounts { good: 1000, bad, marginal, ..RuleCounts::default() };
            let mut pending = Pending { suspects: vec![0], ..Pending::default() };
            judge(&site, &of(vec![counts]), 10_000, 1, &mut pending) == Verdict::Holds
        };
        let tracking = || rule("gclid");
        assert_eq!([verdict(0, tracking(), 81, 5), verdict(10, tracking(), 81, 5)], [false, true]);
        // The name says nothing of another parameter, and what is wrong on a quarter or more is no noise.
        assert_eq!([verdict(10, rule("a"), 81, 7), verdict(10, rule("a"), 81, 3)], [false, true]);
        assert!(!verdict(10, tracking(), 40, 20) && !verdict(50, tracking(), 5, 5) && !verdict(50, tracking(), 0, 1));
    }

    #[test]
    fn drift_of_labels_is_no_wrong_merge() {
        let drift = |recurring, recurring_several| {
            is_drift(&Marginal { bad: 50, recurring, recurring_several, ..Marginal::default() }, 9)
        };
        assert_eq!(
            [drift(8, 8), drift(9, 9), drift(9, 5), drift(9, 7), drift(1000, 500), drift(0, 0)],
            [false, true, false, true, false, false]
        );
    }

    #[test]
    fn a_section_and_a_value_that_merge_wrongly_are_taken_out() {
        let list = Operation::Classes(
            [("x", "z"), ("y", "z")].map(|(a, b)| (Some(a.to_owned()), Some(b.to_owned()))).to_vec(),
        );
        let site = site(&[Rule::of("a", Vec::new(), vec![("query q=".to_owned(), list)])]);
        let cell = |section: &str, value: &str| Cell { section: section.to_owned(), value: Some(value.to_owned()) };
        let of_cell = |good, bad| CellCounts { good, bad, clusters: Smallest((0..bad).collect()) };
        let against = [(cell("n0", "y"), of_cell(0, 4)), (cell("shop", "x"), of_cell(40, 4))];
        let in_favour = (0..30).map(|n| (cell(&format!("n{n}"), "x"), of_cell(2, 0)));
        let cells = in_favour.chain(against).collect();
        let marginal = Marginal { good: 100, bad: 8, cells, ..Marginal::default() };
        let rules = vec![RuleCounts { bad: 8, marginal: Some(Box::new(marginal)), ..RuleCounts::default() }];
        let mut pending = Pending { suspects: vec![0], ..Pending::default() };
        let Verdict::Change(changes) = judge(&site, &of(rules), 10_000, 1, &mut pending) else {
            panic!("nothing changes")
        };
        let [(0, Change::Narrow(Reason::Parts, rule))] = &changes[..] else { panic!("{changes:?}") };
        let section = Constraint { key: SECTION.to_owned(), test: Test::NoneOf(vec!["shop".to_owned()]) };
        assert_eq!(rule.scope, [section]);
        let left = Operation::Classes(vec![(Some("x".to_owned()), Some("z".to_owned()))]);
        assert_eq!(rule.operations, [("query q=".to_owned(), left)]);
    }

    #[test]
    fn the_pair_rate_takes_the_rule_above_its_share() {
        let site = site(&[rule("a"), rule("b")]);
        // A rule that fires everywhere is in every wrong pair.
        let pairs = |support_pairs, false_positive_pairs| RuleCounts {
            support_pairs,
            false_positive_pairs,
            ..counts(5, Some((900, 0)))
        };
        let counts = SiteCounts {
            support_pairs: 10_000,
            false_positive_pairs: 400,
            ..of(vec![pairs(10_000, 400), pairs(1_000, 390)])
        };
        let mut pending = Pending { suspects: vec![0, 1], ..Pending::default() };
        let worst = vec![(1, Change::Withdraw(Reason::PairRate))];
        assert_eq!(judge(&site, &counts, 10_000, 1, &mut pending), Verdict::Change(worst));
        assert_eq!(judge(&site, &counts, 100_000, 1, &mut pending), Verdict::Holds);
    }

    #[test]
    fn what_memory_leads_astray_is_asked_for_and_forgotten() {
        let look_up = ["http://a/b", "http://a/"].map(str::to_owned);
        let site = SiteRules { aliases: vec![look_up], ..site(&[rule("a")]) };
        let mut pending = Pending::default();
        let counts = SiteCounts { misremembered: Smallest(vec![3, 5]), ..of(vec![counts(0, None)]) };
        assert_eq!(judge(&site, &counts, 10_000, 0, &mut pending), Verdict::CountAgain);
        assert_eq!(pending.wanted.iter().copied().collect::<Vec<_>>(), [3, 5]);
        assert_eq!(judge(&site, &counts, 10_000, 1, &mut pending), Verdict::Change(Vec::new()));
        // No rule is to blame: memory is withdrawn; without any, the labels are wrong.
        let wrong = SiteCounts { support_pairs: 10, false_positive_pairs: 5, ..SiteCounts::default() };
        assert_eq!(judge(&site, &wrong, 10_000, 0, &mut Pending::default()), Verdict::WithdrawMemory);
        let plain = judge(&super::tests::site(&[rule("a")]), &wrong, 10_000, 0, &mut Pending::default());
        assert_eq!(plain, Verdict::Holds);
        assert_eq!(judge(&SiteRules::default(), &wrong, 10_000, 0, &mut Pending::default()), Verdict::Holds);
    }

    #[test]
    fn thresholds_of_the_proof_act() {
        let marginal = |good, bad, recurring| {
            let marginal = Marginal { good, bad, recurring, recurring_several: recurring, ..Marginal::default() };
            RuleCounts { good: 1000, bad, marginal: Some(Box::new(marginal)), ..RuleCounts::default() }
        };
        let noisy = SiteRules { label_noise_permille: 10, ..site(&[rule("a")]) };
        let wrong = RuleCounts { support_pairs: 1000, false_positive_pairs: 400, ..counts(0, None) };
        let pairs = SiteCounts { good: 1000, false_positive_pairs: 400, ..of(vec![wrong]) };
        let cases = [
            ("proof_min_observations", "4", site(&[rule("a")]), of(vec![marginal(2, 1, 0)])),
            ("proof_one_wrong", "21", site(&[rule("gclid")]), of(vec![marginal(20, 1, 0)])),
            ("proof_min_recurring", "10", site(&[rule("a")]), of(vec![marginal(20, 30, 9)])),
            ("proof_noisy_permille", "11", noisy, pairs),
        ];
        for (name, value, site, counts) in cases {
            let verdict = |params: &Params| {
                let mut pending = Pending { suspects: vec![0], ..Pending::default() };
                super::judge(&site, &counts, params, 1, &mut pending)
            };
            let mut params = Params::default();
            let before = verdict(&params);
            params.set(name, value).expect("a threshold");
            let after = verdict(&params);
            assert!([&before, &after].contains(&&Verdict::Holds) && before != after, "{name}: {before:?}, {after:?}");
        }
    }
}
