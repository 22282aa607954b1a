//! Narrowing a rule that makes wrong merges, before it is withdrawn (docs/method.md, "The proof").
//! Pure.
//!
//! First by place: sections and values of its table that merge wrongly are removed. Then by one test on one key that
//! holds the wrong merges beyond chance: one test among many fits any few merges.

use super::marginal::{Cell, CellCounts, Kept, MAX_CLUSTERS, Marginal};
use super::table::key_of_table;
use crate::rules::types::{Constraint, Operation, Rule, SECTION, SiteRules, Test};
use crate::site::Thresholds;
use crate::site::evidence::Bound;
use crate::site::hypergeometric::at_most;
use crate::site::operations::{prior_of, prior_to_narrow};
use crate::url::{NormalUrl, Pairs};
use std::collections::{BTreeMap, BTreeSet};

/// The sections and values that are against a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Against {
    /// Sections.
    pub sections: BTreeSet<String>,
    /// Values of the key of its table.
    pub values: BTreeSet<String>,
}

impl Against {
    /// Finds values that merge wrongly as often as rightly: nothing else supports them, so one cluster
    /// suffices. Then sections that merge at least `least` clusters wrongly, without these values; then such
    /// values that fail the bound outside these sections.
    pub fn of(marginal: &Marginal, bound: Bound, least: usize) -> Against {
        let mut against = Against::default();
        let fails = |of: &CellCounts| of.clusters.0.len() >= least && !bound.allows(of.good, of.bad, 0);
        let value = |cell: &Cell| cell.value.clone();
        against.values = against.sums(marginal, value, |of| of.bad > 0 && of.bad >= of.good);
        against.sections = against.sums(marginal, |cell| Some(cell.section.clone()), fails);
        let more = against.sums(marginal, value, fails);
        against.values.extend(more);
        against
    }

    /// Right and wrong merges of the rule outside the parts against it.
    pub fn rest(&self, marginal: &Marginal) -> (u64, u64) {
        let is_kept = |cell: &Cell| {
            !self.sections.contains(&cell.section)
                && cell.value.as_ref().is_none_or(|value| !self.values.contains(value))
        };
        let rest = marginal.cells.iter().filter(|(cell, _)| is_kept(cell));
        rest.fold((0, 0), |(good, bad), (_, of)| (good + of.good, bad + of.bad))
    }

    /// Names whose cells, except those already against the rule, add up to counts for which `are` holds.
    fn sums(
        &self,
        marginal: &Marginal,
        name: impl Fn(&Cell) -> Option<String>,
        are: impl Fn(&CellCounts) -> bool,
    ) -> BTreeSet<String> {
        let mut sums: BTreeMap<String, CellCounts> = BTreeMap::new();
        for (cell, counts) in &marginal.cells {
            let known = cell.value.as_ref().is_some_and(|value| self.values.contains(value));
            if let Some(name) = name(cell).filter(|_| !known && !self.sections.contains(&cell.section)) {
                let to = sums.entry(name).or_default();
                to.good += counts.good;
                to.bad += counts.bad;
                counts.clusters.0.iter().for_each(|&cluster| to.clusters.add(cluster, MAX_CLUSTERS));
            }
        }
        sums.into_iter().filter(|(_, of)| are(of)).map(|(name, _)| name).collect()
    }

