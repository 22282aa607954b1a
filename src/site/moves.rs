//! New rules beside an earlier result (`learn --previous`): none that moves a hundred URLs for each it merges.
//!
//! Whoever passes an earlier result has stored its canonical URLs. A rule that is new may be right and still
//! move far more of them than it merges: that `%3A` may be written `:` merges the few pages that were met both
//! ways, and gives each of the others another address. What a rule moves are the URLs whose group of
//! duplicates is the same set with it and without it as under the earlier rules, and whose canonical URL is
//! another with it and the same without; what it merges are the canonical URLs that fall together with it. Where
//! redirects or declarations decide that an earlier rule now leads the other way, the group would fall apart
//! without it: that moves nothing in this sense, and rules on the origin are exempt at a site that has such
//! records.

use super::{Thresholds, Training};
use crate::model::hash64;
use crate::rules::{Rule, RuleSet, Scratch, SiteRules};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Rules that are taken out of a site, at most: a bound of work.
const MOST: usize = 16;

/// Removes the rules that are not in the earlier result and move more URLs than `moved_percent` allows for
/// those that they merge, worst first, each time with the others as they are then; none where no more than
/// `moved_free_permille` of the URLs move. Returns how many.
///
/// Two rules that move the same URLs are no movers: each leaves them to the other. O([`MOST`] x new rules x rows).
pub fn withdraw(rules: &mut SiteRules, training: &Training, thresholds: &Thresholds) -> u64 {
    let Some(previous) = &training.hints.previous else { return 0 };
    let is_led = training.hints.targets.iter().next().is_some();
    let may_go = |rule: &Rule| {
        let is_known = previous.rules.iter().any(|of| of.scope == rule.scope && of.operations == rule.operations);
        let is_of_origin = || rule.operations.iter().all(|(key, _)| key == "host" || key == "scheme");
        !(is_known || is_led && is_of_origin())
    };
    let before = Canonical::new(previous, training);
    for withdrawn in 0..MOST as u64 {
        let now = Canonical::new(rules, training);
        let places = now.places(&before);
        let moved = places.iter().filter(|&&place| place == CanonicalMove::Moved).count();
        if moved as u64 * 1_000 <= thresholds.moved_free_permille * training.len() as u64 {
            return withdrawn;
        }
        let is_moved = |&row: &u32| places[row as usize] == CanonicalMove::Moved;
        let new = (0..rules.rules.len()).filter(|&at| may_go(&rules.rules[at]));
        let costs = new.filter(|&at| now.rows[at].iter().any(is_moved)).filter_map(|at| {
            let without = now.without(at, rules, training);
            let places_without = without.places(&before);
            let count = |here: CanonicalMove, there: CanonicalMove| {
                let is = |row: &&u32| places[**row as usize] == here && places_without[**row as usize] == there;
                now.rows[at].iter().filter(is).count()
            };
            // Less the URLs that it keeps where they were.
            let kept =
                count(CanonicalMove::Same, CanonicalMove::Moved) + count(CanonicalMove::Same, CanonicalMove::Regrouped);
            let moves = count(CanonicalMove::Moved, CanonicalMove::Same).saturating_sub(kept);
            let merges = without.distinct().saturating_sub(now.distinct());
            (moves as u64 * 100 > merges as u64 * thresholds.moved_percent)
                .then_some((moves as i64 - merges as i64, at))
        });
        // Of equals the later rule, which fewer others build on.
        let Some((_, at)) = costs.max() else { return withdrawn };
        rules.rules.remove(at);
    }
    MOST as u64
}

/// Where the canonical URL of a row is, beside where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CanonicalMove {
    /// Its group is another set.
    Regrouped,
    /// Its group is the same set, and so is its canonical URL.
    Same,
    /// Its group is the same set, its canonical URL another.
    Moved,
}

/// Canonical URLs of the training rows, without look-ups and value ranges.
struct Canonical {
    /// Hash of the canonical URL of each row.
    of: Vec<u64>,
    /// Rows on which each rule fires.
    rows: Vec<Vec<u32>>,
}

impl Canonical {
    fn new(rules: &SiteRules, training: &Training) -> Canonical {
        let set = RuleSet::new(vec![SiteRules { aliases: Vec::new(), local: Vec::new(), ..rules.clone() }]);
        let mut scratch = Scratch::default();
        let mut out = Canonical { of: Vec::new(), rows: vec![Vec::new(); rules.rules.len()] };
        for row in 0..training.len() {
            let Some(url) = training.normal(row) else {
                out.of.push(hash64(training.url(row)));
                continue;
            };
            let applied = set.apply_normal(url, Some(0), &mut scratch);
            out.of.push(hash64(applied.url));
            applied.fired.iter().for_each(|rule| out.rows[usize::from(rule)].push(row as u32));
        }
        out
    }

    /// The canonical URLs without the rule at `at`; its rows alone are computed.
    fn without(&self, at: usize, rules: &SiteRules, training: &Training) -> Canonical {
        let mut others = SiteRules { aliases: Vec::new(), local: Vec::new(), ..rules.clone() };
        others.rules.remove(at);
        let (set, mut scratch, mut of) = (RuleSet::new(vec![others]), Scratch::default(), self.of.clone());
        for &row in &self.rows[at] {
            if let Some(url) = training.normal(row as usize) {
                of[row as usize] = hash64(set.apply_normal(url, Some(0), &mut scratch).url);
            }
        }
        Canonical { of, rows: Vec::new() }
    }

    fn distinct(&self) -> usize {
        self.sizes().len()
    }

    /// Rows with each canonical URL.
    fn sizes(&self) -> HashMap<u64, u32, FixedState> {
        let mut out: HashMap<u64, u32, FixedState> = HashMap::default();
        self.of.iter().for_each(|&to| *out.entry(to).or_default() += 1);
        out
    }

    /// Where each row is, beside `before`.
    fn places(&self, before: &Canonical) -> Vec<CanonicalMove> {
        let (sizes, sizes_before) = (self.sizes(), before.sizes());
        // The canonical URL of all rows of a group of before; `None` where they have several.
        let mut now: HashMap<u64, Option<u64>, FixedState> = HashMap::default();
        for (from, &to) in before.of.iter().zip(&self.of) {
            now.entry(*from).and_modify(|of| *of = of.filter(|&of| of == to)).or_insert(Some(to));
        }
        let place = |(&from, &to): (&u64, &u64)| match now[&from] == Some(to) && sizes[&to] == sizes_before[&from] {
            false => CanonicalMove::Regrouped,
            true if from == to => CanonicalMove::Same,
            true => CanonicalMove::Moved,
        };
        before.of.iter().zip(&self.of).map(place).collect()
    }
}