    /// True where nothing is against the rule.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty() && self.values.is_empty()
    }

    /// True where a rule may leave out the sections against it: in a rule of the whole site the others must
    /// outvote them, as where it is learned (`site::section_set`). Else those that are left are the few that
    /// are right by chance, and the rule would act in directories without records.
    pub fn is_outvoted(&self, rule: &Rule, marginal: &Marginal, bound: Bound, thresholds: &Thresholds) -> bool {
        let lists = |of: &Constraint| of.key == SECTION && matches!(of.test, Test::OneOf(_) | Test::Equals(_));
        if self.sections.is_empty() || rule.scope.iter().any(lists) {
            return true;
        }
        let right = marginal.cells.iter().filter(|(_, of)| of.good > 0).map(|(cell, _)| &cell.section);
        let in_favour: BTreeSet<&String> = right.filter(|section| !self.sections.contains(*section)).collect();
        bound.wilson(in_favour.len() as u64, self.sections.len() as u64, prior_to_narrow(rule, thresholds))
    }

    /// The rule without the parts against it; `None` where nothing is left, or the parts cannot be
    /// expressed: a part may be of URLs that only another rule brought into the scope.
    pub fn taken_from(&self, rule: &Rule) -> Option<Rule> {
        let mut rule = rule.clone();
        rule.scope.sort_unstable();
        let before = rule.clone();
        if rule.mirror().is_some() {
            return None;
        }
        if !self.values.is_empty() {
            let key = key_of_table(&rule)?.to_owned();
            let is_against = |value: &Option<String>| value.as_ref().is_some_and(|value| self.values.contains(value));
            let mut found = false;
            for (_, operation) in rule.operations.iter_mut().filter(|(of, _)| *of == key) {
                if let Operation::Classes(pairs) = operation {
                    let before = pairs.len();
                    pairs.retain(|(from, _)| !is_against(from));
                    found |= pairs.len() < before;
                }
            }
            rule.operations
                .retain(|(_, operation)| !matches!(operation, Operation::Classes(pairs) if pairs.is_empty()));
            for of in rule.scope.iter_mut().filter(|of| of.key == key) {
                if let Test::OneOf(values) = &mut of.test {
                    let before = values.len();
                    values.retain(|value| !self.values.contains(value));
                    found |= values.len() < before;
                }
            }
            let none_left = |of: &Constraint| matches!(&of.test, Test::OneOf(values) if values.is_empty());
            if !found || rule.operations.is_empty() || rule.scope.iter().any(none_left) {
                return None;
            }
        }
        if self.sections.is_empty() {
            return Some(rule);
        }
        let against: Vec<String> = self.sections.iter().cloned().collect();
        match rule.scope.iter_mut().find(|of| of.key == SECTION) {
            None => rule.scope.push(Constraint { key: SECTION.to_owned(), test: Test::NoneOf(against) }),
            Some(Constraint { test: Test::NoneOf(sections), .. }) => {
                sections.extend(against);
                sections.sort_unstable();
                sections.dedup();
            }
            Some(Constraint { test: Test::OneOf(sections), .. }) => {
                sections.retain(|section| !self.sections.contains(section));
                if sections.is_empty() {
                    return None;
                }
            }
            Some(_) => return None,
        }
        rule.scope.sort_unstable();
        (rule != before).then_some(rule)
    }
}

/// A merge with the pairs of its URL.
struct Merge<'u> {
    cluster: u64,
    /// The page that the rule makes of it, by number: that its pairs make without those that the rule changes. A page
    /// that a parameter changes is a cluster for each of its values.
    page: usize,
    pairs: Pairs<'u>,
}

/// Some merges, and the pages that they are of, by label or by number, whichever are fewer: pages are the units of
/// chance, not their URLs.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    merges: u64,
    pages: u64,
}

/// Right and wrong merges of a rule, each inside a test and outside.
#[derive(Clone, Copy, Debug)]
struct Split {
    good: [Count; 2],
    bad: [Count; 2],
}

impl Split {
    fn of(test: &Constraint, good: &[Merge<'_>], bad: &[Merge<'_>]) -> Split {
        let count = |merges: &[Merge<'_>]| {
            let mut seen: [(BTreeSet<u64>, BTreeSet<usize>); 2] = Default::default();
            let mut counts = [Count::default(); 2];
            for merge in merges {
                let side = usize::from(!is_in_scope(test, &merge.pairs));
                counts[side].merges += 1;
                seen[side].0.insert(merge.cluster);
                seen[side].1.insert(merge.page);
            }
            [0, 1].map(|side| Count { pages: seen[side].0.len().min(seen[side].1.len()) as u64, ..counts[side] })
        };
        Split { good: count(good), bad: count(bad) }
    }

    /// Pages of the smaller side, right and wrong: a test with few says nothing, whatever they are.
    fn smaller(&self) -> u64 {
        let side = |at: usize| self.good[at].pages + self.bad[at].pages;
        side(0).min(side(1))
    }

    /// Chance that so few of the wrong pages are inside where each is as likely to be there as a right one.
    fn chance(&self) -> f64 {
        let [[good_in, good_out], [bad_in, bad_out]] = [self.good, self.bad].map(|of| of.map(|count| count.pages));
        at_most(bad_in, good_in + bad_in, bad_in + bad_out, good_in + good_out)
    }

    /// Right and wrong ones of a side of the samples, as of all merges of the rule.
    fn of_all(&self, side: usize, marginal: &Marginal) -> (u64, u64) {
        let scaled = |total: u64, of: &[Count; 2]| {
            let all = u128::from(of[0].merges + of[1].merges).max(1);
            (u128::from(total) * u128::from(of[side].merges)).div_ceil(all) as u64
        };
        (scaled(marginal.good, &self.good), scaled(marginal.wrong(), &self.bad))
    }
}

/// The rule narrowed by one test on one key; `None` where no test is good enough. `texts` are URLs by
/// the hashes of the samples of `marginal`.
///
/// The test must hold most wrong merges, more than any of those tried would by chance, and outside it more must be
/// wrong than noise explains; what is left of the rule must pass its bound. Of a rule with a prior that fails (not
/// `is_sound`) no chance is asked: most of it must be right and left.
pub fn by_test(
    site: &SiteRules,
    rule: &Rule,
    marginal: &Marginal,
    texts: &BTreeMap<u64, String>,
    (bound, is_sound): (Bound, bool),
    thresholds: &Thresholds,
) -> Option<Rule> {
    if rule.mirror().is_some() || site.tokens.published {
        return None;
    }
    let mut pages = BTreeMap::new();
    let mut merges = |sample: &[Kept]| -> Vec<Merge<'_>> {
        let merge = |&(part, cluster): &Kept| {
            let url = NormalUrl::new(texts.get(&part)?.as_bytes()).ok()?;
            let pairs = Pairs::tokenize(&url, site.tokenizer(), &site.tokens.query_order);
            let next = pages.len();
            Some(Merge { cluster, page: *pages.entry(unchanged(rule, &pairs)).or_insert(next), pairs })
        };
        sample.iter().filter_map(merge).collect()
    };
    let (good, bad) = (merges(&marginal.good_sample.0), merges(&marginal.bad_sample.0));
    let least = thresholds.narrow_min_held_clusters as u64;
    let splits = candidates(rule, &good, &bad).into_iter().map(|test| (Split::of(&test, &good, &bad), test));
    let splits: Vec<(Split, Constraint)> = splits.filter(|(split, _)| split.smaller() >= least).collect();
    let (tried, permille) = (splits.len() as f64, thresholds.condition_chance_permille);
    let passes = |split: &Split| {
        let (good, bad) = split.of_all(0, marginal);
        good > 0 && bound.allows(good, bad, 0) && bound.wilson(good, bound.unexplained(good, bad, 0), 0)
    };
    // Some value is right by chance, and holds the wrong merges of all others: what is wrong in one place is right on
    // most pages.
    let is_most = |Split { good, bad }: &Split| {
        let all = good.iter().chain(bad).map(|of| of.pages).sum::<u64>();
        let is_left = good[0].pages * 100 >= thresholds.narrow_min_kept_percent * all;
        is_left && bound.allows(good[0].pages, bad[0].pages, 0)
    };
    // What has a prior is right beforehand, and what is wrong of it lies somewhere: one list in an order that changes
    // with each fetch would take a tracker from the whole site.
    let is_right_beforehand = !is_sound && prior_of(rule, thresholds) > 0;
    let is_beyond_chance = |split: &Split| permille >= 1_000 || split.chance() * tried * 1_000.0 <= permille as f64;
    let is_held = |split: &Split| {
        let [bad_in, bad_out] = split.bad.map(|of| of.merges);
        let (good, wrong) = split.of_all(1, marginal);
        split.bad[1].pages >= least
            && bad_out * 100 >= thresholds.narrow_min_held_percent * (bad_in + bad_out)
            && !bound.may_be_noise(good, wrong)
            && passes(split)
            && if is_right_beforehand { is_most(split) } else { is_beyond_chance(split) }
    };
    let mut best: Option<((u64, u64), Constraint)> = None;
    for (split, test) in splits.into_iter().filter(|(split, _)| is_held(split)) {
        let rank = (split.bad[1].merges, split.good[0].merges);
        if best.as_ref().is_none_or(|(before, _)| rank > *before) {
            best = Some((rank, test));
        }
    }
    best.map(|(_, test)| {
        let mut narrowed = rule.clone();
        narrowed.scope.retain(|of| of.key != test.key);
        narrowed.scope.push(test);
        narrowed.scope.sort_unstable();
        narrowed
    })
}

/// The pairs that a rule leaves as they are; all of them of a rule between forms, which moves them.
fn unchanged(rule: &Rule, pairs: &Pairs<'_>) -> Vec<(String, Vec<u8>)> {
    let is_changed = |key: &str| !rule.closed && rule.operations.iter().any(|(of, _)| of == key);
    let pairs = pairs.iter().map(|(key, value)| (key.to_string(), value.to_vec()));
    pairs.filter(|(key, _)| !is_changed(key)).collect()
}

/// True if a URL with these pairs is in the scope under one more constraint.
fn is_in_scope(constraint: &Constraint, pairs: &Pairs<'_>) -> bool {
    crate::url::Key::parse(&constraint.key).is_some_and(|key| constraint.test.holds(pairs.get(&key)))
}

/// Constraints by which a rule can be narrowed: on keys that it does not name, and on those of which it
/// only requires presence. In order.
fn candidates(rule: &Rule, good: &[Merge<'_>], bad: &[Merge<'_>]) -> BTreeSet<Constraint> {
    let mut out = BTreeSet::new();
    for (key, value) in good.iter().chain(bad).flat_map(|merge| merge.pairs.iter()) {
        let (key, Ok(value)) = (key.to_string(), std::str::from_utf8(value)) else { continue };
        let named = rule.scope.iter().find(|of| of.key == key);
        let mut offer = |test: Test| out.insert(Constraint { key: key.clone(), test });
        match named.map(|of| &of.test) {
            None if !rule.closed => {
                offer(Test::Absent);
                offer(Test::Present);
            }
            Some(Test::Present) => {}
            _ => continue,
        }
        offer(Test::NoneOf(vec![value.to_owned()]));
        offer(Test::Equals(value.to_owned()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::marginal::Smallest;
    use super::*;
    use crate::rules::types::Representative;

    fn bound() -> Bound {
        Bound::operation(&Thresholds::default())
    }

    /// Merges of `id` pages of a list: right ones plain, wrong ones with `all=`; the cluster is the page.
    fn merges(good: u64, bad: u64, wrong: impl Fn(u64) -> String) -> (Marginal, BTreeMap<u64, String>) {
        let mut marginal = Marginal { good, bad, ..Marginal::default() };
        let mut texts = BTreeMap::new();
        for id in 0..good {
            marginal.good_sample.add((id, id), usize::MAX);
            texts.insert(id, format!("http://a/list?c={id}&limit=5"));
        }
        for id in good..good + bad {
            marginal.bad_sample.add((id, id), usize::MAX);
            texts.insert(id, wrong(id));
        }
        (marginal, texts)
    }

    fn rule() -> Rule {
        Rule::of("a", Vec::new(), vec![("query limit=".to_owned(), Operation::Ignore(Representative::LeftOut))])
    }

    fn narrowed(good: u64, bad: u64, wrong: impl Fn(u64) -> String) -> Option<Vec<Constraint>> {
        let (marginal, texts) = merges(good, bad, wrong);
        by_test(&SiteRules::default(), &rule(), &marginal, &texts, (bound(), false), &Thresholds::default())
            .map(|rule| rule.scope)
    }

    #[test]
    fn a_rule_with_a_prior_is_narrowed_rather_than_withdrawn() {
        // Pages of lists in eight orders.
        let of = |key: &str, is_wrong: &dyn Fn(u64) -> bool, is_sound: bool| {
            let (mut marginal, mut texts) = (Marginal::default(), BTreeMap::new());
            for id in 0..400 {
                let sample = if is_wrong(id) { &mut marginal.bad_sample } else { &mut marginal.good_sample };
                sample.add((id, id), usize::MAX);
                texts.insert(id, format!("http://a/list?{key}5&c={id}&order=o{}", id % 8));
            }
            (marginal.good, marginal.bad) = (marginal.good_sample.0.len() as u64, marginal.bad_sample.0.len() as u64);
            let ignore = Operation::Ignore(Representative::LeftOut);
            let mut rule = Rule::of("a", Vec::new(), vec![(format!("query {key}"), ignore)]);
            // What a rule file says of itself is no prior.
            rule.evidence.prior = 8;
            // Many tests were tried.
            let thresholds = Thresholds { condition_chance_permille: 0, ..Thresholds::default() };
            by_test(&SiteRules::default(), &rule, &marginal, &texts, (bound(), is_sound), &thresholds)
                .map(|rule| rule.scope)
        };
        let other = Constraint { key: "query order=".to_owned(), test: Test::NoneOf(vec!["o7".to_owned()]) };
        let is_last = |id: u64| id % 8 == 7;
        assert_eq!(of("fbclid=", &is_last, false), Some(vec![other]));
        assert_eq!([of("limit=", &is_last, false), of("fbclid=", &is_last, true)], [None, None]);
        // Wrong in all orders but two is no reason to keep one of these; and a fifth of the last may be noise.
        assert_eq!(of("fbclid=", &|id| id % 8 > 1, false), None);
        assert!(of("fbclid=", &|id| id % 16 == 7, false).is_some());
        assert_eq!(of("fbclid=", &|id| id % 40 == 7, false), None);
    }

    #[test]
    fn the_test_that_holds_the_wrong_merges_is_found() {
        let absent = Constraint { key: "query all=".to_owned(), test: Test::Absent };
        assert_eq!(narrowed(60, 20, |id| format!("http://a/list?all={id}&c={id}&limit=5")), Some(vec![absent]));
        // Of equally good tests the narrowest: a third script was never seen.
        let own = Constraint { key: "path0".to_owned(), test: Test::Equals("list".to_owned()) };
        assert_eq!(narrowed(60, 20, |id| format!("http://a/tree?c={id}&limit=5")), Some(vec![own]));
    }

    #[test]
    fn thresholds_of_the_test_act() {
        let wrong = |id: u64| match id % 10 {
            0 => format!("http://a/list?c={id}&limit=5"),
            _ => format!("http://a/list?all={id}&c={id}&limit=5"),
        };
        let (marginal, texts) = merges(200, 20, wrong);
        let is_narrowed = |thresholds: &Thresholds| {
            by_test(&SiteRules::default(), &rule(), &marginal, &texts, (bound(), false), thresholds).is_some()
        };
        let plain = Thresholds::default();
        assert!(is_narrowed(&plain));
        assert!(!is_narrowed(&Thresholds { narrow_min_held_percent: 99, ..plain.clone() }));
        assert!(!is_narrowed(&Thresholds { narrow_min_held_clusters: 19, ..plain.clone() }));
        assert!(!is_narrowed(&Thresholds { condition_chance_permille: 0, ..plain }));
        let cell = |section: &str| Cell { section: section.to_owned(), value: None };
        let counts = |good, bad| CellCounts { good, bad, clusters: Smallest((0..bad).collect()) };
        let cells = [(cell("news"), counts(90, 0)), (cell("shop"), counts(4, 2))];
        let marginal = Marginal { cells: cells.into(), ..Marginal::default() };
        let against = |least| Against::of(&marginal, bound(), least).sections.len();
        assert_eq!([against(2), against(3)], [1, 0]);
    }

    #[test]
    fn what_may_be_chance_narrows_nothing() {
        // Wrong merges that do not differ from the right ones.
        assert_eq!(narrowed(60, 20, |id| format!("http://a/list?c={id}&limit=5")), None);
        // Too few clusters, and too few merges left.
        assert_eq!(narrowed(60, 2, |id| format!("http://a/list?all=1&c={id}&limit=5")), None);
        assert_eq!(narrowed(4, 20, |id| format!("http://a/list?all=1&c={id}&limit=5")), None);
        assert_eq!(narrowed(0, 20, |id| format!("http://a/list?all=1&c={id}&limit=5")), None);
    }

    #[test]
    fn a_rule_that_passes_loses_what_is_no_noise() {
        // Wrong only with `all=`, beside `right` right ones there.
        let is_narrowed = |right: u64| {
            let (mut marginal, mut texts) = merges(200, 5, |id| format!("http://a/list?all=1&c={id}&limit=5"));
            marginal.good += right;
            for id in 1_000..1_000 + right {
                marginal.good_sample.add((id, id), usize::MAX);
                texts.insert(id, format!("http://a/list?all=1&c={id}&limit=5"));
            }
            by_test(&SiteRules::default(), &rule(), &marginal, &texts, (bound(), true), &Thresholds::default())
        };
        let absent = Constraint { key: "query all=".to_owned(), test: Test::Absent };
        assert_eq!(is_narrowed(14).map(|rule| rule.scope), Some(vec![absent]));
        assert_eq!(is_narrowed(15), None);
        // Of one page with many URLs all are wrong at once.
        let (mut marginal, texts) = merges(200, 5, |id| format!("http://a/list?all=1&c={id}&limit=5"));
        marginal.bad_sample.0.iter_mut().for_each(|kept| kept.1 = 200);
        let bound = (bound(), true);
        assert_eq!(by_test(&SiteRules::default(), &rule(), &marginal, &texts, bound, &Thresholds::default()), None);
        // So they are of one page that is another with each value of the parameter.
        let wrong = |id: u64| format!("http://a/list?all=1&c=7&limit={id}");
        let (marginal, texts) = merges(200, 5, wrong);
        assert_eq!(by_test(&SiteRules::default(), &rule(), &marginal, &texts, bound, &Thresholds::default()), None);
    }

    #[test]
    fn a_value_that_merges_wrongly_as_often_as_rightly_goes_without_a_second_cluster() {
        let cell = |value: &str| Cell { section: String::new(), value: Some(value.to_owned()) };
        let counts = |good, bad| CellCounts { good, bad, clusters: Smallest((0..bad.min(1)).collect()) };
        let cells = [(cell("a"), counts(9, 0)), (cell("b"), counts(1, 1)), (cell("c"), counts(9, 1))];
        let marginal = Marginal { cells: cells.into(), ..Marginal::default() };
        let against = Against::of(&marginal, bound(), 2);
        assert_eq!(against.values.iter().collect::<Vec<_>>(), ["b"]);
        assert!(against.sections.is_empty());
    }

    #[test]
    fn nothing_is_left_of_a_rule_without_its_only_value_or_section() {
        let of = |values: &[&str], sections: &[&str]| Against {
            values: values.iter().map(|&of| of.to_owned()).collect(),
            sections: sections.iter().map(|&of| of.to_owned()).collect(),
        };
        let one = Operation::Classes(vec![(Some("x".to_owned()), Some("z".to_owned()))]);
        let class = Rule::of("a", Vec::new(), vec![("query q=".to_owned(), one)]);
        assert_eq!(of(&["x"], &[]).taken_from(&class), None);
        // A value that is in no table of the rule cannot be taken out of it.
        assert_eq!(of(&["y"], &[]).taken_from(&class), None);
        let scope = vec![Constraint { key: SECTION.to_owned(), test: Test::OneOf(vec!["news".to_owned()]) }];
        let listed = Rule { scope, ..rule() };
        assert_eq!(of(&[], &["news"]).taken_from(&listed), None);
        let listed = of(&[], &["b", "a"]).taken_from(&rule()).and_then(|rule| of(&[], &["c"]).taken_from(&rule));
        let test = Test::NoneOf(["a", "b", "c"].map(str::to_owned).to_vec());
        assert_eq!(listed.expect("a rule").scope, [Constraint { key: SECTION.to_owned(), test }]);
    }
}
